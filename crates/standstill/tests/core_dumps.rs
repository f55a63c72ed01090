//! Core dumps of an H200 as a person hands them over: the rule and the line, the sentence, damage, exit codes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::path::PathBuf;

use common::Workplace;
use serde_json::Value;

/// The dumps stand with the crate that reads them.
fn fixture(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../gpu-core/tests/fixtures").join(file)
}

fn explained(name: &str) -> Value {
    let file = fixture(&format!("{name}.core.gz"));
    let place = Workplace::new();
    place.run(&["core", "--format", "json", file.to_str().unwrap(), "--fail-on", "never"]).exits(0).json()
}

fn primary(finding: &Value) -> u64 {
    let spans = finding["spans"].as_array().unwrap();
    let primary: Vec<&Value> = spans.iter().filter(|span| span["primary"] == true).collect();
    assert_eq!(primary.len(), 1, "{finding}");
    primary[0]["line"].as_u64().unwrap()
}

/// Every dump, joined with what the kernel's PTX inside it says.
#[test]
fn every_hang_has_its_rule_and_line() {
    let table = std::fs::read_to_string(fixture("expected.tsv")).unwrap();
    let mut wrong = Vec::new();
    for row in table.lines() {
        let fields: Vec<&str> = row.split('\t').collect();
        let [name, rules, lines, by] = fields.as_slice() else { panic!("{row}") };
        let report = explained(name);
        let right = |finding: &Value| {
            let line = primary(finding).to_string();
            let named = lines.split(',').any(|l| l == line);
            rules.split(',').any(|rule| finding["rule"] == rule) && (named || *by == "open")
        };
        let findings = report["findings"].as_array().unwrap();
        if !findings.iter().any(right) {
            wrong.push(format!("{name}: {findings:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Kernels that ended later, dumped while they worked: one snapshot does not make them a hang.
#[test]
fn a_healthy_kernel_is_no_hang() {
    let place = Workplace::new();
    for name in ["healthy_named", "healthy_wait"] {
        let file = fixture(&format!("{name}.core.gz"));
        place.run(&["core", "--fail-on", "warning", file.to_str().unwrap()]).exits(0).prints("note[N0003]");
    }
}

#[test]
fn the_sentence_names_threads_lines_and_what_is_missing() {
    let check = |name: &str, sentence: &str| {
        let report = explained(name);
        assert_eq!(report["findings"][0]["waits"]["sentence"], sentence, "{name}");
        assert_eq!(report["findings"][0]["known"], "observed", "{name}");
    };
    check(
        "flag_handoff_half_barrier",
        "threads 0–127 of block 0 wait at the barrier on line 20 for threads 128–255, which spin on `ready` (line 24); only \
         thread 0 writes `ready`, on line 22, after that barrier",
    );
    check(
        "huge_grid_barrier",
        "blocks 0–1055 hold all 1056 places and spin on line 19 for all 40000 blocks; block 1056 has no place to start until \
         one of them ends",
    );
    check(
        "torch_hang",
        "threads 0–63 of block 0 wait at the barrier on line 9 for threads 64–127, which spin on the memory behind parameter \
         1 (line 12); only thread 0 writes the memory behind parameter 1, on line 10, after that barrier",
    );
    check(
        "triton_spin",
        "threads 32–127 of block 0 wait at the barrier on line 10 for thread 0, which spins on `*p0` (line 10); 3 blocks have \
         finished without writing it",
    );
}

#[test]
fn the_report_carries_the_card_and_the_driver() {
    let report = explained("whole");
    assert_eq!(report["evidence"]["device"], "NVIDIA H200");
    assert_eq!(report["evidence"]["driver"], "580.159 (CUDA 13.0)");
    assert_eq!(report["coverage"]["launches"], 1);
    assert_eq!(report["coverage"]["operations"], 256);
    assert_eq!(report["evidence"]["inputs"][0]["sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn a_hang_fails_the_call_unless_its_rule_is_allowed() {
    let file = fixture("flag_cross_wait.core.gz");
    let file = file.to_str().unwrap();
    let place = Workplace::new();
    place.run(&["core", file]).exits(1).prints("error[E0105]");
    place.run(&["core", "--allow", "wait-cycle", file]).exits(0).prints("no findings");
}

/// What is left of a dump is used: first the code, then the launch, then the threads.
#[test]
fn a_dump_cut_short_says_what_was_there() {
    let place = Workplace::new();
    let file = std::fs::File::open(fixture("whole.core.gz")).unwrap();
    let mut whole = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut whole).unwrap();
    let cut = |percent: usize| {
        place.file("cut.core", &whole[..whole.len() * percent / 100]);
        place.run(&["core", "cut.core"])
    };
    cut(20).exits(2).says("no core dump could be read: cut short").says("nothing can be found");
    cut(60).exits(2).says("What could be read: 5 modules; on the card: no grid");
    let proved = "proved, if block = 256x1x1";
    cut(70)
        .exits(1)
        .says("What could be read: 7 modules, 1 grid; on the card: handoff <<<1x1x1, 256x1x1>>>")
        .prints("error[E0105]")
        .prints("that the kernel was on the card is all it shows, and this follows from its code")
        .prints(proved);
    cut(90)
        .exits(1)
        .says("the table of sections is cut short: 370 of 955 entries are there")
        .says("1 block, 8 warps, 96 threads")
        .prints("error[E0105]")
        .prints("in the dump: where threads stood: threads 0–95 ");
}

/// A dump that is damaged is named with its place; the others are still explained.
#[test]
fn damage_is_named_and_the_others_are_explained() {
    let place = Workplace::new();
    let good = fixture("whole.core.gz");
    let packed = std::fs::read(&good).unwrap();
    place.file("cut.core.gz", &packed[..packed.len() / 2]);
    place.file("empty.core", "");
    place.file("text.core", "this is no dump");
    place.file("damaged.core.gz", b"\x1f\x8b\x08 and then nothing that could be unpacked");
    let ran = place.run(&[
        "core",
        "cut.core.gz",
        "empty.core",
        "text.core",
        "damaged.core.gz",
        "absent.core",
        ".",
        good.to_str().unwrap(),
    ]);
    ran.exits(1)
        .says("cut.core.gz: cut short: the table of sections should stand at byte 0x")
        .says("empty.core: the file is empty")
        .says("text.core: no core dump could be read: it is not an ELF file")
        .says("damaged.core.gz: it cannot be unpacked")
        .says("absent.core: there is no such file")
        .says("this is a directory")
        .prints("error[E0105]");
    place.run(&["core", "empty.core"]).exits(2).says("the file is empty");
}
