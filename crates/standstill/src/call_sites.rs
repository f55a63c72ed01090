//! Calls of the host: which frame of a call's stack the reader looks for.

use standstill_findings::is_toolchain_file;
use standstill_supervisor::Frame;

/// Whether a frame stands in the program's own source.
pub(crate) fn is_own_line(frame: &Frame) -> bool {
    frame.line > 0
        && !frame.file.is_empty()
        && !is_toolchain_file(&frame.file)
        && !frame.file.contains("/include/c++/")
}
