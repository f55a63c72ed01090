//! Memory in states: the words that were touched, each contents of all of them by a number, and which words only one
//! thread ever touches.

use rustc_hash::FxHashMap;
use standstill_kernel_ir::Type;
use standstill_kernel_ir::evaluate::extend;

use crate::intern::Interner;
use crate::launch::{Launch, Region};
use crate::layout::Word;
use crate::room;

/// Who touches a word, over all executions that were looked at. It only ever grows, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sharing {
    /// Nobody yet.
    Untouched,
    /// One thread.
    Private { thread: u32, written: bool },
    /// Several, and none of them writes.
    ReadOnly,
    /// Several, and one of them writes.
    Shared,
}

/// An access that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Wrong {
    /// Outside of every region.
    OutOfBounds(u64),
    /// Not a multiple of its width.
    Misaligned(u64),
}

/// Part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Index among the words that were touched.
    pub(crate) word: usize,
    /// First bit in the word.
    shift: u32,
    /// Width in bits, at most 64.
    bits: u32,
}

impl Slot {
    /// The value in a word, sign-extended where its type is signed.
    pub(crate) fn get(self, word: u64, ty: Type) -> u64 {
        extend(word >> self.shift, ty)
    }

    /// Its bytes of the word, as bits.
    pub(crate) fn bytes(self) -> u8 {
        (mask(self.bits / 8) << (self.shift / 8)) as u8
    }

    /// Its bytes of a word, where they lie in it.
    pub(crate) fn only(self, word: u64) -> u64 {
        word & mask(self.bits) << self.shift
    }

    /// The word with the value put in.
    pub(crate) fn put(self, word: u64, value: u64) -> u64 {
        let mask = mask(self.bits);
        word & !(mask << self.shift) | (value & mask) << self.shift
    }
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// All contents that memory was seen with.
pub(crate) struct Memory {
    regions: Vec<Region>,
    /// Bytes of the regions.
    first_bytes: usize,
    shared_bytes: u64,
    words: FxHashMap<Word, u32>,
    places: Vec<Word>,
    /// What each word holds when the kernel starts.
    initial: Vec<u64>,
    sharing: Vec<Sharing>,
    /// Contents, without trailing words that hold what they held at first.
    contents: Interner<Box<[u64]>>,
    /// Whether accesses that nobody else can see count as steps of their thread alone.
    merges: bool,
    /// An access was merged that others can see: the search must begin again.
    pub(crate) broken: bool,
}

impl Memory {
    pub(crate) fn new(launch: &Launch, shared_bytes: u64, merges: bool) -> Memory {
        Memory {
            regions: launch.memory.clone(),
            first_bytes: launch.memory.iter().map(|region| region.bytes.len()).sum(),
            shared_bytes,
            words: FxHashMap::default(),
            places: Vec::new(),
            initial: Vec::new(),
            sharing: Vec::new(),
            contents: Interner::default(),
            merges,
            broken: false,
        }
    }

    /// Forgets all contents and keeps who touches what.
    pub(crate) fn restart(&mut self) {
        self.contents = Interner::default();
        self.broken = false;
    }

    /// Finds the place of an access of a block; `shared` where the address is an offset in its shared memory.
    pub(crate) fn slot(&mut self, block: u32, shared: bool, address: u64, bytes: u32) -> Result<Slot, Wrong> {
        if !address.is_multiple_of(u64::from(bytes.max(1))) {
            return Err(Wrong::Misaligned(address));
        }
        let end = address.wrapping_add(bytes.into());
        let block = if shared {
            if end > self.shared_bytes {
                return Err(Wrong::OutOfBounds(address));
            }
            block
        } else {
            let within = |region: &Region| {
                address >= region.address && end <= region.address + region.bytes.len() as u64
            };
            if !self.regions.iter().any(within) {
                return Err(Wrong::OutOfBounds(address));
            }
            Word::GLOBAL
        };
        let word = self.word(Word { block, index: address / 8 });
        Ok(Slot { word, shift: (address % 8) as u32 * 8, bits: bytes.min(8) * 8 })
    }

    /// A word that no address names.
    pub(crate) fn reserved(&mut self, word: Word) -> usize {
        let number = self.word(word);
        if let Some(sharing) = self.sharing.get_mut(number) {
            *sharing = Sharing::Shared;
        }
        number
    }

