//! Hazard entries: no node is used anew while a reader may still look at it (Michael, «Hazard Pointers: Safe Memory Reclamation for
//! Lock-Free Objects», 2004).

use standstill_kernel::{Buffer, Device, kernels};

use crate::Error;
use crate::treiber::stack;

/// Helpers that keep nodes of a pool from being used anew while a reader holds them. They build on [`stack`](mod@stack): bring in
/// both.
///
/// `hazards` has one entry for each node that a cell may hold at a time; an entry is written by its cell only. `heads[0]` is a stack of
/// free nodes, `heads[1]` one of nodes that were unlinked and wait; both are linked by `next`.
///
/// **Progress.** Lock-free. A reader looks again only when the link has changed; a reclaimer goes once over what waits and, for each, once
/// over the entries.
///
/// **Memory order.** A reader writes its entry and then reads the link once more; a reclaimer has changed the link and then reads the
/// entries. Each is a store and a load of another place behind it, so both sides need sequential consistency in between: then
/// either the reader sees the link changed, or the reclaimer sees the entry. An entry is cleared with release and read with acquire: what
/// the reader read is read before the node is written anew.
///
/// **Capacity.** `hazard_take` gives `NIL` when every node is in use, held by a reader, or on its way through another cell's hands.
/// Never more nodes wait than there are entries, beside those that cells are just looking through.
#[kernels(with(stack), export)]
pub mod hazard {
    /// The node that a link leads to, kept for this entry until it is cleared. `NIL` when the link leads nowhere.
    #[device]
    fn hazard_protect(hazards: &[Atomic<u32>], entry: u32, link: &Atomic<u32>) -> u32 {
        let mut node = link.load(Acquire);
        while node != NIL {
            hazards[entry].store(node, SeqCst);
            let now = link.load(SeqCst);
            if now == node {
                break;
            }
            node = now;
        }
        node
    }

    /// The cell looks at the entry's node no more.
    #[device]
    fn hazard_clear(hazards: &[Atomic<u32>], entry: u32) {
        hazards[entry].store(NIL, Release);
    }

    /// Whether some reader may hold a node that no link leads to any more.
    #[device]
    fn hazard_is_held(hazards: &[Atomic<u32>], node: u32) -> bool {
        let mut held = hazards[0].load(SeqCst) == node;
        for entry in 1..hazards.len() as u32 {
            if hazards[entry].load(Acquire) == node {
                held = true;
            }
        }
        held
    }

    /// A node that was unlinked, by the cell that unlinked it: it waits until no reader holds it.
    #[device]
    fn hazard_retire(heads: &[Atomic<u64>], next: &[Atomic<u32>], node: u32) {
        node_push(&heads[1], next, node);
    }

    /// A node to use anew: a free one, else one that waits and that no reader holds. `NIL` when there is none.
    #[device]
    fn hazard_take(heads: &[Atomic<u64>], next: &[Atomic<u32>], hazards: &[Atomic<u32>]) -> u32 {
        let mut node = node_pop(&heads[0], next);
        // Those that readers hold, on the way back.
        let mut kept = NIL;
        while node == NIL {
            node = node_pop(&heads[1], next);
            if node == NIL {
                break;
            }
            if hazard_is_held(hazards, node) {
                next[node].store(kept, Relaxed);
                kept = node;
                node = NIL;
            }
        }
        while kept != NIL {
            let below = next[kept].load(Relaxed);
            node_push(&heads[1], next, kept);
            kept = below;
        }
        node
    }

    /// A node that was taken and never linked: it is free at once.
    #[device]
    fn hazard_give_back(heads: &[Atomic<u64>], next: &[Atomic<u32>], node: u32) {
        node_push(&heads[0], next, node);
    }
}

/// The memory of a pool of nodes with hazard entries; see [`hazard`](mod@hazard).
#[derive(Debug)]
pub struct HazardArray {
    /// The head of the free nodes, and that of those that wait.
    pub heads: Buffer<u64>,
    /// The node below each on its stack.
    pub next: Buffer<u32>,
    /// What each reader holds.
    pub hazards: Buffer<u32>,
}

impl HazardArray {
    /// A pool of so many nodes, of which those from `first_free` on are free, with so many entries.
    ///
    /// # Errors
    /// For more than 2³¹ − 1 nodes, without an entry, and when the device's memory is full.
    pub fn new(
        device: &Device,
        nodes: usize,
        first_free: usize,
        entries: usize,
    ) -> Result<HazardArray, Error> {
        let most = (1 << 31) - 1;
        if nodes > most {
            return Err(Error::Capacity { structure: "pool", wanted: nodes, most });
        }
        if entries == 0 {
            return Err(Error::NotWhole { structure: "pool", what: "a reader needs an entry".to_owned() });
        }
        let free = first_free < nodes;
        let first = if free { first_free as u32 } else { stack::NIL };
        let below = (1..=nodes as u32).map(|node| if node == nodes as u32 { stack::NIL } else { node });
        Ok(HazardArray {
            heads: device.buffer(&[u64::from(first), stack::EMPTY])?,
            next: device.buffer(&below.collect::<Vec<_>>())?,
            hazards: device.buffer(&vec![stack::NIL; entries])?,
        })
    }

    /// The nodes that are free or wait.
    ///
    /// # Errors
    /// When a node comes twice.
    pub fn unused(&self) -> Result<Vec<u32>, Error> {
        on_stacks(&self.heads.read()?, &self.next.read()?)
    }
}

/// The nodes on these stacks; an error when one comes twice.
pub(crate) fn on_stacks(heads: &[u64], next: &[u32]) -> Result<Vec<u32>, Error> {
    let mut seen = vec![false; next.len()];
    let mut all = Vec::new();
    for head in heads {
        let mut node = *head as u32;
        while node != stack::NIL {
            match seen.get_mut(node as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => {
                    let what = format!("node {node} comes twice, or is none");
                    return Err(Error::NotWhole { structure: "pool", what });
                }
            }
            all.push(node);
            node = next.get(node as usize).copied().unwrap_or(stack::NIL);
        }
    }
    Ok(all)
}
