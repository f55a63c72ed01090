//! Grid residency: blocks that wait for each other need to be on the card together (grid-residency).
//!
//! A block that does not fit starts only when another ends. So a home-made grid barrier, or a chain in which
//! a block waits for a later one, hangs when the grid has more blocks than the card holds at once.

use smallvec::SmallVec;
use standstill_findings::{
    Finding, Known, Node, Outcome, Platform, PlatformRow, Rule, Severity, ThreadRanges, WaitGraph,
};
use standstill_kernel_ir::launch::Device;
use standstill_kernel_ir::{
    ArithmeticFlags, Instruction, InstructionId, Op, Operand, Operation, Order, Space, Special, Symbol,
    ValueId,
};

use crate::body::{Base, Body};
use crate::inline::is_shared;
use crate::kernel::Kernel;
use crate::order::flags::{can_end_spin, constant_at};
use crate::words::{agreeing, sentence, with_article};

/// Fewest registers a thread can be given; with them a card holds the most blocks.
const FEWEST_REGISTERS: u32 = 16;
/// Most that it can be given (CUDA C++ Programming Guide, «Technical Specifications per Compute Capability»).
const MOST_REGISTERS: u32 = 255;

/// Why a block waits for others.
struct Wait {
    /// The read that it polls with.
    poll: InstructionId,
    /// Where a block arrives, or writes what others poll.
    arrival: InstructionId,
    kind: WaitKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WaitKind {
    /// Every block waits for all.
    Barrier,
    /// Every block waits for a later one.
    LaterBlock,
}

/// Reports waits between blocks that need the whole grid to be resident.
pub(crate) fn check(kernel: &Kernel<'_>, explained: &[InstructionId], findings: &mut Vec<Finding>) {
    for wait in waits(kernel.body) {
        if !explained.contains(&wait.poll) {
            findings.push(report(kernel, &wait));
        }
    }
}

/// The waits of a kernel, one for each polling read.
fn waits(body: &Body) -> Vec<Wait> {
    let mut found = Vec::new();
    for (poll, instruction) in body.instructions() {
        let global = match instruction.op {
            Op::Load(access) => {
                !is_shared(access.space)
                    && !matches!(access.space, Space::Param | Space::Local | Space::Const)
            }
            Op::Atomic { access, .. } => !is_shared(access.space),
            _ => false,
        };
        if !global || !decides_an_exit(body, poll) {
            continue;
        }
        let base = body.base(poll);
        if matches!(base, Base::Workspace | Base::Unknown) {
            continue;
        }
        if let Some(arrival) = barrier_arrival(body, poll, base) {
            found.push(Wait { poll, arrival, kind: WaitKind::Barrier });
        } else if let Some(arrival) = earlier_write(body, poll, base) {
            found.push(Wait { poll, arrival, kind: WaitKind::LaterBlock });
        }
    }
    found
}

/// Whether what an instruction reads decides whether its loop is left.
pub(crate) fn decides_an_exit(body: &Body, poll: InstructionId) -> bool {
    let Some(id) = body.loops.innermost(body.block_of(poll)) else { return false };
    let Some(instruction) = body.instruction(poll) else { return false };
    let (offset, op) = (instruction.offset, instruction.op);
    body.loops.exits(id).iter().any(|&(from, _)| {
        body.ssa.terminator(from).is_some_and(|condition| {
            body.rests_on(condition, &|candidate| candidate.offset == offset && candidate.op == op)
        })
    })
}

/// Where blocks count themselves in, if a poll waits for a count of all of them: an atomic on the polled
/// place that is compared with the size of the grid, or one whose result, so compared, decides who writes
/// the polled place.
fn barrier_arrival(body: &Body, poll: InstructionId, base: Base) -> Option<InstructionId> {
    let counts = |id: InstructionId| matches!(body.instruction(id).map(|i| i.op), Some(Op::Atomic { access, .. }) if !is_shared(access.space));
    let of_grid = |value: ValueId| {
        body.rests_on(value, &|i| {
            body.function
                .sources(i.operands)
                .iter()
                .any(|o| matches!(o, Operand::Special(Special::Nctaid(_))))
        })
    };
    let loop_of_poll = body.loops.innermost(body.block_of(poll))?;
    let compared = body
        .loops
        .exits(loop_of_poll)
        .iter()
        .any(|&(from, _)| body.ssa.terminator(from).is_some_and(of_grid));
    if compared {
        let arrival =
            body.instructions().find(|(id, _)| *id != poll && counts(*id) && body.base(*id) == base);
        if let Some((arrival, _)) = arrival {
            return Some(arrival);
        }
    }
    for (writer, instruction) in body.instructions() {
        let writes = matches!(instruction.op, Op::Store(_) | Op::Atomic { .. });
        let ends = || {
            constant_at(body, writer)
                .is_none_or(|constant| can_end_spin(body, body.loops.blocks(loop_of_poll), poll, constant))
        };
        if !writes || writer == poll || body.base(writer) != base || !ends() {
            continue;
        }
        for &branch in body.control_dependence.branches(body.block_of(writer)) {
            let Some(condition) = body.ssa.terminator(branch) else { continue };
            if !of_grid(condition) {
                continue;
            }
            let counted = body.instructions().find(|(id, counting)| {
                let offset = counting.offset;
                counts(*id)
                    && *id != poll
                    && body.rests_on(condition, &|i| i.offset == offset && matches!(i.op, Op::Atomic { .. }))
            });
            if let Some((arrival, _)) = counted {
                return Some(arrival);
            }
        }
    }
    None
}

/// The write that a later block does to what this block polls.
fn earlier_write(body: &Body, poll: InstructionId, base: Base) -> Option<InstructionId> {
    let polled = linear_addresses(body, poll);
    if polled.iter().all(|address| address.block == 0) {
        return None;
    }
    let writes = |id: InstructionId, instruction: &Instruction| {
        let writes = match instruction.op {
            Op::Store(access) => access.order != Order::Weak || access.space != Space::Local,
            Op::Atomic { .. } => true,
            _ => false,
        };
        writes && id != poll && body.base(id) == base
    };
    let later = |polled: &Linear, written: &Linear| {
        let distance = polled.constant - written.constant;
        polled.block != 0
            && written.block == polled.block
            && distance.signum() == written.block.signum()
            && distance % written.block == 0
    };
    let found = body.instructions().filter(|&(id, instruction)| writes(id, instruction)).find(|&(id, _)| {
        let written = linear_addresses(body, id);
        polled.iter().any(|polled| written.iter().any(|written| later(polled, written)))
    });
    found.map(|(id, _)| id)
}

/// An address as `base + block · blockIdx.x + constant`, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Linear {
    block: i64,
    constant: i64,
}

