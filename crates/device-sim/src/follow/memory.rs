//! What the bytes at an address hold: whether somebody wrote them, and what is doubtful of it.

use standstill_kernel_ir::Space;

use super::doubt::{Doubt, Doubts};
use super::marks::Mark;
use super::{Follow, Reach};
use crate::address::Window;
use crate::decode::code::{LANES, Row64};
use crate::exec::access::window_of;
use crate::exec::core::Core;

/// Memory of a block or of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Private {
    Shared(u32),
    Local { block: u32, warp: u32, lane: u32 },
}

impl Private {
    pub(super) fn block(self) -> u32 {
        match self {
            Private::Shared(block) | Private::Local { block, .. } => block,
        }
    }
}

/// What is known of the bytes of one access.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Bytes {
    /// Nobody wrote any of them, or they were computed from such.
    pub(super) unwritten: bool,
    pub(super) computed: bool,
    pub(super) unknown: bool,
    /// Where it comes from, when it was not this read itself.
    pub(super) origin: Option<u32>,
}

impl Bytes {
    fn of(nothing: bool, lost: bool, doubt: Doubt) -> Bytes {
        Bytes {
            unwritten: (nothing && !lost) || doubt.all_unwritten,
            computed: !nothing && doubt.all_unwritten,
            unknown: (nothing && lost) || doubt.unknown,
            origin: (doubt.all_unwritten || doubt.unknown).then_some(doubt.origin),
        }
    }
}

impl Follow {
    /// Whether nothing is doubtful of the memory that an address lies in.
    pub(super) fn is_quiet(&self, core: &mut Core<'_>, space: Space, address: u64) -> bool {
        match window_of(space, address) {
            Window::Global => {
                if !core.grid.device.memory().doubts().is_empty() {
                    return false;
                }
                let written = core.grid.cached(address).and_then(|found| found.region.written.as_deref());
                written.is_none_or(|written| written.is_complete())
            }
            Window::Shared { rank: None, .. } => self.is_clear(core, Space::Shared),
            Window::Shared { .. } => true,
            Window::Local(_) => self.private.is_empty(),
            Window::Parameters(_) => true,
        }
    }

    /// Whether a space has nothing doubtful, whatever the address.
    #[inline]
    pub(super) fn is_clear(&self, core: &Core<'_>, space: Space) -> bool {
        match space {
            Space::Shared => {
                self.private.is_empty()
                    && core.block.shared.written.as_deref().is_none_or(|written| written.is_complete())
            }
            Space::Local => self.private.is_empty(),
            Space::Param | Space::Const => true,
            _ => false,
        }
    }

    /// Whether nothing is doubtful of the memory that the active lanes' addresses lie in. Windows and allocations have
    /// no holes, so that the first and the last of them speak for all.
    #[inline]
    pub(super) fn all_quiet(&self, core: &mut Core<'_>, space: Space, at: &Row64) -> bool {
        let active = core.active;
        // Compiled for the vector instructions of newer processors as well.
        let (first, last) = core.arch.dispatch(|| ends(at, active));
        let together = match (window_of(space, first), window_of(space, last)) {
            (Window::Global, Window::Global) => {
                core.grid.cached(first).is_some_and(|found| last - found.address < found.bytes)
            }
            (Window::Shared { rank: one, .. }, Window::Shared { rank: other, .. }) => {
                one.is_none() && other.is_none()
            }
            (Window::Local(_), Window::Local(_)) | (Window::Parameters(_), Window::Parameters(_)) => true,
            _ => false,
        };
        together && self.is_quiet(core, space, first)
    }

