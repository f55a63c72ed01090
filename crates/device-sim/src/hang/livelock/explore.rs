//! Other orders: whether the turns of the threads, taken in another order, lead out of a repetition.
//!
//! Where barriers or the step of one warp order all that the threads do to memory, no order of turns makes a
//! difference. Elsewhere the threads are run on step by step, in an order that chance chooses and that prefers what
//! was not tried yet, until one leaves its loop, or every step of every state that was met has been taken. Blocks
//! that share no memory that changes are looked at by themselves.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::joint;
use crate::decode::code::LANES;
use crate::exec::core::lanes;
use crate::fault::Fault;
use crate::grid::Grid;
use crate::hang::spy::mix;
use crate::place::is_visible;

/// What looking into one group of blocks may cost, in states of a warp that are compared.
const COST: u64 = 1 << 21;
const MOST_STEPS: u64 = 1 << 16;
const LEAST_STEPS: u64 = 256;
/// And in ticks.
const MOST_TICKS: u64 = 1 << 22;
/// Warps that are told apart in what was tried.
const MOST_WARPS: usize = 64;
/// Operations of one step: to the next that others can notice.
const LONGEST: u64 = 4096;
/// Steps in which lanes of a warp are tried apart from each other.
const APART: u64 = 1 << 14;

/// What other orders do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Explored {
    /// Nothing but one order is possible.
    Ordered,
    /// None leads out: so many states were met, and every step from each.
    Closed { states: usize },
    /// None of so many steps led out; not all was tried.
    Open { steps: u64 },
    /// A thread left its loop.
    Leaves,
}

/// The loop that each lane of a warp is in: head by lane, and the lanes that live.
type Loops = Vec<Vec<(u32, [Option<u32>; LANES])>>;

/// A state of threads and memory that was met.
#[derive(Debug, Default)]
struct Met {
    /// Warps, one bit each, whose step from here was not taken.
    untaken: u64,
    /// The states that the others led to.
    next: SmallVec<[u64; 2]>,
}

/// What was tried.
#[derive(Debug, Default)]
struct Tried {
    states: FxHashMap<u64, Met>,
    /// The step that was taken last: from which state.
    from: Option<u64>,
    /// Steps until the next look at whether all was tried.
    until: usize,
}

impl Tried {
    /// In a state in which these warps can run: the steps from it that were not taken.
    fn come_to(&mut self, state: u64, able: &[usize]) -> u64 {
        if let Some(from) = self.from.take().and_then(|from| self.states.get_mut(&from))
            && !from.next.contains(&state)
        {
            from.next.push(state);
        }
        let all = || able.iter().fold(0, |all, index| all | 1 << index);
        self.states.entry(state).or_insert_with(|| Met { untaken: all(), next: SmallVec::new() }).untaken
    }

    fn take(&mut self, state: u64, warp: usize) {
        self.from = Some(state);
        if let Some(met) = self.states.get_mut(&state) {
            met.untaken &= !(1 << warp);
        }
    }

    /// How many states can be come to from this one, when every step from each of them was taken.
    fn closed(&mut self, state: u64) -> Option<usize> {
        if self.until > 0 {
            self.until -= 1;
            return None;
        }
        self.until = self.states.len();
        let mut seen = FxHashSet::from_iter([state]);
        let mut open = vec![state];
        while let Some(state) = open.pop() {
            let met = self.states.get(&state).filter(|met| met.untaken == 0)?;
            open.extend(met.next.iter().copied().filter(|next| seen.insert(*next)));
        }
        Some(seen.len())
    }
}

impl Grid {
    /// Tries other orders. The threads are somewhere else afterwards: where one of these orders leads.
    pub(super) fn explore(&mut self) -> Result<Explored, Box<Fault>> {
        let loops = self.loops();
        let mut met = 0;
        let mut tried = None;
        for slots in self.companies() {
            match self.walk(&slots, &loops)? {
                Explored::Leaves => return Ok(Explored::Leaves),
                Explored::Open { steps } => tried = Some(tried.unwrap_or(0) + steps),
                Explored::Closed { states } => met += states,
                Explored::Ordered => {}
            }
        }
        Ok(match (tried, met) {
            (Some(steps), _) => Explored::Open { steps },
            (None, 0) => Explored::Ordered,
            (None, states) => Explored::Closed { states },
        })
    }

