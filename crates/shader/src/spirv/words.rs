//! The words of a module: its header, and one instruction after the other.

use std::sync::LazyLock;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind};
use rspirv::spirv::{MAGIC_NUMBER, Op};

use crate::program::ShaderError;

/// Words before the first instruction.
const HEADER: usize = 5;

/// Opcodes that have a result type, and those that have a result (SPIR-V, «Instructions»).
static RESULTS: LazyLock<Vec<(bool, bool)>> = LazyLock::new(|| {
    let mut table = vec![(false, false); usize::from(u16::MAX) + 1];
    for known in INSTRUCTION_TABLE.iter() {
        let has = |kind| known.operands.iter().any(|operand| operand.kind == kind);
        if let Some(entry) = table.get_mut(known.opcode as usize) {
            *entry = (has(OperandKind::IdResultType), has(OperandKind::IdResult));
        }
    }
    table
});

/// A module as words, with the places of its instructions.
#[derive(Debug)]
pub(crate) struct Words {
    words: Vec<u32>,
    /// First word of each instruction.
    starts: Vec<u32>,
}

/// One instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instruction<'m> {
    /// What it does; `None` for an opcode that the grammar does not have.
    pub(crate) op: Option<Op>,
    pub(crate) code: u16,
    /// Its words behind the first, result type and result included.
    pub(crate) words: &'m [u32],
    /// Its position among all, from 1.
    pub(crate) number: u32,
}

impl Words {
    /// Splits a module. Words may be of either byte order.
    pub(crate) fn new(bytes: &[u8]) -> Result<Words, ShaderError> {
        let fail = |message: &str| ShaderError { message: message.to_owned(), line: 0, column: 0 };
        let chunks = bytes.as_chunks::<4>().0;
        let read: fn([u8; 4]) -> u32 = match chunks.first() {
            Some(&first) if u32::from_le_bytes(first) == MAGIC_NUMBER => u32::from_le_bytes,
            Some(&first) if u32::from_be_bytes(first) == MAGIC_NUMBER => u32::from_be_bytes,
            _ => return Err(fail("this is no SPIR-V: it does not begin with the magic number")),
        };
        if bytes.len() / 4 > u32::MAX as usize {
            return Err(fail("the module is too large"));
        }
        let words: Vec<u32> = chunks.iter().map(|&word| read(word)).collect();
        let mut starts = Vec::with_capacity(words.len() / 4);
        let mut at = HEADER;
        while let Some(&first) = words.get(at) {
            let count = (first >> 16) as usize;
            if count == 0 || at + count > words.len() {
                let number = starts.len() + 1;
                return Err(fail(&format!("instruction {number} does not end inside the module")));
            }
            starts.push(at as u32);
            at += count;
        }
        if at != words.len() || !bytes.len().is_multiple_of(4) {
            return Err(fail("the module ends in the middle of a word, or in its header"));
        }
        Ok(Words { words, starts })
    }

    /// How many instructions there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// An instruction by its position, from 0.
    pub(crate) fn get(&self, index: usize) -> Option<Instruction<'_>> {
        let start = *self.starts.get(index)? as usize;
        let first = *self.words.get(start)?;
        let words = self.words.get(start + 1..start + (first >> 16) as usize)?;
        let code = first as u16;
        Some(Instruction { op: Op::from_u32(u32::from(code)), code, words, number: index as u32 + 1 })
    }

    /// Instructions in a range of positions.
    pub(crate) fn range(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = Instruction<'_>> {
        range.filter_map(|index| self.get(index))
    }
}

impl<'m> Instruction<'m> {
    fn has(self) -> (bool, bool) {
        RESULTS.get(usize::from(self.code)).copied().unwrap_or_default()
    }

    /// The type of what it gives.
    pub(crate) fn ty(self) -> Option<u32> {
        if self.has().0 { self.words.first().copied() } else { None }
    }

    /// What it gives.
    pub(crate) fn result(self) -> Option<u32> {
        let (ty, result) = self.has();
        if result { self.words.get(usize::from(ty)).copied() } else { None }
    }

    /// Its operands behind result type and result.
    pub(crate) fn operands(self) -> &'m [u32] {
        let (ty, result) = self.has();
        self.words.get(usize::from(ty) + usize::from(result)..).unwrap_or_default()
    }

    /// One of these operands.
    pub(crate) fn operand(self, index: usize) -> Option<u32> {
        self.operands().get(index).copied()
    }

    /// Its name.
    pub(crate) fn name(self) -> String {
        match self.op {
            Some(op) => format!("Op{op:?}"),
            None => format!("opcode {}", self.code),
        }
    }
}

/// A literal string at the start of words, and the words behind it.
pub(crate) fn string(words: &[u32]) -> (String, &[u32]) {
    let mut bytes = Vec::new();
    for (index, word) in words.iter().enumerate() {
        for byte in word.to_le_bytes() {
            if byte == 0 {
                let rest = words.get(index + 1..).unwrap_or_default();
                return (String::from_utf8_lossy(&bytes).into_owned(), rest);
            }
            bytes.push(byte);
        }
    }
    (String::from_utf8_lossy(&bytes).into_owned(), &[])
}
