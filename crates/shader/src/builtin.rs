//! What an entry point is given: indices and extents.

use naga::BuiltIn;
use standstill_kernel_ir::{ArithmeticFlags as Flags, Operand, Operation, Special, Type};

use crate::emit::Emitter;
use crate::operation::{arithmetic, flagged};

impl Emitter {
    /// All components of a built-in value.
    pub(crate) fn built_in(&mut self, builtin: BuiltIn) -> Vec<Operand> {
        let components = match builtin {
            BuiltIn::GlobalInvocationId
            | BuiltIn::LocalInvocationId
            | BuiltIn::WorkGroupId
            | BuiltIn::WorkGroupSize
            | BuiltIn::NumWorkGroups => 3,
            _ => 1,
        };
        (0..components).map(|component| self.built_in_component(builtin, component)).collect()
    }

    /// One component.
    pub(crate) fn built_in_component(&mut self, builtin: BuiltIn, component: u32) -> Operand {
        let axis = component.min(2) as u8;
        match builtin {
            BuiltIn::LocalInvocationId => self.special(Special::Tid(axis)),
            BuiltIn::WorkGroupId => self.special(Special::Ctaid(axis)),
            BuiltIn::WorkGroupSize => self.special(Special::Ntid(axis)),
            BuiltIn::NumWorkGroups => self.special(Special::Nctaid(axis)),
            BuiltIn::GlobalInvocationId => {
                let (block, size, thread) = (
                    self.special(Special::Ctaid(axis)),
                    self.special(Special::Ntid(axis)),
                    self.special(Special::Tid(axis)),
                );
                self.result(flagged(Operation::Mad, Type::U32, Flags::LOW), Type::U32, &[block, size, thread])
            }
            BuiltIn::LocalInvocationIndex => {
                let mad = flagged(Operation::Mad, Type::U32, Flags::LOW);
                let (x, y, z) = (
                    self.special(Special::Tid(0)),
                    self.special(Special::Tid(1)),
                    self.special(Special::Tid(2)),
                );
                let (width, height) = (self.special(Special::Ntid(0)), self.special(Special::Ntid(1)));
                let row = self.result(mad, Type::U32, &[z, height, y]);
                self.result(mad, Type::U32, &[row, width, x])
            }
            BuiltIn::SubgroupInvocationId => self.special(Special::LaneId),
            BuiltIn::SubgroupId => self.special(Special::WarpId),
            BuiltIn::SubgroupSize => self.special(Special::WarpSize),
            BuiltIn::NumSubgroups => self.special(Special::NwarpId),
            _ => self.special(Special::Other),
        }
    }

    pub(crate) fn special(&mut self, special: Special) -> Operand {
        let special = match special {
            Special::Tid(_) | Special::LaneId | Special::WarpId if self.by_specification => Special::Other,
            special => special,
        };
        self.result(arithmetic(Operation::Mov, Type::U32), Type::U32, &[Operand::Special(special)])
    }
}
