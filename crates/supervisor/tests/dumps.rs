//! Dumps on demand, with a stand-in for the driver.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::process::Command;
use std::time::Duration;

use common::{Keep, compiled, plan};
use standstill_supervisor::{Ended, Outcome, run};

const LIMIT: Duration = Duration::from_millis(400);

fn go(arguments: &[&str]) -> (Outcome, Keep) {
    let mut command = Command::new(compiled("dumping"));
    command.args(arguments);
    let mut keep = Keep::default();
    let outcome = run(plan(command, LIMIT), &mut keep).unwrap();
    assert!(outcome.remaining.is_empty());
    if let Some(folder) = &keep.folder {
        assert!(!folder.exists(), "temporary files are gone");
    }
    (outcome, keep)
}

#[test]
fn a_dump_is_taken() {
    let (outcome, keep) = go(&["full"]);
    assert_eq!(outcome.ended, Some(Ended::Signalled(6)));
    let (_, bytes, there, error) = &keep.dumps[0];
    assert_eq!((*bytes, *there, error.as_str()), (8320, true, ""));
}

#[test]
fn a_program_that_goes_on_is_ended() {
    let (outcome, keep) = go(&["stays"]);
    assert_eq!(outcome.ended, Some(Ended::Signalled(15)));
    assert_eq!((keep.dumps[0].1, keep.dumps[0].3.as_str()), (8320, ""));
}

#[test]
fn dumps_that_fail_do_not_hang() {
    for (mode, expected) in [
        ("silent", "the driver wrote no dump within 0 s"),
        // A host thread that polls for the GPU is not the driver at work.
        ("spinning", "the driver wrote no dump within 0 s"),
        ("cut", "the driver stopped writing after 5000 bytes"),
        ("crash", "the driver stopped writing after 5000 bytes"),
    ] {
        let (_, keep) = go(&[mode]);
        assert_eq!(keep.dumps[0].3, expected, "{mode}");
    }
}

/// The driver of a busy machine may take longer than the silence that is allowed, and is at work.
#[test]
fn a_driver_that_works_is_waited_for() {
    let (_, keep) = go(&["works"]);
    assert_eq!((keep.dumps[0].1, keep.dumps[0].3.as_str()), (8320, ""));
    let said = |part: &str| keep.lines.iter().any(|line| line.contains(part));
    assert!(said("nothing new for 1 s, but the driver works on it"), "{:?}", keep.lines);
}

#[test]
fn all_waiting_has_an_end() {
    let mut plan = plan(Command::new(compiled("dumping")), LIMIT);
    plan.command.arg("endless");
    plan.limits.dump = Duration::from_secs(4);
    plan.limits.dump_silence = Duration::from_secs(3);
    let mut keep = Keep::default();
    let outcome = run(plan, &mut keep).unwrap();
    assert!(outcome.remaining.is_empty());
    assert_eq!(keep.dumps[0].3, "the driver was not done with it after 4 s (0 bytes are there)");
}

#[test]
fn children_are_dumped_too() {
    let (_, keep) = go(&["full", "fork"]);
    assert_eq!(keep.dumps.len(), 2, "{:?}", keep.dumps);
    assert!(keep.dumps.iter().all(|dump| dump.1 == 8320 && dump.3.is_empty()), "{:?}", keep.dumps);
}

/// Writes fail as on a full disk: the limit on the size of files stands in for it.
#[test]
fn a_disk_that_is_full_does_not_hang() {
    let program = compiled("dumping").display().to_string();
    let mut keep = Keep::default();
    let command = common::shell(&format!("ulimit -f 64; trap '' XFSZ; exec {program} disk"));
    let outcome = run(plan(command, LIMIT), &mut keep).unwrap();
    assert!(outcome.remaining.is_empty());
    let (_, bytes, _, error) = &keep.dumps[0];
    assert!(*bytes > 0 && error.starts_with("the driver stopped writing after "), "{bytes} {error}");
}
