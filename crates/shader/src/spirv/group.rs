//! Barriers, and operations of all invocations of a subgroup.

use naga::{Scalar, ScalarKind};
use rspirv::spirv::{BuiltIn, GroupOperation, Op};
use standstill_kernel_ir::{
    AtomicOperation, BarrierKind, Comparison, Op as IrOp, Operand, Operation, ShuffleMode, Special, Type,
    VoteMode,
};

use super::kernel::{Fault, Frame, Kernel, Value};
use super::words::Instruction;
use crate::operation::{arithmetic, compare};
use crate::types::register_type;

/// Execution scopes (SPIR-V, «Scope <id>»).
const WORKGROUP: u64 = 2;
const SUBGROUP: u64 = 3;
const INVOCATION: u64 = 4;

/// The lanes that a built-in mask names.
pub(crate) fn lane_mask(code: u32) -> Option<Special> {
    Some(match BuiltIn::from_u32(code)? {
        BuiltIn::SubgroupEqMask => Special::LaneMaskEq,
        BuiltIn::SubgroupGeMask => Special::LaneMaskGe,
        BuiltIn::SubgroupGtMask => Special::LaneMaskGt,
        BuiltIn::SubgroupLeMask => Special::LaneMaskLe,
        BuiltIn::SubgroupLtMask => Special::LaneMaskLt,
        _ => return None,
    })
}

