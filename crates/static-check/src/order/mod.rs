//! Memory order: flags published without a release, payloads read without an acquire, and operations whose
//! scope leaves out the block that they should reach (missing-release, missing-acquire, scope-too-narrow).
//!
//! A finding needs both sides in one kernel: a write of a flag, a wait for it, and a payload that the one
//! side stores and the other loads (PTX ISA, «Memory Consistency Model»).

mod acquired;
pub(crate) mod address;
pub(crate) mod flags;
mod leader;
mod partial;
mod paths;
mod report;
mod roles;

use std::cell::RefCell;

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use standstill_findings::Finding;
use standstill_kernel_ir::{BlockId, Instruction, InstructionId, Op, Order, Scope};

use crate::arrivals::Arrivals;
use crate::kernel::Kernel;
use crate::launch::MAXIMUM_BLOCK;
use crate::threads::ThreadValues;
use flags::{Access, Does, Kind, Poll};
use paths::{Exposed, Reach, Way};
use report::Report;

/// Most accesses and polls that are looked at in pairs.
const MAXIMUM_ACCESSES: usize = 4096;
const MAXIMUM_POLLS: usize = 64;

/// Looks for missing order in one kernel.
pub(crate) fn check(kernel: &Kernel<'_>, found: &mut Vec<Finding>) {
    let body = kernel.body;
    let concerned = body.instructions().any(|(id, instruction)| match instruction.op {
        Op::Atomic { .. } => true,
        Op::Load(access) => access.order != Order::Weak && body.loops.innermost(body.block_of(id)).is_some(),
        _ => false,
    });
    if !concerned {
        return;
    }
    let accesses = flags::accesses(body);
    if accesses.len() > MAXIMUM_ACCESSES {
        return;
    }
    let mut polls = flags::polls(body, &accesses);
    polls.truncate(MAXIMUM_POLLS);
    let check = Check {
        kernel,
        accesses: &accesses,
        polls: &polls,
        report: Report { kernel },
        coming: RefCell::default(),
    };
    for poll in &polls {
        check.poll(poll, found);
    }
    for access in &accesses {
        if access.does == Does::Update && !access.shared {
            check.counter(access, found);
            check.counter_seen(access, found);
            check.narrow_update(access, found);
        }
    }
}

struct Check<'a> {
    kernel: &'a Kernel<'a>,
    accesses: &'a [Access],
    polls: &'a [Poll],
    report: Report<'a>,
    /// Which threads of a block come to a block of the code.
    coming: RefCell<FxHashMap<BlockId, FixedBitSet>>,
}

