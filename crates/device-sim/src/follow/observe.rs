//! What an operation of a warp does with doubtful values, seen before it is executed.

use standstill_kernel_ir::{
    AtomicOperation, BulkDirection, MatrixKind, Op, Operand, OperandRange, Space, Type,
};

use super::doubt::Origin;
use super::marks::Mark;
use super::memory::{Bytes, Private};
use super::{Follow, Reach, arithmetic};
use crate::address::Window;
use crate::decode::code::{Code, LANES, Micro, Origin as From, Place, Plane, Slot};
use crate::exec::access::window_of;
use crate::exec::core::{Core, lanes};
use crate::exec::memory::{WIDE_ADDRESS, addresses, element_bytes};
use crate::hang::names;
use crate::memory::ahead::Pace;

/// Sees an operation before it is executed.
#[inline]
pub(crate) fn before(core: &mut Core<'_>, op: &Micro, position: usize) {
    let Some(follow) = &core.grid.follow else { return };
    let Some(From::Instruction(id)) = core.code.origins.get(position).copied() else { return };
    let Some(instruction) = core.code.function.instructions.get(id.0 as usize) else { return };
    let (what, operands) = (instruction.op, instruction.operands);
    if core.marks.is_empty() {
        let nothing = match what {
            Op::Load(access) | Op::Store(access) | Op::Atomic { access, .. } => {
                follow.is_clear(core, access.space)
            }
            Op::AsyncCopy { .. } | Op::BulkCopy { .. } | Op::Matrix(_) => false,
            _ => true,
        };
        if nothing {
            return;
        }
    }
    let Some(mut follow) = core.grid.follow.take() else { return };
    follow.step(core, op, position, what, operands);
    core.grid.follow = Some(follow);
}

/// Sees a branch, or an operation that its guard leaves out.
#[cold]
pub(crate) fn branch(core: &mut Core<'_>, guard: Slot, position: usize) {
    decides(core, Place { plane: Plane::Predicate, slot: guard, ty: Type::Pred }, position);
}

/// Sees a jump by a table.
#[cold]
pub(crate) fn switch(core: &mut Core<'_>, index: Slot, position: usize) {
    decides(core, Place { plane: Plane::Narrow, slot: index, ty: Type::B32 }, position);
}

fn decides(core: &mut Core<'_>, by: Place, position: usize) {
    let mark = core.marks.of(core.base, by).only(core.mask);
    let Some(mut follow) = core.grid.follow.take() else { return };
    follow.reached(mark, Reach::Branch, (core.code.function.id.0, position as u32));
    core.grid.follow = Some(follow);
}

/// An operation has given results that the software GPU has no model for. From now on they are followed.
pub(crate) fn not_known(core: &mut Core<'_>, position: usize, what: &str) {
    let Some(From::Instruction(id)) = core.code.origins.get(position).copied() else { return };
    let code = core.code;
    let Some(instruction) = code.function.instructions.get(id.0 as usize) else { return };
    if let Some(Pace::Ahead(ahead)) = &mut core.grid.pace {
        // What runs ahead is not followed; it has to run again in its turn.
        ahead.failed = true;
        return;
    }
    let mut follow = core.grid.follow.take().unwrap_or_else(|| Follow::new(false));
    let lane = core.active.trailing_zeros() as usize % LANES;
    let origin = follow.origin(core, position, lane, Some(what), 0, 0);
    let mark = Mark { unknown: core.active, origin, ..Mark::default() };
    for &operand in code.function.destinations(instruction.operands) {
        core.marks.set(core.base, place(code, operand), core.active, mark);
    }
    core.grid.follow = Some(follow);
}

/// A tensor copy to or from shared memory writes bytes that are not known. Where it goes is, and how many bytes its
/// barrier still expected.
pub(crate) fn tensor_copy(core: &mut Core<'_>, position: usize, to: Option<(u64, u64)>) {
    let Some(mut follow) = core.grid.follow.take() else { return };
    let lane = core.active.trailing_zeros() as usize % LANES;
    let origin = follow.origin(core, position, lane, Some("a tensor copy"), 0, 0);
    match to {
        Some((address, bytes)) => {
            follow.tensor.insert(core.place.block);
            if let Window::Shared { offset, .. } = window_of(Space::Shared, address) {
                let doubt = Some((false, true, origin));
                follow.set_private(Private::Shared(core.place.block), offset.into(), bytes, doubt);
            }
        }
        // It may have written anywhere.
        None => core.grid.device.memory().doubts().lose(),
    }
    core.grid.follow = Some(follow);
}

