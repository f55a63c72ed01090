//! Launches: from a launcher's arguments to a run on the device. The attributes write calls of these; they are no
//! interface for people.

use std::panic::Location;
use std::sync::{Arc, OnceLock};

use standstill_findings::Finding;
use standstill_kernel_check::{check_anywhere, stops_compilation};
use standstill_kernel_ir::FunctionId;
use standstill_kernel_syntax::{Program, Unit, lower};
use standstill_ptx::write;

use crate::device::Backend;
use crate::order::{HOST, Use};
use crate::stream::Real;
use crate::{Buffer, Device, Element, Grid, LaunchError, Stream, Tile};

/// The source of a kernel, or of a module of kernels.
#[derive(Debug)]
pub struct Source {
    file: &'static str,
    first_line: u32,
    text: &'static str,
    module: bool,
    with: &'static [Helpers],
    built: OnceLock<Result<Built, String>>,
}

/// Helpers of another module: its file, the line of the file that its first one is, and its text.
pub type Helpers = (&'static str, u32, &'static str);

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
        Source { file, first_line, text, module, with: &[], built: OnceLock::new() }
    }

    /// With helpers of other modules.
    #[must_use]
    pub const fn with(mut self, with: &'static [Helpers]) -> Source {
        self.with = with;
        self
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
        let mut unit = unit.map_err(|error| error.to_string())?;
        for &(file, first_line, text) in self.with {
            let module = syn::parse_str::<syn::ItemMod>(text).map_err(|error| error.to_string())?;
            unit = unit.with(&module, file, first_line);
        }
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
    /// How the kernel uses a buffer.
    how: Use,
}

impl<'a> Argument<'a> {
    /// A buffer.
    pub fn buffer<T: Element>(buffer: &'a Buffer<T>) -> Argument<'a> {
        Argument {
            bytes: buffer.address().to_le_bytes().to_vec(),
            buffer: Some((buffer.len() as u64, T::BYTES, buffer.device())),
            how: Use::Read,
        }
    }

    /// A number.
    pub fn number<T: Element>(number: T) -> Argument<'a> {
        let mut bytes = Vec::new();
        number.write(&mut bytes);
        Argument { bytes, buffer: None, how: Use::Read }
    }
}

impl Argument<'_> {
    /// A buffer that the kernel writes to.
    #[must_use]
    pub fn written(self) -> Self {
        Argument { how: Use::Write, ..self }
    }

    /// A buffer of atomics.
    #[must_use]
    pub fn updated(self) -> Self {
        Argument { how: Use::Update, ..self }
    }

    /// A buffer's address, and how it is used.
    fn used(&self) -> Option<(u64, Use)> {
        self.buffer?;
        Some((u64::from_le_bytes(*self.bytes.first_chunk()?), self.how))
    }

    /// The same for an exploration: buffers by what they hold.
    pub(crate) fn explored(&self) -> standstill_explore::Argument {
        let Some((length, element, device)) = self.buffer else {
            return standstill_explore::Argument::Bytes(self.bytes.clone());
        };
        let address = self.bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let mut bytes = vec![0; length as usize * element];
        // A buffer has memory as long as it lives.
        let _ = device.read(address, &mut bytes);
        standstill_explore::Argument::Buffer { bytes, element: u32::try_from(element).unwrap_or(u32::MAX) }
    }

    /// The elements of a buffer.
    pub(crate) fn length(&self) -> Option<u64> {
        self.buffer.map(|(length, ..)| length)
    }
}

/// A launch as a device gets it.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) kernel: String,
    pub(crate) function: FunctionId,
    /// Tiles in x, y and z.
    pub(crate) grid: [u32; 3],
    /// Cells of a tile in x, y and z.
    pub(crate) block: [u32; 3],
    /// The bytes of all parameters in kernel IR.
    pub(crate) values: Vec<Vec<u8>>,
    /// All tiles must be there at once.
    pub(crate) together: bool,
}

/// A launch that has run to its end without a fault.
#[derive(Debug, Clone, Default)]
pub struct Launched {
    /// What is possible but was not seen, and what is worth knowing.
    pub notes: Vec<Finding>,
}

/// Launches a kernel and waits for its end. `together` refuses a launch whose tiles are not all on the device at once.
///
/// # Errors
/// What the device refuses, and what was found while the kernel ran.
#[track_caller]
pub fn launch(
    device: &Device,
    source: &'static Source,
    name: &str,
    grid: Grid,
    tile: Tile,
    together: bool,
    arguments: &[Argument<'_>],
) -> Result<Launched, LaunchError> {
    submit(device, None, source, name, grid, tile, together, arguments)
}

/// Launches a kernel in the order of a stream.
///
/// # Errors
/// What the device refuses; on the software GPU what was found while the kernel ran, and what no event orders.
#[track_caller]
pub fn launch_on(
    stream: &Stream,
    source: &'static Source,
    name: &str,
    grid: Grid,
    tile: Tile,
    arguments: &[Argument<'_>],
) -> Result<Launched, LaunchError> {
    submit(stream.device(), Some(stream), source, name, grid, tile, false, arguments)
}

#[track_caller]
#[allow(clippy::too_many_arguments, reason = "they are those of the launchers")]
fn submit(
    device: &Device,
    stream: Option<&Stream>,
    source: &'static Source,
    name: &str,
    grid: Grid,
    tile: Tile,
    together: bool,
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
    let order = Order {
        kernel: name.to_owned(),
        function: kernel.function,
        grid: tiles,
        block: tile.0,
        values,
        together,
    };
    let seen = match device.backend() {
        Backend::Software(software) => {
            let number = match stream.map(|stream| &stream.real) {
                Some(Real::Software(number)) => *number,
                _ => HOST,
            };
            let uses: Vec<(u64, Use)> = arguments.iter().filter_map(Argument::used).collect();
            let ordered =
                software.orders().operation(number, &format!("`{name}`"), &uses, Location::caller());
            ordered.map_err(|finding| LaunchError::Found(vec![*finding]))?;
            software.run(source, program, &order)?
        }
        Backend::Cuda(card) => {
            let queue = stream.and_then(|stream| match &stream.real {
                Real::Cuda(queue) => Some(queue),
                Real::Software(_) => None,
            });
            card.run(source, order, queue)?;
            Vec::new()
        }
    };
    let notes = built.notes.iter().filter(|note| note.kernel == name).cloned();
    Ok(Launched { notes: notes.chain(seen).collect() })
}

/// A source as PTX.
///
/// # Errors
/// What PTX has no words for.
pub fn ptx(source: &'static Source, name: &str, target: &str) -> Result<String, LaunchError> {
    let refused = |reason: String| LaunchError::Refused { kernel: name.to_owned(), reason };
    let program = source.program().map_err(refused)?;
    write::write(&**program, target, &[]).map_err(|error| refused(error.to_string()))
}
