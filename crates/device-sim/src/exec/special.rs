//! Special registers, addresses of local variables, and sleeping.

use standstill_kernel_ir::Special;

use super::core::{Core, Step, lanes};
use super::memory::WIDE_ADDRESS;
use crate::address;
use crate::decode::code::{LANES, Micro, Row32};

/// Writes one value per lane to `d`, whose width is `b`.
pub(super) fn spread(core: &mut Core<'_>, op: &Micro, value: impl Fn(usize) -> u64) -> Step {
    let active = core.active;
    if active == u32::MAX {
        if op.b == WIDE_ADDRESS {
            *core.wide_mut(op.d) = std::array::from_fn(value);
        } else {
            *core.narrow_mut(op.d) = std::array::from_fn(|lane| value(lane) as u32);
        }
        return Step::Next;
    }
    let on = |lane: usize| active >> lane & 1 != 0;
    if op.b == WIDE_ADDRESS {
        let row = core.wide_mut(op.d);
        for lane in 0..LANES {
            row[lane] = if on(lane) { value(lane) } else { row[lane] };
        }
    } else {
        let row = core.narrow_mut(op.d);
        for lane in 0..LANES {
            row[lane] = if on(lane) { value(lane) as u32 } else { row[lane] };
        }
    }
    Step::Next
}

/// The same value for all lanes.
pub(super) fn fill(core: &mut Core<'_>, op: &Micro, value: u64) -> Step {
    if core.all_active() {
        if op.b == WIDE_ADDRESS {
            *core.wide_mut(op.d) = [value; LANES];
        } else {
            *core.narrow_mut(op.d) = [value as u32; LANES];
        }
        return Step::Next;
    }
    spread(core, op, |_| value)
}

/// The index of each lane's thread in one direction, by the index of the first lane among all threads.
fn thread_index(first: u32, extents: [u32; 3], axis: u8) -> Row32 {
    let [x, y, z] = extents.map(|extent| extent.max(1));
    if axis == 0 && y == 1 && z == 1 {
        return std::array::from_fn(|lane| first + lane as u32);
    }
    let mut at = [first % x, first / x % y, first / x / y];
    if at[0] + LANES as u32 <= x {
        return std::array::from_fn(|lane| {
            if axis == 0 { at[0] + lane as u32 } else { at[usize::from(axis.min(2))] }
        });
    }
    std::array::from_fn(|_| {
        let here = at[usize::from(axis.min(2))];
        at[0] += 1;
        if at[0] == x {
            (at[0], at[1]) = (0, at[1] + 1);
        }
        if at[1] == y {
            (at[1], at[2]) = (0, at[2] + 1);
        }
        here
    })
}

