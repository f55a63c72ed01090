//! The values of one lane's registers and predicates.

use crate::dump::{Lane, Warp, words};
use crate::sass::{Address, Instruction, RZ, Space, URZ};
use crate::source::Source;

/// The registers of one lane.
pub(crate) struct Values {
    registers: Vec<u32>,
    uniform: Vec<u32>,
    predicates: Vec<u32>,
}

impl Values {
    pub(crate) fn new(source: &dyn Source, warp: &Warp, lane: &Lane) -> Values {
        Values {
            registers: words(source, lane.registers),
            uniform: words(source, warp.uniform_registers),
            predicates: words(source, lane.predicates),
        }
    }

    pub(crate) fn register(&self, register: u8) -> Option<u32> {
        if register == RZ { Some(0) } else { self.registers.get(usize::from(register)).copied() }
    }

    /// A uniform register.
    pub(crate) fn uniform(&self, register: u8) -> Option<u32> {
        if register == URZ { Some(0) } else { self.uniform.get(usize::from(register)).copied() }
    }

    /// Whether the guard of an instruction holds, as far as predicates are known.
    pub(crate) fn holds(&self, instruction: &Instruction) -> bool {
        let guard = instruction.guard;
        if guard.predicate == 7 {
            return !guard.negated;
        }
        let value = self.predicates.get(usize::from(guard.predicate)).map(|value| *value != 0);
        value.is_none_or(|value| value != guard.negated)
    }

    pub(crate) fn address(&self, address: &Address) -> Option<u64> {
        let low = u64::from(self.register(address.register)?);
        let base = match address.space {
            Space::Shared => {
                let uniform = match address.uniform {
                    URZ => 0,
                    register => self.uniform.get(usize::from(register)).copied()?,
                };
                return Some(u64::from(
                    (low as u32).wrapping_add(uniform).wrapping_add_signed(address.offset),
                ));
            }
            _ if address.register == RZ => 0,
            _ => u64::from(self.register(address.register.checked_add(1)?)?) << 32 | low,
        };
        Some(base.wrapping_add_signed(i64::from(address.offset)))
    }
}
