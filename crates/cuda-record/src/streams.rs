//! Streams and events as the trace numbers them: no number is used twice, whatever the driver does with its handles.

use rustc_hash::{FxHashMap, FxHashSet};
use standstill_trace::{Call, Operation, StreamKind};

use crate::contexts::Contexts;
use crate::layout::Handle;
use crate::real::driver_function;
use crate::recorder::Trace;
use crate::thread::current;

/// `CU_STREAM_LEGACY`.
const LEGACY: usize = 1;
/// `CU_STREAM_PER_THREAD`.
pub const PER_THREAD: usize = 2;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

/// What stream 0 means to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Default {
    /// The legacy default stream.
    Legacy,
    /// The calling thread's own (`_ptsz`, `_ptds`).
    PerThread,
}

impl Default {
    /// The handle that names the stream whatever the call means by 0.
    #[must_use]
    pub fn resolve(self, stream: Handle) -> Handle {
        match (self, stream.addr()) {
            (Default::PerThread, 0) => std::ptr::without_provenance_mut(PER_THREAD),
            _ => stream,
        }
    }
}

fn kind_of(flags: u32) -> StreamKind {
    if flags & NON_BLOCKING == 0 { StreamKind::Blocking } else { StreamKind::NonBlocking }
}

driver_function!(cuStreamGetFlags(stream: Handle, flags: *mut u32));

/// The numbers of what is there.
#[derive(Debug, std::default::Default)]
#[repr(C)]
pub struct Numbers {
    /// The stream that was asked for last.
    recent: (usize, u64),
    pub contexts: Contexts,
    streams: FxHashMap<usize, u64>,
    /// The legacy default streams of contexts behind the first.
    legacy: FxHashMap<u32, u64>,
    /// The default streams of threads, by thread and context.
    threads: FxHashMap<(u32, u32), u64>,
    events: FxHashMap<usize, Event>,
    /// Events of other processes.
    foreign: FxHashSet<usize>,
    next_stream: u64,
    next_event: u64,
}

/// An event.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    pub number: u64,
    /// Its most recent record.
    pub record: Option<Operation>,
}

impl Numbers {
    /// A stream was made.
    pub fn create(&mut self, trace: &mut Trace, stream: Handle, flags: u32) -> u64 {
        let kind = kind_of(flags);
        let context = self.contexts.current();
        self.add(trace, stream, kind, context)
    }

    fn add(&mut self, trace: &mut Trace, stream: Handle, kind: StreamKind, context: u32) -> u64 {
        let number = self.announce(trace, kind, context);
        self.streams.insert(stream.addr(), number);
        number
    }

    fn announce(&mut self, trace: &mut Trace, kind: StreamKind, context: u32) -> u64 {
        self.next_stream += 1;
        let stream = self.next_stream;
        trace.note(Call::CreateStream { stream, kind });
        if context > 0 {
            trace.note(Call::InContext { stream, context });
        }
        stream
    }

    /// The legacy default stream of the current context.
    fn legacy(&mut self, trace: &mut Trace) -> u64 {
        let context = self.contexts.current();
        if context == 0 {
            return 0;
        }
        if let Some(number) = self.legacy.get(&context) {
            return *number;
        }
        let number = self.announce(trace, StreamKind::Legacy, context);
        self.legacy.insert(context, number);
        number
    }

    /// The number of the stream that a call means.
    #[inline(always)]
    pub fn stream(&mut self, trace: &mut Trace, stream: Handle, default: Default) -> u64 {
        if stream.is_null() {
            if default == Default::Legacy && self.contexts.are_surely_one() {
                return 0;
            }
        } else if stream.addr() == self.recent.0 {
            return self.recent.1;
        }
        self.stream_otherwise(trace, stream, default)
    }

    #[cold]
    fn stream_otherwise(&mut self, trace: &mut Trace, stream: Handle, default: Default) -> u64 {
        match default.resolve(stream).addr() {
            0 | LEGACY => self.legacy(trace),
            PER_THREAD => {
                let of = (current().0, self.contexts.current());
                if let Some(number) = self.threads.get(&of) {
                    return *number;
                }
                let number = self.announce(trace, StreamKind::PerThread, of.1);
                self.threads.insert(of, number);
                number
            }
            other => match self.streams.get(&other) {
                Some(number) => {
                    self.recent = (other, *number);
                    *number
                }
                None => {
                    let mut flags = 0;
                    // SAFETY: the program's own handle, which a call has just taken.
                    let context = unsafe {
                        cuStreamGetFlags(stream, &raw mut flags);
                        self.contexts.of_stream(stream)
                    };
                    self.add(trace, stream, kind_of(flags), context)
                }
            },
        }
    }

    /// A stream is about to be destroyed.
    pub fn destroy_stream(&mut self, trace: &mut Trace, stream: Handle) {
        self.recent = (0, 0);
        if let Some(stream) = self.streams.remove(&stream.addr()) {
            trace.note(Call::DestroyStream { stream });
        }
    }

    /// What is known of an event; `None` for one of another process, of whose records nothing is known.
    #[inline]
    pub fn event(&mut self, event: Handle) -> Option<&mut Event> {
        if !self.foreign.is_empty() && self.foreign.contains(&event.addr()) {
            return None;
        }
        let next = &mut self.next_event;
        Some(self.events.entry(event.addr()).or_insert_with(|| {
            *next += 1;
            Event { number: *next, record: None }
        }))
    }

    /// An event of another process was opened.
    pub fn open_event(&mut self, event: Handle) {
        self.foreign.insert(event.addr());
    }

    /// An event is about to be destroyed.
    pub fn destroy_event(&mut self, trace: &mut Trace, event: Handle) {
        self.foreign.remove(&event.addr());
        if let Some(event) = self.events.remove(&event.addr()) {
            trace.note(Call::DestroyEvent { event: event.number });
        }
    }
}
