//! The engines check each other on random small kernels. What a run on the software GPU shows must be among what exploring finds;
//! what the static check proves must show in both; where it is silent about hangs, there must be none.
//!
//! A plain test run looks at a few hundred. More of them:
//! `STANDSTILL_PROGRAMS=20000 cargo test --release -p standstill-explore --test engines`. `STANDSTILL_FIRST` says with which
//! seed to begin, and `STANDSTILL_SEED` shows the program of one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

#[path = "engines/program.rs"]
mod program;

use std::collections::BTreeSet;
use std::sync::Arc;

use program::Program;
use standstill_device_sim::{Device, LaunchRequest, Progress, Schedule};
use standstill_explore::{
    Argument, Expectation, FailureKind, Launch, Limits, Options, Outcome, Races, Stand, explore,
};
use standstill_findings::{Finding, Known, Outcome as Happens, Platform, Rule, Severity, Span};
use standstill_kernel_ir::Program as _;
use standstill_kernel_ir::launch::{Device as Model, LaunchShape};
use standstill_ptx::Lowering;

/// Programs of a plain test run.
const PROGRAMS: u64 = 300;
/// Programs with more states than this are left out.
const MOST_STATES: usize = 200_000;
/// Runs of each program on the software GPU.
const RUNS: u64 = 8;

/// What runs on the software GPU showed.
#[derive(Debug, Default)]
struct Shown {
    /// Memory at the end.
    results: BTreeSet<Vec<u32>>,
    hangs: bool,
    races: Vec<Rule>,
}

fn run(lowering: &Arc<Lowering<'static, 'static>>, program: &Program) -> Result<Shown, String> {
    let device = Device::new(Model::find("h200").unwrap(), 1 << 24);
    let module = device.load(Arc::clone(lowering) as _, &[]).unwrap();
    let bytes = 4 * program.words() as usize;
    let buffer = device.memory().allocate(bytes as u64).unwrap();
    let mut shown = Shown::default();
    for seed in 0..RUNS {
        device.memory().fill(buffer, &[0], bytes as u64).unwrap();
        let mut request = LaunchRequest::new(module.kernel("k").unwrap(), program.blocks, program.threads);
        request.parameters = buffer.to_le_bytes().to_vec();
        request.races = true;
        request.seed = seed;
        request.schedule = match seed % 4 {
            0 => Schedule::RoundRobin,
            1 => Schedule::Pct,
            _ => Schedule::Random,
        };
        let mut grid = device.launch(&module, request).unwrap();
        let end = (0..1000).map(|_| grid.run(10_000)).find(|progress| *progress != Progress::Running);
        match end {
            Some(Progress::Finished) => {
                let mut memory = vec![0; bytes];
                device.memory().read(buffer, &mut memory).unwrap();
                let words = memory.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
                shown.results.insert(words.collect());
            }
            Some(Progress::Parked) => shown.hangs = true,
            other => return Err(format!("a run with seed {seed} gives {other:?}")),
        }
        let races = grid.races().into_iter().map(|finding| finding.rule);
        shown.races.extend(races.filter(|rule| !matches!(rule, Rule::LostUpdate | Rule::Aba)));
    }
    Ok(shown)
}

fn launch(lowering: &Lowering<'_, '_>, program: &Program) -> Launch {
    let mut launch = Launch::new(lowering, "k").unwrap();
    launch.grid = [program.blocks, 1, 1];
    launch.block = [program.threads, 1, 1];
    let function = lowering.function(launch.kernel).unwrap();
    let buffer = Argument::Buffer { bytes: vec![0; 4 * program.words() as usize], element: 4 };
    launch.set_arguments(&function, &[buffer]).unwrap();
    launch
}

fn explored(lowering: &Lowering<'_, '_>, launch: &Launch, expect: Option<Expectation>) -> Outcome {
    let limits = Limits { states: MOST_STATES, ..Limits::default() };
    let options = Options { limits, without_races: expect.is_some(), expect, ..Options::default() };
    explore(lowering, launch, &options, &mut ()).unwrap()
}

fn checked(lowering: &Lowering<'_, '_>, program: &Program) -> Vec<Finding> {
    let shape = LaunchShape {
        block: Some([program.threads, 1, 1]),
        grid: Some([program.blocks, 1, 1]),
        ..LaunchShape::default()
    };
    let options = standstill_static_check::Options {
        input: "k.ptx",
        main_source: None,
        launch: &|_| shape.clone(),
        position: &|offset| (offset, 1),
        source_line: &|_, _| None,
        platform: None,
        wanted: &|_| true,
        parameter_name: &|_, _| None,
    };
    standstill_static_check::check(lowering, &options).findings
}

/// How a program turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    hangs: bool,
    races: bool,
    /// The static check gave a verdict on hanging.
    decided: bool,
}

