//! Tests under the attribute: these here pass; those in `failing` are run by them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use standstill_gpu_test::gpu_test;

#[gpu_test]
fn passes() {
    assert!(std::env::args().any(|argument| argument == "--exact"));
}

#[gpu_test(timeout = "30s")]
fn may_return_a_result() -> Result<(), std::num::ParseIntError> {
    "42".parse::<i32>().map(|number| assert_eq!(number, 42))
}

mod inner {
    use super::gpu_test;

    #[gpu_test(timeout = "30s")]
    fn in_a_module() {}

    #[gpu_test]
    #[ignore = "run by name"]
    fn ignored() {}
}

/// Runs tests of this binary that fail, and gives the output.
fn outcome_of(name: &str) -> (bool, String) {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--include-ignored"])
        .env("STANDSTILL_TEST_FAILING", "1")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

fn wanted() -> bool {
    std::env::var_os("STANDSTILL_TEST_FAILING").is_some()
}

/// A stand-in for the synchronisation that a hung kernel holds.
#[unsafe(no_mangle)]
#[inline(never)]
#[allow(unsafe_code, non_snake_case)]
extern "C" fn cudaDeviceSynchronize() -> i32 {
    while wanted() {
        std::thread::park();
    }
    // As of a library: an optimiser that saw the constant would make this the last call of its callers, and
    // take their frames away.
    std::hint::black_box(0)
}

#[gpu_test(timeout = "1s")]
#[ignore = "hangs when it is wanted"]
fn hangs() {
    println!("before the launch");
    let code = cudaDeviceSynchronize();
    assert_eq!(code, 0);
}

#[gpu_test]
#[ignore = "panics when it is wanted"]
fn panics() {
    assert!(!wanted(), "numbers differ");
}

#[gpu_test]
#[ignore = "aborts when it is wanted"]
fn aborts() {
    if wanted() {
        std::process::abort();
    }
}

#[test]
fn a_hang_fails_with_its_explanation() {
    let (passed, text) = outcome_of("hangs");
    assert!(!passed);
    let call = include_str!("attribute.rs").lines().position(|line| line.contains("let code = cudaDevice"));
    let place = format!("attribute.rs:{}", call.unwrap() + 1);
    for part in [
        "`hangs` did not end within 1 s",
        "stands in cudaDeviceSynchronize, called by `attribute::hangs::__body` at",
        &place,
        "it is innocent: it waits for the GPU",
        "before the launch",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn other_failures_fail_too() {
    let (passed, text) = outcome_of("panics");
    assert!(
        !passed && text.contains("numbers differ") && text.contains("`panics` failed in its process"),
        "{text}"
    );
    let (passed, text) = outcome_of("aborts");
    assert!(!passed && text.contains("killed by signal 6"), "{text}");
    let (passed, text) = outcome_of("inner::ignored");
    assert!(passed, "{text}");
}
