//! A test attribute for Rust programs that use a GPU.
//!
//! ```
//! # use standstill_gpu_test::gpu_test;
//! #[gpu_test(timeout = "5s")]
//! fn scan_of_one_block() {
//!     // launch, synchronise, compare
//! }
//! ```
//!
//! The body runs in a process of its own, which is started before any CUDA call and watched. When it hangs, the
//! test fails with what the GPU and the host stood on, and the other tests go on. Works under `cargo test` and
//! nextest, on machines with and without a GPU.
//!
//! Belongs here: starting a test's process, and turning its end into that of the test.
//! Does not belong here: the watchdog, and any CUDA call.

mod explanation;

use std::fmt::Debug;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::{Command, ExitCode};
use std::time::Duration;

pub use standstill_gpu_test_macros::gpu_test;
use standstill_supervisor::{Ended, Outcome, Plan, Reason};

/// Set in the process of a test, to the test's name.
const CHILD: &str = "STANDSTILL_GPU_TEST";
/// Output of a test that is shown.
const MOST_OUTPUT: u64 = 1 << 20;

/// What a test may return.
pub trait Passed {
    /// The value that says that all is well.
    fn passed() -> Self;
}

impl Passed for () {
    fn passed() {}
}

impl<E: Debug> Passed for Result<(), E> {
    fn passed() -> Self {
        Ok(())
    }
}

impl Passed for ExitCode {
    fn passed() -> Self {
        ExitCode::SUCCESS
    }
}

/// Runs a test's body in a process of its own; the attribute calls this.
///
/// # Panics
/// When the test fails: that is how a test says so.
#[doc(hidden)]
#[allow(clippy::panic)]
pub fn run<T: Passed>(module: &str, function: &str, milliseconds: u64, ignored: bool, body: fn() -> T) -> T {
    // The test runner's names leave out the crate.
    let name = match module.split_once("::") {
        Some((_, inner)) => format!("{inner}::{function}"),
        None => function.to_owned(),
    };
    if std::env::var(CHILD).is_ok_and(|child| child == name) {
        return body();
    }
    match supervised(&name, Duration::from_millis(milliseconds), ignored) {
        Ok(()) => T::passed(),
        Err(message) => panic!("{message}"),
    }
}

fn supervised(name: &str, limit: Duration, ignored: bool) -> Result<(), String> {
    let own =
        std::env::current_exe().map_err(|error| format!("the test's program cannot be found: {error}"))?;
    let mut command = Command::new(own);
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, name);
    if ignored {
        command.arg("--include-ignored");
    }
    let broken = |error: std::io::Error| format!("the test's output cannot be kept: {error}");
    // A file takes any amount of output, and nobody has to read while the test runs.
    let mut output = tempfile::tempfile().map_err(broken)?;
    command.stdin(std::process::Stdio::null());
    command.stdout(output.try_clone().map_err(broken)?);
    command.stderr(output.try_clone().map_err(broken)?);
    let mut plan = Plan::new(command);
    plan.limits.time = Some(limit);
    let mut explanation = explanation::Explanation::default();
    let outcome = standstill_supervisor::run(plan, &mut explanation)
        .map_err(|error| format!("the test's process cannot be started: {error}"))?;
    show(&mut output);
    verdict(name, &outcome, &explanation.text)
}

/// Passes the output on to the test runner, which keeps it for tests that fail.
#[allow(clippy::print_stdout)]
fn show(output: &mut File) {
    let length = output.seek(SeekFrom::End(0)).unwrap_or(0);
    let skipped = length.saturating_sub(MOST_OUTPUT);
    let mut bytes = Vec::new();
    if output.seek(SeekFrom::Start(skipped)).is_ok() {
        // What can be read is shown.
        let _ = output.take(MOST_OUTPUT).read_to_end(&mut bytes);
    }
    if skipped > 0 {
        println!("({skipped} bytes of output before this are left out)");
    }
    print!("{}", String::from_utf8_lossy(&bytes));
}

fn verdict(name: &str, outcome: &Outcome, explanation: &str) -> Result<(), String> {
    match (&outcome.stopped, outcome.ended) {
        (Some(Reason::TimeLimit(limit)), _) => {
            Err(format!("`{name}` did not end within {} s\n{explanation}", limit.as_secs_f64()))
        }
        (Some(_), _) => Err(format!("`{name}` was stopped\n{explanation}")),
        (None, Some(Ended::Exited(0))) => Ok(()),
        (None, Some(Ended::Exited(_))) => Err(format!("`{name}` failed in its process; see its output")),
        (None, Some(Ended::Signalled(signal))) => {
            Err(format!("the process of `{name}` was killed by signal {signal}"))
        }
        (None, None) => Err(format!("the process of `{name}` could not be watched")),
    }
}
