//! Memory in the threads' repetition: what they read and wrote since it began, and whether it is again what it was.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::exec::access::load;
use crate::hang::spy::{Read, mix};
use crate::memory::region::Region;

/// More bytes, or more places of the program, than this are no repetition that is looked into.
const MOST_BYTES: usize = 1 << 16;
const MOST_TOUCHES: usize = 1 << 16;
/// Of a byte so many blocks are told apart.
const MOST_BLOCKS: usize = 64;

/// Who accesses: the block by its linear index, the warp in it, the thread in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Party {
    pub(crate) block: u32,
    pub(crate) warp: u32,
    pub(crate) thread: u32,
}

/// How memory is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Way {
    Read,
    Write,
    /// An atomic operation whose result is used.
    Update,
    /// An atomic operation whose result nobody uses.
    Reduce,
}

impl Way {
    /// Whether somebody learns what stood there.
    pub(crate) fn reads(self) -> bool {
        matches!(self, Way::Read | Way::Update)
    }
}

/// An access of a thread at a place of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Touch {
    pub(crate) party: Party,
    /// Function and position.
    pub(crate) at: (u32, u32),
    pub(crate) way: Way,
    /// The generic address.
    pub(crate) address: u64,
    pub(crate) bytes: u32,
}

/// An access to a byte, as far as its order matters.
#[derive(Debug, Clone, Copy)]
struct Access {
    block: u32,
    warp: u32,
    /// Barriers of the block that had opened for the warp.
    epoch: u32,
    way: Way,
    /// What it wrote.
    value: u8,
}

impl Access {
    /// Whether nothing but luck orders two accesses, and the order matters.
    fn meets(&self, other: &Access) -> bool {
        let apart = self.block != other.block || (self.warp != other.warp && self.epoch == other.epoch);
        let alike = match (self.way, other.way) {
            (Way::Read, Way::Read) | (Way::Reduce, Way::Reduce) => true,
            (Way::Write, Way::Write) => self.value == other.value,
            _ => false,
        };
        apart && !alike
    }
}

/// The latest accesses of two warps.
type Latest = [Option<Access>; 2];

fn push(latest: &mut Latest, access: Access) {
    let own = |known: &Option<Access>| {
        known.is_some_and(|known| (known.block, known.warp) == (access.block, access.warp))
    };
    match latest {
        [one, _] if own(one) || one.is_none() => *one = Some(access),
        [one, two] => {
            *two = *one;
            *one = Some(access);
        }
    }
}

/// A byte that was accessed.
#[derive(Debug, Clone)]
struct Byte {
    region: Arc<Region>,
    offset: usize,
    /// What stood there when the repetition began.
    original: u8,
    read: bool,
    written: bool,
    /// Blocks that accessed it.
    blocks: SmallVec<[u32; 2]>,
    writers: Latest,
    readers: Latest,
}

/// What was accessed since the repetition began.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    bytes: FxHashMap<u64, Byte>,
    touches: FxHashSet<Touch>,
    reads: FxHashMap<(u64, u32), Read>,
    /// Blocks in whose memory warps met without a barrier between them.
    unordered: FxHashSet<u32>,
    /// Bytes that were read and written.
    matters: usize,
    /// It was too much.
    pub(crate) overflown: bool,
}

/// An access that is noted.
pub(crate) struct Noted<'a> {
    pub(crate) region: &'a Arc<Region>,
    pub(crate) offset: usize,
    /// Barriers of the block that have opened for the warp.
    pub(crate) epoch: u32,
    pub(crate) touch: Touch,
    /// What is written; of no meaning for reads.
    pub(crate) value: u64,
}

impl Ledger {
    /// Notes an access of which nothing has happened yet.
    pub(crate) fn note(&mut self, noted: &Noted<'_>) {
        let Noted { region, offset, epoch, touch, value } = noted;
        self.touches.insert(*touch);
        let start = region.address() + *offset as u64;
        let (reads, writes) = (touch.way.reads(), touch.way != Way::Read);
        if reads {
            self.reads.entry((start, touch.bytes)).or_insert_with(|| Read {
                region: Arc::clone(region),
                offset: *offset,
                bytes: touch.bytes,
                value: 0,
                address: touch.address,
                at: touch.at,
            });
        }
        if self.touches.len() > MOST_TOUCHES || self.bytes.len() > MOST_BYTES {
            self.overflown = true;
            return;
        }
        let Party { block, warp, .. } = touch.party;
        for (index, written) in (0..touch.bytes as usize).zip(value.to_le_bytes()) {
            let offset = offset + index;
            let Some(now) = region.load::<u8>(offset) else { continue };
            let byte = self.bytes.entry(start + index as u64).or_insert_with(|| Byte {
                region: Arc::clone(region),
                offset,
                original: now,
                read: false,
                written: false,
                blocks: SmallVec::new(),
                writers: Latest::default(),
                readers: Latest::default(),
            });
            let mattered = byte.read && byte.written;
            byte.read |= reads;
            byte.written |= writes;
            self.matters += usize::from(byte.read && byte.written && !mattered);
            if !byte.blocks.contains(&block) && byte.blocks.len() < MOST_BLOCKS {
                byte.blocks.push(block);
            }
            let access = Access { block, warp, epoch: *epoch, way: touch.way, value: written };
            let others = byte.writers.iter().chain(writes.then_some(&byte.readers).into_iter().flatten());
            for other in others.flatten().filter(|other| access.meets(other)) {
                self.unordered.extend([block, other.block]);
            }
            match writes {
                true => push(&mut byte.writers, access),
                false => push(&mut byte.readers, access),
            }
        }
    }

    /// Whether all that was read and written is again what it was. What was only written decides nothing.
    pub(super) fn is_balanced(&self) -> bool {
        let mut changed = self.bytes.values().filter(|byte| byte.read && byte.written);
        !self.overflown && changed.all(|byte| byte.region.load::<u8>(byte.offset) == Some(byte.original))
    }

    /// What is changed now, as one number.
    pub(super) fn hash(&self) -> u64 {
        let changed = self.bytes.iter().filter(|(_, byte)| byte.read && byte.written);
        changed.fold(0, |hash, (&at, byte)| match byte.region.load::<u8>(byte.offset) {
            Some(now) if now != byte.original => hash ^ mix(mix(at, now.into()), at),
            _ => hash,
        })
    }

    /// How many bytes were read and written.
    pub(super) fn matters(&self) -> usize {
        self.matters
    }

    /// Whether warps met in this block's memory, or it other blocks, with no barrier between them.
    pub(super) fn is_unordered(&self, block: u32) -> bool {
        self.unordered.contains(&block)
    }

    /// Blocks that accessed the same byte, which some of them wrote.
    pub(super) fn together(&self) -> impl Iterator<Item = &[u32]> {
        let shared = self.bytes.values().filter(|byte| byte.written && byte.blocks.len() > 1);
        shared.map(|byte| byte.blocks.as_slice())
    }

    /// All accesses, in a fixed order.
    pub(super) fn touches(&self) -> Vec<Touch> {
        let mut touches: Vec<Touch> = self.touches.iter().copied().collect();
        touches.sort_unstable();
        touches
    }

    /// What was read, as it is now: the threads go another way only when some of it changes.
    pub(super) fn reads(&self) -> Vec<Read> {
        let mut reads: Vec<Read> = self.reads.values().cloned().collect();
        reads.sort_by_key(|read| (read.at, read.address, read.region.address()));
        for read in &mut reads {
            read.value = load(&read.region, read.offset, read.bytes).unwrap_or_default();
        }
        reads
    }
}
