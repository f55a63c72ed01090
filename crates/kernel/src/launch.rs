//! Launches: from a launcher's arguments to a run on the device. The attributes write calls of these; they are no
//! interface for people.

use std::sync::{Arc, OnceLock};

use standstill_device_sim::{Fault, FaultKind, Grid as Running, LaunchRequest, Progress};
use standstill_findings::{Finding, Known, Outcome, PlatformRow, Rule, Severity, Span};
use standstill_kernel_check::{check_anywhere, stops_compilation, told};
use standstill_kernel_ir::Program as _;
use standstill_kernel_syntax::{Program, Stop, Unit, lower};

use crate::{Buffer, Device, Element, Grid, LaunchError, Stopped, Tile};

/// Instructions of warps between two looks at how far the launch is; decides nothing.
const BUDGET: u64 = 1 << 20;

/// The source of a kernel, or of a module of kernels.
#[derive(Debug)]
pub struct Source {
    file: &'static str,
    first_line: u32,
    text: &'static str,
    module: bool,
    built: OnceLock<Result<Built, String>>,
}

/// What is made of a source once.
#[derive(Debug)]
struct Built {
    program: Arc<Program>,
    /// What the check cannot decide without a launch.
    notes: Vec<Finding>,
}

impl Source {
    /// A source that the attribute has checked.
    pub const fn new(file: &'static str, first_line: u32, text: &'static str, module: bool) -> Source {
        Source { file, first_line, text, module, built: OnceLock::new() }
    }

    pub(crate) fn program(&self) -> Result<&Arc<Program>, String> {
        self.built().map(|built| &built.program)
    }

    fn built(&self) -> Result<&Built, String> {
        self.built.get_or_init(|| self.build()).as_ref().map_err(Clone::clone)
    }

    fn build(&self) -> Result<Built, String> {
        let unit = if self.module {
            syn::parse_str::<syn::ItemMod>(self.text).map(|module| Unit::of_module(&module))
        } else {
            syn::parse_str::<syn::ItemFn>(self.text).map(Unit::of_kernel)
        };
        let unit = unit.map_err(|error| error.to_string())?;
        let lowered = lower(&unit, self.file, self.first_line).map_err(|problems| {
            let messages = problems.into_iter().map(|problem| problem.message);
            messages.collect::<Vec<_>>().join("; ")
        })?;
        let mut notes = check_anywhere(&lowered.program, self.file);
        notes.retain(|finding| !stops_compilation(finding));
        Ok(Built { program: Arc::new(lowered.program), notes })
    }
}

/// An argument of a launch.
pub struct Argument<'a> {
    /// A number, or the address of a buffer.
    bytes: Vec<u8>,
    /// The elements of a buffer, the bytes of one, and its device.
    buffer: Option<(u64, usize, &'a Device)>,
}

impl<'a> Argument<'a> {
    /// A buffer.
    pub fn buffer<T: Element>(buffer: &'a Buffer<T>) -> Argument<'a> {
        Argument {
            bytes: buffer.address().to_le_bytes().to_vec(),
            buffer: Some((buffer.len() as u64, T::BYTES, buffer.device())),
        }
    }

    /// A number.
    pub fn number<T: Element>(number: T) -> Argument<'a> {
        let mut bytes = Vec::new();
        number.write(&mut bytes);
        Argument { bytes, buffer: None }
    }
}

impl Argument<'_> {
    /// The same for an exploration: buffers by what they hold.
    pub(crate) fn explored(&self) -> standstill_explore::Argument {
        let Some((length, element, device)) = self.buffer else {
            return standstill_explore::Argument::Bytes(self.bytes.clone());
        };
        let address = self.bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let mut bytes = vec![0; length as usize * element];
        // A buffer has memory as long as it lives.
        let _ = device.simulated().memory().read(address, &mut bytes);
        standstill_explore::Argument::Buffer { bytes, element: u32::try_from(element).unwrap_or(u32::MAX) }
    }

    /// The elements of a buffer.
    pub(crate) fn length(&self) -> Option<u64> {
        self.buffer.map(|(length, ..)| length)
    }
}

/// A launch that has run to its end without a fault.
#[derive(Debug, Clone, Default)]
pub struct Launched {
    /// What is possible but was not seen, and what is worth knowing.
    pub notes: Vec<Finding>,
}

