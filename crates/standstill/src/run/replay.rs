//! `run --replay FILE`: a schedule that exploring has found, access by access on the software GPU.

mod file;
mod fit;
mod follow;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use standstill_cuda_driver::capture::{Contents, LaunchImage};
use standstill_cuda_driver::{Card, DEFAULT_MODEL};
use standstill_device_sim::{Device, Fault, Grid, LaunchRequest, Module, Progress, Schedule as Order};
use standstill_explore::Expectation;
use standstill_findings::{Coverage, Finding, Known, Rule};
use standstill_kernel_ir::{FunctionId, Program};
use standstill_ptx::Lowering;
use standstill_report::{Evidence, Input, Kernel, Report, Schedule, ScheduleStep, display_name, merge};

use super::{FAILED, RunArgs, report as writing};
use crate::check::command_line;
use crate::disk::DiskSources;
use crate::exit::FINDINGS;
use crate::input::sha256;
use crate::output::{fail, say};
pub(crate) use file::{Saved, SavedInput, ScheduleFile};
use follow::{Followed, Follower};

/// Instructions between two looks at whether the launch has ended.
const BUDGET: u64 = 1_000_000;
/// So often behind the schedule, before a launch that neither ends nor stands still is left alone.
const MOST_LOOKS: u32 = 100;

/// Replays the schedule; gives the exit code.
pub(super) fn replay(path: &Path, arguments: &RunArgs) -> u8 {
    match try_replay(path, arguments) {
        Ok(code) => code,
        Err(message) => {
            fail(&message);
            FAILED
        }
    }
}

fn try_replay(path: &Path, arguments: &RunArgs) -> Result<u8, String> {
    let file = ScheduleFile::read(path)?;
    let input = input_of(&file, path, arguments)?;
    fit::check(&file).map_err(|what| format!("{}: {what}", path.display()))?;
    let model = arguments.software.gpu.map_or(DEFAULT_MODEL, |model| model.name);
    let card = Card::find(model).ok_or_else(|| format!("there is no card {model}"))?;
    let mut replayed = Replayed::new(&file, &card).map_err(|what| format!("{}: {what}", path.display()))?;
    replayed.run();
    let seen = replayed.judge(&file)?;
    let count = file.steps.len();
    say(&format!(
        "standstill: replayed {} of {} on the software GPU, each with the values of the schedule",
        if count == 1 { "1 access".to_owned() } else { format!("{count} accesses") },
        display_name(&file.launch.kernel)
    ));
    let mut finding = file.finding.clone();
    finding.known = Known::Observed;
    finding.replay = Some(format!("--replay {}", path.display()));
    finding.notes.push(format!("on the software GPU: {seen}"));
    Ok(tell(finding, &file, &input, card.device.name, arguments))
}

/// Writes the report.
fn tell(finding: Finding, file: &ScheduleFile, input: &Path, model: &str, arguments: &RunArgs) -> u8 {
    let shown = input.display().to_string();
    let sources = DiskSources::default();
    let in_text = |span: &&standstill_findings::Span| span.file.ends_with("!ptx");
    if let Some(span) = finding.spans.iter().find(in_text) {
        sources.insert(span.file.clone(), file.launch.text.clone().into());
    }
    let mut report = Report { fail_on: arguments.verdict.fail_on.severity(), ..Report::default() };
    report.coverage =
        Coverage { kernels: 1, launches: 1, operations: file.steps.len() as u64, ..Coverage::default() };
    report.kernels = vec![Kernel { input: shown.clone(), symbol: file.launch.kernel.clone() }];
    report.evidence = Evidence {
        command: command_line(),
        inputs: vec![Input { path: shown.clone(), sha256: file.input.sha256.clone() }],
        device: format!("sim:{model}"),
        ..Evidence::default()
    };
    report.schedules = vec![drawn(&finding, file)];
    report.findings = merge(&shown, vec![finding]);
    let fails = report.findings.iter().any(|reported| report.fails(&reported.finding));
    let code = if fails { FINDINGS } else { 0 };
    report.exit = i32::from(code);
    if writing::write(&report, None, &sources, &arguments.output) || code != 0 { code } else { FAILED }
}