/// The row of a destination or a source.
fn place(code: &Code, operand: Operand) -> Place {
    let register = operand.register();
    register.and_then(|register| code.rows.get(register.0 as usize)).copied().unwrap_or(Place::NONE)
}

/// The operand whose row an operation of a vector has.
fn with_slot(code: &Code, operands: &[Operand], slot: Slot) -> Place {
    let places = operands.iter().map(|&operand| place(code, operand));
    places.into_iter().find(|place| place.is_some() && place.slot == slot).unwrap_or(Place::NONE)
}

impl Follow {
    /// A value decides something.
    fn reached(&mut self, mark: Mark, reach: Reach, at: (u32, u32)) {
        if mark.unknown != 0 {
            self.found(mark.origin, true, reach, at);
        } else if mark.unwritten != 0 {
            self.found(mark.origin, false, reach, at);
        }
    }

    fn step(&mut self, core: &mut Core<'_>, op: &Micro, position: usize, what: Op, operands: OperandRange) {
        let at = (core.code.function.id.0, position as u32);
        let guard = match op.guard == Slot::NONE || core.marks.is_empty() {
            true => Mark::default(),
            false => {
                let guard = Place { plane: Plane::Predicate, slot: op.guard, ty: Type::Pred };
                core.marks.of(core.base, guard).only(core.mask)
            }
        };
        match what {
            Op::Load(access) => {
                self.reached(guard, Reach::Branch, at);
                self.load(core, op, position, access.space, access.ty, operands);
            }
            Op::Store(access) => {
                self.reached(guard, Reach::Branch, at);
                self.store(core, op, at, access.space, access.ty, operands);
            }
            Op::Atomic { access, operation } => {
                self.reached(guard, Reach::Branch, at);
                self.atomic(core, op, position, (access.space, access.ty), operation);
            }
            Op::Arithmetic(arithmetic) => {
                let code = core.code;
                let sources: Vec<Place> =
                    code.general.get(op.x as usize).map_or(Vec::new(), |general| general.sources.clone());
                // What is not of the general form takes a special register.
                let general = code.general.get(op.x as usize).is_some_and(|of| of.arithmetic == arithmetic);
                let mark = match general {
                    true => arithmetic::result(core, &arithmetic, &sources),
                    false => Mark::default(),
                };
                self.give(core, code, operands, mark, guard);
            }
            Op::Shuffle(_) | Op::Vote(_) | Op::Match { .. } | Op::WarpReduce { .. } => {
                let code = core.code;
                let mark = together(core, code, operands);
                self.give(core, code, operands, mark, guard);
            }
            Op::Matrix(kind) => self.matrix(core, op, kind, operands),
            Op::AsyncCopy { bytes } => {
                self.copy(core, op, Space::Shared, Space::Global, Some(bytes.into()), at)
            }
            Op::BulkCopy { direction, tensor: false, .. } => {
                let (to, from) = match direction {
                    BulkDirection::GlobalToShared => (Space::Shared, Space::Global),
                    BulkDirection::SharedToGlobal => (Space::Global, Space::Shared),
                    BulkDirection::SharedToShared => (Space::Shared, Space::Shared),
                    BulkDirection::GlobalToGlobal => (Space::Global, Space::Global),
                    BulkDirection::Prefetch => return,
                };
                self.copy(core, op, to, from, None, at);
            }
            _ => {
                let code = core.code;
                self.give(core, code, operands, Mark::default(), guard);
            }
        }
    }

    /// Results with this mark. Where the guard is doubtful, so is whether there is a result.
    fn give(&mut self, core: &mut Core<'_>, code: &Code, operands: OperandRange, mark: Mark, guard: Mark) {
        for &operand in code.function.destinations(operands) {
            let to = place(code, operand);
            core.marks.set(core.base, to, core.active, mark);
            if guard.lanes() != 0 {
                let both = core.marks.of(core.base, to).or(Mark { computed: guard.unwritten, ..guard });
                core.marks.set(core.base, to, core.mask, both);
            }
        }
    }

