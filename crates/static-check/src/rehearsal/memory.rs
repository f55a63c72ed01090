//! The memory of a rehearsal: only places that matter to waiting, each with what was last stored there.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::mbarrier::Mbarrier;
use super::value::{PointerBase, Unknowns, Value};
use crate::body::Base;

/// Most values that a place is remembered to have held.
const MOST_EARLIER: usize = 4;

/// A place in memory. Shared memory belongs to one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The block whose shared memory it is; `None` for global memory.
    pub(crate) block: Option<u32>,
    /// What the address is relative to.
    pub(crate) base: PointerBase,
    /// Bytes from there.
    pub(crate) offset: i64,
}

/// What is known of one place.
#[derive(Debug, Clone)]
struct Cell {
    value: Value,
    /// What it held before, each value once.
    earlier: SmallVec<[Value; 2]>,
    bytes: u32,
    /// The thread that wrote it last, by its position in the machine; none while its value is an assumption about
    /// the start.
    writer: Option<usize>,
}

/// Places, mbarriers and a version that grows with every change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    cells: FxHashMap<Place, Cell>,
    /// The mbarriers.
    pub(crate) mbarriers: FxHashMap<Place, Mbarrier>,
    /// Grows with every change of anything.
    pub(crate) version: u64,
    /// Grows when a write at an unknown address may have changed anything that is not tracked.
    clobbers: u32,
    /// What writes went to whose places are not known: in shared memory or not, and their base.
    unresolved: Vec<(bool, Base)>,
}

impl Place {
    /// What it is based on, where that has a name.
    pub(crate) fn named_base(&self) -> Option<Base> {
        match self.base {
            PointerBase::Symbol(symbol) => Some(Base::Symbol(symbol)),
            PointerBase::Parameter(index, offset) => Some(Base::Parameter(index, offset)),
            PointerBase::Unknown(_) => None,
        }
    }

    fn may_be_at(&self, shared: bool, base: Base) -> bool {
        match (base, self.named_base()) {
            (Base::Unknown, _) | (_, None) => self.block.is_some() == shared,
            (base, Some(own)) => base == own,
        }
    }
}

impl Memory {
    /// What a read of `bytes` at a place gives. Where nobody wrote yet that is zero for flags, locks and
    /// counters (`from_zero`), and otherwise something unknown, the same for all.
    pub(crate) fn read(
        &mut self,
        place: Place,
        bytes: u32,
        from_zero: bool,
        unknowns: &mut Unknowns,
    ) -> Value {
        match self.cells.get(&place) {
            Some(cell) if cell.bytes == bytes => cell.value,
            Some(_) => unknowns.memory(address(place), self.clobbers),
            None if from_zero => {
                self.cells.insert(
                    place,
                    Cell { value: Value::known(0), earlier: SmallVec::new(), bytes, writer: None },
                );
                Value::known(0)
            }
            None => unknowns.memory(address(place), self.clobbers),
        }
    }

    /// Stores a value; whether anything changed.
    pub(crate) fn write(&mut self, thread: usize, place: Place, bytes: u32, value: Value) -> bool {
        let old = self.cells.get(&place);
        let changed = old.is_none_or(|old| old.value != value || old.bytes != bytes);
        let mut earlier = old.map_or(SmallVec::new(), |old| old.earlier.clone());
        // Nobody has looked yet at what lies in global memory before the launch: flags and counters are zero.
        let before = old.map(|old| old.value).or(place.block.is_none().then_some(Value::known(0)));
        if let Some(before) = before.filter(|before| *before != value && !earlier.contains(before))
            && earlier.len() < MOST_EARLIER
        {
            earlier.push(before);
        }
        self.cells.insert(place, Cell { value, earlier, bytes, writer: Some(thread) });
        if changed {
            self.version += 1;
        }
        changed
    }

    /// What a place held before.
    pub(crate) fn earlier(&self, place: Place) -> SmallVec<[Value; 2]> {
        self.cells.get(&place).map_or(SmallVec::new(), |cell| cell.earlier.clone())
    }

    /// Lets a place hold a value, whoever wrote it.
    pub(crate) fn pretend(&mut self, place: Place, value: Value) {
        if let Some(cell) = self.cells.get_mut(&place) {
            cell.value = value;
        }
    }

    /// The thread that wrote what lies at a place, by its position in the machine.
    pub(crate) fn writer(&self, place: Place) -> Option<usize> {
        self.cells.get(&place)?.writer
    }

    /// Assumes another value at the start, where nobody has written yet.
    pub(crate) fn assume(&mut self, place: Place, value: Value) -> bool {
        match self.cells.get_mut(&place) {
            Some(cell) if cell.writer.is_none() => {
                cell.value = value;
                true
            }
            _ => false,
        }
    }

    /// A write at an unknown address. Flags, locks and counters (`from_zero`) keep what they hold;
    /// [`Memory::note_unresolved`] is for them.
    pub(crate) fn clobber(&mut self, shared: bool, base: Base, from_zero: impl Fn(Base) -> bool) {
        self.clobbers += 1;
        self.version += 1;
        self.cells.retain(|place, cell| {
            cell.writer.is_none()
                || !place.may_be_at(shared, base)
                || place.named_base().is_some_and(&from_zero)
        });
    }

    /// Keeps that something was written at a place that is not known.
    pub(crate) fn note_unresolved(&mut self, shared: bool, base: Base) {
        if !self.unresolved.contains(&(shared, base)) {
            self.unresolved.push((shared, base));
            self.version += 1;
        }
    }

    /// Whether a write whose place is not known may have gone to a place.
    pub(crate) fn may_have_changed(&self, place: Place) -> bool {
        self.unresolved.iter().any(|&(shared, base)| place.may_be_at(shared, base))
    }
}

/// A place as an address.
pub(super) fn address(place: Place) -> Value {
    Value::Linear { base: place.base, offset: place.offset }
}