/// The accesses as the report draws them.
fn drawn(finding: &Finding, file: &ScheduleFile) -> Schedule {
    let mut schedule = Schedule { finding: finding.message.clone(), ..Schedule::default() };
    let source = finding.primary_span().map_or("", |span| span.file.as_str());
    let text = standstill_ptx::parse(&file.launch.text);
    for step in &file.steps {
        let writes = step.touches.is_some_and(|touches| touches.before != touches.after);
        let lane = schedule.lane(step.block, step.thread);
        schedule.steps.push(ScheduleStep {
            lane,
            does: step.does.clone(),
            writes,
            fault: false,
            file: source.to_owned(),
            line: if step.line > 0 { step.line } else { text.position(step.offset).line },
        });
    }
    let primary = finding.primary_span().map_or(0, |span| span.line);
    if let Some(step) = schedule.steps.iter_mut().rfind(|step| step.line == primary) {
        step.fault = true;
    }
    schedule
}

/// The file that was explored, unchanged: as it is named now, as it was named then, or beside the schedule.
fn input_of(file: &ScheduleFile, schedule: &Path, arguments: &RunArgs) -> Result<PathBuf, String> {
    let then = &file.input.path;
    let beside = || Some(schedule.parent()?.join(then.file_name()?));
    let path = match arguments.command.first() {
        Some(named) => PathBuf::from(named),
        None if !then.exists() => beside().filter(|path| path.exists()).unwrap_or_else(|| then.clone()),
        None => then.clone(),
    };
    let bytes = std::fs::read(&path).map_err(|error| {
        let why = crate::input::unreadable(&path, &error);
        format!(
            "{}: {why}; the schedule was found in this file: name it behind --replay {} where it is elsewhere",
            path.display(),
            schedule.display()
        )
    })?;
    if sha256(&bytes) != file.input.sha256 {
        return Err(format!(
            "{}: this is not the file that {} was found in: its content has changed since, so explore it again",
            path.display(),
            schedule.display()
        ));
    }
    Ok(path)
}

/// A launch that follows a schedule.
struct Replayed {
    device: Arc<Device>,
    grid: Grid,
    followed: Arc<std::sync::Mutex<Followed>>,
    progress: Progress,
}

impl Replayed {
    fn new(file: &ScheduleFile, card: &Card) -> Result<Replayed, String> {
        let image = &file.launch;
        if image.version != LaunchImage::VERSION {
            return Err(format!("its launch is of version {}, which is not read", image.version));
        }
        let device = Device::new(card.device, card.memory);
        for region in &image.memory {
            let Contents(bytes) = &region.contents;
            let placed = device.memory().allocate_at(region.address, bytes.len() as u64);
            let written = placed.and_then(|()| device.memory().write(region.address, bytes));
            written.map_err(|error| format!("its memory cannot be laid out: {error}"))?;
        }
        // Programs on a device live as long as the process.
        let text: &'static str = Box::leak(image.text.clone().into_boxed_str());
        let syntax: &'static standstill_ptx::Module<'static> =
            Box::leak(Box::new(standstill_ptx::parse(text)));
        let program = Arc::new(Lowering::new(syntax));
        let count = program.module().variables.len();
        if image.variables.len() != count {
            return Err(format!("it has {} variables, and its code {count}", image.variables.len()));
        }
        let placed: Vec<(u32, u64)> = (0..).zip(image.variables.iter().copied()).collect();
        let module = device.load_placed(program, &[], &placed).map_err(|error| error.to_string())?;
        let kernel = kernel_of(&module, &image.kernel)?;
        let (follower, followed) = Follower::new(file, Arc::clone(&device));
        let request = LaunchRequest {
            grid: image.grid,
            block: image.block,
            cluster: (image.cluster != [1; 3]).then_some(image.cluster),
            dynamic_shared: image.dynamic_shared,
            parameters: image.parameters.0.clone(),
            races: true,
            schedule: Order::Chosen(Box::new(follower)),
            ..LaunchRequest::new(kernel, 1, 1)
        };
        let grid = device.launch(&module, request).map_err(|error| error.to_string())?;
        Ok(Replayed { device, grid, followed, progress: Progress::Running })
    }

    /// Runs to the end, or to where it is clear that there is none.
    fn run(&mut self) {
        for _ in 0..MOST_LOOKS {
            self.progress = self.grid.run(BUDGET);
            if self.progress != Progress::Running || self.followed().other.is_some() {
                return;
            }
        }
    }

