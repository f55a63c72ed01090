//! Kernel launches: shapes, arguments and what is refused before anything runs.

use std::ffi::c_int;
use std::sync::Arc;

use standstill_cuda_driver::operation::{Launch, Work};
use standstill_cuda_driver::{Card, Kernel, Status};

use crate::call::{Result, export_both, get, launch_refused, launch_taken};
use crate::layout::{
    ATTRIBUTE_CLUSTER, ATTRIBUTE_COOPERATIVE, ConstPointer, Dim3, LaunchAttribute, LaunchConfig, Pointer,
    StreamHandle,
};
use crate::registration::Settings;
use crate::runtime::runtime;
use crate::streams::{Default, enqueue, resolve};

/// What a block may use of dynamic shared memory unless the program has asked for more.
pub const SHARED_WITHOUT_ASKING: u32 = 48 << 10;

const MOST_THREADS: u64 = 1024;
const MOST_THREADS_Z: u32 = 64;
const MOST_BLOCKS_X: u32 = i32::MAX as u32;
const MOST_BLOCKS_YZ: u32 = 65535;
const PORTABLE_CLUSTER: u64 = 8;
const LARGEST_CLUSTER: u64 = 16;

/// A launch as the program asks for it.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: Option<[u32; 3]>,
    pub dynamic_shared: usize,
    pub cooperative: bool,
}

/// Product of three extents.
pub fn volume(shape: [u32; 3]) -> u64 {
    shape.iter().fold(1u64, |product, extent| product.saturating_mul(u64::from(*extent)))
}

/// Checks a launch and gathers its arguments.
///
/// # Errors
/// As CUDA answers launches that it refuses.
///
/// # Safety
/// `arguments` points at one pointer for each parameter, each of which points at a value of its size.
pub unsafe fn prepare(function: ConstPointer, wish: &Wish, arguments: *const Pointer) -> Result<Launch> {
    let mut launch = without_arguments(function, wish)?;
    let kernel = Arc::clone(&launch.kernel);
    let parameters = &mut launch.parameters;
    if !kernel.parameters.is_empty() && arguments.is_null() {
        return Err(Status::InvalidValue);
    }
    for (index, slot) in kernel.parameters.iter().enumerate() {
        // SAFETY: one pointer for each parameter, by the caller's promise.
        let value = unsafe { get(arguments.add(index))? };
        let place = parameters.get_mut(slot.offset..slot.offset + slot.bytes).ok_or(Status::InvalidValue)?;
        if value.is_null() {
            return Err(Status::InvalidValue);
        }
        // SAFETY: the pointer is to a value of the parameter's size, by the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(value.cast::<u8>(), place.as_mut_ptr(), slot.bytes) };
    }
    Ok(launch)
}

/// Checks a launch whose arguments are still zero.
///
/// # Errors
/// As CUDA answers launches that it refuses.
pub fn without_arguments(function: ConstPointer, wish: &Wish) -> Result<Launch> {
    let (kernel, settings) = {
        let mut registrations = runtime().registrations.lock();
        let kernel = registrations.kernel(function)?;
        (kernel, *registrations.settings(function)?)
    };
    let cluster = check(&kernel, settings, wish, runtime().machine()?.card())?;
    let parameters = vec![0u8; kernel.parameter_bytes];
    Ok(Launch {
        kernel,
        grid: wish.grid,
        block: wish.block,
        cluster,
        dynamic_shared: wish.dynamic_shared as u32,
        cooperative: wish.cooperative,
        parameters,
    })
}

/// A launch that CUDA answers with an error; the user hears why.
fn refuse(kernel: &Kernel, status: Status, why: String) -> Status {
    runtime().tell(format!("the launch of {} is refused: {why}", kernel.name));
    status
}

/// What is wrong with a launch before it runs; else the shape of its clusters.
fn check(kernel: &Kernel, settings: Settings, wish: &Wish, card: &Card) -> Result<[u32; 3]> {
    let [gx, gy, gz] = wish.grid;
    let threads = volume(wish.block);
    if let Some(why) = match () {
        () if volume(wish.grid) == 0 => Some("its grid has no blocks".to_owned()),
        () if threads == 0 => Some("its blocks have no threads".to_owned()),
        () if threads > MOST_THREADS => {
            Some(format!("its blocks have {threads} threads; at most {MOST_THREADS} are possible"))
        }
        () if wish.block.last().is_some_and(|z| *z > MOST_THREADS_Z) => {
            Some(format!("its blocks have more than {MOST_THREADS_Z} threads in z"))
        }
        () if gx > MOST_BLOCKS_X || gy.max(gz) > MOST_BLOCKS_YZ => {
            Some(format!("its grid of {gx}x{gy}x{gz} blocks is larger than the card takes"))
        }
        () => None,
    } {
        return Err(refuse(kernel, Status::InvalidConfiguration, why));
    }
    let bound = kernel.bounds.required_block.or(kernel.bounds.maximum_block).map(volume);
    if let Some(bound) = bound.filter(|bound| threads > *bound) {
        let why = format!("its blocks have {threads} threads; the kernel is compiled for at most {bound}");
        return Err(refuse(kernel, Status::InvalidValue, why));
    }
    let most_dynamic = settings
        .max_dynamic_shared
        .unwrap_or(0)
        .max(SHARED_WITHOUT_ASKING.saturating_sub(kernel.static_shared as u32));
    if wish.dynamic_shared as u64 > u64::from(most_dynamic) {
        let why = format!(
            "it asks for {} bytes of dynamic shared memory and may have {most_dynamic}; \
             cudaFuncSetAttribute allows more",
            wish.dynamic_shared
        );
        return Err(refuse(kernel, Status::InvalidValue, why));
    }
    let shared = kernel.static_shared + wish.dynamic_shared as u64;
    let fits = card.blocks_per_multiprocessor(threads as u32, kernel.registers, shared);
    if fits == 0 {
        let why = format!(
            "a block of {threads} threads with {} registers each and {shared} bytes of shared memory does not fit \
             a multiprocessor of the {}",
            kernel.registers, card.device.name
        );
        return Err(refuse(kernel, Status::LaunchOutOfResources, why));
    }
    let capacity = fits * u64::from(card.device.multiprocessors);
    if wish.cooperative && volume(wish.grid) > capacity {
        let blocks = volume(wish.grid);
        let why =
            format!("{blocks} blocks are to run together, but the {} holds {capacity}", card.device.name);
        return Err(refuse(kernel, Status::CooperativeLaunchTooLarge, why));
    }
    cluster(kernel, settings, wish, card)
}

