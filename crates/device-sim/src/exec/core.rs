//! What an operation acts on: the registers of the running part of a warp, and what it can reach.

use std::sync::Arc;

use crate::decode::code::{Aligned, Code, Frame, Kernel, LANES, Micro, Place, Plane, Row32, Row64, Slot};
use crate::fault::FaultKind;
use crate::follow::marks::Marks;
use crate::grid::shared::{BlockShared, GridShared};
use crate::hang::spy::Spy;

/// What the interpreter does after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Goes on.
    Next,
    /// Something ended the launch; see [`Core::fault`].
    Fault,
    /// The lanes cannot go on by themselves: the operation is looked at with the whole warp in view.
    Collective,
    /// The lanes came to a barrier of the block or cluster; the operation is looked at with the block in view.
    Barrier,
    /// The lanes sleep; others get their turn.
    Sleep,
}

/// All registers of a warp: the frames of its calls, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    pub(crate) narrow: Vec<Aligned<Row32>>,
    pub(crate) wide: Vec<Aligned<Row64>>,
    pub(crate) predicates: Vec<u32>,
}

impl Registers {
    /// Makes all of them zero.
    pub(crate) fn clear(&mut self) {
        self.narrow.fill(Aligned([0; LANES]));
        self.wide.fill(Aligned([0; LANES]));
        self.predicates.fill(0);
    }

    /// Makes room for everything below `end`.
    pub(crate) fn reserve(&mut self, end: Frame) {
        if self.narrow.len() < end.narrow {
            self.narrow.resize(end.narrow, Aligned([0; LANES]));
        }
        if self.wide.len() < end.wide {
            self.wide.resize(end.wide, Aligned([0; LANES]));
        }
        if self.predicates.len() < end.predicates {
            self.predicates.resize(end.predicates, 0);
        }
    }
}

/// What the lanes of a warp are in their block.
#[derive(Debug, Clone)]
pub(crate) struct WarpPlace {
    /// Linear index of the block in the grid.
    pub(crate) block: u32,
    /// Its index in x, y, z.
    pub(crate) block_index: [u32; 3],
    /// Index of the warp in its block.
    pub(crate) warp: u32,
    /// Linear index of lane 0.
    pub(crate) first_thread: u32,
    /// The multiprocessor.
    pub(crate) multiprocessor: u32,
    /// Rank of the block in its cluster.
    pub(crate) cluster_rank: u32,
}

/// The lanes' private memory.
#[derive(Debug, Default)]
pub(crate) struct LocalMemory {
    /// One lane after the other.
    pub(crate) bytes: Vec<u8>,
    /// Bytes of a lane.
    pub(crate) stride: usize,
}

/// Local memory of a thread is at most this (CUDA guide, «Technical Specifications»: 512 KB).
const MOST_LOCAL: usize = 512 << 10;

impl LocalMemory {
    /// Makes room for `bytes` bytes in every lane; false when that is too much.
    pub(crate) fn reserve(&mut self, bytes: usize) -> bool {
        if bytes <= self.stride {
            return true;
        }
        if bytes > MOST_LOCAL {
            return false;
        }
        let stride = LocalMemory::stride_for(bytes);
        let mut wider = vec![0; stride * LANES];
        if self.stride > 0 {
            for (old, new) in self.bytes.chunks_exact(self.stride).zip(wider.chunks_exact_mut(stride)) {
                if let Some(start) = new.get_mut(..self.stride) {
                    start.copy_from_slice(old);
                }
            }
        }
        (self.bytes, self.stride) = (wider, stride);
        true
    }

    /// As it is before anything has run, with `bytes` bytes in every lane.
    pub(crate) fn renew(&mut self, bytes: usize) {
        if self.stride == LocalMemory::stride_for(bytes) {
            if bytes > 0 {
                self.bytes.fill(0);
            }
        } else {
            *self = LocalMemory::default();
            self.reserve(bytes);
        }
    }

    /// Bytes of a lane that holds this many.
    fn stride_for(bytes: usize) -> usize {
        if bytes == 0 { 0 } else { bytes.next_power_of_two().max(64) }
    }

    /// The bytes of an access.
    pub(crate) fn slice(&mut self, lane: usize, offset: u32, bytes: usize) -> Option<&mut [u8]> {
        let start = offset as usize;
        if start + bytes > self.stride {
            return None;
        }
        let start = lane * self.stride + start;
        self.bytes.get_mut(start..start + bytes)
    }
}

/// What an operation acts on.
pub(crate) struct Core<'a> {
    pub(crate) arch: pulp::Arch,
    pub(crate) registers: &'a mut Registers,
    /// Where the running frame begins.
    pub(crate) base: Frame,
    /// Where its local memory begins.
    pub(crate) local_base: u32,
    pub(crate) kernel: &'a Kernel,
    pub(crate) code: &'a Arc<Code>,
    /// Lanes that run.
    pub(crate) mask: u32,
    /// Lanes in which the operation takes effect.
    pub(crate) active: u32,
    /// Lanes that no longer live, or never did: what happens to their registers does not matter.
    pub(crate) spare: u32,
    pub(crate) local: &'a mut LocalMemory,
    pub(crate) place: &'a WarpPlace,
    pub(crate) grid: &'a mut GridShared,
    pub(crate) block: &'a BlockShared,
    pub(crate) fault: Option<(FaultKind, u32)>,
    /// Ticks since the turn began.
    pub(crate) ticks: u64,
    pub(crate) spy: &'a mut Spy,
    /// What is doubtful of the registers.
    pub(crate) marks: &'a mut Marks,
}