/// Launches a kernel and waits for its end.
///
/// # Errors
/// What the device refuses, and what was found while the kernel ran.
pub fn launch(
    device: &Device,
    source: &'static Source,
    name: &str,
    grid: Grid,
    tile: Tile,
    arguments: &[Argument<'_>],
) -> Result<Launched, LaunchError> {
    let refused = |reason: String| LaunchError::Refused { kernel: name.to_owned(), reason };
    let built = source.built().map_err(refused)?;
    let program = &built.program;
    let kernel = program.kernel(name).ok_or_else(|| refused("there is no such kernel".to_owned()))?;
    if arguments.iter().any(|argument| argument.buffer.is_some_and(|(_, _, other)| !other.is(device))) {
        return Err(refused("a buffer lies on another device".to_owned()));
    }
    let too_large = || refused("the space has more cells in one direction than can be counted".to_owned());
    let (tiles, cells) = grid.shape(tile).ok_or_else(too_large)?;
    if tiles.contains(&0) {
        // Nothing is to be done.
        return Ok(Launched::default());
    }
    let mut values: Vec<Vec<u8>> = arguments.iter().map(|argument| argument.bytes.clone()).collect();
    let lengths = arguments.iter().filter_map(|argument| argument.buffer);
    values.extend(lengths.map(|(length, ..)| length.to_le_bytes().to_vec()));
    values.extend(cells.map(|extent| extent.to_le_bytes().to_vec()));
    let function = program.function(kernel.function);
    let offsets = function.map(|function| function.parameter_offsets()).unwrap_or_default();
    let mut parameters = vec![0; offsets.last().map_or(0, |&end| end as usize)];
    for (value, &offset) in values.iter().zip(&offsets) {
        let place = parameters.get_mut(offset as usize..).unwrap_or_default();
        for (to, from) in place.iter_mut().zip(value) {
            *to = *from;
        }
    }
    let module = device.module(source, program).map_err(|error| refused(error.to_string()))?;
    let mut request = LaunchRequest::new(kernel.function, 1, 1);
    (request.grid, request.block) = (tiles, tile.0);
    request.parameters = parameters;
    request.races = true;
    let running = device.simulated().launch(&module, request);
    let running = running.map_err(|error| refused(standstill_kernel_check::reader(&error.to_string())))?;
    let notes = built.notes.iter().filter(|note| note.kernel == name).cloned().collect();
    finish(running, program, notes)
}

/// Runs to the end, and judges what was seen.
fn finish(mut running: Running, program: &Program, notes: Vec<Finding>) -> Result<Launched, LaunchError> {
    let progress = loop {
        match running.run(BUDGET) {
            Progress::Running => {}
            ended => break ended,
        }
    };
    let mut found = running.races();
    found.extend(running.livelocks());
    found.extend(running.doubtful().into_iter().map(|(finding, _)| finding));
    match progress {
        Progress::Parked => found.extend(running.standstill(None).map(|standstill| standstill.finding)),
        Progress::Fault(fault) => match out_of_bounds(&fault, program) {
            Some(finding) => found.push(finding),
            None => return Err(LaunchError::Stopped(stopped(&fault, program))),
        },
        Progress::Running | Progress::Finished => {}
    }
    if let Some(reason) = running.guessed() {
        for finding in &mut found {
            finding.known = Known::Possible { reason: reason.clone() };
        }
    }
    for finding in &mut found {
        told(program, finding);
    }
    let (errors, more): (Vec<Finding>, Vec<Finding>) =
        found.into_iter().partition(|finding| finding.severity == Severity::Error);
    if errors.is_empty() {
        Ok(Launched { notes: notes.into_iter().chain(more).collect() })
    } else {
        Err(LaunchError::Found(errors))
    }
}

/// An access that lies outside of its slice or array.
fn out_of_bounds(fault: &Fault, program: &Program) -> Option<Finding> {
    let place = &fault.place;
    let what = match (&fault.kind, program.stop(place.line, place.column)) {
        (FaultKind::Trap, Some(Stop::Index(name))) => {
            format!("the index is not below the length of `{name}`")
        }
        (FaultKind::Trap, Some(Stop::Part(name))) => format!("the range does not lie in `{name}`"),
        (FaultKind::OutOfBounds { .. }, _) => fault.kind.to_string(),
        _ => return None,
    };
    let who = format!("in cell {:?} of tile {:?}", fault.thread, fault.block);
    let mut finding = Finding::new(Rule::OutOfBounds, fault.kernel.clone(), format!("{what}, {who}"));
    finding.known = Known::Observed;
    finding.platforms = PlatformRow::everywhere(Outcome::WrongResult);
    let mut span = Span::primary(place.file.clone(), place.line, place.column, "this access");
    span.inlined_at.clone_from(&place.inlined_at);
    finding.spans.push(span);
    finding.help =
        "guard the access with `if space.in_bounds_x()`, or with a comparison with `len()`".to_owned();
    Some(finding)
}

fn stopped(fault: &Fault, program: &Program) -> Stopped {
    let place = &fault.place;
    let reason = match (&fault.kind, program.stop(place.line, place.column)) {
        (FaultKind::Trap, Some(Stop::Division)) => "division by zero".to_owned(),
        (FaultKind::Trap, Some(Stop::Overflow)) => "the quotient is beyond the type's range".to_owned(),
        (FaultKind::Trap, _) => "an assertion does not hold, or the kernel panicked".to_owned(),
        (kind, _) => kind.to_string(),
    };
    Stopped {
        kernel: fault.kernel.clone(),
        reason,
        file: place.file.clone(),
        line: place.line,
        column: place.column,
        cell: fault.thread,
        tile: fault.block,
    }
}
