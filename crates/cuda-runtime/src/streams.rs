//! Streams: handles, the default streams, and putting work into them.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_int;

use standstill_cuda_driver::operation::{EventId, HostCall, OperationId, StreamId, Work};
use standstill_cuda_driver::{Status, StreamKind};
use standstill_trace::{Call, Target};

use crate::call::{Result, export, export_both, put};
use crate::graphs;
use crate::handles::{self, Kind, decode};
use crate::layout::{Pointer, StreamHandle};
use crate::runtime::runtime;

/// Which stream the null handle means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Default {
    Legacy,
    PerThread,
}

/// Handles that always mean the same (`cudaStreamLegacy`, `cudaStreamPerThread`).
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

const NON_BLOCKING: u32 = 1;

/// The priorities of streams, from least to greatest, as cards report them.
const LEAST_PRIORITY: c_int = 0;
const GREATEST_PRIORITY: c_int = -5;

/// What is known of each stream that the program made.
#[derive(Debug, std::default::Default)]
pub struct Streams {
    known: HashMap<StreamId, Known>,
    /// With whether they take the time.
    events: HashMap<EventId, bool>,
}

impl Streams {
    pub fn add_event(&mut self, id: EventId, timed: bool) {
        self.events.insert(id, timed);
    }

    pub fn is_timed(&self, id: EventId) -> bool {
        self.events.get(&id) == Some(&true)
    }

    pub fn has_event(&self, id: EventId) -> bool {
        self.events.contains_key(&id)
    }

    pub fn remove_event(&mut self, id: EventId) {
        self.events.remove(&id);
    }
}

#[derive(Debug, Clone, Copy)]
struct Known {
    flags: u32,
    priority: c_int,
}

thread_local! {
    static OWN: Cell<Option<StreamId>> = const { Cell::new(None) };
}

/// The calling thread's own default stream (CUDA C++ Programming Guide, «Default Stream»).
fn own() -> Result<StreamId> {
    if let Some(own) = OWN.get() {
        return Ok(own);
    }
    let made = runtime().machine()?.create_stream(StreamKind::PerThread);
    OWN.set(Some(made));
    Ok(made)
}

/// The stream that a handle means.
pub fn resolve(handle: StreamHandle, default: Default) -> Result<StreamId> {
    match (handle.addr(), default) {
        (0, Default::Legacy) | (LEGACY, _) => Ok(StreamId::LEGACY),
        (0, Default::PerThread) | (PER_THREAD, _) => own(),
        _ => {
            let id = StreamId(decode(Kind::Stream, handle)?);
            let known = runtime().streams.lock().known.contains_key(&id);
            if known { Ok(id) } else { Err(Status::InvalidResourceHandle) }
        }
    }
}

/// The stream that the null handle means.
pub fn default_stream(default: Default) -> Result<StreamId> {
    resolve(std::ptr::null_mut(), default)
}

/// Puts work into a stream, or into the graph that the stream is captured into; then there is no operation.
pub fn enqueue(stream: StreamId, work: Work) -> Result<Option<OperationId>> {
    match graphs::capture(stream, work)? {
        None => Ok(None),
        Some(work) => runtime().machine()?.submit(stream, work).map(Some),
    }
}

/// Puts work into a stream and waits until it is done; while the stream is captured that is an error.
pub fn enqueue_and_wait(stream: StreamId, work: Work) -> Result {
    graphs::refuse_capture(stream)?;
    runtime().machine()?.submit_and_wait(stream, work)
}

fn create(handle: *mut StreamHandle, flags: u32, priority: c_int) -> Result {
    if flags & !NON_BLOCKING != 0 {
        return Err(Status::InvalidValue);
    }
    let kind = if flags & NON_BLOCKING != 0 { StreamKind::NonBlocking } else { StreamKind::Blocking };
    let id = runtime().machine()?.create_stream(kind);
    let priority = priority.clamp(GREATEST_PRIORITY, LEAST_PRIORITY);
    runtime().streams.lock().known.insert(id, Known { flags, priority });
    // SAFETY: the program's pointer for the result.
    unsafe { put(handle, handles::encode(Kind::Stream, id.0)) }
}

fn known(stream: StreamId) -> Known {
    let known = runtime().streams.lock().known.get(&stream).copied();
    known.unwrap_or(Known { flags: 0, priority: 0 })
}

/// `void (*)(cudaStream_t, cudaError_t, void *)` with its arguments, kept until it is called.
struct Callback {
    function: extern "C" fn(StreamHandle, c_int, Pointer),
    stream: usize,
    data: usize,
}

extern "C" fn call_back(argument: usize) {
    // SAFETY: `cudaStreamAddCallback` made this box, and the call comes once.
    let callback = unsafe { Box::from_raw(argument as *mut Callback) };
    let stream = std::ptr::without_provenance_mut(callback.stream);
    (callback.function)(stream, 0, std::ptr::with_exposed_provenance_mut(callback.data));
}

/// A function of the program as a host call.
pub fn host_call(function: Pointer, data: Pointer) -> Result<HostCall> {
    if function.is_null() {
        return Err(Status::InvalidValue);
    }
    // SAFETY: the program passes a function that takes one pointer; a pointer and a `usize` are passed alike.
    let function = unsafe { std::mem::transmute::<Pointer, extern "C" fn(usize)>(function) };
    Ok(HostCall { function, argument: data.expose_provenance() })
}