    fn load(
        &mut self,
        core: &mut Core<'_>,
        op: &Micro,
        position: usize,
        space: Space,
        ty: Type,
        operands: OperandRange,
    ) {
        // The copy of an address that a vector overwrites is no access, and parameters are known.
        let Some(bytes) = element_bytes(ty).filter(|_| op.c != Slot::NONE) else { return };
        if space == Space::Param {
            return self.clear(core, op, operands);
        }
        self.check_address(core, op, position);
        let at = addresses(core, op);
        if self.all_quiet(core, space, &at) {
            return self.clear(core, op, operands);
        }
        let mut mark = Mark::default();
        for lane in lanes(core.active) {
            let found = self.bytes(core, space, lane, at[lane], bytes.into());
            if found == Bytes::default() || !(found.unknown || self.unwritten) {
                continue;
            }
            let bit = 1 << lane;
            mark.unwritten |= if found.unwritten && self.unwritten { bit } else { 0 };
            mark.computed |= if found.computed && self.unwritten { bit } else { 0 };
            mark.unknown |= if found.unknown { bit } else { 0 };
            if mark.lanes() == bit {
                let unknown = found.unknown.then_some("memory that a tensor copy may have written");
                mark.origin = found
                    .origin
                    .unwrap_or_else(|| self.origin(core, position, lane, unknown, at[lane], bytes));
            }
        }
        self.doubts |= mark.lanes() != 0;
        let code = core.code;
        let to = with_slot(code, code.function.destinations(operands), op.d);
        core.marks.set(core.base, to, core.active, mark);
    }

    /// The result of a load is known.
    fn clear(&self, core: &mut Core<'_>, op: &Micro, operands: OperandRange) {
        if !core.marks.is_empty() {
            let code = core.code;
            let to = with_slot(code, code.function.destinations(operands), op.d);
            core.marks.set(core.base, to, core.active, Mark::default());
        }
    }

    fn check_address(&mut self, core: &Core<'_>, op: &Micro, position: usize) {
        if core.marks.is_empty() {
            return;
        }
        let plane = if op.b == WIDE_ADDRESS { Plane::Wide } else { Plane::Narrow };
        let mark = core.marks.of(core.base, Place { plane, slot: op.a, ty: Type::B64 }).only(core.active);
        self.reached(mark, Reach::Address, (core.code.function.id.0, position as u32));
    }

    fn store(
        &mut self,
        core: &mut Core<'_>,
        op: &Micro,
        at: (u32, u32),
        space: Space,
        ty: Type,
        operands: OperandRange,
    ) {
        let Some(bytes) = element_bytes(ty) else { return };
        let bytes = u64::from(bytes);
        self.check_address(core, op, at.1 as usize);
        let mark = match core.marks.is_empty() {
            true => Mark::default(),
            false => {
                let code = core.code;
                let value = with_slot(code, code.function.sources(operands).get(1..).unwrap_or(&[]), op.d);
                core.marks.of(core.base, value).only(core.active)
            }
        };
        let places = addresses(core, op);
        if mark.lanes() == 0 && self.all_quiet(core, space, &places) {
            return;
        }
        let neighbours = core.active == u32::MAX
            && (0..LANES).all(|lane| places[lane] == places[0].wrapping_add(lane as u64 * bytes));
        if mark.lanes() == 0 && neighbours && space != Space::Local {
            return self.write(core, space, (0, places[0], bytes * LANES as u64), mark, at);
        }
        for lane in lanes(core.active) {
            self.write(core, space, (lane, places[lane], bytes), mark, at);
        }
    }

    fn atomic(
        &mut self,
        core: &mut Core<'_>,
        op: &Micro,
        position: usize,
        (space, ty): (Space, Type),
        operation: AtomicOperation,
    ) {
        let code = core.code;
        let Some(whole) = code.operations.get(op.x as usize) else { return };
        let at = (code.function.id.0, position as u32);
        let bytes = u64::from(ty.bytes());
        self.reached(core.marks.of(core.base, whole.source(0)).only(core.active), Reach::Address, at);
        let given = core.marks.of(core.base, whole.source(1)).or(core.marks.of(core.base, whole.source(2)));
        let mut places = [0; LANES];
        for lane in lanes(core.active) {
            places[lane] = core.read(whole.source(0), lane);
        }
        if given.only(core.active).lanes() == 0 && self.all_quiet(core, space, &places) {
            return core.marks.set(core.base, whole.destination(0), core.active, Mark::default());
        }
        let mut old = Mark::default();
        for lane in lanes(core.active) {
            let bit = 1 << lane;
            let address = places[lane];
            let found = self.bytes(core, space, lane, address, bytes);
            let mut mark = Mark::default();
            if found.unknown || (found.unwritten && self.unwritten) {
                let unknown = found.unknown.then_some("memory that a tensor copy may have written");
                mark.origin = match found.origin {
                    Some(origin) => origin,
                    None => self.origin(core, position, lane, unknown, address, ty.bytes()),
                };
                mark.unknown = if found.unknown { bit } else { 0 };
                mark.unwritten = if found.unwritten { bit } else { 0 };
                mark.computed = if found.computed { bit } else { 0 };
            }
            if operation == AtomicOperation::CompareExchange {
                self.reached(mark, Reach::Compare, at);
            }
            old = old.or(mark);
            let new = match operation {
                AtomicOperation::Exchange => given.only(bit),
                _ => {
                    let both = mark.or(given.only(bit));
                    Mark { computed: both.unwritten, ..both }
                }
            };
            self.write(core, space, (lane, address, bytes), new, at);
        }
        self.doubts |= old.lanes() != 0;
        core.marks.set(core.base, whole.destination(0), core.active, old);
    }

