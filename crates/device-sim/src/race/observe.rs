//! What an operation of a warp means for order and races.

use standstill_kernel_ir::{Access, FenceKind, MbarrierOperation, Op, Order, Scope, Space};

use super::plan::{Plan, What};
use super::shadow::Mark;
use super::sync::acquires;
use super::{Actor, Memory, Race};
use crate::address::{self, Window};
use crate::decode::code::{LANES, Micro, Origin};
use crate::exec::core::{Core, Step, lanes};
use crate::exec::memory::{addresses, element_bytes};

/// What was worked out before an operation ran, for after it.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) addresses: [u64; LANES],
    pub(super) arguments: [u64; LANES],
}

impl Default for Saved {
    fn default() -> Saved {
        Saved { addresses: [0; LANES], arguments: [0; LANES] }
    }
}

/// The instruction at a position.
fn instruction(core: &Core<'_>, position: usize) -> Option<Op> {
    match core.code.origins.get(position)? {
        Origin::Instruction(id) => Some(core.code.function.instructions.get(id.0 as usize)?.op),
        Origin::Terminator(_) => None,
    }
}

/// Sees an operation before it is executed. True when others should get their turn behind it: faults of memory
/// order need somebody who comes in between, and turns otherwise end only where loops go round.
#[inline]
pub(crate) fn before(core: &mut Core<'_>, op: &Micro, position: usize) -> bool {
    let Some(mut race) = core.grid.race.take() else { return false };
    if race.stale.is_some()
        && let Some(what) = instruction(core, position)
    {
        race.stale_before(core, op, what);
    }
    let plan = race.plan(core, position);
    race.fresh.clear();
    match plan.what {
        What::Nothing => {}
        // Compiled for the vector instructions of newer processors as well.
        What::Load => core.arch.dispatch(|| race.elements(core, op, position, &plan, false)),
        What::Store => core.arch.dispatch(|| race.elements(core, op, position, &plan, true)),
        What::Atomic(operation) => race.atomic(core, op, position, &plan, operation),
        What::Other => race.before(core, op, position),
    }
    if !race.fresh.is_empty() {
        race.tell_values(core, op, &plan);
    }
    let gives_way = plan.strong && !core.spy.recording && race.gives_way(core.place.block);
    core.grid.race = Some(race);
    gives_way
}

/// Sees an operation after it was executed.
#[inline]
pub(crate) fn after(core: &mut Core<'_>, op: &Micro, position: usize, step: Step) {
    let Some(what) = core.grid.race.as_mut().and_then(|race| race.later) else { return };
    let Some(mut race) = core.grid.race.take() else { return };
    race.later = None;
    if step == Step::Next {
        race.after(core, op, position, what);
    }
    core.grid.race = Some(race);
}

/// One in so many strong accesses ends a turn.
const GIVES_WAY: u64 = 24;

