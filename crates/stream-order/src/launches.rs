//! Launches that were recorded on a card: what they touch is worked out from their arguments.
//!
//! Where the reach of a launch is known it is exact. Elsewhere every argument that points into an allocation may touch
//! all of it, which is a wide guess: it gives notes at most.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use standstill_trace::{Access, Call, LaunchShape, Mode, Parameter, Record, Work};

/// Bytes of a pointer.
const POINTER: u32 = 8;

/// Who knows what kernels do.
pub trait Reach {
    /// The bytes that a launch touches whatever memory holds; `None` where the code, or its absence, does not tell.
    /// The name is as the compiler wrote it.
    fn of(&mut self, kernel: &str, shape: &LaunchShape, memory: &Extents) -> Option<Vec<Access>>;
}

/// Nobody knows.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoReach;

impl Reach for NoReach {
    fn of(&mut self, _: &str, _: &LaunchShape, _: &Extents) -> Option<Vec<Access>> {
        None
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

/// A kernel's name and parameters.
#[derive(Debug)]
struct Kernel {
    name: String,
    parameters: Vec<Parameter>,
}

/// What was launched so far.
pub struct Launches<'a> {
    reach: &'a mut dyn Reach,
    memory: Extents,
    kernels: FxHashMap<u32, Kernel>,
    shapes: FxHashMap<u32, LaunchShape>,
    /// What launches touch, by number; `None` where it is not known.
    known: FxHashMap<u32, Option<Rc<[Access]>>>,
    /// Launches that were met.
    pub launches: u64,
}

impl<'a> Launches<'a> {
    /// Nothing was launched yet.
    pub fn new(reach: &'a mut dyn Reach) -> Launches<'a> {
        Launches {
            reach,
            memory: Extents::default(),
            kernels: FxHashMap::default(),
            shapes: FxHashMap::default(),
            known: FxHashMap::default(),
            launches: 0,
        }
    }

    /// Takes what a trace says of a launch by itself, before its records.
    pub fn told(&mut self, record: &Record) {
        if let Call::ReachOfLaunch { launch, accesses } = &record.call {
            self.known.insert(*launch, Some(accesses.as_slice().into()));
        }
    }

    /// Gives launches in the record their bytes.
    #[must_use]
    pub fn expand(&mut self, mut record: Record) -> Record {
        match &mut record.call {
            Call::Allocate { address, bytes, .. } => self.memory.add(*address, *bytes),
            Call::NameKernel { kernel, name, parameters } => {
                let (name, parameters) = (std::mem::take(name), std::mem::take(parameters));
                self.kernels.insert(*kernel, Kernel { name, parameters });
            }
            Call::NameLaunch { launch, shape } => {
                self.shapes.insert(*launch, shape.clone());
            }
            Call::Submit { work, .. } | Call::SubmitNode { work, .. } => match work {
                Work::Allocate { address, bytes } => self.memory.add(*address, *bytes),
                Work::Launch { launch } => {
                    self.launches += 1;
                    *work = self.kernel(*launch);
                }
                Work::Kernel { .. } => self.launches += 1,
                _ => {}
            },
            _ => {}
        }
        record
    }

    /// How many kernels were launched.
    #[must_use]
    pub fn kernels(&self) -> u64 {
        self.kernels.len() as u64
    }

    /// What launches touch, as far as it is known.
    pub fn known(&self) -> impl Iterator<Item = (u32, &[Access])> {
        self.known.iter().filter_map(|(launch, accesses)| Some((*launch, accesses.as_deref()?)))
    }

    fn kernel(&mut self, launch: u32) -> Work {
        let shape = self.shapes.get(&launch);
        let kernel = shape.and_then(|shape| self.kernels.get(&shape.kernel));
        let (Some(shape), Some(kernel)) = (shape, kernel) else {
            return Work::Kernel { name: String::new(), accesses: Some(Vec::new()) };
        };
        let (reach, memory) = (&mut self.reach, &self.memory);
        let known = self.known.entry(launch);
        let known = known.or_insert_with(|| reach.of(&kernel.name, shape, memory).map(Into::into));
        let accesses = match known {
            Some(accesses) => accesses.to_vec(),
            None => widened(kernel, shape, memory),
        };
        Work::Kernel { name: kernel.name.clone(), accesses: Some(accesses) }
    }
}

/// Every allocation that an argument points into: the byte that it points at by itself, as the one that is most likely
/// touched.
fn widened(kernel: &Kernel, shape: &LaunchShape, memory: &Extents) -> Vec<Access> {
    let mut accesses: Vec<Access> = Vec::new();
    for Parameter { offset, bytes } in &kernel.parameters {
        let places = (0..bytes / POINTER).map(|number| (offset + number * POINTER) as usize);
        for place in places {
            let word = shape.arguments.get(place..).and_then(|rest| rest.first_chunk());
            let Some(address) = word.map(|word| u64::from_le_bytes(*word)) else { continue };
            let Some(Range { start, end }) = memory.find(address) else { continue };
            let whole = Access { exact: false, ..Access::bytes(Mode::May, start, end - start) };
            for access in [whole, Access::bytes(Mode::May, address, 1)] {
                if !accesses.contains(&access) {
                    accesses.push(access);
                }
            }
        }
    }
    accesses
}

#[cfg(test)]
mod tests {
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
    fn pointers_reach_the_allocation_around_them() {
        let mut memory = Extents::default();
        memory.add(0x1000, 0x100);
        memory.add(0x2000, 0x100);
        // Freed and given out again in other pieces.
        memory.add(0x2080, 0x10);
        let parameters = vec![Parameter { offset: 0, bytes: 16 }, Parameter { offset: 16, bytes: 4 }];
        let kernel = Kernel { name: "k".into(), parameters };
        let found = widened(&kernel, &shape(&[0x1010, 0x2085, 0x1020]), &memory);
        let wide = |start, width| Access { exact: false, ..Access::bytes(Mode::May, start, width) };
        let expected = [
            wide(0x1000, 0x100),
            Access::bytes(Mode::May, 0x1010, 1),
            wide(0x2080, 0x10),
            Access::bytes(Mode::May, 0x2085, 1),
        ];
        assert_eq!(found, expected);
    }
}
