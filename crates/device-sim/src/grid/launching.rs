//! From a request to a grid.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::shared::{GridParts, GridShared};
use super::{Grid, Turns};
use crate::device::Device;
use crate::launch::{LaunchError, LaunchRequest};
use crate::module::Module;
use crate::preempt::Preempt;

/// Most blocks in x, and in y and z (CUDA guide, «Technical Specifications per Compute Capability»).
const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// Most threads of a block by axis.
const MOST_THREADS: [u32; 3] = [1024, 1024, 64];
/// Most blocks of a cluster that any card allows.
const MOST_CLUSTER: u64 = 16;
/// Registers of a thread where nothing says how many there are.
const USUAL_REGISTERS: u32 = 32;
/// Bytes of the workspace of a cooperative grid.
pub(crate) const WORKSPACE: u64 = 1024;

fn volume(shape: [u32; 3]) -> u64 {
    shape.iter().fold(1u64, |volume, &extent| volume.saturating_mul(extent.into()))
}

fn check(what: &'static str, shape: [u32; 3], most: [u32; 3]) -> Result<(), LaunchError> {
    if shape.contains(&0) {
        return Err(LaunchError::InvalidShape { what, shape, why: "an extent is zero" });
    }
    if shape.iter().zip(most).any(|(&extent, most)| extent > most) {
        return Err(LaunchError::InvalidShape { what, shape, why: "an extent is beyond the card's limit" });
    }
    Ok(())
}

pub(super) fn launch(
    device: &Arc<Device>,
    module: &Arc<Module>,
    request: LaunchRequest,
) -> Result<Grid, LaunchError> {
    check("grid", request.grid, MOST_BLOCKS)?;
    check("block", request.block, MOST_THREADS)?;
    let model = device.model();
    let headers = &module.program().module().functions;
    let header = headers.get(request.kernel.0 as usize).ok_or(LaunchError::NoSuchKernel(request.kernel.0))?;
    let bounds = header.bounds;
    let threads = volume(request.block);
    let shape_error = |why| LaunchError::InvalidShape { what: "block", shape: request.block, why };
    let most = bounds.maximum_block.map_or(1024, volume).min(1024);
    if threads > most {
        return Err(shape_error("more threads than the kernel or the card allows"));
    }
    if bounds.required_block.is_some_and(|required| required != request.block) {
        return Err(shape_error("the kernel requires another shape"));
    }
    let cluster = request.cluster.or(bounds.required_cluster).unwrap_or([1; 3]);
    let explicit_cluster =
        request.cluster.is_some() || bounds.required_cluster.is_some() || bounds.explicit_cluster;
    check("cluster", cluster, MOST_BLOCKS)?;
    let cluster_blocks = volume(cluster);
    let divides = request.grid.iter().zip(cluster).all(|(&blocks, of)| blocks % of == 0);
    if cluster_blocks > MOST_CLUSTER || !divides {
        let why = "the grid is no multiple of it, or it has more than 16 blocks";
        return Err(LaunchError::InvalidShape { what: "cluster", shape: cluster, why });
    }
    let kernel = module.decoded(request.kernel)?;
    let mut parameters = request.parameters;
    if (parameters.len() as u64) < u64::from(kernel.parameter_bytes) {
        let (given, expected) = (parameters.len() as u32, kernel.parameter_bytes);
        return Err(LaunchError::Parameters { given, expected });
    }
    parameters.truncate(kernel.parameter_bytes as usize);
    let shared_bytes = u64::from(kernel.static_shared) + u64::from(request.dynamic_shared);
    let registers = request.registers.or(bounds.maximum_registers).unwrap_or(USUAL_REGISTERS);
    let per_multiprocessor = model.blocks_per_multiprocessor(threads as u32, registers, shared_bytes);
    if per_multiprocessor == 0 {
        let what =
            format!("{threads} threads of {registers} registers and {shared_bytes} bytes of shared memory");
        return Err(LaunchError::TooManyResources { what, device: model.name });
    }
    let blocks = volume(request.grid);
    let capacity = per_multiprocessor * u64::from(model.multiprocessors);
    if request.cooperative && blocks > capacity {
        return Err(LaunchError::CooperativeTooLarge { blocks, capacity, device: model.name });
    }
    if cluster_blocks > capacity {
        let what = format!("a cluster of {cluster_blocks} blocks");
        return Err(LaunchError::TooManyResources { what, device: model.name });
    }
    let workspace = match request.cooperative {
        true => device.memory().allocate(WORKSPACE).map_err(|_| LaunchError::OutOfMemory)?,
        false => 0,
    };
    let in_order = kernel.independent
        && matches!(request.schedule, crate::launch::Schedule::RoundRobin)
        && !(request.cooperative || explicit_cluster || request.stale || cluster_blocks > 1);
    let parts = GridParts {
        kernel,
        parameters,
        shape: request.grid,
        block: request.block,
        threads: threads as u32,
        cluster,
        explicit_cluster,
        dynamic_shared: request.dynamic_shared,
        workspace,
        sink: request.sink,
        strict: request.strict,
        races: request.races,
        stale: request.stale,
        preempt: Preempt::new(&request.schedule, request.seed),
        reach: request.reach,
        in_order,
        seed: request.seed,
    };
    Ok(Grid {
        shared: GridShared::new(device, module, parts),
        arch: pulp::Arch::new(),
        slots: Vec::new(),
        vacant: Vec::new(),
        idle: Vec::new(),
        ready: VecDeque::new(),
        leaders: BTreeMap::new(),
        held: Vec::new(),
        clusters: Vec::new(),
        next_block: 0,
        blocks,
        stop: blocks,
        ended: 0,
        ran_ahead: 0,
        cluster_blocks: cluster_blocks as u32,
        per_multiprocessor,
        schedule: request.schedule,
        random: request.seed ^ 0x9e37_79b9_7f4a_7c15,
        work: 0,
        at_once: request.cooperative,
        in_order,
        splits: device.workers() > 1,
        full: false,
        turns: Turns::default(),
        until_look: 0,
        jump: 1000,
        delayed: Vec::new(),
        livelock: Default::default(),
        fault: None,
    })
}