impl Kernel<'_> {
    /// Lowers a barrier or an operation of a group; gives whether it is one.
    pub(crate) fn group_instruction(
        &mut self,
        frame: &mut Frame,
        op: Op,
        instruction: Instruction<'_>,
    ) -> Result<bool, Fault> {
        if op == Op::ControlBarrier {
            self.barrier(frame, instruction)?;
            return Ok(true);
        }
        let Some(kind) = kind(op) else { return Ok(false) };
        let scope = instruction.operand(0).and_then(|id| self.module.integer(id));
        if matches!(kind, Group::Whole) {
            // All invocations of the scope must come to it together.
            match scope {
                Some(WORKGROUP) => self.workgroup_barrier(),
                _ => self.pushed(IrOp::WarpSync, &[Operand::Immediate(u64::from(u32::MAX))]),
            }
            self.fallback(frame, instruction)?;
            return Ok(true);
        }
        if scope != Some(SUBGROUP) {
            return Ok(false);
        }
        let (Some(id), Some(ty)) = (instruction.result(), instruction.ty()) else { return Ok(false) };
        // Those who come here together take part (SPIR-V, «Group and Subgroup Instructions»).
        let mask = self.emit.result(IrOp::ActiveMask, Type::U32, &[]);
        let value = self.group_value(frame, op, kind, ty, instruction, mask)?;
        frame.keep(id, Value::Scalars(value));
        Ok(true)
    }

    fn group_value(
        &mut self,
        frame: &Frame,
        op: Op,
        kind: Group,
        ty: u32,
        instruction: Instruction<'_>,
        mask: Operand,
    ) -> Result<Vec<Operand>, Fault> {
        let operand = |index: usize| instruction.operand(index).ok_or("an operand is missing".to_owned());
        let types = self.register_types(ty);
        let one = |value: Operand| Ok(vec![value]);
        match kind {
            Group::Elect => {
                let (leader, elected) =
                    (self.emit.out.register(Type::U32), self.emit.out.register(Type::Pred));
                self.emit.push(IrOp::Elect, &[leader, elected], &[mask]);
                one(elected.into())
            }
            Group::Vote(mode) => {
                let holds = self.scalar(frame, operand(1)?)?;
                let ty = if mode == VoteMode::Ballot { Type::U32 } else { Type::Pred };
                let votes = self.emit.result(IrOp::Vote(mode), ty, &[holds, mask]);
                match mode {
                    // Four words, for subgroups of up to 128.
                    VoteMode::Ballot => Ok([vec![votes], vec![Operand::Immediate(0); 3]].concat()),
                    _ => one(votes),
                }
            }
            Group::AllEqual => {
                let mut all = Operand::Immediate(1);
                for value in self.scalars(frame, operand(1)?)? {
                    let (lanes, equal) =
                        (self.emit.out.register(Type::U32), self.emit.out.register(Type::Pred));
                    self.emit.push(IrOp::Match { all: true }, &[lanes, equal], &[value, mask]);
                    let and = arithmetic(Operation::And, Type::Pred);
                    all = self.emit.result(and, Type::Pred, &[all, equal.into()]);
                }
                one(all)
            }
            Group::First => {
                let lane = self.first_lane(mask);
                self.shuffled(frame, ShuffleMode::Idx, operand(1)?, lane, &types, mask)
            }
            Group::Shuffle(mode) => {
                let by = self.scalar(frame, operand(2)?)?;
                self.shuffled(frame, mode, operand(1)?, by, &types, mask)
            }
            Group::Reduce(operation, read) => {
                self.reduced(frame, op, operation, read, instruction, &types, mask)
            }
            Group::Bits => self.ballot_bits(frame, op, instruction),
            // Everybody takes part; what comes out is not modelled.
            Group::Other | Group::Whole => {
                self.pushed(IrOp::WarpSync, &[mask]);
                Ok(self.emit.unknown(&instruction.name(), &types, &[]))
            }
        }
    }

    fn shuffled(
        &mut self,
        frame: &Frame,
        mode: ShuffleMode,
        value: u32,
        by: Operand,
        types: &[Type],
        mask: Operand,
    ) -> Result<Vec<Operand>, Fault> {
        // What `shfl` bounds a lane by: the first for `up`, the last for all others.
        let clamp = Operand::Immediate(if mode == ShuffleMode::Up { 0 } else { 31 });
        let values = self.scalars(frame, value)?;
        let mut all = Vec::with_capacity(values.len());
        for (value, &ty) in values.into_iter().zip(types) {
            if ty.bits() == 32 {
                all.push(self.emit.result(IrOp::Shuffle(mode), ty, &[value, by, clamp, mask]));
            } else {
                self.pushed(IrOp::WarpSync, &[mask]);
                all.extend(self.emit.unknown("a shuffle of other than 32 bits", &[ty], &[value]));
            }
        }
        Ok(all)
    }

    /// The lowest lane of a mask.
    fn first_lane(&mut self, mask: Operand) -> Operand {
        let turned = self.emit.result(arithmetic(Operation::Brev, Type::B32), Type::U32, &[mask]);
        self.emit.result(arithmetic(Operation::Clz, Type::B32), Type::U32, &[turned])
    }

    #[expect(clippy::too_many_arguments, reason = "all of them say what is reduced")]
    fn reduced(
        &mut self,
        frame: &Frame,
        op: Op,
        operation: AtomicOperation,
        read: Option<ScalarKind>,
        instruction: Instruction<'_>,
        types: &[Type],
        mask: Operand,
    ) -> Result<Vec<Operand>, Fault> {
        let (Some(how), Some(value)) = (instruction.operand(1), instruction.operand(2)) else {
            return Err("an operand is missing".to_owned());
        };
        let whole = how == GroupOperation::Reduce as u32;
        let vote = match op {
            Op::GroupNonUniformLogicalAnd => Some(VoteMode::All),
            Op::GroupNonUniformLogicalOr => Some(VoteMode::Any),
            _ => None,
        };
        let values = self.scalars(frame, value)?;
        let mut all = Vec::with_capacity(values.len());
        for (value, &ty) in values.into_iter().zip(types) {
            let read = read.map_or(ty, |kind| register_type(Scalar { kind, width: (ty.bits() / 8) as u8 }));
            all.push(match vote {
                Some(mode) if whole => self.emit.result(IrOp::Vote(mode), Type::Pred, &[value, mask]),
                None if whole && ty.bits() == 32 && !ty.is_float() => {
                    self.emit.result(IrOp::WarpReduce { operation, ty: read }, ty, &[value, mask])
                }
                _ => {
                    self.pushed(IrOp::WarpSync, &[mask]);
                    let values = self.emit.unknown(&instruction.name(), &[ty], &[value]);
                    values.first().copied().unwrap_or(Operand::Immediate(0))
                }
            });
        }
        Ok(all)
    }

    /// What is asked of a ballot.
    fn ballot_bits(
        &mut self,
        frame: &Frame,
        op: Op,
        instruction: Instruction<'_>,
    ) -> Result<Vec<Operand>, Fault> {
        let operand = |index: usize| instruction.operand(index).ok_or("an operand is missing".to_owned());
        let (and, word) = (arithmetic(Operation::And, Type::B32), Type::U32);
        let one = Operand::Immediate(1);
        let counts = op == Op::GroupNonUniformBallotBitCount;
        let mut bits = self.scalar(frame, operand(if counts { 2 } else { 1 })?)?;
        let value = match op {
            Op::GroupNonUniformInverseBallot | Op::GroupNonUniformBallotBitExtract => {
                let lane = match op {
                    Op::GroupNonUniformInverseBallot => self.emit.special(Special::LaneId),
                    _ => self.scalar(frame, operand(2)?)?,
                };
                let moved = self.emit.result(arithmetic(Operation::Shr, word), word, &[bits, lane]);
                let bit = self.emit.result(and, word, &[moved, one]);
                self.emit.result(compare(Comparison::Ne, word), Type::Pred, &[bit, Operand::Immediate(0)])
            }
            Op::GroupNonUniformBallotBitCount => {
                let before = match operand(1)? {
                    how if how == GroupOperation::InclusiveScan as u32 => Some(Special::LaneMaskLe),
                    how if how == GroupOperation::ExclusiveScan as u32 => Some(Special::LaneMaskLt),
                    _ => None,
                };
                if let Some(before) = before {
                    let lanes = self.emit.special(before);
                    bits = self.emit.result(and, word, &[bits, lanes]);
                }
                self.emit.result(arithmetic(Operation::Popc, Type::B32), word, &[bits])
            }
            Op::GroupNonUniformBallotFindLSB => self.first_lane(bits),
            _ => self.emit.result(arithmetic(Operation::Bfind, word), word, &[bits]),
        };
        Ok(vec![value])
    }

    fn barrier(&mut self, frame: &mut Frame, instruction: Instruction<'_>) -> Result<(), Fault> {
        self.name_barrier(frame, instruction);
        let [scope, memory, semantics] = *instruction.operands() else {
            return Err("a barrier without a scope".to_owned());
        };
        match self.module.integer(scope) {
            Some(WORKGROUP) => self.workgroup_barrier(),
            Some(SUBGROUP) => {
                let mask = self.emit.result(IrOp::ActiveMask, Type::U32, &[]);
                self.pushed(IrOp::WarpSync, &[mask]);
            }
            Some(INVOCATION) => {}
            _ => {
                self.emit.unknown("OpControlBarrier of a wider scope than a workgroup", &[], &[]);
            }
        }
        // What a barrier of the workgroup does not order in itself.
        if self.scope(memory) != standstill_kernel_ir::Scope::Cta {
            self.fence(memory, semantics);
        }
        Ok(())
    }

    fn workgroup_barrier(&mut self) {
        let op = IrOp::Barrier { kind: BarrierKind::Sync, aligned: true, reduction: None };
        self.pushed(op, &[Operand::Immediate(0), Operand::Absent, Operand::Absent]);
    }
}

