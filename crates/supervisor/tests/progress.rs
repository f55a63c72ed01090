//! Progress is judged by whether the host's waiting calls return.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::process::Command;
use std::time::Duration;

use common::{Keep, compiled, plan};
use standstill_supervisor::{Ended, Reason, run};

const WINDOW: Duration = Duration::from_millis(600);

/// Whether this system lets programs be watched at all.
fn refused(keep: &Keep) -> bool {
    keep.notes.iter().any(|note| note.contains("progress cannot be judged here"))
}

#[test]
fn a_call_that_does_not_return_is_no_progress() {
    let mut plan = plan(Command::new(compiled("parked")), Duration::from_secs(10));
    plan.limits.no_progress = Some(WINDOW);
    let mut keep = Keep::default();
    let outcome = run(plan, &mut keep).unwrap();
    if refused(&keep) {
        return;
    }
    let Some(Reason::NoProgress { window, judged }) = &outcome.stopped else { panic!("{outcome:?}") };
    assert_eq!(*window, WINDOW);
    assert!(
        judged.starts_with("none of these calls returned: cudaDeviceSynchronize (")
            && judged.contains("parked.c:12")
    );
    assert!(outcome.ran >= WINDOW && outcome.ran < 5 * WINDOW, "{:?}", outcome.ran);
}

#[test]
fn calls_that_return_are_progress() {
    let mut command = Command::new(compiled("steps"));
    command.arg("30");
    let mut plan = plan(command, Duration::from_secs(20));
    plan.limits.no_progress = Some(WINDOW);
    let mut keep = Keep::default();
    let outcome = run(plan, &mut keep).unwrap();
    assert_eq!((outcome.stopped, outcome.ended), (None, Some(Ended::Exited(0))));
    assert!(outcome.ran >= 4 * WINDOW, "{:?}", outcome.ran);
}

#[test]
fn a_host_that_does_not_wait_makes_progress() {
    let mut plan = plan(common::shell("sleep 3"), Duration::from_secs(20));
    plan.limits.no_progress = Some(WINDOW);
    let outcome = run(plan, &mut Keep::default()).unwrap();
    assert_eq!((outcome.stopped, outcome.ended), (None, Some(Ended::Exited(0))));
}
