//! A launch as a transition system: states are numbers, and what one thread does from one of its states in one memory is
//! worked out once.

mod step;

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{BarrierKind, Op, Order, Program, Scope};

use crate::circle::Endless;
use crate::code::{Code, is_collective};
use crate::follow::{Event, Follower, Looks, NOTHING};
use crate::intern::Interner;
use crate::interpret::{Context, Machine, Shared, Stop, Unknown};
use crate::launch::{Launch, LaunchError};
use crate::layout::Word;
use crate::load::{lay_out_shared, load};
use crate::memory::Memory;
use crate::reductions::Reductions;
use crate::room;
use crate::rows::{Columns, bytes_for};
use crate::thread::{Active, Local, Running, Status};

/// What a thread waits for or does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A step of its own.
    Step,
    /// A block barrier.
    Barrier { id: u32, count: Option<u32>, predicate: bool },
    /// The other lanes of its mask: at the same place, or at any warp barrier.
    Warp { mask: u32, barrier: bool },
    /// It takes no step that changes anything: it circles.
    Circle,
    /// Nothing: it has ended.
    Over,
    /// Nothing: the launch ends with an error.
    Stopped,
}

/// Bytes of a loop that is known never to end, about.
const ENDLESS: usize = 256;

/// How the threads of a launch may be exchanged for each other without changing anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    /// Any with any.
    Grid,
    /// Those of one block.
    Block,
    /// None.
    None,
}

/// What comes of a step of one thread: its state, memory, and what it did that matters for order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) local: u32,
    memory: u32,
    effect: u32,
}

/// What is known of the step of a thread in a state.
pub(crate) enum Found {
    /// It can take none.
    Nothing,
    /// It is to be worked out.
    Open,
    /// It is known, with the fault that it showed.
    Known(Option<u32>),
}

/// A launch as a transition system. A state is one number for each thread and one for memory, last.
pub(crate) struct System<'p> {
    pub(crate) launch: Launch,
    pub(crate) program: &'p dyn Program,
    pub(crate) codes: Vec<Option<Code>>,
    shared: Shared,
    threads: u32,
    pub(crate) per_block: u32,
    symmetry: Symmetry,
    /// Whether it matters to a thread which block it is in.
    blocks_matter: bool,
    pub(crate) reductions: Reductions,
    pub(crate) memory: Memory,
    locals: Interner<Local>,
    next: Vec<Next>,
    /// By number of thread state and memory: what comes of its step.
    steps: FxHashMap<u64, Done>,
    /// What is followed, where it is looked for; then a state has a number for it before that of memory.
    pub(crate) orders: Option<Follower>,
    /// The first fault that the steps since the last look have shown.
    pub(crate) race: Option<u32>,
    unknown: Interner<Unknown>,
    /// What threads did, while a schedule is told.
    pub(crate) log: Option<Vec<(usize, u32)>>,
    endless: Endless,
}