impl Race {
    /// Draws whether a turn ends behind a strong access.
    fn gives_way(&mut self, block: u32) -> bool {
        self.block(block);
        self.draws =
            self.draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.draws >> 33).is_multiple_of(GIVES_WAY)
    }

    fn before(&mut self, core: &mut Core<'_>, op: &Micro, position: usize) {
        let Some(what) = instruction(core, position) else { return };
        match what {
            Op::Fence { kind: FenceKind::Thread | FenceKind::AsyncProxy, scope, .. } => {
                let site = self.site(core, position, None, false, false);
                for lane in lanes(core.active) {
                    if let Some(actor) = self.actor(core.place.block, core.place.warp, lane) {
                        self.fence(&actor, scope, site);
                    }
                }
            }
            Op::AsyncCopy { bytes } => self.copy(core, op, position, bytes.into()),
            Op::AsyncCommit => self.commit(core),
            Op::AsyncWait => self.wait(core, op),
            Op::LifeMark { freed } => self.life_mark(core, op, position, freed),
            Op::Mbarrier { .. } => self.save(core, op, 0, 1),
            Op::AsyncMbarrierArrive { .. } => self.save(core, op, 0, 0),
            Op::BulkCopy { .. } | Op::AsyncStore { .. } | Op::Matrix(_) => {
                if let Op::Matrix(kind) = what {
                    self.matrix(core, op, position, kind);
                }
                self.asynchronous(core, op, position, what);
            }
            Op::WarpSync => {}
            _ => return,
        }
        self.later = Some(what);
    }

    fn after(&mut self, core: &mut Core<'_>, op: &Micro, position: usize, what: Op) {
        match what {
            Op::Load(access) => self.stale_after(core, op, position, &access),
            Op::WarpSync => {
                let masks = masks(core, op);
                let live = !core.spare;
                let mut rest = core.active;
                while rest != 0 {
                    let lane = rest.trailing_zeros() as usize;
                    let named = masks[lane];
                    let met = if named >> lane & 1 == 0 { 0 } else { named & live };
                    if met & met.wrapping_sub(1) != 0 {
                        self.lanes_met(core.place.block, core.place.warp, met);
                    }
                    rest &= !(met | 1 << lane);
                }
            }
            Op::Mbarrier { operation, space, .. } => {
                self.mbarrier(core, op, position, operation, space);
            }
            Op::AsyncMbarrierArrive { .. } => {
                for lane in lanes(core.active) {
                    self.copies_arrive(core, position, lane);
                }
            }
            Op::BulkCopy { .. } | Op::AsyncStore { .. } | Op::Matrix(_) => {
                self.phases_after_copies(core, what);
            }
            _ => {}
        }
    }

    /// Keeps an address and an argument of each lane.
    pub(super) fn save(&mut self, core: &Core<'_>, op: &Micro, first: usize, second: usize) {
        let Some(whole) = core.code.operations.get(op.x as usize) else { return };
        for lane in lanes(core.active) {
            self.saved.addresses[lane] = core.read(whole.source(first), lane);
            self.saved.arguments[lane] = core.read(whole.source(second), lane);
        }
    }

    /// The number of a place in the code.
    pub(super) fn site(
        &mut self,
        core: &Core<'_>,
        position: usize,
        strong: Option<Scope>,
        write: bool,
        copies: bool,
    ) -> u32 {
        self.site_at((core.code.function.id.0, position as u32), strong, write, copies)
    }

    /// The memory that an address is in.
    pub(super) fn memory(&self, block: u32, space: Space, address: u64) -> Option<(Memory, u64)> {
        let window = match space {
            Space::Global => Window::Global,
            Space::Shared | Space::SharedCluster => address::shared(address as u32),
            Space::Generic => address::window(address),
            _ => return None,
        };
        match window {
            Window::Global => Some((Memory::Global, address)),
            Window::Shared { rank: None, offset } => Some((Memory::Shared(block), offset.into())),
            Window::Shared { rank: Some(rank), offset } => {
                Some((Memory::Shared(self.block_of_rank(block, rank)), offset.into()))
            }
            Window::Local(_) | Window::Parameters(_) => None,
        }
    }

    /// Plain and strong loads and stores: one element of each lane.
    #[inline(always)]
    fn elements(&mut self, core: &mut Core<'_>, op: &Micro, position: usize, plan: &Plan, write: bool) {
        let access = &plan.access;
        let at = addresses(core, op);
        let mut active = core.active;
        if write && access.order == Order::Weak && !ascends(&at, active) {
            active = without_repeats(core, op, access, &at, active);
        }
        let (block, warp) = (core.place.block, core.place.warp);
        let place = (block, warp);
        // What an acquire has seen is behind it.
        let learns = !write && acquires(access.order);
        let together = !plan.noted && !learns && self.warp_touches(place, plan, (&at, active), write);
        if !together || access.order != Order::Weak {
            self.lanes_access(core, position, plan, (&at, active), (write, together));
        }
    }

    /// What is to be done for each lane: all, or only what comes of order.
    #[inline(never)]
    fn lanes_access(
        &mut self,
        core: &Core<'_>,
        position: usize,
        plan: &Plan,
        (at, active): (&[u64; LANES], u32),
        (write, together): (bool, bool),
    ) {
        let access = &plan.access;
        let (block, warp) = (core.place.block, core.place.warp);
        let site = if write { plan.writes } else { plan.reads };
        for lane in lanes(active) {
            let Some((memory, address)) = self.memory(block, access.space, at[lane]) else { continue };
            if !address.is_multiple_of(plan.bytes) {
                continue;
            }
            let Some(actor) = self.actor(block, warp, lane) else { return };
            if plan.noted {
                self.note(core, position, memory, address, &actor, site, write);
            }
            let how = (access.order, access.scope);
            let learns = !write && acquires(access.order);
            if learns {
                self.strong_reads((memory, address, plan.bytes), &actor, how, site);
            }
            let Some(actor) = self.actor(block, warp, lane) else { return };
            if !together {
                let mark = Mark { thread: actor.number, time: actor.time, site };
                self.touch_as(memory, address, plan.bytes, &actor, (mark, plan.flags), write);
            }
            if !write && !learns && access.order != Order::Weak {
                self.strong_reads((memory, address, plan.bytes), &actor, how, site);
            }
        }
        if write && access.order != Order::Weak {
            self.lanes_write(core, plan, (at, active));
        }
    }

    /// What comes of order where lanes store: behind all their accesses, which so have one time.
    fn lanes_write(&mut self, core: &Core<'_>, plan: &Plan, (at, active): (&[u64; LANES], u32)) {
        let Plan { access, bytes, writes, .. } = plan;
        let (block, warp) = (core.place.block, core.place.warp);
        for lane in lanes(active) {
            let Some((memory, address)) = self.memory(block, access.space, at[lane]) else { continue };
            if !address.is_multiple_of(*bytes) {
                continue;
            }
            for piece in pieces(address, *bytes) {
                let Some(actor) = self.actor(block, warp, lane) else { return };
                self.strong_write((memory, piece), &actor, (access.order, access.scope), *writes, false);
            }
        }
    }

    fn strong_reads(
        &mut self,
        (memory, address, bytes): (Memory, u64, u64),
        actor: &Actor,
        how: (Order, Scope),
        site: u32,
    ) {
        let seen = self.seen(memory, address, bytes);
        for piece in pieces(address, bytes) {
            self.strong_read((memory, piece), actor, how, site, seen);
        }
    }

    /// The strong write that stands at an address.
    pub(super) fn seen(&mut self, memory: Memory, address: u64, bytes: u64) -> Option<Mark> {
        let shadow = self.shadow(memory);
        let range = shadow.range(address, bytes);
        shadow.last_strong_write(range)
    }
}

