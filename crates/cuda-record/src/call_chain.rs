//! Return addresses of the calling thread, at a price that a launch does not feel.
//!
//! A stack is unwound once for each different chain. That tells at which distance from each other its return addresses
//! lie. Behind the same return address a function has the same frame, so the next time the addresses are read from
//! those places and compared; only what was never seen is unwound again.

use std::ffi::{c_int, c_void};

use standstill_cuda_driver::{CallSite, outside};

/// Nodes at most: beyond, everything is forgotten.
const NODES: usize = 1 << 18;

/// A return address behind those before it. Small, since launches come seldom enough to find all this cold.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    /// What was met first behind it.
    first: Edge,
    /// Where else something was met: a place in the list of further edges, from 1.
    more: u32,
    /// The number of the chain that ends here.
    ends: u32,
}

/// Where the next return address lies, and which.
#[derive(Debug, Clone, Copy, Default)]
struct Edge {
    address: usize,
    /// Bytes from the one before; 0 for no edge.
    distance: u32,
    node: u32,
}

impl Edge {
    /// Whether this is the next address behind the one that lies at `place`; frames lie below `end`.
    #[inline]
    fn leads_on(&self, place: usize, end: usize) -> Option<(u32, usize)> {
        let next = place.checked_add(self.distance as usize)?;
        if self.distance == 0 || next.checked_add(size_of::<usize>())? > end {
            return None;
        }
        // SAFETY: between the frame of `here` and the end of this thread's stack.
        let address = unsafe { (next as *const usize).read() };
        (address == self.address).then_some((self.node, next))
    }
}

/// The chains that were met.
#[derive(Debug)]
pub struct Chains {
    /// Addresses of a chain at most.
    most: usize,
    nodes: Vec<Node>,
    more: Vec<Vec<Edge>>,
    /// The chain before: most often the next one is the same, and all its addresses can be compared at once.
    recent: Vec<Slot>,
    recent_site: CallSite,
}

/// Where a return address lies from the stack pointer on, in bytes, and which.
#[derive(Debug, Clone, Copy)]
struct Slot {
    offset: usize,
    address: usize,
}

impl Chains {
    /// None yet; chains end after so many addresses.
    pub fn new(most: usize) -> Chains {
        let (nodes, more, recent) = (vec![Node::default()], Vec::new(), Vec::with_capacity(most));
        Chains { most, nodes, more, recent, recent_site: CallSite::default() }
    }

    /// The chain of the call that this thread is in; its stack ends there.
    #[inline(never)]
    pub fn here(&mut self, end: usize) -> CallSite {
        let stack = stack_pointer();
        if self.is_recent(stack, end) {
            return self.recent_site;
        }
        self.known(stack, end).unwrap_or_else(|| self.unwind(stack, end))
    }

    /// Whether the chain is the same as the one before.
    fn is_recent(&self, stack: usize, end: usize) -> bool {
        let Some(last) = self.recent.last() else { return false };
        let ends = stack.checked_add(last.offset + size_of::<usize>());
        if ends.is_none_or(|ends| ends > end) {
            return false;
        }
        // No comparison waits for the one before.
        let differences = self.recent.iter().map(|slot| {
            // SAFETY: between the frame of `here` and the end of this thread's stack, as slots lie in order.
            let address = unsafe { ((stack + slot.offset) as *const usize).read() };
            address ^ slot.address
        });
        differences.fold(0, |all, difference| all | difference) == 0
    }

    /// Follows what is known.
    fn known(&mut self, stack: usize, end: usize) -> Option<CallSite> {
        let (mut at, mut place) = (0_u32, stack);
        self.recent.clear();
        loop {
            let node = self.nodes.get(at as usize)?;
            if node.ends != 0 {
                self.recent_site = CallSite::from_number(node.ends.into());
                return Some(self.recent_site);
            }
            let next = node.first.leads_on(place, end).or_else(|| {
                let more = self.more.get((node.more as usize).checked_sub(1)?)?;
                more.iter().find_map(|edge| edge.leads_on(place, end))
            });
            let Some((next, slot)) = next else {
                self.recent.clear();
                return None;
            };
            // SAFETY: the edge was just read from there.
            let address = unsafe { (slot as *const usize).read() };
            self.recent.push(Slot { offset: slot - stack, address });
            (at, place) = (next, slot);
        }
    }

