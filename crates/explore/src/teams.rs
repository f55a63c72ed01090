//! Barriers and warp operations: who has come, and what they get when all have.

use standstill_kernel_ir::evaluate::warp;
use standstill_kernel_ir::{BarrierReduction, Op, Order};

use crate::interpret::{Machine, Stop};
use crate::system::{Next, System, at_barrier};
use crate::thread::Running;

impl System<'_> {
    /// Lets through the barriers and warp operations that are complete; nobody can prevent it or see it happen
    /// later, so it belongs to the step that completed them.
    pub(crate) fn normalise(&mut self, state: &mut [u32]) {
        loop {
            let mut waiting = false;
            for at in 0..self.threads() {
                let next = state.get(at).map_or(Next::Over, |&local| self.next(local));
                let team = match next {
                    Next::Barrier { id, count, .. } => self.barrier_team(state, at, id, count),
                    Next::Warp { mask, barrier } => self.warp_team(state, at, mask, barrier),
                    _ => continue,
                };
                if !team.is_empty() {
                    self.release(state, &team, next);
                    waiting = true;
                    break;
                }
            }
            if !waiting {
                return;
            }
        }
    }

    /// The threads of a block.
    fn block_range(&self, at: usize) -> std::ops::Range<usize> {
        let per_block = self.per_block as usize;
        let first = at / per_block * per_block;
        first..first + per_block
    }

    /// Whether a barrier or a warp operation may be complete.
    pub(crate) fn may_open(&self, state: &[u32]) -> bool {
        (0..self.threads()).any(|at| match state.get(at).map_or(Next::Over, |&local| self.next(local)) {
            Next::Barrier { count: Some(_), .. } => true,
            Next::Barrier { id, count: None, .. } => {
                let (team, live) = self.waiting(state, at, id);
                team.len() as u64 >= live
            }
            Next::Warp { mask, barrier } => !self.warp_team(state, at, mask, barrier).is_empty(),
            _ => false,
        })
    }

    /// The threads of a block that wait at one of its barriers, and how many there are that have not ended.
    fn waiting(&self, state: &[u32], at: usize, id: u32) -> (Vec<usize>, u64) {
        let (mut team, mut live) = (Vec::new(), 0);
        for other in self.block_range(at) {
            let next = state.get(other).map_or(Next::Over, |&local| self.next(local));
            live += u64::from(next != Next::Over);
            if matches!(next, Next::Barrier { id: there, .. } if there == id) {
                team.push(other);
            }
        }
        (team, live)
    }

    fn barrier_team(&mut self, state: &[u32], at: usize, id: u32, count: Option<u32>) -> Vec<usize> {
        let (team, live) = self.waiting(state, at, id);
        let arrived = match state.last() {
            Some(&memory) if count.is_some() => {
                let word = self.memory.barrier_word(self.block_of(at), id);
                self.memory.read(&self.memory.contents(memory), word)
            }
            _ => 0,
        };
        let expected = count.map_or(live, u64::from);
        if team.len() as u64 + arrived >= expected { team } else { Vec::new() }
    }

    /// The lanes that meet, when all have come. Warp barriers need not be the same instruction; other operations must
    /// (PTX ISA, «bar.warp.sync», «shfl.sync»).
    fn warp_team(&self, state: &[u32], at: usize, mask: u32, barrier: bool) -> Vec<usize> {
        let block = self.block_range(at);
        let first = block.start + (at - block.start) / 32 * 32;
        let own = state.get(at).and_then(|&local| self.local(local)).and_then(|local| local.frames.last());
        let place = own.map(|frame| (frame.function, frame.at));
        let mut team = Vec::new();
        for other in (0..32).filter(|lane| mask >> lane & 1 != 0).map(|lane| first + lane) {
            let Some(&local) = state.get(other).filter(|_| block.contains(&other)) else { continue };
            match self.next(local) {
                Next::Over => {}
                Next::Warp { mask: there, barrier: same } if (there, same) == (mask, barrier) => {
                    let frame = self.local(local).and_then(|local| local.frames.last());
                    if !barrier && frame.map(|frame| (frame.function, frame.at)) != place {
                        return Vec::new();
                    }
                    team.push(other);
                }
                _ => return Vec::new(),
            }
        }
        if team.contains(&at) { team } else { vec![at] }
    }

    /// Lets a complete team go on.
    fn release(&mut self, state: &mut [u32], team: &[usize], next: Next) {
        let Some(&memory) = state.last() else { return };
        let mut contents = self.memory.contents(memory);
        if let (Next::Barrier { id, count: Some(_), .. }, Some(&first)) = (next, team.first()) {
            let word = self.memory.barrier_word(self.block_of(first), id);
            self.memory.write(&mut contents, word, 0);
            if let Some(orders) = &mut self.orders {
                let takes_up = orders.effect(vec![at_barrier(word, Order::Acquire)]);
                team.iter().for_each(|&thread| self.follow(state, thread, takes_up));
            }
        }
        let at = self.threads();
        if let (Some(orders), Some(slot)) = (&mut self.orders, state.get_mut(at)) {
            *slot = orders.meet(*slot, team);
        }
        let predicates = team.iter().map(|&thread| match state.get(thread).map(|&local| self.next(local)) {
            Some(Next::Barrier { predicate, .. }) => u64::from(predicate),
            _ => 0,
        });
        let holding: u64 = predicates.sum();
        let values = self.lane_values(state, team);
        for &thread in team {
            let Some(running) = self.running(state, thread) else { continue };
            let lane = (thread as u32 % self.per_block) % 32;
            let (local, after, effect) = self.go_on(running, contents, |machine| {
                give_result(machine, &values, lane, holding, team.len() as u64)?;
                machine.pass();
                Ok(())
            });
            contents = after;
            if let Some(slot) = state.get_mut(thread) {
                *slot = local;
            }
            self.follow(state, thread, effect);
        }
        let memory = self.memory.number(contents);
        if let Some(slot) = state.last_mut() {
            *slot = memory;
        }
    }

    /// A thread of a state, to run.
    fn running(&self, state: &[u32], thread: usize) -> Option<Running> {
        Some(self.local(*state.get(thread)?)?.run(&self.codes))
    }

    /// The first source of each lane of a team, with the lanes that there are.
    fn lane_values(&mut self, state: &[u32], team: &[usize]) -> Lanes {
        let mut lanes = Lanes { values: [0; 32], mask: 0 };
        for &thread in team {
            let Some(running) = self.running(state, thread) else { continue };
            let lane = (thread as u32 % self.per_block) % 32;
            lanes.mask |= 1 << lane;
            let value = self.with_machine(running, Vec::new(), |machine| {
                let (function, instruction) = machine.instruction()?;
                function.sources(instruction.operands).first().map(|&source| machine.operand(source))
            });
            if let (Some(value), Some(slot)) = (value, lanes.values.get_mut(lane as usize)) {
                *slot = value;
            }
        }
        lanes
    }
}

