//! What one call of the command has to say.

use standstill_findings::{Coverage, Finding, NotUnderstood, Severity, Timeline};

/// Everything that a call found, in the order in which it is to be shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The findings, sorted and merged (see [`crate::merge`]) per input.
    pub findings: Vec<Reported>,
    /// What the product did not understand.
    pub not_understood: Vec<NotUnderstood>,
    /// Inputs that could not be read.
    pub errors: Vec<InputError>,
    /// The kernels that were analysed.
    pub kernels: Vec<Kernel>,
    /// What was looked at.
    pub coverage: Coverage,
    /// Recorded runs as pictures, for the HTML page.
    pub timelines: Vec<Timeline>,
    /// Schedules that show findings.
    pub schedules: Vec<Schedule>,
    /// How to repeat this call.
    pub evidence: Evidence,
    /// The runs of a program under several seeds; `None` where there was one run or none.
    pub runs: Option<Runs>,
    /// The search through all interleavings of a launch, where there was one.
    pub explored: Option<Explored>,
    /// Findings that a comment or a flag silenced.
    pub allowed: u64,
    /// Findings from this severity up make the call fail; `None` when none does.
    pub fail_on: Option<Severity>,
    /// Exit code of the program that was run; 0 where none is.
    pub program_exit: i32,
    /// Exit code of the command.
    pub exit: i32,
}

impl Report {
    /// How many findings have this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|reported| reported.finding.severity == severity).count()
    }

    /// Whether this finding makes the call fail.
    pub fn fails(&self, finding: &Finding) -> bool {
        self.fail_on.is_some_and(|least| finding.severity >= least)
    }
}

/// A search through all interleavings of a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explored {
    /// The kernel's name as the compiler wrote it.
    pub kernel: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Where the launch comes from, in words, when a program made it.
    pub origin: Option<String>,
    /// States that were looked at, after reductions.
    pub states: u64,
    /// Steps between them.
    pub steps: u64,
    /// Different memories at the end.
    pub results: u64,
    /// Why not all states were looked at.
    pub limit: Option<String>,
    /// Whether any execution has a race, in words.
    pub races: String,
    /// Whether the launch ends in every execution under what CUDA promises, in words.
    pub progress: Option<String>,
    /// The same for named schedulers.
    pub schedulers: Vec<(String, bool)>,
}

/// The steps of threads that lead to what a finding tells of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The finding's message.
    pub finding: String,
    /// The threads that take part.
    pub lanes: Vec<String>,
    /// Their steps in order.
    pub steps: Vec<ScheduleStep>,
    /// What threads are at that go no further.
    pub ends: Vec<ScheduleStep>,
}

/// What one thread does at once, as others see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScheduleStep {
    /// Which thread, by its place among the lanes.
    pub lane: usize,
    /// What it does, in words.
    pub does: String,
    /// It changes memory.
    pub writes: bool,
    /// The fault shows here.
    pub fault: bool,
    /// The user's file.
    pub file: String,
    /// Line, from 1; 0 when it is not known.
    pub line: u32,
}

impl Schedule {
    /// The lane of a thread; a new one when it has none.
    pub fn lane(&mut self, block: u32, thread: u32) -> usize {
        let name = format!("thread {thread} of block {block}");
        self.lanes.iter().position(|lane| *lane == name).unwrap_or_else(|| {
            self.lanes.push(name);
            self.lanes.len() - 1
        })
    }
}

/// A finding with the input it belongs to and the other places where it is the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Reported {
    /// The input's path as the user named it.
    pub input: String,
    /// The finding, as shown for its first kernel.
    pub finding: Finding,
    /// Further kernels (instantiations of the same template) with the same finding, mangled.
    pub instances: Vec<String>,
}

/// A kernel that was analysed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// The input's path as the user named it.
    pub input: String,
    /// The kernel's name as the compiler wrote it.
    pub symbol: String,
}

/// An input that could not be read, or could be read only in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// The input's path as the user named it.
    pub file: String,
    /// Line, from 1; 0 when the place is not a line.
    pub line: u32,
    /// Column, from 1; 0 when only the line is known.
    pub column: u32,
    /// What is wrong with it, and what to do.
    pub message: String,
}

/// What is needed to repeat a call and to trust its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The command line.
    pub command: String,
    /// The inputs with their hashes.
    pub inputs: Vec<Input>,
    /// Version of the compiler that was called; empty when none was.
    pub compiler: String,
    /// Version of the driver; empty when none was used.
    pub driver: String,
    /// The device; empty when nothing ran.
    pub device: String,
    /// Seed of the run; 0 when nothing ran.
    pub seed: u64,
}

/// How often a program was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runs {
    /// Runs that were asked for.
    pub asked: u32,
    /// Runs that were made: fewer when the first finding ends them.
    pub made: u32,
    /// Seed of the first run.
    pub first_seed: u64,
    /// Seed of the last run that was made.
    pub last_seed: u64,
}

/// An input with its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The path as the user named it.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}
