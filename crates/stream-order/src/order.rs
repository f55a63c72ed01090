//! Happens-before: what comes before the next operation of a stream, and what the host knows to be done.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use standstill_trace::{Operation, StreamKind, Target, Work};

use crate::clock::{Clock, Strand};
use crate::values::Values;

/// Where an operation stands: its strand, its number there, and what comes before it.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) strand: Strand,
    pub(crate) index: u64,
    pub(crate) before: Rc<Clock>,
}

impl Placed {
    /// What comes before whatever comes behind it.
    pub(crate) fn end(&self) -> Clock {
        let mut end = (*self.before).clone();
        end.set(self.strand, self.index);
        end
    }
}

#[derive(Debug)]
struct Stream {
    kind: StreamKind,
    /// The context that it is of: legacy default streams concern no others.
    context: u32,
    strand: Option<Strand>,
    /// What comes before its next operation by its own order.
    clock: Clock,
}

impl Stream {
    /// Whether the legacy default stream waits for it and is waited for by it (CUDA C++ Programming Guide,
    /// «Default Stream»).
    fn is_blocking(&self) -> bool {
        matches!(self.kind, StreamKind::Blocking | StreamKind::PerThread)
    }
}

/// A record of an event.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) operation: Operation,
    /// All that it covers.
    pub(crate) covers: Rc<Clock>,
}

#[derive(Debug)]
struct Launch {
    /// The executable graph.
    graph: u64,
    /// Where each node ends.
    nodes: FxHashMap<Operation, Clock>,
}

#[derive(Debug, Default)]
struct Tail {
    /// Operations so far.
    count: u64,
    /// A stream's own: nobody else may go on with it.
    owned: bool,
}

/// The order of everything so far.
#[derive(Debug)]
pub(crate) struct Order {
    strands: Vec<Tail>,
    streams: FxHashMap<u64, Stream>,
    /// What the host knows to be done. All host threads share it: a call that one made after another's call
    /// returned is taken to have been made because of it.
    host: Clock,
    /// The most recent record of each event.
    events: FxHashMap<u64, Recorded>,
    /// Launches of graphs whose nodes are still put in.
    launches: FxHashMap<Operation, Launch>,
    /// Where the most recent launch of each executable graph ends.
    executed: FxHashMap<u64, Clock>,
    left: FxHashMap<u32, Left>,
    values: Values,
}

/// Work of destroyed streams of a context that its legacy default stream still waits for, and the device as a whole.
#[derive(Debug, Default)]
struct Left {
    blocking: Clock,
    all: Clock,
}

impl Order {
    pub(crate) fn new() -> Order {
        Order {
            strands: vec![Tail { count: 0, owned: true }],
            streams: FxHashMap::default(),
            host: Clock::default(),
            events: FxHashMap::default(),
            launches: FxHashMap::default(),
            executed: FxHashMap::default(),
            left: FxHashMap::default(),
            values: Values::default(),
        }
    }

    pub(crate) fn create(&mut self, stream: u64, kind: StreamKind) {
        let new = Stream { kind, context: 0, strand: None, clock: Clock::default() };
        self.streams.entry(stream).or_insert(new);
    }

