//! Device code as a program hands it over: a fatbin, a cubin or PTX, and the kernels in it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use standstill_fatbin::{Contents, KernelResources};
use standstill_kernel_ir::{
    Function, FunctionId, FunctionKind, LaunchBounds, Operand, Program, Space, Symbol, VariableImage,
};
use standstill_ptx::Lowering;

use crate::kept::Kept;

/// Registers of a thread where no compiled code says it: what compilers seldom go beyond without spilling.
const UNKNOWN_REGISTERS: u32 = 32;

/// Registers of a thread are at most this many.
const MOST_REGISTERS: u32 = 255;

/// Why device code cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageError {
    /// There is no PTX in it; the sentence says what there is and what to do.
    NoPtx(String),
    /// It cannot be read.
    Unreadable(String),
}

impl std::fmt::Display for ImageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ImageError::NoPtx(why) | ImageError::Unreadable(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ImageError {}

/// A PTX module that stays for the life of the process, as modules of a program do.
pub struct Image {
    /// The PTX text.
    pub text: &'static str,
    /// Its number, in the order of loading.
    pub number: usize,
    lowering: Lowering<'static, 'static>,
    resources: HashMap<String, KernelResources>,
    kernels: Mutex<HashMap<String, Option<Arc<Kernel>>>>,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "image {} ({} bytes of PTX)", self.number, self.text.len())
    }
}

/// A kernel of an image.
#[derive(Debug)]
pub struct Kernel {
    /// The image that it is in.
    pub image: &'static Image,
    /// Its function.
    pub function: FunctionId,
    /// Its name, mangled.
    pub name: String,
    /// Place and size of each parameter in the parameter space, in bytes.
    pub parameters: Vec<ParameterSlot>,
    /// Size of the parameter space in bytes.
    pub parameter_bytes: usize,
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory of a block in bytes.
    pub static_shared: u64,
    /// Local memory of a thread in bytes.
    pub local: u64,
    /// What the code promises of its launches.
    pub bounds: LaunchBounds,
}

/// Where a parameter lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterSlot {
    /// Bytes from the start of the parameter space.
    pub offset: usize,
    /// Its size in bytes.
    pub bytes: usize,
    /// Whether it is an integer (or an address), whose value a checker can use.
    pub integer: bool,
}