    /// What the bytes that a lane reads hold.
    pub(super) fn bytes(
        &self,
        core: &mut Core<'_>,
        space: Space,
        lane: usize,
        address: u64,
        bytes: u64,
    ) -> Bytes {
        match window_of(space, address) {
            Window::Global => {
                let doubt = core.grid.device.memory().doubts().of(address, bytes);
                let lost = core.grid.device.memory().doubts().is_lost();
                let Some(found) = core.grid.cached(address) else { return Bytes::default() };
                let at = (address - found.address) as usize;
                let written = found.region.written.as_deref();
                let nothing = written.is_some_and(|written| written.is_nothing(at, bytes as usize));
                Bytes::of(nothing, lost, doubt)
            }
            Window::Shared { rank: None, offset } => {
                let written = core.block.shared.written.as_deref();
                let nothing =
                    written.is_some_and(|written| written.is_nothing(offset as usize, bytes as usize));
                let block = core.place.block;
                let doubt = self.doubt(Private::Shared(block), offset.into(), bytes);
                Bytes::of(nothing, self.tensor.contains(&block), doubt)
            }
            Window::Local(offset) => {
                Bytes::of(false, false, self.doubt(local(core, lane), offset.into(), bytes))
            }
            Window::Shared { .. } | Window::Parameters(_) => Bytes::default(),
        }
    }

    fn doubt(&self, memory: Private, start: u64, bytes: u64) -> Doubt {
        self.private.get(&memory).map_or(Doubt::default(), |doubts| doubts.of(start, bytes))
    }

    /// A lane writes a value of which this is doubtful.
    pub(super) fn write(
        &mut self,
        core: &mut Core<'_>,
        space: Space,
        (lane, address, bytes): (usize, u64, u64),
        mark: Mark,
        at: (u32, u32),
    ) {
        let mark = mark.only(1 << lane);
        let (moved, unknown) = (mark.unwritten & !mark.computed != 0, mark.unknown != 0);
        let doubt = (mark.computed != 0 || unknown).then_some((mark.computed != 0, unknown, mark.origin));
        self.doubts |= mark.lanes() != 0;
        match window_of(space, address) {
            Window::Global if self.ahead => self.doubts |= !core.grid.device.memory().doubts().is_empty(),
            Window::Global => {
                core.grid.device.memory().doubts().set(address, bytes, doubt);
                let Some(found) = core.grid.cached(address) else { return };
                let offset = (address - found.address) as usize;
                if let Some(written) = found.region.written.as_deref() {
                    match moved && !unknown {
                        true => written.clear(offset, bytes as usize),
                        false => written.set(offset, bytes as usize),
                    }
                }
                if found.host && doubt.is_some() {
                    self.found(mark.origin, unknown, Reach::Host, at);
                }
            }
            Window::Shared { rank: None, offset } => {
                if let Some(written) = core.block.shared.written.as_deref() {
                    match moved && !unknown {
                        true => written.clear(offset as usize, bytes as usize),
                        false => written.set(offset as usize, bytes as usize),
                    }
                }
                self.set_private(Private::Shared(core.place.block), offset.into(), bytes, doubt);
            }
            Window::Shared { rank: Some(rank), offset } => {
                let region = core.block.cluster.get(rank as usize);
                if let Some(written) = region.and_then(|region| region.written.as_deref()) {
                    written.set(offset as usize, bytes as usize);
                }
            }
            Window::Local(offset) => self.set_private(local(core, lane), offset.into(), bytes, doubt),
            Window::Parameters(_) => {}
        }
    }

    pub(super) fn set_private(
        &mut self,
        memory: Private,
        start: u64,
        bytes: u64,
        doubt: Option<(bool, bool, u32)>,
    ) {
        if doubt.is_some() {
            self.private.entry(memory).or_default().set(start, bytes, doubt);
        } else if let Some(doubts) = self.private.get_mut(&memory) {
            doubts.set(start, bytes, None);
            if Doubts::is_empty(doubts) {
                self.private.remove(&memory);
            }
        }
    }
}

/// The lowest and the highest address of the active lanes.
#[inline(always)]
fn ends(at: &Row64, active: u32) -> (u64, u64) {
    let (mut first, mut last) = (u64::MAX, 0);
    for lane in 0..LANES {
        let there = (active >> lane & 1 != 0).then_some(at[lane]);
        first = first.min(there.unwrap_or(u64::MAX));
        last = last.max(there.unwrap_or(0));
    }
    (first, last)
}

fn local(core: &Core<'_>, lane: usize) -> Private {
    Private::Local { block: core.place.block, warp: core.place.warp, lane: lane as u32 }
}
