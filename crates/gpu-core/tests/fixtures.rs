//! Core dumps of an H200: where threads stood, as the debugger says, and what is concluded from it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;

use standstill_findings::{Finding, Severity};
use standstill_gpu_core::{Doing, Options, explain, positions, read};

/// One line of `expected.tsv`.
struct Expected {
    name: String,
    rules: Vec<String>,
    lines: Vec<u32>,
    /// Whether the dump alone decides it.
    by_dump: bool,
}

fn expected() -> Vec<Expected> {
    let table = std::fs::read_to_string(common::folder().join("expected.tsv")).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, rules, lines, by] = fields.as_slice() else { panic!("{line}") };
        Expected {
            name: (*name).to_owned(),
            rules: rules.split(',').map(str::to_owned).collect(),
            lines: lines.split(',').map(|line| line.parse().unwrap()).collect(),
            by_dump: *by == "dump",
        }
    };
    table.lines().map(row).collect()
}

fn findings(name: &str) -> Vec<Finding> {
    let bytes = common::dump(name);
    let source = bytes.as_slice();
    let mut dump = read(&source).unwrap();
    let states = positions(&source, &mut dump);
    assert_eq!(dump.problems.kept(), [], "{name}");
    let options = Options { input: name, platform: None };
    states.iter().flat_map(|state| explain(&dump, state, &options)).collect()
}

#[test]
fn the_rule_and_the_line_are_right() {
    for case in expected().into_iter().filter(|case| case.by_dump) {
        let found = findings(&case.name);
        let right = |finding: &Finding| {
            let line = finding.primary_span().map_or(0, |span| span.line);
            case.rules.iter().any(|rule| rule == finding.rule.name()) && case.lines.contains(&line)
        };
        let said: Vec<String> = found.iter().map(words).collect();
        assert!(found.iter().any(right), "{}: {}", case.name, said.join("\n"));
        assert!(found.iter().all(|f| f.severity >= Severity::Warning), "{}: {}", case.name, said.join("\n"));
    }
}

/// Dumps of kernels that only took their time, and of an assertion that failed: nothing above a note.
const QUIET: [&str; 3] = ["healthy_named", "healthy_wait", "assertion"];

#[test]
fn a_healthy_kernel_is_never_called_a_hang() {
    for name in QUIET {
        let found = findings(name);
        let said: Vec<String> = found.iter().map(words).collect();
        assert!(!found.is_empty(), "{name}");
        assert!(found.iter().all(|f| f.severity == Severity::Note), "{name}: {}", said.join("\n"));
        assert!(found.iter().all(|f| f.rule.name() == "undecided"), "{name}: {}", said.join("\n"));
    }
}

#[test]
fn every_finding_points_at_one_place() {
    for case in expected() {
        for finding in findings(&case.name) {
            let primary = finding.spans.iter().filter(|span| span.primary).count();
            assert_eq!(primary, 1, "{}: {}", case.name, words(&finding));
        }
    }
}

/// Program counters with how many threads stood there, from the debugger's table of threads: each row has two
/// positions, a count and an address.
fn debuggers_threads(transcript: &str) -> BTreeMap<u64, u64> {
    let mut rows = BTreeMap::new();
    let table =
        transcript.lines().skip_while(|line| !line.contains("BlockIdx ThreadIdx To BlockIdx")).skip(1);
    for line in table {
        let fields: Vec<&str> = line.trim_start_matches('*').split_whitespace().collect();
        if fields.first() == Some(&"Kernel") {
            continue;
        }
        let [a, b, c, d, count, pc, ..] = fields.as_slice() else { break };
        if ![a, b, c, d].iter().all(|field| field.starts_with('(')) {
            break;
        }
        let pc = u64::from_str_radix(pc.trim_start_matches("0x"), 16).unwrap();
        *rows.entry(pc).or_default() += count.parse::<u64>().unwrap();
    }
    rows
}