impl Image {
    /// Reads device code in any of its forms. The result and its text are kept for the life of the process.
    ///
    /// # Errors
    /// When there is no PTX in it, or it cannot be read.
    pub fn load(bytes: &[u8], number: usize, capability: u32) -> Result<&'static Image, ImageError> {
        Image::link(&[bytes], number, capability, &Kept::default())
    }

    /// Reads the device code of several translation units that use each other's functions and variables. Texts that
    /// the compiler has left behind take the place of those embedded ones that differ from them by comments only.
    ///
    /// # Errors
    /// When there is PTX in none of them, or none can be read. Code without PTX beside others only tells what
    /// its kernels use: the linked whole is such.
    pub fn link(
        units: &[&[u8]],
        number: usize,
        capability: u32,
        kept: &Kept,
    ) -> Result<&'static Image, ImageError> {
        let mut texts = Vec::new();
        let mut known = HashMap::new();
        let mut problem = ImageError::NoPtx("it holds no CUDA device code".to_owned());
        for bytes in units {
            let contents = match standstill_fatbin::read(bytes) {
                Ok(contents) => contents,
                Err(error) => {
                    problem = ImageError::Unreadable(error.to_string());
                    continue;
                }
            };
            for (name, kernel) in resources(&contents, capability) {
                known.entry(name).or_insert(kernel);
            }
            match contents.explain_no_ptx() {
                Some(why) => problem = ImageError::NoPtx(why),
                None => texts.extend(choose(&contents, capability).map(|text| {
                    let text = String::from_utf8_lossy(text);
                    kept.find(&text).unwrap_or(&text).to_owned()
                })),
            }
        }
        match texts.len() {
            0 => Err(problem),
            1 => Ok(Image::from_text(texts.swap_remove(0), number, known)),
            _ => Ok(Image::from_text(crate::link::link(&texts), number, known)),
        }
    }

    /// Takes a PTX text.
    #[must_use]
    pub fn from_text(
        text: String,
        number: usize,
        resources: HashMap<String, KernelResources>,
    ) -> &'static Image {
        let text: &'static str = Box::leak(text.into_boxed_str());
        let module: &'static standstill_ptx::Module<'static> =
            Box::leak(Box::new(standstill_ptx::parse(text)));
        let lowering = Lowering::new(module);
        Box::leak(Box::new(Image { text, number, lowering, resources, kernels: Mutex::default() }))
    }

    /// The code as kernel IR.
    #[must_use]
    pub fn program(&self) -> &(dyn Program + 'static) {
        &self.lowering
    }

    /// The code as it was parsed.
    pub(crate) fn syntax(&self) -> &'static standstill_ptx::Module<'static> {
        self.lowering.syntax()
    }

    /// Names and sizes in bytes of the variables that host and device share (`__managed__`).
    #[must_use]
    pub fn managed(&self) -> Vec<(String, u64)> {
        let module = self.syntax();
        let all = module.globals.iter().filter_map(|index| module.variables.get(*index as usize));
        all.filter(|variable| variable.managed)
            .map(|variable| (module.str(variable.name).to_owned(), variable.size(module.text).unwrap_or(0)))
            .collect()
    }

    /// The variable of the module with this name.
    pub(crate) fn variable(&self, name: &str) -> Option<u32> {
        self.lowering.variable(name)
    }

    /// The first values of its variables.
    pub(crate) fn first_values(&self) -> Vec<VariableImage> {
        self.lowering.first_values()
    }

    /// Registers of a thread by kernel, where compiled code says them.
    pub fn registers(&self) -> impl Iterator<Item = (&str, u32)> {
        self.resources.iter().filter_map(|(name, kernel)| Some((name.as_str(), kernel.registers?)))
    }

    /// The first syntax error of the text, in words.
    #[must_use]
    pub fn syntax_error(&self) -> Option<String> {
        let module = self.lowering.syntax();
        let error = module.errors.kept().first()?;
        let place = module.position(error.span.start);
        Some(format!("PTX line {}: {}", place.line, error.kind))
    }

    /// Names of the kernels.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        let functions = &self.lowering.module().functions;
        functions.iter().filter(|f| f.kind == FunctionKind::Kernel && f.defined).map(|f| f.name.as_str())
    }

    /// The kernel with this name.
    pub fn kernel(&'static self, name: &str) -> Option<Arc<Kernel>> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kernels.get(name) {
            return known.clone();
        }
        let kernel = self.find(name).map(Arc::new);
        kernels.insert(name.to_owned(), kernel.clone());
        kernel
    }

    fn find(&'static self, name: &str) -> Option<Kernel> {
        let functions = &self.lowering.module().functions;
        let index =
            functions.iter().position(|f| f.kind == FunctionKind::Kernel && f.defined && f.name == name)?;
        let header = functions.get(index)?;
        let id = FunctionId(u32::try_from(index).ok()?);
        let function = self.lowering.function(id)?;
        let (parameters, parameter_bytes) = layout(&function);
        let resources = self.resources.get(name);
        let bounds = header.bounds;
        let registers = resources.and_then(|r| r.registers).or(bounds.maximum_registers);
        let in_text = self.static_shared(&function);
        Some(Kernel {
            image: self,
            function: id,
            name: name.to_owned(),
            parameters,
            parameter_bytes,
            registers: registers.unwrap_or(UNKNOWN_REGISTERS).clamp(1, MOST_REGISTERS),
            static_shared: resources.map_or(in_text, |r| r.shared_bytes.max(in_text)),
            local: resources.and_then(|r| r.local_bytes).map_or(0, u64::from),
            bounds,
        })
    }

    /// Static shared memory that the kernel's own text names.
    fn static_shared(&self, function: &Function) -> u64 {
        let place = |at: u64, bytes: u64, align: u32| at.next_multiple_of(u64::from(align.max(1))) + bytes;
        let own = function.variables.iter().filter(|variable| variable.space == Space::Shared);
        let end = own.fold(0, |at, variable| place(at, variable.bytes, variable.align));
        let mut named: Vec<u32> = function
            .operands
            .iter()
            .filter_map(|operand| match operand {
                Operand::Symbol { symbol: Symbol::Module(index), .. } => Some(*index),
                _ => None,
            })
            .collect();
        named.sort_unstable();
        named.dedup();
        let variables = &self.lowering.module().variables;
        let shared = named.into_iter().filter_map(|index| variables.get(index as usize));
        let shared = shared.filter(|variable| variable.space == Space::Shared);
        shared.fold(end, |at, variable| place(at, variable.bytes, variable.align))
    }
}

