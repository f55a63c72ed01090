//! What the program's calls let its host threads know to be done, so that memory of the host which no unfinished
//! operation touches can be left open.
//!
//! This decides what is watched and never what is reported: the verdict is the trace's reader's.

use std::collections::{BTreeMap, HashMap};

use standstill_host_access::{self as host_access, Owner, Refuses};
use standstill_trace::{Access, Call, Copied, Memory, Mode, Target};

use crate::operation::{EventId, OperationId, StreamId, Work};
use crate::queue::StreamKind;
use crate::recorder;

/// The newest operation of each stream that comes before something.
type Before = BTreeMap<StreamId, u64>;

fn join(into: &mut Before, other: &Before) {
    for (stream, operation) in other {
        let newest = into.entry(*stream).or_default();
        *newest = (*newest).max(*operation);
    }
}

/// What comes before what, as far as the program has put it in.
#[derive(Debug, Default)]
pub(super) struct KnownOrder {
    streams: HashMap<StreamId, (Option<StreamKind>, Before)>,
    events: HashMap<EventId, Before>,
}

impl KnownOrder {
    /// An operation of a stream, behind an event if it waits for one.
    pub(super) fn submit(
        &mut self,
        stream: StreamId,
        kind: Option<StreamKind>,
        operation: OperationId,
        event: Option<EventId>,
    ) {
        let mut before = self.before(stream, kind);
        if let Some(record) = event.and_then(|event| self.events.get(&event)) {
            join(&mut before, record);
        }
        before.insert(stream, operation.0);
        self.streams.insert(stream, (kind, before));
    }

    /// The stream's newest operation records an event.
    pub(super) fn record(&mut self, stream: StreamId, event: EventId) {
        if let Some((_, before)) = self.streams.get(&stream) {
            self.events.insert(event, before.clone());
        }
    }

    fn before(&self, stream: StreamId, kind: Option<StreamKind>) -> Before {
        let mut before = self.streams.get(&stream).map(|(_, before)| before.clone()).unwrap_or_default();
        let is = |other: Option<StreamKind>, wanted: fn(StreamKind) -> bool| other.is_some_and(wanted);
        let wanted: fn(StreamKind) -> bool = match kind {
            Some(StreamKind::Legacy) => StreamKind::is_blocking,
            Some(kind) if kind.is_blocking() => |kind| kind == StreamKind::Legacy,
            _ => |_| false,
        };
        for (_, other) in self.streams.values().filter(|(kind, _)| is(*kind, wanted)) {
            join(&mut before, other);
        }
        before
    }

    /// What is done when a call has waited for this; `None` for everything.
    pub(super) fn done(&mut self, target: Target) -> Option<Before> {
        match target {
            Target::Device | Target::Context(_) => {
                self.events.clear();
                self.streams.values_mut().for_each(|(_, before)| before.clear());
                None
            }
            Target::Stream(stream) => {
                let stream = StreamId(stream);
                Some(self.before(stream, self.streams.get(&stream).and_then(|(kind, _)| *kind)))
            }
            Target::Event(event) => Some(self.events.get(&EventId(event)).cloned().unwrap_or_default()),
        }
    }

    /// A stream is forgotten; what it did is done when the device is.
    pub(super) fn destroy_stream(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    /// An event is forgotten.
    pub(super) fn destroy_event(&mut self, event: EventId) {
        self.events.remove(&event);
    }
}

/// Opens the memory of operations that are done.
pub(super) fn release(done: Option<&Before>) {
    host_access::release(&|owner: Owner| {
        let newest = |done: &Before| done.get(&StreamId(owner.stream)).copied().unwrap_or(0);
        done.is_none_or(|done| owner.operation <= newest(done))
    });
}

/// Closes the memory of the host that an operation may touch.
pub(super) fn guard(stream: StreamId, operation: OperationId, work: &Work) {
    let owner = Owner { stream: stream.0, operation: operation.0 };
    let guard = |access: &Access| {
        let refuses = if access.mode == Mode::Read { Refuses::Writes } else { Refuses::Everything };
        let bytes = access.pitch.saturating_mul(access.rows.saturating_sub(1)).saturating_add(access.width);
        host_access::guard(access.address as usize, bytes as usize, refuses, owner);
    };
    match recorder::traced(work) {
        _ if returns_done(work) => {}
        standstill_trace::Work::Copy { accesses, .. } | standstill_trace::Work::Fill { accesses, .. } => {
            accesses.iter().for_each(guard);
        }
        standstill_trace::Work::Kernel { .. } => {
            if let Work::Launch(launch) = work {
                host_access::guard_reachable(&launch.parameters, owner);
            }
        }
        _ => {}
    }
}

/// Whether the call that puts it in returns only when it is done, and all that comes before it.
pub(super) fn returns_done(work: &Work) -> bool {
    match work {
        Work::Copy(copy) => {
            let Copied { asynchronous, from, to } = copy.copied;
            match (asynchronous, from, to) {
                (false, Memory::Device | Memory::Pageable, Memory::Device) => false,
                (false, ..) => true,
                (true, ..) => to == Memory::Pageable,
            }
        }
        Work::Fill(fill) => fill.waits,
        _ => false,
    }
}

/// What a call lets the program know to be done.
pub(super) fn target(call: &Call) -> Option<Target> {
    match call {
        Call::Synchronise(target) => Some(*target),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: StreamId = StreamId(1);
    const B: StreamId = StreamId(2);
    const EVENT: EventId = EventId(1);

    #[test]
    fn waiting_for_a_stream_tells_of_all_that_comes_before() {
        let mut order = KnownOrder::default();
        let free = Some(StreamKind::NonBlocking);
        order.submit(A, free, OperationId(1), None);
        order.submit(A, free, OperationId(2), None);
        order.record(A, EVENT);
        order.submit(A, free, OperationId(3), None);
        order.submit(B, free, OperationId(4), Some(EVENT));
        let pairs = |before: Option<Before>| {
            before.map(|before| {
                before.into_iter().map(|(stream, newest)| (stream.0, newest)).collect::<Vec<_>>()
            })
        };
        assert_eq!(pairs(order.done(Target::Event(1))), Some(vec![(1, 2)]));
        assert_eq!(pairs(order.done(Target::Stream(2))), Some(vec![(1, 2), (2, 4)]));
        assert_eq!(pairs(order.done(Target::Stream(0))), Some(vec![]));
        assert_eq!(pairs(order.done(Target::Device)), None);
    }

    #[test]
    fn the_legacy_stream_comes_behind_blocking_ones() {
        let mut order = KnownOrder::default();
        order.submit(A, Some(StreamKind::Blocking), OperationId(1), None);
        order.submit(B, Some(StreamKind::NonBlocking), OperationId(2), None);
        order.submit(StreamId::LEGACY, Some(StreamKind::Legacy), OperationId(3), None);
        let done = order.done(Target::Stream(0)).unwrap_or_default();
        assert_eq!(done, Before::from([(StreamId::LEGACY, 3), (A, 1)]));
    }
}
