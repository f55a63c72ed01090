//! Operands: names resolved, groups flattened.

use standstill_kernel_ir::{LocalVariable, Operand as IrOperand, Register, Space, Symbol, Type};

use crate::lower::function::Body;
use crate::lower::names::{Binding, Parcel};
use crate::lower::words::special_of;
use crate::span::Span;
use crate::syntax::operand::{GroupKind, Operand, OperandRef};

impl<'m, 'a> Body<'_, 'm, 'a> {
    /// Adds an operand to the pool; `ty` is the type that floating-point literals take.
    #[inline]
    pub(super) fn operand(&mut self, operand: OperandRef<'m>, ty: Type) {
        let lowered = match operand.operand {
            Operand::Register(register) => match self.vector_of(register.0) {
                Some(elements) => return self.vector(register.0, elements),
                None => IrOperand::Register(Register(register.0)),
            },
            Operand::RegisterPart(register, part) => IrOperand::Register(self.part(register.0, part)),
            Operand::AddressRegister(register, offset) => {
                IrOperand::Address { base: Register(register.0), offset }
            }
            Operand::Integer(value) => IrOperand::Immediate(value.get()),
            Operand::NotRegister(register) => IrOperand::Negated(Register(register.0)),
            Operand::Sink => IrOperand::Absent,
            Operand::Float32(bits) if ty == Type::F64 => {
                IrOperand::Immediate(f64::from(f32::from_bits(bits)).to_bits())
            }
            Operand::Float32(bits) => IrOperand::Immediate(u64::from(bits)),
            Operand::Float64(bits) if ty == Type::F32 => {
                IrOperand::Immediate(u64::from((f64::from_bits(bits.get()) as f32).to_bits()))
            }
            Operand::Float64(bits) => IrOperand::Immediate(bits.get()),
            Operand::Name(name) | Operand::AddressName(name) => self.name(name, 0),
            Operand::Unknown(_) => IrOperand::Immediate(0),
            Operand::Group(kind, _) => return self.group(kind, operand, ty),
        };
        self.out.operands.push(lowered);
    }

    fn group(&mut self, kind: GroupKind, operand: OperandRef<'m>, ty: Type) {
        match kind {
            GroupKind::Sum => {
                let sum = self.sum(operand);
                self.out.operands.push(sum);
            }
            GroupKind::Not => {
                let at = self.out.operands.len();
                for member in operand.members() {
                    self.operand(member, ty);
                }
                if let Some(slot) = self.out.operands.get_mut(at)
                    && let &mut IrOperand::Register(register) = slot
                {
                    *slot = IrOperand::Negated(register);
                }
            }
            GroupKind::Address => {
                for member in operand.members() {
                    let at = self.out.operands.len();
                    self.operand(member, ty);
                    let single = at + 1 == self.out.operands.len();
                    if single
                        && let Some(slot) = self.out.operands.get_mut(at)
                        && let &mut IrOperand::Register(base) = slot
                    {
                        *slot = IrOperand::Address { base, offset: 0 };
                    }
                }
            }
            GroupKind::Vector | GroupKind::Pair | GroupKind::List | GroupKind::Generic => {
                for member in operand.members() {
                    self.operand(member, ty);
                }
            }
        }
    }

    /// `base+offset`.
    fn sum(&mut self, operand: OperandRef<'m>) -> IrOperand {
        let mut members = operand.members();
        let base = members.next().map(|base| base.operand);
        let offset = match members.next().map(|offset| offset.operand) {
            Some(Operand::Integer(value)) => value.get() as i64,
            _ => 0,
        };
        // Offsets beyond 32 bits are no addresses that any compiler writes.
        let offset = offset as i32;
        match base {
            Some(Operand::Register(base)) => IrOperand::Address { base: Register(base.0), offset },
            Some(Operand::Name(name)) => self.name(name, offset),
            _ => IrOperand::Immediate(offset as i64 as u64),
        }
    }

    /// What a name stands for, as a value or an address with an offset.
    pub(super) fn name(&mut self, span: Span, offset: i32) -> IrOperand {
        let lowering = self.lowering;
        let name = lowering.module.str(span);
        if let Some(special) = special_of(name) {
            return IrOperand::Special(special);
        }
        match self.names.get(name) {
            Some(Binding::Parameter(index)) => return IrOperand::Parameter { index, offset },
            Some(Binding::Local(index)) => {
                return IrOperand::Symbol { symbol: Symbol::Local(index), offset };
            }
            Some(Binding::Parcel(parcel)) => {
                return IrOperand::Symbol { symbol: self.take_address(parcel, name), offset };
            }
            Some(Binding::Register(register)) => return address(register, offset),
            None => {}
        }
        match lowering.names.get(name) {
            Some(&symbol) => IrOperand::Symbol { symbol, offset },
            None => address(self.undeclared(name, Type::None), offset),
        }
    }

    /// A parameter whose address is taken has a variable beside its pieces.
    fn take_address(&mut self, parcel: Parcel, name: &str) -> Symbol {
        if let Some(&index) = self.taken.get(&parcel) {
            return Symbol::Local(index);
        }
        let variable =
            LocalVariable { name: name.to_owned(), space: Space::Param, ty: Type::B8, bytes: 0, align: 0 };
        let index = self.local(variable);
        self.taken.insert(parcel, index);
        Symbol::Local(index)
    }
}

fn address(base: Register, offset: i32) -> IrOperand {
    match offset {
        0 => IrOperand::Register(base),
        _ => IrOperand::Address { base, offset },
    }
}
