//! Loops that a thread goes round for good, alone with its own values.
//!
//! Only what decides whether a loop is left counts: the registers that its branches and guards look at and everything that feeds them,
//! with all that goes into an instruction other than arithmetic. When the thread comes to the same block with the same of these, without
//! having left the loop in between, it never leaves it; a counter that runs beside does not hide that. A state is remembered and compared
//! as Brent does («An improved Monte Carlo factorization algorithm», BIT 1980): it is replaced each time the number of instructions
//! has doubled.

use rustc_hash::FxHashSet;
use standstill_kernel_ir::{BlockId, Guard, LoopId, Op, Register, Terminator};

use crate::code::Code;
use crate::interpret::Machine;
use crate::thread::{Local, Status};

/// Instructions before a loop is looked at.
pub(crate) const LOOK: u64 = 256;

/// The beginnings of loops that are known never to end: function, block, and the registers that count.
pub(crate) type Endless = FxHashSet<(u32, u32, Vec<u64>)>;

/// What decides whether a loop is left.
struct Slice {
    around: LoopId,
    registers: Vec<Register>,
    /// It reads no memory.
    pure: bool,
}

/// What is compared.
enum What {
    /// Of a loop what counts.
    Loop { slice: Slice, values: Vec<u64>, local: Vec<u8> },
    /// The thread as it is.
    Whole(Box<Local>),
}

struct Remembered {
    function: u32,
    block: u32,
    depth: usize,
    what: What,
    contents: Vec<u64>,
}

/// Looks whether a thread goes in a circle.
#[derive(Default)]
pub(crate) struct Watch {
    remembered: Option<Remembered>,
    replace_at: u64,
    /// The first that was remembered.
    first: Option<(u32, u32, Vec<u64>)>,
}

impl Watch {
    /// Whether a thread that has come to a block after so many instructions never goes on.
    pub(crate) fn circles(&mut self, machine: &mut Machine<'_, '_>, count: u64) -> bool {
        let (Some(top), Some(code)) = (machine.top(), machine.code()) else { return false };
        let (function, block, depth) = (top.function, top.block, machine.running.frames.len());
        let mut left = false;
        if let Some(known) = &self.remembered {
            let here = (known.function, known.depth) == (function, depth);
            left = match &known.what {
                What::Loop { slice, .. } => !here || !code.loops().contains(slice.around, BlockId(block)),
                What::Whole(_) => false,
            };
            if here && known.block == block && known.is(machine) {
                machine.endless.extend(self.first.take());
                return true;
            }
        }
        if left || count >= self.replace_at {
            self.remembered = Remembered::new(machine, function, block);
            if count >= self.replace_at {
                self.replace_at = count * 2;
            }
            let key = self.remembered.as_ref().and_then(Remembered::key);
            if key.as_ref().is_some_and(|key| machine.endless.contains(key)) {
                return true;
            }
            // Where it began is of use for others only when it is of the same loop.
            self.first = match (self.first.take(), key) {
                (Some(first), Some(key)) if !left && (first.0, first.1) == (key.0, key.1) => Some(first),
                (_, key) => key,
            };
        }
        false
    }
}

impl Remembered {
    fn new(machine: &Machine<'_, '_>, function: u32, block: u32) -> Option<Remembered> {
        let (code, depth) = (machine.code()?, machine.running.frames.len());
        let what = match slice(code, BlockId(block)) {
            Some(slice) => {
                let values = slice.registers.iter().map(|&register| machine.register(register)).collect();
                What::Loop { slice, values, local: machine.running.memory.clone() }
            }
            None => What::Whole(Box::new(machine.running.state(machine.context.codes, Status::Runs))),
        };
        Some(Remembered { function, block, depth, what, contents: machine.contents.clone() })
    }

    /// Whether a machine in the same block is in the same state.
    fn is(&self, machine: &Machine<'_, '_>) -> bool {
        match &self.what {
            What::Loop { slice, values, local } => {
                let registers = slice.registers.iter().zip(values);
                registers.into_iter().all(|(&register, &value)| machine.register(register) == value)
                    && *local == machine.running.memory
                    && self.contents == machine.contents
            }
            What::Whole(local) => {
                self.contents == machine.contents
                    && **local == machine.running.state(machine.context.codes, Status::Runs)
            }
        }
    }

    /// What makes the loop the same for any thread.
    fn key(&self) -> Option<(u32, u32, Vec<u64>)> {
        match &self.what {
            What::Loop { slice: Slice { pure: true, .. }, values, .. } => {
                Some((self.function, self.block, values.clone()))
            }
            _ => None,
        }
    }
}

/// What decides whether the innermost loop around a block is left; `None` where there is none, or where it calls.
fn slice(code: &Code, block: BlockId) -> Option<Slice> {
    let (function, loops) = (&code.function, code.loops());
    let around = loops.innermost(block)?;
    let inside = || loops.blocks(around).iter().flat_map(|&block| function.instructions_of(block));
    if inside().any(|instruction| matches!(instruction.op, Op::Call(_))) {
        return None;
    }
    let mut registers: Vec<Register> = Vec::new();
    for &block in loops.blocks(around) {
        match function.blocks.get(block.0 as usize)?.terminator {
            Terminator::Branch { guard, .. } => registers.push(guard.register()),
            Terminator::Switch { index, .. } => registers.extend(index.register()),
            Terminator::Return => registers.extend(function.result_pieces.iter().map(|piece| piece.register)),
            Terminator::Jump(_) | Terminator::Exit | Terminator::Trap => {}
        }
    }
    let reads = |op: Op| !matches!(op, Op::Arithmetic(_));
    loop {
        let before = registers.len();
        for instruction in inside() {
            let destinations = function.destinations(instruction.operands);
            let mut written = destinations.iter().filter_map(|operand| operand.register());
            if reads(instruction.op) || written.any(|register| registers.contains(&register)) {
                let sources = function.sources(instruction.operands).iter();
                registers.extend(sources.filter_map(|operand| operand.register()));
                registers.extend(instruction.guard.map(Guard::register));
            }
        }
        registers.sort_unstable_by_key(|register| register.0);
        registers.dedup();
        if registers.len() == before {
            break;
        }
    }
    let pure = !inside().any(|instruction| reads(instruction.op));
    Some(Slice { around, registers, pure })
}
