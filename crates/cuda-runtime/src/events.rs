//! Events.

use standstill_cuda_driver::Status;
use standstill_cuda_driver::operation::{EventId, Work};
use standstill_trace::{Call, Target};

use crate::call::{Result, export, export_both, put};
use crate::graphs;
use crate::handles::{Kind, decode, encode};
use crate::layout::{EventHandle, StreamHandle};
use crate::runtime::runtime;
use crate::streams::{enqueue, resolve};

const DISABLE_TIMING: u32 = 2;
const KNOWN_FLAGS: u32 = 7;

/// Times of events are given in milliseconds.
const MILLISECONDS: f64 = 1e3;

/// The event behind a handle.
pub fn event(handle: EventHandle) -> Result<EventId> {
    let id = EventId(decode(Kind::Event, handle)?);
    let known = runtime().streams.lock().has_event(id);
    if known { Ok(id) } else { Err(Status::InvalidResourceHandle) }
}

fn create(handle: *mut EventHandle, flags: u32) -> Result {
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Status::InvalidValue);
    }
    let id = runtime().machine()?.create_event();
    runtime().streams.lock().add_event(id, flags & DISABLE_TIMING == 0);
    // SAFETY: the program's pointer for the result.
    unsafe { put(handle, encode(Kind::Event, id.0)) }
}

export! {
    enter fn cudaEventCreate(handle: *mut EventHandle) { create(handle, 0) }

    enter fn cudaEventCreateWithFlags(handle: *mut EventHandle, flags: u32) { create(handle, flags) }

    enter_always fn cudaEventDestroy(handle: EventHandle) {
        let id = event(handle)?;
        runtime().streams.lock().remove_event(id);
        runtime().machine()?.destroy_event(id);
        Ok(())
    }

    enter fn cudaEventQuery(handle: EventHandle) {
        let id = event(handle)?;
        graphs::refuse_captured_event(id)?;
        let machine = runtime().machine()?;
        let pending = machine.pending_record(id).is_some();
        let target = Target::Event(id.0);
        machine.note(|| if pending { Call::NotReady(target) } else { Call::Synchronise(target) });
        if pending { Err(Status::NotReady) } else { Ok(()) }
    }

    enter fn cudaEventSynchronize(handle: EventHandle) {
        let id = event(handle)?;
        graphs::refuse_captured_event(id)?;
        let machine = runtime().machine()?;
        // An event that was never recorded is passed at once.
        machine.pending_record(id).map_or(Ok(()), |record| machine.wait(record))?;
        machine.note(|| Call::Synchronise(Target::Event(id.0)));
        Ok(())
    }

    enter fn cudaEventElapsedTime(milliseconds: *mut f32, start: EventHandle, end: EventHandle) {
        elapsed(milliseconds, start, end)
    }

    enter fn cudaEventElapsedTime_v2(milliseconds: *mut f32, start: EventHandle, end: EventHandle) {
        elapsed(milliseconds, start, end)
    }
}

fn elapsed(milliseconds: *mut f32, start: EventHandle, end: EventHandle) -> Result {
    let (start, end) = (event(start)?, event(end)?);
    let machine = runtime().machine()?;
    let usable = |id: EventId| runtime().streams.lock().is_timed(id) && machine.was_recorded(id);
    if !usable(start) || !usable(end) {
        return Err(Status::InvalidResourceHandle);
    }
    if machine.pending_record(start).is_some() || machine.pending_record(end).is_some() {
        return Err(Status::NotReady);
    }
    let (Some(from), Some(to)) = (machine.time_of(start), machine.time_of(end)) else {
        return Err(Status::NotReady);
    };
    // That both have times says that both are reached.
    for event in [start, end] {
        machine.note(|| Call::Synchronise(Target::Event(event.0)));
    }
    let seconds = match to.checked_duration_since(from) {
        Some(ahead) => ahead.as_secs_f64(),
        None => -from.duration_since(to).as_secs_f64(),
    };
    // SAFETY: the program's pointer for the result.
    unsafe { put(milliseconds, (seconds * MILLISECONDS) as f32) }
}

fn record(handle: EventHandle, stream: StreamHandle, default: crate::streams::Default) -> Result {
    let id = event(handle)?;
    let stream = resolve(stream, default)?;
    if graphs::record_captured(stream, id)? {
        return Ok(());
    }
    enqueue(stream, Work::Record(id)).map(|_| ())
}

export_both! {
    fn cudaEventRecord / cudaEventRecord_ptsz(handle: EventHandle, stream: StreamHandle) [default] {
        record(handle, stream, default)
    }

    fn cudaEventRecordWithFlags / cudaEventRecordWithFlags_ptsz(
        handle: EventHandle, stream: StreamHandle, _flags: u32,
    ) [default] {
        record(handle, stream, default)
    }

    fn cudaStreamWaitEvent / cudaStreamWaitEvent_ptsz(
        stream: StreamHandle, handle: EventHandle, _flags: u32,
    ) [default] {
        let id = event(handle)?;
        let stream = resolve(stream, default)?;
        if graphs::wait_captured(stream, id)? {
            return Ok(());
        }
        runtime().machine()?.wait_event(stream, id).map(|_| ())
    }
}
