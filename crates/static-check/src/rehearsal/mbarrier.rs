//! Mbarriers, and the copies that tell them of their bytes.

use smallvec::SmallVec;
use standstill_kernel_ir::{Instruction, InstructionId, MbarrierOperation, Op, Operand, Space};

use super::machine::{Machine, Stop};
use super::memory::Place;
use super::value::Value;

/// An mbarrier (PTX ISA, «mbarrier»).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mbarrier {
    /// Arrivals that complete a phase.
    pub(crate) expected: u32,
    /// Arrivals still missing in this phase.
    pub(crate) pending: i64,
    /// Transaction bytes still missing in this phase.
    pub(crate) transactions: i64,
    /// Completed phases.
    pub(crate) phase: u32,
    /// Its transactions cannot be counted; arrivals alone complete it.
    pub(crate) uncounted: bool,
    /// The instruction that initialised it.
    pub(crate) initialised_by: u32,
}

impl Mbarrier {
    /// Completes the phase when nothing is missing.
    pub(crate) fn settle(&mut self) {
        while self.pending <= 0 && (self.uncounted || self.transactions == 0) {
            self.phase = self.phase.wrapping_add(1);
            self.pending += i64::from(self.expected.max(1));
            if self.uncounted {
                self.transactions = 0;
            }
        }
    }

    /// Adds to the transaction bytes that are waited for; what cannot be counted is not waited for.
    fn expect(&mut self, bytes: Option<u64>) {
        self.expect_only(bytes);
        self.settle();
    }

    fn expect_only(&mut self, bytes: Option<u64>) {
        match bytes {
            Some(bytes) => self.transactions = self.transactions.wrapping_add(bytes as i64),
            None => self.uncounted = true,
        }
    }
}

impl Machine<'_> {
    pub(super) fn mbarrier(
        &mut self,
        thread: usize,
        id: InstructionId,
        instruction: &Instruction,
        operation: MbarrierOperation,
        space: Space,
    ) -> Result<(), Stop> {
        let address = self.body.source(instruction, 0);
        let second = self.body.source(instruction, 1);
        match operation {
            MbarrierOperation::Init => {
                let place = self.mbarrier_place(thread, address, space, id)?;
                let count = self.operand(thread, second);
                if count.sampled() {
                    return Err(Stop::Sampled);
                }
                let count = count.bits().ok_or(Stop::Operation(id))? as u32;
                let state = Mbarrier {
                    expected: count,
                    pending: i64::from(count),
                    transactions: 0,
                    phase: 0,
                    uncounted: false,
                    initialised_by: id.0,
                };
                self.memory.mbarriers.insert(place, state);
                self.memory.version += 1;
                self.note_change(thread, true);
            }
            MbarrierOperation::Invalidate => {
                let place = self.mbarrier_place(thread, address, space, id)?;
                self.memory.mbarriers.remove(&place);
            }
            MbarrierOperation::ExpectTransactions => {
                let bytes = self.operand(thread, second).bits();
                self.change_mbarrier(thread, address, space, id, |m| m.expect(bytes))?;
            }
            MbarrierOperation::CompleteTransactions => {
                let bytes = self.operand(thread, second).bits();
                self.change_mbarrier(thread, address, space, id, |m| {
                    m.expect(bytes.map(|b| b.wrapping_neg()))
                })?;
            }
            MbarrierOperation::Arrive { drop, expect, .. } => {
                if expect {
                    let bytes = self.operand(thread, second).bits();
                    self.change_mbarrier(thread, address, space, id, |m| m.expect_only(bytes))?;
                }
                let count = match second {
                    Operand::Absent => 1,
                    _ if expect => 1,
                    operand => {
                        let count = self.operand(thread, operand);
                        if count.sampled() {
                            return Err(Stop::Sampled);
                        }
                        count.bits().ok_or(Stop::Operation(id))? as u32
                    }
                };
                let place = self.mbarrier_place(thread, address, space, id)?;
                let token = self.memory.mbarriers.get(&place).map_or(0, |m| m.phase);
                self.define(thread, instruction, &[Value::known(u64::from(token))]);
                self.arrive_at_mbarrier(thread, address, space, count, drop, id)?;
            }
            MbarrierOperation::Wait { parity, .. } => {
                let place = self.mbarrier_place(thread, address, space, id)?;
                let wanted = self.operand(thread, second);
                if wanted.sampled()
                    && let Some(t) = self.threads.get_mut(thread)
                {
                    t.sampled = true;
                }
                let wanted = wanted.bits().ok_or(Stop::Operation(id))?;
                let phase = self.memory.mbarriers.get(&place).map(|m| u64::from(m.phase));
                let phase = phase.ok_or(Stop::Operation(id))?;
                let done = if parity { phase & 1 != wanted & 1 } else { phase != wanted };
                self.note_read(thread, place);
                self.define(thread, instruction, &[Value::known(u64::from(done))]);
            }
            MbarrierOperation::PendingCount => {
                let value = self.unknowns.fresh();
                self.define(thread, instruction, &[value]);
            }
        }
        Ok(())
    }

    fn mbarrier_place(
        &mut self,
        thread: usize,
        address: Operand,
        space: Space,
        id: InstructionId,
    ) -> Result<Place, Stop> {
        let address = self.operand(thread, address);
        let space = if space == Space::Generic { Space::Shared } else { space };
        self.place(thread, address, space).ok_or(Stop::Operation(id))
    }

    fn change_mbarrier(
        &mut self,
        thread: usize,
        address: Operand,
        space: Space,
        id: InstructionId,
        change: impl FnOnce(&mut Mbarrier),
    ) -> Result<(), Stop> {
        let place = self.mbarrier_place(thread, address, space, id)?;
        let state = self.memory.mbarriers.get_mut(&place).ok_or(Stop::Operation(id))?;
        change(state);
        self.memory.version += 1;
        self.note_change(thread, true);
        Ok(())
    }

    pub(super) fn arrive_at_mbarrier(
        &mut self,
        thread: usize,
        address: Operand,
        space: Space,
        count: u32,
        drop: bool,
        id: InstructionId,
    ) -> Result<(), Stop> {
        self.change_mbarrier(thread, address, space, id, |m| {
            m.pending -= i64::from(count);
            if drop {
                m.expected = m.expected.saturating_sub(count);
            }
            m.settle();
        })
    }

    /// A bulk copy tells its mbarrier (its last operand but for hints) how many bytes came.
    pub(super) fn bulk_copy(&mut self, thread: usize, instruction: &Instruction) -> Result<(), Stop> {
        let operands: SmallVec<[Operand; 8]> =
            self.body.function.sources(instruction.operands).iter().copied().collect();
        let values: SmallVec<[Value; 8]> = operands.iter().map(|&o| self.operand(thread, o)).collect();
        let tensor = matches!(instruction.op, Op::BulkCopy { tensor: true, .. });
        let mut told = None;
        for value in values.iter().skip(1).rev() {
            if let Some(place) = self.place(thread, *value, Space::Shared)
                && self.memory.mbarriers.contains_key(&place)
            {
                told = Some(place);
                break;
            }
        }
        let Some(place) = told else { return Ok(()) };
        let bytes = if tensor { None } else { values.get(2).and_then(|v| v.bits()) };
        if let Some(state) = self.memory.mbarriers.get_mut(&place) {
            state.expect(bytes.map(|b| b.wrapping_neg()));
        }
        self.memory.version += 1;
        self.note_change(thread, true);
        Ok(())
    }
}