/// What the lanes of a team bring.
struct Lanes {
    values: [u64; 32],
    mask: u32,
}

/// What a lane gets when its team goes on.
fn give_result(
    machine: &mut Machine<'_, '_>,
    lanes: &Lanes,
    lane: u32,
    holding: u64,
    team: u64,
) -> Result<(), Stop> {
    let Some((function, &instruction)) = machine.instruction() else { return Ok(()) };
    let destinations = function.destinations(instruction.operands);
    let source = |index: usize| {
        function.sources(instruction.operands).get(index).map_or(0, |&operand| machine.operand(operand))
    };
    let value = |lane: usize| lanes.values.get(lane).copied().unwrap_or(0);
    let votes = || (0..32).fold(0u32, |votes, lane| votes | ((value(lane) & 1) as u32) << lane) & lanes.mask;
    let results = match instruction.op {
        Op::Barrier { reduction: Some(reduction), .. } => match reduction {
            BarrierReduction::Count => vec![holding],
            BarrierReduction::And => vec![u64::from(holding == team)],
            BarrierReduction::Or => vec![u64::from(holding > 0)],
        },
        Op::Shuffle(mode) => {
            let (from, in_range) = warp::shuffle_source(mode, lane, source(1), source(2));
            vec![value(from), in_range.into()]
        }
        Op::Vote(mode) => vec![warp::vote(mode, votes(), lanes.mask)],
        Op::Match { all: true } => {
            let (mask, same) = warp::match_all(&lanes.values, 64, lanes.mask);
            vec![mask, same.into()]
        }
        Op::Match { all: false } => {
            let masks = warp::match_any(&lanes.values, 64, lanes.mask);
            vec![masks.get(lane as usize).copied().unwrap_or(0)]
        }
        Op::WarpReduce { operation, ty } => match warp::reduce(operation, ty, &lanes.values, lanes.mask) {
            Some(value) => vec![value],
            None => return Err(machine.unknown("a reduction of a warp".to_owned())),
        },
        _ => Vec::new(),
    };
    for (destination, value) in destinations.iter().zip(results) {
        machine.assign(Some(destination), value);
    }
    Ok(())
}
