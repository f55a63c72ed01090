//! `run` without a card: the program runs on the software GPU, by a CUDA runtime of our own in its place.

mod call_sites;
pub(crate) mod capture;
mod journal;
pub(in crate::run) mod library;
pub(in crate::run) mod merge;
mod names;
mod rounds;
mod stacks;
mod stand_in;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::{Args, ValueEnum};
use standstill_cuda_driver::journal::{CARD, CONTENDED, FOLDER, ORDER, PTX, RACES, SCHEDULE, SEED, STALE};
use standstill_cuda_driver::recorder::RECORD;
use standstill_cuda_driver::{DEFAULT_MODEL, OperationOrder, Order};
use standstill_findings::Rule;
use standstill_kernel_ir::launch::Device as Model;
use standstill_report::{Evidence, Input, Report};
use standstill_supervisor::{Captured, Ended, Observer, Outcome, Plan, Reason};
use standstill_toolchain::Runtime;
use tempfile::TempDir;

use super::gpu::Explained;
use super::host::{HostReport, host_section};
use super::{FAILED, RunArgs, STOPPED, death, report as writing};
use crate::args::CompilerArgs;
use crate::check::command_line;
use crate::compile::Toolchain;
use crate::disk::DiskSources;
use crate::exit::FINDINGS;
use crate::input::sha256;
use crate::output::{fail, say};
use crate::streams::keep_traces;
use journal::Told;
use library::Library;
use rounds::{Round, ScheduleChoice};