    fn word(&mut self, word: Word) -> usize {
        if let Some(&known) = self.words.get(&word) {
            return known as usize;
        }
        let byte = |address: u64| {
            let holder = self.regions.iter().find(|region| {
                address >= region.address && address < region.address + region.bytes.len() as u64
            });
            holder
                .and_then(|region| region.bytes.get((address - region.address) as usize))
                .copied()
                .unwrap_or(0)
        };
        let first = word.address();
        let bytes: [u8; 8] =
            std::array::from_fn(|at| if word.block == Word::GLOBAL { byte(first + at as u64) } else { 0 });
        let number = self.places.len() as u32;
        self.words.insert(word, number);
        self.places.push(word);
        self.initial.push(u64::from_le_bytes(bytes));
        self.sharing.push(Sharing::Untouched);
        number as usize
    }

    /// Which word a number stands for.
    pub(crate) fn place(&self, word: usize) -> Word {
        self.places.get(word).copied().unwrap_or(Word { block: Word::GLOBAL, index: 0 })
    }

    /// Notes an access and says whether it can be seen by nobody but its thread, which is `None` where a state does
    /// not say who it is.
    pub(crate) fn is_own(&mut self, word: usize, thread: Option<u32>, writes: bool) -> bool {
        let Some(sharing) = self.sharing.get_mut(word) else { return false };
        let merged = *sharing;
        *sharing = match (merged, thread) {
            _ if !self.merges => Sharing::Shared,
            (Sharing::Untouched, Some(thread)) => Sharing::Private { thread, written: writes },
            (Sharing::Untouched, None) if writes => Sharing::Shared,
            (Sharing::Untouched, None) => Sharing::ReadOnly,
            (Sharing::Private { thread: owner, written }, Some(thread)) if owner == thread => {
                Sharing::Private { thread, written: written || writes }
            }
            (Sharing::Private { written, .. }, _) if !written && !writes => Sharing::ReadOnly,
            (Sharing::ReadOnly, _) if !writes => Sharing::ReadOnly,
            (Sharing::Private { .. } | Sharing::ReadOnly, _) => {
                self.broken = true;
                Sharing::Shared
            }
            (Sharing::Shared, _) => Sharing::Shared,
        };
        *sharing != Sharing::Shared
    }

    /// What a word holds in some contents.
    pub(crate) fn read(&self, contents: &[u64], word: usize) -> u64 {
        contents.get(word).or_else(|| self.initial.get(word)).copied().unwrap_or(0)
    }

    /// Sets a word.
    pub(crate) fn write(&self, contents: &mut Vec<u64>, word: usize, value: u64) {
        while contents.len() <= word {
            contents.push(self.initial.get(contents.len()).copied().unwrap_or(0));
        }
        if let Some(slot) = contents.get_mut(word) {
            *slot = value;
        }
    }

    /// The number of some contents.
    pub(crate) fn number(&mut self, mut contents: Vec<u64>) -> u32 {
        while let Some(last) = contents.last()
            && self.initial.get(contents.len() - 1) == Some(last)
        {
            contents.pop();
        }
        self.contents.number(contents.into()).0
    }

    /// The contents with a number.
    pub(crate) fn contents(&self, number: u32) -> Vec<u64> {
        self.contents.get(number).map_or(Vec::new(), |contents| contents.to_vec())
    }

    /// Contents that memory was seen with.
    pub(crate) fn len(&self) -> usize {
        self.contents.len()
    }

    /// Bytes that it takes, with all contents.
    pub(crate) fn bytes(&self) -> usize {
        let word = size_of::<Word>() + size_of::<u64>() + size_of::<Sharing>();
        self.first_bytes
            + self.places.capacity() * word
            + room::table(self.words.len(), self.words.capacity(), size_of::<(Word, u32)>())
            + self.contents.bytes()
    }

    /// What the bytes of global memory hold in some contents; `None` outside of every region.
    pub(crate) fn value(&self, contents: u32, address: u64, bytes: u32) -> Option<u64> {
        let contents = self.contents.get(contents)?;
        let region = self.regions.iter().find(|region| {
            address >= region.address
                && address + u64::from(bytes) <= region.address + region.bytes.len() as u64
        })?;
        let byte = |at: u64| {
            let word = Word { block: Word::GLOBAL, index: at / 8 };
            match self.words.get(&word) {
                Some(&number) => (self.read(contents, number as usize) >> (at % 8 * 8)) as u8,
                None => region.bytes.get((at - region.address) as usize).copied().unwrap_or(0),
            }
        };
        Some(
            (0..u64::from(bytes.min(8)))
                .rev()
                .fold(0, |value, at| value << 8 | u64::from(byte(address + at))),
        )
    }

    /// The regions.
    pub(crate) fn regions(&self) -> &[Region] {
        &self.regions
    }
}
