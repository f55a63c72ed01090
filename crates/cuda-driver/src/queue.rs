//! Which operation may run: the order that streams and events give, and nothing else.
//!
//! Order comes from the stream (an operation waits for the one before it), from events, and from the legacy
//! default stream with the blocking streams (CUDA C++ Programming Guide, «Default Stream»).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::operation::{EventId, OperationId, StreamId, Work};

/// Which of the operations that may begin is begun first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OperationOrder {
    /// Each as soon as the program's own order lets it, and of those that may begin the first one submitted: as a card
    /// with room does. A copy is over before a kernel is that was submitted earlier to another stream.
    #[default]
    Submission,
    /// One at a time, the newest first and none before something waits for it: whatever the program does not order
    /// itself happens the other way round, so that a missing edge shows as wrong numbers.
    Adversarial,
}

impl OperationOrder {
    /// The order of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<OperationOrder> {
        [OperationOrder::Submission, OperationOrder::Adversarial]
            .into_iter()
            .find(|order| order.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            OperationOrder::Submission => "submission",
            OperationOrder::Adversarial => "adversarial",
        }
    }
}

/// What a thread of the program waits for.
#[derive(Debug, Clone, Copy)]
pub enum Awaited {
    /// One operation.
    Done(OperationId),
    /// Everything submitted no later.
    AllBefore(OperationId),
}

/// How a stream behaves towards the legacy default stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// The legacy default stream itself.
    Legacy,
    /// Ordered with the legacy default stream both ways.
    Blocking,
    /// A host thread's own default stream: ordered with it as a blocking one.
    PerThread,
    /// Not ordered with it.
    NonBlocking,
}

impl StreamKind {
    /// Whether the legacy default stream waits for it and is waited for by it.
    #[must_use]
    pub fn is_blocking(self) -> bool {
        matches!(self, StreamKind::Blocking | StreamKind::PerThread)
    }
}

#[derive(Debug, Clone)]
struct Stream {
    kind: StreamKind,
    /// The last operation; `None` when there was none or it is done.
    last: Option<OperationId>,
    /// The program has destroyed it; what is left of its work is still ordered with the legacy default stream.
    destroyed: bool,
}

#[derive(Debug)]
struct Entry {
    stream: StreamId,
    /// Taken when it begins.
    work: Option<Work>,
    /// What must be done before.
    waits_for: BTreeSet<OperationId>,
    /// Who waits for it.
    followers: Vec<OperationId>,
}

/// All operations that are not done, with their order.
#[derive(Debug)]
pub struct Queue {
    next: u64,
    entries: BTreeMap<OperationId, Entry>,
    ready: BTreeSet<OperationId>,
    streams: HashMap<StreamId, Stream>,
    /// The most recent record of each event.
    records: HashMap<EventId, OperationId>,
}

impl Default for Queue {
    fn default() -> Self {
        let legacy = Stream { kind: StreamKind::Legacy, last: None, destroyed: false };
        Queue {
            next: 1,
            entries: BTreeMap::new(),
            ready: BTreeSet::new(),
            streams: HashMap::from([(StreamId::LEGACY, legacy)]),
            records: HashMap::new(),
        }
    }
}

impl Queue {
    /// Makes a stream known.
    pub fn add_stream(&mut self, id: StreamId, kind: StreamKind) {
        self.streams.insert(id, Stream { kind, last: None, destroyed: false });
    }

