//! Waits for a flag that was acquired in a wait before.

use rustc_hash::FxHashSet;
use standstill_kernel_ir::{Arithmetic, BlockId, Op, Operand, Terminator, ValueDef, ValueId};

use super::Check;
use super::flags::{Access, Kind, Poll};
use super::paths::{self, Way};

/// Blocks, each with what was answered before it, after which every path counts.
const MOST_PLACES: usize = 4096;

/// What a branch asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Question {
    operation: Arithmetic,
    /// Which of the comparison's results it is.
    destination: u16,
    sources: Vec<Source>,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    Value(ValueId),
    Other(Operand),
}

/// A question, and how a path answers it.
type Answer = (Question, bool);

impl Check<'_> {
    /// Whether every thread that comes to a poll has set the flag itself, or has acquired it in a wait before.
    pub(super) fn acquired_before(&self, poll: &Poll, writer: &Access) -> bool {
        let body = self.kernel.body;
        let passed: Vec<BlockId> = self
            .polls
            .iter()
            .filter(|other| {
                matches!(other.kind, Kind::Spin(_))
                    && paths::orders(other.access.access.order, Way::Acquire)
                    && other.access.address.same(&poll.access.address)
            })
            .map(|other| other.access.at)
            .chain([writer.at])
            .map(|at| body.block_of(at))
            .collect();
        let to = body.block_of(poll.access.at);
        if passed.len() < 2 || passed.contains(&to) {
            return false;
        }
        !self.comes_past(to, &passed)
    }

    /// Whether a path from the entry comes to a block and goes through none of some. Where branches ask the same, a path answers them the
    /// same; after too many different answers every path counts.
    fn comes_past(&self, to: BlockId, passed: &[BlockId]) -> bool {
        let body = self.kernel.body;
        let mut seen: FxHashSet<(BlockId, Vec<Answer>)> = FxHashSet::default();
        let mut open = vec![(BlockId(0), Vec::new())];
        while let Some((block, answers)) = open.pop() {
            if block == to || seen.len() > MOST_PLACES {
                return true;
            }
            if passed.contains(&block) || !seen.insert((block, answers.clone())) {
                continue;
            }
            let terminator = body.function.blocks.get(block.0 as usize).map(|block| block.terminator);
            let question = self.question(block);
            match (terminator, question) {
                (Some(Terminator::Branch { guard, taken, otherwise }), Some(question)) => {
                    let known = answers.iter().find(|(of, _)| *of == question).map(|(_, answer)| *answer);
                    for (next, goes) in [(taken, true), (otherwise, false)] {
                        let answer = goes != guard.negated();
                        if known.is_none_or(|known| known == answer) {
                            let mut answers = answers.clone();
                            if known.is_none() {
                                answers.push((question.clone(), answer));
                            }
                            open.push((next, answers));
                        }
                    }
                }
                _ => body.function.successors(block, |next| open.push((next, answers.clone()))),
            }
        }
        false
    }

    /// What the branch at a block's end asks, where it asks the same however often: a comparison of what comes from outside of all
    /// loops.
    fn question(&self, block: BlockId) -> Option<Question> {
        let body = self.kernel.body;
        let asked = body.ssa.definition(body.ssa.terminator(block)?)?;
        let ValueDef::Instruction { instruction, destination, previous: None } = asked else { return None };
        let comparison = body.instruction(instruction)?;
        let Op::Arithmetic(operation) = comparison.op else { return None };
        let mut sources = Vec::new();
        for (index, &operand) in body.function.sources(comparison.operands).iter().enumerate() {
            sources.push(match (body.source_value(comparison, index), operand) {
                (Some(value), _) => {
                    let from = body.ssa.block(value, &body.flow)?;
                    body.loops.innermost(from).is_none().then_some(())?;
                    Source::Value(value)
                }
                (None, Operand::Register(_) | Operand::Negated(_) | Operand::Address { .. }) => return None,
                (None, other) => Source::Other(other),
            });
        }
        Some(Question { operation, destination, sources })
    }
}
