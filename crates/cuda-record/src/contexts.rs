//! Contexts by number: each has streams and default streams of its own.
//!
//! Most programs have one. Only where there are several devices, or the program makes contexts itself, the driver is
//! asked which one is current.

use std::ffi::c_int;

use rustc_hash::FxHashMap;

use crate::layout::Handle;
use crate::real::driver_function;

driver_function!(cuDeviceGetCount(count: *mut c_int));
driver_function!(cuCtxGetCurrent(context: *mut Handle));
driver_function!(cuStreamGetCtx(stream: Handle, context: *mut Handle));

/// The contexts that were met, in the order in which they were.
#[derive(Debug, Default)]
pub struct Contexts {
    numbers: FxHashMap<usize, u32>,
    /// Whether there can be several; `None` as long as the driver was not asked.
    several: Option<bool>,
}

impl Contexts {
    /// The number of the calling thread's current context.
    pub fn current(&mut self) -> u32 {
        if self.are_several() { self.number(ask_current()) } else { 0 }
    }

    /// Whether there is one alone, so that its legacy default stream is the only one.
    #[inline(always)]
    pub fn are_surely_one(&self) -> bool {
        self.several == Some(false)
    }

    /// The number of the context that a stream is of.
    ///
    /// # Safety
    /// The driver has just taken the stream.
    pub unsafe fn of_stream(&mut self, stream: Handle) -> u32 {
        if !self.are_several() {
            return 0;
        }
        let mut context = std::ptr::null_mut();
        // SAFETY: the caller's promise, and a place for the result.
        unsafe { cuStreamGetCtx(stream, &raw mut context) };
        self.number(context)
    }

    /// The number of a context; none is the current one.
    pub fn number(&mut self, context: Handle) -> u32 {
        let context = if context.is_null() { ask_current() } else { context };
        if context.is_null() {
            return 0;
        }
        let next = self.numbers.len() as u32;
        *self.numbers.entry(context.addr()).or_insert(next)
    }

    /// The program is about to make one: the one so far is the first.
    pub fn will_be_several(&mut self) {
        let current = ask_current();
        if !current.is_null() {
            self.number(current);
        }
        self.several = Some(true);
    }

    fn are_several(&mut self) -> bool {
        *self.several.get_or_insert_with(|| {
            let mut count = 0;
            // SAFETY: a place for the result.
            unsafe { cuDeviceGetCount(&raw mut count) };
            count > 1
        })
    }
}

fn ask_current() -> Handle {
    let mut context = std::ptr::null_mut();
    // SAFETY: a place for the result.
    unsafe { cuCtxGetCurrent(&raw mut context) };
    context
}
