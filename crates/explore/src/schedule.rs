//! The steps that lead to a state, with what each reads and writes.

use standstill_kernel_ir::{
    AtomicOperation, BarrierKind, FunctionId, Location, LocationId, MbarrierOperation, Op, Symbol, Type,
};

use standstill_kernel_ir::evaluate::mbarrier::Mbarrier;
use standstill_kernel_ir::evaluate::signed;

use crate::follow::Site;
use crate::graph::{Graph, StateId};
use crate::interpret::Seen;
use crate::launch::plain_name;
use crate::layout::Word;
use crate::memory::Wrong;
use crate::system::{Next, System};
use crate::thread::{Local, Status};
use crate::track::{Move, Way};

/// Where an instruction stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// The function, as the compiler named it.
    pub function: String,
    /// The user's file; empty when the line is not known.
    pub file: String,
    /// Line, from 1; 0 when it is not known.
    pub line: u32,
    /// Column, from 1; 0 when it is not known.
    pub column: u32,
    /// Byte offset of the instruction in the input.
    pub offset: u32,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// Reads memory.
    Load,
    /// Writes memory.
    Store,
    /// An atomic operation on memory.
    Atomic(AtomicOperation),
    /// Does something to an mbarrier, or looks whether its phase is over.
    Mbarrier(MbarrierOperation),
    /// Comes to a barrier without waiting.
    Arrive,
    /// The thread ends.
    End,
}

/// One step of one thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleStep {
    /// Block, by its linear index.
    pub block: u32,
    /// Thread of the block, by its linear index.
    pub thread: u32,
    /// What it does.
    pub kind: StepKind,
    /// The memory that it does it to: a variable's name with an index, `p0[1]`.
    pub memory: String,
    /// What was there before.
    pub before: String,
    /// What is there after.
    pub after: String,
    /// The bytes that it touches, where it touches memory.
    pub touched: Option<Touched>,
    /// Where its instruction stands.
    pub place: Place,
}

/// Bytes that a step touches, the first element of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    /// The first address; in shared memory counted from the block's start.
    pub address: u64,
    /// It is shared memory of the block.
    pub shared: bool,
    /// How many.
    pub bytes: u32,
    /// What they held before, and what they hold after.
    pub before: u64,
    /// See [`Touched::before`].
    pub after: u64,
}

/// The steps to a state.
pub(crate) struct Schedule {
    pub(crate) steps: Vec<ScheduleStep>,
    /// The state, with threads in the order of the launch.
    pub(crate) now: Vec<u32>,
    /// How it went, for taking it apart.
    pub(crate) way: Way,
}

impl ScheduleStep {
    /// Whether it changes memory or may.
    pub fn writes(&self) -> bool {
        match self.kind {
            StepKind::Store => true,
            StepKind::Atomic(_) | StepKind::Mbarrier(_) => self.before != self.after,
            StepKind::Load | StepKind::Arrive | StepKind::End => false,
        }
    }

    /// What it does, in words.
    pub fn words(&self) -> String {
        let ScheduleStep { memory, before, after, .. } = self;
        match self.kind {
            StepKind::Load => format!("reads {memory} = {before}"),
            StepKind::Store => format!("writes {memory} = {after}"),
            StepKind::Atomic(AtomicOperation::CompareExchange) if before == after => {
                format!("compare-and-swap of {memory} finds {before}, leaves it")
            }
            StepKind::Atomic(AtomicOperation::CompareExchange) => {
                format!("compare-and-swap of {memory}: {before} → {after}")
            }
            StepKind::Atomic(operation) => {
                format!("atomic {} of {memory}: {before} → {after}", format!("{operation:?}").to_lowercase())
            }
            StepKind::Mbarrier(MbarrierOperation::Wait { .. }) => {
                format!("looks at mbarrier {memory}: {before}")
            }
            StepKind::Mbarrier(MbarrierOperation::Init) => format!("sets up mbarrier {memory}: {after}"),
            StepKind::Mbarrier(MbarrierOperation::Arrive { .. }) => {
                format!("arrives at mbarrier {memory}: {before} → {after}")
            }
            StepKind::Mbarrier(_) => format!("changes mbarrier {memory}: {before} → {after}"),
            StepKind::Arrive => "comes to a barrier without waiting".to_owned(),
            StepKind::End => "ends".to_owned(),
        }
    }
}

/// What a thread that goes no further stands at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stand {
    /// A block barrier.
    Barrier {
        /// Its number.
        id: u32,
        /// Arrivals that it needs, when it says so itself.
        count: Option<u32>,
    },
    /// An operation of the lanes of its mask.
    Warp {
        /// The mask.
        mask: u32,
    },
    /// A loop that looks at these places in memory again and again.
    Spins(Vec<String>),
    /// A loop that looks at nothing that can change; the memory that it reads first, if it reads any.
    Circles(Option<String>),
}