    fn matrix(&mut self, core: &mut Core<'_>, op: &Micro, kind: MatrixKind, operands: OperandRange) {
        let code = core.code;
        let mark = match kind {
            MatrixKind::Load(fragment) => {
                let Some(whole) = code.operations.get(op.x as usize) else { return };
                // What a lane gets comes from the rows of others; only what is not known is followed.
                let mut mark = Mark::default();
                for lane in lanes(core.active) {
                    let address = core.read(whole.source(0), lane);
                    let found = self.bytes(core, fragment.space, lane, address, 16);
                    if found.unknown {
                        mark.unknown = core.active;
                        mark.origin = found.origin.unwrap_or(mark.origin);
                    }
                }
                mark
            }
            MatrixKind::Mma(_) | MatrixKind::Move => together(core, code, operands),
            _ => Mark::default(),
        };
        for &operand in code.function.destinations(operands) {
            core.marks.set(core.base, place(code, operand), core.active, mark);
        }
    }

    /// A copy of bytes, of which what is unknown stays so.
    fn copy(
        &mut self,
        core: &mut Core<'_>,
        op: &Micro,
        to_space: Space,
        from_space: Space,
        bytes: Option<u64>,
        at: (u32, u32),
    ) {
        let code = core.code;
        let Some(whole) = code.operations.get(op.x as usize) else { return };
        for lane in lanes(core.active) {
            let [to, from, size] = [0, 1, 2].map(|index| core.read(whole.source(index), lane));
            let bytes = bytes.filter(|&bytes| bytes > 0).unwrap_or(size & 0xffff_ffff);
            if self.is_quiet(core, from_space, from) && self.is_quiet(core, to_space, to) {
                continue;
            }
            let found = self.bytes(core, from_space, lane, from, bytes);
            let bit = 1 << lane;
            let origin = found.origin.filter(|_| found.unknown);
            let mark = Mark {
                unknown: if origin.is_some() { bit } else { 0 },
                origin: origin.unwrap_or(0),
                ..Mark::default()
            };
            self.write(core, to_space, (lane, to, bytes), mark, at);
        }
    }

    /// The number of an origin: a read of memory that nobody wrote, or an operation without a model.
    fn origin(
        &mut self,
        core: &Core<'_>,
        position: usize,
        lane: usize,
        unknown: Option<&str>,
        address: u64,
        bytes: u32,
    ) -> u32 {
        self.doubts = true;
        if self.ahead {
            return 0;
        }
        let function = core.code.function.id.0;
        let key = (function, position as u32, unknown.is_some());
        if let Some(&known) = self.origins.get(&key) {
            return known;
        }
        let thread = core.place.first_thread + lane as u32;
        let [x, y, _] = core.grid.block.map(|extent| extent.max(1));
        let [bx, by, bz] = core.place.block_index;
        let origin = Origin {
            kernel: core.grid.kernel.name.clone(),
            place: crate::place::place(core.grid, function, position as u32),
            what: unknown.map_or_else(|| names::name(core.grid, address, bytes), str::to_owned),
            who: format!(
                "thread ({},{},{}) of block ({bx},{by},{bz})",
                thread % x,
                thread / x % y,
                thread / x / y
            ),
            mark: core.grid.allocation(address).map_or(0, |allocation| allocation.mark),
            unknown: unknown.is_some(),
        };
        let number = core.grid.device.memory().doubts().add(origin);
        self.origins.insert(key, number);
        number
    }
}

/// What lanes give each other: unknown where one is, unwritten only where all are.
fn together(core: &Core<'_>, code: &Code, operands: OperandRange) -> Mark {
    let sources = code.function.sources(operands);
    let marks = sources.iter().map(|&operand| core.marks.of(core.base, place(code, operand)));
    let mark = marks.fold(Mark::default(), Mark::or).only(core.active);
    let all = |lanes: u32| if lanes == core.active { core.active } else { 0 };
    Mark {
        unwritten: all(mark.unwritten),
        computed: all(mark.unwritten),
        unknown: if mark.unknown != 0 { core.active } else { 0 },
        origin: mark.origin,
    }
}
