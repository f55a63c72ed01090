//! What a program can ask about kernels: attributes and occupancy.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int};
use std::sync::{Arc, Mutex, PoisonError};

use standstill_cuda_driver::{Kernel, Status};

use crate::call::{Result, export, put};
use crate::launches::{SHARED_WITHOUT_ASKING, resident, volume, wish_of};
use crate::layout::{ConstPointer, FuncAttributes, LaunchConfig};
use crate::registration::Settings;
use crate::runtime::runtime;

const MAX_DYNAMIC_SHARED: c_int = 8;
const PREFERRED_CARVEOUT: c_int = 9;
const NON_PORTABLE_CLUSTER: c_int = 14;
const LAST_ATTRIBUTE: c_int = 16;

fn kernel(function: ConstPointer) -> Result<(Arc<Kernel>, Settings)> {
    let mut registrations = runtime().registrations.lock();
    let kernel = registrations.kernel(function)?;
    let settings = *registrations.settings(function)?;
    Ok((kernel, settings))
}

export! {
    enter fn cudaFuncGetAttributes(attributes: *mut FuncAttributes, function: ConstPointer) {
        let (kernel, settings) = kernel(function)?;
        let card = runtime().machine()?.card();
        let threads = kernel.bounds.required_block.or(kernel.bounds.maximum_block).map_or(1024, volume);
        let by_registers = (1..=32u32).rev().map(|warps| warps * 32).find(|threads| {
            card.blocks_per_multiprocessor(*threads, kernel.registers, kernel.static_shared) > 0
        });
        let cluster = kernel.bounds.required_cluster;
        let found = FuncAttributes {
            shared_size: kernel.static_shared as usize,
            const_size: 0,
            local_size: kernel.local as usize,
            max_threads_per_block: threads.min(u64::from(by_registers.unwrap_or(0))) as c_int,
            registers: kernel.registers as c_int,
            ptx_version: card.capability as c_int,
            binary_version: card.capability as c_int,
            cache_mode_ca: 0,
            max_dynamic_shared: settings
                .max_dynamic_shared
                .unwrap_or(SHARED_WITHOUT_ASKING.saturating_sub(kernel.static_shared as u32)) as c_int,
            preferred_carveout: settings.carveout.unwrap_or(-1),
            cluster_dim_must_be_set: c_int::from(kernel.bounds.explicit_cluster && cluster.is_none()),
            required_cluster: cluster.map_or([0; 3], |cluster| cluster.map(|extent| extent as c_int)),
            cluster_policy: 0,
            non_portable_cluster: c_int::from(settings.non_portable_cluster),
        };
        // SAFETY: the program's pointer for the result.
        unsafe { put(attributes, found) }
    }

    enter fn cudaFuncSetAttribute(function: ConstPointer, attribute: c_int, value: c_int) {
        let (kernel, _) = kernel(function)?;
        let optin = runtime().machine()?.card().shared_optin;
        let mut registrations = runtime().registrations.lock();
        let settings = registrations.settings(function)?;
        match attribute {
            MAX_DYNAMIC_SHARED => {
                let value = u32::try_from(value).map_err(|_| Status::InvalidValue)?;
                if u64::from(value) + kernel.static_shared > u64::from(optin) {
                    return Err(Status::InvalidValue);
                }
                settings.max_dynamic_shared = Some(value);
            }
            PREFERRED_CARVEOUT => {
                if !(-1..=100).contains(&value) {
                    return Err(Status::InvalidValue);
                }
                settings.carveout = Some(value);
            }
            NON_PORTABLE_CLUSTER => settings.non_portable_cluster = value != 0,
            _ if (MAX_DYNAMIC_SHARED..=LAST_ATTRIBUTE).contains(&attribute) => {}
            _ => return Err(Status::InvalidValue),
        }
        Ok(())
    }

    enter fn cudaKernelSetAttributeForDevice(
        function: ConstPointer, attribute: c_int, value: c_int, _device: c_int,
    ) {
        // SAFETY: handed on as it came.
        match unsafe { cudaFuncSetAttribute(function, attribute, value) } {
            0 => Ok(()),
            _ => Err(Status::InvalidValue),
        }
    }

    enter fn cudaFuncSetCacheConfig(function: ConstPointer, _config: c_int) {
        kernel(function).map(|_| ())
    }

    enter fn cudaFuncSetSharedMemConfig(function: ConstPointer, _config: c_int) {
        kernel(function).map(|_| ())
    }

    enter fn cudaFuncGetName(name: *mut *const c_char, function: ConstPointer) {
        let (kernel, _) = kernel(function)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(name, kept_name(&kernel.name)?) }
    }

    enter fn cudaFuncGetParamCount(function: ConstPointer, count: *mut usize) {
        let (kernel, _) = kernel(function)?;
        // SAFETY: the program's pointer for the result.
        unsafe { put(count, kernel.parameters.len()) }
    }

    enter fn cudaFuncGetParamInfo(
        function: ConstPointer, index: usize, offset: *mut usize, size: *mut usize,
    ) {
        let (kernel, _) = kernel(function)?;
        let slot = kernel.parameters.get(index).ok_or(Status::InvalidValue)?;
        // SAFETY: the program's pointers for the results; the size's may be null.
        unsafe {
            put(offset, slot.offset)?;
            if size.is_null() { Ok(()) } else { put(size, slot.bytes) }
        }
    }

    enter fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: ConstPointer, threads: c_int, dynamic_shared: usize,
    ) {
        occupancy(blocks, function, threads, dynamic_shared)
    }

    enter fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int, function: ConstPointer, threads: c_int, dynamic_shared: usize, _flags: u32,
    ) {
        occupancy(blocks, function, threads, dynamic_shared)
    }

    enter fn cudaOccupancyAvailableDynamicSMemPerBlock(
        bytes: *mut usize, function: ConstPointer, blocks: c_int, threads: c_int,
    ) {
        let (kernel, _) = kernel(function)?;
        let card = runtime().machine()?.card();
        if blocks < 1 || threads < 1 {
            return Err(Status::InvalidValue);
        }
        let fits = |shared: u64| {
            card.blocks_per_multiprocessor(threads as u32, kernel.registers, shared) >= blocks as u64
        };
        if !fits(kernel.static_shared) {
            return Err(Status::InvalidValue);
        }
        // The most that still lets so many blocks in, found by halving: fewer blocks fit as it grows.
        let (mut most, mut step) = (kernel.static_shared, u64::from(card.shared_optin));
        while step > 0 {
            if most + step <= u64::from(card.shared_optin) && fits(most + step) {
                most += step;
            } else {
                step /= 2;
            }
        }
        // SAFETY: the program's pointer for the result.
        unsafe { put(bytes, (most - kernel.static_shared) as usize) }
    }

    enter fn cudaOccupancyMaxPotentialClusterSize(
        size: *mut c_int, function: ConstPointer, _config: *const LaunchConfig,
    ) {
        let (_, settings) = kernel(function)?;
        let most = match (runtime().machine()?.card().attribute(120), settings.non_portable_cluster) {
            (Some(1), true) => 16,
            (Some(1), false) => 8,
            _ => 1,
        };
        // SAFETY: the program's pointer for the result.
        unsafe { put(size, most) }
    }

    enter fn cudaOccupancyMaxActiveClusters(
        count: *mut c_int, function: ConstPointer, config: *const LaunchConfig,
    ) {
        let (kernel, _) = kernel(function)?;
        let card = runtime().machine()?.card();
        // SAFETY: the program passes a whole configuration.
        let (wish, _) = unsafe { wish_of(config)? };
        let cluster = wish.cluster.or(kernel.bounds.required_cluster).map_or(1, volume).max(1);
        let threads = volume(wish.block) as c_int;
        let blocks = u64::from(resident(&kernel, threads, wish.dynamic_shared, card) as u32)
            * u64::from(card.device.multiprocessors);
        // SAFETY: the program's pointer for the result.
        unsafe { put(count, (blocks / cluster) as c_int) }
    }
}

fn occupancy(blocks: *mut c_int, function: ConstPointer, threads: c_int, dynamic_shared: usize) -> Result {
    if threads < 1 {
        return Err(Status::InvalidValue);
    }
    let (kernel, _) = kernel(function)?;
    let card = runtime().machine()?.card();
    // SAFETY: the program's pointer for the result.
    unsafe { put(blocks, resident(&kernel, threads, dynamic_shared, card)) }
}

/// A kernel's name as a C string that stays.
fn kept_name(name: &str) -> Result<*const c_char> {
    static NAMES: Mutex<Option<HashMap<String, &'static std::ffi::CStr>>> = Mutex::new(None);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(kept) = names.get(name) {
        return Ok(kept.as_ptr());
    }
    let made = CString::new(name).map_err(|_| Status::InvalidValue)?;
    let kept: &'static std::ffi::CStr = Box::leak(made.into_boxed_c_str());
    names.insert(name.to_owned(), kept);
    Ok(kept.as_ptr())
}
