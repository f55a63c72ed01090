//! Planted faults: each file of `faults/` holds a kernel `wrong`, in which every interleaving together must show what its lines are
//! marked with, and its twin `right`, in which none may show anything.
//!
//! A file begins with comments: `with` names helpers of the crate, `grid` the number of tiles of `block` cells (1), `expect` what memory
//! must hold at the end; the others give each parameter its value. `//~ rule` marks the line that a finding of the rule must stand on.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by it, and tells how much it saw"
)]

use std::collections::BTreeMap;
use std::path::Path;

use standstill_explore::{Argument, Expectation, Launch, Options, explore, findings};
use standstill_findings::{Finding, Severity};
use standstill_kernel_ir::Program as _;
use standstill_kernel_syntax::{Program, Unit, lower};

/// What a file says before its module.
struct Header<'a> {
    words: BTreeMap<&'a str, &'a str>,
}

impl<'a> Header<'a> {
    fn of(text: &'a str) -> Header<'a> {
        let lines = text.lines().map_while(|line| line.strip_prefix("// "));
        Header { words: lines.filter_map(|line| line.split_once(": ")).collect() }
    }

    fn number(&self, word: &str) -> u32 {
        self.words.get(word).map_or(1, |number| number.parse().unwrap())
    }

    /// The value of a parameter: `u32[1, 2]`, `u64[3]`, or a number. The second is the elements of a buffer.
    fn argument(&self, name: &str) -> (Argument, Option<u64>) {
        let text = self.words.get(name).unwrap_or_else(|| panic!("`{name}` has no value"));
        let Some((ty, elements)) = text.split_once('[') else { return (Argument::Value(number(text)), None) };
        let element = if ty.ends_with("64") { 8 } else { 4 };
        let elements = elements.trim_end_matches(']').split(", ").filter(|word| !word.is_empty());
        let bytes: Vec<Vec<u8>> =
            elements.map(|word| number(word).to_le_bytes()[..element].to_vec()).collect();
        let length = bytes.len() as u64;
        (Argument::Buffer { bytes: bytes.concat(), element: element as u32 }, Some(length))
    }
}

fn number(word: &str) -> u64 {
    match (word.strip_prefix("0x"), word.strip_prefix('-')) {
        (Some(digits), _) => u64::from_str_radix(&digits.replace('_', ""), 16).unwrap(),
        (_, Some(digits)) => digits.parse::<u64>().unwrap().wrapping_neg(),
        _ => word.parse().unwrap(),
    }
}

/// The kernels of a file, with the helpers that it names.
fn program(text: &str, name: &str, header: &Header<'_>) -> Program {
    let file = syn::parse_file(text).unwrap();
    let mut unit = Unit::all(&file).remove(0);
    for helpers in header.words.get("with").iter().flat_map(|names| names.split(", ")) {
        let source = format!("{}/src/{helpers}.rs", env!("CARGO_MANIFEST_DIR"));
        let items = syn::parse_file(&std::fs::read_to_string(&source).unwrap()).unwrap().items;
        for item in items {
            if let syn::Item::Mod(module) = item {
                unit = unit.with(&module, &format!("{helpers}.rs"), 1);
            }
        }
    }
    let problems = |problems: Vec<standstill_kernel_syntax::Problem>| {
        let told = problems.iter().map(|p| format!("{}: {}", p.extent.place().line, p.message));
        panic!("{name}: {}", told.collect::<Vec<_>>().join("\n"))
    };
    lower(&unit, name, 1).unwrap_or_else(problems).program
}

/// Rules with the lines of their findings, in all interleavings of a kernel.
fn found(program: &Program, file: &str, kernel: &str, header: &Header<'_>) -> Vec<(String, u32)> {
    let described = program.kernel(kernel).unwrap();
    let function = program.function(described.function).unwrap();
    let mut launch = Launch::new(program, kernel).unwrap();
    (launch.grid[0], launch.block[0]) = (header.number("grid"), header.number("block"));
    let given: Vec<_> = described.parameters.iter().map(|(name, _)| header.argument(name)).collect();
    let mut arguments: Vec<Argument> = given.iter().map(|(argument, _)| argument.clone()).collect();
    arguments.extend(given.iter().filter_map(|(_, length)| *length).map(Argument::Value));
    let cells = u64::from(launch.grid[0] * launch.block[0]);
    arguments.extend([cells, 1, 1].map(Argument::Value));
    launch.set_arguments(&function, &arguments).unwrap();
    for region in &mut launch.memory {
        let position = region.name.strip_prefix('p').and_then(|position| position.parse::<usize>().ok());
        if let Some(own) = position.and_then(|position| described.names.get(position)) {
            region.name.clone_from(own);
        }
    }
    let expect = header.words.get("expect").map(|text| Expectation::parse(text, &launch).unwrap());
    let options = Options { expect, ..Options::default() };
    let outcome = explore(program, &launch, &options, &mut ()).unwrap();
    assert!(outcome.complete(), "{kernel}: not all was explored");
    println!("{file} {kernel}: {} states", outcome.states);
    let all = findings(&outcome, &launch, &|_| (String::new(), 0, 0));
    let errors = all.into_iter().map(|(finding, _)| finding).filter(|f| f.severity == Severity::Error);
    errors.map(|finding| (finding.rule.name().to_owned(), line_in(&finding, file))).collect()
}

/// The line that a finding stands on; 0 where that is in a helper of another file.
fn line_in(finding: &Finding, file: &str) -> u32 {
    finding.primary_span().filter(|span| span.file == file).map_or(0, |span| span.line)
}

/// What is not as it should be with a file.
fn check(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let header = Header::of(&text);
    let program = program(&text, &name, &header);
    let marks = text.lines().zip(1..).filter_map(|(line, number)| Some((line.split_once("//~ ")?.1, number)));
    let mut wanted: Vec<(String, u32)> =
        marks.flat_map(|(rules, line)| rules.split(' ').map(move |rule| (rule.to_owned(), line))).collect();
    let mut seen = found(&program, &name, "wrong", &header);
    wanted.sort_unstable();
    seen.sort_unstable();
    let right = found(&program, &name, "right", &header);
    let fits = |(found, marked): (&(String, u32), &(String, u32))| {
        found.0 == marked.0 && [0, marked.1].contains(&found.1)
    };
    let as_marked = seen.len() == wanted.len() && seen.iter().zip(&wanted).all(fits);
    if as_marked && !wanted.is_empty() && right.is_empty() {
        return None;
    }
    Some(format!("{name}: marked {wanted:?}, found {seen:?}; in the right twin {right:?}"))
}

#[test]
fn every_planted_fault_is_found_and_its_twin_is_clean() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files
        .retain(|path| path.extension().is_some_and(|e| e == "rs") && path.to_string_lossy().contains(&only));
    files.sort();
    assert!(!files.is_empty());
    let wrong: Vec<String> = files.iter().filter_map(|path| check(path)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
