//! Who waits for whom.

use crate::ThreadRanges;

/// Index of a node in its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeId(pub u32);

/// Something that waits or is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Node {
    /// Threads of one block; linear thread indices in the block.
    Threads {
        /// Linear block index in the grid.
        block: u32,
        /// Linear thread indices in the block.
        threads: ThreadRanges,
    },
    /// Whole blocks.
    Blocks(ThreadRanges),
    /// A barrier with its arrivals.
    Barrier {
        /// `barrier 0`, `mbarrier full[1]`, `the grid barrier`.
        name: String,
        /// Arrivals that complete it; `None` when not known.
        expected: Option<u32>,
        /// Arrivals that came.
        arrived: u32,
    },
    /// A memory location: a symbol with an offset, or an address.
    Location(String),
    /// A place on a multiprocessor for one more block.
    ResidencySlot {
        /// Blocks that fit at once.
        capacity: u64,
    },
    /// A stream operation, event, host thread or rank, named in the reader's words.
    Named(String),
}

/// `from` waits for `to`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Edge {
    /// Who waits.
    pub from: NodeId,
    /// For whom or what.
    pub to: NodeId,
    /// How: `wait at the barrier on line 10`, `spin on `flag` (line 15)`.
    pub reason: String,
    /// Source line of the waiting operation, from 1; 0 when not known.
    pub line: u32,
}

/// Who waits for whom, with the cycle in one sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WaitGraph {
    /// The waiters and the waited for.
    pub nodes: Vec<Node>,
    /// Who waits for whom.
    pub edges: Vec<Edge>,
    /// The cycle (or the hopeless wait) in one sentence that a person can act on.
    pub sentence: String,
}

impl WaitGraph {
    /// Adds a node, or gives the one that is there already.
    pub fn node(&mut self, node: Node) -> NodeId {
        let index = self.nodes.iter().position(|n| *n == node).unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        });
        NodeId(index as u32)
    }

    /// Adds «`from` waits for `to`».
    pub fn edge(&mut self, from: NodeId, to: NodeId, reason: impl Into<String>, line: u32) {
        self.edges.push(Edge { from, to, reason: reason.into(), line });
    }

    /// A cycle of waits, as the edges along it; empty when there is none.
    pub fn cycle(&self) -> Vec<&Edge> {
        for start in 0..self.nodes.len() as u32 {
            let mut path: Vec<&Edge> = Vec::new();
            let mut seen = vec![false; self.nodes.len()];
            if self.walk(NodeId(start), NodeId(start), &mut seen, &mut path) {
                return path;
            }
        }
        Vec::new()
    }

    /// The cycle in words, one line per wait: `threads 0–127 of block 0 wait at … (line 10)`. Without
    /// a cycle, every wait there is.
    pub fn cycle_words(&self) -> Vec<String> {
        let cycle = self.cycle();
        let edges = if cycle.is_empty() { self.edges.iter().collect() } else { cycle };
        let words = |id: NodeId| self.nodes.get(id.0 as usize).map(Node::words).unwrap_or_default();
        let line = |edge: &Edge| {
            let to = words(edge.to);
            match edge.reason.as_str() {
                "" => format!("{} wait for {to}", words(edge.from)),
                reason => format!("{} {reason} → {to}", words(edge.from)),
            }
        };
        edges.into_iter().map(line).collect()
    }

    fn walk<'a>(&'a self, at: NodeId, start: NodeId, seen: &mut [bool], path: &mut Vec<&'a Edge>) -> bool {
        for edge in self.edges.iter().filter(|edge| edge.from == at) {
            path.push(edge);
            if edge.to == start {
                return true;
            }
            let fresh = seen.get_mut(edge.to.0 as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            if fresh && self.walk(edge.to, start, seen, path) {
                return true;
            }
            path.pop();
        }
        false
    }
}

impl Node {
    /// The node in the reader's words.
    pub fn words(&self) -> String {
        match self {
            Node::Threads { block, threads } => format!("{} of block {block}", threads.with_noun("thread")),
            Node::Blocks(blocks) => blocks.with_noun("block"),
            Node::Barrier { name, expected: Some(expected), arrived } => {
                format!("{name} ({arrived} of {expected} arrived)")
            }
            Node::Barrier { name, expected: None, arrived } => format!("{name} ({arrived} arrived)"),
            Node::Location(name) => format!("`{name}`"),
            Node::ResidencySlot { capacity } => format!("a slot (capacity {capacity} blocks)"),
            Node::Named(name) => name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_past_a_tail() {
        let mut graph = WaitGraph::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| graph.node(Node::Named(name.into())));
        graph.edge(a, b, "ab", 1);
        graph.edge(b, c, "bc", 2);
        assert!(graph.cycle().is_empty());
        graph.edge(c, b, "cb", 3);
        let reasons: Vec<&str> = graph.cycle().iter().map(|edge| edge.reason.as_str()).collect();
        assert_eq!(reasons, ["bc", "cb"]);
    }
}
