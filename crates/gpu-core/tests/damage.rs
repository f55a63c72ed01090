//! Damaged dumps: nothing panics, nothing takes much time or memory, and what is wrong is said with its place.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

mod common;

use proptest::prelude::*;
use standstill_findings::{Known, Rule};
use standstill_gpu_core::{GridState, Options, ReadError, explain, positions, read};

/// Reads whatever it is and explains what is there.
fn survive(bytes: &[u8]) -> Result<usize, ReadError> {
    let mut dump = read(&bytes)?;
    let states = positions(&bytes, &mut dump);
    let options = Options { input: "dump", platform: None };
    let findings: usize = states.iter().map(|state| explain(&dump, state, &options).len()).sum();
    let size = bytes.len() as u64;
    // A place may be the end of the file or, where a section says so, beyond it.
    assert!(dump.problems.kept().iter().all(|problem| problem.offset <= size || size > 0));
    let _ = standstill_gpu_core::prune(&bytes, 1);
    Ok(findings)
}

/// Dumps of programs, of an extension of PyTorch and of Triton, with and without line tables, pruned and whole.
const CUT: [&str; 8] = [
    "whole",
    "hang_lab_1",
    "hang_lab_3",
    "torch_hang",
    "triton_spin",
    "flag_no_lines",
    "flag_debug",
    "healthy_wait",
];

/// A kernel with its grid and its blocks.
type Launch = (String, [u32; 3], [u32; 3]);

/// The kernels with their launches, and the rules and known-how of what is said of them.
fn told(bytes: &[u8]) -> (Vec<Launch>, Vec<(Rule, Known)>) {
    let mut dump = read(&bytes).unwrap();
    let states = positions(&bytes, &mut dump);
    let options = Options { input: "dump", platform: None };
    let launch = |state: &GridState| (state.kernel.clone(), state.grid.grid_dim, state.grid.block_dim);
    let findings = states.iter().flat_map(|state| explain(&dump, state, &options));
    (states.iter().map(launch).collect(), findings.map(|finding| (finding.rule, finding.known)).collect())
}

#[test]
fn cut_short_at_every_percent() {
    for name in CUT {
        let bytes = common::dump(name);
        let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize * 100 / bytes.len();
        let (launches, _) = told(&bytes);
        for percent in 0..100 {
            let cut = &bytes[..bytes.len() * percent / 100];
            match survive(cut) {
                Err(ReadError::Empty) => assert_eq!(percent, 0),
                // Not even the code of a module is whole.
                Err(ReadError::NoSections { offset, size }) => assert!(offset >= size && percent < table),
                Err(other) => panic!("{name} {percent} %: {other}"),
                Ok(_) => {
                    let dump = read(&cut).unwrap();
                    assert!(
                        dump.problems.count() > 0 && dump.account().contains("module"),
                        "{name} {percent} %"
                    );
                    assert!(dump.lacks_threads(), "{name} {percent} %");
                    let (seen, findings) = told(cut);
                    assert!(
                        seen.iter().all(|launch| launches.contains(launch)),
                        "{name} {percent} %: {seen:?}"
                    );
                    // Of threads that are missing nobody knows what they do.
                    let alone = [Rule::HoistableSpin, Rule::NonTerminatingLoop];
                    let careful = |(rule, known): &(Rule, Known)| {
                        alone.contains(rule)
                            || (*rule == Rule::Undecided && matches!(known, Known::Possible { .. }))
                    };
                    assert!(findings.iter().all(careful), "{name} {percent} %: {findings:?}");
                    if percent > table {
                        assert_eq!(seen, launches, "{name} {percent} %");
                    }
                }
            }
        }
        // The launch stands before the threads: it is known without the table.
        let cut = &bytes[..bytes.len() * (table - 1) / 100];
        assert_eq!(told(cut).0, launches, "{name}");
    }
}

#[test]
fn an_account_of_what_could_be_read() {
    let bytes = common::dump("whole");
    let check = |percent: usize, account: &str, summary: &[&str]| {
        let cut = &bytes[..bytes.len() * percent / 100];
        let dump = read(&cut).unwrap();
        assert_eq!(dump.account(), account);
        assert_eq!(dump.problems.summary(), summary);
    };
    check(100, "10 modules, 1 grid, 1 block, 8 warps, 256 threads", &[]);
    check(
        90,
        "10 modules, 1 grid, 1 block, 8 warps, 96 threads",
        &["the table of sections is cut short: 370 of 955 entries are there at byte 0x4c77d"],
    );
    check(
        60,
        "5 modules",
        &[
            "cut short: the table of sections should stand at byte 0x4c77d, so where threads stood cannot be told; the \
           file ends at byte 0x36d57",
        ],
    );
}

#[test]
fn a_table_in_front_leaves_the_rest_readable() {
    // The same dump with the table of sections moved to the front: what was written before the cut is read.
    let bytes = common::dump("whole");
    let place = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let table = bytes[place..].to_vec();
    let mut moved = bytes[..64].to_vec();
    moved[40..48].copy_from_slice(&64u64.to_le_bytes());
    let shift = table.len() as u64;
    for entry in table.chunks_exact(64) {
        let mut entry = entry.to_vec();
        let offset = u64::from_le_bytes(entry[24..32].try_into().unwrap());
        if offset != 0 {
            entry[24..32].copy_from_slice(&(offset + shift).to_le_bytes());
        }
        moved.extend(entry);
    }
    moved.extend(&bytes[64..place]);
    assert_eq!(survive(&moved), Ok(1));
    for percent in 1..100 {
        let cut = &moved[..moved.len() * percent / 100];
        // The names of sections stand last, and nobody needs them.
        if let Ok(dump) = read(&cut)
            && percent < 90
        {
            assert!(dump.problems.count() > 0, "{percent} %");
        }
        let _ = survive(cut);
    }
}

