//! Integer and floating-point literals (PTX ISA, "Constants").

use crate::error::ErrorKind;
use crate::parser::Parser;
use crate::parser::cursor::is_digit;
use crate::span::Span;
use crate::syntax::operand::{Operand, Wide};

impl Parser<'_> {
    /// Reads an unsigned literal as an operand; the position is at a digit.
    pub(super) fn number(&mut self) -> Operand {
        let start = self.cursor.at;
        if self.cursor.peek() == b'0' {
            let prefix = self.cursor.peek_at(1);
            match prefix {
                b'x' | b'X' => return self.integer(start, 2, 16),
                b'b' | b'B' => return self.integer(start, 2, 2),
                b'f' | b'F' => return self.float_bits(start, 8),
                b'd' | b'D' => return self.float_bits(start, 16),
                b'0'..=b'7' => return self.integer(start, 1, 8),
                _ => {}
            }
        }
        let mut value: u64 = 0;
        let mut fits = true;
        while is_digit(self.cursor.peek()) {
            let digit = u64::from(self.cursor.peek() - b'0');
            match value.checked_mul(10).and_then(|value| value.checked_add(digit)) {
                Some(next) => value = next,
                None => fits = false,
            }
            self.cursor.at += 1;
        }
        match self.cursor.peek() {
            b'.' | b'e' | b'E' => return self.decimal(start),
            b'U' | b'u' => self.cursor.at += 1,
            _ => {}
        }
        self.finish(start, fits.then_some(Operand::Integer(Wide::new(value))))
    }

    /// An integer of `radix` whose digits begin `skip` bytes behind `start`.
    fn integer(&mut self, start: usize, skip: usize, radix: u32) -> Operand {
        self.cursor.at = start + skip;
        let digits = self.cursor.at;
        let mut value: u64 = 0;
        let mut fits = true;
        while let Some(digit) = char::from(self.cursor.peek()).to_digit(radix) {
            fits &= value.leading_zeros() >= radix.trailing_zeros().max(1) || value == 0;
            value = value.wrapping_mul(u64::from(radix)).wrapping_add(u64::from(digit));
            self.cursor.at += 1;
        }
        fits &= self.cursor.at > digits;
        if matches!(self.cursor.peek(), b'U' | b'u') {
            self.cursor.at += 1;
        }
        self.finish(start, fits.then_some(Operand::Integer(Wide::new(value))))
    }

    /// `0f` or `0d` with exactly `count` hexadecimal digits.
    fn float_bits(&mut self, start: usize, count: usize) -> Operand {
        self.cursor.at = start + 2;
        let digits = self.cursor.at;
        let mut value: u64 = 0;
        while let Some(digit) = char::from(self.cursor.peek()).to_digit(16) {
            value = value.wrapping_shl(4) | u64::from(digit);
            self.cursor.at += 1;
        }
        let literal = match self.cursor.at - digits == count {
            true if count == 8 => Some(Operand::Float32(value as u32)),
            true => Some(Operand::Float64(Wide::new(value))),
            false => None,
        };
        self.finish(start, literal)
    }

    /// A decimal fraction, always a double.
    fn decimal(&mut self, start: usize) -> Operand {
        loop {
            match self.cursor.peek() {
                b'e' | b'E' if matches!(self.cursor.peek_at(1), b'+' | b'-') => self.cursor.at += 2,
                b'.' | b'e' | b'E' | b'0'..=b'9' => self.cursor.at += 1,
                _ => break,
            }
        }
        let value = Span::new(start, self.cursor.at).of(self.text).parse::<f64>();
        self.finish(start, value.ok().map(|value| Operand::Float64(Wide::new(value.to_bits()))))
    }

    fn finish(&mut self, start: usize, literal: Option<Operand>) -> Operand {
        let ended = self.cursor.at;
        self.cursor.word_rest();
        match literal {
            Some(literal) if self.cursor.at == ended => literal,
            _ => {
                let span = Span::new(start, self.cursor.at);
                self.error(ErrorKind::BadNumber, span);
                Operand::Unknown(span)
            }
        }
    }

    /// Reads a small unsigned integer, for directives. `None`, with nothing read, where none begins.
    #[inline]
    pub(super) fn count(&mut self) -> Option<u64> {
        if !is_digit(self.cursor.peek()) {
            return None;
        }
        match self.number() {
            Operand::Integer(value) => Some(value.get()),
            _ => None,
        }
    }

    /// Like [`count`](Self::count), saturating at 32 bits.
    #[inline]
    pub(super) fn count32(&mut self) -> Option<u32> {
        self.count().map(|value| u32::try_from(value).unwrap_or(u32::MAX))
    }
}