/// Whether each active lane's address is above those of the lanes before it.
#[inline(always)]
fn ascends(at: &[u64; LANES], active: u32) -> bool {
    if active == u32::MAX {
        let mut falls = false;
        for lane in 1..LANES {
            falls |= at[lane] <= at[lane - 1];
        }
        return !falls;
    }
    let mut last = None;
    lanes(active).all(|lane| last.replace(at[lane]).is_none_or(|last| last < at[lane]))
}

/// The locations that order goes through are pieces of four bytes.
pub(super) fn pieces(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
    (address / 4..(address + bytes).div_ceil(4)).map(|piece| piece * 4)
}

/// The masks of the lanes at a barrier of lanes.
fn masks(core: &Core<'_>, op: &Micro) -> [u32; LANES] {
    let mut masks = [core.mask; LANES];
    let whole = core.code.operations.get(op.x as usize);
    if let Some(mask) = whole.map(|whole| whole.source(0)).filter(|mask| mask.is_some()) {
        for lane in lanes(core.active) {
            masks[lane] = core.read(mask, lane) as u32;
        }
    }
    masks
}

/// Lanes that store the same value to the same place in one instruction count once: one of the stores is
/// guaranteed, and which one does not matter (CUDA C++ Programming Guide, «Warps and SIMT»).
fn without_repeats(core: &Core<'_>, op: &Micro, access: &Access, at: &[u64; LANES], active: u32) -> u32 {
    let mut kept = active;
    let wide = element_bytes(access.ty) == Some(8);
    let value = |lane: usize| if wide { core.wide(op.d)[lane] } else { core.narrow(op.d)[lane].into() };
    for lane in lanes(active) {
        let first = lanes(active & ((1 << lane) - 1)).find(|&other| at[other] == at[lane]);
        if let Some(first) = first
            && plane_is_known(access)
            && value(first) == value(lane)
        {
            kept &= !(1 << lane);
        }
    }
    kept
}

fn plane_is_known(access: &Access) -> bool {
    matches!(element_bytes(access.ty), Some(4 | 8))
}

impl Race {
    fn mbarrier(
        &mut self,
        core: &mut Core<'_>,
        op: &Micro,
        position: usize,
        operation: MbarrierOperation,
        space: Space,
    ) {
        for lane in lanes(core.active) {
            let address = self.saved.addresses[lane];
            match operation {
                MbarrierOperation::Init => self.phases_begin(core, position, space, address),
                MbarrierOperation::Invalidate => {
                    if let Some(key) = self.memory(core.place.block, space, address) {
                        self.phases.remove(&key);
                    }
                }
                MbarrierOperation::Arrive { .. } => self.phase_arrive(core, position, lane, space, address),
                MbarrierOperation::Wait { .. } => {
                    let whole = core.code.operations.get(op.x as usize);
                    let over = whole.is_some_and(|whole| core.read(whole.destination(0), lane) & 1 != 0);
                    if over {
                        self.phase_passed(core, position, lane, space, address);
                    }
                }
                _ => {}
            }
        }
        for lane in lanes(core.active) {
            let address = self.saved.addresses[lane];
            self.phase_look(core, lane, space, address);
        }
    }
}