fn cluster(kernel: &Kernel, settings: Settings, wish: &Wish, card: &Card) -> Result<[u32; 3]> {
    let required = kernel.bounds.required_cluster;
    let Some(cluster) = wish.cluster.or(required) else { return Ok([1, 1, 1]) };
    let size = volume(cluster);
    let most = if settings.non_portable_cluster { LARGEST_CLUSTER } else { PORTABLE_CLUSTER };
    let divides = wish.grid.iter().zip(cluster).all(|(grid, cluster)| cluster > 0 && grid % cluster == 0);
    let agrees = required.is_none_or(|required| required == cluster);
    let possible = size == 1 || card.attribute(120) == Some(1);
    if size == 0 || size > most || !divides || !agrees || !possible {
        let [x, y, z] = cluster;
        let why = format!("clusters of {x}x{y}x{z} blocks do not fit the grid, the kernel, or the card");
        return Err(refuse(kernel, Status::InvalidClusterSize, why));
    }
    Ok(cluster)
}

fn launch(
    function: ConstPointer,
    wish: &Wish,
    arguments: *const Pointer,
    stream: StreamHandle,
    default: Default,
) -> Result {
    let stream = resolve(stream, default)?;
    // SAFETY: the program vouches for its arguments, as the CUDA Runtime API asks.
    let launched = unsafe { prepare(function, wish, arguments) }
        .and_then(|launch| enqueue(stream, Work::Launch(Arc::new(launch))).map(|_| ()));
    match launched {
        Ok(()) => launch_taken(),
        Err(status) => {
            let kernel = runtime().registrations.lock().kernel(function).map(|kernel| kernel.name.clone());
            launch_refused(kernel.unwrap_or_default(), status);
        }
    }
    launched
}

/// What a launch's attributes ask for (`cudaLaunchAttribute`); those that only steer caches and priorities are
/// left out.
///
/// # Safety
/// `config` points at a configuration whose attributes are as many as it says.
pub unsafe fn wish_of(config: *const LaunchConfig) -> Result<(Wish, StreamHandle)> {
    // SAFETY: the caller's promise.
    let config = unsafe { get(config)? };
    let mut wish = Wish {
        grid: config.grid.extents(),
        block: config.block.extents(),
        cluster: None,
        dynamic_shared: config.dynamic_shared,
        cooperative: false,
    };
    for index in 0..config.count as usize {
        // SAFETY: as many attributes as the configuration says.
        let LaunchAttribute { id, value, .. } = unsafe { get(config.attributes.add(index))? };
        let [x, y, z, ..] = value;
        match id {
            ATTRIBUTE_COOPERATIVE => wish.cooperative = x != 0,
            ATTRIBUTE_CLUSTER if x != 0 => wish.cluster = Some([x, y.max(1), z.max(1)]),
            _ => {}
        }
    }
    Ok((wish, config.stream))
}

fn plain(grid: Dim3, block: Dim3, shared: usize, cooperative: bool) -> Wish {
    Wish { grid: grid.extents(), block: block.extents(), cluster: None, dynamic_shared: shared, cooperative }
}

export_both! {
    fn cudaLaunchKernel / cudaLaunchKernel_ptsz(
        function: ConstPointer, grid: Dim3, block: Dim3, arguments: *const Pointer, shared: usize,
        stream: StreamHandle,
    ) [default] {
        launch(function, &plain(grid, block, shared, false), arguments, stream, default)
    }

    fn __cudaLaunchKernel / __cudaLaunchKernel_ptsz(
        function: ConstPointer, grid: Dim3, block: Dim3, arguments: *const Pointer, shared: usize,
        stream: StreamHandle,
    ) [default] {
        launch(function, &plain(grid, block, shared, false), arguments, stream, default)
    }

    fn cudaLaunchCooperativeKernel / cudaLaunchCooperativeKernel_ptsz(
        function: ConstPointer, grid: Dim3, block: Dim3, arguments: *const Pointer, shared: usize,
        stream: StreamHandle,
    ) [default] {
        launch(function, &plain(grid, block, shared, true), arguments, stream, default)
    }

    fn cudaLaunchKernelExC / cudaLaunchKernelExC_ptsz(
        config: *const LaunchConfig, function: ConstPointer, arguments: *const Pointer,
    ) [default] {
        // SAFETY: the program passes a whole configuration.
        let (wish, stream) = unsafe { wish_of(config)? };
        launch(function, &wish, arguments, stream, default)
    }
}

/// The number of blocks of a kernel that fit on one multiprocessor.
pub fn resident(kernel: &Kernel, threads: c_int, dynamic_shared: usize, card: &Card) -> c_int {
    let threads = u32::try_from(threads).unwrap_or(0);
    let shared = kernel.static_shared.saturating_add(dynamic_shared as u64);
    card.blocks_per_multiprocessor(threads, kernel.registers, shared) as c_int
}
