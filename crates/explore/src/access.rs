//! Loads, stores and atomics.

use standstill_kernel_ir::evaluate;
use standstill_kernel_ir::{
    Access, AtomicOperation, Function, Instruction, Op, Operand, Order, Scope, Space,
};

use crate::follow::Event;
use crate::interpret::{Machine, Seen, Stop};
use crate::layout::{LOCAL, PARAMETERS, Window, window};
use crate::memory::{Slot, Wrong};
use crate::thread::Status;

/// Accesses that nobody else can see that are merged into one step: others may turn out to see them after all, and a loop of them
/// need not end.
pub(crate) const MERGED: u32 = 1000;
/// Bytes of local memory of a thread.
const LOCAL_BYTES: u32 = 512 << 10;

impl<'a> Machine<'a, '_> {
    /// Executes a memory access when nobody else can see it, or anyhow. Whether it was executed.
    pub(crate) fn access(
        &mut self,
        function: &'a Function,
        instruction: Instruction,
        access: Access,
        anyhow: bool,
    ) -> Result<bool, Stop> {
        let bytes = access.ty.bytes();
        if access.ty.bits() > 64 {
            return Err(self.unknown("an access of 128 bits".to_owned()));
        }
        let mut values = self.sources(function, instruction);
        if values.is_empty() {
            return Ok(true);
        }
        let first = values.remove(0);
        let destinations = function.destinations(instruction.operands);
        let elements = u32::from(access.elements.max(1));
        let place = match access.space {
            Space::Param if first < PARAMETERS => Window::Parameters(first as u32),
            Space::Shared | Space::SharedCluster => window(first & 0xffff_ffff),
            Space::Local => window(first & 0xffff_ffff),
            Space::Global | Space::Const => Window::Global,
            _ => window(first),
        };
        match place {
            Window::Parameters(offset) => {
                for (index, destination) in (0..elements).zip(destinations) {
                    let value = number(&self.context.launch.parameters, offset + index * bytes, bytes);
                    self.assign(Some(destination), evaluate::extend(value, access.ty));
                }
                return Ok(true);
            }
            Window::Local(offset) => {
                return self.local(instruction.op, destinations, &values, access, offset);
            }
            Window::Shared { rank: Some(_), .. } => {
                return Err(self.unknown("an access to another block's shared memory".to_owned()));
            }
            Window::Shared { .. } | Window::Global => {}
        }
        let (shared, start) = match place {
            Window::Shared { offset, .. } => (true, u64::from(offset)),
            _ => (false, first),
        };
        let slots: Result<Vec<Slot>, Wrong> = (0..elements)
            .map(|element| {
                self.memory.slot(
                    self.running.block,
                    shared,
                    start.wrapping_add(u64::from(element * bytes)),
                    bytes,
                )
            })
            .collect();
        let slots = slots.map_err(|wrong| Stop::Status(Status::Faults(wrong)))?;
        let writes = !matches!(instruction.op, Op::Load(_));
        let thread = self.running.thread;
        let constant = access.space == Space::Const;
        let site = self.top().map_or((0, 0), |top| (top.function, top.at));
        let is_guess =
            matches!(instruction.op, Op::Load(_)) && self.code().is_some_and(|code| code.is_guess(site.1));
        let (order, scope) = match access.order {
            Order::Weak if is_guess => (Order::Relaxed, Scope::Sys),
            order => (order, access.scope),
        };
        let plain = order == Order::Weak;
        // Every one is to be noted.
        let seen_by_others: Vec<bool> =
            slots.iter().map(|slot| !constant && !self.memory.is_own(slot.word, thread, writes)).collect();
        let own = seen_by_others.iter().all(|seen| !seen) || plain && self.merges_plain;
        self.accesses += 1;
        if !anyhow && (!own || self.accesses > MERGED) {
            return Ok(false);
        }
        for ((slot, seen_by_others), index) in slots.into_iter().zip(seen_by_others).zip(0usize..) {
            let word = self.memory.read(&self.contents, slot.word);
            let before = slot.get(word, access.ty);
            let mut swapped = None;
            match instruction.op {
                Op::Load(_) => self.assign(destinations.get(index), before),
                Op::Store(_) => {
                    let value = values.get(index).copied().unwrap_or(0);
                    self.memory.write(&mut self.contents, slot.word, slot.put(word, value));
                }
                Op::Atomic { operation, .. } => {
                    let old = before;
                    let (operand, second) =
                        (values.first().copied().unwrap_or(0), values.get(1).copied().unwrap_or(0));
                    let space = if shared { Space::Shared } else { Space::Global };
                    let new = evaluate::atomic::atomic(operation, access.ty, space, old, operand, second);
                    let Some(new) = new else {
                        return Err(self.unknown(format!("an atomic {operation:?}").to_lowercase()));
                    };
                    if operation == AtomicOperation::CompareExchange {
                        swapped = Some(slot.put(word, operand) == word);
                    }
                    self.memory.write(&mut self.contents, slot.word, slot.put(word, new));
                    self.assign(destinations.get(index), old);
                }
                _ => {}
            }
            let after = self.memory.read(&self.contents, slot.word);
            if let Some(events) = self.events.as_mut().filter(|_| seen_by_others) {
                events.push(Event::Access {
                    word: slot.word as u32,
                    bytes: slot.bytes(),
                    reads: !matches!(instruction.op, Op::Store(_)),
                    writes,
                    order,
                    scope,
                    site,
                    before: slot.only(word),
                    after: slot.only(after),
                    swapped,
                });
            }
            let after = slot.get(after, access.ty);
            let address = start.wrapping_add(u64::from(index as u32 * bytes));
            self.seen.get_or_insert(Seen { address, shared, bytes, before, after });
        }
        Ok(true)
    }

    fn local(
        &mut self,
        op: Op,
        destinations: &[Operand],
        values: &[u64],
        access: Access,
        offset: u32,
    ) -> Result<bool, Stop> {
        let bytes = access.ty.bytes();
        for index in 0..u32::from(access.elements.max(1)) {
            let start = offset.saturating_add(index * bytes);
            if start >= LOCAL_BYTES {
                return Err(Stop::Status(Status::Faults(Wrong::OutOfBounds(LOCAL + u64::from(start)))));
            }
            let (start, end) = (start as usize, (start + bytes) as usize);
            if self.running.memory.len() < end {
                self.running.memory.resize(end, 0);
            }
            if matches!(op, Op::Store(_)) {
                let value = values.get(index as usize).copied().unwrap_or(0).to_le_bytes();
                if let (Some(to), Some(from)) =
                    (self.running.memory.get_mut(start..end), value.get(..bytes as usize))
                {
                    to.copy_from_slice(from);
                }
            } else {
                let value = number(&self.running.memory, start as u32, bytes);
                self.assign(destinations.get(index as usize), evaluate::extend(value, access.ty));
            }
        }
        Ok(true)
    }
}

/// The little-endian number at an offset.
fn number(bytes: &[u8], offset: u32, length: u32) -> u64 {
    let range = offset as usize..offset as usize + length as usize;
    bytes.get(range).unwrap_or(&[]).iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
