//! Small kernels, and what each of their threads does.

/// Words of the buffer: data, then flags, then what each thread has read of flags.
pub(super) const GLOBAL_FLAGS: u64 = 280;
pub(super) const RESULTS: u64 = 512;
/// Flags in shared memory come behind the data there.
pub(super) const SHARED_FLAGS: u64 = 1120;
/// Results of a thread.
const MOST_RESULTS: u32 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Cta,
    Gpu,
    Sys,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Weak,
    Relaxed,
    Volatile,
    Acquire,
    Release,
    AcquireRelease,
}

/// Which threads of the grid do something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard {
    /// Bits of the thread's index in its block that are looked at, and what they must be.
    pub(super) mask: u32,
    pub(super) value: u32,
    /// Only this block.
    pub(super) block: Option<u32>,
}

impl Guard {
    pub(super) const ALL: Guard = Guard { mask: 0, value: 0, block: None };

    pub(super) fn takes(self, block: u32, thread: u32) -> bool {
        thread & self.mask == self.value && self.block.is_none_or(|only| only == block)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Store,
    /// Atomic exchange.
    Exchange,
    /// Reduction that adds.
    Add,
}

/// An access: element `(thread * factor + addend) & mask` from an offset on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(super) kind: Kind,
    pub(super) shared: bool,
    pub(super) flag: bool,
    /// The thread's index is counted over the whole grid.
    pub(super) whole: bool,
    pub(super) offset: u64,
    pub(super) factor: u32,
    pub(super) addend: u32,
    pub(super) mask: u32,
    pub(super) bytes: u64,
    pub(super) order: Order,
    pub(super) scope: Scope,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Access(Guard, Access),
    Fence(Guard, Scope),
    /// All threads of the block.
    Block,
    /// So many warps, from the first, at a barrier with a number; `waits` for the warps that do more than arrive.
    Some {
        id: u32,
        warps: u32,
        waits: u32,
    },
    /// The lanes that the guard takes.
    Warp(Guard),
    Branch(Guard, Vec<Step>, Vec<Step>),
}

/// A kernel and its launch.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    pub(super) steps: Vec<Step>,
}

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Access {
        kind: Kind,
        /// Shared memory of the thread's block.
        shared: bool,
        start: u64,
        bytes: u64,
        order: Order,
        scope: Scope,
        /// The number of the value that it writes to a flag, and of the word where what it read of one is left.
        writes: u32,
        result: Option<u64>,
    },
    Fence(Scope),
    /// A barrier: which, and whether it waits.
    Barrier {
        id: u64,
        waits: bool,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    pub(crate) block: u32,
    pub(crate) thread: u32,
    pub(crate) line: u32,
    pub(crate) what: What,
}

impl Program {
    /// What each thread does, thread by thread.
    pub(crate) fn events(&self) -> Vec<Vec<Event>> {
        let mut all = Vec::new();
        for block in 0..self.blocks {
            for thread in 0..self.threads {
                let mut events = Vec::new();
                let (mut line, mut results) = (100, 0);
                self.run(&self.steps, (block, thread), &mut line, &mut results, &mut events);
                all.push(events);
            }
        }
        all
    }

    fn run(
        &self,
        steps: &[Step],
        (block, thread): (u32, u32),
        line: &mut u32,
        results: &mut u32,
        events: &mut Vec<Event>,
    ) {
        for step in steps {
            *line += 1;
            let at = *line;
            let here = u64::from(at) << 32;
            let mut event = |what| events.push(Event { block, thread, line: at, what });
            match step {
                Step::Access(guard, access) if guard.takes(block, thread) => {
                    event(access.event(self, (block, thread), at, results));
                }
                Step::Fence(guard, scope) if guard.takes(block, thread) => event(What::Fence(*scope)),
                Step::Block => event(What::Barrier { id: here | u64::from(block), waits: true }),
                Step::Some { waits, .. } => {
                    let waits = waits >> (thread / 32) & 1 != 0;
                    event(What::Barrier { id: here | u64::from(block), waits });
                }
                Step::Warp(guard) if guard.takes(block, thread) => {
                    let warp = u64::from(block * 64 + thread / 32);
                    event(What::Barrier { id: here | warp, waits: true });
                }
                Step::Branch(guard, then, otherwise) => {
                    let mut quiet = Vec::new();
                    let taken = guard.takes(block, thread);
                    let mut none = 0;
                    for (body, is_taken) in [(then, taken), (otherwise, !taken)] {
                        let (into, counter) = match is_taken {
                            true => (&mut *events, &mut *results),
                            false => (&mut quiet, &mut none),
                        };
                        self.run(body, (block, thread), line, counter, into);
                    }
                }
                _ => {}
            }
        }
    }
}

impl Access {
    pub(super) fn reads_flag(&self) -> bool {
        self.flag && matches!(self.kind, Kind::Load | Kind::Exchange)
    }

    fn event(&self, program: &Program, (block, thread): (u32, u32), at: u32, results: &mut u32) -> What {
        let whole = block * program.threads + thread;
        let index = if self.whole { whole } else { thread };
        let element = index.wrapping_mul(self.factor).wrapping_add(self.addend) & self.mask;
        let start = self.offset + u64::from(element) * self.bytes;
        let result = self.reads_flag().then(|| {
            *results += 1;
            assert!(*results <= MOST_RESULTS);
            RESULTS + u64::from(whole * MOST_RESULTS + *results - 1)
        });
        let writes = (whole << 8) + at;
        let (kind, shared, bytes) = (self.kind, self.shared, self.bytes);
        What::Access { kind, shared, start, bytes, order: self.order, scope: self.scope, writes, result }
    }
}
