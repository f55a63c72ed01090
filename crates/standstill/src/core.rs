//! `core`: CUDA core dumps through the reader, joined with what the kernel's PTX says, and one report.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::Args;
use standstill_findings::{Coverage, Finding, Known, Outcome, Platform, Rule, Span, ThreadRanges};
use standstill_gpu_core::{Dump, GridState, ReadError, Source};
use standstill_kernel_ir::launch::LaunchShape;
use standstill_report::{Evidence, Input, InputError, Kernel, Report, Sources, merge};

use crate::args::{Format, OutputArgs, VerdictArgs};
use crate::check::{command_line, is_allowed, readers_path, rename_files};
use crate::disk::DiskSources;
use crate::engine::{Request, analyse};
use crate::exit;
use crate::output;

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 an input or the call is wrong, \
                        3 not decided."
)]
pub(crate) struct CoreArgs {
    /// CUDA core dumps, as they are or compressed with gzip
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    verdict: VerdictArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Explains the dumps and writes the report; gives the exit code.
pub(crate) fn core(arguments: &CoreArgs) -> u8 {
    let allowed = arguments.verdict.allowed();
    let sources = DiskSources::default();
    let mut report = Report { fail_on: arguments.verdict.fail_on.severity(), ..Report::default() };
    let hash = matches!(arguments.output.format, Format::Json | Format::Sarif);
    for path in &arguments.files {
        let explained = explain_file(path, arguments.verdict.platform.platform(), &sources, hash);
        if arguments.output.verbose {
            output::say(&explained.positions);
        }
        add(&mut report, path, explained, (&allowed, &sources));
    }
    report.evidence.command = command_line();
    report.exit = i32::from(exit::code(&report, arguments.verdict.strict));
    output::write(&report, &sources, &arguments.output)
}

fn add(report: &mut Report, path: &Path, explained: Explained, known: (&[Rule], &DiskSources)) {
    let (allowed, sources) = known;
    let shown = path.display().to_string();
    let mut findings = explained.findings;
    let before = findings.len();
    findings.retain(|finding| !is_allowed(finding, allowed, &shown, sources));
    report.allowed += (before - findings.len()) as u64;
    report.findings.extend(merge(&shown, findings));
    report.errors.extend(explained.errors);
    let kernel = |symbol| Kernel { input: shown.clone(), symbol };
    report.kernels.extend(explained.kernels.into_iter().map(kernel));
    report.coverage.add(explained.coverage);
    if let Some(sha256) = explained.sha256 {
        report.evidence.inputs.push(Input { path: shown, sha256 });
    }
    let Evidence { driver, device, .. } = &mut report.evidence;
    for (known, new) in [(driver, explained.driver), (device, explained.device)] {
        if known.is_empty() {
            *known = new;
        }
    }
}

/// What one dump gave.
#[derive(Debug, Default)]
pub(crate) struct Explained {
    pub(crate) findings: Vec<Finding>,
    /// Mangled names of the kernels whose grids were running.
    pub(crate) kernels: Vec<String>,
    pub(crate) coverage: Coverage,
    pub(crate) errors: Vec<InputError>,
    pub(crate) driver: String,
    pub(crate) device: String,
    /// Where the threads of each grid stood, a line for each place.
    pub(crate) positions: String,
    /// Of the file, when asked for.
    pub(crate) sha256: Option<String>,
}

impl Explained {
    fn failed(path: &Path, message: impl Into<String>) -> Explained {
        let error =
            InputError { file: path.display().to_string(), line: 0, column: 0, message: message.into() };
        Explained { errors: vec![error], ..Explained::default() }
    }
}

/// Reads and explains one dump.
pub(crate) fn explain_file(
    path: &Path,
    platform: Option<Platform>,
    sources: &DiskSources,
    hash: bool,
) -> Explained {
    let file = match Opened::open(path) {
        Ok(file) => file,
        Err(message) => return Explained::failed(path, message),
    };
    let source: &dyn Source = match &file {
        Opened::Memory(bytes) => &bytes.as_slice(),
        Opened::File(file) => file,
    };
    let mut explained = match standstill_gpu_core::read(source) {
        Ok(dump) => explain(source, dump, path, (platform, sources)),
        Err(error @ ReadError::Empty) => return Explained::failed(path, error.to_string()),
        Err(error) => return Explained::failed(path, format!("no core dump could be read: {error}")),
    };
    if let (true, Opened::Memory(bytes)) = (hash, &file) {
        explained.sha256 = Some(crate::input::sha256(bytes));
    }
    explained
}

fn explain(
    source: &dyn Source,
    mut dump: Dump,
    path: &Path,
    (platform, sources): (Option<Platform>, &DiskSources),
) -> Explained {
    let shown = path.display().to_string();
    let states = standstill_gpu_core::positions(source, &mut dump);
    let mut explained = Explained::default();
    let card = dump.devices.first().map(|device| device.name.clone()).unwrap_or_default();
    for state in &states {
        let options = standstill_gpu_core::Options { input: &shown, platform };
        let observed = standstill_gpu_core::explain(&dump, state, &options);
        let known = static_facts((state, &card), &shown, platform, sources);
        if state.blocks.is_empty() {
            // Where threads stood is lost; what the code says of such a launch is not.
            explained.findings.extend(known.into_iter().filter(is_hang).map(unseen));
        } else {
            explained.findings.extend(observed.into_iter().map(|finding| join(finding, &known, sources)));
        }
        explained.positions.push_str(&table(state));
        if !state.kernel.is_empty() {
            explained.kernels.push(state.kernel.clone());
        }
        let threads = state.groups.iter().map(standstill_gpu_core::Group::len).sum();
        explained.coverage.add(Coverage { kernels: 1, launches: 1, operations: threads, widened: 0 });
    }
    let here = std::env::current_dir().ok();
    rename_files(&mut explained.findings, |file| readers_path(file, path, here.as_deref(), None));
    if dump.problems.count() > 0 {
        let launches: Vec<String> = states.iter().map(launch).collect();
        let launches = if launches.is_empty() { "no grid".to_owned() } else { launches.join(", ") };
        let problems = dump.problems.summary().join("; ");
        let message = format!("{problems}. What could be read: {}; on the card: {launches}", dump.account());
        explained.errors.extend(Explained::failed(path, message).errors);
    }
    if states.is_empty() && explained.errors.is_empty() {
        let message = "no kernel was running when the dump was taken";
        explained.errors.extend(Explained::failed(path, message).errors);
    }
    explained.driver = dump.meta.as_ref().map(driver).unwrap_or_default();
    explained.device = card;
    explained
}

/// `NAME <<<GRID, BLOCK>>>`.
fn launch(state: &GridState) -> String {
    let name = standstill_report::display_name(&state.kernel);
    let shape = |dim: [u32; 3]| dim.map(|n| n.to_string()).join("x");
    format!("{name} <<<{}, {}>>>", shape(state.grid.grid_dim), shape(state.grid.block_dim))
}

/// A finding on the code of a kernel whose threads are not in the dump.
fn unseen(mut finding: Finding) -> Finding {
    let note = "the dump is cut short: that the kernel was on the card is all it shows, and this follows from its code";
    finding.notes.insert(0, note.to_owned());
    finding
}

/// The threads of a grid by position, as the person who attaches a debugger would see them.
fn table(state: &GridState) -> String {
    /// More lines would not be read.
    const MOST: usize = 40;
    let mut text = format!("{}: {} blocks on the card\n", launch(state), state.blocks.len());
    for group in state.groups.iter().take(MOST) {
        let numbers = |block: &u64| u32::try_from(*block).ok();
        let blocks = ThreadRanges::from_members(group.threads.keys().filter_map(numbers));
        let threads =
            ThreadRanges::from_members(group.threads.values().next().into_iter().flatten().copied());
        let (threads, blocks) = (threads.with_noun("thread"), blocks.with_noun("block"));
        let place = group.place.as_ref().map(|place| format!("{}:{}", place.line.file, place.line.line));
        let place = place.unwrap_or_else(|| format!("{:#x}", group.at));
        text.push_str(&format!("  {threads} of {blocks}: {} ({place})\n", group.doing));
    }
    if state.groups.len() > MOST {
        text.push_str(&format!("  and {} more places\n", state.groups.len() - MOST));
    }
    text
}

fn driver(meta: &standstill_gpu_core::Meta) -> String {
    format!("{}.{} (CUDA {}.{})", meta.driver.0, meta.driver.1, meta.cuda.0, meta.cuda.1)
}

/// What the kernel's code alone says of a launch like this one: its PTX is in the dump when it was compiled with
/// `-lineinfo`.
fn static_facts(
    (state, card): (&GridState, &str),
    shown: &str,
    platform: Option<Platform>,
    sources: &DiskSources,
) -> Vec<Finding> {
    let Some(ptx) = &state.ptx else { return Vec::new() };
    let grid = &state.grid;
    let cluster = grid.cluster_dim.filter(|dim| dim.iter().all(|n| *n > 0));
    let small = |(position, value): &(usize, i64)| Some((*position, *value));
    let shape = LaunchShape {
        block: (grid.threads_per_block() > 0).then_some(grid.block_dim),
        grid: state.size_known.then_some(grid.grid_dim),
        cluster,
        parameters: state.numbers.iter().filter_map(small).collect(),
        registers: Some(grid.registers),
        device: standstill_kernel_ir::launch::Device::find(&card.to_ascii_lowercase().replace("nvidia ", "")),
        ..LaunchShape::default()
    };
    let wanted = |symbol: &str| if symbol == state.kernel { vec![shape.clone()] } else { Vec::new() };
    let request = Request {
        text: &ptx.with_lines(),
        name: &format!("{shown}!ptx"),
        shapes: &wanted,
        platform,
        is_main: &|_| false,
        sources,
    };
    analyse(&request).findings
}

/// Rules that speak of waits without end.
const WAITS: [Rule; 11] = [
    Rule::DivergentBarrier,
    Rule::BarrierCount,
    Rule::WarpMask,
    Rule::GridDivergence,
    Rule::GridResidency,
    Rule::WaitCycle,
    Rule::SpinLockLockstep,
    Rule::NonTerminatingLoop,
    Rule::HoistableSpin,
    Rule::MbarrierPhase,
    Rule::EarlyExitBarrier,
];

/// Whether a finding on a kernel's code says that the kernel hangs on this card.
fn is_hang(finding: &Finding) -> bool {
    WAITS.contains(&finding.rule)
        && !matches!(
            finding.platforms.outcome(Platform::Nvidia),
            Some(Outcome::Completes | Outcome::CompletesUnordered)
        )
}

/// How assumptions about the launch begin.
const LAUNCH: [&str; 3] = ["block = ", "grid = ", "cluster = "];

/// An observed wait with the reason for it that the code shows: the static finding that points at a place where
/// threads stand.
fn join(observed: Finding, known: &[Finding], sources: &DiskSources) -> Finding {
    let stands =
        |span: &Span| observed.spans.iter().any(|other| other.file == span.file && other.line == span.line);
    let is_loop = |rule| matches!(rule, Rule::NonTerminatingLoop | Rule::HoistableSpin);
    let loops = known.iter().filter(|finding| is_loop(finding.rule)).count();
    let about = |finding: &&Finding| {
        // A snapshot that does not decide leaves the word to a proof about the place where threads stand.
        let decides = observed.rule == Rule::Undecided && finding.known == Known::Proved;
        let named_alike = finding.rule == observed.rule || is_kin(&observed, finding) || decides;
        // A loop is a range of lines; the only loop at fault is the one that threads are in.
        let only_loop = loops == 1 && is_loop(finding.rule) && is_loop(observed.rule);
        is_hang(finding) && named_alike && (only_loop || finding.spans.iter().any(stands))
    };
    // The same rule at the same place comes first.
    let rank = |finding: &&Finding| {
        let place = |finding: &Finding| finding.primary_span().map(|span| (span.file.clone(), span.line));
        (finding.rule != observed.rule, place(finding) != place(&observed))
    };
    let Some(reason) = known.iter().filter(about).min_by_key(rank) else { return observed };
    let mut joined = reason.clone();
    // A loop's statement is found in the source. Without it the machine code's own line table is more exact: the PTX
    // of a loop lost the lines of what was folded away.
    let primary = |finding: &Finding| finding.primary_span().map(|span| (span.file.clone(), span.line));
    let has_source = reason.primary_span().is_some_and(|span| sources.text(&span.file).is_some());
    if is_loop(joined.rule) && !has_source && primary(&joined) != primary(&observed) {
        joined.spans = observed.spans.clone();
    }
    // Neither a snapshot nor the code alone may be enough; seen and proved together they are.
    if observed.rule != Rule::Undecided
        && (observed.known == Known::Observed || reason.known == Known::Proved)
    {
        joined.known = Known::Observed;
        joined.severity = observed.severity.max(joined.severity);
    }
    let sentence = joined.waits.as_ref().map(|graph| graph.sentence.as_str());
    if sentence != Some(observed.message.as_str()) {
        joined.notes.insert(0, format!("in the dump: {}", observed.message));
    }
    joined.notes.extend(observed.notes);
    // The dump itself says how the kernel was launched.
    joined.assumes.retain(|assumption| !LAUNCH.iter().any(|word| assumption.starts_with(word)));
    for assumption in observed.assumes {
        if !joined.assumes.contains(&assumption) {
            joined.assumes.push(assumption);
        }
    }
    for span in observed.spans {
        let there = joined.spans.iter().any(|other| other.file == span.file && other.line == span.line);
        if !there {
            joined.spans.push(Span { primary: false, ..span });
        }
    }
    let has_cycle = joined.waits.as_ref().is_some_and(|graph| !graph.cycle().is_empty());
    if !has_cycle && observed.waits.is_some() {
        joined.waits = observed.waits;
    }
    joined
}

/// Whether two rules are names for what looks alike in a dump.
fn is_kin(observed: &Finding, reason: &Finding) -> bool {
    let kin: &[Rule] = match observed.rule {
        Rule::WaitCycle => &[Rule::GridResidency, Rule::BarrierCount, Rule::WarpMask, Rule::GridDivergence],
        Rule::DivergentBarrier => &[Rule::EarlyExitBarrier, Rule::BarrierCount, Rule::WaitCycle],
        Rule::BarrierCount => &[Rule::MbarrierPhase, Rule::DivergentBarrier],
        Rule::MbarrierPhase => &[Rule::BarrierCount],
        Rule::WarpMask => &[Rule::DivergentBarrier, Rule::WaitCycle],
        Rule::HoistableSpin => &[Rule::NonTerminatingLoop, Rule::WaitCycle],
        Rule::NonTerminatingLoop => &[Rule::HoistableSpin, Rule::SpinLockLockstep, Rule::WaitCycle],
        _ => &[],
    };
    kin.contains(&reason.rule)
}

/// A dump in memory, or a file too large for it.
enum Opened {
    Memory(Vec<u8>),
    File(FileSource),
}

/// Dumps up to this size are read whole.
const WHOLE: u64 = 256 << 20;
/// Compressed dumps may not be larger than this when they are unpacked.
const UNPACKED: u64 = 4 << 30;

impl Opened {
    fn open(path: &Path) -> Result<Opened, String> {
        let unreadable = |error: std::io::Error| crate::input::unreadable(path, &error);
        let mut file = std::fs::File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err("this is a directory; name the dumps in it".to_owned());
        }
        let mut start = Vec::new();
        (&mut file).take(2).read_to_end(&mut start).map_err(unreadable)?;
        file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        if start == [0x1f, 0x8b] {
            return unpack(file, metadata.len()).map(Opened::Memory);
        }
        if metadata.len() > WHOLE {
            return Ok(Opened::File(FileSource::new(file, metadata.len())));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        file.read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(Opened::Memory(bytes))
    }
}

/// Unpacks gzip. What comes before damage is kept: the reader says what is missing.
fn unpack(mut file: std::fs::File, packed: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(usize::try_from(unpacked_size(&mut file, packed)).unwrap_or(0));
    let mut unpacked = flate2::read::MultiGzDecoder::new(std::io::BufReader::new(file)).take(UNPACKED + 1);
    let result = unpacked.read_to_end(&mut bytes);
    if bytes.len() as u64 > UNPACKED {
        return Err(format!("unpacked it is larger than {} GiB; unpack it first", UNPACKED >> 30));
    }
    match result {
        Err(error) if bytes.is_empty() => Err(format!("it cannot be unpacked: {error}")),
        _ => Ok(bytes),
    }
}

/// The size after unpacking that a gzip file ends with (RFC 1952, modulo 4 GiB), as far as its packed size allows: a
/// buffer that need not grow takes half the memory.
fn unpacked_size(file: &mut std::fs::File, packed: u64) -> u64 {
    /// Deflate does not do better.
    const BEST: u64 = 1032;
    let mut end = [0; 4];
    let read = file.seek(SeekFrom::End(-4)).and_then(|_| file.read_exact(&mut end));
    let back = file.seek(SeekFrom::Start(0));
    match (read, back) {
        (Ok(()), Ok(_)) => u64::from(u32::from_le_bytes(end)).min(packed.saturating_mul(BEST)).min(UNPACKED),
        _ => 0,
    }
}

/// A file that is read in windows: what lies near what was asked for is mostly asked for next.
struct FileSource {
    size: u64,
    state: Mutex<Window>,
}

struct Window {
    file: std::fs::File,
    offset: u64,
    bytes: Vec<u8>,
}

impl FileSource {
    fn new(file: std::fs::File, size: u64) -> FileSource {
        FileSource { size, state: Mutex::new(Window { file, offset: 0, bytes: Vec::new() }) }
    }
}

impl Source for FileSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, length: usize) -> std::io::Result<Cow<'_, [u8]>> {
        const WINDOW: usize = 1 << 20;
        let end = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        if offset.checked_add(length as u64).is_none_or(|end| end > self.size) {
            return Err(end());
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let within = |state: &Window| {
            let at = usize::try_from(offset.checked_sub(state.offset)?).ok()?;
            Some(state.bytes.get(at..at.checked_add(length)?)?.to_vec())
        };
        if let Some(bytes) = within(&state) {
            return Ok(Cow::Owned(bytes));
        }
        let window = length.max(WINDOW).min(usize::try_from(self.size - offset).unwrap_or(usize::MAX));
        state.file.seek(SeekFrom::Start(offset))?;
        state.bytes.resize(window, 0);
        state.offset = offset;
        let Window { file, bytes, .. } = &mut *state;
        if let Err(error) = file.read_exact(bytes) {
            bytes.clear();
            return Err(error);
        }
        within(&state).map(Cow::Owned).ok_or_else(end)
    }
}
