//! The state of one thread between two steps, and how it is taken apart to run and put together again.

use crate::code::Code;
use crate::room::Heap;

/// Where a thread stands in a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    pub(crate) function: u32,
    pub(crate) block: u32,
    /// The instruction that comes next; the block's end for its terminator.
    pub(crate) at: u32,
    /// Values of the live registers, in ascending order.
    live: Box<[u64]>,
}

/// Why a thread takes no more steps, or that it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Status {
    /// It stands before an operation that others can see.
    Runs,
    /// All that is left is to end, which is a step of its own where schedulers are asked about.
    Ends,
    /// It has ended.
    Ended,
    /// It goes round in a loop that looks at nothing that can change.
    Circles,
    /// It trapped.
    Traps,
    /// An assertion failed.
    Asserts,
    /// An access went wrong.
    Faults(crate::memory::Wrong),
    /// It stands before an instruction that is not explored; the number of the reason.
    Unknown(u32),
}

/// The state of one thread. Threads with equal states do the same from there on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Local {
    pub(crate) status: Status,
    /// Innermost last.
    pub(crate) frames: Vec<Frame>,
    /// Its local memory.
    pub(crate) memory: Vec<u8>,
    /// Which thread of the launch it is, while code that is still to come asks.
    pub(crate) thread: Option<u32>,
    /// Its block, where it matters which one that is.
    pub(crate) block: u32,
    /// It has taken a step; always true where no scheduler is asked about.
    pub(crate) started: bool,
}

impl Heap for Frame {
    fn heap(&self) -> usize {
        self.live.heap()
    }
}

impl Heap for Local {
    fn heap(&self) -> usize {
        self.frames.heap() + self.memory.heap()
    }
}

/// A frame that runs.
pub(crate) struct Active {
    pub(crate) function: u32,
    pub(crate) block: u32,
    pub(crate) at: u32,
    pub(crate) registers: Vec<u64>,
}

/// A thread that runs.
pub(crate) struct Running {
    pub(crate) frames: Vec<Active>,
    pub(crate) memory: Vec<u8>,
    pub(crate) thread: Option<u32>,
    pub(crate) block: u32,
    pub(crate) started: bool,
}

/// The functions that a thread can come to, by their index in the module.
pub(crate) type Codes = [Option<Code>];

pub(crate) fn code(codes: &Codes, function: u32) -> Option<&Code> {
    codes.get(function as usize)?.as_ref()
}

impl Local {
    /// Takes it apart.
    pub(crate) fn run(&self, codes: &Codes) -> Running {
        let frames = self.frames.iter().map(|frame| {
            let mut registers = Vec::new();
            if let Some(code) = code(codes, frame.function) {
                registers.resize(code.function.registers.len(), 0);
                for (register, &value) in code.live(Code::position(frame.block, frame.at)).zip(&frame.live) {
                    if let Some(slot) = registers.get_mut(register) {
                        *slot = value;
                    }
                }
            }
            Active { function: frame.function, block: frame.block, at: frame.at, registers }
        });
        Running {
            frames: frames.collect(),
            memory: self.memory.clone(),
            thread: self.thread,
            block: self.block,
            started: self.started,
        }
    }
}

impl Running {
    /// Puts it together. A caller's frame keeps what is live behind its call; what the call will write counts as
    /// live there and holds the value from before, which is always the same.
    pub(crate) fn state(&self, codes: &Codes, status: Status) -> Local {
        let over = matches!(status, Status::Ends | Status::Ended);
        let frames = self.frames.iter().map(|frame| {
            let live = code(codes, frame.function).map_or(Vec::new(), |code| {
                let live = code.live(Code::position(frame.block, frame.at));
                live.map(|register| frame.registers.get(register).copied().unwrap_or(0)).collect()
            });
            Frame { function: frame.function, block: frame.block, at: frame.at, live: live.into() }
        });
        let frames: Vec<Frame> = if over { Vec::new() } else { frames.collect() };
        let asks =
            |frame: &Frame| code(codes, frame.function).is_none_or(|code| code.asks_identity(frame.block));
        let thread = self.thread.filter(|_| frames.iter().any(asks));
        let memory = if over { Vec::new() } else { self.memory.clone() };
        Local { status, frames, memory, thread, block: self.block, started: self.started }
    }
}