    /// Whether lanes that do not keep in step would come out. The grid is at its end with this.
    pub(super) fn leaves_apart(&mut self) -> bool {
        let loops = self.loops();
        for warp in self.slots.iter_mut().flatten().flat_map(|block| &mut block.warps) {
            warp.flow.split();
        }
        for _ in 0..APART {
            let mut able = Vec::new();
            for (block, slot) in self.slots.iter().zip(0..) {
                for (warp, index) in block.iter().flat_map(|block| &block.warps).zip(0..) {
                    let ready = warp.flow.groups.iter().zip(0..).filter(|(group, _)| group.state.is_ready());
                    able.extend(ready.map(|(_, group)| (slot, index, group)));
                }
            }
            let drawn = self.draw() as usize % able.len().max(1);
            let Some(&(slot, warp, group)) = able.get(drawn) else { return false };
            if self.burst(slot, warp, Some(group)).is_err() || self.has_left(&loops, None) {
                return true;
            }
        }
        false
    }

    fn loops(&self) -> Loops {
        let of_block = |block: &crate::grid::block::Block| {
            let of_warp = |warp: &crate::exec::warp::Warp| {
                let mut heads = [None; LANES];
                for group in &warp.flow.groups {
                    let head = joint::outermost(warp, group);
                    lanes(group.mask).for_each(|lane| heads[lane % LANES] = head);
                }
                (warp.flow.live, heads)
            };
            block.warps.iter().map(of_warp).collect()
        };
        self.slots.iter().map(|block| block.as_ref().map_or(Vec::new(), |block| of_block(block))).collect()
    }

    /// Whether a thread of these blocks has left its loop.
    fn has_left(&self, loops: &Loops, slots: Option<&[usize]>) -> bool {
        self.slots.iter().zip(loops).enumerate().any(|(slot, (block, warps))| {
            if slots.is_some_and(|slots| !slots.contains(&slot)) {
                return false;
            }
            let Some(block) = block else { return !warps.is_empty() };
            block.warps.iter().zip(warps).any(|(warp, (live, heads))| {
                let mut groups = warp.flow.groups.iter();
                let moved = |group: &crate::exec::warp::Group| {
                    let head = joint::outermost(warp, group);
                    lanes(group.mask).any(|lane| heads.get(lane) != Some(&head))
                };
                warp.flow.live != *live || groups.any(moved)
            })
        })
    }

    /// Blocks whose accesses nothing orders, with those that share changing memory put together, by slot.
    fn companies(&self) -> Vec<Vec<usize>> {
        let Some(ledger) = &self.shared.ledger else { return Vec::new() };
        let mut by_block: FxHashMap<u32, usize> = FxHashMap::default();
        let mut company: Vec<usize> = (0..self.slots.len()).collect();
        for (block, slot) in self.slots.iter().zip(0..) {
            by_block.extend(block.as_ref().map(|block| (block.place.index, slot)));
        }
        for blocks in ledger.together() {
            let slots: Vec<usize> = blocks.iter().filter_map(|block| by_block.get(block).copied()).collect();
            let of = |slot: &usize| company.get(*slot).copied();
            let known: Vec<usize> = slots.iter().filter_map(of).collect();
            let Some(&least) = known.iter().min() else { continue };
            company.iter_mut().filter(|of| known.contains(of)).for_each(|of| *of = least);
        }
        let mut companies: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (slot, of) in company.into_iter().enumerate() {
            companies.entry(of).or_default().push(slot);
        }
        let unordered = |slot: &usize| {
            let block = self.slots.get(*slot).and_then(Option::as_ref);
            block.is_some_and(|block| ledger.is_unordered(block.place.index))
        };
        let mut companies: Vec<Vec<usize>> =
            companies.into_values().filter(|slots| slots.iter().any(unordered)).collect();
        companies.sort();
        companies
    }

