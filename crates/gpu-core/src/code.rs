//! The code of one module: functions at their addresses, line tables, and the PTX that it was made from.
//!
//! A relocated cubin is an ELF file whose code sections carry the addresses at which they ran.

use object::Endianness;
use object::elf::{FileHeader64, SHT_SYMTAB, STT_FUNC, SymbolOther};
use object::read::elf::{FileHeader, SectionHeader, Sym};

use crate::lines::{LineTable, Row};

/// The mark of a kernel in the `st_other` field of its symbol.
const STO_KERNEL: SymbolOther = SymbolOther(0x10);

/// A function of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The name as the compiler wrote it (mangled).
    pub name: String,
    /// Address of the first instruction.
    pub start: u64,
    /// Length in bytes.
    pub size: u64,
    /// Whether it can be launched.
    pub is_kernel: bool,
}

impl Function {
    /// Whether an address lies in it.
    pub fn contains(&self, pc: u64) -> bool {
        pc.checked_sub(self.start).is_some_and(|offset| offset < self.size)
    }
}

/// A place in the source with the calls through which the code came to stand there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// The line where the instruction was written.
    pub line: SourceLine,
    /// The calls that were inlined, innermost first.
    pub inlined_at: Vec<SourceLine>,
}

impl Place {
    /// The outermost line: the one in the kernel's own text.
    pub fn outermost(&self) -> &SourceLine {
        self.inlined_at.last().unwrap_or(&self.line)
    }
}

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct SourceLine {
    /// Path as the compiler wrote it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// The code of one module.
#[derive(Debug, Clone, Default)]
pub struct Code {
    /// By address.
    functions: Vec<Function>,
    /// Code bytes with their addresses, by address.
    texts: Vec<(u64, Vec<u8>)>,
    source: LineTable,
    ptx_lines: LineTable,
    /// The PTX that it was compiled from, when the compiler kept it (`-lineinfo`).
    pub ptx: Option<String>,
    /// What of the line tables could not be read.
    pub problems: Vec<String>,
}

impl Code {
    /// Reads a relocated cubin.
    ///
    /// # Errors
    /// When it is not an ELF file of CUDA or its tables cannot be used; the text says why.
    pub fn read(bytes: &[u8]) -> Result<Code, String> {
        let damaged = |error: object::Error| error.to_string();
        let header = FileHeader64::<Endianness>::parse(bytes).map_err(damaged)?;
        let endian = header.endian().map_err(damaged)?;
        if endian != Endianness::Little {
            return Err("it is big-endian".to_owned());
        }
        let sections = header.sections(endian, bytes).map_err(damaged)?;
        let mut code = Code::default();
        let symbols = sections.symbols(endian, bytes, SHT_SYMTAB).map_err(damaged)?;
        for symbol in symbols.iter() {
            let size = symbol.st_size(endian);
            if symbol.st_type() != STT_FUNC || size == 0 {
                continue;
            }
            let name = symbol.name(endian, symbols.strings()).unwrap_or_default();
            code.functions.push(Function {
                name: String::from_utf8_lossy(name).into_owned(),
                start: symbol.st_value(endian),
                size,
                is_kernel: symbol.st_other() & STO_KERNEL == STO_KERNEL,
            });
        }
        code.functions.sort_by_key(|function| function.start);
        let data = |wanted: &[u8]| {
            let mut found = sections.iter().filter(|s| sections.section_name(endian, s) == Ok(wanted));
            found.next().and_then(|section| section.data(endian, bytes).ok()).unwrap_or_default()
        };
        for section in sections.iter() {
            let name = sections.section_name(endian, section).unwrap_or_default();
            let address = section.sh_addr(endian);
            if name.starts_with(b".text") && address != 0 {
                let text = section.data(endian, bytes).unwrap_or_default();
                code.texts.push((address, text.to_vec()));
            }
        }
        code.texts.sort_by_key(|(address, _)| *address);
        let strings = data(b".debug_str");
        let (source, problem) = LineTable::read(data(b".debug_line"), strings);
        code.problems.extend(problem);
        code.source = source;
        let (ptx_lines, problem) = LineTable::read(data(b".nv_debug_line_sass"), strings);
        code.problems.extend(problem);
        code.ptx_lines = ptx_lines;
        code.ptx = ptx_text(data(b".nv_debug_ptx_txt"));
        Ok(code)
    }

    /// The functions, by address.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The function that an address lies in.
    pub fn function(&self, pc: u64) -> Option<&Function> {
        let after = self.functions.partition_point(|function| function.start <= pc);
        self.functions.get(after.checked_sub(1)?).filter(|function| function.contains(pc))
    }

    /// The instruction at an address, as the two halves of its 128 bits.
    pub fn instruction(&self, pc: u64) -> Option<u128> {
        let after = self.texts.partition_point(|(address, _)| *address <= pc);
        let (address, text) = self.texts.get(after.checked_sub(1)?)?;
        let at = usize::try_from(pc - address).ok()?;
        let bytes: [u8; 16] = text.get(at..at.checked_add(16)?)?.try_into().ok()?;
        Some(u128::from_le_bytes(bytes))
    }

    /// Where the instruction at an address comes from.
    pub fn place(&self, pc: u64) -> Option<Place> {
        self.source.place(pc)
    }

    /// The line of the PTX that the instruction at an address comes from, from 1.
    pub fn ptx_line(&self, pc: u64) -> Option<u32> {
        self.ptx_lines.row(pc).map(|row| row.line)
    }

    /// Every line of the PTX with a source line that shares an instruction with it, in the order of addresses.
    pub fn ptx_places(&self) -> Vec<(u32, Place)> {
        // Kernels that were never launched are not loaded: all of them stand at address 0.
        let in_code =
            |row: &&Row| !row.end && self.function(row.address).is_some_and(|function| function.start != 0);
        self.ptx_lines
            .rows()
            .filter(in_code)
            .filter_map(|row| Some((row.line, self.source.place(row.address)?)))
            .collect()
    }
}

/// The PTX as text: lines end with a zero byte in the section.
fn ptx_text(section: &[u8]) -> Option<String> {
    if section.is_empty() {
        return None;
    }
    let text: Vec<u8> = section.iter().map(|byte| if *byte == 0 { b'\n' } else { *byte }).collect();
    Some(String::from_utf8_lossy(&text).into_owned())
}
