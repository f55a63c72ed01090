//! Launches that were recorded on a card: what they touch is worked out from their arguments.
//!
//! Where the reach of a launch is known it is exact. Elsewhere only its arguments speak (`arguments`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use standstill_trace::{Access, Call, LaunchShape, Mode, Record, Work};

use crate::arguments::{Borders, Kernel};

/// What code tells of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// The bytes that it touches, whatever memory holds.
    Known(Vec<Access>),
    /// The code is there, and what memory holds decides.
    Undecided,
    /// Nobody has the code.
    Unknown,
}

/// Who knows what kernels do.
pub trait Reach {
    /// What a launch touches. The name is as the compiler wrote it.
    fn of(&mut self, kernel: &str, shape: &LaunchShape, memory: &Extents) -> Reached;
}

/// Nobody knows.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoReach;

impl Reach for NoReach {
    fn of(&mut self, _: &str, _: &LaunchShape, _: &Extents) -> Reached {
        Reached::Unknown
    }
}

/// Allocations by first byte. Memory that was given back stays until something else is there: a launch that still
/// has a pointer to it is what the checker looks for.
#[derive(Debug, Clone, Default)]
pub struct Extents(BTreeMap<u64, u64>);

impl Extents {
    fn add(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        let overlapped: Vec<u64> = self
            .0
            .range(..end)
            .rev()
            .take_while(|(_, old)| **old > address)
            .map(|(start, _)| *start)
            .collect();
        for start in overlapped {
            self.0.remove(&start);
        }
        self.0.insert(address, end);
    }

    /// The allocation around an address.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<Range<u64>> {
        let (start, end) = self.0.range(..=address).next_back()?;
        (address < *end).then_some(*start..*end)
    }
}

/// What was launched so far.
pub struct Launches<'a> {
    reach: &'a mut dyn Reach,
    memory: Extents,
    kernels: FxHashMap<u32, Kernel>,
    shapes: FxHashMap<u32, LaunchShape>,
    /// What the code tells of launches, by number; `None` where it tells nothing.
    known: FxHashMap<u32, Option<Rc<[Access]>>>,
    /// What launches touch of which no code is known.
    guessed: FxHashMap<u32, Rc<[Access]>>,
    borders: Borders,
    /// The launch of which something was asked and answered last, until that is told.
    newly_known: Option<u32>,
    /// Launches that are nodes of graphs, which keep their numbers.
    in_graphs: FxHashSet<u32>,
    /// Launches that were met.
    pub launches: u64,
}

/// Recorders give new numbers to launches from time to time, and name none then that is this much older than the newest.
const NAMED: u32 = 1 << 17;

