//! The parser: one pass over the text, straight into the pools of [`Module`].

mod body;
mod cursor;
mod declaration;
mod function;
mod module;
mod number;
mod operands;
mod registers;

use standstill_kernel_ir::OperationMark;

use crate::error::ErrorKind;
use crate::span::Span;
use crate::syntax::Module;
use crate::syntax::operand::RegisterNumber;
use cursor::{Cursor, Marked};
use registers::RegisterScopes;

/// Parses a text. Never fails: what could not be read is in the module's errors.
pub fn parse(text: &str) -> Module<'_> {
    // Containers end an embedded text with zero bytes.
    let length = text.trim_end_matches('\0').len();
    let mut end = length.min(u32::MAX as usize - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or(text);
    let mut parser = Parser {
        text: kept,
        cursor: Cursor::new(kept.as_bytes()),
        module: Module::new(kept),
        scopes: RegisterScopes::new(end),
        marks: Vec::new(),
    };
    if end < length {
        parser.error(ErrorKind::TooLong, Span::new(end, end));
    }
    // Compilers write about 35 bytes an instruction, with three operand slots.
    parser.module.statements.reserve(end / 48);
    parser.module.operands.reserve(end / 16);
    if kept.starts_with('\u{feff}') {
        parser.cursor.at = '\u{feff}'.len_utf8();
    }
    parser.module();
    parser.module
}

struct Parser<'a> {
    text: &'a str,
    cursor: Cursor<'a>,
    module: Module<'a>,
    scopes: RegisterScopes<'a>,
    /// Registers whose names make marks of the instructions that write them.
    marks: Vec<(RegisterNumber, NamedMark)>,
}

/// What a register's name makes of the instruction that writes it.
#[derive(Debug, Clone, Copy)]
enum NamedMark {
    Life { freed: bool },
    Operation(OperationMark),
}

impl NamedMark {
    #[cold]
    fn of_register(name: &str) -> Option<NamedMark> {
        match name {
            "standstill_freed" => Some(NamedMark::Life { freed: true }),
            "standstill_allocated" => Some(NamedMark::Life { freed: false }),
            other => OperationMark::of_register(other).map(NamedMark::Operation),
        }
    }
}

impl<'a> Parser<'a> {
    #[cold]
    fn error(&mut self, kind: ErrorKind, span: Span) {
        self.module.errors.push(kind, span);
    }

    /// An error at the character at the position.
    #[cold]
    fn error_here(&mut self, kind: ErrorKind) {
        let start = self.cursor.at.min(self.text.len());
        let length = self.text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        self.error(kind, Span::new(start, start + length));
    }

    /// Skips white space and comments, keeping the project's own.
    #[inline]
    fn trivia(&mut self) {
        self.cursor.trivia(&mut self.module.errors);
        if self.cursor.marked.is_some() {
            self.marked(false);
        }
    }

    /// The same between the statements of a body, where life marks are statements.
    #[inline]
    fn trivia_in_body(&mut self) {
        self.cursor.trivia(&mut self.module.errors);
        if self.cursor.marked.is_some() {
            self.marked(true);
        }
    }

    #[cold]
    fn marked(&mut self, in_body: bool) {
        while let Some(marked) = self.cursor.marked.take() {
            match marked {
                Marked::Note(span) => self.module.comments.push(span),
                Marked::Life(span) if in_body => self.life_mark(span),
                Marked::Life(_) => {}
            }
            self.cursor.trivia(&mut self.module.errors);
        }
    }

    fn str(&self, span: Span) -> &'a str {
        span.of(self.text)
    }

    /// Expects a byte; reports it and recovers where it is missing.
    fn expect(&mut self, byte: u8, what: &'static str) -> bool {
        self.trivia();
        if self.cursor.eat(byte) {
            return true;
        }
        self.error_here(ErrorKind::Expected(what));
        false
    }

    /// Reads white space and a word.
    fn next_word(&mut self) -> Span {
        self.trivia();
        self.cursor.word()
    }

    /// Reads a directive's name behind its dot; colons belong to it (`.param::entry`, `.shared::cta`).
    fn directive(&mut self) -> Span {
        let start = self.cursor.at + 1;
        self.cursor.at = start;
        self.cursor.word_rest();
        while self.cursor.peek() == b':' && self.cursor.peek_at(1) == b':' {
            self.cursor.at += 2;
            self.cursor.word_rest();
        }
        Span::new(start, self.cursor.at)
    }
}
