//! What each thread was doing, and the threads that were doing the same.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::code::{Code, Place};
use crate::dump::{Block, Context, Device, Dump, Grid, Lane, LaneState, Warp, words};
use crate::loops::{self, Loop};
use crate::mbarrier::MbarrierWord;
use crate::memory::{Location, Reader};
use crate::sass::{BarrierAction, Instruction, Mask, Op, Operand, RZ, SIZE};
use crate::source::Source;

/// What a thread was doing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doing {
    /// Waits at a block barrier.
    BlockBarrier {
        /// The barrier's number; `None` when it is in a register that was overwritten.
        id: Option<u32>,
        /// How many threads complete it.
        count: Count,
    },
    /// Waits for lanes of its warp.
    WarpSync {
        /// The lanes that must come; `None` when the register with them was overwritten.
        mask: Option<u32>,
        /// The operation that they do together, such as `shuffle`.
        operation: Option<&'static str>,
    },
    /// Waits for lanes of its warp that went another way to meet it again.
    Reconverge,
    /// Waits on an mbarrier.
    Mbarrier {
        /// The word's address in shared memory.
        address: Option<u64>,
        /// The parity that it waits for.
        parity: Option<u8>,
        /// The word, when shared memory was dumped.
        word: Option<MbarrierWord>,
    },
    /// Waits at the barrier of its cluster.
    ClusterBarrier,
    /// Reads the same places again and again until they change.
    Spin {
        /// The places.
        polled: Vec<Location>,
        /// Whether a compare-and-swap is tried again.
        swaps: bool,
    },
    /// Runs a loop whose end does not hang on memory that others write.
    Loop {
        /// Whether the loop has a way out.
        has_exit: bool,
        /// Whether it waits at block barriers on its way round.
        has_barrier: bool,
    },
    /// Stopped by an exception (`CUDBGException_t`).
    Fault(u32),
    /// Runs.
    Work,
}

/// How many threads complete a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Count {
    /// All threads of the block that have not exited.
    All,
    /// This many.
    Threads(u32),
    /// It is in a register that was overwritten.
    Unknown,
}

/// Threads that were doing the same at the same place.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What they were doing.
    pub doing: Doing,
    /// Address of the instruction: the one that waits, or the loop's decision, or the program counter.
    pub at: u64,
    /// Where that instruction comes from.
    pub place: Option<Place>,
    /// Its line in the PTX that the dump carries, from 1.
    pub ptx_line: Option<u32>,
    /// The function that it lies in, mangled.
    pub function: String,
    /// First and last address of the loop, where there is one.
    pub range: Option<(u64, u64)>,
    /// The threads, by the number of their block in the grid: numbers in the block, ascending.
    pub threads: BTreeMap<u64, Vec<u32>>,
}

impl Group {
    /// How many threads it has.
    pub fn len(&self) -> u64 {
        self.threads.values().map(|threads| threads.len() as u64).sum()
    }

    /// Whether it has no thread.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }
}

/// One grid with its threads in groups.
#[derive(Debug, Clone, PartialEq)]
pub struct GridState {
    /// Position of its device in the dump.
    pub device: usize,
    /// The grid.
    pub grid: Grid,
    /// The kernel's name, mangled; empty when its code was not dumped.
    pub kernel: String,
    /// The PTX of the kernel's module, when the dump carries it, with the source place of its lines.
    pub ptx: Option<Ptx>,
    /// The groups, larger ones first.
    pub groups: Vec<Group>,
    /// Blocks that were on a multiprocessor, by number: threads that had not exited.
    pub blocks: BTreeMap<u64, u32>,
}

/// PTX that a dump carries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ptx {
    /// The text, without its line directives.
    pub text: String,
    /// The source place of its lines, by line from 1.
    pub places: BTreeMap<u32, Place>,
}

impl GridState {
    /// Blocks that have finished: they began before one that is there, and are gone.
    pub fn finished(&self) -> u64 {
        let begun = self.blocks.keys().next_back().map_or(0, |last| last + 1);
        begun.saturating_sub(self.blocks.len() as u64)
    }

    /// Blocks that never began: the hardware starts them in the order of their numbers.
    pub fn not_begun(&self) -> u64 {
        let begun = self.blocks.keys().next_back().map_or(0, |last| last + 1);
        self.grid.blocks().saturating_sub(begun)
    }