impl<'a> Launches<'a> {
    /// Nothing was launched yet.
    pub fn new(reach: &'a mut dyn Reach) -> Launches<'a> {
        Launches {
            reach,
            memory: Extents::default(),
            kernels: FxHashMap::default(),
            shapes: FxHashMap::default(),
            known: FxHashMap::default(),
            guessed: FxHashMap::default(),
            borders: Borders::default(),
            newly_known: None,
            in_graphs: FxHashSet::default(),
            launches: 0,
        }
    }

    /// Takes what a trace says by itself of launches, and of how the program parts its memory, before its records.
    pub fn told(&mut self, record: &Record) {
        self.meet(&record.call);
        match &record.call {
            Call::NameLaunch { launch, .. } | Call::NameLaunchLike { launch, .. } => {
                let Some(shape) = self.shapes.get(launch) else { return };
                let pointers = self.kernels.get(&shape.kernel).map(|it| it.pointers(shape, &self.memory));
                pointers.into_iter().flatten().for_each(|(address, _)| self.borders.add(address));
            }
            Call::Submit { work: Work::Copy { accesses, .. } | Work::Fill { accesses, .. }, .. } => {
                accesses.iter().for_each(|access| self.borders.add(access.address));
            }
            _ => {}
        }
    }

    /// When everything was told: what was met on the way begins afresh.
    pub fn begin(&mut self) {
        self.memory = Extents::default();
        self.kernels.clear();
        self.shapes.clear();
    }

    /// Memory, kernels and launches.
    fn meet(&mut self, call: &Call) {
        match call {
            Call::Allocate { address, bytes, .. }
            | Call::Submit { work: Work::Allocate { address, bytes }, .. }
            | Call::SubmitNode { work: Work::Allocate { address, bytes }, .. } => {
                self.memory.add(*address, *bytes);
            }
            Call::NameKernel { kernel, name, parameters } => {
                self.kernels.insert(*kernel, Kernel::new(name.clone(), parameters.clone()));
            }
            Call::NameLaunch { launch, shape } => self.name(*launch, shape.clone()),
            Call::NameLaunchLike { launch, like, words } => {
                if let Some(shape) = self.shapes.get(like).map(|like| like.with_words(words)) {
                    self.name(*launch, shape);
                }
            }
            Call::ReachOfLaunch { launch, accesses } => {
                self.known.insert(*launch, Some(accesses.as_slice().into()));
            }
            _ => {}
        }
    }

    fn name(&mut self, launch: u32, shape: LaunchShape) {
        self.shapes.insert(launch, shape);
        if self.shapes.len() > 2 * NAMED as usize {
            let oldest = launch.saturating_sub(NAMED);
            let stays = |launch: &u32| *launch >= oldest || self.in_graphs.contains(launch);
            self.shapes.retain(|launch, _| stays(launch));
            self.known.retain(|launch, _| stays(launch));
            self.guessed.retain(|launch, _| stays(launch));
        }
    }

    /// Gives launches in the record their bytes.
    #[must_use]
    pub fn expand(&mut self, mut record: Record) -> Record {
        self.meet(&record.call);
        if let Call::SubmitNode { work: Work::Launch { launch }, .. } = &record.call {
            self.in_graphs.insert(*launch);
        }
        if let Call::Submit { work, .. } | Call::SubmitNode { work, .. } = &mut record.call {
            self.launches += u64::from(matches!(work, Work::Launch { .. } | Work::Kernel { .. }));
            if let Work::Launch { launch } = work {
                *work = self.kernel(*launch);
            }
        }
        record
    }

    /// How many kernels were launched.
    #[must_use]
    pub fn kernels(&self) -> u64 {
        self.kernels.len() as u64
    }

    /// What the code tells of a launch, which was asked for the first time since this was called.
    pub fn newly_known(&mut self) -> Option<(u32, &[Access])> {
        let launch = self.newly_known.take()?;
        Some((launch, self.known.get(&launch)?.as_deref()?))
    }

    fn kernel(&mut self, launch: u32) -> Work {
        let shape = self.shapes.get(&launch);
        let kernel = shape.and_then(|shape| self.kernels.get(&shape.kernel));
        let (Some(shape), Some(kernel)) = (shape, kernel) else {
            return Work::Kernel { name: String::new(), accesses: Some(Vec::new()) };
        };
        let (reach, memory, borders) = (&mut self.reach, &self.memory, &self.borders);
        let newly_known = &mut self.newly_known;
        let ask = || {
            *newly_known = Some(launch);
            match reach.of(&kernel.name, shape, memory) {
                Reached::Known(accesses) => Some(accesses.into()),
                Reached::Undecided => Some(undecided(kernel.accesses(shape, memory, borders)).into()),
                Reached::Unknown => None,
            }
        };
        let known = self.known.entry(launch).or_insert_with(ask);
        let guess = || kernel.accesses(shape, memory, borders).into();
        let accesses = match known {
            Some(accesses) => accesses,
            None => self.guessed.entry(launch).or_insert_with(guess),
        };
        Work::Kernel { name: kernel.name.clone(), accesses: Some(accesses.to_vec()) }
    }
}

/// Code that memory decides about may touch any part of what it has a pointer to, and the part that the pointer points
/// at no more than others.
fn undecided(accesses: Vec<Access>) -> Vec<Access> {
    accesses.into_iter().map(|access| Access { mode: Mode::May, exact: false, ..access }).collect()
}

#[cfg(test)]
mod tests {
    use standstill_trace::{Allocation, Parameter};

    use super::*;

    fn shape(arguments: &[u64]) -> LaunchShape {
        let arguments = arguments.iter().flat_map(|word| word.to_le_bytes()).collect();
        let one = [1; 3];
        LaunchShape {
            kernel: 1,
            grid: one,
            block: one,
            cluster: one,
            dynamic_shared: 0,
            cooperative: false,
            arguments,
        }
    }

    #[test]
    fn pointers_reach_to_the_next_one() {
        let mut reach = NoReach;
        let mut launches = Launches::new(&mut reach);
        let allocate = |address, bytes| Call::Allocate { address, bytes, kind: Allocation::Device };
        let parameters = vec![Parameter { offset: 0, bytes: 16 }, Parameter { offset: 16, bytes: 8 }];
        let launch = |launch, arguments: &[u64]| Call::NameLaunch { launch, shape: shape(arguments) };
        let work = Work::Launch { launch: 1 };
        let calls = [
            allocate(0x1000, 0x100),
            allocate(0x2000, 0x100),
            // Freed and given out again in other pieces.
            allocate(0x2080, 0x10),
            Call::NameKernel { kernel: 1, name: "k".into(), parameters },
            launch(1, &[0x1010, 0x2085, 0x1080]),
            launch(2, &[0x1040, 0, 0]),
            Call::Submit { operation: 1, stream: 1, work },
        ];
        let records = calls.map(|call| Record { thread: 0, site: 0, call });
        records.iter().for_each(|record| launches.told(record));
        launches.begin();
        let [.., submitted] = records.map(|record| launches.expand(record));
        let Call::Submit { work: Work::Kernel { accesses: Some(found), .. }, .. } = submitted.call else {
            panic!("no kernel");
        };
        let at = |address, rest| {
            let wide = Access { exact: false, ..Access::bytes(Mode::May, address + 1, rest) };
            [Access::bytes(Mode::May, address, 1), wide]
        };
        assert_eq!(found, [at(0x1010, 0x2f), at(0x2085, 0xa), at(0x1080, 0x7f)].concat());
    }
}
