//! Runs a thread through what nobody else can see, up to the next operation that others can.

use standstill_kernel_ir::evaluate;
use standstill_kernel_ir::{
    Callee, FenceKind, Function, FunctionId, Instruction, LocationId, Op, Operand, Order, Register, Scope,
    Symbol, Terminator,
};

use crate::circle::{Endless, LOOK, Watch};
use crate::code::Code;
use crate::follow::{Event, Events};
use crate::launch::Launch;
use crate::memory::Memory;
use crate::room::Heap;
use crate::thread::{Active, Codes, Running, Status, code};
use crate::values::{is_clock, is_in_space};

/// Instructions after which a loop that neither ends nor repeats is given up.
const MOST: u64 = 300_000_000;
/// Sources that arithmetic has at most, but for the rarest.
const MOST_SOURCES: usize = 6;
/// Calls inside each other.
const DEPTH: usize = 64;

/// Why an instruction is not explored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Unknown {
    /// What it is.
    pub(crate) what: String,
    /// Where it stands.
    pub(crate) function: u32,
    pub(crate) location: LocationId,
    pub(crate) offset: u32,
}

impl Heap for Unknown {
    fn heap(&self) -> usize {
        self.what.heap()
    }
}

/// What does not change during a search.
pub(crate) struct Context<'a> {
    pub(crate) codes: &'a Codes,
    pub(crate) launch: &'a Launch,
    pub(crate) functions: &'a [standstill_kernel_ir::FunctionHeader],
    /// Offset in shared memory of each variable: of the module, then of each function.
    pub(crate) shared: &'a Shared,
}

/// Where shared variables lie.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared {
    pub(crate) offsets: rustc_hash::FxHashMap<(Option<u32>, Symbol), u64>,
    pub(crate) bytes: u64,
}

/// How going on ended.
pub(crate) enum Stop {
    /// Before an operation that others can see, or for good.
    Status(Status),
    /// Before an instruction that is not explored.
    Unknown(Unknown),
}

/// What one instruction did.
pub(crate) enum Did {
    Next,
    Stop(Stop),
    /// Control has moved already.
    Moved,
}

/// A thread that runs, with the memory that it sees.
pub(crate) struct Machine<'a, 'b> {
    pub(crate) context: &'b Context<'a>,
    pub(crate) memory: &'b mut Memory,
    pub(crate) contents: Vec<u64>,
    pub(crate) running: Running,
    /// Accesses since the step began.
    pub(crate) accesses: u32,
    /// The first access of the step.
    pub(crate) seen: Option<Seen>,
    /// Plain accesses belong to the step before them.
    pub(crate) merges_plain: bool,
    /// Loops that never end.
    pub(crate) endless: &'b mut Endless,
    /// What matters for order, where that is followed.
    pub(crate) events: Option<Events>,
}

/// An access that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its address; an offset in shared memory.
    pub(crate) address: u64,
    pub(crate) shared: bool,
    pub(crate) bytes: u32,
    /// What memory held before, and what it holds after.
    pub(crate) before: u64,
    pub(crate) after: u64,
}