impl<'p> System<'p> {
    pub(crate) fn new(
        program: &'p dyn Program,
        launch: Launch,
        reductions: Reductions,
        looks: Option<Looks>,
    ) -> Result<System<'p>, LaunchError> {
        let threads = launch.threads()?;
        let codes = load(program, launch.kernel);
        let shared = lay_out_shared(program, &codes, &launch);
        let has = |wanted: fn(Op) -> bool| {
            let functions = codes.iter().flatten();
            functions.flat_map(|code| &code.function.instructions).any(|instruction| wanted(instruction.op))
        };
        let collective = has(is_collective);
        let blocks_matter = shared.bytes > 0 || has(|op| matches!(op, Op::Barrier { .. })) || collective;
        let symmetry = match reductions.symmetry {
            false => Symmetry::None,
            true if collective => Symmetry::None,
            true if blocks_matter => Symmetry::Block,
            true => Symmetry::Grid,
        };
        let memory = Memory::new(&launch, shared.bytes, reductions.merge_own_accesses);
        let block_threads = launch.block_threads();
        Ok(System {
            per_block: block_threads,
            launch,
            program,
            codes,
            shared,
            threads,
            symmetry,
            blocks_matter,
            reductions,
            memory,
            locals: Interner::default(),
            next: Vec::new(),
            steps: FxHashMap::default(),
            orders: looks.map(|looks| Follower::new(block_threads, looks)),
            race: None,
            unknown: Interner::default(),
            log: None,
            endless: Endless::default(),
        })
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads as usize
    }

    pub(crate) fn block_of(&self, thread: usize) -> u32 {
        thread as u32 / self.per_block
    }

    /// Forgets everything but which words are shared.
    pub(crate) fn restart(&mut self) {
        self.memory.restart();
        self.locals = Interner::default();
        self.next.clear();
        self.steps.clear();
        self.race = None;
        if let Some(orders) = &mut self.orders {
            orders.restart();
        }
    }

    /// Something was taken for unimportant that is not: the search must begin again.
    pub(crate) fn is_broken(&self) -> bool {
        self.memory.broken || self.orders.as_ref().is_some_and(Follower::is_broken)
    }

    /// All that can be found has been.
    pub(crate) fn has_all(&self) -> bool {
        self.orders.as_ref().is_some_and(Follower::has_all)
    }

    pub(crate) fn local(&self, number: u32) -> Option<&Local> {
        self.locals.get(number).map(|local| &**local)
    }

    pub(crate) fn next(&self, number: u32) -> Next {
        self.next.get(number as usize).copied().unwrap_or(Next::Stopped)
    }

    pub(crate) fn unknown(&self, number: u32) -> Option<&Unknown> {
        self.unknown.get(number).map(|unknown| &**unknown)
    }

    /// Bytes that all of it takes but the program.
    pub(crate) fn bytes(&self) -> usize {
        let launch: usize = self.launch.memory.iter().map(|region| region.bytes.len()).sum();
        launch
            + self.memory.bytes()
            + self.locals.bytes()
            + self.next.capacity() * size_of::<Next>()
            + room::table(self.steps.len(), self.steps.capacity(), size_of::<(u64, Done)>())
            + self.orders.as_ref().map_or(0, Follower::bytes)
            + self.unknown.bytes()
            + self.endless.len() * ENDLESS
    }

    /// The first state.
    pub(crate) fn initial(&mut self) -> Vec<u32> {
        let mut state = self.initial_in_order();
        self.sort(&mut state);
        state
    }

    /// The first state, with threads in the order of the launch.
    pub(crate) fn initial_in_order(&mut self) -> Vec<u32> {
        let mut contents = Vec::new();
        let (mut locals, mut effects) = (Vec::new(), Vec::new());
        for thread in 0..self.threads {
            let code = self.codes.get(self.launch.kernel.0 as usize).and_then(Option::as_ref);
            let function = code.map(|code| &code.function);
            let top = Active {
                function: self.launch.kernel.0,
                block: 0,
                at: function.and_then(|function| function.blocks.first()).map_or(0, |block| block.first),
                registers: vec![0; function.map_or(0, |function| function.registers.len())],
            };
            let running = Running {
                frames: vec![top],
                memory: Vec::new(),
                thread: Some(thread),
                block: if self.blocks_matter { thread / self.per_block } else { 0 },
                started: self.reductions.merge_ends,
            };
            let (local, after, effect) = self.go_on(running, contents, |_| Ok(()));
            locals.push(local);
            effects.push(effect);
            contents = after;
        }
        if self.orders.is_some() {
            locals.push(0);
        }
        locals.push(self.memory.number(contents));
        for (effect, thread) in effects.into_iter().zip(0..) {
            self.follow(&mut locals, thread, effect);
        }
        self.normalise(&mut locals);
        self.forget(&mut locals);
        locals
    }

    /// Runs a thread: first what `act` does, then up to its next operation that others can see.
    pub(crate) fn go_on(
        &mut self,
        running: Running,
        contents: Vec<u64>,
        act: impl FnOnce(&mut Machine<'_, '_>) -> Result<(), Stop>,
    ) -> (u32, Vec<u64>, u32) {
        let (stop, next, running, contents, events) = self.with_machine(running, contents, |machine| {
            let stop = act(machine).err().unwrap_or_else(|| machine.settle());
            let next = next(machine);
            let running = Running {
                frames: std::mem::take(&mut machine.running.frames),
                memory: std::mem::take(&mut machine.running.memory),
                ..machine.running
            };
            (stop, next, running, std::mem::take(&mut machine.contents), machine.events.take())
        });
        let status = match stop {
            Stop::Status(Status::Ends) if self.reductions.merge_ends => Status::Ended,
            Stop::Status(status) => status,
            Stop::Unknown(unknown) => Status::Unknown(self.unknown.number(unknown).0),
        };
        let next = match status {
            Status::Runs => next,
            Status::Ends => Next::Step,
            Status::Ended => Next::Over,
            Status::Circles => Next::Circle,
            Status::Traps | Status::Asserts | Status::Faults(_) | Status::Unknown(_) => Next::Stopped,
        };
        let state = running.state(&self.codes, status);
        let effect = match (&mut self.orders, events) {
            (Some(orders), Some(events)) => orders.effect(events.into_list()),
            _ => 0,
        };
        let (number, fresh) = self.locals.number(state);
        if fresh {
            self.next.push(next);
        }
        (number, contents, effect)
    }

    /// Follows in a state's order what a thread did.
    pub(crate) fn follow(&mut self, state: &mut [u32], thread: usize, effect: u32) {
        if let Some(log) = self.log.as_mut().filter(|_| effect != 0) {
            log.push((thread, effect));
        }
        let at = self.threads();
        if let (Some(orders), Some(slot)) = (&mut self.orders, state.get_mut(at)) {
            let (order, race) = orders.after(*slot, thread as u8, effect);
            *slot = order;
            if race != NOTHING {
                self.race.get_or_insert(race);
            }
        }
    }

    /// Drops from a state's order what no thread that still runs can race with.
    fn forget(&mut self, state: &mut [u32]) {
        let at = self.threads();
        let (threads, rest) = state.split_at_mut(at.min(state.len()));
        if let (Some(orders), Some(slot)) = (&mut self.orders, rest.first_mut()) {
            *slot = orders.forget(*slot, live(&self.next, threads));
        }
    }

    /// Bytes that the numbers of a state need.
    pub(crate) fn columns(&self) -> Columns {
        let mut columns = vec![bytes_for(self.locals.len()); self.threads()];
        columns.extend(self.orders.as_ref().map(|orders| bytes_for(orders.len())));
        columns.push(bytes_for(self.memory.len()));
        Columns::new(columns)
    }

    /// Makes a thread run for `act`.
    pub(crate) fn with_machine<R>(
        &mut self,
        running: Running,
        contents: Vec<u64>,
        act: impl FnOnce(&mut Machine<'_, '_>) -> R,
    ) -> R {
        let context = Context {
            codes: &self.codes,
            launch: &self.launch,
            functions: &self.program.module().functions,
            shared: &self.shared,
        };
        act(&mut Machine {
            context: &context,
            memory: &mut self.memory,
            contents,
            running,
            endless: &mut self.endless,
            accesses: 0,
            seen: None,
            merges_plain: self.reductions.merge_plain_accesses,
            events: self.orders.as_ref().map(Follower::events),
        })
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Brings threads that can be exchanged into one order.
    pub(crate) fn sort(&self, state: &mut [u32]) {
        let threads = self.threads();
        let Some(locals) = state.get_mut(..threads) else { return };
        match self.symmetry {
            Symmetry::Grid => locals.sort_unstable(),
            Symmetry::Block => locals.chunks_mut(self.per_block as usize).for_each(<[u32]>::sort_unstable),
            Symmetry::None => {}
        }
    }

    /// Whether a thread does the same as the one before it in a sorted state.
    pub(crate) fn is_twin(&self, state: &[u32], thread: usize) -> bool {
        let twin = thread > 0 && state.get(thread - 1) == state.get(thread);
        match self.symmetry {
            Symmetry::Grid => twin,
            Symmetry::Block => twin && !thread.is_multiple_of(self.per_block as usize),
            Symmetry::None => false,
        }
    }
}

