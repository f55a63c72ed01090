//! Python lines of a thread, from the interpreter's own structures in the memory of the stopped program.
//!
//! CPython describes its structures itself from 3.13 on (`_Py_DebugOffsets`, the first field of `_PyRuntime`); the order
//! of that description is known for 3.13 to 3.15. 3.11 and 3.12 have one layout each. Other versions, and builds without
//! the global lock, are left alone: their frames show as frames of the interpreter.

mod layout;
mod line_table;
mod pytest;

use std::fs::File;
use std::os::unix::fs::FileExt;

use object::{Object, ObjectSymbol, ReadRef};

use crate::process::{Mapping, mappings};
use crate::stacks::{ElfReader, ThreadStack, images_of};

use layout::Layout;

/// One Python frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PythonFrame {
    /// The function.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Source line, from 1; 0 when not known.
    pub line: u32,
}

/// Threads, and frames of one thread, at most: the structures may be torn.
const MOST: usize = 1024;

/// Adds the Python frames of a process to its threads, and gives the test that it runs, where it runs one.
pub(crate) fn add_frames(pid: i32, threads: &mut [ThreadStack]) -> Option<String> {
    let is_python = |mapping: &&Mapping| {
        let file = mapping.path.rsplit('/').next().unwrap_or_default();
        file.starts_with("python") || file.starts_with("libpython")
    };
    let mappings = mappings(pid);
    let candidates: Vec<Mapping> = mappings.iter().filter(is_python).cloned().collect();
    let memory = Memory(File::open(format!("/proc/{pid}/mem")).ok()?);
    for image in images_of(pid, &candidates) {
        let Some(symbols) = image.with_elf(FindRuntime) else { continue };
        let symbols = Symbols {
            runtime: symbols.runtime.wrapping_add(image.bias),
            version: symbols.version.map(|version| version.wrapping_add(image.bias)),
        };
        // The executable may hold a copy of the library's variable; only one of them is in use.
        if add(pid, &memory, &symbols, threads).is_some() {
            break;
        }
    }
    let named = (!candidates.is_empty()).then(|| pytest::current_test(pid, &memory, &mappings)).flatten();
    named.or_else(|| threads.iter().find_map(|thread| test_of(&thread.python)))
}

/// The outermost function of a stack that is a test by its name: `FILE::FUNCTION`.
fn test_of(frames: &[PythonFrame]) -> Option<String> {
    let is_test = |frame: &&PythonFrame| {
        let name = frame.function.rsplit('.').next().unwrap_or_default();
        // The test runner's own functions are called so too.
        let runner = ["/_pytest/", "/unittest/", "/pluggy/"].iter().any(|folder| frame.file.contains(folder));
        name.starts_with("test") && !runner
    };
    let test = frames.iter().rev().find(is_test)?;
    Some(format!("{}::{}", test.file, test.function.replace('.', "::")))
}

fn add(pid: i32, memory: &Memory, symbols: &Symbols, threads: &mut [ThreadStack]) -> Option<()> {
    let layout = Layout::of(memory, symbols)?;
    let mut found = None;
    let mut interpreter = memory.word(symbols.runtime + layout.interpreters_head)?;
    for _ in 0..MOST {
        if interpreter == 0 {
            break;
        }
        let mut state = memory.word(interpreter + layout.threads_head)?;
        for _ in 0..MOST {
            if state == 0 {
                break;
            }
            let native = memory.word(state + layout.native_thread_id)?;
            if let Some(thread) = threads.iter_mut().find(|thread| is_thread(pid, thread.tid, native)) {
                thread.python = frames(memory, &layout, state);
                found = Some(());
            }
            state = memory.word(state + layout.next_thread)?;
        }
        interpreter = memory.word(interpreter + layout.next_interpreter)?;
    }
    found
}

/// Whether `native` is the thread's number, as the process itself sees it.
fn is_thread(pid: i32, tid: i32, native: u64) -> bool {
    if u64::try_from(tid) == Ok(native) {
        return true;
    }
    let status = crate::process::read_text(&format!("/proc/{pid}/task/{tid}/status")).unwrap_or_default();
    let inside = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    inside.and_then(|numbers| numbers.split_ascii_whitespace().last()?.parse().ok()) == Some(native)
}

