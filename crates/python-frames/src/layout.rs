//! Where the fields of CPython's structures are, in bytes. (`Include/internal/pycore_*.h` of each version.)

use crate::{Memory, Symbols};

mod described;

/// The first field of `_PyRuntime` from 3.13 on.
const COOKIE: [u8; 8] = *b"xdebugpy";
/// Frames owned by this or more are no Python frames.
pub const OWNED_BY_C_STACK: u8 = 3;
/// The lowest bits of a reference say from 3.14 on how it is counted.
pub const COUNTED: u64 = 3;

/// How a code object's line table is written, and what a frame's instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// Pairs of bytes (PEP 626); the instruction is a number of code units in four bytes.
    Pairs,
    /// Entries of several forms; the instruction is an address.
    Locations,
}

/// Fields of a frame, in bytes from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFrame {
    /// The code object.
    pub code: u64,
    /// The caller's frame.
    pub previous: u64,
    /// The instruction.
    pub instruction: u64,
    /// Who owns it.
    pub owner: u64,
}

/// The layout of one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub(crate) interpreters_head: u64,
    pub(crate) next_interpreter: u64,
    pub(crate) threads_head: u64,
    pub(crate) next_thread: u64,
    pub(crate) native_thread_id: u64,
    /// In the thread: the current frame, or what holds it.
    pub frame_holder: u64,
    /// In that: the current frame.
    pub frame_in_holder: Option<u64>,
    /// In a frame.
    pub in_frame: InFrame,
    /// Whether the state of the first thread is part of the main interpreter's, which is part of the runtime's.
    first_state_stays: bool,
    pub(crate) file_name: u64,
    pub(crate) qualified_name: u64,
    pub(crate) line_table: u64,
    pub(crate) lines: Lines,
    pub(crate) first_line: u64,
    pub(crate) instructions: u64,
    /// `PyBytesObject`.
    pub(crate) bytes_length: u64,
    pub(crate) bytes_data: u64,
    /// `PyASCIIObject`.
    pub(crate) string_length: u64,
    pub(crate) string_state: u64,
    pub(crate) ascii_size: u64,
    /// What a string that is not ASCII has more.
    pub(crate) compact_more: u64,
}

/// Threads have no number of the system's yet, and code objects no qualified names.
const PYTHON_3_10: Layout = Layout {
    interpreters_head: 32,
    next_interpreter: 0,
    threads_head: 8,
    native_thread_id: 0,
    frame_holder: 24,
    frame_in_holder: None,
    // Nothing says who owns a frame; the highest byte of the number of blocks is always zero.
    in_frame: InFrame { code: 32, previous: 24, instruction: 96, owner: 107 },
    first_state_stays: false,
    file_name: 104,
    qualified_name: 112,
    line_table: 120,
    lines: Lines::Pairs,
    first_line: 40,
    ..PYTHON_3_11
};

const PYTHON_3_11: Layout = Layout {
    interpreters_head: 40,
    next_interpreter: 0,
    threads_head: 16,
    next_thread: 8,
    native_thread_id: 160,
    frame_holder: 56,
    frame_in_holder: Some(8),
    in_frame: InFrame { code: 32, previous: 48, instruction: 56, owner: 69 },
    first_state_stays: true,
    file_name: 112,
    qualified_name: 128,
    line_table: 136,
    lines: Lines::Locations,
    first_line: 72,
    instructions: 184,
    bytes_length: 16,
    bytes_data: 32,
    string_length: 16,
    string_state: 32,
    ascii_size: 48,
    compact_more: 24,
};

const PYTHON_3_12: Layout = Layout {
    threads_head: 72,
    native_thread_id: 144,
    frame_in_holder: Some(0),
    in_frame: InFrame { code: 0, previous: 8, instruction: 56, owner: 70 },
    first_line: 68,
    instructions: 192,
    ascii_size: 40,
    compact_more: 16,
    ..PYTHON_3_11
};

