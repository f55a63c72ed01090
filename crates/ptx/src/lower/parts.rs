//! Parts of registers: elements of vector registers, and the bytes and half words that video instructions name.

use standstill_kernel_ir::{
    Arithmetic, ArithmeticFlags, BooleanOperation, Comparison, Guard, Op, Operand as IrOperand, Operation,
    Register, Type,
};

use crate::lower::function::Body;
use crate::syntax::operand::{Operand, Operands, Part};

impl<'m> Body<'_, 'm, '_> {
    /// The elements of a register that was declared as a vector.
    #[inline]
    pub(super) fn vector_of(&self, register: u32) -> Option<u8> {
        if self.vectors.is_empty() {
            return None;
        }
        let at = self.vectors.partition_point(|&(first, ..)| first <= register).checked_sub(1)?;
        self.vectors.get(at).filter(|&&(_, end, _)| register < end).map(|&(.., elements)| elements)
    }

    /// Adds the elements of a vector register to the pool.
    pub(super) fn vector(&mut self, register: u32, elements: u8) {
        for element in 0..elements {
            let register = self.element(register, element);
            self.out.operands.push(IrOperand::Register(register));
        }
    }

    /// The register that stands for an element: the first is the vector's own number.
    fn element(&mut self, register: u32, element: u8) -> Register {
        if element == 0 {
            return Register(register);
        }
        if let Some(&known) = self.elements.get(&(register, element)) {
            return known;
        }
        let ty = self.out.registers.get(register as usize).map_or(Type::None, |info| info.ty);
        let new = self.new_register(ty);
        self.elements.insert((register, element), new);
        new
    }

    /// The register that holds a part.
    pub(super) fn part(&mut self, register: u32, part: Part) -> Register {
        match part {
            Part::Element(element) if self.vector_of(register).is_some_and(|all| element < all) => {
                self.element(register, element)
            }
            Part::Byte(_) | Part::Half(_) => self.parts.pop().unwrap_or(Register(register)),
            Part::Element(_) => Register(register),
        }
    }

    /// Takes the bytes and half words out that a video instruction reads, each extended as its operand's
    /// type says, for [`Body::part`] to find. False when the destination is one: then the value is
    /// not modelled.
    pub(super) fn take_parts(
        &mut self,
        arithmetic: &Arithmetic,
        operands: Operands<'m>,
        guard: Option<Guard>,
        place: u32,
    ) -> bool {
        self.parts.clear();
        let mut whole = true;
        let second = arithmetic.flags.has(ArithmeticFlags::SECOND_SIGNED);
        let signs = [false, arithmetic.from.is_signed(), second, false];
        let mut taken = Vec::new();
        for (operand, (number, is_signed)) in operands.zip(signs.into_iter().enumerate()) {
            let Operand::RegisterPart(register, part) = operand.operand else { continue };
            let (first, bits) = match part {
                Part::Byte(byte) => (8 * u64::from(byte), 8),
                Part::Half(half) => (16 * u64::from(half), 16),
                Part::Element(_) => continue,
            };
            if number == 0 {
                whole = false;
                continue;
            }
            let ty = if is_signed { Type::S32 } else { Type::U32 };
            let to = self.new_register(Type::B32);
            let start = self.out.operands.len();
            self.out.operands.extend([
                IrOperand::Register(to),
                IrOperand::Register(Register(register.0)),
                IrOperand::Immediate(first),
                IrOperand::Immediate(bits),
            ]);
            let extract = Arithmetic {
                operation: Operation::Bfe,
                ty,
                from: ty,
                comparison: Comparison::None,
                combine: BooleanOperation::None,
                flags: ArithmeticFlags(0),
            };
            self.push(Op::Arithmetic(extract), guard, start, 1, place);
            taken.push(to);
        }
        self.parts.extend(taken.into_iter().rev());
        whole
    }
}