    /// Threads of a block that have exited.
    pub fn exited(&self, block: u64) -> Vec<u32> {
        let all = u32::try_from(self.grid.threads_per_block()).unwrap_or(0);
        let mut there = vec![false; all as usize];
        for threads in self.groups.iter().filter_map(|group| group.threads.get(&block)) {
            for thread in threads {
                if let Some(slot) = there.get_mut(*thread as usize) {
                    *slot = true;
                }
            }
        }
        (0..all).filter(|thread| there.get(*thread as usize) == Some(&false)).collect()
    }
}

/// Says what every thread of every grid was doing. Problems with modules are added to the dump's.
pub fn positions(source: &dyn Source, dump: &mut Dump) -> Vec<GridState> {
    let mut states = Vec::new();
    let mut problems = std::mem::take(&mut dump.problems);
    for (number, device) in dump.devices.iter().enumerate() {
        let codes = crate::memory::codes(source, device, &mut problems);
        for grid in &device.grids {
            let blocks: Vec<&Block> = device.blocks.iter().filter(|block| block.grid == grid.id).collect();
            if blocks.is_empty() {
                continue;
            }
            let context = device.context(grid.context).copied().unwrap_or_default();
            let mut observer = Observer {
                source,
                dump,
                context,
                grid,
                codes: &codes,
                decoded: FxHashMap::default(),
                groups: FxHashMap::default(),
            };
            for block in &blocks {
                observer.block(block);
            }
            states.push(observer.finish(number, device, &blocks));
        }
    }
    dump.problems = problems;
    states
}

/// What can be said of a program counter without the values of registers.
#[derive(Clone)]
struct Site {
    code: usize,
    function: String,
    /// The barrier that stands just before it, with the instructions in between.
    behind: Option<Instruction>,
    at: Option<Instruction>,
    next: Option<Instruction>,
    around: Option<Loop>,
}

struct Observer<'a> {
    source: &'a dyn Source,
    dump: &'a Dump,
    context: Context,
    grid: &'a Grid,
    codes: &'a [Code],
    decoded: FxHashMap<u64, Option<Site>>,
    groups: FxHashMap<(Doing, u64), Group>,
}

