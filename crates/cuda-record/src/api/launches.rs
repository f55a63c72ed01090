//! Launches of kernels.

use std::ffi::{c_int, c_void};

use super::wrap_both;
use crate::graphs::captured;
use crate::kernels::{Asked, meet};
use crate::layout::{CLUSTER, COOPERATIVE, Handle, LaunchConfig};
use crate::recorder::{Again, with};
use crate::streams::Default;
use crate::thread::{Thread, here};

const NO_CLUSTERS: [u32; 3] = [1, 1, 1];

/// A kernel was launched.
#[inline(always)]
unsafe fn launched(status: c_int, asked: &Asked, stream: Handle, default: Default) -> c_int {
    if status == 0 {
        // SAFETY: what the driver has just taken.
        unsafe { note(asked, stream, default) };
    }
    status
}

/// Writes a launch down.
#[inline(never)]
unsafe fn note(asked: &Asked, stream: Handle, default: Default) {
    // SAFETY: the stream, the kernel and the parameters that the driver has just taken.
    unsafe {
        if captured(stream, default) {
            return;
        }
        let (thread, mut again) = (here(), Again::Done);
        with(|state| {
            again = state.launch_again(thread, asked, stream, default);
            if let Again::New(hash, from) = again {
                state.launch(thread, asked, stream, default, Some((hash, from)));
            }
        });
        if matches!(again, Again::Unknown) {
            note_first(thread, asked, stream, default);
        }
    }
}

/// Writes a launch down as none was made before.
#[cold]
unsafe fn note_first(thread: &Thread, asked: &Asked, stream: Handle, default: Default) {
    // SAFETY: the stream, the kernel and the parameters that the driver has just taken.
    unsafe {
        meet(asked.function);
        with(|state| state.launch(thread, asked, stream, default, None));
    }
}

/// What the attributes of a launch say of its shape.
unsafe fn with_attributes(config: &LaunchConfig, asked: &mut Asked) {
    for index in 0..config.count as usize {
        // SAFETY: the driver has read as many.
        let attribute = unsafe { &*config.attributes.add(index) };
        match (attribute.id, attribute.value) {
            (COOPERATIVE, [set, ..]) => asked.cooperative = set != 0,
            (CLUSTER, [x, y, z, ..]) => asked.cluster = [x, y, z],
            _ => {}
        }
    }
}

wrap_both! {
    fn cuLaunchKernel / cuLaunchKernel_ptsz(
        function: Handle, x: u32, y: u32, z: u32, threads_x: u32, threads_y: u32, threads_z: u32,
        dynamic_shared: u32, stream: Handle, parameters: *const *const c_void, extra: *const *const c_void,
    ) [default] |call| {
        let (grid, block) = ([x, y, z], [threads_x, threads_y, threads_z]);
        let (cluster, cooperative) = (NO_CLUSTERS, false);
        let asked = Asked { function, grid, block, cluster, dynamic_shared, cooperative, parameters, extra };
        // SAFETY: what the driver has taken.
        unsafe { launched(call(), &asked, stream, default) }
    }

    fn cuLaunchCooperativeKernel / cuLaunchCooperativeKernel_ptsz(
        function: Handle, x: u32, y: u32, z: u32, threads_x: u32, threads_y: u32, threads_z: u32,
        dynamic_shared: u32, stream: Handle, parameters: *const *const c_void,
    ) [default] |call| {
        let (grid, block) = ([x, y, z], [threads_x, threads_y, threads_z]);
        let (cluster, cooperative, extra) = (NO_CLUSTERS, true, std::ptr::null());
        let asked = Asked { function, grid, block, cluster, dynamic_shared, cooperative, parameters, extra };
        // SAFETY: as above.
        unsafe { launched(call(), &asked, stream, default) }
    }

    fn cuLaunchKernelEx / cuLaunchKernelEx_ptsz(
        config: *const LaunchConfig, function: Handle, parameters: *const *const c_void,
        extra: *const *const c_void,
    ) [default] |call| {
        let status = call();
        if status != 0 {
            return status;
        }
        // SAFETY: the driver has taken it.
        let config = unsafe { &*config };
        let LaunchConfig { grid, block, dynamic_shared, stream, .. } = *config;
        let (cluster, cooperative) = (NO_CLUSTERS, false);
        let mut asked = Asked { function, grid, block, cluster, dynamic_shared, cooperative, parameters, extra };
        // SAFETY: as above.
        unsafe {
            with_attributes(config, &mut asked);
            launched(status, &asked, stream, default)
        }
    }
}