/// `d ← special register x`.
pub(crate) fn read(core: &mut Core<'_>, op: &Micro) -> Step {
    let Some(&register) = core.code.specials.get(op.x as usize) else { return Step::Next };
    let axis = |shape: [u32; 3], axis: u8| u64::from(shape.get(usize::from(axis)).copied().unwrap_or(0));
    let (grid, block, cluster) = (core.grid.shape, core.grid.block, core.grid.cluster);
    let place = core.place;
    let within = |axis: usize| place.block_index[axis] % cluster[axis].max(1);
    let lower = |lane: usize| (1u64 << lane) - 1;
    let own = |lane: usize| 1u64 << lane;
    let all = u64::from(u32::MAX);
    if matches!(register, Special::Clock | Special::Clock64 | Special::GlobalTimer) {
        core.spy.timed = true;
    }
    let clock = core.clock();
    match register {
        Special::Tid(of) => {
            let indices = thread_index(place.first_thread, block, of);
            spread(core, op, |lane| indices[lane].into())
        }
        Special::Ntid(of) => fill(core, op, axis(block, of)),
        Special::Ctaid(of) => fill(core, op, axis(place.block_index, of)),
        Special::Nctaid(of) => fill(core, op, axis(grid, of)),
        Special::LaneId => spread(core, op, |lane| lane as u64),
        Special::WarpId => fill(core, op, place.warp.into()),
        Special::NwarpId => {
            let warps = core.grid.threads.div_ceil(LANES as u32);
            fill(core, op, warps.into())
        }
        Special::WarpSize => fill(core, op, LANES as u64),
        Special::GridId => {
            let number = core.grid.number;
            fill(core, op, number)
        }
        Special::SmId => fill(core, op, place.multiprocessor.into()),
        Special::NsmId => {
            let count = core.grid.device.model().multiprocessors;
            fill(core, op, count.into())
        }
        Special::ClusterId(of) => {
            let of = usize::from(of.min(2));
            fill(core, op, (place.block_index[of] / cluster[of].max(1)).into())
        }
        Special::NclusterId(of) => {
            let of = usize::from(of.min(2));
            fill(core, op, (grid[of] / cluster[of].max(1)).into())
        }
        Special::ClusterCtaid(of) => {
            let of = usize::from(of.min(2));
            fill(core, op, within(of).into())
        }
        Special::ClusterNctaid(of) => fill(core, op, axis(cluster, of)),
        Special::ClusterCtarank => fill(core, op, place.cluster_rank.into()),
        Special::ClusterNctarank => fill(core, op, cluster.iter().map(|&extent| u64::from(extent)).product()),
        Special::IsExplicitCluster => {
            let explicit = core.grid.explicit_cluster;
            fill(core, op, explicit.into())
        }
        Special::LaneMaskEq => spread(core, op, own),
        Special::LaneMaskLt => spread(core, op, lower),
        Special::LaneMaskLe => spread(core, op, |lane| lower(lane) | own(lane)),
        Special::LaneMaskGe => spread(core, op, |lane| all & !lower(lane)),
        Special::LaneMaskGt => spread(core, op, |lane| all & !(lower(lane) | own(lane))),
        Special::Clock | Special::Clock64 => fill(core, op, clock),
        Special::GlobalTimer => fill(core, op, clock),
        Special::DynamicSharedSize => {
            let bytes = core.grid.dynamic_shared;
            fill(core, op, bytes.into())
        }
        Special::TotalSharedSize | Special::AggregateSharedSize => {
            let bytes = core.block.shared.len();
            fill(core, op, bytes as u64)
        }
        Special::Environment(1) => {
            let workspace = core.grid.workspace;
            fill(core, op, workspace >> 32)
        }
        Special::Environment(2) => {
            let workspace = core.grid.workspace;
            fill(core, op, workspace & all)
        }
        Special::CurrentGraphExec | Special::Environment(_) | Special::Other => fill(core, op, 0),
    }
}

/// `d ← address of the byte x of the frame's local memory`.
pub(crate) fn local_address(core: &mut Core<'_>, op: &Micro) -> Step {
    let at = address::LOCAL.wrapping_add(core.local_base.wrapping_add(op.x).into());
    fill(core, op, at)
}

/// `d ← a + b` in 64 bits.
pub(crate) fn add_wide(core: &mut Core<'_>, op: &Micro) -> Step {
    let (a, b) = (*core.wide(op.a), *core.wide(op.b));
    for lane in lanes(core.active) {
        core.wide_mut(op.d)[lane] = a[lane].wrapping_add(b[lane]);
    }
    Step::Next
}

/// `d ← a + b` in 32 bits.
pub(crate) fn add_narrow(core: &mut Core<'_>, op: &Micro) -> Step {
    let (a, b) = (*core.narrow(op.a), *core.narrow(op.b));
    for lane in lanes(core.active) {
        core.narrow_mut(op.d)[lane] = a[lane].wrapping_add(b[lane]);
    }
    Step::Next
}

/// `nanosleep`: the others get their turn, and time passes.
pub(crate) fn sleep(core: &mut Core<'_>, op: &Micro) -> Step {
    let whole = core.code.operations.get(op.x as usize);
    let place = whole.map_or(crate::decode::code::Place::NONE, |whole| whole.source(0));
    let longest = lanes(core.active).map(|lane| core.read(place, lane)).max().unwrap_or(0);
    core.ticks += longest.min(1 << 20);
    Step::Sleep
}
