//! Allocation in all its forms. A free is written down before the driver can give the memory to another thread.

use std::ffi::{c_char, c_int, c_void};

use standstill_trace::{Allocation, Call, Memory, Work};

use super::{wrap, wrap_both};
use crate::graphs::captured;
use crate::layout::Handle;
use crate::recorder::{State, with};
use crate::streams::Default;

/// Memory was allocated whose address the driver has written somewhere.
unsafe fn allocated(status: c_int, place: *const u64, bytes: u64, kind: Allocation) -> c_int {
    if status == 0 {
        // SAFETY: the driver has written the address there.
        is_there(unsafe { place.read() }, bytes, kind);
    }
    status
}

fn is_there(address: u64, bytes: u64, kind: Allocation) {
    let memory = match kind {
        Allocation::Device | Allocation::Pool => Memory::Device,
        Allocation::Pinned | Allocation::Registered => Memory::Pinned,
        Allocation::Managed => Memory::Managed,
    };
    with(|State { trace, memory: ranges, numbers, .. }| {
        trace.note(Call::Allocate { address, bytes, kind });
        let context = numbers.contexts.current();
        if context > 0 {
            trace.note(Call::MemoryInContext { address, context });
        }
        ranges.add(address, bytes, memory);
    });
}

fn is_gone(address: u64) {
    if address != 0 {
        with(|State { trace, memory, .. }| {
            trace.note(Call::Free { address });
            memory.remove(address);
        });
    }
}

unsafe fn allocated_in_order(
    status: c_int,
    place: *const u64,
    bytes: usize,
    stream: Handle,
    default: Default,
) -> c_int {
    // SAFETY: the stream that the driver has taken, and the address that it has written.
    if let Some(address) = (status == 0).then(|| unsafe { place.read() }) {
        let bytes = bytes as u64;
        // SAFETY: as above.
        let captured = unsafe { captured(stream, default) };
        with(|state| {
            state.memory.add(address, bytes, Memory::Device);
            if !captured {
                state.submit(stream, default, Work::Allocate { address, bytes });
            }
        });
    }
    status
}

/// A variable of a module is memory, too.
unsafe fn found(status: c_int, address: *const u64, bytes: *const usize) -> c_int {
    if status == 0 && !address.is_null() && !bytes.is_null() {
        // SAFETY: the driver has written both.
        let (address, bytes) = unsafe { (address.read(), bytes.read()) };
        with(|State { trace, memory, .. }| {
            if memory.find(address).is_none() {
                memory.add(address, bytes as u64, Memory::Device);
                trace.note(Call::Allocate { address, bytes: bytes as u64, kind: Allocation::Device });
            }
        });
    }
    status
}

wrap! {
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) |call| {
        // SAFETY: the program's place for the result.
        unsafe { allocated(call(), address, bytes as u64, Allocation::Device) }
    }

    fn cuMemAllocPitch_v2(
        address: *mut u64, pitch: *mut usize, _width: usize, height: usize, _element: u32,
    ) |call| {
        let status = call();
        // SAFETY: the driver has written the pitch there.
        let bytes = if status == 0 { unsafe { pitch.read() }.saturating_mul(height) } else { 0 };
        // SAFETY: as above.
        unsafe { allocated(status, address, bytes as u64, Allocation::Device) }
    }

    fn cuMemAllocManaged(address: *mut u64, bytes: usize, _flags: u32) |call| {
        // SAFETY: as above.
        unsafe { allocated(call(), address, bytes as u64, Allocation::Managed) }
    }

    fn cuMemFree_v2(address: u64) |call| {
        is_gone(address);
        call()
    }

    fn cuMemAllocHost_v2(address: *mut u64, bytes: usize) |call| {
        // SAFETY: as above.
        unsafe { allocated(call(), address, bytes as u64, Allocation::Pinned) }
    }

    fn cuMemHostAlloc(address: *mut u64, bytes: usize, _flags: u32) |call| {
        // SAFETY: as above.
        unsafe { allocated(call(), address, bytes as u64, Allocation::Pinned) }
    }

    fn cuMemFreeHost(address: *mut c_void) |call| {
        is_gone(address.addr() as u64);
        call()
    }

    fn cuMemHostRegister_v2(address: *mut c_void, bytes: usize, _flags: u32) |call| {
        let status = call();
        if status == 0 {
            is_there(address.addr() as u64, bytes as u64, Allocation::Registered);
        }
        status
    }

    fn cuMemHostUnregister(address: *mut c_void) |call| {
        is_gone(address.addr() as u64);
        call()
    }

    fn cuMemMap(address: u64, bytes: usize, _offset: usize, _memory: u64, _flags: u64) |call| {
        let status = call();
        if status == 0 {
            is_there(address, bytes as u64, Allocation::Device);
        }
        status
    }

    fn cuModuleGetGlobal_v2(
        address: *mut u64, bytes: *mut usize, _module: Handle, _name: *const c_char,
    ) |call| {
        // SAFETY: the program's places for the results.
        unsafe { found(call(), address, bytes) }
    }

    fn cuLibraryGetGlobal(
        address: *mut u64, bytes: *mut usize, _library: Handle, _name: *const c_char,
    ) |call| {
        // SAFETY: as above.
        unsafe { found(call(), address, bytes) }
    }
}

wrap_both! {
    fn cuMemAllocAsync / cuMemAllocAsync_ptsz(
        address: *mut u64, bytes: usize, stream: Handle,
    ) [default] |call| {
        // SAFETY: the program's place for the result.
        unsafe { allocated_in_order(call(), address, bytes, stream, default) }
    }

    fn cuMemAllocFromPoolAsync / cuMemAllocFromPoolAsync_ptsz(
        address: *mut u64, bytes: usize, _pool: Handle, stream: Handle,
    ) [default] |call| {
        // SAFETY: as above.
        unsafe { allocated_in_order(call(), address, bytes, stream, default) }
    }

    fn cuMemFreeAsync / cuMemFreeAsync_ptsz(address: u64, stream: Handle) [default] |call| {
        // SAFETY: the driver refuses a stream that is none.
        if unsafe { captured(stream, default) } {
            let status = call();
            // SAFETY: as above. The node is there now.
            unsafe { captured(stream, default) };
            return status;
        }
        with(|state| {
            state.memory.remove(address);
            state.submit(stream, default, Work::Free { address });
        });
        call()
    }
}
