//! Return addresses of the calling thread, at a price that a launch does not feel.
//!
//! A stack is unwound once for each different chain. That tells at which distance from each other its return addresses
//! lie. Behind the same return address a function has the same frame, so the next time the addresses are read from
//! those places and compared; only what was never seen is unwound again.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use rustc_hash::FxHashMap;
use standstill_cuda_driver::{CallSite, outside};

/// Addresses of a chain at most.
const MOST: usize = 40;
/// Nodes at most: beyond, everything is forgotten.
const NODES: usize = 1 << 18;

/// A return address behind those before it.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    /// Bytes from where it lies to where the next one lies; 0 when that is not known.
    next: usize,
    /// The next one that was met most recently, and its node.
    recent: (usize, usize),
    /// The chain that ends here.
    ends: Option<CallSite>,
}

/// The chains that were met.
#[derive(Debug)]
pub struct Chains {
    nodes: Vec<Node>,
    children: FxHashMap<(usize, usize), usize>,
}

impl Default for Chains {
    fn default() -> Chains {
        Chains { nodes: vec![Node::default()], children: FxHashMap::default() }
    }
}

impl Chains {
    /// The chain of the call that this thread is in.
    #[inline(never)]
    pub fn here(&mut self) -> CallSite {
        let stack = stack_pointer();
        self.known(stack).unwrap_or_else(|| self.unwind(stack))
    }

    /// Follows what is known.
    fn known(&mut self, stack: usize) -> Option<CallSite> {
        let end = end_of_stack();
        let (mut at, mut place) = (0, stack);
        loop {
            let node = self.nodes.get_mut(at)?;
            if node.ends.is_some() {
                return node.ends;
            }
            place = place.checked_add(node.next)?;
            if node.next == 0 || place <= stack || place.checked_add(size_of::<usize>())? > end {
                return None;
            }
            // SAFETY: between this function's frame and the end of this thread's stack.
            let address = unsafe { (place as *const usize).read() };
            if node.recent.0 == address {
                at = node.recent.1;
            } else {
                let child = *self.children.get(&(at, address))?;
                node.recent = (address, child);
                at = child;
            }
        }
    }

    #[cold]
    fn unwind(&mut self, stack: usize) -> CallSite {
        if self.nodes.len() > NODES {
            *self = Chains::default();
        }
        let mut frames = Frames { stack, found: Vec::with_capacity(MOST) };
        // SAFETY: the callback takes what the unwinder documents, and its argument outlives the call.
        unsafe { _Unwind_Backtrace(add, std::ptr::from_mut(&mut frames).cast()) };
        let (mut at, mut place) = (0, stack);
        let mut chain = Vec::new();
        for (slot, address) in frames.found {
            if let Some(node) = self.nodes.get_mut(at) {
                node.next = slot.wrapping_sub(place);
                node.ends = None;
            }
            let next = self.nodes.len();
            let child = *self.children.entry((at, address)).or_insert(next);
            if child == next {
                self.nodes.push(Node::default());
            }
            (at, place) = (child, slot);
            chain.push(address);
        }
        let site = CallSite::of(outside(&chain).to_vec());
        if let Some(node) = self.nodes.get_mut(at)
            && at > 0
        {
            node.ends = Some(site);
        }
        site
    }
}

struct Frames {
    stack: usize,
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
        let ends = slot.saturating_add(size_of::<usize>()) > end_of_stack();
        if address == 0 || !in_order || ends || (slot as *const usize).read() != address {
            return STOP;
        }
        frames.found.push((slot, address));
        if frames.found.len() < MOST { GO_ON } else { STOP }
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

/// One past the last byte of this thread's stack.
fn end_of_stack() -> usize {
    thread_local! {
        static END: Cell<usize> = const { Cell::new(0) };
    }
    let known = END.get();
    if known != 0 {
        return known;
    }
    let end = find_end_of_stack().unwrap_or(1);
    END.set(end);
    end
}

#[cold]
fn find_end_of_stack() -> Option<usize> {
    // SAFETY: the functions fill what they are given, and the attributes are given back once.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        let told = libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        (told == 0).then(|| start.addr().saturating_add(size))
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[inline(never)]
    fn here(chains: &mut Chains) -> CallSite {
        std::hint::black_box(chains.here())
    }

    #[test]
    fn a_chain_is_unwound_once() {
        let mut chains = Chains::default();
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
