//! Function bodies: statements, labels, guards, inner blocks.

use crate::error::ErrorKind;
use crate::parser::cursor::begins_word;
use crate::parser::{NamedMark, Parser};
use crate::span::{Span, offset};
use crate::syntax::opcode::OpcodeId;
use crate::syntax::operand::Operand;
use crate::syntax::statement::{Guard, Inlined, InlinedIndex, Statement, StatementKind};
use crate::syntax::variable::Linkage;

/// Inner blocks nest no deeper than this.
const MAX_BLOCKS: u32 = 256;

impl Parser<'_> {
    /// Reads a body up to and with its closing brace; the position is behind the opening one.
    pub(super) fn body(&mut self, opened: usize) {
        let mut blocks: u32 = 0;
        loop {
            self.trivia_in_body();
            let start = self.cursor.at;
            let byte = self.cursor.peek();
            if begins_word(byte) {
                self.labelled_or_instruction(start);
                continue;
            }
            match byte {
                b'@' => self.guarded(start),
                b'.' => {
                    if !self.body_directive(start) {
                        self.error(ErrorKind::OpenBody, Span::new(opened, opened + 1));
                        return;
                    }
                }
                b';' => self.cursor.at += 1,
                b'{' => {
                    self.cursor.at += 1;
                    if blocks >= MAX_BLOCKS {
                        self.error(ErrorKind::TooDeep, Span::new(start, start + 1));
                        self.skip_block();
                        continue;
                    }
                    blocks += 1;
                    self.scopes.open();
                    self.landmark(start, StatementKind::Open);
                }
                b'}' => {
                    self.cursor.at += 1;
                    let Some(outer) = blocks.checked_sub(1) else { return };
                    blocks = outer;
                    self.scopes.close();
                    match self.module.statements.last() {
                        Some(Statement { kind: StatementKind::Open, .. }) => {
                            self.module.statements.pop();
                            self.module.landmarks.pop();
                        }
                        _ => self.landmark(start, StatementKind::Close),
                    }
                }
                _ if self.cursor.at_end() => {
                    self.error(ErrorKind::OpenBody, Span::new(opened, opened + 1));
                    return;
                }
                _ => {
                    self.error_here(ErrorKind::Unexpected);
                    self.cursor.recover();
                }
            }
        }
    }

    /// Skips an inner block whose opening brace has been read, without looking at what it holds.
    fn skip_block(&mut self) {
        let mut depth: u64 = 1;
        while depth > 0 {
            match memchr::memchr2(b'{', b'}', self.cursor.rest()) {
                Some(ahead) => self.cursor.at += ahead,
                None => {
                    self.cursor.at = self.cursor.bytes.len();
                    return;
                }
            }
            depth = if self.cursor.peek() == b'{' { depth + 1 } else { depth - 1 };
            self.cursor.at += 1;
        }
    }

    #[inline]
    pub(super) fn statement(&mut self, start: usize, kind: StatementKind) {
        self.module.statements.push(Statement { offset: offset(start), kind });
    }

    /// A statement by which labels are found.
    #[inline]
    fn landmark(&mut self, start: usize, kind: StatementKind) {
        self.module.landmarks.push(offset(self.module.statements.len()));
        self.statement(start, kind);
    }

    /// A label or an instruction; the position is at its first letter.
    #[inline]
    fn labelled_or_instruction(&mut self, start: usize) {
        let word = self.cursor.word();
        let mut next = self.cursor.peek();
        if next == b'.' || next == b':' && self.cursor.peek_at(1) == b':' {
            self.cursor.opcode_rest();
        } else {
            if matches!(next, b' ' | b'\t' | b'\n' | b'\r') {
                let end = self.cursor.at;
                self.cursor.blanks();
                next = self.cursor.peek();
                if next != b':' {
                    self.cursor.at = end;
                }
            }
            if next == b':' {
                self.cursor.at += 1;
                self.landmark(start, StatementKind::Label(word));
                return;
            }
        }
        self.instruction(start, start, Guard::NONE);
    }

    /// An instruction whose opcode, from `opcode` on, has just been read.
    #[inline]
    fn instruction(&mut self, start: usize, opcode: usize, guard: Guard) {
        let id = self.module.opcodes.intern(self.cursor.bytes, opcode, self.cursor.at);
        let first = self.module.operands.len();
        if !self.operands(b';', 0) {
            self.cursor.recover();
        } else {
            self.cursor.at += 1;
        }
        if matches!(self.cursor.bytes.get(opcode..opcode + 2), Some(b"br" | b"ca")) {
            self.module.landmarks.push(offset(self.module.statements.len()));
        }
        self.push_instruction(start, id, guard, first);
    }

    #[inline]
    fn push_instruction(&mut self, start: usize, opcode: OpcodeId, guard: Guard, first: usize) {
        let slots = self.slots(start, first);
        if !self.marks.is_empty()
            && let Some(mark) = self.mark(first)
        {
            let (slots, first) = (slots.saturating_sub(1), offset(first + 1));
            let kind = match mark {
                NamedMark::Life { freed } => StatementKind::LifeMark { freed, slots, first },
                NamedMark::Operation(mark) => StatementKind::OperationMark { mark, slots, first },
            };
            return self.statement(start, kind);
        }
        self.statement(start, StatementKind::Instruction { slots, opcode, guard, first: offset(first) });
    }

    /// What an instruction marks by the register that it writes.
    #[cold]
    fn mark(&self, first: usize) -> Option<NamedMark> {
        let Some(Operand::Register(written)) = self.module.operands.get(first) else { return None };
        self.marks.iter().find(|(register, _)| register == written).map(|(_, mark)| *mark)
    }

    /// The slots from `first` to the pool's end, cut where an instruction cannot hold so many.
    #[inline]
    fn slots(&mut self, start: usize, first: usize) -> u16 {
        let count = self.module.operands.len().saturating_sub(first);
        if let Ok(slots) = u16::try_from(count) {
            return slots;
        }
        self.error(ErrorKind::TooManyOperands, Span::new(start, self.cursor.at));
        self.module.operands.truncate(first);
        0
    }

    /// `@p` or `@!p` and an instruction.
    fn guarded(&mut self, start: usize) {
        self.cursor.at += 1;
        if self.cursor.peek() == b'@' {
            // `@@DWARF` lines of old assemblers.
            let rest = self.cursor.rest();
            self.cursor.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            return;
        }
        self.trivia();
        let negated = self.cursor.eat(b'!');
        let name = self.next_word();
        let bytes = self.cursor.bytes.get(name.start as usize..name.end as usize).unwrap_or(&[]);
        let register = self.scopes.find(bytes);
        self.trivia();
        let opcode = self.cursor.at;
        if name.is_empty() || !begins_word(self.cursor.peek()) {
            self.error_here(ErrorKind::Expected(match name.is_empty() {
                true => "a predicate",
                false => "an instruction",
            }));
            self.cursor.recover();
            return;
        }
        self.cursor.opcode_rest();
        match register {
            Some(register) => self.instruction(start, opcode, Guard::new(register, negated)),
            None => {
                self.statement(start, StatementKind::UndeclaredGuard { negated, name });
                self.instruction(start, opcode, Guard::NONE);
            }
        }
    }

    /// A directive in a body. Returns false, with nothing read, for one that cannot stand there.
    fn body_directive(&mut self, start: usize) -> bool {
        let name = self.directive();
        match self.str(name) {
            "loc" => self.loc(start),
            "reg" => self.register_declaration(),
            "pragma" => {
                self.trivia();
                if let Some(text) = self.cursor.string(&mut self.module.errors) {
                    self.statement(start, StatementKind::Pragma(text));
                }
                self.end_of_directive();
            }
            "branchtargets" | "calltargets" => {
                let first = self.module.operands.len();
                if self.operands(b';', 0) {
                    self.cursor.at += 1;
                } else {
                    self.cursor.recover();
                }
                let slots = offset(self.module.operands.len() - first);
                self.statement(start, StatementKind::Targets { first: offset(first), slots });
            }
            "callprototype" => {
                let content = self.cursor.at;
                let ahead = memchr::memchr2(b';', b'}', self.cursor.rest());
                self.cursor.at += ahead.unwrap_or(self.cursor.rest().len());
                self.statement(start, StatementKind::Prototype(Span::new(content, self.cursor.at)));
                self.end_of_directive();
            }
            "section" => self.section(),
            "file" => self.file(),
            "entry" | "func" | "visible" | "weak" | "version" | "target" | "address_size" | "alias" => {
                self.cursor.at = start;
                return false;
            }
            "extern" | "common" | "shared" | "local" | "param" | "global" | "const" | "tex" | "align"
            | "attribute" | "shared::cta" | "param::func" => {
                self.cursor.at = start;
                for index in self.variables(Linkage::Internal) {
                    self.statement(start, StatementKind::Variable(index));
                }
            }
            _ => {
                self.error(ErrorKind::Expected("a directive that may stand in a body"), name);
                self.cursor.recover();
            }
        }
        true
    }

    /// A `;`, or an error and the way to it.
    pub(super) fn end_of_directive(&mut self) {
        if !self.expect(b';', "`;`") {
            self.cursor.recover();
        }
    }

    /// `.loc file line column[, function_name label[+offset], inlined_at file line column]`; it ends with
    /// its line, without a `;`.
    fn loc(&mut self, start: usize) {
        self.cursor.blanks();
        let file = self.count32().unwrap_or(0);
        self.cursor.blanks();
        let line = self.count32();
        self.cursor.blanks();
        let column = self.column();
        let Some(line) = line else {
            self.error_here(ErrorKind::Expected("a file, a line and a column"));
            let rest = self.cursor.rest();
            self.cursor.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            return;
        };
        let mut inlined = None;
        loop {
            self.cursor.blanks();
            let before = self.cursor.at;
            if self.cursor.peek() == b',' {
                self.cursor.at += 1;
                // What follows a comma belongs to the directive even on a new line.
                self.trivia();
            }
            let word = self.cursor.word();
            match self.str(word) {
                "function_name" => {
                    let entry = inlined.get_or_insert(NOT_INLINED);
                    let (function, function_offset) = self.label_and_offset();
                    *entry = Inlined { function, function_offset, ..*entry };
                }
                "inlined_at" => {
                    let entry = inlined.get_or_insert(NOT_INLINED);
                    self.cursor.blanks();
                    let file = self.count32().unwrap_or(0);
                    self.cursor.blanks();
                    let line = self.count32().unwrap_or(0);
                    self.cursor.blanks();
                    *entry = Inlined { file, line, column: self.column(), ..*entry };
                }
                "prologue_end" | "basic_block" | "epilogue_begin" => {}
                "is_stmt" | "isa" | "discriminator" | "view" => {
                    self.cursor.blanks();
                    self.count32();
                }
                _ => {
                    self.cursor.at = before;
                    break;
                }
            }
        }
        let inlined = inlined.map_or(InlinedIndex::NONE, |entry| {
            if self.module.inlined.last() != Some(&entry) {
                self.module.inlined.push(entry);
            }
            InlinedIndex(offset(self.module.inlined.len() - 1))
        });
        self.statement(start, StatementKind::Loc { column, file, line, inlined });
    }

    fn column(&mut self) -> u16 {
        self.count32().map_or(0, |column| u16::try_from(column).unwrap_or(u16::MAX))
    }

    /// A label with an optional `+offset`. The section's own name may stand for a label.
    fn label_and_offset(&mut self) -> (Span, u32) {
        self.cursor.blanks();
        let label = match self.cursor.peek() {
            b'.' => self.directive(),
            _ => self.cursor.word(),
        };
        self.cursor.blanks();
        if !self.cursor.eat(b'+') {
            return (label, 0);
        }
        self.cursor.blanks();
        (label, self.count32().unwrap_or(0))
    }

    /// `freed ADDR, BYTES;` or `allocated ADDR, BYTES;`, the text of a comment. The position afterwards is
    /// where it was.
    #[cold]
    pub(super) fn life_mark(&mut self, comment: Span) {
        let (behind, bytes) = (self.cursor.at, self.cursor.bytes);
        self.cursor.at = comment.start as usize;
        self.cursor.bytes = bytes.get(..comment.end as usize).unwrap_or(bytes);
        let word = self.cursor.word();
        let freed = self.str(word) == "freed";
        if freed || self.str(word) == "allocated" {
            let first = self.module.operands.len();
            if self.operands(b';', 0) {
                let start = comment.start as usize;
                let slots = self.slots(start, first);
                self.statement(start, StatementKind::LifeMark { freed, slots, first: offset(first) });
            }
        }
        self.cursor.bytes = bytes;
        self.cursor.at = behind;
    }
}

const NOT_INLINED: Inlined =
    Inlined { function: Span { start: 0, end: 0 }, function_offset: 0, file: 0, line: 0, column: 0 };