    /// Runs these blocks' warps in an order that chance chooses.
    fn walk(&mut self, slots: &[usize], loops: &Loops) -> Result<Explored, Box<Fault>> {
        let warps: Vec<(usize, usize)> = slots
            .iter()
            .filter_map(|&slot| Some((slot, self.slots.get(slot)?.as_ref()?)))
            .flat_map(|(slot, block)| (0..block.warps.len()).map(move |warp| (slot, warp)))
            .collect();
        let most = (COST / (warps.len() as u64 + 1)).clamp(LEAST_STEPS, MOST_STEPS);
        let mut tried = Tried::default();
        let mut matters = 0;
        let end = self.shared.clock + MOST_TICKS;
        let mut steps = 0;
        while steps < most && self.shared.clock < end {
            steps += 1;
            let Some(ledger) = &self.shared.ledger else { break };
            if ledger.matters() != matters {
                // A byte matters that did not before: what was met has to be met anew.
                (matters, tried) = (ledger.matters(), Tried::default());
            }
            let memory = ledger.hash();
            let ready = warps.iter().enumerate().filter(|&(_, &(slot, warp))| {
                let block = self.slots.get(slot).and_then(Option::as_ref);
                block.and_then(|block| block.warps.get(warp)).is_some_and(|warp| warp.is_ready())
            });
            let able: Vec<usize> = ready.map(|(index, _)| index).collect();
            let mut choices = able.clone();
            let mut state = None;
            if warps.len() <= MOST_WARPS {
                let Some(threads) = joint::hash(self, Some(slots)) else { break };
                let here = mix(threads, memory);
                let untaken = tried.come_to(here, &able);
                if let Some(states) = tried.closed(here) {
                    return Ok(Explored::Closed { states });
                }
                if untaken != 0 {
                    choices.retain(|index| untaken >> index & 1 != 0);
                }
                state = Some(here);
            }
            let drawn = self.draw() as usize % choices.len().max(1);
            // Nobody can run: in this order they come to stand.
            let Some(&index) = choices.get(drawn) else { return Ok(Explored::Leaves) };
            if let Some(state) = state {
                tried.take(state, index);
            }
            let Some(&(slot, warp)) = warps.get(index) else { break };
            self.burst(slot, warp, None)?;
            if self.has_left(loops, Some(slots)) {
                return Ok(Explored::Leaves);
            }
        }
        Ok(Explored::Open { steps })
    }

    /// Runs a warp to the next operation that others can notice: the group that is given, or the one whose turn it is.
    fn burst(&mut self, slot: usize, index: usize, group: Option<usize>) -> Result<(), Box<Fault>> {
        let mut chosen = group;
        for _ in 0..LONGEST {
            let block = self.slots.get_mut(slot).and_then(Option::as_mut);
            let Some(warp) = block.and_then(|block| block.warps.get_mut(index)) else { return Ok(()) };
            warp.flow.random = 0;
            let Some(next) = chosen.take().or_else(|| warp.flow.choose()) else { return Ok(()) };
            let mask = warp.flow.groups.get(next).map_or(0, |group| group.mask);
            self.step(slot, index, next)?;
            let block = self.slots.get(slot).and_then(Option::as_ref);
            let Some(warp) = block.and_then(|block| block.warps.get(index)) else { return Ok(()) };
            let Some((at, after)) =
                warp.flow.groups.iter().zip(0..).find(|(group, _)| group.mask & mask != 0)
            else {
                return Ok(());
            };
            if !at.state.is_ready() {
                return Ok(());
            }
            let Some(code) = warp.flow.frames.get(at.frame as usize).map(|frame| &frame.code.0) else {
                return Ok(());
            };
            if code.beginning(at.pc).is_some_and(|position| is_visible(code, position)) {
                return Ok(());
            }
            if group.is_some() {
                chosen = Some(after);
            }
        }
        Ok(())
    }
}
