//! Takes a trace record by record and gives the pairs that nothing orders.

mod settle;
mod work;

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};
use standstill_findings::Rule;
use standstill_trace::{Access, Allocation, Call, Mode, Operation, Record, Site, StreamKind};

use crate::actors::{Caller, Known, Names};
use crate::conflict::{Conflict, Deed, Name};
use crate::coverage::Coverage;
use crate::found::Found;
use crate::history::History;
use crate::log::{Log, Waited};
use crate::memory::Memory;
use crate::order::{Order, Placed};
use crate::talk::Talk;

/// The host's accesses are numbered from here, streams' operations below.
const HOST: u64 = 1 << 63;
/// Pieces of history, or actors, after which what is settled is forgotten.
const SWEEP: usize = 1 << 12;

/// Something that happened to bytes, in the order of submission.
#[derive(Debug)]
struct Event {
    actor: u64,
    placed: Option<Placed>,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Bytes are touched; `None` as long as it is not known which.
    Touch(Option<Vec<Access>>),
    /// Memory becomes usable, or is given back.
    Deed(Deed, std::ops::Range<u64>),
    /// What happened to these bytes is of no interest any more.
    Forget(std::ops::Range<u64>),
}

/// The checker. It keeps what later records can still conflict with.
#[derive(Debug)]
pub struct Check {
    order: Order,
    history: History,
    talk: Talk,
    /// Waits for values of which it is not known what ends them.
    unanswered: Talk,
    log: Log,
    actors: FxHashMap<u64, Known>,
    kinds: FxHashMap<u64, StreamKind>,
    memory: Memory,
    waiting: VecDeque<Event>,
    names: Names,
    /// Events that no record can name any more.
    destroyed: Vec<u64>,
    /// Where graphs were launched whose nodes are still put in.
    launches: FxHashMap<Operation, Site>,
    found: Found,
    /// Places of pairs of which nothing is known.
    undecided: FxHashSet<(Site, Site)>,
    host_accesses: u64,
    /// What the host itself does with memory is not part of the trace.
    host_is_not_seen: bool,
    /// Records so far.
    taken: u64,
    sweep_at: usize,
    coverage: Coverage,
}

impl Default for Check {
    fn default() -> Check {
        Check {
            order: Order::new(),
            history: History::default(),
            talk: Talk::default(),
            log: Log::default(),
            actors: FxHashMap::default(),
            kinds: FxHashMap::from_iter([(0, StreamKind::Legacy)]),
            memory: Memory::default(),
            unanswered: Talk::default(),
            waiting: VecDeque::new(),
            names: Names::default(),
            destroyed: Vec::new(),
            launches: FxHashMap::default(),
            found: Found::default(),
            undecided: FxHashSet::default(),
            host_accesses: 0,
            host_is_not_seen: false,
            taken: 0,
            sweep_at: SWEEP,
            coverage: Coverage::default(),
        }
    }
}

