//! Programs that behave badly, each in its way: nothing hangs, and nothing is left running.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Keep, alive, compiled, eventually, plan, shell};
use standstill_supervisor::{Ended, Outcome, Plan, Reason, run};

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(60);

fn go(plan: Plan) -> (Outcome, Keep) {
    let mut keep = Keep::default();
    let outcome = run(plan, &mut keep).unwrap();
    (outcome, keep)
}

#[track_caller]
fn ends(script: &str, expected: Ended) -> Outcome {
    let (outcome, keep) = go(plan(shell(script), LONG));
    assert_eq!((outcome.stopped.clone(), outcome.ended), (None, Some(expected)), "{script}");
    assert_eq!(keep.reason, None);
    assert!(outcome.remaining.is_empty());
    outcome
}

#[test]
fn exit_codes_pass_through() {
    ends("exit 0", Ended::Exited(0));
    ends("exit 42", Ended::Exited(42));
    ends("kill -SEGV $$", Ended::Signalled(11));
    ends("kill -KILL $$", Ended::Signalled(9));
    assert_eq!(Ended::Signalled(11).exit_code(), 139);
}

#[test]
fn what_cannot_be_started() {
    let code = |program: &str| {
        run(Plan::new(Command::new(program)), &mut Keep::default()).map_err(|error| error.exit_code())
    };
    assert_eq!(code("/no/such/program"), Err(127));
    assert_eq!(code("/etc/passwd"), Err(126));
    assert_eq!(code("/"), Err(126));
}

#[test]
fn a_hang_is_stopped_at_the_limit() {
    let start = Instant::now();
    let (outcome, keep) = go(plan(shell("exec sleep 1000"), SHORT));
    assert_eq!(outcome.stopped, Some(Reason::TimeLimit(SHORT)));
    assert_eq!(outcome.ended, Some(Ended::Signalled(15)));
    assert!(start.elapsed() >= SHORT && start.elapsed() < Duration::from_secs(60));
    assert_eq!(keep.stacks.len(), 1);
    assert_eq!(keep.dumps, []);
}

#[test]
fn sigterm_may_be_ignored() {
    let (outcome, _) = go(plan(shell("trap '' TERM INT HUP; while :; do sleep 1000; done"), SHORT));
    assert_eq!(outcome.ended, Some(Ended::Signalled(9)));
    assert!(outcome.remaining.is_empty());
}

#[test]
fn children_in_other_groups_and_sessions_are_ended_too() {
    let word = "standstill-test-children-7341";
    let script = format!(
        "setsid sleep 1001 {word} 2>/dev/null & (sleep 1002; echo {word}) & setsid -f sh -c 'sleep 1003; : {word}'; \
         exec env X={word} sleep 1004"
    );
    let (outcome, keep) = go(plan(shell(&script), SHORT));
    assert!(outcome.stopped.is_some() && outcome.remaining.is_empty());
    assert!(keep.stacks.len() >= 3, "{:?}", keep.stacks);
    assert_eq!(alive(word), []);
}

#[test]
fn children_that_are_left_are_ended() {
    let word = "standstill-test-left-5523";
    let outcome = ends(&format!("X={word} setsid sleep 1000 & exit 3"), Ended::Exited(3));
    assert_eq!(outcome.left_behind.len(), 1);
    assert_eq!(outcome.left_behind[0].name, "sleep");
    assert_eq!(alive(word), []);
}

#[test]
fn closed_file_descriptors_do_not_matter() {
    let mut command = Command::new("python3");
    command.args(["-c", "import os, time; os.closerange(0, 4096); time.sleep(1000)"]);
    let (outcome, _) = go(plan(command, Duration::from_secs(1)));
    assert!(outcome.stopped.is_some() && outcome.remaining.is_empty());
}

#[test]
fn a_flood_of_output_passes() {
    let mut command = shell("head -c 1000000000 /dev/zero");
    command.stdout(Stdio::null());
    let (outcome, _) = go(plan(command, LONG));
    assert_eq!(outcome.ended, Some(Ended::Exited(0)));
}

#[test]
fn killed_from_outside() {
    let word = "standstill-test-outside-9921";
    let thread = std::thread::spawn(move || {
        eventually("it starts", || !alive(word).is_empty());
        for pid in alive(word) {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    });
    let mut command = shell("exec sleep 1000");
    command.env("WORD", word);
    let (outcome, _) = go(plan(command, LONG));
    thread.join().unwrap();
    assert_eq!((outcome.stopped, outcome.ended), (None, Some(Ended::Signalled(9))));
}

#[test]
fn a_stopped_program_is_ended() {
    let (outcome, _) = go(plan(shell("kill -STOP $$; exit 0"), SHORT));
    assert!(outcome.stopped.is_some() && outcome.remaining.is_empty());
}

#[test]
fn programs_that_fork_on_are_ended() {
    // Each process starts the next and ends: the group never has the same members twice.
    let word = "standstill-test-forks-1187";
    let script = format!("f() {{ sleep 0.01; ( f {word} ) & }}; f {word}; sleep 1000");
    let (outcome, _) = go(plan(shell(&script), SHORT));
    assert!(outcome.stopped.is_some());
    assert_eq!(outcome.remaining, []);
    assert_eq!(alive(word), []);
}

#[test]
fn two_at_once() {
    let threads: Vec<_> = (0..2)
        .map(|number| {
            std::thread::spawn(move || {
                let word = format!("standstill-test-two-{number}");
                let mut command = shell("sleep 1000 & sleep 1001");
                command.env("WORD", &word);
                let limit = Duration::from_millis(300 + 400 * number);
                let (outcome, keep) = go(plan(command, limit));
                assert_eq!(outcome.stopped, Some(Reason::TimeLimit(limit)));
                // The processes of the other do not count.
                assert_eq!(keep.stacks.len(), 3);
                assert_eq!(alive(&word), []);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn stacks_name_the_line_and_the_innocent_call() {
    let (_, keep) = go(plan(Command::new(compiled("parked")), Duration::from_millis(500)));
    let process = &keep.stacks[0];
    assert_eq!((process.problem.as_str(), process.threads.len()), ("", 2));
    let main = &process.threads[0];
    let names: Vec<&str> = main.frames.iter().map(|frame| frame.function.as_str()).collect();
    let from = names.iter().position(|name| *name == "cudaDeviceSynchronize").unwrap();
    assert_eq!(&names[from..from + 3], ["cudaDeviceSynchronize", "finish", "main"], "{names:?}");
    let parked = main.parked.as_ref().unwrap();
    assert_eq!(
        (parked.call.as_str(), parked.caller.as_str(), parked.line),
        ("cudaDeviceSynchronize", "finish", 12)
    );
    assert!(parked.waits && parked.file.ends_with("parked.c"));
    let other = &process.threads[1];
    assert_eq!(other.parked, None);
    let sleeping = other.frames.iter().find(|frame| frame.function == "other").unwrap();
    assert_eq!(sleeping.line, 17);
}
