//! Fills in all their forms.

use std::ffi::c_int;

use standstill_trace::{Access, Memory, Mode, Work};

use super::wrap_both;
use crate::graphs::captured;
use crate::layout::Handle;
use crate::memory::Ranges;
use crate::recorder::with;
use crate::streams::Default;

/// Rows of elements.
#[derive(Debug, Clone, Copy)]
pub struct Fill {
    address: u64,
    width: u64,
    height: u64,
    pitch: u64,
}

impl Fill {
    /// Elements of a size in bytes; the pitch counts only where there are several rows.
    pub fn new(address: u64, element: u64, width: usize, height: usize, pitch: usize) -> Fill {
        let width = element.saturating_mul(width as u64);
        Fill { address, width, height: height as u64, pitch: (pitch as u64).max(width) }
    }

    /// What a trace has of it. A call that is not asynchronous returns when it is done only where the memory is the
    /// host's (CUDA Driver API, «API synchronization behavior»).
    pub fn work(&self, ranges: &mut Ranges, waits: bool) -> Work {
        let Fill { address, width, height: rows, pitch } = *self;
        let done = waits && matches!(ranges.find(address), Some(Memory::Pinned | Memory::Managed));
        Work::Fill {
            done,
            accesses: vec![Access { address, width, rows, pitch, mode: Mode::Write, exact: true }],
        }
    }
}

unsafe fn filled(status: c_int, fill: Fill, waits: bool, stream: Handle, default: Default) -> c_int {
    let nothing = fill.width == 0 || fill.height == 0;
    // SAFETY: the stream that the driver has just taken.
    if status == 0 && !nothing && !unsafe { captured(stream, default) } {
        with(|state| {
            let work = fill.work(&mut state.memory, waits);
            state.submit(stream, default, work);
        });
    }
    status
}

unsafe fn done(status: c_int, fill: Fill, default: Default) -> c_int {
    // SAFETY: no stream of the program's.
    unsafe { filled(status, fill, true, std::ptr::null_mut(), default) }
}

wrap_both! {
    fn cuMemsetD8_v2 / cuMemsetD8_v2_ptds(to: u64, _value: u8, count: usize) [default] |call| {
        // SAFETY: the stream is the default one.
        unsafe { done(call(), Fill::new(to, 1, count, 1, 0), default) }
    }

    fn cuMemsetD8Async / cuMemsetD8Async_ptsz(
        to: u64, _value: u8, count: usize, stream: Handle,
    ) [default] |call| {
        // SAFETY: the stream that the driver has taken.
        unsafe { filled(call(), Fill::new(to, 1, count, 1, 0), false, stream, default) }
    }

    fn cuMemsetD2D8_v2 / cuMemsetD2D8_v2_ptds(
        to: u64, pitch: usize, _value: u8, width: usize, height: usize,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { done(call(), Fill::new(to, 1, width, height, pitch), default) }
    }

    fn cuMemsetD2D8Async / cuMemsetD2D8Async_ptsz(
        to: u64, pitch: usize, _value: u8, width: usize, height: usize, stream: Handle,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { filled(call(), Fill::new(to, 1, width, height, pitch), false, stream, default) }
    }

    fn cuMemsetD16_v2 / cuMemsetD16_v2_ptds(to: u64, _value: u16, count: usize) [default] |call| {
        // SAFETY: the stream is the default one.
        unsafe { done(call(), Fill::new(to, 2, count, 1, 0), default) }
    }

    fn cuMemsetD16Async / cuMemsetD16Async_ptsz(
        to: u64, _value: u16, count: usize, stream: Handle,
    ) [default] |call| {
        // SAFETY: the stream that the driver has taken.
        unsafe { filled(call(), Fill::new(to, 2, count, 1, 0), false, stream, default) }
    }

    fn cuMemsetD2D16_v2 / cuMemsetD2D16_v2_ptds(
        to: u64, pitch: usize, _value: u16, width: usize, height: usize,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { done(call(), Fill::new(to, 2, width, height, pitch), default) }
    }

    fn cuMemsetD2D16Async / cuMemsetD2D16Async_ptsz(
        to: u64, pitch: usize, _value: u16, width: usize, height: usize, stream: Handle,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { filled(call(), Fill::new(to, 2, width, height, pitch), false, stream, default) }
    }

    fn cuMemsetD32_v2 / cuMemsetD32_v2_ptds(to: u64, _value: u32, count: usize) [default] |call| {
        // SAFETY: the stream is the default one.
        unsafe { done(call(), Fill::new(to, 4, count, 1, 0), default) }
    }

    fn cuMemsetD32Async / cuMemsetD32Async_ptsz(
        to: u64, _value: u32, count: usize, stream: Handle,
    ) [default] |call| {
        // SAFETY: the stream that the driver has taken.
        unsafe { filled(call(), Fill::new(to, 4, count, 1, 0), false, stream, default) }
    }

    fn cuMemsetD2D32_v2 / cuMemsetD2D32_v2_ptds(
        to: u64, pitch: usize, _value: u32, width: usize, height: usize,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { done(call(), Fill::new(to, 4, width, height, pitch), default) }
    }

    fn cuMemsetD2D32Async / cuMemsetD2D32Async_ptsz(
        to: u64, pitch: usize, _value: u32, width: usize, height: usize, stream: Handle,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { filled(call(), Fill::new(to, 4, width, height, pitch), false, stream, default) }
    }
}
