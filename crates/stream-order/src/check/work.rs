//! What calls ask is put into the order, and waits there until it is known which bytes it concerns.

use standstill_trace::{Access, Allocation, Memory, Operation, Target, Work};

use super::{Check, Event, HOST, What};
use crate::actors::{Caller, Known};
use crate::completion::{Completion, completion};
use crate::conflict::{Actor, Deed, Name};
use crate::log::Recorded;
use crate::memory::Freed;
use crate::order::Placed;
use crate::talk::Talker;

impl Check {
    /// Where an operation of a stream stands.
    pub(super) fn place(&mut self, stream: u64, work: &Work) -> Placed {
        let placed = self.order.place(stream, work);
        self.waited(placed)
    }

    /// An operation was put in; what one waits for in memory may come later, or not be seen.
    pub(super) fn waited(&mut self, (placed, met): (Placed, bool)) -> Placed {
        if !met {
            let (strand, index, before) = (placed.strand, placed.index, (*placed.before).clone());
            let (submitted, began, ended, by) = (0, None, None, None);
            self.unanswered.add(Talker { strand, index, before, submitted, began, ended, by });
        }
        placed
    }

    pub(super) fn work(
        &mut self,
        caller: Caller,
        operation: Operation,
        (stream, graph): (u64, Option<Operation>),
        placed: &Placed,
        work: &Work,
    ) {
        self.coverage.operations += 1;
        if self.host_is_not_seen && is_beside_the_host(work) {
            self.coverage.beside_unseen += 1;
            self.coverage.beside_unseen_at.get_or_insert(caller.site);
        }
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

    pub(super) fn free(&mut self, caller: Caller, address: u64) {
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

    pub(super) fn note_record(&mut self, caller: Caller, operation: Operation, event: u64, placed: &Placed) {
        let Some(recorded) = self.order.recorded(event) else { return };
        let covers = recorded.covers.clone();
        let (strand, index) = (placed.strand, placed.index);
        self.log.record(event, Recorded { operation, strand, index, covers, site: caller.site });
    }

    pub(super) fn host(&mut self, caller: Caller, name: &'static str) -> u64 {
        self.host_accesses += 1;
        let number = HOST + self.host_accesses;
        let actor = caller.actor(None, Name::Other(name));
        self.actors.insert(number, Known::of(actor));
        number
    }

    pub(super) fn push(&mut self, actor: u64, placed: Option<Placed>, what: What) {
        self.waiting.push_back(Event { actor, placed, what });
    }
}

/// Whether the host could touch the same bytes meanwhile.
fn is_beside_the_host(work: &Work) -> bool {
    match work {
        Work::Copy { copied, .. } => {
            let host =
                [copied.from, copied.to].iter().any(|side| matches!(side, Memory::Pinned | Memory::Managed));
            host && completion(*copied) == Completion::Submitted
        }
        Work::HostFunction { .. } => true,
        _ => false,
    }
}
