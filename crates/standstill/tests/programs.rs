//! Programs of the kind that people write (`tests/programs`): on the software GPU they print what a card printed, under
//! every schedule and with stale values, and nothing is found in them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on must stop"
)]

mod common;

use std::path::Path;

use common::Workplace;
use standstill_toolchain::{Environment, locate};

#[test]
fn everyday_programs_print_what_a_card_printed() {
    if let Err(error) = locate(None, &Environment::from_process()) {
        assert!(std::env::var("CI").is_err(), "this test needs a CUDA compiler: {error}");
        println!("SKIPPED for want of a CUDA compiler ({error})");
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let mut sources: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
        .collect();
    sources.sort();
    assert!(sources.len() >= 11, "{sources:?}");
    let place = Workplace::new();
    for source in sources {
        let expected = std::fs::read_to_string(source.with_extension("expected")).unwrap();
        let source = source.to_str().unwrap();
        // Threads take turns in the first run; then they are held up, run at random and by priorities.
        for stale in [&[][..], &["--stale"]] {
            let runs = ["run", "--device", "sim", "--timeout", "600s", "--runs", "4", "--keep-going"];
            let all: Vec<&str> = runs.into_iter().chain(stale.iter().copied()).chain([source]).collect();
            place.run(&all).exits(0).prints(&expected).says("no findings").says("4 runs");
        }
    }
}