    fn followed(&self) -> Followed {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was seen of the fault that the schedule shows.
    fn judge(&mut self, file: &ScheduleFile) -> Result<String, String> {
        let followed = self.followed();
        let fault = match &self.progress {
            Progress::Fault(fault) => Some(fault.clone()),
            _ => None,
        };
        let ended = || format!("step {}, before which the launch ended", followed.steps + 1);
        let missing = (followed.steps < file.steps.len() && fault.is_none()).then(ended);
        if let Some(what) = followed.other.or(missing) {
            return Err(format!("the software GPU went another way than the schedule at {what}"));
        }
        let seen = match file.finding.rule {
            Rule::WaitCycle | Rule::NonTerminatingLoop | Rule::BarrierCount => self.stands_still(),
            Rule::SharedRace | Rule::GlobalRace => {
                self.race(&file.finding).or_else(|| self.race_on_mbarrier(file))
            }
            Rule::FailedAssertion | Rule::OutOfBounds | Rule::Misaligned => {
                fault.filter(|fault| is_at(fault, &file.finding)).map(|fault| fault.to_string())
            }
            rule => {
                let unexpected = match &file.expect {
                    Some(text) => self.unexpected(text, file)?,
                    None => None,
                };
                let made = || Some("every access was made as the schedule says".to_owned());
                if rule == Rule::WrongResult && file.expect.is_some() {
                    unexpected
                } else {
                    unexpected.or_else(made)
                }
            }
        };
        seen.ok_or_else(|| {
            let end = match &self.progress {
                Progress::Running => "goes on",
                Progress::Parked => "stands still",
                Progress::Finished => "has ended",
                Progress::Fault(_) => "has met a fault",
            };
            format!(
                "the software GPU followed the schedule, but the fault did not show: the launch {end}, and was to show \
                 this: {}",
                file.finding.message
            )
        })
    }

    fn stands_still(&mut self) -> Option<String> {
        match self.progress {
            Progress::Parked => {
                let standstill = self.grid.standstill(None)?;
                Some(match standstill.finding.waits {
                    Some(waits) if !waits.sentence.is_empty() => waits.sentence,
                    _ => standstill.finding.message,
                })
            }
            // The threads go round in a loop together.
            Progress::Running => {
                let livelock = self.grid.livelocks().into_iter().next();
                Some(livelock.map_or("the launch does not end".to_owned(), |finding| finding.message))
            }
            Progress::Finished | Progress::Fault(_) => None,
        }
    }

    /// A race on the lines of the finding.
    fn race(&mut self, finding: &Finding) -> Option<String> {
        let lines = |finding: &Finding| finding.spans.iter().map(|span| span.line).collect::<Vec<_>>();
        let wanted = lines(finding);
        let same = |seen: &Finding| {
            let seen = lines(seen);
            seen.iter().any(|line| wanted.contains(line))
        };
        self.grid.races().into_iter().find(same).map(|seen| seen.message)
    }

    /// The software GPU does not take operations on mbarriers for accesses that race.
    fn race_on_mbarrier(&self, file: &ScheduleFile) -> Option<String> {
        let last = file.launch.text.get(file.steps.last()?.offset as usize..)?;
        let made = "every operation on the mbarrier was made as the schedule says";
        last.starts_with("mbarrier.").then(|| made.to_owned())
    }

    /// What memory holds that it was not to hold.
    fn unexpected(&self, text: &str, file: &ScheduleFile) -> Result<Option<String>, String> {
        if self.progress != Progress::Finished {
            return Ok(None);
        }
        let mut launch = fit::launch(file, FunctionId(0));
        for region in &mut launch.memory {
            let read = self.device.memory().read(region.address, &mut region.bytes);
            read.map_err(|error| error.to_string())?;
        }
        let expectation = Expectation::parse(text, &launch).map_err(|error| error.to_string())?;
        let holds = expectation.holds_at_first(&launch);
        Ok((holds != Some(true)).then(|| format!("at the end `{text}` does not hold")))
    }
}

fn kernel_of(module: &Module, name: &str) -> Result<FunctionId, String> {
    module.kernel(name).ok_or_else(|| format!("its code has no kernel {}", display_name(name)))
}

/// Whether a fault is where the finding points.
fn is_at(fault: &Fault, finding: &Finding) -> bool {
    finding.spans.iter().any(|span| span.primary && (span.line == fault.place.line || fault.place.line == 0))
}
