//! Declarations: registers and variables.

use crate::error::ErrorKind;
use crate::parser::cursor::{begins_word, is_digit};
use crate::parser::{NamedMark, Parser};
use crate::span::{Span, offset};
use crate::syntax::operand::RegisterNumber;
use crate::syntax::variable::{Linkage, RegisterDeclaration, Variable, VariableSpace};

const UNNAMED: Variable = Variable {
    name: Span { start: 0, end: 0 },
    ty: Span { start: 0, end: 0 },
    initialiser: Span { start: 0, end: 0 },
    elements: Some(1),
    align: 0,
    space: VariableSpace::Global,
    linkage: Linkage::Internal,
    vector: 1,
    managed: false,
    array: false,
    pointer: None,
};

impl<'a> Parser<'a> {
    /// `.reg .b32 %r<100>, x, y;` behind its first word.
    pub(super) fn register_declaration(&mut self) {
        let mut ty = Span::default();
        let mut vector = 1;
        loop {
            self.trivia();
            if self.cursor.peek() != b'.' {
                break;
            }
            let word = self.directive();
            match self.str(word) {
                "v2" => vector = 2,
                "v4" => vector = 4,
                "v8" => vector = 8,
                "align" => {
                    self.trivia();
                    self.count();
                }
                _ => ty = word,
            }
        }
        loop {
            let name = self.next_word();
            if name.is_empty() {
                self.error_here(ErrorKind::Expected("a register's name"));
                self.cursor.recover();
                return;
            }
            self.trivia();
            let (range, count) = match self.cursor.eat(b'<') {
                true => {
                    self.trivia();
                    let count = self.count32();
                    if count.is_none() || !self.expect(b'>', "`>`") {
                        self.cursor.recover();
                        return;
                    }
                    (true, count.unwrap_or(0))
                }
                false => (false, 1),
            };
            self.add_register(name, ty, vector, range, count);
            self.trivia();
            if !self.cursor.eat(b',') {
                break;
            }
        }
        self.end_of_directive();
    }

    /// Declares the registers of one name.
    pub(super) fn add_register(&mut self, name: Span, ty: Span, vector: u8, range: bool, count: u32) {
        let mut declaration = RegisterDeclaration { name, ty, first: 0, count, vector, range };
        let bytes: &'a [u8] = self.cursor.bytes.get(name.start as usize..name.end as usize).unwrap_or(&[]);
        self.scopes.declare(bytes, &mut declaration, offset(self.module.registers.len()));
        if bytes.starts_with(b"standstill_")
            && let Some(mark) = NamedMark::of_register(self.str(name))
        {
            self.marks.push((RegisterNumber(declaration.first), mark));
        }
        self.module.registers.push(declaration);
    }

    /// A variable declaration with its `;`, which may name several. They are pushed to the variables.
    pub(super) fn variables(&mut self, linkage: Linkage) -> std::ops::Range<u32> {
        let first = offset(self.module.variables.len());
        let mut template = UNNAMED;
        template.linkage = linkage;
        self.qualifiers(&mut template);
        loop {
            let Some(variable) = self.declarator(template) else {
                self.cursor.recover();
                break;
            };
            self.module.variables.push(variable);
            self.trivia();
            if !self.cursor.eat(b',') {
                self.end_of_directive();
                break;
            }
            self.trivia();
        }
        first..offset(self.module.variables.len())
    }

    /// A parameter.
    fn parameter(&mut self) -> Option<Variable> {
        let mut variable = Variable { space: VariableSpace::Param, ..UNNAMED };
        self.qualifiers(&mut variable);
        self.declarator(variable)
    }

    /// Name, array bounds and initialiser of a variable whose qualifiers have been read.
    fn declarator(&mut self, mut variable: Variable) -> Option<Variable> {
        variable.name = self.cursor.word();
        if self.str(variable.name) == "_" {
            variable.name = Span::default();
        } else if variable.name.is_empty() {
            self.error_here(ErrorKind::Expected("a name"));
            return None;
        }
        self.trivia();
        if self.cursor.peek() == b'<' {
            // `.shared .b32 a<4>;`: parameterised names of variables.
            self.cursor.at += 1;
            self.trivia();
            variable.elements = Some(self.count().unwrap_or(1));
            if !self.expect(b'>', "`>`") {
                return None;
            }
            self.trivia();
        }
        while self.cursor.eat(b'[') {
            self.trivia();
            let bound = is_digit(self.cursor.peek()).then(|| self.count().unwrap_or(0));
            variable.elements = match (bound, variable.elements) {
                (Some(bound), Some(before)) => before.checked_mul(bound),
                _ => None,
            };
            variable.array = true;
            if !self.expect(b']', "`]`") {
                return None;
            }
            self.trivia();
        }
        if self.cursor.peek() == b'=' {
            self.cursor.at += 1;
            self.trivia();
            variable.initialiser = self.initialiser();
        }
        Some(variable)
    }