/// What kind of group operation an instruction is.
#[derive(Debug, Clone, Copy)]
enum Group {
    Elect,
    Vote(VoteMode),
    AllEqual,
    First,
    Shuffle(ShuffleMode),
    /// A reduction, on operands read as this kind of number.
    Reduce(AtomicOperation, Option<ScalarKind>),
    /// Bits of a ballot; nobody waits for anybody.
    Bits,
    Other,
    /// Of the older kind, to which all invocations must come.
    Whole,
}

fn kind(op: Op) -> Option<Group> {
    use AtomicOperation as A;
    use ScalarKind::{Sint, Uint};
    Some(match op {
        Op::GroupNonUniformElect => Group::Elect,
        Op::GroupNonUniformAll => Group::Vote(VoteMode::All),
        Op::GroupNonUniformAny => Group::Vote(VoteMode::Any),
        Op::GroupNonUniformBallot => Group::Vote(VoteMode::Ballot),
        Op::GroupNonUniformAllEqual => Group::AllEqual,
        Op::GroupNonUniformBroadcastFirst => Group::First,
        Op::GroupNonUniformBroadcast | Op::GroupNonUniformShuffle => Group::Shuffle(ShuffleMode::Idx),
        Op::GroupNonUniformShuffleXor => Group::Shuffle(ShuffleMode::Bfly),
        Op::GroupNonUniformShuffleUp => Group::Shuffle(ShuffleMode::Up),
        Op::GroupNonUniformShuffleDown => Group::Shuffle(ShuffleMode::Down),
        Op::GroupNonUniformIAdd => Group::Reduce(A::Add, None),
        Op::GroupNonUniformSMin => Group::Reduce(A::Min, Some(Sint)),
        Op::GroupNonUniformUMin => Group::Reduce(A::Min, Some(Uint)),
        Op::GroupNonUniformSMax => Group::Reduce(A::Max, Some(Sint)),
        Op::GroupNonUniformUMax => Group::Reduce(A::Max, Some(Uint)),
        Op::GroupNonUniformBitwiseAnd | Op::GroupNonUniformLogicalAnd => Group::Reduce(A::And, None),
        Op::GroupNonUniformBitwiseOr | Op::GroupNonUniformLogicalOr => Group::Reduce(A::Or, None),
        Op::GroupNonUniformBitwiseXor => Group::Reduce(A::Xor, None),
        Op::GroupNonUniformInverseBallot
        | Op::GroupNonUniformBallotBitExtract
        | Op::GroupNonUniformBallotBitCount
        | Op::GroupNonUniformBallotFindLSB
        | Op::GroupNonUniformBallotFindMSB => Group::Bits,
        Op::GroupNonUniformFAdd
        | Op::GroupNonUniformIMul
        | Op::GroupNonUniformFMul
        | Op::GroupNonUniformFMin
        | Op::GroupNonUniformFMax
        | Op::GroupNonUniformLogicalXor
        | Op::GroupNonUniformQuadBroadcast
        | Op::GroupNonUniformQuadSwap
        | Op::GroupNonUniformRotateKHR => Group::Other,
        Op::GroupAll
        | Op::GroupAny
        | Op::GroupBroadcast
        | Op::GroupIAdd
        | Op::GroupFAdd
        | Op::GroupFMin
        | Op::GroupUMin
        | Op::GroupSMin
        | Op::GroupFMax
        | Op::GroupUMax
        | Op::GroupSMax => Group::Whole,
        _ => return None,
    })
}