/// The threads that have not ended.
fn live(next: &[Next], locals: &[u32]) -> impl Iterator<Item = usize> {
    let lives = |&(&local, _): &(&u32, usize)| next.get(local as usize) != Some(&Next::Over);
    locals.iter().zip(0..).filter(lives).map(|(_, at)| at)
}

/// What an arrival at a barrier that does not wait hands on, and who waits takes up.
pub(crate) fn at_barrier(word: usize, order: Order) -> Event {
    let (word, scope) = (word as u32, Scope::Cta);
    let releases = order == Order::Release;
    Event::Access {
        word,
        bytes: 0,
        reads: true,
        writes: releases,
        order,
        scope,
        site: (0, 0),
        before: 0,
        after: 0,
        swapped: None,
    }
}

/// What stands before a thread that is not alone with its next operation.
pub(crate) fn next(machine: &Machine<'_, '_>) -> Next {
    let Some((function, instruction)) = machine.instruction() else { return Next::Step };
    let sources = function.sources(instruction.operands);
    let source = |index: usize| match sources.get(index) {
        None | Some(standstill_kernel_ir::Operand::Absent) => None,
        Some(&operand) => Some(machine.operand(operand)),
    };
    let warp = |mask, barrier| Next::Warp { mask: source(mask).unwrap_or(u64::MAX) as u32, barrier };
    match instruction.op {
        Op::Barrier { kind: BarrierKind::Sync, .. } => Next::Barrier {
            id: source(0).unwrap_or(0) as u32,
            count: source(1).map(|count| count as u32),
            predicate: source(2).is_some_and(|predicate| predicate & 1 != 0),
        },
        Op::WarpSync => warp(0, true),
        Op::Vote(_) | Op::Match { .. } | Op::WarpReduce { .. } => warp(1, false),
        Op::Shuffle(_) => warp(3, false),
        _ => Next::Step,
    }
}

impl Memory {
    /// The word that counts arrivals at a barrier that did not wait.
    pub(crate) fn barrier_word(&mut self, block: u32, id: u32) -> usize {
        self.reserved(Word { block, index: 1 << 60 | u64::from(id) })
    }
}