    #[cold]
    fn unwind(&mut self, stack: usize, end: usize) -> CallSite {
        if self.nodes.len() > NODES {
            *self = Chains::new(self.most);
        }
        let mut frames = Frames { stack, end, most: self.most, found: Vec::with_capacity(self.most) };
        // SAFETY: the callback takes what the unwinder documents, and its argument outlives the call.
        unsafe { _Unwind_Backtrace(add, std::ptr::from_mut(&mut frames).cast()) };
        let (mut at, mut place) = (0, stack);
        let mut chain = Vec::new();
        for (slot, address) in frames.found {
            let Ok(distance) = u32::try_from(slot - place) else { break };
            at = self.follow(at, Edge { address, distance, node: 0 });
            place = slot;
            chain.push(address);
        }
        let site = CallSite::of(outside(&chain).to_vec());
        if let Some(node) = self.nodes.get_mut(at as usize)
            && at > 0
        {
            node.ends = site.number() as u32;
        }
        site
    }

    /// The node that an edge leads to, which may be new.
    fn follow(&mut self, from: u32, edge: Edge) -> u32 {
        let next = self.nodes.len() as u32;
        let edge = Edge { node: next, ..edge };
        let same = |known: &Edge| (known.address, known.distance) == (edge.address, edge.distance);
        let Some(node) = self.nodes.get_mut(from as usize) else { return 0 };
        node.ends = 0;
        if node.first.distance == 0 {
            node.first = edge;
        } else if same(&node.first) {
            return node.first.node;
        } else {
            if node.more == 0 {
                self.more.push(Vec::new());
                node.more = self.more.len() as u32;
            }
            let Some(more) = self.more.get_mut(node.more as usize - 1) else { return 0 };
            if let Some(known) = more.iter().find(|known| same(known)) {
                return known.node;
            }
            more.push(edge);
        }
        self.nodes.push(Node::default());
        next
    }
}

struct Frames {
    stack: usize,
    /// The end of the thread's stack.
    end: usize,
    most: usize,
    /// Where each return address lies, and the address.
    found: Vec<(usize, usize)>,
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        callback: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

const GO_ON: c_int = 0;
const STOP: c_int = 4;

/// Takes a frame whose return address lies where the calling convention puts it; the chain ends before another.
unsafe extern "C" fn add(context: *mut c_void, frames: *mut c_void) -> c_int {
    // SAFETY: the unwinder passes its context, and `unwind` passes its list. What lies below the frame that the
    // unwinder is in is the stack of this thread.
    unsafe {
        let Some(frames) = frames.cast::<Frames>().as_mut() else { return STOP };
        let (address, frame) = (_Unwind_GetIP(context), _Unwind_GetCFA(context));
        let Some(slot) = return_slot(frame) else { return STOP };
        if slot <= frames.stack {
            return GO_ON;
        }
        let in_order = frames.found.last().is_none_or(|(before, _)| *before < slot);
        let ends = slot.saturating_add(size_of::<usize>()) > frames.end;
        if address == 0 || !in_order || ends || (slot as *const usize).read() != address {
            return STOP;
        }
        frames.found.push((slot, address));
        if frames.found.len() < frames.most { GO_ON } else { STOP }
    }
}

/// Where the return address lies of the function whose frame ends here (System V ABI, «The Stack Frame»).
#[cfg(target_arch = "x86_64")]
fn return_slot(frame: usize) -> Option<usize> {
    frame.checked_sub(size_of::<usize>())
}

/// Elsewhere it has no fixed place: chains are not followed.
#[cfg(not(target_arch = "x86_64"))]
fn return_slot(_frame: usize) -> Option<usize> {
    None
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

#[cfg(not(target_arch = "x86_64"))]
fn stack_pointer() -> usize {
    usize::MAX
}

/// One past the last byte of this thread's stack; 0 where that cannot be known.
#[cold]
#[must_use]
pub fn end_of_stack() -> usize {
    // SAFETY: the functions fill what they are given, and the attributes are given back once.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return 0;
        }
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        let told = libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        if told == 0 { start.addr().saturating_add(size) } else { 0 }
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[inline(never)]
    fn here(chains: &mut Chains) -> CallSite {
        std::hint::black_box(chains.here(end_of_stack()))
    }

    #[test]
    fn a_chain_is_unwound_once() {
        let mut chains = Chains::new(40);
        let mut nodes = Vec::new();
        // One call that the compiler must not write twice.
        for _ in 0..std::hint::black_box(3) {
            here(&mut chains);
            nodes.push(chains.nodes.len());
        }
        assert!(nodes[0] > 2);
        assert_eq!(nodes[1..], [nodes[0]; 2]);
        here(&mut chains);
        assert!(chains.nodes.len() > nodes[0], "this is another chain");
    }
}