impl<'a> Machine<'a, '_> {
    pub(crate) fn top(&self) -> Option<&Active> {
        self.running.frames.last()
    }

    pub(crate) fn code(&self) -> Option<&'a Code> {
        code(self.context.codes, self.top()?.function)
    }

    /// The instruction that comes next; `None` at a terminator.
    pub(crate) fn instruction(&self) -> Option<(&'a Function, &'a Instruction)> {
        let (top, code) = (self.top()?, self.code()?);
        let block = code.function.blocks.get(top.block as usize)?;
        let instruction = code.function.instructions.get(top.at as usize)?;
        (top.at < block.end).then_some((&code.function, instruction))
    }

    /// Goes past the instruction that comes next.
    pub(crate) fn pass(&mut self) {
        if let Some(top) = self.running.frames.last_mut() {
            top.at += 1;
        }
    }

    /// Runs up to the next operation that others can see.
    pub(crate) fn settle(&mut self) -> Stop {
        let mut count = 0u64;
        let mut watch = Watch::default();
        loop {
            count += 1;
            if count > MOST {
                return self.unknown(format!("a loop that ran {MOST} instructions alone"));
            }
            let did = match self.instruction() {
                Some((function, instruction)) => self.execute(function, *instruction),
                None => self.terminator(),
            };
            match did {
                Did::Next => self.pass(),
                Did::Moved if count >= LOOK && watch.circles(self, count) => {
                    return Stop::Status(Status::Circles);
                }
                Did::Moved => {}
                Did::Stop(stop) => return stop,
            }
        }
    }

    pub(crate) fn unknown(&self, what: String) -> Stop {
        let (function, place) = match (self.top(), self.instruction()) {
            (Some(top), Some((_, instruction))) => (top.function, (instruction.location, instruction.offset)),
            (top, _) => (top.map_or(0, |top| top.function), (LocationId(0), 0)),
        };
        Stop::Unknown(Unknown { what, function, location: place.0, offset: place.1 })
    }

    fn terminator(&mut self) -> Did {
        let (Some(top), Some(code)) = (self.top(), self.code()) else {
            return Did::Stop(Stop::Status(Status::Ends));
        };
        let Some(block) = code.function.blocks.get(top.block as usize) else {
            return Did::Stop(Stop::Status(Status::Ends));
        };
        match block.terminator {
            Terminator::Jump(to) => self.jump(to.0),
            Terminator::Branch { guard, taken, otherwise } => {
                let holds = self.register(guard.register()) & 1 != 0;
                self.jump(if holds != guard.negated() { taken.0 } else { otherwise.0 })
            }
            Terminator::Switch { index, first, count } => {
                let index = self.operand(index) as u32;
                let target = code.function.switch_targets.get((first + index.min(count)) as usize);
                match target {
                    Some(target) if index < count => self.jump(target.0),
                    _ => Did::Stop(self.unknown("a jump past the end of its list of targets".to_owned())),
                }
            }
            Terminator::Return if self.running.frames.len() > 1 => self.give_back(),
            Terminator::Return | Terminator::Exit => Did::Stop(Stop::Status(Status::Ends)),
            Terminator::Trap => Did::Stop(Stop::Status(Status::Traps)),
        }
    }

    fn jump(&mut self, block: u32) -> Did {
        let first =
            self.code().and_then(|code| code.function.blocks.get(block as usize)).map(|block| block.first);
        if let (Some(top), Some(first)) = (self.running.frames.last_mut(), first) {
            (top.block, top.at) = (block, first);
        }
        Did::Moved
    }

    /// Back to the caller with the results.
    fn give_back(&mut self) -> Did {
        let Some(code) = self.code() else { return Did::Stop(Stop::Status(Status::Ends)) };
        let results = code.function.result_pieces.iter();
        let results: Vec<_> =
            results.map(|piece| (piece.index, piece.offset, self.register(piece.register))).collect();
        self.running.frames.pop();
        let Some(top) = self.top() else { return Did::Stop(Stop::Status(Status::Ends)) };
        let call = self.code().and_then(|code| {
            match code.function.instructions.get((top.at as usize).checked_sub(1)?)?.op {
                Op::Call(call) => code.function.calls.get(call.0 as usize),
                _ => None,
            }
        });
        for piece in call.map_or(&[][..], |call| &call.results) {
            let value =
                results.iter().find(|(index, offset, _)| (*index, *offset) == (piece.index, piece.offset));
            self.set(piece.register, value.map_or(0, |&(_, _, value)| value));
        }
        Did::Moved
    }

    pub(crate) fn register(&self, register: Register) -> u64 {
        self.top().and_then(|top| top.registers.get(register.0 as usize)).copied().unwrap_or(0)
    }

    fn set(&mut self, register: Register, value: u64) {
        let ty =
            self.code().and_then(|code| code.function.registers.get(register.0 as usize)).map(|info| info.ty);
        if let (Some(top), Some(ty)) = (self.running.frames.last_mut(), ty)
            && let Some(slot) = top.registers.get_mut(register.0 as usize)
        {
            *slot = evaluate::keep(value, ty);
        }
    }

    /// Writes a destination, when there is one.
    pub(crate) fn assign(&mut self, destination: Option<&Operand>, value: u64) {
        if let Some(&Operand::Register(register)) = destination {
            self.set(register, value);
        }
    }

    pub(crate) fn sources(&self, function: &Function, instruction: Instruction) -> Vec<u64> {
        function.sources(instruction.operands).iter().map(|&operand| self.operand(operand)).collect()
    }

    /// Executes an instruction, or stops before it.
    fn execute(&mut self, function: &'a Function, instruction: Instruction) -> Did {
        if let Some(guard) = instruction.guard
            && (self.register(guard.register()) & 1 != 0) == guard.negated()
        {
            return Did::Next;
        }
        let sources = function.sources(instruction.operands);
        if sources.iter().any(|&operand| is_clock(operand)) {
            return Did::Stop(self.unknown("a read of the clock".to_owned()));
        }
        match instruction.op {
            Op::Arithmetic(arithmetic) => {
                let (mut few, many);
                let values = if sources.len() <= MOST_SOURCES {
                    few = [0; MOST_SOURCES];
                    few.iter_mut().zip(sources).for_each(|(slot, &source)| *slot = self.operand(source));
                    few.get(..sources.len()).unwrap_or(&[])
                } else {
                    many = self.sources(function, instruction);
                    &many[..]
                };
                let destinations = function.destinations(instruction.operands);
                let results = match arithmetic.operation {
                    standstill_kernel_ir::Operation::Isspacep => {
                        let inside = is_in_space(values.first().copied(), values.get(1).copied());
                        self.assign(destinations.first(), inside.into());
                        return Did::Next;
                    }
                    _ => evaluate::execute(&arithmetic, values, destinations.len()),
                };
                let Some(results) = results else {
                    return Did::Stop(self.unknown(format!("{:?}", arithmetic.operation).to_lowercase()));
                };
                for (destination, &value) in destinations.iter().zip(results.iter()) {
                    self.assign(Some(destination), value);
                }
                Did::Next
            }
            Op::Load(access) | Op::Store(access) | Op::Atomic { access, .. } => {
                match self.access(function, instruction, access, false) {
                    Ok(true) => Did::Next,
                    Ok(false) => Did::Stop(Stop::Status(Status::Runs)),
                    Err(stop) => Did::Stop(stop),
                }
            }
            Op::Mbarrier { .. } => match self.mbarrier(function, instruction, false) {
                Ok(true) => Did::Next,
                Ok(false) => Did::Stop(Stop::Status(Status::Runs)),
                Err(stop) => Did::Stop(stop),
            },
            Op::Barrier { .. }
            | Op::WarpSync
            | Op::Shuffle(_)
            | Op::Vote(_)
            | Op::Match { .. }
            | Op::WarpReduce { .. } => Did::Stop(Stop::Status(Status::Runs)),
            Op::Fence { kind: FenceKind::Thread, order, scope } => {
                // Values are sequentially consistent without it.
                if let Some(events) = &mut self.events {
                    events.push(Event::Fence {
                        wide: scope >= Scope::Gpu,
                        acquires: order != Order::Release,
                        releases: order != Order::Acquire,
                    });
                }
                Did::Next
            }
            Op::LifeMark { freed } => {
                self.life_mark(function, instruction, freed);
                Did::Next
            }
            Op::OperationMark(mark) => self.operation_mark(function, instruction, mark),
            // Time does not count.
            Op::Fence { .. }
            | Op::Nanosleep
            | Op::Hint
            | Op::SetMaximumRegisters
            | Op::GridDependency { .. } => Did::Next,
            Op::Call(call) => self.call(function, instruction, call.0),
            Op::ActiveMask
            | Op::Elect
            | Op::AsyncCopy { .. }
            | Op::AsyncCommit
            | Op::AsyncWait
            | Op::AsyncMbarrierArrive { .. }
            | Op::BulkCopy { .. }
            | Op::AsyncStore { .. }
            | Op::BulkCommit
            | Op::BulkWait { .. }
            | Op::Matrix(_)
            | Op::ClusterBarrier { .. }
            | Op::Opaque(_) => Did::Stop(self.unknown(describe(function, instruction.op))),
        }
    }

    fn call(&mut self, function: &'a Function, instruction: Instruction, call: u32) -> Did {
        let Some(site) = function.calls.get(call as usize) else { return Did::Next };
        let Callee::Direct(id) = site.callee else {
            return Did::Stop(self.unknown("an indirect call".to_owned()));
        };
        let name = self.context.functions.get(id.0 as usize).map_or("", |header| header.name.as_str());
        match name {
            "__assertfail" => return Did::Stop(Stop::Status(Status::Asserts)),
            "vprintf" => {
                self.assign(function.destinations(instruction.operands).first(), 0);
                return Did::Next;
            }
            _ => {}
        }
        let Some(callee) = code(self.context.codes, id.0) else {
            return Did::Stop(self.unknown(format!("a call of {name}")));
        };
        if self.running.frames.len() >= DEPTH {
            return Did::Stop(self.unknown(format!("{DEPTH} calls inside each other")));
        }
        let arguments = site.arguments.iter();
        let arguments: Vec<_> =
            arguments.map(|piece| (piece.index, piece.offset, self.register(piece.register))).collect();
        for piece in &site.results {
            self.set(piece.register, 0);
        }
        self.pass();
        let FunctionId(number) = id;
        let first = callee.function.blocks.first().map_or(0, |block| block.first);
        let registers = vec![0; callee.function.registers.len()];
        self.running.frames.push(Active { function: number, block: 0, at: first, registers });
        for piece in &callee.function.parameter_pieces {
            let value =
                arguments.iter().find(|(index, offset, _)| (*index, *offset) == (piece.index, piece.offset));
            self.set(piece.register, value.map_or(0, |&(_, _, value)| value));
        }
        Did::Moved
    }
}

/// What an instruction that is not explored is called.
fn describe(function: &Function, op: Op) -> String {
    match op {
        Op::Opaque(id) => {
            function.opaque.get(id.0 as usize).map_or("?", |opaque| opaque.mnemonic.as_str()).to_owned()
        }
        Op::ActiveMask => "activemask".to_owned(),
        Op::Elect => "elect".to_owned(),
        Op::ClusterBarrier { .. } => "a cluster barrier".to_owned(),
        Op::Matrix(_) => "a matrix instruction".to_owned(),
        _ => "an asynchronous copy".to_owned(),
    }
}
