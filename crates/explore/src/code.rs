//! A function with what exploration asks of it: which registers are live, and whether code still to come looks at
//! which thread it is.
//!
//! A *position* numbers the instructions of a function and the terminators of its blocks in one sequence: the
//! terminator of a block comes after its instructions.

use std::sync::OnceLock;

use standstill_kernel_ir::liveness::{self, Liveness};
use standstill_kernel_ir::{
    BlockId, Callee, ControlFlow, Function, Loops, Op, Operand, Special, Terminator, Updates,
};

/// A set of registers.
type Registers = Box<[u64]>;

/// A function ready to be explored.
pub(crate) struct Code {
    pub(crate) function: Function,
    /// The registers that are live before each position.
    live: Vec<Registers>,
    /// For each block: whether it, or a block that control can reach from it, asks which thread this is.
    identity: Vec<bool>,
    /// Stores that write back what was read.
    pub(crate) updates: Updates,
    /// The functions that it calls directly.
    pub(crate) calls: Vec<u32>,
    loops: OnceLock<Loops>,
}

impl Code {
    pub(crate) fn new(function: Function) -> Code {
        let calls = function.calls.iter().filter_map(|call| match &call.callee {
            Callee::Direct(id) => Some(id.0),
            _ => None,
        });
        let mut code = Code {
            calls: calls.collect(),
            live: Vec::new(),
            identity: Vec::new(),
            updates: Updates::build(&function),
            loops: OnceLock::new(),
            function,
        };
        code.live = code.liveness();
        code.identity = code.identities();
        code
    }

    /// The position of an instruction of a block; of its terminator for the block's end.
    pub(crate) fn position(block: u32, instruction: u32) -> usize {
        (block + instruction) as usize
    }

    pub(crate) fn loops(&self) -> &Loops {
        self.loops.get_or_init(|| Loops::build(&ControlFlow::build(&self.function)))
    }

    /// The live registers before a position, in ascending order.
    pub(crate) fn live(&self, position: usize) -> impl Iterator<Item = usize> + '_ {
        let set = self.live.get(position).map_or(&[][..], |set| &set[..]);
        liveness::registers(set).map(|register| register.0 as usize)
    }

    /// Whether an instruction reads but the first guess of a compare-and-swap: whatever it reads, the swap tells.
    pub(crate) fn is_guess(&self, instruction: u32) -> bool {
        self.updates.guesses.contains(&instruction)
    }

    /// Whether code that can still run from a block on may ask which thread this is: in this function, or in one that
    /// it calls.
    pub(crate) fn asks_identity(&self, block: u32) -> bool {
        self.identity.get(block as usize).copied().unwrap_or(true)
    }

    fn liveness(&self) -> Vec<Registers> {
        let function = &self.function;
        let liveness = Liveness::build(function);
        let mut live = vec![Registers::default(); function.instructions.len() + function.blocks.len()];
        for (block, number) in function.blocks.iter().zip(0..) {
            for (set, at) in liveness.within(function, BlockId(number)).into_iter().zip(block.first..) {
                if let Some(slot) = live.get_mut(Code::position(number, at)) {
                    *slot = set;
                }
            }
        }
        live
    }

    fn identities(&self) -> Vec<bool> {
        let function = &self.function;
        let own = |block: u32| {
            let in_operands = function.instructions_of(BlockId(block)).iter().any(|instruction| {
                let sources = function.sources(instruction.operands);
                is_collective(instruction.op)
                    || matches!(instruction.op, Op::Call(_))
                    || sources.iter().any(|&operand| names_thread(operand))
            });
            let terminator = function.blocks.get(block as usize).map(|block| block.terminator);
            in_operands || matches!(terminator, Some(Terminator::Switch { index, .. }) if names_thread(index))
        };
        let count = function.blocks.len() as u32;
        let mut asks: Vec<bool> = (0..count).map(own).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for block in (0..count).rev() {
                let mut any = asks.get(block as usize).copied().unwrap_or(false);
                function.successors(BlockId(block), |next| {
                    any |= asks.get(next.0 as usize).copied().unwrap_or(false);
                });
                if let Some(slot) = asks.get_mut(block as usize)
                    && *slot != any
                {
                    *slot = any;
                    changed = true;
                }
            }
        }
        asks
    }
}

/// Whether an operand's value differs between threads by itself.
fn names_thread(operand: Operand) -> bool {
    let Operand::Special(special) = operand else { return false };
    match special {
        Special::Tid(_)
        | Special::Ctaid(_)
        | Special::LaneId
        | Special::WarpId
        | Special::SmId
        | Special::ClusterId(_)
        | Special::ClusterCtaid(_)
        | Special::ClusterCtarank
        | Special::LaneMaskEq
        | Special::LaneMaskLe
        | Special::LaneMaskLt
        | Special::LaneMaskGe
        | Special::LaneMaskGt => true,
        Special::Ntid(_)
        | Special::Nctaid(_)
        | Special::NwarpId
        | Special::WarpSize
        | Special::GridId
        | Special::NsmId
        | Special::NclusterId(_)
        | Special::ClusterNctaid(_)
        | Special::ClusterNctarank
        | Special::IsExplicitCluster
        | Special::Clock
        | Special::Clock64
        | Special::GlobalTimer
        | Special::DynamicSharedSize
        | Special::TotalSharedSize
        | Special::AggregateSharedSize
        | Special::CurrentGraphExec
        | Special::Environment(_)
        | Special::Other => false,
    }
}

/// Whether an operation is one of the lanes of a warp together, to which it matters who is which lane.
pub(crate) fn is_collective(op: Op) -> bool {
    matches!(
        op,
        Op::WarpSync
            | Op::Shuffle(_)
            | Op::Vote(_)
            | Op::Match { .. }
            | Op::WarpReduce { .. }
            | Op::ActiveMask
            | Op::Elect
    )
}