/// A thread that goes no further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Block, by its linear index.
    pub block: u32,
    /// Thread of the block, by its linear index.
    pub thread: u32,
    /// What it stands at.
    pub stand: Stand,
    /// Where.
    pub place: Place,
}

impl System<'_> {
    /// A location of a function in the user's own source: out of headers of the compiler it goes up to the call.
    pub(crate) fn place(&self, function: u32, location: LocationId, offset: u32) -> Place {
        let module = self.program.module();
        let name =
            module.functions.get(function as usize).map_or(String::new(), |header| header.name.clone());
        let code = self.codes.get(function as usize).and_then(Option::as_ref);
        let look_up = |id: LocationId| code.map_or(Location::default(), |code| code.function.location(id));
        let file_of =
            |location: Location| module.files.get(location.file.0 as usize).map_or("", String::as_str);
        let mut found = look_up(location);
        let mut outer = found;
        // A chain of inlined calls is never longer than the table.
        for _ in 0..64 {
            if !standstill_findings::is_toolchain_file(file_of(outer)) && outer.line != 0 {
                found = outer;
                break;
            }
            if outer.inlined_at == LocationId(0) {
                break;
            }
            outer = look_up(outer.inlined_at);
        }
        Place {
            function: name,
            file: file_of(found).to_owned(),
            line: found.line,
            column: found.column,
            offset,
        }
    }

    /// What the step of a thread does.
    pub(crate) fn describe(&mut self, thread: usize, local: u32, memory: u32) -> ScheduleStep {
        let (block, inside) = (self.block_of(thread), thread as u32 % self.launch.block_threads().max(1));
        let mut step = ScheduleStep {
            block,
            thread: inside,
            kind: StepKind::End,
            memory: String::new(),
            before: String::new(),
            after: String::new(),
            touched: None,
            place: Place::default(),
        };
        let Some(state) = self.local(local) else { return step };
        let function = state.frames.last().map(|frame| frame.function);
        let running = state.run(&self.codes);
        let contents = self.memory.contents(memory);
        let found = self.with_machine(running, contents, |machine| {
            machine.begin_operations().ok()?;
            let (function, &instruction) = machine.instruction()?;
            let (kind, access) = match instruction.op {
                Op::Load(access) => (StepKind::Load, access),
                Op::Store(access) => (StepKind::Store, access),
                Op::Atomic { access, operation } => (StepKind::Atomic(operation), access),
                Op::Mbarrier { operation, .. } => {
                    let _ = machine.mbarrier(function, instruction, true);
                    return Some((StepKind::Mbarrier(operation), Type::U64, machine.seen, instruction));
                }
                Op::Barrier { kind: BarrierKind::Arrive, .. } => {
                    return Some((StepKind::Arrive, Type::None, None, instruction));
                }
                _ => return None,
            };
            let _ = machine.access(function, instruction, access, true);
            Some((kind, access.ty, machine.seen, instruction))
        });
        if let (Some((kind, ty, seen, instruction)), Some(function)) = (found, function) {
            step.kind = kind;
            step.place = self.place(function, instruction.location, instruction.offset);
            if let Some(seen) = seen {
                step.memory = self.name_of(seen);
                (step.before, step.after) = match kind {
                    StepKind::Mbarrier(_) => (phase(seen.before), phase(seen.after)),
                    _ => (show(seen.before, ty), show(seen.after, ty)),
                };
                let Seen { address, shared, bytes, before, after } = seen;
                step.touched = Some(Touched { address, shared, bytes, before, after });
            }
        }
        step
    }

    /// The name of the piece of memory that a race is about.
    pub(crate) fn word_name(&self, word: usize, bytes: u8) -> (String, bool) {
        let word = self.memory.place(word);
        let shared = word.block != Word::GLOBAL;
        let address = word.address() + u64::from(bytes.trailing_zeros().min(7));
        let seen = Seen { address, shared, bytes: 1, before: 0, after: 0 };
        (self.name_of(seen), shared)
    }

    /// The name of an accessed place.
    fn name_of(&self, seen: Seen) -> String {
        if seen.shared {
            return self.shared_name(seen.address);
        }
        let regions = self.memory.regions();
        let region = regions.iter().find(|region| {
            seen.address >= region.address && seen.address < region.address + region.bytes.len() as u64
        });
        let Some(region) = region else { return format!("{:#x}", seen.address) };
        let offset = seen.address - region.address;
        element_name(&region.name, offset, region.element.into(), region.bytes.len() as u64)
    }

    fn shared_name(&self, address: u64) -> String {
        let module = self.program.module();
        for (&(owner, symbol), &start) in &self.shared().offsets {
            let variable = match (owner, symbol) {
                (None, Symbol::Module(index)) => module.variables.get(index as usize).map(|variable| {
                    (&variable.name, variable.bytes, variable.ty.bytes().max(variable.align.min(8)))
                }),
                (Some(function), Symbol::Local(index)) => self
                    .codes
                    .get(function as usize)
                    .and_then(Option::as_ref)
                    .and_then(|code| code.function.variables.get(index as usize))
                    .map(|variable| {
                        (&variable.name, variable.bytes, variable.ty.bytes().max(variable.align.min(8)))
                    }),
                _ => None,
            };
            let Some((name, bytes, element)) = variable else { continue };
            let bytes = if bytes == 0 { self.launch.dynamic_shared.into() } else { bytes };
            if (start..start + bytes).contains(&address) {
                return element_name(plain_name(name), address - start, element.into(), bytes);
            }
        }
        format!("shared memory at {address}")
    }

    /// The steps to a state, with states that tell which thread is which.
    pub(crate) fn schedule(&mut self, graph: &Graph, to: StateId) -> Schedule {
        let mut now = self.initial_in_order();
        let mut steps = Vec::new();
        let mut way = Way { start: self.locals_of(&now), moves: Vec::new() };
        for id in graph.path(to).into_iter().skip(1) {
            let wanted = graph.state(id);
            let mut found = None;
            self.each_step(&now, |system, thread, after| {
                if found.is_none() {
                    let mut sorted = after.to_vec();
                    system.sort(&mut sorted);
                    if sorted == wanted {
                        found = Some((thread, after.to_vec()));
                    }
                }
            });
            let Some((thread, after)) = found else { break };
            let (local, memory) = (now.get(thread).copied().unwrap_or(0), now.last().copied().unwrap_or(0));
            steps.push(self.describe(thread, local, memory));
            way.moves.push(Move { thread, after: self.locals_of(&after) });
            now = after;
        }
        self.race = None;
        Schedule { steps, now, way }
    }

    /// The step of a thread, for taking it apart.
    pub(crate) fn move_of(&mut self, state: &[u32], thread: usize) -> Option<Move> {
        let after = self.step_of(state, thread)?;
        Some(Move { thread, after: self.locals_of(&after) })
    }

    /// The threads' own states in a state.
    fn locals_of(&self, state: &[u32]) -> Vec<Local> {
        let threads = state.iter().take(self.threads());
        threads.filter_map(|&local| self.local(local)).cloned().collect()
    }

    /// Calls `visit` for each step from a state whose threads are not brought into another order.
    pub(crate) fn each_step(&mut self, state: &[u32], mut visit: impl FnMut(&System<'_>, usize, &[u32])) {
        for thread in 0..self.threads() {
            if let Some(after) = self.step_of(state, thread) {
                visit(self, thread, &after);
            }
        }
    }

    /// The state after the step of one thread, in the same order; `None` when it can take none.
    pub(crate) fn step_of(&mut self, state: &[u32], thread: usize) -> Option<Vec<u32>> {
        let mut after = Vec::new();
        self.advance(state, thread, &mut after).then_some(after)
    }

    /// What the threads stand at that go no further from a state: they take turns until a state comes again.
    pub(crate) fn stuck(&mut self, from: &[u32]) -> Vec<Stuck> {
        let mut now = from.to_vec();
        let mut remembered = now.clone();
        let (mut count, mut replace_at) = (0u64, 1u64);
        let mut looked_at: Vec<Vec<(String, Place)>> = vec![Vec::new(); self.threads()];
        // The loop ends: states are finite, and Brent's search meets one again.
        loop {
            let mut moved = false;
            for thread in 0..self.threads() {
                if let Some(after) = self.step_of(&now, thread) {
                    let (local, memory) =
                        (now.get(thread).copied().unwrap_or(0), now.last().copied().unwrap_or(0));
                    if self.next(local) == Next::Step {
                        let step = self.describe(thread, local, memory);
                        // Who only writes waits for nobody.
                        if step.kind != StepKind::Store
                            && let Some(list) = looked_at.get_mut(thread)
                            && !list.iter().any(|(name, _)| *name == step.memory)
                            && list.len() < 8
                        {
                            list.push((step.memory, step.place));
                        }
                    }
                    moved |= after != now;
                    now = after;
                }
            }
            count += 1;
            if !moved || now == remembered {
                break;
            }
            if count >= replace_at {
                remembered.clone_from(&now);
                replace_at *= 2;
                looked_at.iter_mut().for_each(Vec::clear);
            }
        }
        let mut stuck = Vec::new();
        for (thread, looked_at) in (0..self.threads()).zip(looked_at) {
            let Some(&local) = now.get(thread) else { continue };
            let stand = match self.next(local) {
                Next::Over | Next::Stopped => continue,
                Next::Barrier { id, count, .. } => Stand::Barrier { id, count },
                Next::Warp { mask, .. } => Stand::Warp { mask },
                Next::Circle => Stand::Circles(self.read_by(local, &now)),
                Next::Step if looked_at.is_empty() => Stand::Circles(None),
                Next::Step => Stand::Spins(looked_at.iter().map(|(name, _)| name.clone()).collect()),
            };
            let place = match looked_at.into_iter().next() {
                Some((_, place)) if matches!(stand, Stand::Spins(_)) => place,
                _ => self.standing(local),
            };
            let inside = thread as u32 % self.launch.block_threads().max(1);
            stuck.push(Stuck { block: self.block_of(thread), thread: inside, stand, place });
        }
        stuck
    }

    /// What a thread reads first that goes round alone.
    fn read_by(&mut self, local: u32, state: &[u32]) -> Option<String> {
        let running = self.local(local)?.run(&self.codes);
        let contents = self.memory.contents(*state.last()?);
        let seen = self.with_machine(running, contents, |machine| {
            machine.settle();
            machine.seen
        });
        seen.map(|seen| self.name_of(seen))
    }

    /// Where an instruction of a function stands.
    pub(crate) fn site(&self, (function, at): Site) -> Place {
        let code = self.codes.get(function as usize).and_then(Option::as_ref);
        let instruction = code.and_then(|code| code.function.instructions.get(at as usize));
        instruction.map_or(Place::default(), |instruction| {
            self.place(function, instruction.location, instruction.offset)
        })
    }

    /// Where a thread stands: at its next instruction with a line of the source in the same block; in a loop that it never leaves, at
    /// the end of the block, which is more likely to be the loop's condition than its first instruction.
    pub(crate) fn standing(&self, local: u32) -> Place {
        let Some(local) = self.local(local) else { return Place::default() };
        let Some(frame) = local.frames.last() else { return Place::default() };
        let function =
            self.codes.get(frame.function as usize).and_then(Option::as_ref).map(|code| &code.function);
        let block = function.and_then(|function| function.blocks.get(frame.block as usize));
        let Some((function, block)) = function.zip(block) else { return Place::default() };
        let ahead = function.instructions.get(frame.at as usize..block.end as usize).unwrap_or(&[]);
        let mut places: Vec<_> = ahead.iter().map(|next| (next.location, next.offset)).collect();
        let end = if local.status == Status::Circles { 0 } else { places.len() };
        places.insert(end, (block.location, block.offset));
        let mut places =
            places.iter().map(|&(location, offset)| self.place(frame.function, location, offset));
        let first = places.next().unwrap_or_default();
        if first.line != 0 { first } else { places.find(|place| place.line != 0).unwrap_or(first) }
    }

    /// Why a thread stopped the launch, in words.
    pub(crate) fn why_stopped(&self, local: u32) -> Option<(Status, String)> {
        let status = self.local(local)?.status;
        let words = match status {
            Status::Traps => "a trap".to_owned(),
            Status::Asserts => "a failed assertion".to_owned(),
            Status::Faults(Wrong::OutOfBounds(address)) => {
                format!("an access outside of all memory, at {address:#x}")
            }
            Status::Faults(Wrong::Misaligned(address)) => format!("a misaligned access, at {address:#x}"),
            Status::Unknown(number) => self.unknown(number)?.what.clone(),
            _ => return None,
        };
        Some((status, words))
    }

    /// The kernel's name.
    pub(crate) fn kernel_name(&self) -> String {
        let FunctionId(id) = self.launch.kernel;
        self.program.module().functions.get(id as usize).map_or(String::new(), |header| header.name.clone())
    }
}

/// `name`, or `name[index]` for one of several elements.
fn element_name(name: &str, offset: u64, element: u64, bytes: u64) -> String {
    let element = element.max(1);
    if bytes <= element {
        return name.to_owned();
    }
    if offset.is_multiple_of(element) {
        format!("{name}[{}]", offset / element)
    } else {
        format!("{name}[{}]+{}", offset / element, offset % element)
    }
}

/// An mbarrier as a reader wants it.
fn phase(word: u64) -> String {
    let Mbarrier { pending, expected, bytes, phase } = Mbarrier::from_word(word);
    let bytes = if bytes == 0 { String::new() } else { format!(" and {bytes} bytes") };
    format!("phase {}, {pending} of {expected} arrivals{bytes} to come", u8::from(phase))
}

/// A value as a reader wants it: floats by their type, integers signed.
pub(crate) fn show(value: u64, ty: Type) -> String {
    match ty {
        Type::F32 => f32::from_bits(value as u32).to_string(),
        Type::F64 => f64::from_bits(value).to_string(),
        _ => signed(value, ty.bits()).to_string(),
    }
}
