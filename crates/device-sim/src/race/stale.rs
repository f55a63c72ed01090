//! Values that a load may still see although they were overwritten.
//!
//! A weak or relaxed load may return the value of any write that is not overwritten, as far as the reader can know: a
//! write that happens before the load, or that was read by what happens before it, hides the older ones (PTX ISA,
//! «Memory Consistency Model», the axioms of coherence and causality). Where the model leaves a doubt the newest value
//! is returned: a value that is not allowed would be a false alarm.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use standstill_kernel_ir::{Access, Op, Order, Scope, Space};

use super::shadow::{Mark, NOBODY};
use super::{Actor, Memory, Race, thread_of};
use crate::decode::code::{Micro, Origin, Plane, Slot};
use crate::exec::core::{Core, lanes};
use crate::exec::memory::{addresses, element_bytes};
use crate::preempt::Draws;

/// Values of a location that are kept.
const MOST_VERSIONS: usize = 6;
/// Readers of a value that are kept; then all are taken to know it.
const MOST_READERS: usize = 32;
/// Locations that are kept.
const MOST_LOCATIONS: usize = 1 << 18;
/// Locations overlap only within so many bytes.
const GRANULE: u64 = 8;

/// What is remembered of values.
#[derive(Debug)]
pub(super) struct Stale {
    draws: Draws,
    locations: FxHashMap<(Memory, u64), SmallVec<[Location; 2]>>,
    /// When each thread has made sequentially consistent fences, and with which scope.
    fences: FxHashMap<u32, Vec<(u32, Scope)>>,
    /// When each thread has learned something of others last.
    learned: FxHashMap<u32, u32>,
    /// Counts operations.
    operation: u64,
    /// What the lanes of the running load see.
    seen: SmallVec<[(usize, u64); 4]>,
    /// They see the newest values.
    newest: bool,
}

/// A location, by how it is accessed, and its values, the newest last.
#[derive(Debug)]
struct Location {
    address: u64,
    bytes: u64,
    versions: SmallVec<[Version; 2]>,
}

#[derive(Debug, Clone)]
struct Version {
    /// `None` while the operation runs that writes it.
    value: Option<u64>,
    operation: u64,
    writer: Mark,
    /// Threads that have read it, each with the time of its first read.
    readers: SmallVec<[(u32, u32); 2]>,
}

/// Who wrote what is there before anything is known.
const BEFORE: Mark = Mark { thread: NOBODY, time: 0, site: 0 };

impl Stale {
    pub(super) fn new(seed: u64) -> Stale {
        Stale {
            draws: Draws::new(seed ^ 0x2545_f491_4f6c_dd1d),
            locations: FxHashMap::default(),
            fences: FxHashMap::default(),
            learned: FxHashMap::default(),
            operation: 0,
            seen: SmallVec::new(),
            newest: false,
        }
    }

    /// The location of an access. One that is accessed in another way begins anew with what is there now.
    fn location(&mut self, memory: Memory, address: u64, bytes: u64, now: u64) -> Option<&mut Location> {
        let operation = self.operation;
        let full = self.locations.len() >= MOST_LOCATIONS;
        let key = (memory, address / GRANULE);
        if full && !self.locations.contains_key(&key) {
            return None;
        }
        let all = self.locations.entry(key).or_default();
        let overlaps = |of: &Location| of.address < address + bytes && address < of.address + of.bytes;
        all.retain(|of| (of.address, of.bytes) == (address, bytes) || !overlaps(of));
        let known = all.iter().position(|of| of.address == address);
        let index = known.unwrap_or_else(|| {
            all.push(Location { address, bytes, versions: SmallVec::new() });
            all.len() - 1
        });
        let location = all.get_mut(index)?;
        match location.versions.last_mut() {
            Some(newest) if newest.value.is_none() => {
                if newest.operation != operation {
                    newest.value = Some(now);
                }
            }
            Some(newest) if newest.value == Some(now) => {}
            // Somebody else has written: the host, a copy, another launch.
            _ => {
                location.versions.clear();
                let first = Version { value: Some(now), operation, writer: BEFORE, readers: SmallVec::new() };
                location.versions.push(first);
            }
        }
        Some(location)
    }

    fn forget(&mut self, memory: Memory) {
        self.locations.retain(|(of, _), _| *of != memory);
    }
}