impl Core<'_> {
    /// A narrow source.
    #[inline(always)]
    pub(crate) fn narrow(&self, slot: Slot) -> &Row32 {
        if slot.is_constant() {
            &self.code.constants32[slot.row()].0
        } else {
            &self.registers.narrow[self.base.narrow + slot.row()].0
        }
    }

    /// A wide source.
    #[inline(always)]
    pub(crate) fn wide(&self, slot: Slot) -> &Row64 {
        if slot.is_constant() {
            &self.code.constants64[slot.row()].0
        } else {
            &self.registers.wide[self.base.wide + slot.row()].0
        }
    }

    /// A predicate source: one bit for each lane.
    #[inline(always)]
    pub(crate) fn predicate(&self, slot: Slot) -> u32 {
        let value = if slot.is_constant() {
            if slot.row() == 0 { 0 } else { u32::MAX }
        } else {
            self.registers.predicates[self.base.predicates + slot.row()]
        };
        if slot.is_negated() { !value } else { value }
    }

    /// A narrow destination.
    #[inline(always)]
    pub(crate) fn narrow_mut(&mut self, slot: Slot) -> &mut Row32 {
        &mut self.registers.narrow[self.base.narrow + slot.row()].0
    }

    /// A wide destination.
    #[inline(always)]
    pub(crate) fn wide_mut(&mut self, slot: Slot) -> &mut Row64 {
        &mut self.registers.wide[self.base.wide + slot.row()].0
    }

    /// Writes a predicate in the active lanes.
    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, slot: Slot, value: u32) {
        let active = self.active;
        let row = &mut self.registers.predicates[self.base.predicates + slot.row()];
        *row = (*row & !active) | (value & active);
    }

    /// Whether all lanes that matter are active.
    #[inline(always)]
    pub(crate) fn all_active(&self) -> bool {
        self.active | self.spare == u32::MAX
    }

    /// One lane's value of a source, zero-extended.
    pub(crate) fn read(&self, place: Place, lane: usize) -> u64 {
        if !place.is_some() {
            return 0;
        }
        match place.plane {
            Plane::Narrow => self.narrow(place.slot)[lane % LANES].into(),
            Plane::Wide => self.wide(place.slot)[lane % LANES],
            Plane::Predicate => (self.predicate(place.slot) >> lane & 1).into(),
        }
    }

    /// All lanes' values of a source, zero-extended.
    pub(crate) fn row(&self, place: Place) -> Row64 {
        match place.plane {
            _ if !place.is_some() => [0; LANES],
            Plane::Narrow => self.narrow(place.slot).map(u64::from),
            Plane::Wide => *self.wide(place.slot),
            Plane::Predicate => std::array::from_fn(|lane| self.read(place, lane)),
        }
    }

    /// Writes one lane of a destination: the bits that its register keeps.
    pub(crate) fn write(&mut self, place: Place, lane: usize, value: u64) {
        if !place.is_some() || place.slot.is_constant() {
            return;
        }
        let kept = standstill_kernel_ir::evaluate::keep(value, place.ty);
        match place.plane {
            Plane::Narrow => self.narrow_mut(place.slot)[lane % LANES] = kept as u32,
            Plane::Wide => self.wide_mut(place.slot)[lane % LANES] = value,
            Plane::Predicate => {
                let row = &mut self.registers.predicates[self.base.predicates + place.slot.row()];
                *row = (*row & !(1 << lane)) | (((value & 1) as u32) << lane);
            }
        }
    }

    /// Remembers a fault of a lane.
    #[cold]
    pub(crate) fn fail(&mut self, kind: FaultKind, lane: usize) -> Step {
        self.fault = Some((kind, lane as u32));
        Step::Fault
    }

    /// The card's clock, in ticks.
    pub(crate) fn clock(&self) -> u64 {
        self.grid.clock + self.ticks
    }
}

/// How many lanes a mask has: mostly all, which need not be counted.
#[inline(always)]
pub(crate) fn count(mask: u32) -> u32 {
    if mask == u32::MAX { LANES as u32 } else { mask.count_ones() }
}

/// The lanes of a mask.
#[inline(always)]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(lane)
    })
}

/// A handler that does nothing: control operations have it, which never call it, and those that only order.
pub(crate) fn nothing(_: &mut Core<'_>, _: &Micro) -> Step {
    Step::Next
}

/// Something that is compiled for the vector instructions of newer processors as well.
pub(crate) trait Body {
    type Output;
    /// `AVX` says that this processor has AVX2.
    fn body<const AVX: bool>(core: &mut Core<'_>, op: &Micro) -> Self::Output;
}

/// A call of a [`Body`].
#[cfg(target_arch = "x86_64")]
struct Vectorised<'a, 'c, B>(&'a mut Core<'c>, &'a Micro, std::marker::PhantomData<B>);

#[cfg(target_arch = "x86_64")]
impl<B: Body> pulp::NullaryFnOnce for Vectorised<'_, '_, B> {
    type Output = B::Output;

    #[inline(always)]
    fn call(self) -> B::Output {
        B::body::<true>(self.0, self.1)
    }
}

/// Calls a body in the form that this processor runs fastest.
#[inline(always)]
pub(crate) fn fast<B: Body>(core: &mut Core<'_>, op: &Micro) -> B::Output {
    #[cfg(target_arch = "x86_64")]
    if let pulp::Arch::V3(instructions) = core.arch {
        return instructions.vectorize(Vectorised(core, op, std::marker::PhantomData::<B>));
    }
    B::body::<false>(core, op)
}
