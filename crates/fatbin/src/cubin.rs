//! Cubins: device ELF files, and what each kernel in them uses.
//!
//! NVIDIA documents the ELF form only in part. The numbers here were checked against what `ptxas -v` prints
//! (CUDA 12.4 and 13.5, sm_75 to sm_100): registers and stack sizes are attributes in `.nv.info`, by symbol;
//! launch bounds, clusters and parameters are attributes in `.nv.info.NAME`; the size of `.nv.shared.NAME`
//! is the static shared memory.

use std::collections::HashMap;

use object::Endianness;
use object::elf::{FileHeader64, SHT_SYMTAB, STT_FUNC, SymbolOther};
use object::read::elf::{FileHeader, SectionHeader, Sym};

use crate::bytes::{slice_at, u16_at, u32_at};
use crate::error::ProblemKind;
use crate::{Arch, ArchVariant};

/// A cubin: machine code for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cubin {
    /// The architecture in the file's header. It does not tell `sm_90a` from `sm_90`; the image that holds
    /// the cubin does.
    pub arch: Arch,
    /// Whether it is still to be linked (`-rdc=true`): what kernels use may grow with the functions that they
    /// call from other files.
    pub relocatable: bool,
    /// The kernels in it, in the order of its symbol table.
    pub kernels: Vec<KernelResources>,
}

/// What one compiled kernel uses. Sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelResources {
    /// The symbol's name, mangled as in the file.
    pub name: String,
    /// Registers for each thread.
    pub registers: Option<u32>,
    /// Static shared memory for each block that the kernel itself declares. The 1 KiB that the system takes
    /// for each block from compute capability 8.0 on is not in it.
    pub shared_bytes: u64,
    /// Local memory (stack) for each thread, over all calls; `None` where recursion or calls through pointers
    /// leave it open.
    pub local_bytes: Option<u32>,
    /// Bytes of parameters.
    pub parameter_bytes: Option<u32>,
    /// Block barriers in use: one more than the highest barrier number.
    pub barriers: Option<u32>,
    /// The largest block that it may be launched with (`__launch_bounds__`, `.maxntid`).
    pub max_block: Option<[u32; 3]>,
    /// The block that it must be launched with (`.reqntid`).
    pub required_block: Option<[u32; 3]>,
    /// Blocks in a cluster, when compiled in (`__cluster_dims__`, `.reqnctapercluster`).
    pub cluster: Option<[u32; 3]>,
    /// The most blocks that a cluster may have (`.maxclusterrank`).
    pub max_cluster_rank: Option<u32>,
}

/// The mark of a kernel in the `st_other` field of its symbol.
const STO_KERNEL: SymbolOther = SymbolOther(0x10);

/// From this architecture on, the size of `.nv.shared.NAME` has the system's 1 KiB in it.
const RESERVED_SHARED_FROM: u32 = 90;
const RESERVED_SHARED_BYTES: u64 = 1024;

/// Attribute forms in `.nv.info`: the value is in the third byte, in the third and fourth, or follows with
/// its length in those.
const FORM_BYTE: u8 = 2;
const FORM_HALF: u8 = 3;
const FORM_SIZED: u8 = 4;

mod attribute {
    pub(super) const MAX_THREADS: u8 = 0x05;
    pub(super) const REQUIRED_THREADS: u8 = 0x10;
    pub(super) const FRAME_SIZE: u8 = 0x11;
    pub(super) const MIN_STACK_SIZE: u8 = 0x12;
    pub(super) const PARAMETER_BYTES: u8 = 0x19;
    pub(super) const REGISTER_COUNT: u8 = 0x2f;
    pub(super) const BLOCKS_PER_CLUSTER: u8 = 0x3d;
    pub(super) const MAX_CLUSTER_RANK: u8 = 0x3f;
    pub(super) const BARRIER_COUNT: u8 = 0x4c;
}

/// The value of one attribute.
enum Value<'data> {
    Number(u32),
    Sized(&'data [u8]),
}

/// Walks the attributes of a `.nv.info` section; stops at the first that is not all there.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u8, Value<'_>)> {
    std::iter::from_fn(move || {
        let (form, code) = (*rest.first()?, *rest.get(1)?);
        let value = u16_at(rest, 2)?;
        let (value, length) = match form {
            FORM_BYTE => (Value::Number(u32::from(value & 0xff)), 4),
            FORM_HALF => (Value::Number(u32::from(value)), 4),
            FORM_SIZED => (Value::Sized(slice_at(rest, 4, u64::from(value))?), 4 + usize::from(value)),
            _ => (Value::Number(0), 4),
        };
        rest = rest.get(length..)?;
        Some((code, value))
    })
}

