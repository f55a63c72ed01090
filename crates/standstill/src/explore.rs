//! `explore`: all interleavings of one small launch.

mod argument;
mod drawing;
mod keep;
mod progress;
mod subject;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use standstill_explore::{
    Expectation, Launch, Limits, Options, Outcome, Races, Scheduler, explore as search, findings,
};
use standstill_findings::Coverage;
use standstill_ptx::Lowering;
use standstill_report::{Explored, Kernel, Report, Schedule, merge};

use crate::args::{CompilerArgs, OutputArgs, VerdictArgs};
use crate::check::{command_line, is_allowed};
use crate::disk::DiskSources;
use crate::exit::{self, NOT_DECIDED};
use crate::output;
use crate::run::Switch;
use argument::{ParameterArgument, Size};
use progress::Progress;
use subject::Subject;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 an input or the call is wrong, \
                        3 not decided (the space of states is over a limit, or an instruction is not explored)."
)]
pub(crate) struct ExploreArgs {
    /// A CUDA source (.cu), PTX, or an executable, library, object or fatbin with PTX inside. A source with a `main` is
    /// run on the software GPU up to the launch that is explored
    #[arg(value_name = "FILE", required_unless_present = "program")]
    file: Option<PathBuf>,
    /// A program that is run up to the launch that is explored, with its arguments; behind a source, the arguments alone
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,

    /// The kernel to explore (mangled, readable, or without namespace and template arguments); unless given the only one, or
    /// the first that the program launches
    #[arg(long, value_name = "KERNEL")]
    entry: Option<String>,
    /// Which of the program's launches, of the kernel where --entry names one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), default_value_t = 1)]
    launch: u64,
    /// Do not run a source that has a `main`: explore from zeros and --param alone
    #[arg(long)]
    no_run: bool,
    /// Blocks of the grid: 2, 2x2
    #[arg(long, value_name = "SHAPE", value_parser = crate::launch::parse_grid)]
    grid: Option<[u32; 3]>,
    /// Threads of a block: 2, 4x2
    #[arg(long, value_name = "SHAPE", value_parser = crate::launch::parse_block)]
    block: Option<[u32; 3]>,
    /// Blocks of a cluster: 2, 2x2; unless given what the kernel requires, or what the program asks for
    #[arg(long, value_name = "SHAPE", value_parser = crate::launch::parse_cluster)]
    cluster: Option<[u32; 3]>,
    /// A parameter by its position from 0: a number (2=1000), or a buffer of its own (0=i32[5,3,1], 0=u64[16] for 16 zeros).
    /// A pointer without one has what it points at in the program, else 256 bytes of zeros
    #[arg(long, value_name = "POSITION=ARGUMENT", value_parser = argument::parse)]
    param: Vec<ParameterArgument>,
    /// Bytes of dynamic shared memory; unless given as in the program, else 0
    #[arg(long, value_name = "BYTES")]
    shared: Option<u32>,
    /// What memory must hold when the launch has ended, over variables of the file and buffers p0, p1, …: 'acc == 210',
    /// 'p0[1] == 5 && sum(p1) > 0'
    #[arg(long, value_name = "CONDITION")]
    expect: Option<String>,

    /// Give up beyond so many states
    #[arg(long, value_name = "N", default_value_t = Limits::default().states)]
    max_states: usize,
    /// Give up beyond so much memory: 512M, 4G
    #[arg(long, value_name = "SIZE", value_parser = argument::parse_size, default_value = "4G")]
    memory: Size,
    /// Look for races
    #[arg(long, value_enum, default_value_t = Switch::On)]
    races: Switch,
    /// Do not ask under which schedulers the launch ends
    #[arg(long)]
    no_schedulers: bool,
    /// Ask about this scheduler too: grid=OBE,cluster=FAIR,block=FAIR,warp=LOBE, with OBE, HSA, HSA_OBE, LOBE or FAIR for each level, each
    /// also with _STRONG; what is not named is fair
    #[arg(long, value_name = "LEVEL=POLICY,…", value_parser = scheduler, conflicts_with = "no_schedulers")]
    scheduler: Vec<(String, Scheduler)>,

    /// Save the failing schedule, for `standstill run --replay FILE`; those of further findings with numbers in their names
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Keep schedules, report and code in this folder
    #[arg(long, value_name = "FOLDER")]
    evidence: Option<PathBuf>,

