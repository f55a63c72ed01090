//! Sources: registers, constants, addresses, special registers.

use standstill_kernel_ir::{Operand, Special, Symbol};

use super::Decoder;
use super::code::{Kind, Micro, Place, Plane, Slot};
use crate::address;
use crate::exec::memory::{NARROW_ADDRESS, WIDE_ADDRESS};
use crate::exec::special;

impl Decoder<'_> {
    /// The row of a source. Constants go to the plane that is asked for; registers have their own.
    pub(super) fn source(&mut self, operand: Operand, plane: Plane) -> Place {
        match operand {
            Operand::Register(register) => self.register(register.0),
            Operand::Negated(register) => {
                let place = self.register(register.0);
                match place.plane {
                    Plane::Predicate => Place { slot: Slot(place.slot.0 ^ Slot::NEGATED), ..place },
                    _ => place,
                }
            }
            Operand::Immediate(value) => self.constant(value, plane),
            Operand::Symbol { symbol, offset } => self.symbol(symbol, offset, plane),
            Operand::Address { base, offset: 0 } => self.register(base.0),
            Operand::Address { base, offset } => {
                let base = self.register(base.0);
                let to = self.scratch(base.plane);
                let addend = self.constant(i64::from(offset) as u64, base.plane);
                let sum = Micro { d: to.slot, a: base.slot, b: addend.slot, ..self.blank(Kind::Run) };
                let run = match base.plane {
                    Plane::Wide => special::add_wide,
                    _ => special::add_narrow,
                };
                self.push(Micro { run, ..sum });
                to
            }
            Operand::Parameter { index, offset } => {
                let address = address::PARAMETERS.wrapping_add(self.parameter(index, offset).into());
                self.constant(address, if plane == Plane::Predicate { Plane::Wide } else { plane })
            }
            Operand::Special(register) => {
                let plane = if plane == Plane::Predicate { Plane::Narrow } else { plane };
                let to = self.scratch(plane);
                self.special(register, to);
                to
            }
            Operand::Absent => Place::NONE,
        }
    }

    fn register(&mut self, register: u32) -> Place {
        match self.code.rows.get(register as usize).copied() {
            Some(place) if place.is_some() => place,
            // Nothing is ever written to it in reachable code.
            _ => {
                let plane = self
                    .function
                    .registers
                    .get(register as usize)
                    .map_or(Plane::Wide, |info| Plane::of(info.ty));
                self.constant(0, plane)
            }
        }
    }

    /// Reads a special register into a row.
    pub(super) fn special(&mut self, register: Special, to: Place) {
        self.code.specials.push(register);
        let x = self.code.specials.len() as u32 - 1;
        let b = if to.plane == Plane::Wide { WIDE_ADDRESS } else { NARROW_ADDRESS };
        let micro = Micro { run: special::read, d: to.slot, b, x, ..self.blank(Kind::Run) };
        self.push(micro);
    }

    fn symbol(&mut self, symbol: Symbol, offset: i32, plane: Plane) -> Place {
        let plane = if plane == Plane::Predicate { Plane::Wide } else { plane };
        let owner = match symbol {
            Symbol::Local(_) => Some(self.function.id.0),
            _ => None,
        };
        let shared = self.surroundings.shared.get(&(owner, symbol)).copied();
        if let (None, Symbol::Local(index)) = (shared, symbol) {
            // Local memory: where the frame begins differs from call to call.
            let to = self.scratch(plane);
            let start = self.locals.get(index as usize).copied().unwrap_or(0);
            let x = start.wrapping_add_signed(offset);
            let b = if plane == Plane::Wide { WIDE_ADDRESS } else { NARROW_ADDRESS };
            let micro = Micro { run: special::local_address, d: to.slot, b, x, ..self.blank(Kind::Run) };
            self.push(micro);
            return to;
        }
        let address = shared.unwrap_or_else(|| self.surroundings.module.symbol_address(symbol));
        self.constant(address.wrapping_add_signed(offset.into()), plane)
    }

    /// The offset of a byte of a parameter.
    pub(super) fn parameter(&self, index: u32, offset: i32) -> u32 {
        let start = self.surroundings.parameters.get(index as usize).map_or(0, |info| info.offset);
        start.wrapping_add_signed(offset)
    }

    /// An address as a row, its width, and bytes to add.
    pub(super) fn address(&mut self, operand: Operand) -> (Slot, Slot, u32) {
        let (place, offset) = match operand {
            Operand::Address { base, offset } => (self.register(base.0), offset),
            other => (self.source(other, Plane::Wide), 0),
        };
        match place.plane {
            Plane::Wide => (place.slot, WIDE_ADDRESS, offset as u32),
            Plane::Narrow => (place.slot, NARROW_ADDRESS, offset as u32),
            Plane::Predicate => (self.constant(0, Plane::Wide).slot, WIDE_ADDRESS, offset as u32),
        }
    }
}