/// Places, sizes, entry sizes, links and positions of sections that cannot be: in one section at a time.
#[test]
fn wrong_sizes_are_survived() {
    let bytes = common::dump("flag_handoff_half_barrier");
    let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let count = usize::from(u16::from_le_bytes(bytes[60..62].try_into().unwrap()));
    let size = bytes.len() as u64;
    for number in (0..count).filter(|number| *number < 24 || number % 41 == 0) {
        // Offset, size, link and info, entry size.
        for field in [24, 32, 40, 56] {
            for value in [0, 1, 7, size, size * 2, u64::from(u32::MAX), u64::MAX / 2, u64::MAX] {
                let mut changed = bytes.clone();
                let at = table + number * 64 + field;
                changed[at..at + 8].copy_from_slice(&value.to_le_bytes());
                let _ = survive(&changed);
            }
        }
    }
}

#[test]
fn other_files_are_named() {
    let check = |bytes: &[u8], expected: &str| assert_eq!(survive(bytes).unwrap_err().to_string(), expected);
    check(b"", "the file is empty");
    check(
        b"#!/bin/sh\necho this is no dump at all, but it is long enough to hold a header",
        "it is not an ELF file, so no CUDA core dump",
    );
    let mut host = common::dump("whole");
    host[18] = 62;
    check(
        &host,
        "it is an ELF file but no CUDA core dump: it is the core dump of a host program (machine 62)",
    );
    let mut cubin = common::dump("whole");
    cubin[16] = 2;
    check(&cubin, "it is an ELF file but no CUDA core dump: it is device code (type 2, ABI 0x33)");
}

#[test]
fn a_block_of_impossible_shape_takes_no_memory() {
    const GRIDS: u32 = 0x8000_000c;
    let mut bytes = common::dump("flag_cross_wait");
    let place = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let entry = bytes[place..].chunks_exact(64).find(|entry| entry[4..8] == GRIDS.to_le_bytes()).unwrap();
    let shape = u64::from_le_bytes(entry[24..32].try_into().unwrap()) as usize + 84;
    bytes[shape..shape + 12].copy_from_slice(&[0, 4, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0]);
    survive(&bytes).unwrap();
    let said =
        read(&bytes.as_slice()).unwrap().problems.kept().first().map(|problem| problem.kind.to_string());
    let expected = "a grid has blocks of [1024, 1024, 1024] threads, more than 1024 on every device: \
                    the shape is not known";
    assert_eq!(said.as_deref(), Some(expected));
}

#[test]
fn old_drivers_write_shorter_entries() {
    // The entries of threads and warps as drivers before r575 wrote them: without states and masks.
    let mut bytes = common::dump("flag_cross_wait");
    let place = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let count = u16::from_le_bytes(bytes[60..62].try_into().unwrap()) as usize;
    let mut added = Vec::new();
    for number in 0..count {
        let entry = place + number * 64;
        let kind = u32::from_le_bytes(bytes[entry + 4..entry + 8].try_into().unwrap());
        let (old, new) = match kind {
            0x8000_000f => (56, 48),
            0x8000_000e => (64, 32),
            _ => continue,
        };
        let offset = u64::from_le_bytes(bytes[entry + 24..entry + 32].try_into().unwrap()) as usize;
        let size = u64::from_le_bytes(bytes[entry + 32..entry + 40].try_into().unwrap()) as usize;
        let short: Vec<u8> =
            bytes[offset..offset + size].chunks_exact(old).flat_map(|entry| entry[..new].to_vec()).collect();
        let at = (bytes.len() + added.len()) as u64;
        bytes[entry + 24..entry + 32].copy_from_slice(&at.to_le_bytes());
        bytes[entry + 32..entry + 40].copy_from_slice(&(short.len() as u64).to_le_bytes());
        bytes[entry + 56..entry + 64].copy_from_slice(&(new as u64).to_le_bytes());
        added.extend(short);
    }
    bytes.extend(added);
    let source = bytes.as_slice();
    let mut dump = read(&source).unwrap();
    assert_eq!(dump.problems.kept(), []);
    let states = positions(&source, &mut dump);
    let options = Options { input: "dump", platform: None };
    let findings = explain(&dump, states.first().unwrap(), &options);
    let found: Vec<(&str, u32)> = findings
        .iter()
        .map(|finding| (finding.rule.name(), finding.primary_span().map_or(0, |span| span.line)))
        .collect();
    assert_eq!(found, [("wait-cycle", 18)]);
}

/// Changes `count` bytes at places that `seed` chooses; half of them in the table of sections, where it is there.
fn changed(bytes: &[u8], seed: u64, count: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let table = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let table = if table < bytes.len() { table } else { 0 };
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for number in 0..count {
        let from = if number % 2 == 0 { table } else { 0 };
        let at = from + next() % (bytes.len() - from);
        bytes[at] = next() as u8;
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        let _ = survive(&bytes);
    }

    #[test]
    fn changed_bytes_without_a_table_are_survived(seed in any::<u64>(), count in 1usize..200, percent in 10usize..84) {
        let mut bytes = common::dump("whole");
        let whole = bytes.clone();
        bytes.truncate(whole.len() * percent / 100);
        // The header stays, so that it is taken for a dump.
        let mut changed = changed(&bytes, seed, count);
        changed[..64].copy_from_slice(&whole[..64]);
        let _ = survive(&changed);
    }

    #[test]
    fn changed_bytes_are_survived(seed in any::<u64>(), count in 1usize..200) {
        let bytes = common::dump("flag_handoff_half_barrier");
        let _ = survive(&changed(&bytes, seed, count));
    }
}
