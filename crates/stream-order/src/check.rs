//! Takes a trace record by record and gives the pairs that nothing orders.

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use standstill_findings::Rule;
use standstill_trace::{Access, Allocation, Call, Mode, Operation, Record, Site, StreamKind, Target, Work};

use crate::actors::{Caller, Known, Names};
use crate::clock::Strand;
use crate::completion::{Completion, completion};
use crate::conflict::{Actor, Certainty, Conflict, Deed, Name};
use crate::coverage::Coverage;
use crate::found::Found;
use crate::history::{Before, Clash, History, Touch};
use crate::log::{Log, Recorded, Waited};
use crate::memory::{Freed, Memory};
use crate::order::{Order, Placed};
use crate::rules::{self, Pair};
use crate::talk::{Talk, Talker};

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
                let placed = self.order.node(*operation, *launch, after);
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

    /// Where an operation of a stream stands.
    fn place(&mut self, stream: u64, work: &Work) -> Placed {
        let (placed, met) = self.order.place(stream, work);
        if !met {
            // It waits for something that comes later, or that is not seen.
            let (strand, index, before) = (placed.strand, placed.index, (*placed.before).clone());
            let (submitted, began, ended, by) = (0, None, None, None);
            self.unanswered.add(Talker { strand, index, before, submitted, began, ended, by });
        }
        placed
    }

    fn work(
        &mut self,
        caller: Caller,
        operation: Operation,
        (stream, graph): (u64, Option<Operation>),
        placed: &Placed,
        work: &Work,
    ) {
        self.coverage.operations += 1;
        let (name, what) = match work {
            Work::Order | Work::WriteValue { .. } | Work::WaitValue { .. } => return,
            Work::Record { event } => {
                self.order.set_record(operation, *event, placed);
                self.note_record(caller, operation, *event, placed);
                return;
            }
            Work::Copy { accesses, .. } => (Name::Other("copy"), What::Touch(Some(accesses.clone()))),
            Work::Fill { accesses, .. } => (Name::Other("memset"), What::Touch(Some(accesses.clone()))),
            Work::Kernel { name, accesses } => {
                (Name::Kernel(self.names.get(name)), What::Touch(accesses.clone()))
            }
            Work::Launch { .. } => (Name::Other("kernel"), What::Touch(Some(Vec::new()))),
            Work::HostFunction { accesses } => (Name::Other("host function"), What::Touch(accesses.clone())),
            Work::Allocate { address, bytes } => {
                let range = self.memory.pool(*address, *bytes);
                (Name::Other("allocation"), What::Deed(Deed::Begin, range))
            }
            Work::Free { address } => {
                (Name::Other("free"), What::Deed(Deed::End, self.memory.unpool(*address)))
            }
        };
        let graph = graph.and_then(|launch| Some((launch, *self.launches.get(&launch)?)));
        let actor = Actor { graph, ..caller.actor(Some(stream), name) };
        let kind = self.kinds.get(&stream).copied();
        let host_function = matches!(work, Work::HostFunction { .. });
        let done = match work {
            Work::Copy { copied, .. } => completion(*copied),
            Work::Fill { done: true, .. } => Completion::Done,
            _ => Completion::Submitted,
        };
        let synchronous = matches!(work, Work::Copy { copied, .. } if !copied.asynchronous);
        let staged = synchronous && done == Completion::SourceTaken;
        let known = Known { kind, host_function, staged, ..Known::of(actor) };
        self.actors.insert(operation, known);
        if done == Completion::SourceTaken {
            self.take_source(caller, operation, placed, what);
        } else {
            self.push(operation, Some(placed.clone()), what);
        }
        if done == Completion::Done {
            self.order.returned(placed);
        }
    }

    /// A copy whose source the host itself reads before the call returns.
    fn take_source(&mut self, caller: Caller, operation: Operation, placed: &Placed, what: What) {
        let What::Touch(Some(accesses)) = what else { return };
        let (source, rest): (Vec<Access>, Vec<Access>) =
            accesses.into_iter().partition(|access| Deed::from(access.mode) == Deed::Read);
        let host = self.host(caller, "the copy's reading of its source");
        let read = self.order.host_access();
        self.push(host, Some(read), What::Touch(Some(source)));
        self.push(operation, Some(placed.clone()), What::Touch(Some(rest)));
    }

    fn free(&mut self, caller: Caller, address: u64) {
        let Freed { range, kind, context } = self.memory.free(address);
        match kind {
            // It waits for the whole device (CUDA C++ Programming Guide, «Stream Ordered Memory Allocator»).
            Allocation::Device | Allocation::Managed => {
                self.order.done(context.map_or(Target::Device, Target::Context));
            }
            Allocation::Pinned | Allocation::Registered | Allocation::Pool => {
                let placed = self.order.host_access();
                let actor = self.host(caller, "the host's free");
                self.push(actor, Some(placed), What::Deed(Deed::End, range.clone()));
            }
        }
        self.push(0, None, What::Forget(range));
    }

    fn note_record(&mut self, caller: Caller, operation: Operation, event: u64, placed: &Placed) {
        let Some(recorded) = self.order.recorded(event) else { return };
        let covers = recorded.covers.clone();
        let (strand, index) = (placed.strand, placed.index);
        self.log.record(event, Recorded { operation, strand, index, covers, site: caller.site });
    }

    fn host(&mut self, caller: Caller, name: &'static str) -> u64 {
        self.host_accesses += 1;
        let number = HOST + self.host_accesses;
        let actor = caller.actor(None, Name::Other(name));
        self.actors.insert(number, Known::of(actor));
        number
    }

    fn push(&mut self, actor: u64, placed: Option<Placed>, what: What) {
        self.waiting.push_back(Event { actor, placed, what });
    }

    /// Works off what is known, in the order of submission.
    fn settle(&mut self) {
        while let Some(event) = self.waiting.front() {
            if matches!(event.what, What::Touch(None)) {
                return;
            }
            if let Some(event) = self.waiting.pop_front() {
                self.happen(event);
            }
        }
        if self.waiting.is_empty() {
            self.talk.retire(self.order.settled());
            self.unanswered.retire(self.order.settled());
        }
        if self.history.len().max(self.actors.len()).max(self.destroyed.len()) > self.sweep_at {
            self.sweep();
        }
    }

    fn happen(&mut self, event: Event) {
        let mut clashes = Vec::new();
        let placed = event.placed.map(|placed| (placed.strand, placed.index, placed.before));
        match (event.what, placed) {
            (What::Forget(range), _) => self.history.forget(range),
            (What::Touch(Some(accesses)), Some((strand, index, before))) => {
                let before = self.with_talk(event.actor, &accesses, (strand, index), before);
                let touches = accesses.iter().filter(|access| access.mode != Mode::Signal);
                for access in touches {
                    self.coverage.widened += u64::from(!access.exact);
                    let (deed, exact) = (access.mode.into(), access.exact);
                    let touch = Touch { actor: event.actor, strand, index, deed, exact };
                    self.history.touch(touch, access, &before, &mut clashes);
                }
            }
            (What::Deed(deed, range), Some((strand, index, before))) => {
                if deed == Deed::Begin {
                    // Whoever had these bytes before is the pool's business.
                    self.history.forget(range.clone());
                }
                let touch = Touch { actor: event.actor, strand, index, deed, exact: true };
                self.whole(touch, range, &before, &mut clashes);
            }
            _ => {}
        }
        for clash in clashes {
            self.conflict(&clash);
        }
    }

    /// What may come before something that touches bytes, be it by calls or by what host and device told each other.
    fn with_talk(
        &mut self,
        number: u64,
        accesses: &[Access],
        (strand, index): (Strand, u64),
        before: Before,
    ) -> Before {
        let Some(known) = self.actors.get_mut(&number) else { return before };
        if number >= HOST {
            let mut before = (*before).clone();
            before.join(&self.talk.told(known.actor.record, known.seen));
            return Rc::new(before);
        }
        let talks = known.host_function || accesses.iter().any(|access| access.mode == Mode::Signal);
        known.unanswered = self.unanswered.may_hold_up(&before);
        known.waits_behind = (talks || self.talk.may_hold_up(&before)).then(|| before.clone());
        if talks {
            let (submitted, began, ended) = (known.actor.record, known.began, known.ended);
            let signals = accesses.iter().filter(|access| access.mode == Mode::Signal).copied();
            let signals: Vec<Access> = signals.collect();
            let own = |access: &Access| self.memory.is_registered(access.address);
            // What is not known to have ended was not seen to run.
            let is_seen = !known.host_function && ended.is_some() && !signals.iter().any(own);
            let (before, by) = ((*before).clone(), is_seen.then_some(signals));
            self.talk.add(Talker { strand, index, before, submitted, began, ended, by });
        }
        before
    }

    fn whole(
        &mut self,
        touch: Touch,
        range: std::ops::Range<u64>,
        before: &Before,
        clashes: &mut Vec<Clash>,
    ) {
        let width = range.end - range.start;
        let access = Access::bytes(Mode::Write, range.start, width);
        self.history.touch(touch, &access, before, clashes);
    }

    fn conflict(&mut self, clash: &Clash) {
        // An operation may read and write the same bytes.
        if clash.earlier.actor == clash.later.actor {
            return;
        }
        let sides = [&clash.earlier, &clash.later].map(|touch| (touch.deed, touch.exact));
        let certainty = Certainty::of(sides);
        let unknown = sides.iter().all(|(deed, exact)| *deed == Deed::May && *exact);
        if certainty.is_none() && !unknown {
            return;
        }
        let (Some(earlier), Some(later)) =
            (self.actors.get(&clash.earlier.actor), self.actors.get(&clash.later.actor))
        else {
            return;
        };
        let host_accesses = later.actor.stream.is_none() && clash.later.deed != Deed::End;
        let place = (clash.earlier.strand, clash.earlier.index);
        let bytes = clash.address..clash.address.saturating_add(clash.bytes);
        let can_wait = |before| self.talk.can_wait(place, before, &bytes, later.actor.record);
        let waits = host_accesses && earlier.waits_behind.as_deref().is_some_and(can_wait);
        if waits || earlier.unanswered || later.unanswered {
            return;
        }
        let Some(certainty) = certainty else {
            let pair = (earlier.actor.site, later.actor.site);
            if self.undecided.insert(pair) {
                self.coverage.undecided += 1;
                self.coverage.undecided_at.get_or_insert(pair.1);
            }
            return;
        };
        let pair = Pair {
            clash,
            earlier: &earlier.actor,
            later: &later.actor,
            operation: clash.later.actor,
            kinds: [earlier.kind, later.kind],
            host_function: earlier.host_function || later.host_function,
        };
        let ((rule, hints), doubt) = rules::judge(&pair, &self.log);
        let staged = earlier.staged;
        let (earlier, later) = (earlier.actor.clone(), later.actor.clone());
        let conflict = Conflict {
            rule,
            earlier: (earlier, clash.earlier.deed),
            later: (later, clash.later.deed),
            address: clash.address,
            bytes: clash.bytes,
            certainty,
            hints,
            staged,
            times: 1,
        };
        self.found.add(conflict, doubt);
    }

    /// A call that breaks a rule by itself.
    fn alone(&mut self, rule: Rule, earlier: (Actor, Deed), later: Actor) {
        let (later, hints) = ((later, Deed::Read), Vec::new());
        let conflict = Conflict {
            rule,
            earlier,
            later,
            address: 0,
            bytes: 0,
            certainty: Certainty::Known,
            hints,
            staged: false,
            times: 1,
        };
        self.found.add(conflict, None);
    }

    /// Forgets what comes before everything that can still come, and actors that nothing names any more.
    fn sweep(&mut self) {
        self.history.retire(self.order.settled());
        let named: FxHashSet<u64> =
            self.history.actors().chain(self.waiting.iter().map(|event| event.actor)).collect();
        self.actors.retain(|number, _| named.contains(number));
        if self.waiting.is_empty() {
            self.destroyed.drain(..).for_each(|event| self.log.forget_event(event));
        }
        self.sweep_at = SWEEP.max(2 * self.history.len().max(self.actors.len()));
    }
}
