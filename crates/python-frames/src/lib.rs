//! Frames of CPython, from the interpreter's own structures in memory.
//!
//! CPython describes its structures itself from 3.13 on (`_Py_DebugOffsets`, the first field of `_PyRuntime`); the order
//! of that description is known for 3.13 to 3.15. 3.10, 3.11 and 3.12 have one layout each. Other versions, and builds
//! without the global lock, are left alone.
//!
//! Belongs here: where the fields are, and what they say. Does not belong here: how the memory of a program is read,
//! finding the interpreter's variables in it, which frames matter.

mod layout;
mod line_table;

use layout::Lines;
pub use layout::{COUNTED, InFrame, Layout, OWNED_BY_C_STACK};

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

/// The memory of a program.
pub trait Memory {
    /// Fills `bytes` with what is at an address; `None` when not all of it can be read.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Option<()>;

    /// Some bytes.
    fn bytes<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes)?;
        Some(bytes)
    }

    /// A word.
    fn word(&self, address: u64) -> Option<u64> {
        self.bytes(address).map(u64::from_ne_bytes)
    }

    /// A byte.
    fn byte(&self, address: u64) -> Option<u8> {
        self.bytes::<1>(address).map(|[byte]| byte)
    }
}

/// Addresses of the interpreter's variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbols {
    /// `_PyRuntime`.
    pub runtime: u64,
    /// `Py_Version`, which 3.10 does not have.
    pub version: Option<u64>,
}

/// A thread of an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// Where its state is (`PyThreadState`).
    pub state: u64,
    /// The system's number of it.
    pub native: u64,
}

/// The threads of all interpreters, as far as they can be followed.
#[must_use]
pub fn threads(memory: &impl Memory, layout: &Layout, symbols: &Symbols) -> Vec<Thread> {
    let mut threads = Vec::new();
    let mut follow = || -> Option<()> {
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
                threads.push(Thread { state, native });
                state = memory.word(state + layout.next_thread)?;
            }
            interpreter = memory.word(interpreter + layout.next_interpreter)?;
        }
        Some(())
    };
    // What was read until the structures ended is right.
    let _ = follow();
    threads
}

/// The frames of a thread, the innermost first, as far as they can be followed.
#[must_use]
pub fn frames(memory: &impl Memory, layout: &Layout, state: u64) -> Vec<PythonFrame> {
    positions(memory, layout, state).into_iter().filter_map(|at| frame(memory, layout, at)).collect()
}

/// Where in code a frame is: what tells it from others without reading more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Position {
    /// The code object.
    pub code: u64,
    /// The instruction.
    pub instruction: u64,
}

/// Where the frames of a thread are, the innermost first.
#[must_use]
pub fn positions(memory: &impl Memory, layout: &Layout, state: u64) -> Vec<Position> {
    let mut positions = Vec::new();
    let mut follow = || -> Option<()> {
        let mut frame = memory.word(state + layout.frame_holder)?;
        if let Some(inner) = layout.frame_in_holder {
            frame = memory.word(frame + inner)?;
        }
        while frame != 0 && positions.len() < MOST {
            let InFrame { code, previous, instruction, owner } = layout.in_frame;
            if memory.byte(frame + owner)? < OWNED_BY_C_STACK {
                let code = memory.word(frame + code)? & !COUNTED;
                positions.push(Position { code, instruction: memory.word(frame + instruction)? });
            }
            frame = memory.word(frame + previous)?;
        }
        Some(())
    };
    // What was read until the structures ended is right.
    let _ = follow();
    positions
}

/// What a frame says of itself.
#[must_use]
pub fn frame(memory: &impl Memory, layout: &Layout, at: Position) -> Option<PythonFrame> {
    let Position { code, instruction } = at;
    let file = string(memory, layout, memory.word(code + layout.file_name)?)?;
    let function = string(memory, layout, memory.word(code + layout.qualified_name)?)?;
    let first_line = i32::from_ne_bytes(memory.bytes(code + layout.first_line)?);
    let table = memory.word(code + layout.line_table)?;
    let length = memory.word(table + layout.bytes_length)?;
    let mut entries = vec![0; usize::try_from(length).ok().filter(|length| *length < 1 << 20)?];
    memory.read(table + layout.bytes_data, &mut entries)?;
    let line = match layout.lines {
        Lines::Pairs => line_table::line_of_pairs(&entries, first_line, instruction & u64::from(u32::MAX)),
        Lines::Locations => {
            let offset = instruction.saturating_sub(code + layout.instructions);
            line_table::line(&entries, first_line, offset / 2)
        }
    };
    let line = line.unwrap_or(first_line);
    Some(PythonFrame { function, file, line: u32::try_from(line).unwrap_or(0) })
}

/// A `str` object (PEP 393).
fn string(memory: &impl Memory, layout: &Layout, address: u64) -> Option<String> {
    const LONGEST: u64 = 4096;
    let length = memory.word(address + layout.string_length)?.min(LONGEST);
    let state = u32::from_ne_bytes(memory.bytes(address + layout.string_state)?);
    let kind = state >> 2 & 7;
    let is_ascii = state >> 6 & 1 == 1;
    let start = address + if is_ascii { layout.ascii_size } else { layout.ascii_size + layout.compact_more };
    let mut bytes = vec![0; usize::try_from(length * u64::from(kind)).ok()?];
    memory.read(start, &mut bytes)?;
    let character = |unit: &[u8]| {
        let value = unit.iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
        char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    matches!(kind, 1 | 2 | 4).then(|| bytes.chunks_exact(kind as usize).map(character).collect())
}
