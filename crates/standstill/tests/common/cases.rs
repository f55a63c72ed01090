//! The labelled programs: reading their marks, and comparing reports with them.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot go on must stop"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::Value;
use sha2::{Digest, Sha256};
use standstill_toolchain::{Compiler, Environment, locate};

/// Rules about two accesses or operations: any marked line may be the primary one.
pub const PAIRS: &[&str] = &[
    "shared-race",
    "global-race",
    "stream-race",
    "missing-release",
    "missing-acquire",
    "lost-update",
    "reuse-after-free",
    "aba",
    "scope-too-narrow",
    "host-read-before-sync",
    "host-write-in-flight",
    "buffer-reuse",
    "free-in-flight",
    "alloc-order",
    "default-stream",
    "graph-dependency",
    "host-callback",
    "event-rerecorded",
    "event-recorded-early",
    "wait-unrecorded",
    "unchecked-async-error",
    "pipeline-order",
    "wait-cycle",
    "barrier-count",
    "mbarrier-phase",
];

/// No case may take longer.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// A labelled program.
pub struct Case {
    /// Path below the folder of cases.
    pub name: String,
    pub text: String,
    pub is_bug: bool,
}

impl Case {
    /// The value of a header line, `// key: value`.
    pub fn header(&self, key: &str) -> &str {
        let prefix = format!("// {key}:");
        self.text.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap_or("").trim()
    }

    /// The rules that are right names for the bug.
    pub fn rules(&self) -> BTreeSet<&str> {
        let also = self.header("also").split(',').map(str::trim).filter(|rule| !rule.is_empty());
        also.chain([self.header("rule")]).collect()
    }

    /// Lines that the finding must point at, and lines of causes.
    pub fn marks(&self) -> (Vec<u64>, Vec<u64>) {
        let (mut main, mut other) = (Vec::new(), Vec::new());
        for (line, number) in self.text.split('\n').zip(1..) {
            if line.contains("//~|") {
                other.push(number);
            } else if line.contains("//~") {
                main.push(number);
            }
        }
        (main, other)
    }

    /// The flags that describe the launch.
    pub fn launch(&self) -> Vec<String> {
        let words = self.header("launch").split_whitespace().filter_map(|word| word.split_once('='));
        let shape = |value: &str| value.split('x').all(|extent| extent.parse::<u32>().is_ok());
        words
            .filter(|(key, value)| ["block", "grid", "cluster"].contains(key) && shape(value))
            .flat_map(|(key, value)| [format!("--{key}"), value.to_owned()])
            .collect()
    }
}

/// All cases that `wanted` takes, by path. `STANDSTILL_CASES=part` leaves only those whose path contains the part.
pub fn find_cases(wanted: impl Fn(&Case) -> bool) -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let only = std::env::var("STANDSTILL_CASES").unwrap_or_default();
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "cu" => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    let case = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        Case { is_bug: name.contains(".bug."), name, text }
    };
    let cases: Vec<Case> = files.into_iter().map(case).filter(wanted).collect();
    assert!(!cases.is_empty(), "no cases below {}", root.display());
    cases.into_iter().filter(|case| case.name.contains(&only)).collect()
}

/// The compiler for the cases, with its version; without one they are skipped, which continuous integration is not.
pub fn compiler() -> Option<(Compiler, String)> {
    match locate(None, &Environment::from_process()) {
        Ok(compiler) => {
            let version = compiler.version().unwrap();
            Some((compiler, version))
        }
        Err(error) => {
            assert!(std::env::var("CI").is_err(), "the cases need a CUDA compiler: {error}");
            println!("SKIPPED: no case was checked, for want of a CUDA compiler ({error})");
            None
        }
    }
}

/// Judges all cases at once; fails with a line for each that is not right.
pub fn judge_all(cases: &[Case], judge: impl Fn(&Case) -> Result<(), String> + Sync) {
    let failures: Vec<String> = cases.par_iter().filter_map(|case| judge(case).err()).collect();
    println!("{} of {} cases are right", cases.len() - failures.len(), cases.len());
    assert!(cases.len() > failures.len() || cases.is_empty(), "no case is right:\n{}", failures.join("\n"));
    assert!(failures.is_empty(), "{} of {} cases:\n{}", failures.len(), cases.len(), failures.join("\n"));
}

/// The folder and the neutral name (without extension) of a case's source, which depend on its content only. The
/// source is there.
pub fn place(case: &Case, version: &str) -> Result<(PathBuf, String), String> {
    let source = blind(&case.text);
    let hash = Sha256::digest([source.as_str(), case.header("flags"), version].join("\0"));
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let stem = format!("case_{hash}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cases").join(&hash);
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let file = folder.join(format!("{stem}.cu"));
    if std::fs::read_to_string(&file).ok().as_deref() != Some(&source) {
        // Written beside and renamed, so that another test never reads half of it.
        let part = folder.join(format!("{stem}.part{}", std::process::id()));
        std::fs::write(&part, source).map_err(|error| error.to_string())?;
        std::fs::rename(&part, &file).map_err(|error| error.to_string())?;
    }
    Ok((folder, stem))
}

