//! Where the fields of CPython's structures are, in bytes. (`Include/internal/pycore_*.h` of each version.)

use super::{Memory, Symbols};

/// The first field of `_PyRuntime` from 3.13 on.
const COOKIE: [u8; 8] = *b"xdebugpy";
/// Frames owned by this or more are no Python frames.
pub(super) const OWNED_BY_C_STACK: u8 = 3;
/// `PyBytesObject`.
pub(super) const BYTES_LENGTH: u64 = 16;
pub(super) const BYTES_DATA: u64 = 32;
/// `PyASCIIObject`.
pub(super) const STRING_LENGTH: u64 = 16;
pub(super) const STRING_STATE: u64 = 32;

/// The layout of one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) interpreters_head: u64,
    pub(super) next_interpreter: u64,
    pub(super) threads_head: u64,
    pub(super) next_thread: u64,
    pub(super) native_thread_id: u64,
    /// In the thread: the current frame, or what holds it.
    pub(super) frame_holder: u64,
    /// In that: the current frame.
    pub(super) frame_in_holder: Option<u64>,
    pub(super) code: u64,
    pub(super) previous: u64,
    pub(super) instruction: u64,
    pub(super) owner: u64,
    pub(super) file_name: u64,
    pub(super) qualified_name: u64,
    pub(super) line_table: u64,
    pub(super) first_line: u64,
    pub(super) instructions: u64,
    pub(super) ascii_size: u64,
    /// What a string that is not ASCII has more.
    pub(super) compact_more: u64,
}

const PYTHON_3_11: Layout = Layout {
    interpreters_head: 40,
    next_interpreter: 0,
    threads_head: 16,
    next_thread: 8,
    native_thread_id: 160,
    frame_holder: 56,
    frame_in_holder: Some(8),
    code: 32,
    previous: 48,
    instruction: 56,
    owner: 69,
    file_name: 112,
    qualified_name: 128,
    line_table: 136,
    first_line: 72,
    instructions: 184,
    ascii_size: 48,
    compact_more: 24,
};

const PYTHON_3_12: Layout = Layout {
    threads_head: 72,
    native_thread_id: 144,
    frame_in_holder: Some(0),
    code: 0,
    previous: 8,
    owner: 70,
    first_line: 68,
    instructions: 192,
    ascii_size: 40,
    compact_more: 16,
    ..PYTHON_3_11
};

impl Layout {
    /// The layout of a running interpreter; `None` for versions that are not known.
    pub(super) fn of(memory: &Memory, symbols: &Symbols) -> Option<Layout> {
        if memory.bytes::<8>(symbols.runtime)? == COOKIE {
            return Layout::described(memory, symbols.runtime);
        }
        // The version in hexadecimal: 3.12.1 is 0x030c01f0.
        match memory.word(symbols.version?)? >> 16 {
            0x030b => Some(PYTHON_3_11),
            0x030c => Some(PYTHON_3_12),
            _ => None,
        }
    }

    /// The layout as 3.13 describes it: words behind the cookie, in the order of `_Py_DebugOffsets`.
    fn described(memory: &Memory, runtime: u64) -> Option<Layout> {
        let field = |index: u64| memory.word(runtime + 8 * index);
        if field(1)? >> 16 != 0x030d {
            return None;
        }
        Some(Layout {
            interpreters_head: field(5)?,
            next_interpreter: field(8)?,
            threads_head: field(9)?,
            next_thread: field(21)?,
            frame_holder: field(23)?,
            frame_in_holder: None,
            native_thread_id: field(25)?,
            previous: field(29)?,
            code: field(30)?,
            instruction: field(31)?,
            owner: field(33)?,
            file_name: field(35)?,
            qualified_name: field(37)?,
            line_table: field(38)?,
            first_line: field(39)?,
            instructions: field(43)?,
            ..PYTHON_3_12
        })
    }
}
