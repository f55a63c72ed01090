//! Putting operations in.

use std::time::Instant;

use standstill_trace::Call;

use super::{Machine, State, known};
use crate::call_site::CallSite;
use crate::operation::{EventId, OperationId, StreamId, Work};
use crate::queue::Queue;
use crate::recorder::traced;
use crate::status::Status;

/// How an operation goes in.
#[derive(Debug, Clone, Copy)]
enum Way<'a> {
    /// Behind all that its stream orders before it.
    Stream,
    /// As [`Way::Stream`], and behind an event's most recent record.
    Wait(EventId),
    /// Before all nodes of a graph that is launched, and behind earlier launches of it.
    Graph(u64),
    /// As a node of a launched graph, behind exactly these.
    Node(OperationId, &'a [OperationId]),
    /// Behind all nodes of a launched graph.
    EndGraph(OperationId, &'a [OperationId]),
}

impl Machine {
    /// Submits an operation to a stream.
    ///
    /// # Errors
    /// When there is no such stream, or the device is broken.
    pub fn submit(&self, stream: StreamId, work: Work) -> Result<OperationId, Status> {
        self.add(stream, work, self.site(), Way::Stream)
    }

    /// Submits a node of a launched graph, which a call at `site` added to it, behind exactly these; the stream does
    /// not advance.
    ///
    /// # Errors
    /// As [`Machine::submit`].
    pub fn submit_node(
        &self,
        stream: StreamId,
        work: Work,
        site: CallSite,
        launch: OperationId,
        before: &[OperationId],
    ) -> Result<OperationId, Status> {
        self.add(stream, work, site, Way::Node(launch, before))
    }

    /// Submits what stands before all nodes of an executable graph: behind earlier launches of it (CUDA Runtime API,
    /// `cudaGraphLaunch`).
    ///
    /// # Errors
    /// As [`Machine::submit`].
    pub fn launch_graph(&self, stream: StreamId, graph: u64) -> Result<OperationId, Status> {
        self.add(stream, Work::Order, self.site(), Way::Graph(graph))
    }

    /// Submits what stands behind all nodes of a launched graph, of which these are the last.
    ///
    /// # Errors
    /// As [`Machine::submit`].
    pub fn end_graph(
        &self,
        stream: StreamId,
        graph: u64,
        launch: OperationId,
        last: &[OperationId],
    ) -> Result<(), Status> {
        let end = self.add(stream, Work::Order, self.site(), Way::EndGraph(launch, last))?;
        self.enter().executed.insert(graph, end);
        Ok(())
    }

    /// Makes a stream wait for an event's most recent record.
    ///
    /// # Errors
    /// As [`Machine::submit`].
    pub fn wait_event(&self, stream: StreamId, event: EventId) -> Result<OperationId, Status> {
        self.add(stream, Work::Order, self.site(), Way::Wait(event))
    }

    fn add(&self, stream: StreamId, work: Work, site: CallSite, way: Way<'_>) -> Result<OperationId, Status> {
        let mut state = self.enter();
        if let Some(status) = state.broken {
            return Err(status);
        }
        if !state.queue.has_stream(stream) {
            return Err(Status::InvalidResourceHandle);
        }
        state.operations += 1;
        if let Work::Launch(launch) = &work {
            state.launches += 1;
            self.note_launch(&mut state, launch);
        }
        let earlier = match way {
            Way::Graph(graph) => state.executed.get(&graph).copied(),
            _ => None,
        };
        // Written down before it can begin, and in the order of submission.
        let noted = self.recorder.as_ref().map(|_| work.clone());
        let id = insert(&mut state.queue, stream, work, way, earlier);
        if let Some(work) = noted {
            self.note_at(site, || call(id, stream, &work, way));
            self.watch(&state, stream, id, &work, way);
        }
        state.active = Some(Instant::now());
        drop(state);
        self.work.notify_all();
        Ok(id)
    }

    /// From now on accesses of the program to memory of the host are noted that an operation may touch.
    fn watch(&self, state: &State, stream: StreamId, id: OperationId, work: &Work, way: Way<'_>) {
        let Some(mut known) = self.known() else { return };
        let event = match way {
            Way::Wait(event) => Some(event),
            _ => None,
        };
        known.submit(stream, state.queue.kind(stream), id, event);
        if let Work::Record(event) = work {
            known.record(stream, *event);
        }
        known::guard(stream, id, work);
    }
}

fn insert(
    queue: &mut Queue,
    stream: StreamId,
    work: Work,
    way: Way<'_>,
    earlier: Option<OperationId>,
) -> OperationId {
    let event = match &work {
        Work::Record(event) => Some(*event),
        _ => None,
    };
    let id = match way {
        Way::Stream => queue.submit(stream, work),
        Way::Wait(event) => queue.wait(stream, event),
        Way::Graph(_) => queue.join(stream, earlier),
        Way::Node(_, before) => queue.submit_after(stream, work, before.iter().copied()),
        Way::EndGraph(_, last) => queue.join(stream, last.iter().copied()),
    };
    if let Some(event) = event {
        queue.set_record(event, id);
    }
    id
}

/// The call as a trace has it.
fn call(id: OperationId, stream: StreamId, work: &Work, way: Way<'_>) -> Call {
    let (operation, stream) = (id.0, stream.0);
    let numbers = |operations: &[OperationId]| operations.iter().map(|operation| operation.0).collect();
    match (way, work) {
        (Way::Stream, Work::Record(event)) => Call::RecordEvent { operation, stream, event: event.0 },
        (Way::Stream, work) => Call::Submit { operation, stream, work: traced(work) },
        (Way::Wait(event), _) => Call::WaitEvent { operation, stream, event: event.0 },
        (Way::Graph(graph), _) => Call::LaunchGraph { operation, stream, graph },
        (Way::Node(launch, after), work) => Call::SubmitNode {
            operation,
            stream,
            work: traced(work),
            launch: launch.0,
            after: numbers(after),
        },
        (Way::EndGraph(launch, last), _) => {
            Call::EndGraph { operation, stream, launch: launch.0, last: numbers(last) }
        }
    }
}