    /// Forgets a stream; its operations run to their end.
    pub fn remove_stream(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.destroyed = true;
        }
        let entries = &self.entries;
        self.streams.retain(|_, stream| {
            !stream.destroyed || stream.last.is_some_and(|last| entries.contains_key(&last))
        });
    }

    /// Whether the stream is known.
    #[must_use]
    pub fn has_stream(&self, id: StreamId) -> bool {
        self.streams.get(&id).is_some_and(|stream| !stream.destroyed)
    }

    /// What kind of stream it is.
    #[must_use]
    pub fn kind(&self, id: StreamId) -> Option<StreamKind> {
        self.streams.get(&id).map(|stream| stream.kind)
    }

    /// Adds an operation behind everything that its stream orders before it.
    pub fn submit(&mut self, stream: StreamId, work: Work) -> OperationId {
        let before = self.before(stream);
        let id = self.insert(stream, work, before);
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.last = Some(id);
        }
        id
    }

    /// Adds an operation with exactly this order before it; its stream does not advance (a graph's node).
    pub fn submit_after(
        &mut self,
        stream: StreamId,
        work: Work,
        before: impl IntoIterator<Item = OperationId>,
    ) -> OperationId {
        self.insert(stream, work, before.into_iter().collect())
    }

    /// Everything that an operation added to the stream now would wait for, as one operation of the stream.
    pub fn fork(&mut self, stream: StreamId) -> OperationId {
        self.submit(stream, Work::Order)
    }

    /// Makes what comes next in the stream wait for these operations.
    pub fn join(&mut self, stream: StreamId, others: impl IntoIterator<Item = OperationId>) -> OperationId {
        let mut before = self.before(stream);
        before.extend(others);
        let id = self.insert(stream, Work::Order, before);
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.last = Some(id);
        }
        id
    }

    /// Takes an operation as the event's most recent record: from now on waiting for the event means it.
    pub fn set_record(&mut self, event: EventId, operation: OperationId) {
        self.records.insert(event, operation);
    }

    /// Makes a stream wait for the event's most recent record; an event that was never recorded gives no order.
    pub fn wait(&mut self, stream: StreamId, event: EventId) -> OperationId {
        let record = self.records.get(&event).copied();
        self.join(stream, record)
    }

    /// The event's most recent record.
    #[must_use]
    pub fn last_record(&self, event: EventId) -> Option<OperationId> {
        self.records.get(&event).copied()
    }

    /// Forgets an event.
    pub fn remove_event(&mut self, event: EventId) {
        self.records.remove(&event);
    }

    /// The stream's last operation that is not done.
    #[must_use]
    pub fn last(&self, stream: StreamId) -> Option<OperationId> {
        self.streams.get(&stream)?.last.filter(|id| self.entries.contains_key(id))
    }

    /// Whether an operation is done.
    #[must_use]
    pub fn is_done(&self, id: OperationId) -> bool {
        !self.entries.contains_key(&id)
    }

    /// Whether every operation is done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The most recent operation that is not done.
    #[must_use]
    pub fn newest(&self) -> Option<OperationId> {
        self.entries.keys().next_back().copied()
    }

    /// Whether something submitted no later than `id` is not done.
    #[must_use]
    pub fn busy_until(&self, id: OperationId) -> bool {
        self.entries.keys().next().is_some_and(|first| *first <= id)
    }

    /// The operations that may begin, in the order of submission.
    pub fn ready(&self) -> impl Iterator<Item = OperationId> + '_ {
        self.ready.iter().copied()
    }

    /// The operation to begin where each is put off as long as the program's own order allows: the newest of those
    /// that must be done before all that is awaited is, or else the newest of all.
    #[must_use]
    pub fn latest_ready(&self, awaited: &[Awaited]) -> Option<OperationId> {
        let needed = self.needed(awaited);
        let newest = self.ready.iter().next_back();
        self.ready.iter().rev().find(|id| needed.contains(id)).or(newest).copied()
    }

    /// What must be done before all that is awaited is done, with itself.
    fn needed(&self, awaited: &[Awaited]) -> BTreeSet<OperationId> {
        let mut needed = BTreeSet::new();
        let mut open: Vec<OperationId> = Vec::new();
        for awaited in awaited {
            match awaited {
                Awaited::Done(id) => open.push(*id),
                Awaited::AllBefore(id) => open.extend(self.entries.range(..=*id).map(|(id, _)| *id)),
            }
        }
        while let Some(id) = open.pop() {
            let Some(entry) = self.entries.get(&id) else { continue };
            if needed.insert(id) {
                open.extend(&entry.waits_for);
            }
        }
        needed
    }

    /// Begins an operation that may begin.
    pub fn begin(&mut self, id: OperationId) -> Option<Work> {
        if !self.ready.remove(&id) {
            return None;
        }
        self.entries.get_mut(&id)?.work.take()
    }

    /// The stream that an operation was submitted to.
    #[must_use]
    pub fn stream_of(&self, id: OperationId) -> Option<StreamId> {
        self.entries.get(&id).map(|entry| entry.stream)
    }

    /// Marks an operation as done; what waited only for it may begin.
    pub fn complete(&mut self, id: OperationId) {
        self.ready.remove(&id);
        let Some(entry) = self.entries.remove(&id) else { return };
        for follower in entry.followers {
            if let Some(waiting) = self.entries.get_mut(&follower) {
                waiting.waits_for.remove(&id);
                if waiting.waits_for.is_empty() && waiting.work.is_some() {
                    self.ready.insert(follower);
                }
            }
        }
    }

    /// Drops every operation.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.ready.clear();
        for stream in self.streams.values_mut() {
            stream.last = None;
        }
    }

    /// What the stream orders before its next operation.
    fn before(&self, stream: StreamId) -> BTreeSet<OperationId> {
        let last = |stream: &Stream| stream.last.filter(|id| self.entries.contains_key(id));
        let Some(own) = self.streams.get(&stream) else { return BTreeSet::new() };
        let mut before: BTreeSet<OperationId> = last(own).into_iter().collect();
        match own.kind {
            StreamKind::NonBlocking => {}
            StreamKind::Blocking | StreamKind::PerThread => {
                before.extend(self.streams.get(&StreamId::LEGACY).and_then(last));
            }
            StreamKind::Legacy => {
                let blocking = self.streams.values().filter(|s| s.kind.is_blocking());
                before.extend(blocking.filter_map(last));
            }
        }
        before
    }

    fn insert(&mut self, stream: StreamId, work: Work, before: BTreeSet<OperationId>) -> OperationId {
        let id = OperationId(self.next);
        self.next += 1;
        let waits_for: BTreeSet<_> =
            before.into_iter().filter(|other| self.entries.contains_key(other)).collect();
        for other in &waits_for {
            if let Some(other) = self.entries.get_mut(other) {
                other.followers.push(id);
            }
        }
        if waits_for.is_empty() {
            self.ready.insert(id);
        }
        self.entries.insert(id, Entry { stream, work: Some(work), waits_for, followers: Vec::new() });
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: StreamId = StreamId(1);
    const B: StreamId = StreamId(2);
    const EVENT: EventId = EventId(7);

    fn queue(kind: StreamKind) -> Queue {
        let mut queue = Queue::default();
        queue.add_stream(A, kind);
        queue.add_stream(B, kind);
        queue
    }

    fn ready(queue: &Queue) -> Vec<u64> {
        queue.ready().map(|id| id.0).collect()
    }

    #[test]
    fn streams_are_ordered_within_and_not_between() {
        let mut queue = queue(StreamKind::NonBlocking);
        let first = queue.submit(A, Work::Order);
        queue.submit(A, Work::Order);
        queue.submit(B, Work::Order);
        assert_eq!(ready(&queue), [1, 3]);
        assert!(queue.begin(first).is_some());
        assert_eq!(ready(&queue), [3]);
        queue.complete(first);
        assert_eq!(ready(&queue), [2, 3]);
    }

    #[test]
    fn the_legacy_stream_joins_blocking_streams_only() {
        let mut blocking = queue(StreamKind::Blocking);
        blocking.submit(A, Work::Order);
        blocking.submit(StreamId::LEGACY, Work::Order);
        blocking.submit(B, Work::Order);
        assert_eq!(ready(&blocking), [1]);
        let mut free = queue(StreamKind::NonBlocking);
        free.submit(A, Work::Order);
        free.submit(StreamId::LEGACY, Work::Order);
        free.submit(B, Work::Order);
        assert_eq!(ready(&free), [1, 2, 3]);
    }

    #[test]
    fn adversarial_order_takes_the_newest_that_is_needed() {
        let mut queue = queue(StreamKind::NonBlocking);
        let producer = queue.submit(A, Work::Order);
        let consumer = queue.submit(B, Work::Order);
        let behind = queue.submit(B, Work::Order);
        assert_eq!(queue.latest_ready(&[]), Some(consumer), "the newest that may begin");
        assert_eq!(queue.latest_ready(&[Awaited::Done(producer)]), Some(producer), "only what is needed");
        assert_eq!(queue.latest_ready(&[Awaited::AllBefore(behind)]), Some(consumer));
        queue.complete(consumer);
        assert_eq!(queue.latest_ready(&[Awaited::AllBefore(behind)]), Some(behind));
    }

    #[test]
    fn work_of_a_destroyed_stream_is_still_ordered() {
        let mut queue = queue(StreamKind::Blocking);
        let work = queue.submit(A, Work::Order);
        queue.remove_stream(A);
        assert!(!queue.has_stream(A));
        queue.submit(StreamId::LEGACY, Work::Order);
        assert_eq!(ready(&queue), [1]);
        queue.complete(work);
        assert_eq!(ready(&queue), [2]);
    }

    #[test]
    fn an_event_means_its_most_recent_record_when_the_wait_is_called() {
        let mut queue = queue(StreamKind::NonBlocking);
        queue.wait(B, EVENT);
        assert_eq!(ready(&queue), [1], "never recorded: no order");
        queue.submit(A, Work::Order);
        let record = queue.submit(A, Work::Record(EVENT));
        queue.set_record(EVENT, record);
        queue.wait(B, EVENT);
        queue.complete(OperationId(1));
        assert_eq!(ready(&queue), [2]);
        let again = queue.submit(A, Work::Record(EVENT));
        queue.set_record(EVENT, again);
        queue.complete(OperationId(2));
        queue.complete(record);
        assert_eq!(ready(&queue), [4, 5], "the wait names the first record");
    }
}
