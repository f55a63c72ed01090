//! Mbarriers: words of shared memory that all operations on them read and write as one step. A wait never blocks here: it looks, and
//! the loop around it looks again.

use standstill_kernel_ir::evaluate::mbarrier::{Mbarrier, after, is_over};
use standstill_kernel_ir::{Function, Instruction, MbarrierOperation, Op, Order};

use crate::access::MERGED;
use crate::follow::Event;
use crate::interpret::{Machine, Seen, Stop};
use crate::layout::{Window, window};
use crate::thread::Status;

/// Bytes of an mbarrier.
const BYTES: u32 = 8;

impl<'a> Machine<'a, '_> {
    /// Executes an operation on an mbarrier when nobody else can see it, or anyhow. Whether it was executed.
    pub(crate) fn mbarrier(
        &mut self,
        function: &'a Function,
        instruction: Instruction,
        anyhow: bool,
    ) -> Result<bool, Stop> {
        let Op::Mbarrier { operation, order, scope, .. } = instruction.op else { return Ok(true) };
        let values = self.sources(function, instruction);
        let destination = function.destinations(instruction.operands).first();
        let (first, argument) = (values.first().copied().unwrap_or(0), values.get(1).copied());
        if operation == MbarrierOperation::PendingCount {
            self.assign(destination, Mbarrier::from_word(first).pending.into());
            return Ok(true);
        }
        let Window::Shared { rank: None, offset } = window(first & 0xffff_ffff) else {
            return Err(self.unknown("an mbarrier of another block".to_owned()));
        };
        let slot = self.memory.slot(self.running.block, true, offset.into(), BYTES);
        let slot = slot.map_err(|wrong| Stop::Status(Status::Faults(wrong)))?;
        let writes = !matches!(operation, MbarrierOperation::Wait { .. });
        let own = self.memory.is_own(slot.word, self.running.thread, writes);
        let merged = own || order == Order::Weak && self.merges_plain;
        self.accesses += 1;
        if !anyhow && (!merged || self.accesses > MERGED) {
            return Ok(false);
        }
        let before = self.memory.read(&self.contents, slot.word);
        let now = after(operation, before, argument);
        self.memory.write(&mut self.contents, slot.word, now);
        let (mut result, mut order) = (before, order);
        if let MbarrierOperation::Wait { parity, .. } = operation {
            let over = is_over(before, parity, argument.unwrap_or(0));
            result = over.into();
            // Who is told that the phase goes on learns nothing of those who came.
            order = if over { order } else { Order::Relaxed };
        }
        self.assign(destination, result);
        let site = self.top().map_or((0, 0), |top| (top.function, top.at));
        if let Some(events) = self.events.as_mut().filter(|_| !own) {
            let (word, bytes) = (slot.word as u32, slot.bytes());
            let reads = operation != MbarrierOperation::Init;
            let (before, after) = (slot.only(before), slot.only(now));
            events.push(Event::Access {
                word,
                bytes,
                reads,
                writes,
                order,
                scope,
                site,
                before,
                after,
                swapped: None,
            });
        }
        let address = offset.into();
        self.seen.get_or_insert(Seen { address, shared: true, bytes: BYTES, before, after: now });
        Ok(true)
    }
}