impl Linear {
    fn constant(constant: i64) -> Linear {
        Linear { block: 0, constant }
    }

    fn plus(self, other: Linear) -> Option<Linear> {
        Some(Linear {
            block: self.block.checked_add(other.block)?,
            constant: self.constant.checked_add(other.constant)?,
        })
    }

    fn times(self, other: Linear) -> Option<Linear> {
        match (self.block, other.block) {
            (_, 0) => Some(Linear {
                block: self.block.checked_mul(other.constant)?,
                constant: self.constant.checked_mul(other.constant)?,
            }),
            (0, _) => other.times(self),
            _ => None,
        }
    }
}

/// What an address may be, one for each choice on the way to it (`b > 0 ? b - 1 : 0`); none when it is not known.
type Choices = SmallVec<[Linear; 2]>;

/// Most choices that are followed.
const MAXIMUM_CHOICES: usize = 4;

/// How deep an address is followed.
const MAXIMUM_DEPTH: u32 = 24;

fn linear_addresses(body: &Body, id: InstructionId) -> Choices {
    let Some(instruction) = body.instruction(id) else { return Choices::new() };
    let Some(value) = body.source_value(instruction, 0) else { return Choices::new() };
    match body.source(instruction, 0) {
        Operand::Address { offset, .. } => {
            each(&linear(body, value, 0), |base| base.plus(Linear::constant(i64::from(offset))))
        }
        Operand::Register(_) => linear(body, value, 0),
        _ => Choices::new(),
    }
}

fn each(choices: &Choices, with: impl Fn(Linear) -> Option<Linear>) -> Choices {
    choices.iter().map(|&choice| with(choice)).collect::<Option<Choices>>().unwrap_or_default()
}

fn both(left: &Choices, right: &Choices, with: impl Fn(Linear, Linear) -> Option<Linear>) -> Choices {
    let pairs = left.iter().flat_map(|&a| right.iter().map(move |&b| (a, b)));
    let all = pairs.map(|(a, b)| with(a, b)).collect::<Option<Choices>>().unwrap_or_default();
    if all.len() > MAXIMUM_CHOICES { Choices::new() } else { all }
}

