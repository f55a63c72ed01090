//! Marks that the author of a kernel has put into it.
//!
//! Life marks: pools of records tell when one is free and when it is taken again. A use of one that is free, or by a thread
//! that is not ordered after its freeing, goes by an old reference. Operation marks: an operation of a shared structure begins
//! and ends.

use standstill_kernel_ir::{Function, Instruction, Op, OperationMark};

use crate::follow::Event;
use crate::interpret::{Did, Machine, Stop};
use crate::layout::{Window, window};
use crate::system::{Next, next};
use crate::thread::Status;

/// Bytes that one mark can be about.
const MOST_BYTES: u64 = 1 << 16;

impl<'a> Machine<'a, '_> {
    /// A life mark. It is no step of its own: it belongs to the step before it, so that every use that can come behind it does.
    pub(crate) fn life_mark(&mut self, function: &Function, instruction: Instruction, freed: bool) {
        if !self.events.as_ref().is_some_and(|events| events.lives) {
            return;
        }
        let sources = self.sources(function, instruction);
        let (Some(&address), Some(&bytes)) = (sources.first(), sources.get(1)) else { return };
        let (shared, start) = match window(address) {
            Window::Global => (false, address),
            Window::Shared { rank: None, offset } => (true, u64::from(offset)),
            _ => return,
        };
        let site = self.top().map_or((0, 0), |top| (top.function, top.at));
        for at in start..start.saturating_add(bytes.min(MOST_BYTES)) {
            // A word at a time, from its first byte that is marked.
            if at != start && at % 8 != 0 {
                continue;
            }
            let end = (start + bytes).min(at / 8 * 8 + 8);
            let Ok(slot) = self.memory.slot(self.running.block, shared, at, 1) else { return };
            // Whoever marks memory has a part in it.
            self.memory.is_own(slot.word, self.running.thread, true);
            let marked = (at % 8..at % 8 + (end - at)).fold(0u8, |bits, byte| bits | 1 << byte);
            if let Some(events) = &mut self.events {
                events.push(Event::Life { word: slot.word as u32, bytes: marked, freed, site });
            }
        }
    }
}

impl<'a> Machine<'a, '_> {
    /// An operation mark, where operations are followed. An end belongs to the step before it, a beginning to the one behind it: so
    /// the operation is as short as it can be, and comes behind all that ended before.
    pub(crate) fn operation_mark(
        &mut self,
        function: &'a Function,
        instruction: Instruction,
        mark: OperationMark,
    ) -> Did {
        if !self.follows_operations() {
            return Did::Next;
        }
        if matches!(mark, OperationMark::Begins(_)) {
            return Did::Stop(Stop::Status(Status::Runs));
        }
        self.note_operation(function, instruction, mark);
        Did::Next
    }

    /// Begins the operations that the thread stands before, and goes on to what it does first.
    pub(crate) fn begin_operations(&mut self) -> Result<(), Stop> {
        if !self.follows_operations() {
            return Ok(());
        }
        while let Some((function, &instruction)) = self.instruction() {
            let Op::OperationMark(mark) = instruction.op else {
                // What it does first may be to wait for others.
                return match next(self) {
                    Next::Step => Ok(()),
                    _ => Err(Stop::Status(Status::Runs)),
                };
            };
            self.note_operation(function, instruction, mark);
            self.pass();
            match self.settle() {
                Stop::Status(Status::Runs) => {}
                other => return Err(other),
            }
        }
        Ok(())
    }

    fn follows_operations(&self) -> bool {
        self.events.as_ref().is_some_and(|events| events.operations)
    }

    fn note_operation(&mut self, function: &'a Function, instruction: Instruction, mark: OperationMark) {
        let sources = self.sources(function, instruction);
        let source = |at: usize| sources.get(at).copied().unwrap_or(0);
        let site = self.top().map_or((0, 0), |top| (top.function, top.at));
        let arguments = [source(1), source(2)];
        if let Some(events) = &mut self.events {
            events.push(Event::Operation { mark, subject: source(0), arguments, site });
        }
    }
}

#[cfg(test)]
mod tests {
    use standstill_kernel_ir::{Order, Scope};

    use crate::follow::{Event, Looks, NOTHING};
    use crate::order::Orders;

    const RECORD: u32 = 0;
    const LINK: u32 = 1;

    fn access(word: u32, writes: bool, order: Order) -> Event {
        Event::Access {
            word,
            bytes: 15,
            reads: !writes,
            writes,
            order,
            scope: Scope::Gpu,
            site: (0, word),
            before: 0,
            after: 0,
            swapped: None,
        }
    }

    fn mark(freed: bool) -> Event {
        Event::Life { word: RECORD, bytes: 15, freed, site: (0, 7) }
    }

    #[track_caller]
    fn check(events: &[(u8, Event)], faults: usize) {
        let mut orders = Orders::new(1, Looks::Lives);
        let (mut order, mut found) = (0, 0);
        for &(thread, event) in events {
            let effect = orders.effect(vec![event]);
            let (next, shown) = orders.after(order, thread, effect);
            order = next;
            found += usize::from(shown != NOTHING);
        }
        assert_eq!(found, faults, "{events:?}");
    }

    #[test]
    fn who_does_not_know_of_the_freeing_goes_by_an_old_reference() {
        let use_it = access(RECORD, false, Order::Weak);
        let (publish, find) = (access(LINK, true, Order::Release), access(LINK, false, Order::Acquire));
        check(&[(1, use_it), (0, mark(true)), (0, mark(false))], 0);
        check(&[(0, mark(true)), (1, use_it)], 1);
        check(&[(0, mark(true)), (0, mark(false)), (1, use_it)], 1);
        check(&[(0, mark(true)), (0, mark(false)), (0, publish), (1, find), (1, use_it)], 0);
        // Whoever freed it may still touch it until somebody takes it; others may not though they know.
        check(&[(0, mark(true)), (0, use_it), (0, publish), (1, find), (1, use_it)], 1);
        check(&[(0, mark(true)), (1, access(LINK, false, Order::Weak))], 0);
    }
}