    #[command(flatten)]
    compiler: CompilerArgs,
    #[command(flatten)]
    verdict: VerdictArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Explores the launch and writes the report; gives the exit code.
pub(crate) fn explore(arguments: &ExploreArgs) -> u8 {
    let sources = DiskSources::default();
    let mut report = Report { fail_on: arguments.verdict.fail_on.severity(), ..Report::default() };
    report.evidence.command = command_line();
    let mut complete = true;
    let subject = Subject::find(arguments, &mut report);
    if let Some(subject) = &subject {
        match explore_kernel(subject, arguments, &sources) {
            Ok((outcome, found)) => {
                complete = outcome.complete();
                report.coverage =
                    Coverage { kernels: 1, launches: 1, operations: outcome.steps, ..Coverage::default() };
                report.kernels.push(Kernel { input: subject.shown.clone(), symbol: subject.symbol.clone() });
                report.findings = merge(&subject.shown, found.findings);
                report.schedules = found.schedules;
                report.allowed = found.allowed;
                report.explored = Some(explored(&outcome, &found.launch, subject, arguments));
            }
            Err(message) => report.errors.push(subject::problem(&subject.shown, message)),
        }
    }
    let code = exit::code(&report, arguments.verdict.strict);
    // A fault is a fault, but silence of a part is no answer.
    let code = if code == exit::CLEAN && !complete { NOT_DECIDED } else { code };
    report.exit = i32::from(code);
    if let Some(folder) = &arguments.evidence
        && let Err(message) = keep::keep_report(folder, &report, subject.as_ref())
    {
        output::fail(&message);
    }
    output::write(&report, &sources, &arguments.output)
}

/// Findings with the launch that they are of.
struct Found {
    findings: Vec<standstill_findings::Finding>,
    schedules: Vec<Schedule>,
    allowed: u64,
    launch: Launch,
}

fn explore_kernel(
    subject: &Subject,
    arguments: &ExploreArgs,
    sources: &DiskSources,
) -> Result<(Outcome, Found), String> {
    let text = &subject.text;
    let module = standstill_ptx::parse(&text.text);
    let lowering = Lowering::new(&module);
    let launch = subject.launch(&lowering, arguments)?;
    let expect = arguments.expect.as_ref().map(|text| Expectation::parse(text, &launch)).transpose();
    let expect = expect.map_err(|error| format!("--expect: {error}"))?;
    let limits = Limits { states: arguments.max_states, bytes: arguments.memory.0, ..Limits::default() };
    // Schedulers are asked about while the states with every thread told apart are few.
    let few = Limits { states: limits.states.min(2_000_000), ..limits };
    let options = Options {
        limits,
        expect,
        schedulers: (!arguments.no_schedulers).then_some(few),
        asked: arguments.scheduler.iter().map(|(_, scheduler)| *scheduler).collect(),
        without_races: arguments.races == Switch::Off,
        ..Options::default()
    };
    let mut progress = Progress::new(arguments.output.quiet);
    let outcome = search(&lowering, &launch, &options, &mut progress)
        .map_err(|error| format!("{error}{}", subject.smaller(&launch)))?;
    progress.done();
    let line_of = |offset: u32| {
        let position = module.position(offset);
        (text.name.clone(), position.line, position.column)
    };
    let mut found = findings(&outcome, &launch, &line_of);
    if found.iter().flat_map(|(finding, _)| &finding.spans).any(|span| span.file == text.name) {
        sources.insert(text.name.clone(), text.text.clone().into());
    }
    found.iter_mut().for_each(|(finding, _)| subject.name_files(finding));
    keep::save(&mut found, &launch, subject, arguments)?;
    let silenced = arguments.verdict.allowed();
    let before = found.len();
    found.retain(|(finding, _)| !is_allowed(finding, &silenced, &subject.shown, sources));
    let allowed = (before - found.len()) as u64;
    let shown = found.iter().filter_map(|(finding, failure)| Some((finding, (*failure)?)));
    let schedules =
        shown.map(|(finding, failure)| drawing::drawn(failure, finding, subject, &line_of)).collect();
    let findings = found.into_iter().map(|(finding, _)| finding).collect();
    Ok((outcome, Found { findings, schedules, allowed, launch }))
}

/// A scheduler as it was written, and what it is.
fn scheduler(text: &str) -> Result<(String, Scheduler), String> {
    Ok((text.to_owned(), text.parse()?))
}

/// What the report says of the search itself.
fn explored(outcome: &Outcome, launch: &Launch, subject: &Subject, arguments: &ExploreArgs) -> Explored {
    let limit = outcome.limit.as_ref().map(|limit| {
        let limit = match limit {
            standstill_explore::Limit::States(states) => {
                format!("there are more than {states} states (--max-states)")
            }
            standstill_explore::Limit::Bytes(bytes) => {
                format!("the states take more than {} MB (--memory)", bytes >> 20)
            }
        };
        format!("{limit}{}", subject.smaller(launch))
    });
    let open = outcome.not_explored.first().map(|missing| format!("{} is not explored", missing.what));
    let limit = limit.or(open);
    let mut explored = Explored {
        kernel: outcome.kernel.clone(),
        grid: launch.grid,
        block: launch.block,
        states: outcome.states as u64,
        steps: outcome.steps,
        results: outcome.results as u64,
        origin: subject.origin(arguments),
        limit,
        races: match &outcome.races {
            Races::None => "no execution has a race".to_owned(),
            Races::Some => "some executions have a race".to_owned(),
            Races::Unknown(why) => format!("races are not known: {why}"),
        },
        ..Explored::default()
    };
    for (what, why) in &outcome.not_known {
        explored.races.push_str(&format!("; {what} are not known: {why}"));
    }
    match &outcome.verdicts {
        Some(Ok(verdicts)) => {
            explored.schedulers =
                verdicts.named.iter().map(|&(name, ends)| (name.to_owned(), ends)).collect();
            let asked = arguments.scheduler.iter().map(|(name, _)| name.clone());
            explored.schedulers.extend(asked.zip(verdicts.asked.iter().copied()));
            let somewhere = verdicts.named.iter().any(|(_, ends)| *ends);
            explored.progress = Some(match (verdicts.cuda, verdicts.cooperative, somewhere) {
                (true, _, _) => "guaranteed: it ends under what CUDA promises of forward progress".to_owned(),
                (false, true, _) => {
                    "works only because of how today's cards schedule; as a cooperative launch it is \
                                     guaranteed to end"
                        .to_owned()
                }
                (false, false, true) => "works only because of how today's cards schedule".to_owned(),
                (false, false, false) => "can hang under every scheduler".to_owned(),
            });
        }
        Some(Err(error)) => explored.progress = Some(format!("schedulers were not asked about: {error}")),
        None => {}
    }
    explored
}