/// All of several values, when each is known.
fn either(all: impl Iterator<Item = Choices>) -> Choices {
    let mut found = Choices::new();
    for choices in all {
        if choices.is_empty() || found.len() + choices.len() > MAXIMUM_CHOICES {
            return Choices::new();
        }
        found.extend(choices);
    }
    found
}

/// Pointers count as zero; the caller compares addresses of one base only.
fn linear(body: &Body, value: ValueId, depth: u32) -> Choices {
    if depth > MAXIMUM_DEPTH {
        return Choices::new();
    }
    let Some((_, instruction)) = body.definition(value) else {
        let incoming = body.ssa.incoming(value).iter();
        return either(incoming.map(|&(_, value)| linear(body, value, depth + 8)));
    };
    let one = |linear: Linear| SmallVec::from_slice(&[linear]);
    let source = |index: usize| match body.source(instruction, index) {
        Operand::Immediate(bits) => one(Linear::constant(bits as i64)),
        Operand::Special(Special::Ctaid(0)) => one(Linear { block: 1, constant: 0 }),
        Operand::Register(_) => match body.source_value(instruction, index) {
            Some(value) => linear(body, value, depth + 1),
            None => Choices::new(),
        },
        Operand::Symbol { symbol: Symbol::Module(_), offset } => one(Linear::constant(i64::from(offset))),
        _ => Choices::new(),
    };
    match instruction.op {
        Op::Load(access) if access.space == Space::Param => one(Linear::constant(0)),
        Op::Arithmetic(arithmetic) if !arithmetic.flags.has(ArithmeticFlags::HIGH) => {
            match arithmetic.operation {
                Operation::Mov | Operation::Cvt | Operation::Cvta => source(0),
                Operation::Selp => either([source(0), source(1)].into_iter()),
                Operation::Add => both(&source(0), &source(1), Linear::plus),
                Operation::Sub => both(&source(0), &source(1), |a, b| a.plus(b.times(Linear::constant(-1))?)),
                Operation::Mul => both(&source(0), &source(1), Linear::times),
                Operation::Mad => {
                    both(&both(&source(0), &source(1), Linear::times), &source(2), Linear::plus)
                }
                Operation::Shl => both(&source(0), &source(1), |value, by| {
                    let by = (by.block == 0 && (0..32).contains(&by.constant)).then_some(by.constant)?;
                    value.times(Linear::constant(1 << by))
                }),
                _ => Choices::new(),
            }
        }
        _ => Choices::new(),
    }
}

/// Bytes of static shared memory that the kernel itself declares.
fn shared_bytes(kernel: &Kernel<'_>) -> u64 {
    let body = kernel.body;
    let own = body.function.variables.iter().filter(|v| is_shared(v.space)).map(|v| v.bytes);
    let mut used: Vec<u32> = Vec::new();
    for operand in &body.function.operands {
        if let Operand::Symbol { symbol: Symbol::Module(index), .. } = operand
            && body.is_shared_symbol(Symbol::Module(*index))
            && !used.contains(index)
        {
            used.push(*index);
        }
    }
    let module =
        used.iter().filter_map(|&index| kernel.places.module.variables.get(index as usize)).map(|v| v.bytes);
    own.sum::<u64>() + module.sum::<u64>()
}

/// Most registers per thread with which so many blocks are on a card at the same time.
fn most_registers(device: Device, threads: u32, shared: u64, grid: u64) -> u32 {
    let fits = |registers: &u32| device.capacity(threads, *registers, shared) >= grid;
    (FEWEST_REGISTERS..=MOST_REGISTERS).rev().find(fits).unwrap_or(FEWEST_REGISTERS)
}

