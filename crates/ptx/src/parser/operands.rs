//! Operands of instructions (PTX ISA, "Instruction Operands").

use crate::error::ErrorKind;
use crate::parser::Parser;
use crate::parser::cursor::{begins_word, is_digit};
use crate::span::{Span, offset};
use crate::syntax::operand::{GroupKind, Operand, Part, RegisterNumber, Wide};

/// Groups nest no deeper than this: an address in a list with a vector inside takes three.
const MAX_DEPTH: u32 = 8;

impl Parser<'_> {
    /// Reads operands and commas up to `close`, which is not read. Returns false after an error.
    #[inline]
    pub(super) fn operands(&mut self, close: u8, depth: u32) -> bool {
        self.trivia();
        if self.cursor.peek() == close {
            return true;
        }
        loop {
            if !self.operand(depth) {
                return false;
            }
            self.trivia();
            let next = self.cursor.peek();
            if next == b',' {
                self.cursor.at += 1;
                self.trivia();
            } else if next == close {
                return true;
            } else if next == b'(' && depth == 0 {
                // A call without results or arguments may leave the comma out.
            } else {
                self.error_here(ErrorKind::Expected("a comma or the end of the operands"));
                return false;
            }
        }
    }

    fn operand(&mut self, depth: u32) -> bool {
        let first = self.module.operands.len();
        let byte = self.cursor.peek();
        if byte == b'[' {
            return self.address(depth);
        }
        if !self.simple(byte, depth) {
            return false;
        }
        match self.cursor.peek() {
            b' ' | b'\t' | b'\n' | b'\r' => self.trivia(),
            _ => {}
        }
        match self.cursor.peek() {
            b'|' => {
                self.cursor.at += 1;
                self.trivia();
                let byte = self.cursor.peek();
                let read = self.simple(byte, depth);
                self.wrap(first, GroupKind::Pair);
                read
            }
            b'+' | b'-' => self.sum(first),
            _ => true,
        }
    }

    /// An operand without a bracket or a sign behind it.
    #[inline]
    fn simple(&mut self, byte: u8, depth: u32) -> bool {
        if begins_word(byte) {
            let operand = self.name();
            if operand == GENERIC && self.cursor.peek() == b'(' {
                return self.group(b')', GroupKind::Generic, depth);
            }
            self.module.operands.push(operand);
            return true;
        }
        if is_digit(byte) {
            let operand = self.number();
            self.module.operands.push(operand);
            return true;
        }
        match byte {
            b'{' => self.group(b'}', GroupKind::Vector, depth),
            b'(' => self.group(b')', GroupKind::List, depth),
            b'[' => self.address(depth),
            b'-' => self.negative(),
            b'+' => {
                self.cursor.at += 1;
                self.trivia();
                if !is_digit(self.cursor.peek()) {
                    self.error_here(ErrorKind::Expected("a number"));
                    return false;
                }
                let operand = self.number();
                self.module.operands.push(operand);
                true
            }
            b'!' | b'~' => self.complement(depth),
            _ => {
                self.error_here(ErrorKind::Expected("an operand"));
                false
            }
        }
    }

    /// A register, a sink or another name; the position is at its first letter.
    #[inline]
    fn name(&mut self) -> Operand {
        let start = self.cursor.at;
        let word = self.cursor.word();
        let bytes: &[u8] = self.cursor.bytes.get(start..self.cursor.at).unwrap_or(&[]);
        if let Some(register) = self.scopes.find(bytes) {
            if self.cursor.peek() == b'.' {
                return self.part(register, start);
            }
            return Operand::Register(register);
        }
        if bytes == b"_" {
            return Operand::Sink;
        }
        if bytes == b"generic" && self.cursor.peek() == b'(' {
            return GENERIC;
        }
        if self.cursor.peek() == b'.' {
            self.cursor.at += 1;
            self.cursor.word_rest();
        }
        Operand::Name(Span { start: word.start, end: offset(self.cursor.at) })
    }

    fn part(&mut self, register: RegisterNumber, start: usize) -> Operand {
        let dot = self.cursor.at;
        self.cursor.at += 1;
        self.cursor.word_rest();
        let part = match self.cursor.bytes.get(dot + 1..self.cursor.at) {
            Some(b"x" | b"r") => Part::Element(0),
            Some(b"y" | b"g") => Part::Element(1),
            Some(b"z" | b"b") => Part::Element(2),
            Some(b"w" | b"a") => Part::Element(3),
            Some([b'b', digit @ b'0'..=b'7']) => Part::Byte(digit - b'0'),
            Some([b'h', digit @ b'0'..=b'1']) => Part::Half(digit - b'0'),
            _ => return Operand::Name(Span::new(start, self.cursor.at)),
        };
        Operand::RegisterPart(register, part)
    }

    fn negative(&mut self) -> bool {
        let start = self.cursor.at;
        self.cursor.at += 1;
        self.trivia();
        if !is_digit(self.cursor.peek()) {
            self.error(ErrorKind::Expected("a number"), Span::new(start, start + 1));
            return false;
        }
        let operand = match self.number() {
            Operand::Integer(value) => Operand::Integer(Wide::new(value.get().wrapping_neg())),
            Operand::Float32(bits) => Operand::Float32(bits ^ 1 << 31),
            Operand::Float64(bits) => Operand::Float64(Wide::new(bits.get() ^ 1 << 63)),
            other => other,
        };
        self.module.operands.push(operand);
        true
    }

    fn complement(&mut self, depth: u32) -> bool {
        let first = self.module.operands.len();
        if self.too_deep(depth) {
            return false;
        }
        self.cursor.at += 1;
        self.trivia();
        let byte = self.cursor.peek();
        if !self.simple(byte, depth + 1) {
            return false;
        }
        match self.module.operands.get_mut(first) {
            Some(slot @ &mut Operand::Register(register)) => *slot = Operand::NotRegister(register),
            _ => self.wrap(first, GroupKind::Not),
        }
        true
    }

    /// `a+4-2`: turns the operand at `first` into a sum; the position is at the first sign.
    fn sum(&mut self, first: usize) -> bool {
        let Some(total) = self.signed_sum() else { return false };
        match self.module.operands.get_mut(first) {
            Some(Operand::Integer(value)) => *value = Wide::new(value.get().wrapping_add(total as u64)),
            Some(_) => {
                self.module.operands.push(Operand::Integer(Wide::new(total as u64)));
                self.wrap(first, GroupKind::Sum);
            }
            None => {}
        }
        true
    }

    /// The sum of signed integers at the position: `+4`, `+-4`, `-4+8`.
    #[inline]
    fn signed_sum(&mut self) -> Option<i64> {
        let mut total: i64 = 0;
        loop {
            let mut negative = false;
            let mut signs = 0;
            while matches!(self.cursor.peek(), b'+' | b'-') {
                negative ^= self.cursor.peek() == b'-';
                signs += 1;
                self.cursor.at += 1;
                self.trivia();
            }
            if signs == 0 {
                return Some(total);
            }
            let at = self.cursor.at;
            let Some(value) = self.count() else {
                if self.cursor.at == at {
                    self.error_here(ErrorKind::Expected("an integer"));
                }
                return None;
            };
            let value = value as i64;
            total = total.wrapping_add(if negative { value.wrapping_neg() } else { value });
            self.trivia();
        }
    }

    /// `[…]`; the position is at the bracket.
    fn address(&mut self, depth: u32) -> bool {
        let start = self.cursor.at;
        self.cursor.at += 1;
        self.trivia();
        if begins_word(self.cursor.peek()) {
            let operand = self.name();
            let mut next = self.cursor.peek();
            if !matches!(next, b']' | b'+' | b'-' | b',' | b'(') {
                self.trivia();
                next = self.cursor.peek();
            }
            match (operand, next) {
                (Operand::Register(register), b']') => {
                    self.cursor.at += 1;
                    self.module.operands.push(Operand::AddressRegister(register, 0));
                    return true;
                }
                (Operand::Name(name), b']') if operand != GENERIC => {
                    self.cursor.at += 1;
                    self.module.operands.push(Operand::AddressName(name));
                    return true;
                }
                (Operand::Register(register), b'+' | b'-') => {
                    let Some(total) = self.signed_sum() else { return false };
                    if let Ok(total) = i32::try_from(total)
                        && self.cursor.peek() == b']'
                    {
                        self.cursor.at += 1;
                        self.module.operands.push(Operand::AddressRegister(register, total));
                        return true;
                    }
                }
                _ => {}
            }
            self.cursor.at = start;
        }
        self.cursor.at = start;
        self.group(b']', GroupKind::Address, depth)
    }

    /// Members up to `close`; the position is at the opening bracket.
    fn group(&mut self, close: u8, kind: GroupKind, depth: u32) -> bool {
        if self.too_deep(depth) {
            return false;
        }
        let first = self.module.operands.len();
        self.module.operands.push(Operand::Group(kind, 0));
        self.cursor.at += 1;
        let read = self.operands(close, depth + 1);
        if read {
            self.cursor.at += 1;
        }
        let slots = offset(self.module.operands.len() - first - 1);
        if let Some(header) = self.module.operands.get_mut(first) {
            *header = Operand::Group(kind, slots);
        }
        read
    }

    /// Puts a header before the slots from `first` on.
    fn wrap(&mut self, first: usize, kind: GroupKind) {
        let slots = offset(self.module.operands.len().saturating_sub(first));
        if first <= self.module.operands.len() {
            self.module.operands.insert(first, Operand::Group(kind, slots));
        }
    }

    fn too_deep(&mut self, depth: u32) -> bool {
        if depth >= MAX_DEPTH {
            self.error_here(ErrorKind::TooDeep);
        }
        depth >= MAX_DEPTH
    }
}

/// What [`Parser::name`] returns for the word `generic` before a parenthesis.
const GENERIC: Operand = Operand::Group(GroupKind::Generic, 0);