    /// The stream is of this context.
    pub(crate) fn set_context(&mut self, stream: u64, context: u32) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.context = context;
        }
    }

    pub(crate) fn destroy(&mut self, stream: u64) {
        let Some(stream) = self.streams.remove(&stream) else { return };
        let left = self.left.entry(stream.context).or_default();
        if stream.is_blocking() {
            left.blocking.join(&stream.clock);
        }
        left.all.join(&stream.clock);
        if let Some(tail) = stream.strand.and_then(|strand| self.strands.get_mut(strand.0 as usize)) {
            tail.owned = false;
        }
    }

    /// What comes before an operation that is put into the stream now.
    fn before(&mut self, stream: u64) -> Clock {
        let kind = if stream == 0 { StreamKind::Legacy } else { StreamKind::NonBlocking };
        self.create(stream, kind);
        let Some(own) = self.streams.get(&stream) else { return Clock::default() };
        let mut before = own.clock.clone();
        before.join(&self.host);
        let beside = self.streams.values().filter(|stream| stream.context == own.context);
        if own.kind == StreamKind::Legacy {
            for blocking in beside.filter(|stream| stream.is_blocking()) {
                before.join(&blocking.clock);
            }
            if let Some(left) = self.left.get(&own.context) {
                before.join(&left.blocking);
            }
        } else if own.is_blocking() {
            for legacy in beside.filter(|stream| stream.kind == StreamKind::Legacy) {
                before.join(&legacy.clock);
            }
        }
        before
    }

    /// A strand that an operation with this before it can go on with.
    fn strand(&mut self, before: &Clock, owned: bool) -> Strand {
        let free = self
            .strands
            .iter()
            .zip(0..)
            .find(|(tail, number)| !tail.owned && before.get(Strand(*number)) >= tail.count);
        let strand = free.map_or_else(|| Strand(self.strands.len() as u32), |(_, number)| Strand(number));
        if strand.0 as usize == self.strands.len() {
            self.strands.push(Tail::default());
        }
        if let Some(tail) = self.strands.get_mut(strand.0 as usize) {
            tail.owned = owned;
        }
        strand
    }

    fn add(&mut self, strand: Strand, before: Clock) -> Placed {
        let tail = self.strands.get_mut(strand.0 as usize);
        let index = tail.map_or(0, |tail| {
            tail.count += 1;
            tail.count
        });
        Placed { strand, index, before: Rc::new(before) }
    }

    fn put(&mut self, stream: u64, before: Clock) -> Placed {
        let own = self.streams.get(&stream).and_then(|stream| stream.strand);
        let strand = own.unwrap_or_else(|| self.strand(&before, true));
        let placed = self.add(strand, before);
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.strand = Some(strand);
            stream.clock = placed.end();
        }
        placed
    }

    /// An operation of a stream.
    pub(crate) fn submit(&mut self, stream: u64) -> Placed {
        let before = self.before(stream);
        self.put(stream, before)
    }

    /// An operation of a stream by what it does; gives whether what it waits for is known, if it waits for a value.
    pub(crate) fn place(&mut self, stream: u64, work: &Work) -> (Placed, bool) {
        match *work {
            Work::WriteValue { address, value, fenced } => {
                (self.write_value(stream, address, value, fenced), true)
            }
            Work::WaitValue { address, value, until, bytes } => {
                self.wait_value(stream, address, &|there| until.is_met(there, value, bytes))
            }
            _ => (self.submit(stream), true),
        }
    }

    /// What stands before all nodes of a graph's launch: launches of one executable graph do not overlap (CUDA
    /// Runtime API, `cudaGraphLaunch`).
    pub(crate) fn launch_graph(&mut self, operation: Operation, stream: u64, graph: u64) -> Placed {
        let mut before = self.before(stream);
        if let Some(last) = self.executed.get(&graph) {
            before.join(last);
        }
        let placed = self.put(stream, before);
        let nodes = FxHashMap::from_iter([(operation, placed.end())]);
        self.launches.insert(operation, Launch { graph, nodes });
        placed
    }

    /// A node of a graph; gives whether what it waits for is known, if it waits for a value.
    pub(crate) fn node(
        &mut self,
        operation: Operation,
        launch: Operation,
        after: &[Operation],
        work: &Work,
    ) -> (Placed, bool) {
        let mut before = self.behind(launch, after);
        let met = match *work {
            Work::WaitValue { address, value, until, bytes } => {
                self.values.wait(address, &|there| until.is_met(there, value, bytes), &mut before)
            }
            _ => true,
        };
        let strand = self.strand(&before, false);
        let placed = self.add(strand, before);
        if let Work::WriteValue { address, value, fenced: true } = *work {
            self.values.write(address, value, &placed);
        }
        if let Some(launch) = self.launches.get_mut(&launch) {
            launch.nodes.insert(operation, placed.end());
        }
        (placed, met)
    }

    /// What stands behind all nodes of a graph's launch.
    pub(crate) fn end_graph(&mut self, stream: u64, launch: Operation, last: &[Operation]) -> Placed {
        let mut before = self.before(stream);
        before.join(&self.behind(launch, last));
        let placed = self.put(stream, before);
        if let Some(launch) = self.launches.remove(&launch) {
            self.executed.insert(launch.graph, placed.end());
        }
        placed
    }

    fn behind(&self, launch: Operation, after: &[Operation]) -> Clock {
        let mut before = Clock::default();
        let launch = self.launches.get(&launch);
        for other in after {
            if let Some(end) = launch.and_then(|launch| launch.nodes.get(other)) {
                before.join(end);
            } else if let Some(record) = self.events.values().find(|record| record.operation == *other) {
                before.join(&record.covers);
            }
        }
        before
    }

    /// Records an event in a stream.
    pub(crate) fn record(&mut self, operation: Operation, stream: u64, event: u64) -> Placed {
        let placed = self.submit(stream);
        self.set_record(operation, event, &placed);
        placed
    }

    /// Takes an operation that was placed otherwise as an event's most recent record.
    pub(crate) fn set_record(&mut self, operation: Operation, event: u64, placed: &Placed) {
        self.events.insert(event, Recorded { operation, covers: Rc::new(placed.end()) });
    }

    /// Lets a stream wait for the event's most recent record; without one there is nothing to wait for.
    pub(crate) fn wait(&mut self, stream: u64, event: u64) -> Placed {
        let mut before = self.before(stream);
        if let Some(record) = self.events.get(&event) {
            before.join(&record.covers);
        }
        self.put(stream, before)
    }

    pub(crate) fn destroy_event(&mut self, event: u64) {
        self.events.remove(&event);
    }

    /// The most recent record of an event.
    pub(crate) fn recorded(&self, event: u64) -> Option<&Recorded> {
        self.events.get(&event)
    }

    /// The host knows that this is done.
    pub(crate) fn done(&mut self, target: Target) {
        match target {
            Target::Event(event) => {
                if let Some(record) = self.events.get(&event) {
                    self.host.join(&record.covers);
                }
            }
            Target::Stream(stream) => {
                let before = self.before(stream);
                self.host.join(&before);
            }
            Target::Device => self.context_done(0),
            Target::Context(context) => self.context_done(context),
        }
    }

    /// All work of a context is done.
    fn context_done(&mut self, context: u32) {
        for stream in self.streams.values().filter(|stream| stream.context == context) {
            self.host.join(&stream.clock);
        }
        if let Some(left) = self.left.get(&context) {
            self.host.join(&left.all);
        }
    }

    /// A stream writes a value that others may wait for.
    pub(crate) fn write_value(&mut self, stream: u64, address: u64, value: u64, fenced: bool) -> Placed {
        let placed = self.submit(stream);
        if fenced {
            self.values.write(address, value, &placed);
        }
        placed
    }

    /// A stream waits for a value; gives whether one that was written so far is that.
    pub(crate) fn wait_value(
        &mut self,
        stream: u64,
        address: u64,
        is_met: &dyn Fn(u64) -> bool,
    ) -> (Placed, bool) {
        let mut before = self.before(stream);
        let met = self.values.wait(address, is_met, &mut before);
        (self.put(stream, before), met)
    }

    /// The host knows that this operation is done, and with it all that came before.
    pub(crate) fn returned(&mut self, placed: &Placed) {
        self.host.join(&placed.end());
    }

    /// What comes before everything that can still be submitted: what the host knows to be done.
    pub(crate) fn settled(&self) -> &Clock {
        &self.host
    }

    /// Forgets ends of graphs that the host knows of.
    pub(crate) fn retire(&mut self) {
        let host = &self.host;
        self.executed.retain(|_, end| !end.is_before(host));
    }

    /// An access of the host itself.
    pub(crate) fn host_access(&mut self) -> Placed {
        let placed = self.add(Strand::HOST, self.host.clone());
        self.host.set(Strand::HOST, placed.index);
        placed
    }
}
