//! `run` without a card: the program runs on the software GPU, by a CUDA runtime of our own in its place.

mod journal;
mod library;
mod merge;
mod names;
mod stacks;
mod stand_in;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args, ValueEnum};
use standstill_cuda_driver::journal::{CARD, FOLDER, PTX, RACES, SCHEDULE, SEED};
use standstill_cuda_driver::{DEFAULT_MODEL, Order};
use standstill_findings::Rule;
use standstill_kernel_ir::launch::Device as Model;
use standstill_report::{Evidence, Input, Report};
use standstill_supervisor::{Captured, Observer, Outcome, Plan, Reason};
use standstill_toolchain::Runtime;
use tempfile::TempDir;

use super::gpu::Explained;
use super::host::{HostReport, host_section};
use super::{FAILED, RunArgs, STOPPED, report as writing};
use crate::args::CompilerArgs;
use crate::check::command_line;
use crate::compile::Toolchain;
use crate::disk::DiskSources;
use crate::exit::FINDINGS;
use crate::input::sha256;
use crate::output::{fail, say};
use journal::Told;
use library::Library;

#[derive(Debug, Args)]
#[command(next_help_heading = "Software GPU")]
pub(crate) struct SoftwareArgs {
    /// The card that the software GPU stands for: t4, a100, h100, h200, …
    #[arg(long, value_name = "MODEL", value_parser = crate::launch::parse_device)]
    pub(crate) gpu: Option<Model>,
    /// Where random choices start
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Run the program this many times, with seeds from --seed up; only the first one's output is shown
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// In which order the threads of the software GPU run
    #[arg(long, value_enum, default_value_t = ScheduleChoice::RoundRobin)]
    pub(crate) schedule: ScheduleChoice,
    /// Look for races and faults of memory order
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub(crate) races: Switch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScheduleChoice {
    /// Warps take turns
    RoundRobin,
    /// In a random order that the seed decides
    Random,
}

impl ScheduleChoice {
    fn order(self) -> Order {
        match self {
            ScheduleChoice::RoundRobin => Order::RoundRobin,
            ScheduleChoice::Random => Order::Random,
        }
    }
}

/// Runs the program on the software GPU; gives the exit code.
pub(crate) fn run(arguments: &RunArgs) -> u8 {
    let allowed = arguments.verdict.allowed();
    match prepare(arguments).and_then(|prepared| run_all(arguments, &prepared, &allowed)) {
        Ok(exit) => exit,
        Err(Problem { message, exit }) => {
            fail(&message);
            exit
        }
    }
}

/// Why the program could not be run.
struct Problem {
    message: String,
    exit: u8,
}

impl From<String> for Problem {
    fn from(message: String) -> Problem {
        Problem { message, exit: FAILED }
    }
}

/// A program that is ready to run on the software GPU.
struct Prepared {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// What the user named.
    input: PathBuf,
    runtime: Library,
    evidence: Evidence,
    /// A folder with the PTX that the compiler left behind.
    kept: Option<PathBuf>,
    /// Holds a program that was compiled; removed with it.
    _folder: Option<TempDir>,
}

fn prepare(arguments: &RunArgs) -> Result<Prepared, Problem> {
    let (first, rest) = arguments.command.split_first().ok_or_else(|| "no program is named".to_owned())?;
    let runtime = Library::find()?;
    let model = arguments.software.gpu.map_or(DEFAULT_MODEL, |model| model.name);
    let mut prepared = Prepared {
        program: PathBuf::from(first),
        arguments: rest.to_vec(),
        input: PathBuf::from(first),
        runtime,
        evidence: Evidence {
            command: command_line(),
            device: format!("sim:{model}"),
            seed: arguments.software.seed,
            ..Evidence::default()
        },
        kept: None,
        _folder: None,
    };
    let source = Path::new(first);
    if source.extension().and_then(OsStr::to_str) == Some("cu") {
        prepared.build(source, &arguments.compiler)?;
    } else if let Ok(bytes) = std::fs::read(source) {
        prepared.add_input(source, &bytes);
        library::refuse_static(source, &bytes)?;
    }
    Ok(prepared)
}

impl Prepared {
    /// Compiles a source and links it to the library.
    fn build(&mut self, source: &Path, compiler: &CompilerArgs) -> Result<(), String> {
        let bytes = std::fs::read(source).map_err(|error| format!("{}: {error}", source.display()))?;
        self.add_input(source, &bytes);
        let folder = tempfile::Builder::new()
            .prefix("standstill-")
            .tempdir()
            .map_err(|error| format!("cannot make a folder for temporary files: {error}"))?;
        let name = source.file_stem().unwrap_or(OsStr::new("program"));
        self.program = folder.path().join(name);
        let linked = self.runtime.linked(compiler);
        let built = Toolchain::new(&linked).build(source, &compiler.arch, Runtime::Shared, &self.program)?;
        if !built.warnings.is_empty() {
            say(&built.warnings);
        }
        self.evidence.compiler = built.compiler;
        let kept = folder.path().join("ptx");
        let written = std::fs::create_dir(&kept).and_then(|()| {
            (built.ptx.iter().zip(0..))
                .try_for_each(|(text, number)| std::fs::write(kept.join(format!("{number}.ptx")), text))
        });
        written.map_err(|error| format!("{}: {error}", kept.display()))?;
        self.kept = Some(kept);
        self._folder = Some(folder);
        Ok(())
    }

