//! Opcodes: the dot-separated lists that instructions begin with, each distinct one kept once.
//!
//! A module holds some hundred distinct opcodes however many instructions it has, so instructions carry an
//! index into this table, and whatever is worked out from an opcode is worked out once.

use crate::span::Span;

/// Index of an opcode in its module's [`OpcodeTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OpcodeId(pub u32);

/// One distinct opcode, such as `ld.global.nc.L2::128B.v4.u32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opcode<'a> {
    text: &'a str,
}

impl<'a> Opcode<'a> {
    /// An opcode from its text.
    pub fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// The whole text.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// What stands before the first dot.
    pub fn mnemonic(self) -> &'a str {
        self.text.split_once('.').map_or(self.text, |(first, _)| first)
    }

    /// The parts behind the mnemonic, in the order written.
    pub fn modifiers(self) -> impl Iterator<Item = &'a str> + Clone {
        self.text.split('.').skip(1)
    }
}

/// The distinct opcodes of a module, in order of first use.
#[derive(Default, Debug)]
pub struct OpcodeTable {
    entries: Vec<Entry>,
    /// Open addressing over `entries`: index + 1, 0 where empty. The length is a power of two.
    slots: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    span: Span,
    hash: u32,
}

impl OpcodeTable {
    /// How many distinct opcodes there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where an opcode was first written.
    pub fn span(&self, id: OpcodeId) -> Option<Span> {
        self.entries.get(id.0 as usize).map(|entry| entry.span)
    }

    /// The id of the opcode at `start..end` of `bytes`, adding it where it is new.
    #[inline]
    pub(crate) fn intern(&mut self, bytes: &[u8], start: usize, end: usize) -> OpcodeId {
        let word = bytes.get(start..end).unwrap_or(&[]);
        let hash = hash(word);
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while let Some(&slot) = self.slots.get(at) {
            let Some(index) = slot.checked_sub(1) else { break };
            if let Some(entry) = self.entries.get(index as usize)
                && entry.hash == hash
                && bytes.get(entry.span.start as usize..entry.span.end as usize) == Some(word)
            {
                return OpcodeId(index);
            }
            at = (at + 1) & mask;
        }
        self.add(Entry { span: Span::new(start, end), hash })
    }

    #[cold]
    fn add(&mut self, entry: Entry) -> OpcodeId {
        let id = crate::span::offset(self.entries.len());
        self.entries.push(entry);
        if self.entries.len() * 2 > self.slots.len() {
            self.slots = vec![0; (self.slots.len() * 2).max(512)];
            for index in 0..self.entries.len() {
                self.place(index);
            }
        } else {
            self.place(id as usize);
        }
        OpcodeId(id)
    }

    fn place(&mut self, index: usize) {
        let Some(hash) = self.entries.get(index).map(|entry| entry.hash) else { return };
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        while self.slots.get(at).is_some_and(|&slot| slot != 0) {
            at = (at + 1) & mask;
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = crate::span::offset(index + 1);
        }
    }
}

/// A quick hash of a short word, reading eight bytes at a time.
fn hash(word: &[u8]) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = word.len() as u64;
    let mut mix = |chunk: u64| state = (state.rotate_left(23) ^ chunk).wrapping_mul(FACTOR);
    let (chunks, rest) = word.as_chunks::<8>();
    for chunk in chunks {
        mix(u64::from_le_bytes(*chunk));
    }
    if let Some(last) = word.last_chunk::<8>() {
        mix(u64::from_le_bytes(*last));
    } else {
        mix(rest.iter().fold(0, |all, &byte| all << 8 | u64::from(byte)));
    }
    (state >> 32) as u32
}
