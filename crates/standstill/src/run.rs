//! `run`: a program under the watchdog, and what it stood on when it had to be stopped.

mod death;
mod duration;
mod gpu;
mod hint;
mod host;
mod program;
mod record;
mod replay;
mod report;
mod software;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use standstill_findings::Severity;
use standstill_report::{Report, merge};
use standstill_supervisor::{Captured, Ended, Limits, Observer, Outcome, Plan, Reason};

use crate::args::{CompilerArgs, OutputArgs, VerdictArgs};
use crate::check::is_allowed;
use crate::disk::DiskSources;
use crate::output::{fail, say};
use crate::streams::{draw, keep_traces, unknown_bytes};

pub(crate) use gpu::explain;
use host::{HostReport, host_section};
use record::{Recorded, Recording};
pub(crate) use replay::{Saved, SavedInput, ScheduleFile};
pub(crate) use report::{keep_dumps, progress};
pub(crate) use software::Switch;
pub(crate) use software::capture::{Wanted, capture};
use software::merge::name_files;

/// The watchdog ended the program.
const STOPPED: u8 = 124;
/// Standstill itself failed.
const FAILED: u8 = 125;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 124 the watchdog ended the program, 1 findings, otherwise the program's own (128 + signal); \
                        125 standstill failed, 126 the program cannot be executed, 127 it was not found."
)]
pub(crate) struct RunArgs {
    /// A CUDA source (.cu), which is compiled first, or a program; then its arguments
    #[arg(
        required_unless_present = "replay",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "FILE.cu | -- PROGRAM"
    )]
    pub(crate) command: Vec<OsString>,

    #[command(flatten)]
    pub(crate) software: software::SoftwareArgs,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
    #[command(flatten)]
    pub(crate) compiler: CompilerArgs,
    #[command(flatten)]
    pub(crate) verdict: VerdictArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Watchdog")]
pub(crate) struct WatchArgs {
    /// Where the program's GPU work runs
    #[arg(long, value_enum, default_value_t = DeviceChoice::Auto)]
    pub(crate) device: DeviceChoice,
    /// Stop the program after this time: 5s, 500ms, 2m, 1h
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) timeout: Option<Duration>,
    /// Stop the program when host threads wait for the GPU and none of their waiting calls has returned for this time
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub(crate) no_progress: Option<Duration>,
    /// From asking the program to end to killing it
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "2s")]
    pub(crate) grace: Duration,
    /// Leave shared memory out of the GPU's dump: smaller, but flags and mbarriers there stay unknown
    #[arg(long)]
    pub(crate) light_dump: bool,
    /// Keep the dumps and the report in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) evidence: Option<PathBuf>,
}