impl Race {
    /// Sees an operation before it runs, and chooses what its lanes see if it is a load.
    pub(super) fn stale_before(&mut self, core: &mut Core<'_>, op: &Micro, what: Op) {
        let Some(stale) = &mut self.stale else { return };
        stale.operation += 1;
        let (block, warp) = (core.place.block, core.place.warp);
        match what {
            Op::Load(access) => self.stale_loads(core, op, &access),
            Op::Store(access) => self.stale_stores(core, op, &access),
            Op::Fence { order: Order::SequentiallyConsistent, scope, .. } => {
                for lane in lanes(core.active) {
                    let time = self.tick();
                    let Some(actor) = self.actor(block, warp, lane) else { return };
                    if let Some(stale) = &mut self.stale {
                        stale.fences.entry(actor.number).or_default().push((time, scope));
                    }
                }
            }
            Op::AsyncCopy { .. } => self.stale_forget(Memory::Shared(block)),
            Op::BulkCopy { .. } | Op::AsyncStore { .. } | Op::Matrix(_) => {
                if let Some(stale) = &mut self.stale {
                    stale.locations.clear();
                }
            }
            _ => {}
        }
    }

    /// Lets all loads see the newest values from now on, or older ones as well.
    pub(crate) fn see_newest(&mut self, newest: bool) {
        if let Some(stale) = &mut self.stale {
            stale.newest = newest;
        }
    }

    fn stale_forget(&mut self, memory: Memory) {
        if let Some(stale) = &mut self.stale {
            stale.forget(memory);
        }
    }

    /// A thread has learned of what others did.
    pub(super) fn stale_learned(&mut self, number: u32) {
        let now = self.now;
        if let Some(stale) = &mut self.stale {
            stale.learned.insert(number, now);
        }
    }

    /// Whether a thread can know that a value was written.
    fn stale_knows(&self, stale: &Stale, actor: &Actor, version: &Version) -> bool {
        let behind = |thread: u32, time: u32| actor.is_behind(Mark { thread, time, site: 0 }, self.warps);
        let writer = version.writer;
        if writer.thread == NOBODY
            || behind(writer.thread, writer.time)
            || version.readers.iter().any(|&(thread, time)| behind(thread, time))
        {
            return true;
        }
        // A fence of the writer's comes before a fence of the reader's in the one order of all such fences, and
        // whoever has learned of the reader's knows it too.
        let learned = stale.learned.get(&actor.number).copied().unwrap_or(0).max(actor.time);
        let fences = stale.fences.get(&writer.thread);
        let first = fences
            .and_then(|fences| fences.get(fences.partition_point(|&(time, _)| time <= writer.time)).copied());
        first.is_some_and(|(time, scope)| {
            let block = thread_of(writer.thread, self.warps).block;
            time <= learned && self.covers(actor.thread.block, block, scope)
        })
    }

    fn stale_loads(&mut self, core: &mut Core<'_>, op: &Micro, access: &Access) {
        let Some(mut stale) = self.stale.take() else { return };
        let may = matches!(access.order, Order::Weak | Order::Relaxed | Order::Volatile)
            && !(core.spy.recording || stale.newest)
            // Elements of a strong vector are seen together, as cards do it and code relies on it.
            && (access.elements == 1 || access.order == Order::Weak);
        stale.seen.clear();
        for (actor, memory, address, bytes, now) in self.elements_of(core, op, access) {
            let Some(location) = stale.location(memory, address, bytes, now) else { continue };
            let mut versions = std::mem::take(&mut location.versions);
            let newest = versions.len() - 1;
            let mut oldest = newest;
            while oldest > 0
                && versions.get(oldest).is_some_and(|version| !self.stale_knows(&stale, &actor, version))
            {
                oldest -= 1;
            }
            if oldest < newest {
                let mut chosen = newest;
                if may && stale.draws.below(2) == 0 {
                    chosen = oldest + stale.draws.below((newest - oldest) as u64) as usize;
                }
                if let Some(version) = versions.get_mut(chosen) {
                    if let Some(value) = version.value.filter(|_| chosen < newest) {
                        stale.seen.push((actor.thread.lane as usize, value));
                    }
                    if !version.readers.iter().any(|&(thread, _)| thread == actor.number) {
                        version.readers.push((actor.number, actor.time));
                    }
                    if version.readers.len() > MOST_READERS {
                        versions.drain(..chosen);
                    }
                }
            }
            if let Some(location) = stale.location(memory, address, bytes, now) {
                location.versions = versions;
            }
        }
        if !stale.seen.is_empty() {
            self.later = Some(Op::Load(*access));
        }
        self.stale = Some(stale);
    }

