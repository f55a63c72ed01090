//! Which register a name stands for, while a body is read.

use rustc_hash::FxHashMap;

use crate::syntax::operand::RegisterNumber;
use crate::syntax::variable::RegisterDeclaration;

/// Register numbers stop here: one bit of a guard's word says whether it is negated.
const MAX_REGISTERS: u32 = u32::MAX >> 2;

const CACHE: usize = 32;

/// A name, and whether it is the prefix of a range.
type Key<'a> = (&'a [u8], bool);

#[derive(Clone, Copy)]
struct Binding {
    first: u32,
    count: u32,
    /// Index of the declaration, and its rank: an inner one has a higher index.
    declaration: u32,
    sparse: bool,
}

/// The declarations visible at the reading position.
#[derive(Default)]
pub(super) struct RegisterScopes<'a> {
    bindings: FxHashMap<Key<'a>, Binding>,
    /// What each declaration of an open block replaced.
    undo: Vec<(Key<'a>, Option<Binding>)>,
    /// Lengths of `undo` at which the open blocks began.
    blocks: Vec<usize>,
    /// Registers of ranges beyond the budget that have been met, by declaration and number.
    sparse: FxHashMap<(u32, u32), u32>,
    /// The same in the order met: declaration and register.
    met: Vec<(u32, u32)>,
    /// How many registers may still be numbered as declared, over the whole text. Ranges beyond it are
    /// numbered as they are met, so that a text of `%r<1000000000>` takes no memory.
    budget: u32,
    /// Ranges by prefixes of at most seven bytes, in front of `bindings`.
    cache: [(u64, Option<Binding>); CACHE],
    /// How many single names that end in a digit are visible: while there is none, a name with a number
    /// belongs to a range.
    numbered_singles: usize,
    next: u32,
}

impl<'a> RegisterScopes<'a> {
    /// For a text of `length` bytes. Compilers write at least twenty bytes for each register.
    pub(super) fn new(length: usize) -> Self {
        Self { budget: crate::span::offset(length / 8).saturating_add(1 << 16), ..Self::default() }
    }

    /// Begins a function.
    pub(super) fn clear(&mut self) {
        *self = Self { budget: self.budget, ..Self::default() };
    }

    /// The registers of ranges beyond the budget: declaration and register.
    pub(super) fn met(&self) -> &[(u32, u32)] {
        &self.met
    }

    /// Registers numbered so far.
    pub(super) fn count(&self) -> u32 {
        self.next
    }

    pub(super) fn open(&mut self) {
        self.blocks.push(self.undo.len());
    }

    pub(super) fn close(&mut self) {
        let length = self.blocks.pop().unwrap_or(0);
        if self.undo.len() > length {
            self.cache = Default::default();
        }
        while self.undo.len() > length {
            let Some((key, before)) = self.undo.pop() else { return };
            self.numbered_singles -= usize::from(is_numbered_single(key)).min(self.numbered_singles);
            match before {
                Some(binding) => self.bindings.insert(key, binding),
                None => self.bindings.remove(&key),
            };
        }
    }

    /// Binds the names of a declaration, filling in its `first` and `count`.
    pub(super) fn declare(&mut self, name: &'a [u8], declaration: &mut RegisterDeclaration, index: u32) {
        let sparse = declaration.count > self.budget && declaration.range;
        declaration.first = self.next;
        let mut binding = Binding { first: self.next, count: declaration.count, declaration: index, sparse };
        if sparse {
            declaration.count = 0;
        } else {
            self.budget = self.budget.saturating_sub(declaration.count);
            self.next = self.next.saturating_add(declaration.count).min(MAX_REGISTERS);
            declaration.count = self.next - declaration.first;
            binding.count = declaration.count;
        }
        let key = (name, declaration.range);
        self.numbered_singles += usize::from(is_numbered_single(key));
        let before = self.bindings.insert(key, binding);
        self.undo.push((key, before));
        self.cache = Default::default();
    }

    /// The register that a name stands for.
    #[inline]
    pub(super) fn find(&mut self, name: &'a [u8]) -> Option<RegisterNumber> {
        if self.numbered_singles == 0
            && let Some((prefix, number)) = split(name)
        {
            if prefix.len() < 8 {
                let key = pack(prefix);
                let slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59) as usize;
                if let Some((cached, Some(binding))) = self.cache.get(slot)
                    && *cached == key
                {
                    let binding = *binding;
                    return self.number(binding, number);
                }
                let binding = *self.bindings.get(&(prefix, true))?;
                if let Some(entry) = self.cache.get_mut(slot) {
                    *entry = (key, Some(binding));
                }
                return self.number(binding, number);
            }
            let binding = *self.bindings.get(&(prefix, true))?;
            return self.number(binding, number);
        }
        self.find_slowly(name)
    }

    fn find_slowly(&mut self, name: &'a [u8]) -> Option<RegisterNumber> {
        let single = self.bindings.get(&(name, false)).copied();
        let range = split(name).and_then(|(prefix, number)| {
            let binding = self.bindings.get(&(prefix, true)).copied()?;
            (number < binding.count).then_some((binding, number))
        });
        match (single, range) {
            (Some(single), Some((range, number))) if range.declaration > single.declaration => {
                self.number(range, number)
            }
            (Some(single), _) => self.number(single, 0),
            (None, Some((range, number))) => self.number(range, number),
            (None, None) => None,
        }
    }

    #[inline]
    fn number(&mut self, binding: Binding, number: u32) -> Option<RegisterNumber> {
        if number >= binding.count {
            return None;
        }
        if binding.sparse {
            let (next, met) = (&mut self.next, &mut self.met);
            let found = *self.sparse.entry((binding.declaration, number)).or_insert_with(|| {
                let taken = *next;
                *next = next.saturating_add(1).min(MAX_REGISTERS);
                met.push((binding.declaration, taken));
                taken
            });
            return Some(RegisterNumber(found));
        }
        Some(RegisterNumber(binding.first.saturating_add(number)))
    }
}

fn is_numbered_single((name, range): (&[u8], bool)) -> bool {
    !range && name.last().is_some_and(u8::is_ascii_digit)
}

/// The bytes of a prefix and its length in one word.
#[inline]
fn pack(prefix: &[u8]) -> u64 {
    prefix.iter().fold(prefix.len() as u64, |word, &byte| word << 8 | u64::from(byte))
}

/// Splits the number off a name's end: `%r12` is `%r` and 12. A name without one, or whose number has a
/// leading zero or does not fit, is not split.
#[inline]
fn split(name: &[u8]) -> Option<(&[u8], u32)> {
    let mut at = name.len();
    let mut number: u64 = 0;
    let mut weight: u64 = 1;
    let mut last = 0;
    while let Some(&byte) = at.checked_sub(1).and_then(|before| name.get(before)) {
        if !byte.is_ascii_digit() || name.len() - at >= 10 {
            break;
        }
        last = byte;
        number += u64::from(byte - b'0') * weight;
        weight = weight.wrapping_mul(10);
        at -= 1;
    }
    let digits = name.len() - at;
    if digits == 0 || digits > 1 && last == b'0' {
        return None;
    }
    Some((name.get(..at)?, u32::try_from(number).ok()?))
}