fn frames(memory: &Memory, layout: &Layout, state: u64) -> Vec<PythonFrame> {
    let mut frames = Vec::new();
    let mut step = || -> Option<()> {
        let mut frame = memory.word(state + layout.frame_holder)?;
        if let Some(inner) = layout.frame_in_holder {
            frame = memory.word(frame + inner)?;
        }
        while frame != 0 && frames.len() < MOST {
            let owner = memory.byte(frame + layout.owner)?;
            if owner < layout::OWNED_BY_C_STACK
                && let Some(python) = one_frame(memory, layout, frame)
            {
                frames.push(python);
            }
            frame = memory.word(frame + layout.previous)?;
        }
        Some(())
    };
    // What was read until the structures ended is right.
    let _ = step();
    frames
}

fn one_frame(memory: &Memory, layout: &Layout, frame: u64) -> Option<PythonFrame> {
    // From 3.14 on the lowest bits of a reference say how it is counted.
    let code = memory.word(frame + layout.code)? & !3;
    let file = memory.string(layout, memory.word(code + layout.file_name)?)?;
    let function = memory.string(layout, memory.word(code + layout.qualified_name)?)?;
    let first_line = i32::from_ne_bytes(memory.bytes(code + layout.first_line)?);
    let instruction = memory.word(frame + layout.instruction)?;
    let offset = instruction.saturating_sub(code + layout.instructions);
    let table = memory.word(code + layout.line_table)?;
    let length = memory.word(table + layout.bytes_length)?;
    let mut entries = vec![0; usize::try_from(length).ok().filter(|length| *length < 1 << 20)?];
    memory.read(table + layout.bytes_data, &mut entries)?;
    let line = line_table::line(&entries, first_line, offset / 2).unwrap_or(first_line);
    Some(PythonFrame { function, file, line: u32::try_from(line).unwrap_or(0) })
}

/// The memory of a process.
struct Memory(File);

impl Memory {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        self.0.read_exact_at(bytes, address).ok()
    }

    fn bytes<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes)?;
        Some(bytes)
    }

    fn word(&self, address: u64) -> Option<u64> {
        self.bytes(address).map(u64::from_ne_bytes)
    }

    fn byte(&self, address: u64) -> Option<u8> {
        self.bytes::<1>(address).map(|[byte]| byte)
    }

    /// A `str` object (PEP 393).
    fn string(&self, layout: &Layout, address: u64) -> Option<String> {
        const LONGEST: u64 = 4096;
        let length = self.word(address + layout.string_length)?.min(LONGEST);
        let state = u32::from_ne_bytes(self.bytes(address + layout.string_state)?);
        let kind = state >> 2 & 7;
        let is_ascii = state >> 6 & 1 == 1;
        let start =
            address + if is_ascii { layout.ascii_size } else { layout.ascii_size + layout.compact_more };
        let mut bytes = vec![0; usize::try_from(length * u64::from(kind)).ok()?];
        self.read(start, &mut bytes)?;
        let character = |unit: &[u8]| {
            let value = unit.iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
            char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        matches!(kind, 1 | 2 | 4).then(|| bytes.chunks_exact(kind as usize).map(character).collect())
    }
}

/// Addresses of the interpreter's variables.
struct Symbols {
    runtime: u64,
    version: Option<u64>,
}

struct FindRuntime;

impl ElfReader<Symbols> for FindRuntime {
    fn read<'data, R: ReadRef<'data>>(
        self,
        elf: &object::read::elf::ElfFile64<'data, object::Endianness, R>,
    ) -> Option<Symbols> {
        let find = |wanted: &str| {
            let mut symbols = elf.dynamic_symbols().chain(elf.symbols());
            symbols
                .find(|symbol| symbol.is_definition() && symbol.name() == Ok(wanted))
                .map(|symbol| symbol.address())
        };
        Some(Symbols { runtime: find("_PyRuntime")?, version: find("Py_Version") })
    }
}