impl Observer<'_> {
    fn block(&mut self, block: &Block) {
        let number = self.grid.linear_block(block.index);
        for warp in &block.warps {
            let there = |lane: &&Lane| lane.lane < 32 && warp.valid >> lane.lane & 1 == 1;
            let together = warp.lanes.iter().filter(there).map(|lane| lane.pc);
            let split = {
                let mut pcs = together;
                let first = pcs.next();
                pcs.any(|pc| Some(pc) != first)
            };
            // Lanes of a warp mostly do the same: the answer for one lane serves its neighbours.
            let mut last: Option<(u64, Option<LaneState>, bool, (Doing, u64))> = None;
            for lane in warp.lanes.iter().filter(there) {
                let active = warp.active >> lane.lane & 1 == 1;
                let known = last.as_ref().filter(|(pc, state, was_active, _)| {
                    *pc == lane.pc && *state == lane.state && *was_active == active
                });
                let key = match known {
                    Some((.., (doing, at))) if !is_personal(doing) => (doing.clone(), *at),
                    _ => self.lane(block, warp, lane, split),
                };
                last = Some((lane.pc, lane.state, active, key.clone()));
                self.add(key, lane, number);
            }
        }
    }

    fn add(&mut self, key: (Doing, u64), lane: &Lane, block: u64) {
        let thread = self.grid.linear_thread(lane.thread);
        if !self.groups.contains_key(&key) {
            let site = self.site(lane.pc);
            let code = site.as_ref().and_then(|site| self.codes.get(site.code));
            let around = site.as_ref().and_then(|site| site.around.as_ref());
            let group = Group {
                doing: key.0.clone(),
                at: key.1,
                place: code.and_then(|code| code.place(key.1)),
                ptx_line: code.and_then(|code| code.ptx_line(key.1)),
                range: around.map(|around| (around.first, around.last)),
                function: site.map(|site| site.function).unwrap_or_default(),
                threads: BTreeMap::new(),
            };
            self.groups.insert(key.clone(), group);
        }
        if let Some(group) = self.groups.get_mut(&key) {
            group.threads.entry(block).or_default().push(thread);
        }
    }

    /// What a lane was doing, and the address that stands for it.
    fn lane(&mut self, block: &Block, warp: &Warp, lane: &Lane, split: bool) -> (Doing, u64) {
        if lane.exception != 0 {
            return (Doing::Fault(lane.exception), warp.error_pc.unwrap_or(lane.pc));
        }
        let Some(site) = self.site(lane.pc) else { return (Doing::Work, lane.pc) };
        let reader = Reader { source: self.source, dump: self.dump, context: self.context, block };
        let values = Values::new(self.source, warp, lane);
        let blocked = lane.state.is_some_and(|state| state.is_blocked() || state == LaneState::Other(6));
        let active = warp.active >> lane.lane & 1 == 1;
        if let Some(at) = site.at.filter(|_| blocked || !active || split) {
            match at.op {
                Op::WarpSync { mask, collective } => {
                    let next = site.next.map(|next| next.op);
                    let operation = match next {
                        Some(Op::WarpOperation(name)) => Some(name),
                        _ if collective => Some("collective operation"),
                        _ => None,
                    };
                    let mask = match mask {
                        Mask::All => Some(u32::MAX),
                        Mask::Register(register) => values.register(register),
                    };
                    return (Doing::WarpSync { mask, operation }, at.pc);
                }
                Op::Reconverge(_) => return (Doing::Reconverge, at.pc),
                _ => {}
            }
        }
        if let Some(behind) = site.behind.filter(|behind| values.holds(behind)) {
            match behind.op {
                Op::Barrier { id, count, packed, .. } => {
                    return (barrier(&values, id, count, packed), behind.pc);
                }
                Op::ClusterWait => return (Doing::ClusterBarrier, behind.pc),
                _ => {}
            }
        }
        let Some(around) = site.around else { return (Doing::Work, lane.pc) };
        in_loop(&around, &values, &reader)
    }

    fn site(&mut self, pc: u64) -> Option<Site> {
        if let Some(known) = self.decoded.get(&pc) {
            return known.clone();
        }
        let site = self.describe(pc);
        self.decoded.insert(pc, site.clone());
        site
    }

    fn describe(&self, pc: u64) -> Option<Site> {
        let mut codes = self.codes.iter().enumerate();
        let (code, function) = codes.find_map(|(at, code)| Some((at, code.function(pc)?)))?;
        let body = loops::decode(self.codes.get(code)?, function);
        let here = body.partition_point(|instruction| instruction.pc < pc);
        Some(Site {
            code,
            function: function.name.clone(),
            behind: behind(body.get(..here).unwrap_or_default()),
            at: body.get(here).copied(),
            next: body.get(here + 1).copied(),
            around: loops::around(&body, pc),
        })
    }

    fn finish(self, number: usize, device: &Device, blocks: &[&Block]) -> GridState {
        let entry = self.grid.entry;
        let code = self.codes.iter().find(|code| code.function(entry).is_some());
        let used = self.groups.values().next().map(|group| group.function.clone());
        let kernel = code.and_then(|code| code.function(entry)).map(|function| function.name.clone());
        let ptx = code.and_then(|code| {
            let places = code.ptx_places().into_iter().collect();
            Some(Ptx { text: code.ptx.clone()?, places })
        });
        let mut groups: Vec<Group> = self.groups.into_values().collect();
        for threads in groups.iter_mut().flat_map(|group| group.threads.values_mut()) {
            threads.sort_unstable();
        }
        groups
            .sort_by(|a, b| b.len().cmp(&a.len()).then(a.at.cmp(&b.at)).then_with(|| a.doing.cmp(&b.doing)));
        let _ = device;
        GridState {
            device: number,
            grid: self.grid.clone(),
            kernel: kernel.or(used).unwrap_or_default(),
            ptx,
            groups,
            blocks: blocks
                .iter()
                .map(|block| {
                    (
                        self.grid.linear_block(block.index),
                        block.warps.iter().map(|w| w.valid.count_ones()).sum(),
                    )
                })
                .collect(),
        }
    }
}