/// Compares a report with the case's marks; `stem` is the source's neutral name.
pub fn compare(case: &Case, answer: &Value, stem: &str) -> Result<(), String> {
    let wrong = |what: String| Err(format!("{}: {what}", case.name));
    // A program that only copies has no kernels.
    let count = |what: &str| answer["coverage"][what].as_u64().unwrap_or(0);
    if count("kernels") + count("operations") == 0 {
        return wrong("nothing was analysed".to_owned());
    }
    let findings: Vec<Finding> =
        answer["findings"].as_array().into_iter().flatten().map(Finding::new).collect();
    let findings: Vec<&Finding> = findings.iter().filter(|finding| finding.counts).collect();
    let said = findings.iter().fold(String::new(), |mut text, finding| {
        let _ = write!(text, " {}@{:?}", finding.rule, finding.line);
        text
    });
    if case.header("must") == "no" {
        return Ok(());
    }
    if !case.is_bug {
        return if findings.is_empty() { Ok(()) } else { wrong(format!("false alarm:{said}")) };
    }
    let (rules, (main, other)) = (case.rules(), case.marks());
    let source = format!("{stem}.cu");
    let hits = |finding: &&&Finding| {
        let at = finding.line.filter(|_| finding.file.ends_with(&source));
        rules.contains(finding.rule.as_str())
            && at.is_some_and(|at| {
                main.contains(&at) || (PAIRS.contains(&finding.rule.as_str()) && other.contains(&at))
            })
    };
    if findings.iter().any(|finding| hits(&finding)) {
        return Ok(());
    }
    let named = findings.iter().any(|finding| rules.contains(finding.rule.as_str()));
    let kind = if named { "wrong line" } else { "missed" };
    let said = if said.is_empty() { " nothing" } else { &said };
    wrong(format!("{kind}: want {rules:?}@{main:?}, got{said}"))
}

/// What the comparison needs of a finding.
pub struct Finding {
    pub rule: String,
    pub counts: bool,
    pub file: String,
    pub line: Option<u64>,
}

impl Finding {
    pub fn new(finding: &Value) -> Finding {
        let spans = finding["spans"].as_array().into_iter().flatten();
        let primaries: Vec<&Value> = spans.filter(|span| span["primary"] == true).collect();
        assert_eq!(primaries.len(), 1, "exactly one span is primary: {finding}");
        let primary = primaries.first();
        Finding {
            rule: finding["rule"].as_str().unwrap_or_default().to_owned(),
            counts: ["error", "warning"].map(Value::from).contains(&finding["severity"]),
            file: primary.and_then(|span| span["file"].as_str()).unwrap_or_default().to_owned(),
            line: primary.and_then(|span| span["line"].as_u64()),
        }
    }
}

/// Runs a command to its end, or ends it.
pub fn patiently(command: &mut Command) -> Result<Output, String> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    std::thread::scope(|scope| {
        let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
        let read = |stream: &mut dyn std::io::Read| {
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            bytes
        };
        let out = scope.spawn(move || out.as_mut().map(|stream| read(stream)).unwrap_or_default());
        let err = scope.spawn(move || err.as_mut().map(|stream| read(stream)).unwrap_or_default());
        let started = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if started.elapsed() > PATIENCE => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break Err(format!("no answer in {} s", PATIENCE.as_secs()));
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Err(error) => break Err(error.to_string()),
            }
        };
        let (stdout, stderr) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
        status.map(|status| Output { status, stdout, stderr })
    })
}

/// Takes all comments out; lines keep their numbers, strings and code stay.
pub fn blind(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (token, after) = rest.split_at(token(rest));
        if token.starts_with("//") || token.starts_with("/*") {
            let lines = token.matches('\n').count();
            out.push_str(&if lines == 0 { " ".to_owned() } else { "\n".repeat(lines) });
        } else {
            out.push_str(token);
        }
        rest = after;
    }
    out
}

/// The length of the comment, string or character at the start of `text`, or of one letter.
pub fn token(text: &str) -> usize {
    let letter = text.chars().next().map_or(0, char::len_utf8);
    if let Some(raw) = text.strip_prefix("R\"")
        && let Some((delimiter, content)) = raw.split_once('(')
        && delimiter.len() <= 16
        && !delimiter.contains(|c: char| c == ')' || c == '\\' || c.is_whitespace())
        && let Some(end) = content.find(&format!("){delimiter}\""))
    {
        return 2 + delimiter.len() + 1 + end + delimiter.len() + 2;
    }
    if text.starts_with("//") {
        let mut end = 0;
        // A backslash at its end continues the comment on the next line.
        for line in text.split_inclusive('\n') {
            end += line.len();
            let content = line.trim_end_matches('\n');
            if !content.ends_with('\\') {
                return end - (line.len() - content.len());
            }
        }
        return text.len();
    }
    if text.starts_with("/*") {
        return text.find("*/").map_or(letter, |end| end + 2);
    }
    for quote in ['"', '\''] {
        if !text.starts_with(quote) {
            continue;
        }
        let mut letters = text.char_indices().skip(1);
        while let Some((at, c)) = letters.next() {
            match c {
                '\\' => drop(letters.next()),
                '\n' => return letter,
                _ if c == quote => return at + 1,
                _ => {}
            }
        }
    }
    letter
}

#[test]
fn comments_are_taken_out_and_lines_keep_their_numbers() {
    let check = |text: &str, expected: &str| assert_eq!(blind(text), expected);
    check("a // x\nb /* y\nz */ c", "a  \nb \n c");
    check("s = \"// no\"; // yes", "s = \"// no\";  ");
    check("c = '\"'; // \"", "c = '\"';  ");
    check("R\"(// kept \" )\" // gone", "R\"(// kept \" )\"  ");
    check("// a \\\nstill\nb", "\n\nb");
    check("n = 1'000; // x", "n = 1'000;  ");
    check("a /* open", "a /* open");
    check("asm(\"bar.sync 1; // x\\n\");", "asm(\"bar.sync 1; // x\\n\");");
}