    fn qualifiers(&mut self, variable: &mut Variable) {
        loop {
            self.trivia();
            if self.cursor.peek() != b'.' {
                return;
            }
            let word = self.directive();
            let text = self.str(word);
            match text {
                "extern" => variable.linkage = Linkage::Extern,
                "visible" => variable.linkage = Linkage::Visible,
                "weak" => variable.linkage = Linkage::Weak,
                "common" => variable.linkage = Linkage::Common,
                "align" => {
                    self.trivia();
                    variable.align = self.count32().unwrap_or(0);
                }
                "attribute" => {
                    self.trivia();
                    let content = self.parentheses();
                    variable.managed |= self.str(content).contains("managed");
                }
                "ptr" => self.pointer(variable),
                "reg" => variable.space = VariableSpace::Register,
                "v2" => variable.vector = 2,
                "v4" => variable.vector = 4,
                "v8" => variable.vector = 8,
                _ => match VariableSpace::from_word(text) {
                    Some(space) => variable.space = space,
                    // `.const[2]`: a bank of an old constant space.
                    None if text.starts_with("const") => variable.space = VariableSpace::Const,
                    None => variable.ty = word,
                },
            }
            if variable.space == VariableSpace::Const && self.cursor.peek() == b'[' {
                self.skip_to(b']');
            }
        }
    }

    /// `.ptr .global .align 16` behind its first word.
    fn pointer(&mut self, variable: &mut Variable) {
        loop {
            self.trivia();
            if self.cursor.peek() != b'.' {
                return;
            }
            let before = self.cursor.at;
            let word = self.directive();
            match self.str(word) {
                "align" => {
                    self.trivia();
                    // The alignment of what it points to, not of the parameter.
                    self.count32();
                }
                text => match VariableSpace::from_word(text) {
                    Some(space) => variable.pointer = Some(space),
                    None => {
                        self.cursor.at = before;
                        return;
                    }
                },
            }
        }
    }

    /// Moves behind the next `close`, or to the text's end.
    fn skip_to(&mut self, close: u8) {
        let rest = self.cursor.rest();
        self.cursor.at += memchr::memchr(close, rest).map_or(rest.len(), |ahead| ahead + 1);
    }

    /// The text between the parentheses at the position; empty where there is none.
    pub(super) fn parentheses(&mut self) -> Span {
        if !self.cursor.eat(b'(') {
            return Span::default();
        }
        let start = self.cursor.at;
        let mut depth: u32 = 1;
        while let Some(ahead) = memchr::memchr3(b'(', b')', b';', self.cursor.rest()) {
            self.cursor.at += ahead;
            match self.cursor.peek() {
                b'(' => depth = depth.saturating_add(1),
                b')' => depth = depth.saturating_sub(1),
                _ => break,
            }
            self.cursor.at += 1;
            if depth == 0 {
                return Span::new(start, self.cursor.at - 1);
            }
        }
        Span::new(start, self.cursor.at)
    }

    /// The text up to the `;` of the declaration, or up to a comma outside braces.
    fn initialiser(&mut self) -> Span {
        let start = self.cursor.at;
        let mut depth: u32 = 0;
        loop {
            let rest = self.cursor.rest();
            let ahead = match depth {
                0 => memchr::memchr3(b';', b'{', b',', rest),
                _ => memchr::memchr3(b';', b'{', b'}', rest),
            };
            let Some(ahead) = ahead else {
                self.cursor.at = self.cursor.bytes.len();
                break;
            };
            self.cursor.at += ahead;
            match self.cursor.peek() {
                b'{' => depth = depth.saturating_add(1),
                b'}' => depth = depth.saturating_sub(1),
                _ => break,
            }
            self.cursor.at += 1;
        }
        Span::new(start, self.cursor.at)
    }

    /// Parameters between the parentheses at the position, pushed to the variables.
    pub(super) fn parameters(&mut self) -> std::ops::Range<u32> {
        let first = offset(self.module.variables.len());
        self.cursor.at += 1;
        loop {
            self.trivia();
            match self.cursor.peek() {
                b')' => {
                    self.cursor.at += 1;
                    break;
                }
                b',' => self.cursor.at += 1,
                byte if byte == b'.' || begins_word(byte) => {
                    let Some(variable) = self.parameter() else {
                        self.recover_parameters();
                        break;
                    };
                    self.module.variables.push(variable);
                }
                _ => {
                    self.error_here(ErrorKind::Expected("a parameter"));
                    self.recover_parameters();
                    break;
                }
            }
        }
        first..offset(self.module.variables.len())
    }

    /// After an error among parameters: to the end of the list, if that comes before the body.
    fn recover_parameters(&mut self) {
        let rest = self.cursor.rest();
        match memchr::memchr3(b')', b'{', b';', rest) {
            Some(ahead) => {
                self.cursor.at += ahead;
                self.cursor.eat(b')');
            }
            None => self.cursor.at = self.cursor.bytes.len(),
        }
    }
}
