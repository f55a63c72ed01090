//! Events.

use std::ffi::c_int;

use standstill_trace::{Call, Target};

use super::streams::synchronised;
use super::{wrap, wrap_both};
use crate::graphs::captured;
use crate::layout::Handle;
use crate::recorder::{State, with};
use crate::streams::Default;

fn event_done(status: c_int, event: Handle) -> c_int {
    synchronised(status, |state| Some(Target::Event(state.numbers.event(event)?.number)))
}

/// What stands in a stream for an event: its record, or a wait for it.
unsafe fn placed(status: c_int, event: Handle, stream: Handle, default: Default, record: bool) -> c_int {
    // SAFETY: the stream that the driver has just taken. One that waits for an event of a captured stream is captured
    // from now on.
    if status == 0 && !unsafe { captured(stream, default) } {
        with(|State { trace, numbers, .. }| {
            let stream = numbers.stream(trace, stream, default);
            let Some(event) = numbers.event(event) else { return };
            let operation = trace.next_operation();
            if record {
                event.record = Some(operation);
            }
            let event = event.number;
            trace.note(match record {
                true => Call::RecordEvent { operation, stream, event },
                false => Call::WaitEvent { operation, stream, event },
            });
        });
    }
    status
}

wrap! {
    fn cuEventSynchronize(event: Handle) |call| {
        event_done(call(), event)
    }

    fn cuEventQuery(event: Handle) |call| {
        event_done(call(), event)
    }

    fn cuEventElapsedTime(_milliseconds: *mut f32, begin: Handle, end: Handle) |call| {
        let status = call();
        event_done(status, begin);
        event_done(status, end)
    }

    fn cuEventDestroy_v2(event: Handle) |call| {
        // Before the driver can give the handle to another thread.
        with(|State { trace, numbers, .. }| numbers.destroy_event(trace, event));
        call()
    }

    fn cuIpcOpenEventHandle(event: *mut Handle, _handle: IpcHandle) |call| {
        let status = call();
        if status == 0 {
            // SAFETY: the driver has written the event there.
            let event = unsafe { event.read() };
            with(|state| state.numbers.open_event(event));
        }
        status
    }
}

/// `CUipcEventHandle`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct IpcHandle([u8; 64]);

wrap_both! {
    fn cuEventRecord / cuEventRecord_ptsz(event: Handle, stream: Handle) [default] |call| {
        // SAFETY: the stream that the driver has taken.
        unsafe { placed(call(), event, stream, default, true) }
    }

    fn cuEventRecordWithFlags / cuEventRecordWithFlags_ptsz(
        event: Handle, stream: Handle, _flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { placed(call(), event, stream, default, true) }
    }

    fn cuStreamWaitEvent / cuStreamWaitEvent_ptsz(
        stream: Handle, event: Handle, _flags: u32,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { placed(call(), event, stream, default, false) }
    }
}
