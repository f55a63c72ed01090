//! From lanes to positions: each lane's program counter, state and registers say what it was doing.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::code::Code;
use crate::dump::{Block, Context, Device, Dump, Grid, GridStatus, Lane, LaneState, Warp};
use crate::loops::{self, Loop, Polled};
use crate::mbarrier::MbarrierWord;
use crate::memory::{Location, Reader};
use crate::outlook::{self, Outlook};
use crate::parameters;
use crate::position::{Arrivals, BEFORE_BARRIER, Count, Doing, GridState, Group, Ptx};
use crate::sass::{Address, BarrierAction, Instruction, Mask, Op, Operand};
use crate::source::Source;
use crate::values::Values;

/// Says what every thread of every grid was doing. Problems with modules are added to the dump's.
pub fn positions(source: &dyn Source, dump: &mut Dump) -> Vec<GridState> {
    let mut states = Vec::new();
    let mut problems = std::mem::take(&mut dump.problems);
    for (number, device) in dump.devices.iter().enumerate() {
        let codes = crate::memory::codes(source, device, &mut problems);
        for grid in &device.grids {
            let blocks: Vec<&Block> = device.blocks.iter().filter(|block| block.grid == grid.id).collect();
            // Of a dump that is cut short, what was launched may be all there is.
            let was_there = problems.lose_threads() && grid.status != GridStatus::Terminated;
            if blocks.is_empty() && !was_there {
                continue;
            }
            let grid = &with_room_for(grid, &blocks);
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

/// Of a cooperative launch the driver (580) says that the grid is one block large; then it is at least as large
/// as the blocks that are there.
fn with_room_for(grid: &Grid, blocks: &[&Block]) -> Grid {
    let mut grid = grid.clone();
    for block in blocks {
        for (size, index) in grid.grid_dim.iter_mut().zip(block.index) {
            *size = (*size).max(index.saturating_add(1));
        }
    }
    grid
}

/// What can be said of a program counter without the values of registers.
#[derive(Clone)]
struct Site {
    code: usize,
    function: String,
    /// The barrier that stands just before it.
    behind: Option<Behind>,
    at: Option<Instruction>,
    /// What the lanes that meet here go on to do together.
    together: Option<&'static str>,
    around: Option<Loop>,
}

/// What was said of the lane before.
struct Answer {
    pc: u64,
    state: Option<LaneState>,
    active: bool,
    key: (Doing, u64),
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
            let mut last: Option<Answer> = None;
            for lane in warp.lanes.iter().filter(there) {
                let active = warp.active >> lane.lane & 1 == 1;
                let alike =
                    |last: &&Answer| last.pc == lane.pc && last.state == lane.state && last.active == active;
                let mut key = match last.as_ref().filter(alike) {
                    Some(last) if !is_personal(&last.key.0) => last.key.clone(),
                    _ => self.lane(block, warp, lane, split),
                };
                if self.groups.len() >= MOST_GROUPS && !self.groups.contains_key(&key) {
                    key.0 = without_address(key.0);
                }
                last = Some(Answer { pc: lane.pc, state: lane.state, active, key: key.clone() });
                self.add(key, (warp, lane), number);
            }
        }
    }

    fn add(&mut self, key: (Doing, u64), (warp, lane): (&Warp, &Lane), block: u64) {
        let thread = self.grid.linear_thread(lane.thread);
        if !self.groups.contains_key(&key) {
            let site = self.site(lane.pc);
            let code = site.as_ref().and_then(|site| self.codes.get(site.code));
            let around = site.as_ref().and_then(|site| site.around.as_ref());
            let faulted = match key.0 {
                Doing::Fault(_) => code.and_then(|code| faulted(self.source, code, key.1, (warp, lane))),
                _ => None,
            };
            let group = Group {
                doing: key.0.clone(),
                at: key.1,
                place: code.and_then(|code| code.place(stands_for(code, &key))),
                ptx_line: code.and_then(|code| code.ptx_line(stands_for(code, &key))),
                range: around.map(|around| (around.first, around.last)),
                offset: code
                    .and_then(|code| code.function(key.1))
                    .map_or(0, |function| key.1 - function.start),
                arrived: code.map(|code| arrivals(code, key.1, true)).unwrap_or_default(),
                function: site.map(|site| site.function).unwrap_or_default(),
                faulted,
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
        // An exception is the whole warp's; the lanes that were active ran into it.
        if lane.exception != 0 && (warp.active >> lane.lane & 1 == 1 || warp.active == 0) {
            return (Doing::Fault(lane.exception), warp.error_pc.unwrap_or(lane.pc));
        }
        let Some(site) = self.site(lane.pc) else { return (Doing::Work, lane.pc) };
        let reader =
            Reader { source: self.source, dump: self.dump, context: self.context, block, grid: self.grid };
        let values = Values::new(self.source, warp, lane);
        let blocked = lane.state.is_some_and(|state| state.is_blocked() || state == LaneState::Other(6));
        let active = warp.active >> lane.lane & 1 == 1;
        if let Some(at) = site.at.filter(|_| blocked || !active || split) {
            match at.op {
                Op::WarpSync { mask, collective } => {
                    let operation = match site.together {
                        None if collective => Some("collective operation"),
                        together => together,
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
        if site.at.is_some_and(|at| at.op == Op::ClusterWait) {
            return (Doing::ClusterBarrier, lane.pc);
        }
        if let Some(behind) = site.behind.filter(|behind| behind.holds(&values)) {
            let pc = behind.barrier.pc;
            match behind.barrier.op {
                Op::Barrier { id, count, packed, .. } => {
                    return (barrier(&values, &behind.overwritten, (id, count, packed)), pc);
                }
                Op::ClusterWait => return (Doing::ClusterBarrier, pc),
                _ => {}
            }
        }
        let Some(around) = site.around else { return (Doing::Work, lane.pc) };
        in_loop(&around, &values, &reader, lane.pc)
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
            behind: Behind::of(body.get(..here).unwrap_or_default()),
            at: body.get(here).copied(),
            together: together(body.get(here..).unwrap_or_default()),
            around: loops::around(&body, pc),
        })
    }

    /// Exceptions that only a multiprocessor noted, because the warps that ran into them had left.
    fn stops(&self, device: &Device) -> Vec<Group> {
        let seen = |pc: Option<u64>| {
            let same = |group: &Group| pc.is_none_or(|pc| pc == group.at);
            self.groups.values().any(|group| matches!(group.doing, Doing::Fault(_)) && same(group))
        };
        let mut stops: Vec<Group> = Vec::new();
        for stop in &device.stops {
            let at = stop.pc.unwrap_or(0);
            if seen(stop.pc) || stops.iter().any(|known| known.at == at) {
                continue;
            }
            let code = self.codes.iter().find(|code| code.function(at).is_some());
            let function = code.and_then(|code| code.function(at));
            stops.push(Group {
                doing: Doing::Fault(stop.exception),
                at,
                place: code.and_then(|code| code.place(at)),
                ptx_line: code.and_then(|code| code.ptx_line(at)),
                offset: function.map_or(0, |function| at - function.start),
                function: function.map(|function| function.name.clone()).unwrap_or_default(),
                arrived: Arrivals::default(),
                faulted: None,
                range: None,
                threads: BTreeMap::new(),
            });
        }
        stops
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
        // A grid barrier means a cooperative launch.
        let cooperative = |group: &Group| group.place.as_ref().is_some_and(crate::explain::in_grid_sync);
        let said = device.grid(self.grid.id).is_some_and(|grid| grid.grid_dim == self.grid.grid_dim);
        let alone = !self.groups.is_empty() && !self.groups.values().any(cooperative);
        let size_known = said && (self.grid.blocks() > 1 || alone);
        let stops = self.stops(device);
        let parameters = parameters::read(self.source, self.grid, kernel.as_deref(), ptx.as_ref());
        let mut groups: Vec<Group> = self.groups.into_values().collect();
        for threads in groups.iter_mut().flat_map(|group| group.threads.values_mut()) {
            threads.sort_unstable();
        }
        groups
            .sort_by(|a, b| b.len().cmp(&a.len()).then(a.at.cmp(&b.at)).then_with(|| a.doing.cmp(&b.doing)));
        GridState {
            device: number,
            grid: self.grid.clone(),
            size_known,
            parameters: parameters.addresses,
            numbers: parameters.numbers,
            kernel: kernel.or(used).unwrap_or_default(),
            ptx,
            groups,
            arrivals: code.map(|code| arrivals(code, entry, false)).unwrap_or_default(),
            stops,
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

/// From this many groups on, addresses no longer make a group of its own: on a full card every thread may wait for
/// another word.
const MOST_GROUPS: usize = 1 << 13;

fn without_address(doing: Doing) -> Doing {
    match doing {
        Doing::Spin { swaps, .. } => Doing::Spin { polled: Vec::new(), swaps },
        Doing::Mbarrier { parity, .. } => Doing::Mbarrier { address: None, parity, word: None },
        other => other,
    }
}

/// Whether the values of a lane's own registers are in it.
fn is_personal(doing: &Doing) -> bool {
    matches!(
        doing,
        Doing::Spin { .. } | Doing::Mbarrier { .. } | Doing::BlockBarrier { .. } | Doing::WarpSync { .. }
    )
}

/// What a warp synchronisation stands before: an operation of the lanes together, or a block barrier, before
/// which the compiler gathers the warp.
fn together(from: &[Instruction]) -> Option<&'static str> {
    const NEAR: usize = 12;
    from.iter().skip(1).take(NEAR).find_map(|instruction| match instruction.op {
        Op::WarpOperation(name) => Some(Some(name)),
        Op::Barrier { .. } => Some(Some(BEFORE_BARRIER)),
        Op::Other => None,
        _ => Some(None),
    })?
}

/// The address whose source line stands for a position.
fn stands_for(code: &Code, (doing, at): &(Doing, u64)) -> u64 {
    let body = || code.function(*at).map(|function| loops::decode(code, function));
    match doing {
        Doing::WarpSync { .. } | Doing::Fault(_) => body().map_or(*at, |body| loops::stands_for(&body, *at)),
        // The head of a loop without a way out: the least line of its own file.
        Doing::Loop { has_exit: false, .. } => {
            let around = body().and_then(|body| loops::around(&body, *at));
            around.map_or(*at, |around| head(code, &around))
        }
        _ => *at,
    }
}

/// The instruction of a loop with the least line of the file that most of it comes from.
fn head(code: &Code, around: &Loop) -> u64 {
    let last = code.place(around.last);
    let file = last.as_ref().map(|place| place.outermost().file.clone());
    let own = |pc: &u64| {
        let place = code.place(*pc)?;
        let line = place.outermost();
        (Some(&line.file) == file.as_ref()).then_some((line.line, *pc))
    };
    let instructions = (around.first..=around.last).step_by(crate::sass::SIZE as usize).take(1 << 12);
    instructions.filter_map(|pc| own(&pc)).min().map_or(around.last, |(_, pc)| pc)
}

/// The arrivals without waiting in the function around `pc`: all of them, or those from which a way leads to `pc`.
fn arrivals(code: &Code, pc: u64, before: bool) -> Arrivals {
    let mut arrivals = Arrivals::default();
    let Some(function) = code.function(pc) else { return arrivals };
    let body = loops::decode(code, function);
    let arrive = |i: &&Instruction| matches!(i.op, Op::Barrier { action: BarrierAction::Arrive, .. });
    if body.iter().find(arrive).is_none() {
        return arrivals;
    }
    let leads = |i: &&Instruction| !before || loops::leads_to(&body, i.pc, pc);
    for instruction in body.iter().filter(arrive).filter(leads) {
        match instruction.op {
            Op::Barrier { id: Operand::Value(id), .. } => {
                arrivals.ids.insert(id);
            }
            _ => arrivals.any = true,
        }
    }
    arrivals
}

/// The synchronisation at which a lane faulted.
fn faulted(source: &dyn Source, code: &Code, pc: u64, (warp, lane): (&Warp, &Lane)) -> Option<Doing> {
    let values = Values::new(source, warp, lane);
    let function = code.function(pc)?;
    let body = loops::decode(code, function);
    let here = body.partition_point(|instruction| instruction.pc < pc);
    match body.get(here)?.op {
        Op::Barrier { id, count, packed, .. } => Some(barrier(&values, &[], (id, count, packed))),
        Op::WarpSync { mask, .. } => {
            let operation = together(body.get(here..)?);
            let mask = match mask {
                Mask::All => Some(u32::MAX),
                Mask::Register(register) => values.register(register),
            };
            Some(Doing::WarpSync { mask, operation })
        }
        Op::WarpOperation(name) => Some(Doing::WarpSync { mask: None, operation: Some(name) }),
        _ => None,
    }
}

/// A barrier just before a program counter.
#[derive(Clone)]
struct Behind {
    barrier: Instruction,
    /// Registers and predicates that the instructions since then wrote.
    overwritten: Vec<u8>,
    predicates: Vec<u8>,
}

impl Behind {
    /// The barrier that a warp behind these instructions may still wait at. The hardware lets the
    /// instructions behind a barrier go ahead, up to the first that touches memory or jumps.
    fn of(before: &[Instruction]) -> Option<Behind> {
        const AHEAD: usize = 24;
        let (mut overwritten, mut predicates) = (Vec::new(), Vec::new());
        for instruction in before.iter().rev().take(AHEAD) {
            match instruction.op {
                Op::Barrier { action: BarrierAction::Sync | BarrierAction::Reduce, .. } | Op::ClusterWait => {
                    return Some(Behind { barrier: *instruction, overwritten, predicates });
                }
                Op::Other => {
                    let written = instruction.writes();
                    overwritten
                        .extend(written.into_iter().flat_map(|(first, n)| first..first.saturating_add(n)));
                    predicates.extend(instruction.writes_predicates().into_iter().flatten());
                }
                _ => return None,
            }
        }
        None
    }

    fn holds(&self, values: &Values) -> bool {
        self.predicates.contains(&self.barrier.guard.predicate) || values.holds(&self.barrier)
    }
}

fn barrier(values: &Values, overwritten: &[u8], parts: (Operand, Option<Operand>, bool)) -> Doing {
    let (id, count, packed) = parts;
    let value = |operand: Operand| match operand {
        Operand::Value(value) => Some(value),
        Operand::Register(register) if overwritten.contains(&register) => None,
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

fn in_loop(around: &Loop, values: &Values, reader: &Reader<'_>, pc: u64) -> (Doing, u64) {
    let locate = |address: &Address| {
        let base = values.address(address)?;
        Some(reader.locate(address.space, base))
    };
    if let Some((pc, address, parity)) = around.mbarrier {
        let place = locate(&address);
        let word = place.as_ref().and_then(|place| place.value).map(MbarrierWord);
        let parity = values.register(parity).map(|register| (register >> 31) as u8);
        return (Doing::Mbarrier { address: place.map(|place| place.address), parity, word }, pc);
    }
    if let Some(first) = around.polled.first() {
        let place = |polled: &Polled| match polled.constant {
            Some(at) => {
                let base = reader.constant(at)?.wrapping_add_signed(i64::from(polled.address.offset));
                Some(reader.locate(polled.address.space, base))
            }
            None if polled.anew => None,
            None => locate(&polled.address),
        };
        let mut polled: Vec<Location> = around.polled.iter().filter_map(place).collect();
        polled.dedup();
        return (Doing::Spin { polled, swaps: around.swaps }, first.pc);
    }
    let (has_exit, has_barrier) = (around.has_exit, around.has_barrier);
    let may_end = has_exit
        && match around.outlook {
            Outlook::Counts | Outlook::Open => true,
            Outlook::Exact => false,
            Outlook::Recurs => !outlook::repeats(around, values, pc),
            Outlook::Reads => around.carries,
        };
    (Doing::Loop { has_exit, has_barrier, may_end }, around.decided_at)
}
