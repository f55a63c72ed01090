//! `explore`: all interleavings of one small launch.

mod argument;
mod progress;

use std::path::PathBuf;

use clap::Args;
use standstill_explore::{
    Argument, Expectation, Launch, Limits, Options, Outcome, Races, explore as search, findings,
};
use standstill_findings::Coverage;
use standstill_kernel_ir::{Function, FunctionKind, Program};
use standstill_ptx::Lowering;
use standstill_report::{Evidence, Explored, Input, InputError, Kernel, Report, display_name, merge};

use crate::args::{CompilerArgs, OutputArgs, VerdictArgs};
use crate::check::{command_line, is_allowed, readers_path, rename_files};
use crate::comments;
use crate::compile::Toolchain;
use crate::disk::DiskSources;
use crate::exit::{self, NOT_DECIDED};
use crate::input::{self, Loaded, PtxText};
use crate::launch::names_kernel;
use crate::output;
use crate::run::Switch;
use argument::{ParameterArgument, Size};
use progress::Progress;

/// Bytes of the buffer behind a pointer that was given no argument.
const DEFAULT_BUFFER: usize = 256;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 an input or the call is wrong, \
                        3 not decided (the space of states is over a limit, or an instruction is not explored)."
)]
pub(crate) struct ExploreArgs {
    /// A CUDA source (.cu), PTX, or an executable, library, object or fatbin with PTX inside
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The kernel to explore (mangled, readable, or without namespace and template arguments); the only one unless given
    #[arg(long, value_name = "KERNEL")]
    entry: Option<String>,
    /// Blocks of the grid: 2, 2x2
    #[arg(long, value_name = "SHAPE", value_parser = crate::launch::parse_grid)]
    grid: Option<[u32; 3]>,
    /// Threads of a block: 2, 4x2
    #[arg(long, value_name = "SHAPE", value_parser = crate::launch::parse_block)]
    block: Option<[u32; 3]>,
    /// A parameter by its position from 0: a number (2=1000), or a buffer of its own (0=i32[5,3,1], 0=u64[16] for 16 zeros).
    /// A pointer without one gets 256 bytes of zeros
    #[arg(long, value_name = "POSITION=ARGUMENT", value_parser = argument::parse)]
    param: Vec<ParameterArgument>,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u32,
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

    #[command(flatten)]
    compiler: CompilerArgs,
    #[command(flatten)]
    verdict: VerdictArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Explores the launch and writes the report; gives the exit code.
pub(crate) fn explore(arguments: &ExploreArgs) -> u8 {
    let toolchain = Toolchain::new(&arguments.compiler);
    let sources = DiskSources::default();
    let shown = input::shown(&arguments.file);
    let mut loaded = input::load(&arguments.file, &toolchain, true);
    let mut report = Report { fail_on: arguments.verdict.fail_on.severity(), ..Report::default() };
    report.errors.append(&mut loaded.errors);
    let mut complete = true;
    match choose(&loaded, arguments) {
        Ok((text, symbol)) => match explore_kernel(text, &symbol, &loaded, arguments, &sources) {
            Ok((outcome, found)) => {
                complete = outcome.complete();
                report.coverage =
                    Coverage { kernels: 1, launches: 1, operations: outcome.steps, ..Coverage::default() };
                report.kernels.push(Kernel { input: shown.clone(), symbol });
                report.findings = merge(&shown, found.findings);
                report.allowed = found.allowed;
                report.explored = Some(explored(&outcome, &found.launch));
            }
            Err(message) => report.errors.push(problem(&shown, message)),
        },
        Err(message) if report.errors.is_empty() => report.errors.push(problem(&shown, message)),
        Err(_) => {}
    }
    report.evidence = Evidence {
        command: command_line(),
        inputs: vec![Input { path: shown, sha256: loaded.sha256 }],
        compiler: loaded.compiled.map_or(String::new(), |compiled| compiled.compiler),
        ..Evidence::default()
    };
    let code = exit::code(&report, arguments.verdict.strict);
    // A fault is a fault, but silence of a part is no answer.
    let code = if code == exit::CLEAN && !complete { NOT_DECIDED } else { code };
    report.exit = i32::from(code);
    output::write(&report, &sources, &arguments.output)
}

fn problem(shown: &str, message: String) -> InputError {
    InputError { file: shown.to_owned(), line: 0, column: 0, message }
}

/// The text with the kernel that is asked for, and its mangled name.
fn choose<'a>(loaded: &'a Loaded, arguments: &ExploreArgs) -> Result<(&'a PtxText, String), String> {
    let mut kernels = Vec::new();
    for text in &loaded.texts {
        let module = standstill_ptx::parse(&text.text);
        let lowering = Lowering::new(&module);
        let of_text = lowering.module().functions.iter();
        let of_text = of_text.filter(|function| function.kind == FunctionKind::Kernel && function.defined);
        kernels.extend(of_text.map(|function| (text, function.name.clone())));
    }
    let list = |kernels: &[(&PtxText, String)]| {
        kernels.iter().map(|(_, name)| display_name(name)).collect::<Vec<_>>().join(", ")
    };
    let Some(wanted) = &arguments.entry else {
        return match &kernels[..] {
            [] => Err("there is no kernel in it".to_owned()),
            [(text, symbol)] => Ok((*text, symbol.clone())),
            several => Err(format!("name one of its kernels with --entry: {}", list(several))),
        };
    };
    let named = kernels.iter().find(|(_, symbol)| names_kernel(wanted, symbol));
    match named {
        Some((text, symbol)) => Ok((*text, symbol.clone())),
        None if kernels.is_empty() => Err("there is no kernel in it".to_owned()),
        None => Err(format!("no kernel is named {wanted}; there are {}", list(&kernels))),
    }
}

