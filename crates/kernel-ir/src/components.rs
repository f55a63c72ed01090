//! Strongly connected components.

use crate::lists::Lists;

/// «Not seen yet».
const ABSENT: u32 = u32::MAX;

/// The strongly connected components of the nodes `0..count` (Tarjan, without recursion), each
/// after those that it leads to. `successor(node, k)` is the k-th successor, `None` past the last;
/// nodes for which `within` is false do not count.
pub fn strongly_connected(
    count: usize,
    within: impl Fn(u32) -> bool,
    successor: impl Fn(u32, u32) -> Option<u32>,
) -> Lists<u32> {
    let mut components = Lists::with_capacity(count, count);
    let mut search = Search::new(count);
    for root in 0..count as u32 {
        if within(root) && search.index[root as usize] == ABSENT {
            search.run(root, &within, &successor, |members| {
                members.iter().for_each(|&member| components.push(member));
                components.end_list();
            });
        }
    }
    components
}

/// Working memory of Tarjan's algorithm, to be used for many searches.
#[derive(Debug)]
pub(crate) struct Search {
    /// Number of each node in the order of discovery.
    index: Vec<u32>,
    /// The earliest node on the stack that a node reaches.
    low: Vec<u32>,
    on_stack: Vec<bool>,
    stack: Vec<u32>,
    /// Nodes that are being visited, with the number of the next successor.
    walk: Vec<(u32, u32)>,
    next: u32,
}

impl Search {
    pub(crate) fn new(count: usize) -> Search {
        Search {
            index: vec![ABSENT; count],
            low: vec![0; count],
            on_stack: vec![false; count],
            stack: Vec::new(),
            walk: Vec::new(),
            next: 0,
        }
    }

    /// Forgets that a node was visited.
    pub(crate) fn forget(&mut self, node: u32) {
        self.index[node as usize] = ABSENT;
    }

    /// Whether a node was visited.
    pub(crate) fn seen(&self, node: u32) -> bool {
        self.index[node as usize] != ABSENT
    }

    /// Visits what `root` reaches and was not visited yet; `found` gets each component.
    pub(crate) fn run(
        &mut self,
        root: u32,
        within: impl Fn(u32) -> bool,
        successor: impl Fn(u32, u32) -> Option<u32>,
        mut found: impl FnMut(&[u32]),
    ) {
        self.enter(root);
        while let Some(top) = self.walk.last_mut() {
            let (node, step) = *top;
            top.1 += 1;
            if let Some(target) = successor(node, step) {
                if !within(target) {
                    continue;
                }
                if self.index[target as usize] == ABSENT {
                    self.enter(target);
                } else if self.on_stack[target as usize] {
                    self.low[node as usize] = self.low[node as usize].min(self.index[target as usize]);
                }
                continue;
            }
            self.walk.pop();
            let low = self.low[node as usize];
            if let Some(&(parent, _)) = self.walk.last() {
                self.low[parent as usize] = self.low[parent as usize].min(low);
            }
            if low == self.index[node as usize] {
                let start = self.stack.iter().rposition(|&member| member == node).unwrap_or(0);
                for &member in &self.stack[start..] {
                    self.on_stack[member as usize] = false;
                }
                found(&self.stack[start..]);
                self.stack.truncate(start);
            }
        }
    }

    fn enter(&mut self, node: u32) {
        self.index[node as usize] = self.next;
        self.low[node as usize] = self.next;
        self.next += 1;
        self.on_stack[node as usize] = true;
        self.stack.push(node);
        self.walk.push((node, 0));
    }
}