#[test]
fn threads_stand_where_the_debugger_says() {
    let mut compared = 0;
    for case in expected() {
        let Some(transcript) = common::unpack(&format!("{}.cudagdb.txt.gz", case.name)) else { continue };
        let said = debuggers_threads(&String::from_utf8_lossy(&transcript));
        let bytes = common::dump(&case.name);
        let dump = read(&bytes.as_slice()).unwrap();
        let mut stood: BTreeMap<u64, u64> = BTreeMap::new();
        let blocks = dump.devices.iter().flat_map(|device| &device.blocks);
        for warp in blocks.flat_map(|block| &block.warps) {
            for lane in warp.lanes.iter().filter(|lane| warp.valid >> lane.lane & 1 == 1) {
                *stood.entry(lane.pc).or_default() += 1;
            }
        }
        assert_eq!(stood, said, "{}", case.name);
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn a_pruned_dump_says_the_same() {
    let bytes = common::dump("whole");
    let small = standstill_gpu_core::prune(&bytes.as_slice(), 1).unwrap();
    assert!(small.len() < bytes.len() / 2);
    let text = |bytes: &[u8]| {
        let mut dump = read(&bytes).unwrap();
        let states = positions(&bytes, &mut dump);
        let options = Options { input: "dump", platform: None };
        let findings: Vec<Finding> =
            states.iter().flat_map(|state| explain(&dump, state, &options)).collect();
        findings.iter().map(words).collect::<String>()
    };
    assert_eq!(text(&small), text(&bytes));
}

#[test]
fn the_header_of_a_dump_is_read() {
    let bytes = common::dump("whole");
    let dump = read(&bytes.as_slice()).unwrap();
    let meta = dump.meta.unwrap();
    assert_eq!((meta.driver, meta.cuda), ((580, 159), (13, 0)));
    let device = dump.devices.first().unwrap();
    assert_eq!((device.name.as_str(), device.sm_type.as_str()), ("NVIDIA H200", "sm_90"));
    assert_eq!((device.multiprocessors, device.capability), (132, (9, 0)));
    let grid = device.grids.first().unwrap();
    assert_eq!((grid.grid_dim, grid.block_dim), ([1, 1, 1], [256, 1, 1]));
    let block = device.blocks.first().unwrap();
    assert_eq!((block.warps.len(), block.shared.map(|shared| shared.size)), (8, Some(1664)));
}

#[test]
fn a_full_card_is_seen_as_full() {
    let bytes = common::dump("huge_grid_barrier");
    let source = bytes.as_slice();
    let mut dump = read(&source).unwrap();
    let states = positions(&source, &mut dump);
    let state = states.first().unwrap();
    assert_eq!((state.blocks.len(), state.finished(), state.not_begun()), (1056, 0, 38944));
    let spins = |doing: &Doing| matches!(doing, Doing::Spin { .. });
    let spinning: u64 =
        state.groups.iter().filter(|group| spins(&group.doing)).map(|group| group.len()).sum();
    assert_eq!(spinning, 1056);
}

/// The same dump with some threads moved to a plain instruction: they may still do what the others wait for.
#[test]
fn a_wait_that_a_running_thread_may_end_is_no_fault() {
    let check = |name: &str, threads: std::ops::Range<u32>, offset: u64, expected: &str| {
        let mut bytes = common::dump(name);
        let dump = read(&bytes.as_slice()).unwrap();
        let entry = dump.devices.first().unwrap().grids.first().unwrap().entry;
        let place = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
        let count = u16::from_le_bytes(bytes[60..62].try_into().unwrap()) as usize;
        for section in (0..count).map(|number| place + number * 64) {
            let word =
                |at: usize| u64::from_le_bytes(bytes[section + at..section + at + 8].try_into().unwrap());
            let (kind, from, size) = (word(0) >> 32, word(24) as usize, word(32) as usize);
            if kind != 0x8000_000f {
                continue;
            }
            for lane in (from..from + size).step_by(56) {
                let thread = u32::from_le_bytes(bytes[lane + 20..lane + 24].try_into().unwrap());
                if threads.contains(&thread) {
                    bytes[lane..lane + 8].copy_from_slice(&(entry + offset).to_le_bytes());
                }
            }
        }
        let source = bytes.as_slice();
        let mut dump = read(&source).unwrap();
        let states = positions(&source, &mut dump);
        let options = Options { input: name, platform: None };
        let findings = explain(&dump, states.first().unwrap(), &options);
        let said: Vec<String> = findings.iter().map(words).collect();
        let rules: Vec<&str> = findings.iter().map(|finding| finding.rule.name()).collect();
        assert_eq!(rules, ["undecided"], "{}", said.join("\n"));
        assert!(said.join("\n").contains(expected), "{}", said.join("\n"));
        assert!(findings.iter().all(|finding| finding.severity == Severity::Note));
    };
    // The writers of the flag stand before their barrier, and the readers spin.
    check("flag_handoff_half_barrier", 0..128, 0x30, "threads 0–127 were running on line");
    // Half of the threads are still on their way to the barrier.
    check("named_count_too_high", 128..256, 0x30, "threads were running on line");
    check("mbar_count_high", 0..32, 0x20, "threads 0–31 were running on line");
}

/// Code that was compiled without line tables and without PTX: the place is an offset in the function.
#[test]
fn without_line_tables_the_place_is_an_offset() {
    let mut bytes = common::dump("global_flag_behind_barrier");
    for name in [b".debug_line".as_slice(), b".nv_debug_line_sass", b".nv_debug_ptx_txt"] {
        let places: Vec<usize> =
            (0..bytes.len() - name.len()).filter(|at| bytes[*at..].starts_with(name)).collect();
        places.into_iter().for_each(|at| bytes[at] = b'_');
    }
    let source = bytes.as_slice();
    let mut dump = read(&source).unwrap();
    let states = positions(&source, &mut dump);
    let options = Options { input: "some.core", platform: None };
    let findings = explain(&dump, states.first().unwrap(), &options);
    let said: Vec<String> = findings.iter().map(words).collect();
    let text = said.join("\n");
    let expected = "error [E0105 wait-cycle] observed: threads 0–127 wait at the barrier at relay+0x210 for threads 128–255, \
                    which spin on `*p2` (relay+0xd0)\n  -> some.core:0 threads 128–255 spin here\n";
    assert!(text.starts_with(expected), "{text}");
}

/// The wording, to the letter.
#[test]
fn explanations() {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for case in expected() {
            let text: String = findings(&case.name).iter().map(words).collect();
            insta::assert_snapshot!(case.name, text);
        }
        for name in QUIET {
            let text: String = findings(name).iter().map(words).collect();
            insta::assert_snapshot!(name, text);
        }
    });
}

fn words(finding: &Finding) -> String {
    let mut text = String::new();
    let rule = format!("{} {}", finding.rule.code(), finding.rule.name());
    let _ =
        writeln!(text, "{} [{rule}] {}: {}", finding.severity.word(), finding.known.word(), finding.message);
    if let standstill_findings::Known::Possible { reason } = &finding.known {
        let _ = writeln!(text, "  possible: {reason}");
    }
    for span in &finding.spans {
        let file = span.file.rsplit('/').next().unwrap_or_default();
        let mark = if span.primary { "->" } else { "  " };
        let _ = writeln!(text, "  {mark} {file}:{} {}", span.line, span.label);
    }
    for note in &finding.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    for assumption in &finding.assumes {
        let _ = writeln!(text, "  assumes: {assumption}");
    }
    for wait in finding.waits.iter().flat_map(|graph| graph.cycle_words()) {
        let _ = writeln!(text, "  waits: {wait}");
    }
    let _ = writeln!(text, "  help: {}", finding.help);
    text
}