impl Layout {
    /// The layout of a running interpreter; `None` for versions that are not known.
    #[must_use]
    pub fn of(memory: &impl Memory, symbols: &Symbols) -> Option<Layout> {
        if memory.bytes::<8>(symbols.runtime)? == COOKIE {
            return Layout::described(|index| memory.word(symbols.runtime + 8 * index));
        }
        // The version in hexadecimal: 3.12.1 is 0x030c01f0.
        match memory.word(symbols.version?)? >> 16 {
            0x030b => Some(PYTHON_3_11),
            0x030c => Some(PYTHON_3_12),
            _ => None,
        }
    }

    /// The layout of 3.10, which does not say its version in a variable. Its threads cannot be found from outside.
    #[must_use]
    pub fn of_3_10() -> Layout {
        PYTHON_3_10
    }

    /// Whether the state of the process's first thread stays where it is as long as the process lives.
    #[must_use]
    pub fn first_state_stays(&self) -> bool {
        self.first_state_stays
    }

    /// The layout as the interpreter describes it: words behind the cookie and the version, in the order of
    /// `_Py_DebugOffsets`.
    fn described(word: impl Fn(u64) -> Option<u64>) -> Option<Layout> {
        let version = word(1)? >> 16;
        let order = described::order(version)?;
        // Objects of builds without the global lock have other headers, and threads their own copies of the code.
        if word(2)? != 0 {
            return None;
        }
        let field =
            |group: &str, name: &str| word(described::FIRST + described::position(order, group, name)?);
        Some(Layout {
            interpreters_head: field("runtime_state", "interpreters_head")?,
            next_interpreter: field("interpreter_state", "next")?,
            threads_head: field("interpreter_state", "threads_head")?,
            next_thread: field("thread_state", "next")?,
            frame_holder: field("thread_state", "current_frame")?,
            frame_in_holder: None,
            native_thread_id: field("thread_state", "native_thread_id")?,
            in_frame: InFrame {
                previous: field("interpreter_frame", "previous")?,
                code: field("interpreter_frame", "executable")?,
                instruction: field("interpreter_frame", "instr_ptr")?,
                owner: field("interpreter_frame", "owner")?,
            },
            first_state_stays: true,
            file_name: field("code_object", "filename")?,
            qualified_name: field("code_object", "qualname")?,
            line_table: field("code_object", "linetable")?,
            lines: Lines::Locations,
            first_line: field("code_object", "firstlineno")?,
            instructions: field("code_object", "co_code_adaptive")?,
            bytes_length: field("bytes_object", "ob_size")?,
            bytes_data: field("bytes_object", "ob_sval")?,
            string_length: field("unicode_object", "length")?,
            string_state: field("unicode_object", "state")?,
            ascii_size: field("unicode_object", "asciiobject_size")?,
            compact_more: PYTHON_3_12.compact_more,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What interpreters of Debian and of pyenv say of themselves, from the cookie on.
    #[test]
    fn what_interpreters_describe() {
        let tables = [
            include_str!("layout/3.13.0.txt"),
            include_str!("layout/3.14.10.txt"),
            include_str!("layout/3.15.2.txt"),
        ];
        let layouts = tables.map(|text| {
            let words: Vec<u64> = text.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect();
            let word = |index: u64| words.get(usize::try_from(index).ok()?).copied();
            let layout = Layout::described(word).unwrap();
            // A version that is not known, a build without the global lock, a table that ends early.
            let changed =
                |at: u64, value: u64| move |index: u64| if index == at { Some(value) } else { word(index) };
            assert_eq!(Layout::described(changed(1, 0x0310_00f0)), None);
            assert_eq!(Layout::described(changed(2, 1)), None);
            assert_eq!(Layout::described(|index| word(index).filter(|_| index < 60)), None);
            layout
        });
        let of = |get: fn(&Layout) -> u64| layouts.each_ref().map(get);
        // As `offsetof` says with the headers of each version.
        assert_eq!(of(|layout| layout.ascii_size), [40; 3]);
        assert_eq!(of(|layout| layout.bytes_data), [32; 3]);
        assert_eq!(of(|layout| layout.string_state), [32; 3]);
        assert_eq!(of(|layout| layout.in_frame.owner), [70, 74, 74]);
        assert_eq!(of(|layout| layout.frame_holder), [72; 3]);
        assert_eq!(of(|layout| layout.instructions), [200, 208, 208]);
    }
}