impl Check {
    /// Takes the next record.
    pub fn take(&mut self, record: &Record) {
        let caller = Caller { thread: record.thread, site: record.site, record: self.taken };
        self.taken += 1;
        match &record.call {
            Call::CreateStream { stream, kind } => {
                self.kinds.insert(*stream, *kind);
                self.order.create(*stream, *kind);
            }
            Call::InContext { stream, context } => self.order.set_context(*stream, *context),
            Call::MemoryInContext { address, context } => {
                self.memory.set_context(*address, *context);
            }
            Call::DestroyStream { stream } => {
                self.order.destroy(*stream);
                self.log.forget_stream(*stream);
                self.kinds.remove(stream);
            }
            Call::Submit { operation, stream, work } => {
                let placed = self.place(*stream, work);
                self.work(caller, *operation, (*stream, None), &placed, work);
            }
            Call::LaunchGraph { operation, stream, graph } => {
                self.order.launch_graph(*operation, *stream, *graph);
                self.launches.insert(*operation, caller.site);
            }
            Call::SubmitNode { operation, stream, work, launch, after } => {
                let placed = self.order.node(*operation, *launch, after, work);
                let placed = self.waited(placed);
                self.work(caller, *operation, (*stream, Some(*launch)), &placed, work);
            }
            Call::EndGraph { stream, launch, last, .. } => {
                self.launches.remove(launch);
                self.order.end_graph(*stream, *launch, last);
            }
            Call::RecordEvent { operation, stream, event } => {
                let placed = self.order.record(*operation, *stream, *event);
                self.note_record(caller, *operation, *event, &placed);
            }
            Call::WaitEvent { operation, stream, event } => {
                let record = self.order.recorded(*event).map(|recorded| recorded.operation);
                self.order.wait(*stream, *event);
                let wait = Waited { operation: *operation, event: *event, record, site: caller.site };
                self.log.wait(*stream, wait);
            }
            Call::DestroyEvent { event } => {
                self.order.destroy_event(*event);
                // What waits for its reach may still be explained by it.
                self.destroyed.push(*event);
            }
            Call::Synchronise(target) => self.order.done(*target),
            Call::Allocate { address, bytes, kind } => {
                self.memory.allocate(*address, *bytes, *kind);
                // Registering says something of memory that was there before.
                if *kind != Allocation::Registered {
                    let range = *address..address.saturating_add(*bytes);
                    self.push(0, None, What::Forget(range));
                }
            }
            Call::Free { address } => self.free(caller, *address),
            Call::HostAccess(access) => {
                self.coverage.host_accesses += 1;
                let placed = self.order.host_access();
                let actor = self.host(caller, "the host");
                if let Some(known) = self.actors.get_mut(&actor) {
                    known.seen = true;
                }
                self.talk.see(caller.record, access, access.mode == Mode::Write);
                self.push(actor, Some(placed), What::Touch(Some(vec![*access])));
            }
            Call::HostNotSeen => self.host_is_not_seen = true,
            Call::AccessesUnseen => self.talk.not_seen(caller.record),
            Call::Begin { operation } => {
                if let Some(known) = self.actors.get_mut(operation) {
                    known.began = Some(caller.record);
                }
            }
            Call::Reach { operation, accesses } => {
                if let Some(known) = self.actors.get_mut(operation) {
                    known.ended = Some(caller.record);
                }
                let waiting = self.waiting.iter_mut().find(|event| event.actor == *operation);
                if let Some(Event { what: What::Touch(reach), .. }) = waiting {
                    *reach = Some(accesses.clone());
                }
            }
            Call::CalledInHostFunction { function } => {
                let later = caller.actor(None, Name::Api(self.names.get(function)));
                let earlier = caller.actor(None, Name::Other("host function"));
                self.alone(Rule::HostCallback, (earlier, Deed::Read), later);
            }
            Call::Surfaced { error, cause, what } => {
                let earlier =
                    Caller { site: *cause, ..caller }.actor(None, Name::Kernel(self.names.get(what)));
                let later = caller.actor(None, Name::Api(self.names.get(error)));
                self.alone(Rule::UncheckedAsyncError, (earlier, Deed::Write), later);
            }
            Call::NameSite { .. }
            | Call::NameObject { .. }
            | Call::PlaceSite { .. }
            | Call::ForBackward { .. }
            | Call::NotReady(_) => {}
            // What launches touch is put in before (`Launches`).
            Call::NameKernel { .. }
            | Call::NameLaunch { .. }
            | Call::NameLaunchLike { .. }
            | Call::ReachOfLaunch { .. } => {}
        }
        self.settle();
    }

    /// What was found: takes what is waiting for its reach as touching nothing.
    #[must_use]
    pub fn finish(mut self) -> (Vec<Conflict>, Coverage) {
        for event in &mut self.waiting {
            if let What::Touch(reach @ None) = &mut event.what {
                self.coverage.unknown += 1;
                *reach = Some(Vec::new());
            }
        }
        self.settle();
        (self.found.finish(&self.log), self.coverage)
    }
}