/// Findings with the launch that they are of.
struct Found {
    findings: Vec<standstill_findings::Finding>,
    allowed: u64,
    launch: Launch,
}

fn explore_kernel(
    text: &PtxText,
    symbol: &str,
    loaded: &Loaded,
    arguments: &ExploreArgs,
    sources: &DiskSources,
) -> Result<(Outcome, Found), String> {
    let module = standstill_ptx::parse(&text.text);
    let lowering = Lowering::new(&module);
    let mut launch = Launch::new(&lowering, symbol).map_err(|error| error.to_string())?;
    let function = lowering.function(launch.kernel).ok_or("the kernel has no body")?;
    let source = loaded.source.as_deref().unwrap_or(&text.text);
    let (comments, _) = comments::launches(source);
    let comment = comments.into_iter().find(|comment| names_kernel(&comment.kernel, symbol));
    let shape = comment.map(|comment| comment.shape).unwrap_or_default();
    launch.grid = arguments.grid.or(shape.grid).unwrap_or([1; 3]);
    launch.block = arguments.block.or(shape.block).unwrap_or([1; 3]);
    launch.dynamic_shared = arguments.shared;
    launch.set_first_values(&lowering.first_values());
    let passed = passed(&function, arguments, &shape.parameters)?;
    launch.set_arguments(&function, &passed).map_err(|error| error.to_string())?;
    let expect = arguments.expect.as_ref().map(|text| Expectation::parse(text, &launch)).transpose();
    let expect = expect.map_err(|error| format!("--expect: {error}"))?;
    let limits = Limits { states: arguments.max_states, bytes: arguments.memory.0 };
    // Schedulers are asked about while the states with every thread told apart are few.
    let few = Limits { states: limits.states.min(2_000_000), bytes: limits.bytes };
    let options = Options {
        limits,
        expect,
        schedulers: (!arguments.no_schedulers).then_some(few),
        without_races: arguments.races == Switch::Off,
        ..Options::default()
    };
    let mut progress = Progress::new(arguments.output.quiet);
    let outcome = search(&lowering, &launch, &options, &mut progress).map_err(|error| error.to_string())?;
    progress.done();
    let line_of = |offset: u32| {
        let position = module.position(offset);
        (text.name.clone(), position.line, position.column)
    };
    let mut found = findings(&outcome, &launch, &line_of);
    if found.iter().flat_map(|finding| &finding.spans).any(|span| span.file == text.name) {
        sources.insert(text.name.clone(), text.text.clone().into());
    }
    if let Some(compiled) = &loaded.compiled {
        rename_files(&mut found, |file| Some(compiled.as_typed(file).into_owned()));
    }
    let here = std::env::current_dir().ok();
    let absolute = std::fs::canonicalize(&arguments.file).ok();
    rename_files(&mut found, |file| {
        readers_path(file, &arguments.file, here.as_deref(), absolute.as_deref())
    });
    let (silenced, shown) = (arguments.verdict.allowed(), input::shown(&arguments.file));
    let before = found.len();
    found.retain(|finding| !is_allowed(finding, &silenced, &shown, sources));
    let allowed = (before - found.len()) as u64;
    Ok((outcome, Found { findings: found, allowed, launch }))
}

/// What each parameter gets: by a flag, by a launch comment, else zeros.
fn passed(
    function: &Function,
    arguments: &ExploreArgs,
    comment: &std::collections::BTreeMap<usize, i64>,
) -> Result<Vec<Argument>, String> {
    let count = function.parameters.len();
    if let Some(beyond) = arguments.param.iter().find(|parameter| parameter.position >= count) {
        return Err(format!("--param {}: the kernel has {count} parameters", beyond.position));
    }
    let argument = |(parameter, position): (&standstill_kernel_ir::Parameter, usize)| {
        let given = arguments.param.iter().rev().find(|given| given.position == position);
        match (given, comment.get(&position)) {
            (Some(given), _) => given.argument.clone(),
            (None, Some(&value)) => Argument::Value(value as u64),
            (None, None) if parameter.bytes == 8 => {
                Argument::Buffer { bytes: vec![0; DEFAULT_BUFFER], element: 4 }
            }
            (None, None) => Argument::Value(0),
        }
    };
    Ok(function.parameters.iter().zip(0..).map(argument).collect())
}

/// What the report says of the search itself.
fn explored(outcome: &Outcome, launch: &Launch) -> Explored {
    let limit = outcome.limit.as_ref().map(|limit| match limit {
        standstill_explore::Limit::States(states) => {
            format!("there are more than {states} states (--max-states)")
        }
        standstill_explore::Limit::Bytes(bytes) => {
            format!("the states take more than {} MB (--memory)", bytes >> 20)
        }
    });
    let mut explored = Explored {
        kernel: outcome.kernel.clone(),
        grid: launch.grid,
        block: launch.block,
        states: outcome.states as u64,
        steps: outcome.steps,
        results: outcome.results as u64,
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
