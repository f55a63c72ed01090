//! Loads and stores of scalars, and addresses.

use standstill_kernel_ir::{
    ArithmeticFlags as Flags, Comparison, Op, Operand, Operation, Order, Scope, Special, Type,
};

use crate::emit::{Emitter, Pointer};
use crate::frame::plain_access;
use crate::operation::{arithmetic, compare, flagged};
use crate::types::{Slot, memory_type, register_type};

impl Emitter {
    /// What lies at a pointer; with an order, by atomic loads.
    pub(crate) fn load_slots(
        &mut self,
        pointer: &Pointer,
        slots: &[Slot],
        order: Option<(Order, Scope)>,
    ) -> Option<Vec<Operand>> {
        let mut all = Vec::with_capacity(slots.len());
        match pointer {
            Pointer::Registers(registers) => {
                for (&register, slot) in registers.iter().zip(slots) {
                    all.push(self.copy(register_type(slot.scalar), register.into()));
                }
            }
            Pointer::Memory { space, .. } => {
                for slot in slots {
                    let address = address(pointer, slot.offset)?;
                    let mut access = plain_access(*space, memory_type(slot.scalar));
                    if let Some((order, scope)) = order {
                        (access.order, access.scope) = (order, scope);
                    }
                    all.push(self.loaded(slot, Op::Load(access), address));
                }
            }
        }
        Some(all)
    }

    /// Values of which nothing is known.
    pub(crate) fn anything(&mut self, slots: &[Slot]) -> Vec<Operand> {
        let other = Operand::Special(Special::Other);
        slots
            .iter()
            .map(|slot| self.loaded(slot, arithmetic(Operation::Mov, memory_type(slot.scalar)), other))
            .collect()
    }

    /// A scalar from what stands for it in memory.
    fn loaded(&mut self, slot: &Slot, op: Op, from: Operand) -> Operand {
        let stored = memory_type(slot.scalar);
        let held = register_type(slot.scalar);
        if held != Type::Pred {
            return self.result(op, held, &[from]);
        }
        let value = self.result(op, stored, &[from]);
        self.result(compare(Comparison::Ne, Type::U32), Type::Pred, &[value, Operand::Immediate(0)])
    }

    /// Puts scalars where a pointer points; with an order, as an atomic store.
    pub(crate) fn store_slots(
        &mut self,
        pointer: &Pointer,
        slots: &[Slot],
        values: &[Operand],
        order: Option<(Order, Scope)>,
    ) -> Option<()> {
        match pointer {
            Pointer::Registers(registers) => {
                for ((&register, &value), slot) in registers.iter().zip(values).zip(slots) {
                    let ty = register_type(slot.scalar);
                    self.push(flagged(Operation::Mov, ty, 0), &[register], &[value]);
                }
            }
            Pointer::Memory { space, .. } => {
                for (&value, slot) in values.iter().zip(slots) {
                    let address = address(pointer, slot.offset)?;
                    let value = match register_type(slot.scalar) {
                        Type::Pred => {
                            let (yes, no) = (Operand::Immediate(1), Operand::Immediate(0));
                            self.result(arithmetic(Operation::Selp, Type::U32), Type::U32, &[yes, no, value])
                        }
                        _ => value,
                    };
                    let mut access = plain_access(*space, memory_type(slot.scalar));
                    if let Some((order, scope)) = order {
                        (access.order, access.scope) = (order, scope);
                    }
                    self.push(Op::Store(access), &[], &[address, value]);
                }
            }
        }
        Some(())
    }

    /// A pointer behind another, by an index of this type that is worked out, in steps of so many bytes.
    pub(crate) fn further(
        &mut self,
        pointer: &Pointer,
        ty: Type,
        index: Operand,
        stride: u32,
    ) -> Option<Pointer> {
        let Pointer::Memory { space, base, offset, buffer } = pointer else { return None };
        let stride = Operand::Immediate(u64::from(stride));
        let start = match *base {
            Operand::Symbol { .. } => self.copy(Type::U64, *base),
            base => base,
        };
        let distance = match ty.bits() {
            64 => self.result(flagged(Operation::Mul, ty, Flags::LOW), Type::U64, &[index, stride]),
            _ => self.result(flagged(Operation::Mul, ty, Flags::WIDE), Type::U64, &[index, stride]),
        };
        let sum = self.result(arithmetic(Operation::Add, Type::S64), Type::U64, &[start, distance]);
        Some(Pointer::Memory { space: *space, base: sum, offset: *offset, buffer: *buffer })
    }
}

/// The address of a byte behind a pointer.
pub(crate) fn address(pointer: &Pointer, more: u32) -> Option<Operand> {
    let Pointer::Memory { base, offset, .. } = pointer else { return None };
    let offset = i32::try_from(offset + i64::from(more)).ok()?;
    Some(match *base {
        Operand::Register(base) => Operand::Address { base, offset },
        Operand::Symbol { symbol, offset: from } => {
            Operand::Symbol { symbol, offset: from.checked_add(offset)? }
        }
        other => other,
    })
}
