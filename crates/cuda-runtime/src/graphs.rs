//! Graphs: built, captured, instantiated and launched.

mod build;
mod capture;
mod execute;

use std::collections::{BTreeMap, HashMap};

use standstill_cuda_driver::operation::{EventId, StreamId, Work};
use standstill_cuda_driver::{CallSite, Status};

use crate::call::Result;
use crate::handles::{Kind, decode};
use crate::layout::{ExecHandle, GraphHandle, NodeHandle};
use crate::runtime::runtime;

pub use capture::{
    capture, is_capturing, record_captured, refuse_any_capture, refuse_capture, refuse_captured_event,
    wait_captured,
};

/// All graphs of the program.
#[derive(Default)]
pub struct Graphs {
    next: u64,
    graphs: HashMap<u64, Graph>,
    /// The graph of each node.
    nodes: HashMap<u64, u64>,
    execs: HashMap<u64, Exec>,
    captures: HashMap<StreamId, Capture>,
    /// Events recorded in captured streams: the sequence and what they stand behind.
    captured_events: HashMap<EventId, (u64, Vec<u64>)>,
}

/// Nodes by number, which grows with the order of adding.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    nodes: BTreeMap<u64, Node>,
}

#[derive(Debug, Clone)]
struct Node {
    content: Content,
    /// What comes before.
    after: Vec<u64>,
    enabled: bool,
    /// The call that added it.
    site: CallSite,
}

/// What a node does.
#[derive(Debug, Clone)]
enum Content {
    Work(Work),
    /// Waits for an event's most recent record when the graph is launched.
    WaitEvent(EventId),
    Child(Graph),
}

/// A graph that can be launched.
#[derive(Debug, Clone)]
struct Exec {
    graph: Graph,
}

/// A stream whose calls go into a graph.
#[derive(Debug, Clone)]
struct Capture {
    /// Streams with the same number are captured together.
    sequence: u64,
    graph: u64,
    /// What the next node comes behind.
    leaves: Vec<u64>,
    /// Where the capture began, and must end.
    origin: bool,
    valid: bool,
}

impl Graphs {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn add_graph(&mut self, graph: Graph) -> u64 {
        let number = self.number();
        for node in graph.nodes.keys() {
            self.nodes.insert(*node, number);
        }
        self.graphs.insert(number, graph);
        number
    }

    fn graph(&mut self, handle: GraphHandle) -> Result<(u64, &mut Graph)> {
        let number = decode(Kind::Graph, handle).map_err(|_| Status::InvalidValue)?;
        Ok((number, self.graphs.get_mut(&number).ok_or(Status::InvalidValue)?))
    }

    fn node(&mut self, handle: NodeHandle) -> Result<(u64, &mut Node)> {
        let number = decode(Kind::Node, handle).map_err(|_| Status::InvalidValue)?;
        let graph = self.nodes.get(&number).ok_or(Status::InvalidValue)?;
        let graph = self.graphs.get_mut(graph).ok_or(Status::InvalidValue)?;
        Ok((number, graph.nodes.get_mut(&number).ok_or(Status::InvalidValue)?))
    }

    fn exec(&mut self, handle: ExecHandle) -> Result<&mut Exec> {
        let number = decode(Kind::Exec, handle).map_err(|_| Status::InvalidValue)?;
        self.execs.get_mut(&number).ok_or(Status::InvalidValue)
    }

    fn add_node(&mut self, graph: u64, content: Content, after: Vec<u64>) -> Result<u64> {
        let number = self.number();
        let entry = self.graphs.get_mut(&graph).ok_or(Status::InvalidValue)?;
        if after.iter().any(|node| !entry.nodes.contains_key(node)) {
            return Err(Status::InvalidValue);
        }
        let site = runtime().machine()?.site();
        entry.nodes.insert(number, Node { content, after, enabled: true, site });
        self.nodes.insert(number, graph);
        Ok(number)
    }
}

impl Graph {
    /// Node numbers so that each comes behind what it waits for; `None` when they go in a circle.
    fn in_order(&self) -> Option<Vec<u64>> {
        let mut left: BTreeMap<u64, usize> =
            self.nodes.iter().map(|(number, node)| (*number, node.after.len())).collect();
        let mut followers: HashMap<u64, Vec<u64>> = HashMap::new();
        for (number, node) in &self.nodes {
            for before in &node.after {
                followers.entry(*before).or_default().push(*number);
            }
        }
        let mut ready: std::collections::BTreeSet<u64> =
            left.iter().filter(|(_, count)| **count == 0).map(|(number, _)| *number).collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(number) = ready.pop_first() {
            order.push(number);
            for follower in followers.get(&number).into_iter().flatten() {
                if let Some(count) = left.get_mut(follower) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        ready.insert(*follower);
                    }
                }
            }
        }
        (order.len() == self.nodes.len()).then_some(order)
    }

    /// Addresses of the memory that its nodes allocate.
    fn allocations(&self) -> impl Iterator<Item = u64> {
        self.nodes.values().filter_map(|node| match &node.content {
            Content::Work(Work::Allocate { address, .. }) => Some(*address),
            _ => None,
        })
    }

    /// Nodes that nothing comes behind.
    fn leaves(&self) -> Vec<u64> {
        let waited: std::collections::HashSet<u64> =
            self.nodes.values().flat_map(|node| node.after.iter().copied()).collect();
        self.nodes.keys().copied().filter(|number| !waited.contains(number)).collect()
    }
}

/// The table of graphs, locked.
fn table() -> std::sync::MutexGuard<'static, Graphs> {
    runtime().graphs.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_behind_what_they_wait_for() {
        let node = |after: &[u64]| Node {
            content: Content::Work(Work::Order),
            after: after.to_vec(),
            enabled: true,
            site: CallSite::default(),
        };
        let mut graph = Graph::default();
        graph.nodes.insert(1, node(&[3]));
        graph.nodes.insert(2, node(&[1]));
        graph.nodes.insert(3, node(&[]));
        assert_eq!(graph.in_order(), Some(vec![3, 1, 2]));
        assert_eq!(graph.leaves(), [2]);
        graph.nodes.insert(3, node(&[2]));
        assert_eq!(graph.in_order(), None);
    }
}