impl WatchArgs {
    fn limits(&self) -> Limits {
        Limits { time: self.timeout, no_progress: self.no_progress, grace: self.grace, ..Limits::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeviceChoice {
    /// A card when there is one, else the software GPU
    Auto,
    /// The software GPU
    Sim,
    /// The card
    Gpu,
}

/// Where GPU work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Device {
    Card,
    Software,
}

impl DeviceChoice {
    fn device(self) -> Device {
        match self {
            DeviceChoice::Gpu => Device::Card,
            DeviceChoice::Sim => Device::Software,
            DeviceChoice::Auto if program::has_card() => Device::Card,
            DeviceChoice::Auto => Device::Software,
        }
    }
}

/// Runs the program; gives the exit code.
pub(crate) fn run(arguments: &RunArgs) -> u8 {
    if let Some(file) = &arguments.software.replay {
        return replay::replay(file, arguments);
    }
    hint::tell(arguments);
    match arguments.watch.device.device() {
        Device::Card => run_on_card(arguments),
        Device::Software => software::run(arguments),
    }
}

fn run_on_card(arguments: &RunArgs) -> u8 {
    let prepared = match program::prepare(&arguments.command, &arguments.compiler) {
        Ok(prepared) => prepared,
        Err(message) => {
            fail(&message);
            return FAILED;
        }
    };
    let watch = &arguments.watch;
    let mut command = prepared.command();
    let recording = match recording(arguments) {
        Ok(recording) => recording,
        Err(message) => {
            fail(&message);
            return FAILED;
        }
    };
    if let Some(recording) = &recording {
        recording.enter(&mut command);
    }
    let plan = Plan {
        command,
        limits: watch.limits(),
        dumps: true,
        light_dumps: watch.light_dump,
        owns_process: true,
    };
    let mut watcher = Watcher { recording, ..Watcher::new(arguments, &prepared) };
    match standstill_supervisor::run(plan, &mut watcher) {
        Ok(outcome) => {
            if let Some(recording) = watcher.recording.take() {
                let keep = arguments.software.trace.is_some() || arguments.output.html.is_some();
                watcher.add(recording.read(prepared.code(), keep));
            }
            watcher.finish(&outcome)
        }
        Err(error) => {
            fail(&error.to_string());
            error.exit_code()
        }
    }
}

/// What records the program's host operations, unless it is not wanted. Where it cannot be, that is an error only when
/// the record itself is asked for.
fn recording(arguments: &RunArgs) -> Result<Option<Recording>, String> {
    if arguments.software.races == Switch::Off {
        return Ok(None);
    }
    match Recording::prepare() {
        Ok(recording) => Ok(Some(recording)),
        Err(why) => {
            let message = format!("the order of host operations is not checked: {why}");
            if arguments.software.trace.is_some() {
                return Err(message);
            }
            say(&format!("standstill: {message}"));
            Ok(None)
        }
    }
}

/// Collects what the supervisor tells, and reports it.
struct Watcher<'a> {
    arguments: &'a RunArgs,
    sources: DiskSources,
    report: Report,
    host: Option<HostReport>,
    recording: Option<Recording>,
    shown: bool,
}

impl<'a> Watcher<'a> {
    fn new(arguments: &'a RunArgs, prepared: &program::Prepared) -> Watcher<'a> {
        let mut report = Report { fail_on: arguments.verdict.fail_on.severity(), ..Report::default() };
        report.evidence = prepared.evidence();
        Watcher {
            arguments,
            sources: DiskSources::default(),
            report,
            host: None,
            recording: None,
            shown: false,
        }
    }

    /// Takes what the program's host operations say.
    fn add(&mut self, recorded: Recorded) {
        if let Some(path) = &self.arguments.software.trace
            && let Err(message) = keep_traces(path, &recorded.traces)
        {
            fail(&message);
        }
        let input = self.arguments.command.first().map(PathBuf::from).unwrap_or_default();
        let shown = input.display().to_string();
        if self.arguments.output.html.is_some() {
            self.report.timelines = recorded.traces.iter().map(|trace| draw(trace, &shown)).collect();
        }
        let mut findings = recorded.findings;
        name_files(&mut findings, &input);
        let (allowed, before) = (self.arguments.verdict.allowed(), findings.len());
        findings.retain(|finding| !is_allowed(finding, &allowed, &shown, &self.sources));
        self.report.allowed += (before - findings.len()) as u64;
        self.report.findings.extend(merge(&shown, findings));
        self.report.coverage.add(recorded.coverage);
        self.report.not_understood.extend(unknown_bytes(&shown, recorded.unknown));
        self.report.not_understood.extend(recorded.not_understood);
    }

    fn finish(mut self, outcome: &Outcome) -> u8 {
        self.report.program_exit = outcome.ended.map_or(-1, |ended| i32::from(ended.exit_code()));
        let failed = self.report.findings.iter().any(|reported| self.report.fails(&reported.finding));
        let exit = match (&outcome.stopped, outcome.ended) {
            (Some(Reason::Interrupted { signal }), _) => u8::try_from(128 + signal).unwrap_or(STOPPED),
            (Some(_), _) => STOPPED,
            (None, _) if failed => 1,
            (None, Some(ended)) => ended.exit_code(),
            (None, None) => FAILED,
        };
        self.report.exit = i32::from(exit);
        if let (None, Some(Ended::Signalled(signal))) = (&outcome.stopped, outcome.ended) {
            say(&death::sentence(signal, &[]));
        }
        for process in &outcome.left_behind {
            say(&format!(
                "standstill: the program had ended and left process {} ({}) running; it was ended too",
                process.pid, process.name
            ));
        }
        for process in &outcome.remaining {
            let place = match process.kernel_function.as_str() {
                "" => String::new(),
                function => format!(" in {function}"),
            };
            say(&format!(
                "standstill: process {} ({}) does not end: the kernel holds it (state {}{place})",
                process.pid, process.name, process.state
            ));
        }
        if let Some(folder) = &self.arguments.watch.evidence
            && let Err(error) = report::keep_report(folder, &self.report, self.host.as_ref())
        {
            fail(&format!("{}: the report cannot be kept there: {error}", folder.display()));
        }
        let told = self.report.findings.iter().any(|reported| reported.finding.severity > Severity::Note);
        let looked = self.report.coverage.operations > 0 && !self.arguments.output.quiet;
        let wanted =
            told || looked || outcome.stopped.is_some() || report::wanted_always(&self.arguments.output);
        let written = self.shown
            || !wanted
            || report::write(&self.report, self.host.as_ref(), &self.sources, &self.arguments.output);
        if written || exit != 0 { exit } else { FAILED }
    }
}

impl Observer for Watcher<'_> {
    fn progress(&mut self, line: &str) {
        progress(line);
    }

    fn captured(&mut self, captured: &Captured) {
        let explained = explain(&captured.dumps, &captured.programs, &self.arguments.verdict, &self.sources);
        let mut host = host_section(captured, &explained);
        let running: Vec<&str> = explained.on_gpu.iter().map(|one| one.kernel.as_str()).collect();
        let outstanding = self.recording.as_ref().map(|recording| recording.outstanding(&running));
        host.outstanding(&outstanding.unwrap_or_default());
        explained.add_to(&mut self.report);
        self.report.exit = i32::from(STOPPED);
        if let Some(folder) = &self.arguments.watch.evidence
            && let Err(error) = keep_dumps(folder, &captured.dumps)
        {
            fail(&format!("{}: the dumps cannot be kept there: {error}", folder.display()));
        }
        self.host = Some(host);
        if let Some(host) = &mut self.host {
            host.explained(captured.expired.elapsed());
        }
        // A person waits for the explanation; a script for the whole document.
        if report::is_text(&self.arguments.output) {
            report::write(&self.report, self.host.as_ref(), &self.sources, &self.arguments.output);
            self.shown = true;
        }
    }

    fn note(&mut self, line: &str) {
        say(&format!("standstill: {line}"));
    }
}