export! {
    enter fn cudaStreamCreate(stream: *mut StreamHandle) { create(stream, 0, 0) }

    enter fn cudaStreamCreateWithFlags(stream: *mut StreamHandle, flags: u32) { create(stream, flags, 0) }

    enter fn cudaStreamCreateWithPriority(stream: *mut StreamHandle, flags: u32, priority: c_int) {
        create(stream, flags, priority)
    }

    enter_always fn cudaStreamDestroy(stream: StreamHandle) {
        let id = StreamId(decode(Kind::Stream, stream)?);
        let was = runtime().streams.lock().known.remove(&id);
        if was.is_none() {
            return Err(Status::InvalidResourceHandle);
        }
        runtime().machine()?.destroy_stream(id)
    }

    enter fn cudaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        // SAFETY: the program's pointers for the results; either may be null.
        unsafe {
            if !least.is_null() { put(least, LEAST_PRIORITY)?; }
            if !greatest.is_null() { put(greatest, GREATEST_PRIORITY)?; }
        }
        Ok(())
    }

    enter fn cudaCtxResetPersistingL2Cache() { Ok(()) }
}

export_both! {
    fn cudaStreamSynchronize / cudaStreamSynchronize_ptsz(stream: StreamHandle) [default] {
        let id = resolve(stream, default)?;
        graphs::refuse_capture(id)?;
        let machine = runtime().machine()?;
        machine.wait_stream(id)?;
        machine.note(|| Call::Synchronise(Target::Stream(id.0)));
        Ok(())
    }

    fn cudaStreamQuery / cudaStreamQuery_ptsz(stream: StreamHandle) [default] {
        let id = resolve(stream, default)?;
        graphs::refuse_capture(id)?;
        let machine = runtime().machine()?;
        let idle = machine.is_idle(id)?;
        let target = Target::Stream(id.0);
        machine.note(|| if idle { Call::Synchronise(target) } else { Call::NotReady(target) });
        if idle { Ok(()) } else { Err(Status::NotReady) }
    }

    fn cudaStreamGetFlags / cudaStreamGetFlags_ptsz(stream: StreamHandle, flags: *mut u32) [default] {
        let id = resolve(stream, default)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(flags, known(id).flags) }
    }

    fn cudaStreamGetPriority / cudaStreamGetPriority_ptsz(stream: StreamHandle, priority: *mut c_int) [default] {
        let id = resolve(stream, default)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(priority, known(id).priority) }
    }

    fn cudaStreamGetId / cudaStreamGetId_ptsz(stream: StreamHandle, number: *mut u64) [default] {
        let id = resolve(stream, default)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(number, id.0 + 1) }
    }

    fn cudaStreamGetDevice / cudaStreamGetDevice_ptsz(stream: StreamHandle, device: *mut c_int) [default] {
        resolve(stream, default)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(device, 0) }
    }

    fn cudaStreamCopyAttributes / cudaStreamCopyAttributes_ptsz(to: StreamHandle, from: StreamHandle) [default] {
        resolve(to, default)?;
        resolve(from, default).map(|_| ())
    }

    fn cudaStreamSetAttribute / cudaStreamSetAttribute_ptsz(
        stream: StreamHandle, _attribute: c_int, _value: Pointer,
    ) [default] {
        // Access policies and synchronisation policies steer caches and the waiting of the host's threads.
        resolve(stream, default).map(|_| ())
    }

    fn cudaLaunchHostFunc / cudaLaunchHostFunc_ptsz(
        stream: StreamHandle, function: Pointer, data: Pointer,
    ) [default] {
        enqueue(resolve(stream, default)?, Work::Host(host_call(function, data)?)).map(|_| ())
    }

    fn cudaLaunchHostFunc_v2 / cudaLaunchHostFunc_v2_ptsz(
        stream: StreamHandle, function: Pointer, data: Pointer, _mode: u32,
    ) [default] {
        enqueue(resolve(stream, default)?, Work::Host(host_call(function, data)?)).map(|_| ())
    }

    fn cudaStreamAddCallback / cudaStreamAddCallback_ptsz(
        stream: StreamHandle, function: Pointer, data: Pointer, flags: u32,
    ) [default] {
        if function.is_null() || flags != 0 {
            return Err(Status::InvalidValue);
        }
        let id = resolve(stream, default)?;
        graphs::refuse_capture(id)?;
        // SAFETY: the program passes a function of this type.
        let function =
            unsafe { std::mem::transmute::<Pointer, extern "C" fn(StreamHandle, c_int, Pointer)>(function) };
        let callback = Callback { function, stream: stream.addr(), data: data.expose_provenance() };
        let argument = Box::into_raw(Box::new(callback)).expose_provenance();
        enqueue(id, Work::Host(HostCall { function: call_back, argument })).map(|_| ())
    }

    fn cudaStreamAttachMemAsync / cudaStreamAttachMemAsync_ptsz(
        stream: StreamHandle, _pointer: Pointer, _length: usize, _flags: u32,
    ) [default] {
        enqueue(resolve(stream, default)?, Work::Order).map(|_| ())
    }
}