fn report(kernel: &Kernel<'_>, wait: &Wait) -> Finding {
    let places = kernel.places;
    let shape = &kernel.launch.shape;
    let threads = kernel.launch.threads().unwrap_or(32);
    let shared = shared_bytes(kernel);
    let registers = shape.registers.unwrap_or(FEWEST_REGISTERS);
    let most = match shape.device {
        Some(device) => Some((device, device.capacity(threads, registers, shared))),
        None => Device::all()
            .iter()
            .map(|device| (*device, device.capacity(threads, registers, shared)))
            .max_by_key(|(_, capacity)| *capacity),
    };
    let grid = kernel.launch.shape.blocks();
    let what = match wait.kind {
        WaitKind::Barrier => "a home-made grid barrier",
        WaitKind::LaterBlock => "a block that waits for a later one",
    };
    let line = places.line(wait.poll);
    let mut finding = Finding::new(Rule::GridResidency, kernel.name, "");
    finding
        .spans
        .push(places.primary(wait.poll, "waits for blocks that must be on the card at the same time"));
    let label = match wait.kind {
        WaitKind::Barrier => "each block counts itself in here",
        WaitKind::LaterBlock => "written by a later block here",
    };
    finding.spans.push(places.cause(wait.arrival, label));
    finding.platforms = PlatformRow::new(&[
        (Platform::Nvidia, Outcome::Hangs),
        (Platform::NvidiaOld, Outcome::Hangs),
        (Platform::Amd, Outcome::Hangs),
        (Platform::Others, Outcome::Hangs),
        (Platform::Specification, Outcome::Undefined),
    ]);
    finding.help =
        "launch it with `cudaLaunchCooperativeKernel`, which refuses a grid that does not fit, and use \
                    `cooperative_groups::this_grid().sync()`"
            .into();
    let cards = |device: Device| match shape.device {
        Some(_) => with_article(device.name),
        None => "any known card".to_string(),
    };
    match (grid, most) {
        (Some(grid), Some((device, capacity))) if grid > capacity && kernel.launch.block.is_some() => {
            finding.message =
                format!("{what} over {grid} blocks, of which {} holds at most {capacity}", cards(device));
            finding.assumes.push(match shape.registers {
                Some(registers) => format!("{registers} registers per thread, {shared} bytes of shared memory per block"),
                None => format!(
                    "at least {FEWEST_REGISTERS} registers per thread and {shared} bytes of shared memory per block"
                ),
            });
            let resident = ThreadRanges::from_members(0..u32::try_from(capacity.min(1 << 20)).unwrap_or(0));
            let mut graph = WaitGraph::default();
            let inside = graph.node(Node::Blocks(resident.clone()));
            let slot = graph.node(Node::ResidencySlot { capacity });
            let outside = graph.node(Node::Blocks(ThreadRanges::from_members([resident.len() as u32])));
            graph.edge(inside, outside, format!("{} on line {line}", agreeing(&resident, "spin")), line);
            graph.edge(outside, slot, "waits for a place", 0);
            graph.edge(slot, inside, "is held by them", line);
            let goal = match wait.kind {
                WaitKind::Barrier => format!("all {grid} blocks"),
                WaitKind::LaterBlock => "a later block".to_string(),
            };
            let places = match capacity {
                1 => "the only place".to_string(),
                _ => format!("all {capacity} places"),
            };
            graph.sentence = format!(
                "{} {places} and {} on line {line} for {goal}; block {} has no place to start until one of them \
                 ends",
                sentence("block", &resident, "hold"),
                agreeing(&resident, "spin"),
                resident.len()
            );
            finding.waits = Some(graph);
        }
        _ => {
            finding.message =
                format!("{what}: it hangs when the grid has more blocks than the card holds at once");
            finding.severity = Severity::Note;
            let reason = match (grid, shape.device, most) {
                (None, _, _) => "the grid is not known (`--grid`)".to_string(),
                (Some(_), _, _) if kernel.launch.block.is_none() => {
                    "the block's shape is not known (`--block`)".into()
                }
                (Some(_), None, _) => "the card is not known (`--gpu`)".into(),
                (Some(grid), Some(device), Some(_)) => {
                    let most = most_registers(device, threads, shared, grid);
                    format!(
                        "{grid} blocks fit on {} only if at most {most} registers per thread are used",
                        with_article(device.name)
                    )
                }
                _ => "the capacity is not known".into(),
            };
            finding.known = Known::Possible { reason };
            if let (Some(device), Some(registers), Some(grid)) = (shape.device, shape.registers, grid)
                && let Some((_, capacity)) = most
            {
                finding.known = Known::Proved;
                // As long as nothing else is on the card; nothing promises it.
                finding.platforms = PlatformRow::new(&[
                    (Platform::Nvidia, Outcome::Completes),
                    (Platform::NvidiaOld, Outcome::Completes),
                    (Platform::Amd, Outcome::MayHang),
                    (Platform::Others, Outcome::MayHang),
                    (Platform::Specification, Outcome::Undefined),
                ]);
                finding.message = format!(
                    "{what}: {grid} of the {capacity} blocks that {} holds at {registers} registers per thread",
                    with_article(device.name)
                );
            }
        }
    }
    finding
}