impl Check<'_> {
    /// Whether some thread comes to both accesses, as far as conditions on its index tell.
    fn come_together(&self, first: &Access, second: &Access) -> bool {
        let kernel = self.kernel;
        let coming = |access: &Access| {
            let block = kernel.body.block_of(access.at);
            let known = self.coming.borrow().get(&block).cloned();
            known.unwrap_or_else(|| {
                let mut values = ThreadValues::new(kernel.body, kernel.launch)
                    .unwrap_or_else(|| ThreadValues::of_rows(kernel.body, kernel.launch));
                let threads = kernel.launch.threads().unwrap_or(MAXIMUM_BLOCK);
                let may = Arrivals::of(kernel.body, &mut values, threads, block).may;
                self.coming.borrow_mut().insert(block, may.clone());
                may
            })
        };
        !coming(first).is_disjoint(&coming(second))
    }

    /// Checks each writer of what one read waits for.
    fn poll(&self, poll: &Poll, found: &mut Vec<Finding>) {
        let body = self.kernel.body;
        let behind = self.behind(poll, false);
        let behind_within = self.behind(poll, true);
        for writer in self.accesses {
            if writer.does == Does::Read
                || writer.at == poll.access.at
                || !writer.address.may_meet(&poll.access.address)
                || !flags::can_end(body, poll, flags::written_constant(body, writer))
            {
                continue;
            }
            if let Kind::Lock { .. } = poll.kind
                && !(writer.address.same(&poll.access.address)
                    && flags::written_constant(body, writer).is_some()
                    && self.follows(poll.access.at, writer.at))
            {
                continue;
            }
            let others = !poll.access.shared && roles::in_other_blocks(self.kernel, writer, &poll.access);
            if others && self.narrow_flag(poll, writer, found) {
                continue;
            }
            // What lies in shared memory is not for other blocks.
            let mut loads = if others { behind.clone() } else { behind_within.clone() };
            loads.retain(|load| !(others && load.shared));
            let loads = &loads;
            let before = found.len();
            self.release(poll, writer, others, loads, found);
            self.acquire(poll, writer, others, loads, found);
            if others
                && found.len() == before
                && let Some((store, load, way)) = self.leader_alone(poll, writer, loads)
            {
                self.report.leader_alone(poll, writer, store, load, way, found);
            }
            if let Kind::Spin(_) = poll.kind {
                self.reversed(poll, writer, loads, found);
            }
        }
    }

    /// The loads behind a wait, up to the next wait for something else or barrier of the grid; with
    /// `within` a block, up to any barrier.
    fn behind(&self, poll: &Poll, within: bool) -> Vec<&Access> {
        let body = self.kernel.body;
        let stops = |id: InstructionId, instruction: &Instruction| {
            paths::meets(body, id, instruction, within)
                || self.polls.iter().any(|other| other.access.at == id && id != poll.access.at)
        };
        let (region, _) = paths::behind(body, poll.access.at, &stops);
        let inside = |access: &Access| match &poll.kind {
            Kind::Spin(blocks) => blocks.contains(&body.block_of(access.at)),
            Kind::Lock { .. } => false,
        };
        self.accesses
            .iter()
            .filter(|access| {
                access.does == Does::Read
                    && matches!(body.instruction(access.at).map(|i| i.op), Some(Op::Load(_)))
                    && !access.access.non_coherent
                    && region.contains(body, access.at)
                    && !inside(access)
                    && !self.polls.iter().any(|other| other.access.at == access.at)
                    && apart(access, &poll.access)
            })
            .collect()
    }

    /// Whether an instruction can come behind another without going round a loop.
    fn follows(&self, first: InstructionId, second: InstructionId) -> bool {
        let (region, _) = paths::behind(self.kernel.body, first, &|_, _| false);
        region.contains(self.kernel.body, second)
    }

    /// Whether a store is payload that a load behind the flag is meant to read.
    fn handed_over(&self, poll: &Poll, writer: &Access, store: &Access, load: &Access) -> bool {
        if store.does != Does::Write
            || store.shared != load.shared
            || !store.address.may_meet(&load.address)
            || !apart(store, &poll.access)
            || !apart(store, writer)
        {
            return false;
        }
        if let Kind::Lock { .. } = poll.kind {
            // What a lock protects is one place for all that come to it.
            let within = |access: &Access| {
                let lock = poll.access.address.atoms();
                access.address.is_common(self.kernel)
                    || access.address.atoms().iter().all(|atom| lock.contains(atom))
            };
            return within(store)
                && within(load)
                && self.follows(poll.access.at, store.at)
                && self.follows(load.at, writer.at);
        }
        // Within a block nothing but the flag lies between the two sides: each has its own thread.
        if poll.access.shared
            && !(self.come_together(store, writer) && self.come_together(load, &poll.access))
        {
            return false;
        }
        // The same place in the same thread is its own data.
        !store.address.same(&load.address)
            || store.address.is_common(self.kernel)
            || !self.follows(store.at, load.at) && !self.follows(load.at, store.at)
    }

    fn release(
        &self,
        poll: &Poll,
        writer: &Access,
        others: bool,
        behind: &[&Access],
        found: &mut Vec<Finding>,
    ) {
        let body = self.kernel.body;
        if paths::orders(writer.access.order, Way::Release) {
            return;
        }
        let needed = if others { Reach::Device } else { Reach::Meeting };
        let exposed = Exposed::to(body, writer.at, Way::Release, needed);
        let payload = self.accesses.iter().find_map(|store| {
            let open = store.does == Does::Write && exposed.contains(body, store.at);
            let load = behind.iter().find(|load| open && self.handed_over(poll, writer, store, load))?;
            Some((store, *load))
        });
        let Some((store, load)) = payload else {
            self.fence_left_out(poll, writer, others, &exposed, behind, found);
            return;
        };
        let any = Exposed::to(body, writer.at, Way::Release, Reach::Block);
        if others && !any.contains(body, store.at) {
            if let Some(&fence) = any.covers.last() {
                self.report.narrow_fence(fence, writer, &poll.access, store, load, Way::Release, found);
            }
            return;
        }
        self.report.missing_release(poll, writer, store, load, others, found);
    }

    /// A payload that is fenced on some ways only.
    fn fence_left_out(
        &self,
        poll: &Poll,
        writer: &Access,
        others: bool,
        exposed: &Exposed,
        behind: &[&Access],
        found: &mut Vec<Finding>,
    ) {
        let body = self.kernel.body;
        if !others || !matches!(poll.kind, Kind::Spin(_)) {
            return;
        }
        for store in self.accesses {
            if store.does != Does::Write || !exposed.contains_on_some_ways(body, store.at) {
                continue;
            }
            let load = behind.iter().find(|load| self.handed_over(poll, writer, store, load));
            let Some(load) = load else { continue };
            if let Some(left_out) = partial::left_out(self.kernel, exposed, store, writer, poll, load) {
                self.report.fence_left_out(poll, writer, store, load, &left_out, found);
                return;
            }
        }
    }

    fn acquire(
        &self,
        poll: &Poll,
        writer: &Access,
        others: bool,
        behind: &[&Access],
        found: &mut Vec<Finding>,
    ) {
        let body = self.kernel.body;
        if paths::orders(poll.access.access.order, Way::Acquire)
            || self.tried_again(poll)
            || self.acquired_before(poll, writer)
        {
            return;
        }
        let needed = if others { Reach::Device } else { Reach::Meeting };
        let exposed = Exposed::to(body, poll.access.at, Way::Acquire, needed);
        let stops =
            |id: InstructionId, instruction: &Instruction| paths::meets(body, id, instruction, !others);
        let (before, _) = paths::before(body, writer.at, &stops);
        let payload = behind.iter().filter(|load| exposed.contains(body, load.at)).find_map(|load| {
            let store = self.accesses.iter().find(|store| {
                before.contains(body, store.at) && self.handed_over(poll, writer, store, load)
            })?;
            Some((store, *load))
        });
        let Some((store, load)) = payload else { return };
        let any = Exposed::to(body, poll.access.at, Way::Acquire, Reach::Block);
        if others && !any.contains(body, load.at) {
            if let Some(&fence) = any.covers.last() {
                self.report.narrow_fence(fence, writer, &poll.access, store, load, Way::Acquire, found);
            }
            return;
        }
        self.report.missing_acquire(poll, writer, store, load, others, found);
    }

    /// Whether a poll only looks before an atomic takes the same location.
    fn tried_again(&self, poll: &Poll) -> bool {
        matches!(poll.kind, Kind::Spin(_))
            && self.polls.iter().any(|other| {
                matches!(other.kind, Kind::Lock { .. })
                    && other.access.address.same(&poll.access.address)
                    && self.follows(poll.access.at, other.access.at)
            })
    }

    /// A flag that is written before its payload, with nothing that publishes the payload after that.
    fn reversed(&self, poll: &Poll, writer: &Access, behind: &[&Access], found: &mut Vec<Finding>) {
        let body = self.kernel.body;
        let others = !poll.access.shared && roles::in_other_blocks(self.kernel, writer, &poll.access);
        if !others || flags::written_constant(body, writer).is_none() {
            return;
        }
        let publishes = |access: &Access| {
            access.does == Does::Update
                || access.does == Does::Write
                    && (paths::orders(access.access.order, Way::Release)
                        || self.polls.iter().any(|poll| poll.access.address.may_meet(&access.address)))
        };
        let mut reach = standstill_kernel_ir::Reachability::new(&body.flow);
        let workspace = |reach: &mut standstill_kernel_ir::Reachability<'_>, from| {
            body.instructions().any(|(id, instruction)| match instruction.op {
                Op::Atomic { .. } => body.base(id) == crate::body::Base::Workspace && reach.reaches(from, id),
                Op::ClusterBarrier { .. } | Op::GridDependency { .. } | Op::Opaque(_) => {
                    reach.reaches(from, id)
                }
                _ => false,
            })
        };
        for store in self.accesses {
            let published_later = |reach: &mut standstill_kernel_ir::Reachability<'_>| {
                self.accesses.iter().any(|later| publishes(later) && reach.reaches(store.at, later.at))
            };
            if store.does != Does::Write
                || store.shared
                || !indexed_like(store, writer)
                || !self.follows(writer.at, store.at)
                || published_later(&mut reach)
                || workspace(&mut reach, store.at)
            {
                continue;
            }
            let stored_before = self.accesses.iter().any(|other| {
                other.does == Does::Write
                    && other.address.may_meet(&store.address)
                    && reach.reaches(other.at, writer.at)
            });
            if stored_before {
                continue;
            }
            let load = behind
                .iter()
                .find(|load| self.handed_over(poll, writer, store, load) && indexed_like(load, &poll.access));
            if let Some(load) = load {
                self.report.flag_first(poll, writer, store, load, found);
                return;
            }
        }
    }

    /// Operations of block scope on a flag between blocks.
    fn narrow_flag(&self, poll: &Poll, writer: &Access, found: &mut Vec<Finding>) -> bool {
        let narrow = |access: &Access| {
            access.access.order != Order::Weak
                && paths::scope_of(access.access.order, access.access.scope) == Scope::Cta
        };
        match (narrow(writer), narrow(&poll.access)) {
            (false, false) => false,
            // The name of the lock is where it is taken.
            (true, true) if matches!(poll.kind, Kind::Lock { .. }) => {
                self.report.narrow(&poll.access, writer, found);
                true
            }
            (true, _) => {
                self.report.narrow(writer, &poll.access, found);
                true
            }
            (false, true) => {
                self.report.narrow(&poll.access, writer, found);
                true
            }
        }
    }

    /// A counter by which the last block knows that it is the last, raised before the payload is ordered.
    fn counter(&self, counter: &Access, found: &mut Vec<Finding>) {
        let body = self.kernel.body;
        if paths::orders(counter.access.order, Way::Release)
            || !roles::every_block_comes(self.kernel, counter)
        {
            return;
        }
        let Some(branch) = flags::last_branch(body, counter) else { return };
        let exposed = Exposed::to(body, counter.at, Way::Release, Reach::Device);
        let stores: Vec<&Access> = self
            .accesses
            .iter()
            .filter(|store| store.does == Does::Write && !store.shared && exposed.contains(body, store.at))
            .collect();
        if stores.is_empty() {
            return;
        }
        let (region, _) = paths::behind(body, counter.at, &|_, _| false);
        for load in self.accesses {
            if load.does != Does::Read
                || load.shared
                || load.access.non_coherent
                || !region.contains(body, load.at)
                || !roles::stands_under(body, body.block_of(load.at), branch)
                || load.address.may_meet(&counter.address)
            {
                continue;
            }
            let store = stores.iter().find(|store| {
                store.address.may_meet(&load.address)
                    && !store.address.same(&load.address)
                    && !store.address.may_meet(&counter.address)
            });
            let Some(store) = store else { continue };
            let any = Exposed::to(body, counter.at, Way::Release, Reach::Block);
            if any.contains(body, store.at) {
                self.report.unfenced_counter(counter, store, load, found);
            } else if let Some(&fence) = any.covers.last() {
                self.report.narrow_fence(fence, counter, counter, store, load, Way::Release, found);
            }
            return;
        }
    }

    /// A counter by which the last block knows that it is the last, with nothing between that and its loads.
    fn counter_seen(&self, counter: &Access, found: &mut Vec<Finding>) {
        let body = self.kernel.body;
        if paths::orders(counter.access.order, Way::Acquire)
            || !roles::every_block_comes(self.kernel, counter)
        {
            return;
        }
        let Some(branch) = flags::last_branch(body, counter) else { return };
        let exposed = Exposed::to(body, counter.at, Way::Acquire, Reach::Device);
        let (before, _) = paths::before(body, counter.at, &|_, _| false);
        for load in self.accesses {
            if load.does != Does::Read
                || load.shared
                || load.access.order != Order::Weak
                || load.access.non_coherent
                || !exposed.contains(body, load.at)
                || !roles::stands_under(body, body.block_of(load.at), branch)
                || load.address.may_meet(&counter.address)
            {
                continue;
            }
            let store = self.accesses.iter().find(|store| {
                store.does == Does::Write
                    && !store.shared
                    && before.contains(body, store.at)
                    && store.address.may_meet(&load.address)
                    && !store.address.same(&load.address)
                    && !store.address.may_meet(&counter.address)
            });
            let Some(store) = store else { continue };
            let any = Exposed::to(body, counter.at, Way::Acquire, Reach::Block);
            if any.contains(body, load.at) {
                self.report.unfenced_last(counter, store, load, found);
            } else if let Some(&fence) = any.covers.last() {
                self.report.narrow_fence(fence, counter, counter, store, load, Way::Acquire, found);
            }
            return;
        }
    }

    /// An atomic of block scope on a place that the threads of all blocks update.
    fn narrow_update(&self, update: &Access, found: &mut Vec<Finding>) {
        if update.access.scope == Scope::Cta
            && !self.polls.iter().any(|poll| poll.access.at == update.at)
            && roles::every_block_comes(self.kernel, update)
        {
            self.report.narrow(update, update, found);
        }
    }
}

/// Whether an access goes to another place than a flag: provably, or as a plain access to what is otherwise
/// only accessed atomically or volatile.
fn apart(payload: &Access, flag: &Access) -> bool {
    !payload.address.may_meet(&flag.address)
        || payload.access.order == Order::Weak
            && flag.access.order != Order::Weak
            && !payload.address.same(&flag.address)
}

/// Whether what chooses among several flags chooses among the payloads, too.
fn indexed_like(payload: &Access, flag: &Access) -> bool {
    let atoms = payload.address.atoms();
    flag.address.atoms().iter().all(|atom| atoms.contains(atom))
}