    fn stale_stores(&mut self, core: &mut Core<'_>, op: &Micro, access: &Access) {
        for (actor, memory, address, bytes, now) in self.elements_of(core, op, access) {
            self.stale_write(&actor, memory, address, bytes, now);
        }
    }

    /// Notes that a location gets a new value. Of several lanes that write it in one operation nobody can tell which
    /// come first, so whoever knows of one of them knows the value that is left.
    pub(super) fn stale_write(&mut self, actor: &Actor, memory: Memory, address: u64, bytes: u64, now: u64) {
        let Some(stale) = &mut self.stale else { return };
        let operation = stale.operation;
        let Some(location) = stale.location(memory, address, bytes, now) else { return };
        match location.versions.last_mut() {
            Some(newest) if newest.value.is_none() => newest.readers.push((actor.number, actor.time)),
            _ => {
                if location.versions.len() >= MOST_VERSIONS {
                    location.versions.remove(0);
                }
                let writer = Mark { thread: actor.number, time: actor.time, site: 0 };
                location.versions.push(Version { value: None, operation, writer, readers: SmallVec::new() });
            }
        }
    }

    /// Notes that a thread has read the newest value of a location.
    pub(super) fn stale_read(&mut self, actor: &Actor, memory: Memory, address: u64, bytes: u64, now: u64) {
        let Some(stale) = &mut self.stale else { return };
        let Some(location) = stale.location(memory, address, bytes, now) else { return };
        if let Some(newest) = location.versions.last_mut() {
            newest.readers.push((actor.number, actor.time));
            if newest.readers.len() > MOST_READERS {
                let older = location.versions.len() - 1;
                location.versions.drain(..older);
            }
        }
    }

    /// The accesses of lanes: who, where, how many bytes, and what is there now.
    fn elements_of(
        &mut self,
        core: &mut Core<'_>,
        op: &Micro,
        access: &Access,
    ) -> Vec<(Actor, Memory, u64, u64, u64)> {
        let seen =
            matches!(access.space, Space::Global | Space::Shared | Space::SharedCluster | Space::Generic);
        let (true, true, Some(bytes)) = (seen, op.c != Slot::NONE, element_bytes(access.ty)) else {
            return Vec::new();
        };
        let at = addresses(core, op);
        let (block, warp) = (core.place.block, core.place.warp);
        let mut elements = Vec::new();
        for lane in lanes(core.active) {
            let Some((memory, address)) = self.memory(block, access.space, at[lane]) else { continue };
            if address % u64::from(bytes) != 0 {
                continue;
            }
            let Some(now) = core.peek(access.space, lane, at[lane], bytes) else { continue };
            let Some(actor) = self.actor(block, warp, lane) else { continue };
            elements.push((actor, memory, address, bytes.into(), now));
        }
        elements
    }

    /// After a load: its lanes get what they see.
    pub(super) fn stale_after(&mut self, core: &mut Core<'_>, op: &Micro, position: usize, access: &Access) {
        let Some(stale) = &mut self.stale else { return };
        let seen = std::mem::take(&mut stale.seen);
        if seen.is_empty() {
            return;
        }
        let (Some(bytes), Some(plane)) = (element_bytes(access.ty), plane_of(core, op, position)) else {
            return;
        };
        let unused = 64 - 8 * bytes;
        for (lane, value) in seen {
            let value = match access.ty.is_signed() {
                true => ((value << unused) as i64 >> unused) as u64,
                false => value,
            };
            match plane {
                Plane::Narrow => core.narrow_mut(op.d)[lane % 32] = value as u32,
                Plane::Wide => core.wide_mut(op.d)[lane % 32] = value,
                Plane::Predicate => {}
            }
        }
    }
}

/// The plane of the register that a load writes; `None` where its result is not kept.
fn plane_of(core: &Core<'_>, op: &Micro, position: usize) -> Option<Plane> {
    let Origin::Instruction(id) = core.code.origins.get(position)? else { return None };
    let function = &core.code.function;
    let instruction = function.instructions.get(id.0 as usize)?;
    let places = function.destinations(instruction.operands).iter().filter_map(|to| to.register());
    let mut places = places.filter_map(|register| core.code.rows.get(register.0 as usize));
    places.find(|place| place.slot == op.d).map(|place| place.plane)
}
