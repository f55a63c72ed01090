//! Operations of all invocations of a subgroup.

use naga::{CollectiveOperation, Expression, GatherMode, Handle, SubgroupOperation};
use standstill_kernel_ir::{AtomicOperation, Op, Operand, ShuffleMode, Type, VoteMode};

use crate::frame::{Builder, Fault, Frame, Value};
use crate::types::register_type;

/// All invocations of a subgroup.
const EVERYBODY: Operand = Operand::Immediate(0xffff_ffff);

impl<'a> Builder<'a> {
    pub(crate) fn ballot(
        &mut self,
        frame: &mut Frame<'a>,
        result: Handle<Expression>,
        predicate: Option<Handle<Expression>>,
    ) -> Result<(), Fault> {
        let holds = match predicate {
            Some(predicate) => self.scalar(frame, predicate)?,
            None => Operand::Immediate(1),
        };
        let votes = self.result(Op::Vote(VoteMode::Ballot), Type::U32, &[holds, EVERYBODY]);
        // Four words, for subgroups of up to 128.
        let zero = Operand::Immediate(0);
        frame.values.insert(result, Value::Scalars(vec![votes, zero, zero, zero]));
        Ok(())
    }

    pub(crate) fn gather(
        &mut self,
        frame: &mut Frame<'a>,
        mode: GatherMode,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<(), Fault> {
        let values = self.scalars(frame, argument)?;
        let (mode, by) = match mode {
            GatherMode::BroadcastFirst => (ShuffleMode::Idx, Operand::Immediate(0)),
            GatherMode::Broadcast(lane) | GatherMode::Shuffle(lane) => {
                (ShuffleMode::Idx, self.scalar(frame, lane)?)
            }
            GatherMode::ShuffleDown(by) => (ShuffleMode::Down, self.scalar(frame, by)?),
            GatherMode::ShuffleUp(by) => (ShuffleMode::Up, self.scalar(frame, by)?),
            GatherMode::ShuffleXor(by) => (ShuffleMode::Bfly, self.scalar(frame, by)?),
            GatherMode::QuadBroadcast(_) | GatherMode::QuadSwap(_) => {
                let types = self.register_types(frame, result);
                let values = self.unknown("quad operation", &types, &values);
                frame.values.insert(result, Value::Scalars(values));
                return Ok(());
            }
        };
        // What `shfl` bounds a lane by: the first for `up`, the last for all others.
        let clamp = Operand::Immediate(if mode == ShuffleMode::Up { 0 } else { 31 });
        let types = self.register_types(frame, result);
        let mut all = Vec::new();
        for (value, ty) in values.into_iter().zip(types) {
            all.push(self.result(Op::Shuffle(mode), ty, &[value, by, clamp, EVERYBODY]));
        }
        frame.values.insert(result, Value::Scalars(all));
        Ok(())
    }

    pub(crate) fn collective(
        &mut self,
        frame: &mut Frame<'a>,
        op: SubgroupOperation,
        collective: CollectiveOperation,
        argument: Handle<Expression>,
        result: Handle<Expression>,
    ) -> Result<(), Fault> {
        let values = self.scalars(frame, argument)?;
        let kind = self.scalar_kind(self.type_of(frame, argument));
        let ty = kind.map_or(Type::U32, register_type);
        let vote = match op {
            SubgroupOperation::All => Some(VoteMode::All),
            SubgroupOperation::Any => Some(VoteMode::Any),
            _ => None,
        };
        let reduction = match op {
            SubgroupOperation::Add => Some(AtomicOperation::Add),
            SubgroupOperation::Min => Some(AtomicOperation::Min),
            SubgroupOperation::Max => Some(AtomicOperation::Max),
            SubgroupOperation::And => Some(AtomicOperation::And),
            SubgroupOperation::Or => Some(AtomicOperation::Or),
            SubgroupOperation::Xor => Some(AtomicOperation::Xor),
            _ => None,
        };
        let whole = collective == CollectiveOperation::Reduce && !ty.is_float() && ty.bits() == 32;
        let mut all = Vec::new();
        for value in values {
            all.push(match (vote, reduction.filter(|_| whole)) {
                (Some(mode), _) => self.result(Op::Vote(mode), Type::Pred, &[value, EVERYBODY]),
                (_, Some(operation)) => {
                    self.result(Op::WarpReduce { operation, ty }, ty, &[value, EVERYBODY])
                }
                // Everybody takes part and waits; what comes out is not modelled.
                _ => {
                    self.push(Op::WarpSync, &[], &[EVERYBODY]);
                    let of = self.unknown("subgroup operation", &[ty], &[value]);
                    of.first().copied().unwrap_or(Operand::Immediate(0))
                }
            });
        }
        frame.values.insert(result, Value::Scalars(all));
        Ok(())
    }
}
