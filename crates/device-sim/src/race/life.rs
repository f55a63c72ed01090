//! Life marks: pools of records tell when one is free and when it is taken again. Whoever still uses a record must
//! be done, in order, before it is freed.

use standstill_findings::Rule;
use standstill_kernel_ir::Space;

use super::observe::pieces;
use super::records::marks;
use super::shadow::Mark;
use super::{Actor, Memory, Race};
use crate::decode::code::Micro;
use crate::exec::core::{Core, lanes};

/// The last time that a piece of memory was freed, and whether it is taken again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    freed: Mark,
    taken: bool,
}

impl Race {
    pub(super) fn life_mark(&mut self, core: &mut Core<'_>, op: &Micro, position: usize, freed: bool) {
        let site = self.site(core, position, None, true, false);
        let (block, warp) = (core.place.block, core.place.warp);
        let code = std::sync::Arc::clone(core.code);
        let Some(whole) = code.operations.get(op.x as usize) else { return };
        for lane in lanes(core.active) {
            let (address, bytes) = (core.read(whole.source(0), lane), core.read(whole.source(1), lane));
            let Some((memory, address)) = self.memory(block, Space::Generic, address) else { continue };
            let Some(actor) = self.actor(block, warp, lane) else { return };
            let mark = Mark { thread: actor.number, time: actor.time, site };
            for piece in pieces(address, bytes.min(1 << 16)) {
                if !freed {
                    if let Some(life) = self.life.get_mut(&(memory, piece)) {
                        life.taken = true;
                    }
                    continue;
                }
                self.life.insert((memory, piece), Life { freed: mark, taken: false });
                self.check_freed(memory, piece, &actor, mark);
            }
        }
    }

    /// Uses of a record that is being freed and that nothing orders before.
    fn check_freed(&mut self, memory: Memory, address: u64, actor: &Actor, mark: Mark) {
        let warps = self.warps;
        let shadow = self.shadow(memory);
        let range = shadow.range(address, 4);
        let behind = |read: &Mark| actor.is_behind(*read, warps);
        let early: Vec<Mark> =
            shadow.readers(range).filter_map(|entry| marks(entry).find(|read| !behind(read))).collect();
        for read in early {
            self.found(Rule::ReuseAfterFree, read, mark, None, memory, address);
        }
    }

    /// An access to a record that was freed by somebody of whom the thread does not know, or that is free.
    pub(super) fn check_life(&mut self, memory: Memory, address: u64, bytes: u64, actor: &Actor, mark: Mark) {
        for piece in pieces(address, bytes) {
            let Some(life) = self.life.get(&(memory, piece)).copied() else { continue };
            let own = life.freed.thread == actor.number;
            if (!life.taken && !own) || !actor.is_behind(life.freed, self.warps) {
                self.found(Rule::ReuseAfterFree, mark, life.freed, None, memory, address);
            }
        }
    }
}
