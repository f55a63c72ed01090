//! The reading position: byte classes, white space and comments, words.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::error::{ErrorKind, Errors};
use crate::span::Span;

const SPACE: u8 = 1;
/// May begin a word.
const FIRST: u8 = 2;
/// May go on with a word.
const WORD: u8 = 4;
/// May go on with an opcode: a word, dots and colons.
const OPCODE: u8 = 8;
const DIGIT: u8 = 16;

/// The classes of every byte. Bytes of characters outside ASCII count as letters, so that words begin and
/// end between characters.
static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => SPACE,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'%' | 0x80.. => FIRST | WORD | OPCODE,
            b'0'..=b'9' => DIGIT | WORD | OPCODE,
            b'.' | b':' => OPCODE,
            _ => 0,
        };
        byte += 1;
    }
    table
};

static COMMENT_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("*/"));

#[inline]
fn class(byte: u8) -> u8 {
    CLASS.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Whether a word may begin with this byte.
#[inline]
pub(super) fn begins_word(byte: u8) -> bool {
    class(byte) & FIRST != 0
}

/// Whether this byte is a decimal digit.
#[inline]
pub(super) fn is_digit(byte: u8) -> bool {
    class(byte) & DIGIT != 0
}

/// A comment that the reader of the module cares about.
#[derive(Clone, Copy)]
pub(super) enum Marked {
    /// `standstill.`: a statement.
    Life(Span),
    /// `standstill:`: a note to keep.
    Note(Span),
}

pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// The last comment skipped that begins with the project's name.
    pub(super) marked: Option<Marked>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, marked: None }
    }

    /// The next byte, or 0 at the end.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn peek_at(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at.saturating_add(ahead)).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// What has not been read yet.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or(&[])
    }

    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte && !self.at_end();
        self.at += usize::from(found);
        found
    }

    #[inline]
    fn skip_class(&mut self, wanted: u8) {
        let rest = self.rest();
        self.at += rest.iter().position(|&byte| class(byte) & wanted == 0).unwrap_or(rest.len());
    }

    /// Skips white space and comments. Stops behind a marked comment, so that the caller can take it.
    #[inline]
    pub(super) fn trivia(&mut self, errors: &mut Errors) {
        loop {
            let byte = self.peek();
            if class(byte) & SPACE != 0 {
                self.at += 1;
            } else if byte == b'/' {
                if !self.comment(errors) || self.marked.is_some() {
                    return;
                }
            } else {
                return;
            }
        }
    }

    /// Skips spaces and tabs, staying on the line.
    pub(super) fn blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t') {
            self.at += 1;
        }
    }

    fn comment(&mut self, errors: &mut Errors) -> bool {
        let start = self.at;
        match self.peek_at(1) {
            b'/' => {
                let rest = self.rest();
                let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                self.at += length;
                self.mark(start + 2);
                true
            }
            b'*' => {
                let body = self.bytes.get(start + 2..).unwrap_or(&[]);
                match COMMENT_END.find(body) {
                    Some(length) => self.at = start + 2 + length + 2,
                    None => {
                        errors.push(ErrorKind::OpenComment, Span::new(start, start + 2));
                        self.at = self.bytes.len();
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// Notes a line comment that begins with the project's name; `start` is behind the slashes.
    #[inline]
    fn mark(&mut self, start: usize) {
        const NAME: &[u8] = b"standstill";
        let text = self.bytes.get(start..self.at).unwrap_or(&[]);
        let Some(blanks) = text.iter().position(|&byte| byte != b' ' && byte != b'\t') else { return };
        let text = text.get(blanks..).unwrap_or(&[]);
        if text.first() != Some(&b's') || !text.starts_with(NAME) {
            return;
        }
        let span = Span::new(start + blanks + NAME.len() + 1, self.at);
        match text.get(NAME.len()) {
            Some(b'.') => self.marked = Some(Marked::Life(span)),
            Some(b':') => self.marked = Some(Marked::Note(span)),
            _ => {}
        }
    }

    /// Reads a word; empty where none begins.
    #[inline]
    pub(super) fn word(&mut self) -> Span {
        let start = self.at;
        if begins_word(self.peek()) {
            self.at += 1;
            self.skip_class(WORD);
        }
        Span::new(start, self.at)
    }

    /// Reads what goes on with a word: letters, digits, dots and colons.
    #[inline]
    pub(super) fn opcode_rest(&mut self) {
        self.skip_class(OPCODE);
    }

    /// Reads letters and digits.
    #[inline]
    pub(super) fn word_rest(&mut self) {
        self.skip_class(WORD);
    }

    /// Moves to the next `;` or `}`: behind the former, before the latter.
    pub(super) fn recover(&mut self) {
        match memchr::memchr2(b';', b'}', self.rest()) {
            Some(ahead) => {
                self.at += ahead;
                self.eat(b';');
            }
            None => self.at = self.bytes.len(),
        }
    }

    /// Reads a string with its quotes; the span is without them.
    pub(super) fn string(&mut self, errors: &mut Errors) -> Option<Span> {
        let start = self.at;
        if !self.eat(b'"') {
            return None;
        }
        loop {
            match memchr::memchr3(b'"', b'\\', b'\n', self.rest()) {
                Some(ahead) => self.at += ahead,
                None => self.at = self.bytes.len(),
            }
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Some(Span::new(start + 1, self.at - 1));
                }
                // A backslash hides the character behind it, unless that is the line's end: paths on
                // Windows hold single backslashes, but never before a closing quote.
                b'\\' if self.peek_at(1) == b'"' || self.peek_at(1) == b'\\' => self.at += 2,
                b'\\' => self.at += 1,
                _ => {
                    errors.push(ErrorKind::OpenString, Span::new(start, start + 1));
                    return None;
                }
            }
        }
    }
}