/// The PTX in device code of any form, for linking.
///
/// # Errors
/// When there is none, or the code cannot be read.
pub fn ptx_of(bytes: &[u8]) -> Result<String, ImageError> {
    let contents =
        standstill_fatbin::read(bytes).map_err(|error| ImageError::Unreadable(error.to_string()))?;
    let why = || ImageError::NoPtx(contents.explain_no_ptx().unwrap_or_default());
    choose(&contents, u32::MAX).map(|text| String::from_utf8_lossy(text).into_owned()).ok_or_else(why)
}

/// The places of a kernel's parameters, and their size together.
fn layout(function: &Function) -> (Vec<ParameterSlot>, usize) {
    let offsets = function.parameter_offsets();
    let slot = |(parameter, &offset): (&standstill_kernel_ir::Parameter, &u32)| {
        let bytes = parameter.bytes as usize;
        let integer = !parameter.ty.is_float() && bytes <= 8 && parameter.ty.bytes() as usize == bytes;
        ParameterSlot { offset: offset as usize, bytes, integer }
    };
    let slots = function.parameters.iter().zip(&offsets).map(slot).collect();
    (slots, offsets.last().map_or(0, |&end| end as usize))
}

/// The PTX for the newest architecture that the card has; else the oldest there is.
fn choose<'data>(contents: &'data Contents<'_>, capability: u32) -> Option<&'data [u8]> {
    let number = |image: &standstill_fatbin::Image<'_>| image.arch.map_or(0, |arch| arch.number);
    let fitting = contents.ptx().filter(|(image, _)| number(image) <= capability);
    let best = fitting.max_by_key(|(image, _)| number(image));
    best.or_else(|| contents.ptx().min_by_key(|(image, _)| number(image))).map(|(_, text)| text)
}

/// What compiled code says of each kernel: of the card's own architecture, else of the nearest.
fn resources(contents: &Contents<'_>, capability: u32) -> HashMap<String, KernelResources> {
    let number = |image: &standstill_fatbin::Image<'_>| image.arch.map_or(0, |arch| arch.number);
    let mut cubins: Vec<_> = contents.cubins().collect();
    cubins.sort_by_key(|(image, _)| number(image).abs_diff(capability));
    let mut found = HashMap::new();
    for kernel in cubins.into_iter().flat_map(|(_, cubin)| &cubin.kernels) {
        found.entry(kernel.name.clone()).or_insert_with(|| kernel.clone());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_laid_out_by_their_alignment() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n\
            .visible .entry k(.param .u32 a, .param .u64 b, .param .align 4 .b8 c[12], .param .f32 d) {\n\
            .shared .align 16 .b8 tile[100]; ret; }\n";
        let image = Image::load(text.as_bytes(), 0, 90).unwrap();
        let kernel = image.kernel("k").unwrap();
        let slots: Vec<_> = kernel.parameters.iter().map(|p| (p.offset, p.bytes, p.integer)).collect();
        assert_eq!(slots, [(0, 4, true), (8, 8, true), (16, 12, false), (28, 4, false)]);
        assert_eq!(kernel.parameter_bytes, 32);
        assert_eq!(kernel.static_shared, 100);
        assert!(image.kernel("other").is_none());
    }

    #[test]
    fn what_is_no_code_is_an_error() {
        assert!(matches!(Image::load(b"hello", 0, 90), Err(ImageError::Unreadable(_))));
        assert!(Image::load(b"", 0, 90).is_err());
    }
}