#[derive(Debug, Args)]
#[command(next_help_heading = "Software GPU")]
pub(crate) struct SoftwareArgs {
    /// The card that the software GPU stands for: t4, a100, h100, h200, …
    #[arg(long, value_name = "MODEL", value_parser = crate::launch::parse_device)]
    pub(crate) gpu: Option<Model>,
    /// Where random choices start
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Run the program up to this many times, with seeds from --seed up, until a run finds something or fails; only
    /// the first one's output is shown
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Make all of --runs, whatever they find
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// In which order the threads of the software GPU run; unless given they take turns in the first run, and further
    /// runs try all orders
    #[arg(long, value_enum)]
    pub(crate) schedule: Option<ScheduleChoice>,
    /// In which order the operations of streams are carried out where the program leaves it open
    #[arg(long, value_enum, default_value_t = OrderChoice::Submission)]
    pub(crate) order: OrderChoice,
    /// Let loads that are weak or relaxed see values that were overwritten, where the memory consistency model allows
    /// it, so that a missing acquire or release shows in the program's own results
    #[arg(long)]
    pub(crate) stale: bool,
    /// Keep the record of what the host asked, for `standstill streams`; on a card, too
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Replay a schedule that `explore --save FILE` has written; the program need not be named where it is where it was
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Look for races, faults of memory order and missing order between streams
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
pub(crate) enum OrderChoice {
    /// Each is begun as soon as the program's own order lets it, the first one submitted before others; short ones may
    /// end before long ones that were submitted earlier
    Submission,
    /// The newest first, and none before something waits for it, so that a missing edge shows as wrong numbers
    Adversarial,
}

impl OrderChoice {
    fn operations(self) -> OperationOrder {
        match self {
            OrderChoice::Submission => OperationOrder::Submission,
            OrderChoice::Adversarial => OperationOrder::Adversarial,
        }
    }
}

/// Runs the program on the software GPU; gives the exit code.
pub(crate) fn run(arguments: &RunArgs) -> u8 {
    let allowed = arguments.verdict.allowed();
    let prepared = prepare(arguments).map_err(Problem::from);
    match prepared.and_then(|prepared| run_all(arguments, &prepared, &allowed)) {
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

fn prepare(arguments: &RunArgs) -> Result<Prepared, String> {
    let software = &arguments.software;
    let model = software.gpu.map_or(DEFAULT_MODEL, |model| model.name);
    prepare_for(&arguments.command, &arguments.compiler, model, software.seed)
}

/// Compiles a source; takes everything else as a program.
fn prepare_for(
    command: &[OsString],
    compiler: &CompilerArgs,
    model: &str,
    seed: u64,
) -> Result<Prepared, String> {
    let (first, rest) = command.split_first().ok_or("no program is named")?;
    let runtime = Library::find()?;
    let mut prepared = Prepared {
        program: PathBuf::from(first),
        arguments: rest.to_vec(),
        input: PathBuf::from(first),
        runtime,
        evidence: Evidence {
            command: command_line(),
            device: format!("sim:{model}"),
            seed,
            ..Evidence::default()
        },
        kept: None,
        _folder: None,
    };
    let source = Path::new(first);
    if source.extension().and_then(OsStr::to_str) == Some("cu") {
        prepared.build(source, compiler)?;
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

    /// The program, where it finds the software GPU and what tells of it.
    fn bare_command(&self, journal: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command.env("LD_LIBRARY_PATH", self.runtime.search_path());
        command.env(FOLDER, journal);
        if let Some(kept) = &self.kept {
            command.env(PTX, kept);
        }
        command
    }

    /// The command for one run.
    fn command(
        &self,
        arguments: &RunArgs,
        journal: &Path,
        round: Round,
        contended: Option<&Path>,
    ) -> Command {
        let software = &arguments.software;
        let mut command = self.bare_command(journal);
        command.env(CARD, software.gpu.map_or(DEFAULT_MODEL, |model| model.name));
        command.env(SEED, round.seed.to_string());
        command.env(SCHEDULE, round.order.name());
        command.env(ORDER, software.order.operations().name());
        let switch = |on| if on { "on" } else { "off" };
        // Where threads meet, and what they can know, is known only where races are looked for.
        let races = software.races == Switch::On || software.stale || round == Round::REHEARSAL;
        command.env(RACES, switch(races));
        command.env(RECORD, switch(races && round != Round::REHEARSAL));
        command.env(STALE, switch(software.stale && round != Round::REHEARSAL));
        if let Some(contended) = contended {
            command.env(CONTENDED, contended);
        }
        if round.number > 0 {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        }
        command
    }
}

/// What all runs together gave.
#[derive(Default)]
struct Runs {
    told: Told,
    watched: Watcher,
    stopped: Option<Reason>,
    /// Of the first run, whose output was shown, unless a later one failed.
    program_exit: Option<u8>,
    /// The sentence about the signal that killed it.
    death: Option<String>,
    made: u32,
    last_seed: u64,
}

fn run_all(arguments: &RunArgs, prepared: &Prepared, allowed: &[Rule]) -> Result<u8, Problem> {
    let software = &arguments.software;
    let sources = DiskSources::default();
    let mut runs = Runs::default();
    let mut rehearsal = None;
    for round in Round::all(software.schedule, software.seed, software.runs) {
        if round.order == Order::Adversarial && rehearsal.is_none() {
            let journal = journal_folder()?;
            run_once(arguments, prepared, journal.path(), Round::REHEARSAL, None)?;
            rehearsal = Some((rounds::contended(journal.path()), journal));
        }
        let journal = journal_folder()?;
        let contended = rehearsal.as_ref().and_then(|(places, _)| places.as_deref());
        let (outcome, watched) = run_once(arguments, prepared, journal.path(), round, contended)?;
        let mut told = Told::read(journal.path());
        if outcome.stopped.is_some() {
            // Nobody came: what the device stood on is the best that is known.
            told.findings.extend(told.parked.take());
        }
        let failed = outcome.ended.is_none_or(|ended| ended.exit_code() != 0)
            || merge::raises(arguments, &prepared.input, allowed, &told, &sources);
        runs.add(round, told, watched, &outcome);
        let interrupted = matches!(outcome.stopped, Some(Reason::Interrupted { .. }));
        if interrupted || (failed && !software.keep_going) {
            break;
        }
    }
    if let Some(path) = &arguments.software.trace {
        keep_traces(path, &runs.told.traces)?;
    }
    Ok(finish(arguments, prepared, allowed, runs, &sources))
}

fn journal_folder() -> Result<TempDir, String> {
    tempfile::Builder::new()
        .prefix("standstill-")
        .tempdir()
        .map_err(|error| format!("cannot make a folder for temporary files: {error}"))
}

fn run_once(
    arguments: &RunArgs,
    prepared: &Prepared,
    journal: &Path,
    round: Round,
    contended: Option<&Path>,
) -> Result<(Outcome, Watcher), Problem> {
    let plan = Plan {
        command: prepared.command(arguments, journal, round, contended),
        limits: arguments.watch.limits(),
        dumps: false,
        light_dumps: false,
        owns_process: true,
    };
    let mut watcher = Watcher::default();
    let outcome = standstill_supervisor::run(plan, &mut watcher)
        .map_err(|error| Problem { message: error.to_string(), exit: error.exit_code() })?;
    Ok((outcome, watcher))
}

impl Runs {
    fn add(&mut self, round: Round, told: Told, watched: Watcher, outcome: &Outcome) {
        let death = match (&outcome.stopped, outcome.ended) {
            (None, Some(Ended::Signalled(signal))) => Some(death::sentence(signal, &told.traces)),
            _ => None,
        };
        self.told.add(told);
        (self.made, self.last_seed) = (self.made + 1, round.seed);
        let exit = outcome.ended.map(Ended::exit_code);
        if round.number == 0 || self.program_exit == Some(0) {
            if let Some(code) = exit.filter(|code| round.number > 0 && *code != 0) {
                let (order, seed) = (round.order.name(), round.seed);
                say(&format!(
                    "standstill: the program ended with {code} in a run with --schedule {order} --seed {seed}"
                ));
            }
            (self.program_exit, self.death) = (exit, death);
        }
        if self.stopped.is_none() {
            self.stopped.clone_from(&outcome.stopped);
            self.watched = watched;
        }
    }
}

fn finish(
    arguments: &RunArgs,
    prepared: &Prepared,
    allowed: &[Rule],
    mut runs: Runs,
    sources: &DiskSources,
) -> u8 {
    let mut report = Report {
        fail_on: arguments.verdict.fail_on.severity(),
        evidence: prepared.evidence.clone(),
        ..Report::default()
    };
    let software = &arguments.software;
    report.runs = (software.runs > 1).then_some(standstill_report::Runs {
        asked: software.runs,
        made: runs.made,
        first_seed: software.seed,
        last_seed: runs.last_seed,
    });
    report.program_exit = runs.program_exit.map_or(-1, i32::from);
    merge::fill(&mut report, arguments, &prepared.input, allowed, &runs.told, sources);
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
    if let Some(sentence) = &runs.death {
        say(sentence);
    }
    let seen = report.coverage.kernels + report.coverage.operations > 0;
    let looked = seen && !arguments.output.quiet;
    let something =
        looked || !report.findings.is_empty() || !report.errors.is_empty() || runs.stopped.is_some();
    let written = !(something || writing::wanted_always(&arguments.output))
        || writing::write(&report, runs.watched.host().as_ref(), sources, &arguments.output);
    if written || exit != 0 { exit } else { FAILED }
}

/// Keeps what the supervisor tells of a program that it has to stop.
#[derive(Default)]
struct Watcher {
    host: Option<(HostReport, Instant)>,
}

impl Watcher {
    /// What the program stood on; the time to the explanation is that until now.
    fn host(&mut self) -> Option<HostReport> {
        let (mut host, expired) = self.host.take()?;
        host.explained(expired.elapsed());
        Some(host)
    }
}

impl Observer for Watcher {
    fn progress(&mut self, line: &str) {
        writing::progress(line);
    }

    fn captured(&mut self, captured: &Captured) {
        let host = host_section(&stacks::of_program(captured), &Explained::default());
        self.host = Some((host, captured.expired));
    }
}