/// Whether the values of a lane's own registers are in it.
fn is_personal(doing: &Doing) -> bool {
    match doing {
        Doing::Spin { .. } | Doing::Mbarrier { .. } => true,
        Doing::BlockBarrier { .. } | Doing::WarpSync { .. } => true,
        _ => false,
    }
}

/// The barrier that a warp at the end of these instructions may still wait at. The hardware lets a few
/// instructions behind a barrier go ahead, up to the first that touches memory or jumps.
fn behind(before: &[Instruction]) -> Option<Instruction> {
    const AHEAD: usize = 6;
    for instruction in before.iter().rev().take(AHEAD) {
        match instruction.op {
            Op::Barrier { action: BarrierAction::Sync | BarrierAction::Reduce, .. } | Op::ClusterWait => {
                return Some(*instruction);
            }
            Op::Other => {}
            _ => return None,
        }
    }
    None
}

fn barrier(values: &Values, id: Operand, count: Option<Operand>, packed: bool) -> Doing {
    let value = |operand: Operand| match operand {
        Operand::Value(value) => Some(value),
        Operand::Register(register) => values.register(register),
    };
    let id = value(id).map(|id| id & 0xf);
    let count = match count.map(value) {
        None => Count::All,
        Some(None) => Count::Unknown,
        Some(Some(held)) => Count::Threads(if packed { held >> 16 & 0xfff } else { held & 0xfff }),
    };
    Doing::BlockBarrier { id, count }
}

fn in_loop(around: &Loop, values: &Values, reader: &Reader<'_>) -> (Doing, u64) {
    let locate = |address: &crate::sass::Address| {
        let base = values.address(address)?;
        Some(reader.locate(address.space, base))
    };
    if let Some((pc, address, parity)) = around.mbarrier {
        let place = locate(&address);
        let word = place.as_ref().and_then(|place| place.value).map(MbarrierWord);
        let parity = values.register(parity).map(|register| (register >> 31) as u8);
        return (Doing::Mbarrier { address: place.map(|place| place.address), parity, word }, pc);
    }
    if let Some((pc, _)) = around.polled.first() {
        let mut polled: Vec<Location> =
            around.polled.iter().filter_map(|(_, address)| locate(address)).collect();
        polled.dedup();
        return (Doing::Spin { polled, swaps: around.swaps }, *pc);
    }
    let (has_exit, has_barrier) = (around.has_exit, around.has_barrier);
    (Doing::Loop { has_exit, has_barrier }, around.decided_at)
}

/// The registers of one lane.
struct Values {
    registers: Vec<u32>,
    uniform: Vec<u32>,
    predicates: Vec<u32>,
}

impl Values {
    fn new(source: &dyn Source, warp: &Warp, lane: &Lane) -> Values {
        Values {
            registers: words(source, lane.registers),
            uniform: words(source, warp.uniform_registers),
            predicates: words(source, lane.predicates),
        }
    }

    fn register(&self, register: u8) -> Option<u32> {
        if register == RZ { Some(0) } else { self.registers.get(usize::from(register)).copied() }
    }

    /// Whether the guard of an instruction holds, as far as predicates are known.
    fn holds(&self, instruction: &Instruction) -> bool {
        let guard = instruction.guard;
        if guard.predicate == 7 {
            return !guard.negated;
        }
        let value = self.predicates.get(usize::from(guard.predicate)).map(|value| *value != 0);
        value.is_none_or(|value| value != guard.negated)
    }

    fn address(&self, address: &crate::sass::Address) -> Option<u64> {
        let low = u64::from(self.register(address.register)?);
        let base = match address.space {
            crate::sass::Space::Shared => {
                let uniform = match address.uniform {
                    crate::sass::URZ => 0,
                    register => self.uniform.get(usize::from(register)).copied()?,
                };
                return Some(u64::from(
                    (low as u32).wrapping_add(uniform).wrapping_add_signed(address.offset),
                ));
            }
            _ if address.register == RZ => 0,
            _ => u64::from(self.register(address.register.checked_add(1)?)?) << 32 | low,
        };
        Some(base.wrapping_add_signed(i64::from(address.offset)))
    }
}

/// The address of the instruction before.
#[allow(dead_code)]
fn previous(pc: u64) -> u64 {
    pc.saturating_sub(SIZE)
}
