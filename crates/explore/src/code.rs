//! A function with what exploration asks of it: which registers are live, and whether code still to come looks at
//! which thread it is.
//!
//! A *position* numbers the instructions of a function and the terminators of its blocks in one sequence: the
//! terminator of a block comes after its instructions.

use standstill_kernel_ir::{
    BlockId, Callee, Function, Guard, Instruction, Op, Operand, Register, Special, Terminator, Updates,
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
}

/// What an instruction does with a register.
fn registers(
    function: &Function,
    instruction: &Instruction,
    mut reads: impl FnMut(Register),
    mut writes: impl FnMut(Register),
) {
    for operand in function.sources(instruction.operands) {
        operand.register().into_iter().for_each(&mut reads);
    }
    for operand in function.destinations(instruction.operands) {
        let Operand::Register(register) = *operand else { continue };
        // Where the guard does not hold the old value stays.
        if instruction.guard.is_some() { reads(register) } else { writes(register) }
    }
    instruction.guard.map(Guard::register).into_iter().for_each(reads);
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

    /// The live registers before a position, in ascending order.
    pub(crate) fn live(&self, position: usize) -> impl Iterator<Item = usize> + '_ {
        let set = self.live.get(position).map_or(&[][..], |set| &set[..]);
        set.iter().enumerate().flat_map(|(index, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| index * 64 + bit)
        })
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
        let words = function.registers.len().div_ceil(64);
        let none: Registers = vec![0; words].into();
        let positions = function.instructions.len() + function.blocks.len();
        let mut live = vec![none.clone(); positions];
        let add = |set: &mut Registers, register: Register| {
            if let Some(word) = set.get_mut(register.0 as usize / 64) {
                *word |= 1 << (register.0 % 64);
            }
        };
        let mut changed = true;
        while changed {
            changed = false;
            for (number, block) in function.blocks.iter().enumerate().rev() {
                let number = number as u32;
                let mut now = none.clone();
                function.successors(BlockId(number), |next| {
                    let first = function.blocks.get(next.0 as usize).map_or(0, |block| block.first);
                    if let Some(entry) = live.get(Code::position(next.0, first)) {
                        now.iter_mut().zip(entry).for_each(|(word, &more)| *word |= more);
                    }
                });
                match block.terminator {
                    Terminator::Branch { guard, .. } => add(&mut now, guard.register()),
                    Terminator::Switch { index, .. } => {
                        index.register().into_iter().for_each(|register| add(&mut now, register));
                    }
                    Terminator::Return => {
                        function.result_pieces.iter().for_each(|piece| add(&mut now, piece.register));
                    }
                    _ => {}
                }
                let mut set = |position: usize, now: &Registers| {
                    if let Some(slot) = live.get_mut(position)
                        && slot != now
                    {
                        slot.clone_from(now);
                        changed = true;
                    }
                };
                set(Code::position(number, block.end), &now);
                for at in (block.first..block.end).rev() {
                    let Some(instruction) = function.instructions.get(at as usize) else { continue };
                    let (mut reads, mut writes) = (Vec::new(), Vec::new());
                    registers(function, instruction, |read| reads.push(read), |write| writes.push(write));
                    for register in writes {
                        if let Some(word) = now.get_mut(register.0 as usize / 64) {
                            *word &= !(1 << (register.0 % 64));
                        }
                    }
                    reads.into_iter().for_each(|register| add(&mut now, register));
                    set(Code::position(number, at), &now);
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