/// Compares the engines; `None` where there are too many states.
fn agree(program: &Program) -> Result<Option<Kind>, String> {
    let text: &'static str = Box::leak(program.text().into_boxed_str());
    let syntax = Box::leak(Box::new(standstill_ptx::parse(text)));
    assert!(syntax.errors.is_empty(), "{:?}", syntax.errors);
    let lowering = Arc::new(Lowering::new(syntax));
    let launch = launch(&lowering, program);
    let outcome = explored(&lowering, &launch, None);
    if outcome.limit.is_some() || matches!(outcome.races, Races::Unknown(_)) {
        return Ok(None);
    }
    let has_hang = outcome.failures.iter().any(|failure| failure.kind == FailureKind::Hang);
    let races = outcome.races == Races::Some;

    let shown = run(&lowering, program)?;
    if shown.hangs && !has_hang {
        return Err("a run hangs, and exploring finds no hang".into());
    }
    if !shown.races.is_empty() && !races {
        return Err(format!("a run shows {:?}, and exploring finds no race", shown.races));
    }
    for result in &shown.results {
        let words: Vec<String> = result
            .iter()
            .enumerate()
            .map(|(at, value)| format!("p0[{at}] == {}", value.cast_signed()))
            .collect();
        let other = Expectation::parse(&format!("!({})", words.join(" && ")), &launch).unwrap();
        let outcome = explored(&lowering, &launch, Some(other));
        if outcome.limit.is_some() {
            return Ok(None);
        }
        if !outcome.failures.iter().any(|failure| matches!(failure.kind, FailureKind::Unexpected { .. })) {
            return Err(format!("a run ends with {result:?}, and exploring does not"));
        }
    }

    let findings = checked(&lowering, program);
    let said = |finding: &Finding| finding.platforms.outcome(Platform::Nvidia);
    let grave: Vec<&Finding> = findings.iter().filter(|finding| finding.severity > Severity::Note).collect();
    let tell = || {
        let at =
            |span: &Span| text.get(span.line as usize..).and_then(|rest| rest.lines().next()).unwrap_or("");
        let list = findings.iter().map(|f| {
            let lines: Vec<&str> = f.spans.iter().map(at).collect();
            format!("\n  {:?} {:?} {:?} {} {lines:?}", f.rule, f.severity, f.known, f.message)
        });
        list.collect::<String>()
    };
    let proved = |outcome: Happens| {
        grave.iter().any(|finding| finding.known == Known::Proved && said(finding) == Some(outcome))
    };
    if proved(Happens::Hangs) && outcome.results > 0 {
        return Err(format!("a hang is proved, and executions end:{}", tell()));
    }
    let orders = |rule| matches!(rule, Rule::MissingRelease | Rule::MissingAcquire | Rule::ScopeTooNarrow);
    // Accesses that no thread of this launch comes to do not race.
    // Payload that all access strongly can be stale, but it does not race.
    let is_weak = |span: &Span| {
        let instruction = text.get(span.line as usize..).unwrap_or("");
        ["ld.global", "ld.shared", "st.global", "st.shared"].iter().any(|name| instruction.starts_with(name))
    };
    let lacks_order = grave.iter().any(|finding| {
        finding.known == Known::Proved && orders(finding.rule) && finding.spans.iter().any(is_weak)
    });
    // Threads that meet at a barrier by mistake are ordered by it.
    let misplaced = grave.iter().any(|finding| finding.rule == Rule::DivergentBarrier);
    if lacks_order && !misplaced && !races && !has_hang && program.has_no_dead_step() {
        return Err(format!("a missing order is proved, and exploring finds no race:{}", tell()));
    }
    if proved(Happens::MayHang) && !has_hang {
        return Err(format!("a hang is proved to be possible, and exploring finds none:{}", tell()));
    }
    // What waits for global memory may be helped by the host.
    let hopeless = outcome.failures.iter().find(|failure| {
        let helped = |stand: &Stand| match stand {
            Stand::Spins(places) => places.iter().any(|place| place.starts_with("p0")),
            Stand::Circles(_) => true,
            Stand::Barrier { .. } | Stand::Warp { .. } => false,
        };
        failure.kind == FailureKind::Hang && !failure.stuck.iter().any(|stuck| helped(&stuck.stand))
    });
    if let Some(hang) = hopeless.filter(|_| findings.is_empty() && !program.may_miss()) {
        return Err(format!("nothing is said, and an execution hangs: {:?}", hang.stuck));
    }
    let decided = proved(Happens::Hangs) || (findings.is_empty() && !has_hang);
    Ok(Some(Kind { hangs: has_hang, races, decided }))
}

#[test]
fn the_engines_agree() {
    let number = |name: &str| std::env::var(name).ok().and_then(|count| count.parse::<u64>().ok());
    if let Some(seed) = number("STANDSTILL_SEED") {
        let program = Program::draw(seed);
        let verdict = agree(&program);
        assert!(verdict.is_ok(), "{}\n{program:#?}\n{}", verdict.unwrap_err(), program.text());
        return;
    }
    let count = number("STANDSTILL_PROGRAMS").unwrap_or(PROGRAMS);
    let first = number("STANDSTILL_FIRST").unwrap_or(0);
    let (mut kinds, mut wrong) = (Vec::new(), Vec::new());
    for seed in first..first + count {
        match agree(&Program::draw(seed)) {
            Ok(kind) => kinds.extend(kind),
            Err(message) => wrong.push(format!("seed {seed}: {message}\n")),
        }
    }
    let shown: String = wrong.iter().take(20).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} of {count} disagree:\n{shown}", wrong.len());
    // A test in which everything hangs or races, or nothing, or nothing is decided, tells little.
    let part = |wanted: &dyn Fn(&Kind) -> bool| {
        kinds.iter().filter(|kind| wanted(kind)).count() * 100 / kinds.len().max(1)
    };
    let parts = [part(&|kind| kind.hangs), part(&|kind| kind.races), part(&|kind| kind.decided)];
    assert!(kinds.len() as u64 * 10 > count * 9, "{} of {count} were compared", kinds.len());
    assert!(parts.iter().all(|part| (10..91).contains(part)), "{parts:?} % hang, race, are decided");
}
