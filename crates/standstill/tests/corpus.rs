//! The corpora of the fuzz targets as a plain test: what was once found stays mended, without a
//! nightly compiler.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::path::Path;

use standstill_fatbin::{Limits, read_with};

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let inputs: Vec<Vec<u8>> =
        files.filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap()).collect();
    assert!(!inputs.is_empty(), "no corpus in {}", folder.display());
    inputs
}

/// An input whole, and cut at every sixteenth of its length.
fn cuts(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    (1..=16).map(|part| &input[..input.len() * part / 16])
}

#[test]
fn the_ptx_parser_survives_its_corpus() {
    for input in corpus("ptx") {
        for cut in cuts(&input) {
            let text = String::from_utf8_lossy(cut);
            let module = standstill_ptx::parse(&text);
            assert!(module.errors.kept().iter().all(|error| error.span.end as usize <= text.len()));
        }
    }
}

#[test]
fn the_container_reader_survives_its_corpus() {
    let limits = Limits { image_bytes: 16 << 20, total_bytes: 64 << 20, ..Limits::default() };
    for input in corpus("fatbin") {
        for cut in cuts(&input) {
            let Ok(contents) = read_with(cut, &limits) else { continue };
            let size = cut.len() as u64;
            assert!(contents.images.iter().all(|image| image.offset <= size));
            assert!(contents.problems.iter().all(|problem| problem.offset <= size));
        }
    }
}

#[test]
fn the_trace_reader_survives_its_corpus() {
    for input in corpus("trace") {
        for cut in cuts(&input) {
            let mut check = standstill_stream_order::Check::default();
            let records = standstill_trace::Reader::new(cut).into_iter().flatten().flatten();
            let mut read = 0;
            for record in records {
                check.take(&record);
                read += 1;
            }
            let (conflicts, coverage) = check.finish();
            assert!(coverage.operations <= read && conflicts.len() as u64 <= read * read);
        }
    }
}
