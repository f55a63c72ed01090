//! Stacks of nodes of a pool (Treiber, «Systems Programming: Coping with Parallelism», 1986), with a tag against values that
//! come back.

use standstill_kernel::{Buffer, Device, kernels};

use crate::Error;

/// Helpers for stacks of the nodes of a pool, and for a stack of values with a capacity.
///
/// A head is a node in its lower 32 bits and a tag in the upper ones; `next[node]` is the node below. Whoever takes a node off raises the
/// tag.
///
/// **Progress.** Lock-free: an attempt fails only because another cell's succeeded.
///
/// **Memory order.** A node's owner writes its value and its `next`, and gives it away with the release of the compare-and-swap in
/// `node_push`. Whoever takes the node off has read the head with acquire, in the load or in the attempt that failed: it
/// reads what that push wrote, or what later changes of the head made of it, each of which is a read-modify-write and so carries the
/// release on (PTX ISA, «Observation order»). So the new owner is ordered behind the old one. That `next` is read while another
/// may own the node is why it is atomic; the value read is used only when the tag shows that nobody has taken the node off since.
///
/// **Tag.** A cell that stands still between its read of the head and its attempt, while the others take off exactly 2³² nodes
/// (or a multiple) and leave the same node on top, would be fooled. Nothing else returns the same head.
///
/// **Capacity.** `stack_push` gives `false` when no node is free, which includes nodes that another cell has just taken off and not
/// yet freed. A node that is not of the pool ends the launch with its index (E0210).
#[kernels(export)]
pub mod stack {
    /// No node.
    pub const NIL: u32 = 0xffff_ffff;
    /// A head without nodes.
    pub const EMPTY: u64 = 0xffff_ffff;

    /// Puts a node on the top. It must be the caller's own: taken off by it, or on no stack yet.
    #[device]
    fn node_push(head: &Atomic<u64>, next: &[Atomic<u32>], node: u32) {
        let mut old = head.load(Relaxed);
        loop {
            next[node].store(old as u32, Relaxed);
            match head.compare_exchange(old, old & !EMPTY | node as u64, Release) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }

    /// Takes the node on the top off: it is the caller's own then. `NIL` when there is none.
    #[device]
    fn node_pop(head: &Atomic<u64>, next: &[Atomic<u32>]) -> u32 {
        let mut old = head.load(Acquire);
        loop {
            let node = old as u32;
            if node == NIL {
                return NIL;
            }
            let below = next[node].load(Relaxed);
            match head.compare_exchange(old, (old & !EMPTY) + (1 << 32) | below as u64, Acquire) {
                Ok(_) => return node,
                Err(now) => old = now,
            }
        }
    }

    /// Puts a value on the stack: `heads[0]` is the stack, `heads[1]` holds the free nodes. `false` when none is free.
    #[device]
    fn stack_push(heads: &[Atomic<u64>], next: &[Atomic<u32>], values: &mut [u32], value: u32) -> bool {
        let node = node_pop(&heads[1], next);
        if node == NIL {
            return false;
        }
        values[node] = value;
        node_push(&heads[0], next, node);
        true
    }

    /// Takes the value on the top. `false` when the stack is empty; `value` stays as it is then.
    #[device]
    fn stack_pop(heads: &[Atomic<u64>], next: &[Atomic<u32>], values: &[u32], value: &mut u32) -> bool {
        let node = node_pop(&heads[0], next);
        if node == NIL {
            return false;
        }
        *value = values[node];
        node_push(&heads[1], next, node);
        true
    }
}

/// The memory of a stack of values; see [`stack`](mod@stack).
#[derive(Debug)]
pub struct Stack {
    /// The head of the stack, and that of the free nodes.
    pub heads: Buffer<u64>,
    /// The node below each.
    pub next: Buffer<u32>,
    /// The value of each node.
    pub values: Buffer<u32>,
}

impl Stack {
    /// An empty stack for so many values.
    ///
    /// # Errors
    /// For more than 2³² − 1 values, and when the device's memory is full.
    pub fn new(device: &Device, capacity: usize) -> Result<Stack, Error> {
        let most = stack::NIL as usize;
        let nodes = u32::try_from(capacity).ok().filter(|&nodes| nodes < stack::NIL);
        let Some(nodes) = nodes else {
            return Err(Error::Capacity { structure: "stack", wanted: capacity, most });
        };
        let first = if nodes == 0 { stack::NIL } else { 0 };
        let below = (1..=nodes).map(|node| if node == nodes { stack::NIL } else { node });
        Ok(Stack {
            heads: device.buffer(&[stack::EMPTY, u64::from(first)])?,
            next: device.buffer(&below.collect::<Vec<_>>())?,
            values: device.zeros(capacity)?,
        })
    }

    /// The values, from the top down.
    ///
    /// # Errors
    /// When a node is on neither stack, on both, or twice on one: no order of operations leaves that behind.
    pub fn contents(&self) -> Result<Vec<u32>, Error> {
        let (heads, next, values) = (self.heads.read()?, self.next.read()?, self.values.read()?);
        let mut seen = vec![false; next.len()];
        let mut walk = |head: u64| {
            let (mut order, mut node) = (Vec::new(), head as u32);
            while node != stack::NIL {
                let at = node as usize;
                match seen.get_mut(at) {
                    Some(seen) if !*seen => *seen = true,
                    Some(_) => return Err(not_whole(format!("node {at} comes twice"))),
                    None => return Err(not_whole(format!("there is no node {at}"))),
                }
                order.push(values.get(at).copied().unwrap_or_default());
                node = next.get(at).copied().unwrap_or(stack::NIL);
            }
            Ok(order)
        };
        let order = walk(heads.first().copied().unwrap_or(stack::EMPTY))?;
        walk(heads.get(1).copied().unwrap_or(stack::EMPTY))?;
        match seen.iter().position(|seen| !seen) {
            Some(node) => Err(not_whole(format!("node {node} is lost"))),
            None => Ok(order),
        }
    }
}

fn not_whole(what: String) -> Error {
    Error::NotWhole { structure: "stack", what }
}