/// Reads a cubin.
pub(crate) fn read(bytes: &[u8]) -> Result<Cubin, ProblemKind> {
    let damaged = |e: object::Error| ProblemKind::Cubin(e.to_string());
    let header = FileHeader64::<Endianness>::parse(bytes).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    if endian != Endianness::Little {
        return Err(ProblemKind::Cubin("it is big-endian".to_owned()));
    }
    let arch = Arch {
        number: architecture(header.e_ident.abi_version, header.e_flags(endian).0),
        variant: ArchVariant::Portable,
    };
    let relocatable = header.e_type.get(endian) == object::elf::ET_REL;

    let sections = header.sections(endian, bytes).map_err(damaged)?;
    let mut by_name = HashMap::new();
    for section in sections.iter() {
        if let Ok(name) = sections.section_name(endian, section) {
            by_name.entry(name).or_insert(section);
        }
    }
    let data = |name: &[u8]| by_name.get(name).and_then(|section| section.data(endian, bytes).ok());
    let by_symbol = SymbolAttributes::read(data(b".nv.info").unwrap_or_default());

    let symbols = sections.symbols(endian, bytes, SHT_SYMTAB).map_err(damaged)?;
    let mut kernels = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        if symbol.st_type() != STT_FUNC || symbol.st_other() & STO_KERNEL != STO_KERNEL {
            continue;
        }
        let name = symbol.name(endian, symbols.strings()).map_err(damaged)?;
        let section = |prefix: &[u8]| [prefix, name].concat();
        let mut kernel = KernelResources {
            name: String::from_utf8_lossy(name).into_owned(),
            registers: by_symbol.registers.get(&index.0).copied(),
            local_bytes: by_symbol.local_bytes(index.0),
            ..KernelResources::default()
        };
        if let Some(shared) = by_name.get(section(b".nv.shared.").as_slice()) {
            let reserved = if arch.number >= RESERVED_SHARED_FROM { RESERVED_SHARED_BYTES } else { 0 };
            kernel.shared_bytes = shared.sh_size(endian).saturating_sub(reserved);
        }
        if let Some(text) = by_name.get(section(b".text.").as_slice()) {
            from_text_header(&mut kernel, text.sh_info(endian), text.sh_flags(endian).0);
        }
        for (code, value) in attributes(data(&section(b".nv.info.")).unwrap_or_default()) {
            set(&mut kernel, code, &value);
        }
        kernels.push(kernel);
    }
    Ok(Cubin { arch, relocatable, kernels })
}

/// Compilers before CUDA 13 keep the architecture in the lowest byte of the flags, later ones (ABI version 8)
/// in the second.
fn architecture(abi_version: u8, flags: u32) -> u32 {
    if abi_version >= 8 { (flags >> 8) & 0xff } else { flags & 0xff }
}

/// Fields that compilers before CUDA 13 keep in the code section's header: registers in the top byte of
/// `sh_info` (before sm_90), barriers in `sh_flags` from bit 20.
fn from_text_header(kernel: &mut KernelResources, info: u32, flags: u64) {
    let registers = info >> 24;
    if kernel.registers.is_none() && registers != 0 {
        kernel.registers = Some(registers);
    }
    let barriers = ((flags >> 20) & 0x7f) as u32;
    if barriers != 0 {
        kernel.barriers = Some(barriers);
    }
}

fn set(kernel: &mut KernelResources, code: u8, value: &Value<'_>) {
    match (code, value) {
        (attribute::MAX_THREADS, Value::Sized(bytes)) => kernel.max_block = three(bytes),
        (attribute::REQUIRED_THREADS, Value::Sized(bytes)) => kernel.required_block = three(bytes),
        (attribute::BLOCKS_PER_CLUSTER, Value::Sized(bytes)) => kernel.cluster = three(bytes),
        (attribute::MAX_CLUSTER_RANK, Value::Sized(bytes)) => kernel.max_cluster_rank = u32_at(bytes, 0),
        (attribute::PARAMETER_BYTES, Value::Number(size)) => kernel.parameter_bytes = Some(*size),
        (attribute::BARRIER_COUNT, Value::Number(count)) => kernel.barriers = Some(*count),
        _ => {}
    }
}

fn three(bytes: &[u8]) -> Option<[u32; 3]> {
    Some([u32_at(bytes, 0)?, u32_at(bytes, 4)?, u32_at(bytes, 8)?])
}

/// The attributes that `.nv.info` gives by symbol number.
#[derive(Default)]
struct SymbolAttributes {
    registers: HashMap<usize, u32>,
    frame: HashMap<usize, u32>,
    stack: HashMap<usize, u32>,
}

impl SymbolAttributes {
    fn read(section: &[u8]) -> Self {
        let mut all = SymbolAttributes::default();
        for (code, value) in attributes(section) {
            let table = match code {
                attribute::REGISTER_COUNT => &mut all.registers,
                attribute::FRAME_SIZE => &mut all.frame,
                attribute::MIN_STACK_SIZE => &mut all.stack,
                _ => continue,
            };
            if let Value::Sized(bytes) = value
                && let (Some(symbol), Some(number)) = (u32_at(bytes, 0), u32_at(bytes, 4))
            {
                table.insert(symbol as usize, number);
            }
        }
        all
    }

    /// The whole stack where it is known; without that attribute, the kernel's own frame.
    fn local_bytes(&self, symbol: usize) -> Option<u32> {
        match self.stack.get(&symbol) {
            Some(&u32::MAX) => None,
            Some(&size) => Some(size),
            None => self.frame.get(&symbol).copied(),
        }
    }
}