    fn add_input(&mut self, path: &Path, bytes: &[u8]) {
        self.evidence.inputs.push(Input { path: path.display().to_string(), sha256: sha256(bytes) });
    }

    /// The command for one run.
    fn command(&self, arguments: &RunArgs, journal: &Path, round: u32) -> Command {
        let software = &arguments.software;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command.env("LD_LIBRARY_PATH", self.runtime.search_path());
        command.env(FOLDER, journal);
        if let Some(kept) = &self.kept {
            command.env(PTX, kept);
        }
        command.env(CARD, software.gpu.map_or(DEFAULT_MODEL, |model| model.name));
        command.env(SEED, software.seed.wrapping_add(u64::from(round)).to_string());
        command.env(SCHEDULE, software.schedule.order().name());
        command.env(RACES, if software.races == Switch::On { "on" } else { "off" });
        if round > 0 {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        }
        command
    }
}

/// What all runs together gave.
#[derive(Default)]
struct Runs {
    told: Told,
    host: Option<HostReport>,
    stopped: Option<Reason>,
    /// Of the first run, whose output was shown.
    program_exit: Option<u8>,
}

fn run_all(arguments: &RunArgs, prepared: &Prepared, allowed: &[Rule]) -> Result<u8, Problem> {
    let mut runs = Runs::default();
    for round in 0..arguments.software.runs {
        let folder = tempfile::Builder::new()
            .prefix("standstill-")
            .tempdir()
            .map_err(|error| format!("cannot make a folder for temporary files: {error}"))?;
        let plan = Plan {
            command: prepared.command(arguments, folder.path(), round),
            limits: arguments.watch.limits(),
            dumps: false,
            light_dumps: false,
            owns_process: true,
        };
        let mut watcher = Watcher::default();
        let outcome = standstill_supervisor::run(plan, &mut watcher)
            .map_err(|error| Problem { message: error.to_string(), exit: error.exit_code() })?;
        let mut told = Told::read(folder.path());
        if outcome.stopped.is_some() {
            // Nobody came: what the device stood on is the best that is known.
            told.findings.extend(told.parked.take());
        }
        runs.add(round, told, watcher.host, &outcome);
        if matches!(outcome.stopped, Some(Reason::Interrupted { .. })) {
            break;
        }
    }
    Ok(finish(arguments, prepared, allowed, runs))
}

impl Runs {
    fn add(&mut self, round: u32, told: Told, host: Option<HostReport>, outcome: &Outcome) {
        self.told.add(told);
        if round == 0 {
            self.program_exit = outcome.ended.map(standstill_supervisor::Ended::exit_code);
        }
        if self.stopped.is_none() {
            self.stopped.clone_from(&outcome.stopped);
            self.host = host;
        }
    }
}

fn finish(arguments: &RunArgs, prepared: &Prepared, allowed: &[Rule], runs: Runs) -> u8 {
    let sources = DiskSources::default();
    let mut report = Report {
        fail_on: arguments.verdict.fail_on.severity(),
        evidence: prepared.evidence.clone(),
        ..Report::default()
    };
    merge::fill(&mut report, arguments, &prepared.input, allowed, &runs.told, &sources);
    report.program_exit = runs.program_exit.map_or(-1, i32::from);
    let failed = report.findings.iter().any(|reported| report.fails(&reported.finding));
    let exit = match &runs.stopped {
        Some(Reason::Interrupted { signal }) => u8::try_from(128 + signal).unwrap_or(STOPPED),
        Some(_) => STOPPED,
        None if failed => FINDINGS,
        None => runs.program_exit.unwrap_or(FAILED),
    };
    report.exit = i32::from(exit);
    if !runs.told.started {
        say("standstill: the program made no CUDA call through the software GPU's runtime");
    }
    let something = !report.findings.is_empty() || !report.errors.is_empty() || runs.stopped.is_some();
    if something || writing::wanted_always(&arguments.output) {
        writing::write(&report, runs.host.as_ref(), &sources, &arguments.output);
    }
    exit
}

/// Keeps what the supervisor tells of a program that it has to stop.
#[derive(Default)]
struct Watcher {
    host: Option<HostReport>,
}

impl Observer for Watcher {
    fn progress(&mut self, line: &str) {
        writing::progress(line);
    }

    fn captured(&mut self, captured: &Captured) {
        self.host = Some(host_section(&stacks::of_program(captured), &Explained::default()));
    }
}
