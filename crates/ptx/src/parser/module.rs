//! The module scope.

use crate::error::ErrorKind;
use crate::parser::Parser;
use crate::span::Span;
use crate::syntax::variable::Linkage;
use crate::syntax::{Alias, FileDirective, Section};

impl Parser<'_> {
    pub(super) fn module(&mut self) {
        loop {
            self.trivia();
            let start = self.cursor.at;
            match self.cursor.peek() {
                b'.' => self.module_directive(start),
                b';' => self.cursor.at += 1,
                b'@' if self.cursor.peek_at(1) == b'@' => self.skip_line(),
                _ if self.cursor.at_end() => return,
                b'}' => {
                    self.error_here(ErrorKind::Unexpected);
                    self.cursor.at += 1;
                }
                _ => {
                    self.error_here(ErrorKind::Unexpected);
                    self.cursor.recover();
                }
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = self.cursor.rest();
        self.cursor.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    /// A directive, with the linkage words before it; the position is at its dot.
    fn module_directive(&mut self, start: usize) {
        let mut linkage = Linkage::Internal;
        loop {
            let at = self.cursor.at;
            let word = self.directive();
            match self.str(word) {
                "extern" => linkage = Linkage::Extern,
                "visible" => linkage = Linkage::Visible,
                "weak" => linkage = Linkage::Weak,
                "common" => linkage = Linkage::Common,
                "entry" => return self.function(start, true, linkage),
                "func" => return self.function(start, false, linkage),
                "version" => {
                    let version = self.rest_of_line();
                    self.module.version = version;
                    return;
                }
                "target" => {
                    let target = self.rest_of_line();
                    self.module.target = target;
                    return;
                }
                "address_size" => {
                    self.trivia();
                    self.module.address_size = self.count32();
                    return;
                }
                "file" => return self.file(),
                "section" => return self.section(),
                // Line table entries outside of functions say nothing.
                "loc" => return self.skip_line(),
                "pragma" => {
                    self.trivia();
                    if let Some(text) = self.cursor.string(&mut self.module.errors) {
                        self.module.pragmas.push(text);
                    }
                    return self.end_of_directive();
                }
                "alias" => return self.alias(),
                _ => {
                    self.cursor.at = at;
                    let globals = self.variables(linkage);
                    self.module.globals.extend(globals);
                    return;
                }
            }
            self.trivia();
            if self.cursor.peek() != b'.' {
                self.error_here(ErrorKind::Expected("a directive"));
                return self.cursor.recover();
            }
        }
    }

    /// The text up to the line's end or a comment, trimmed.
    fn rest_of_line(&mut self) -> Span {
        self.cursor.blanks();
        let start = self.cursor.at;
        let rest = self.cursor.rest();
        let length = memchr::memchr3(b'\n', b'/', b';', rest).unwrap_or(rest.len());
        self.cursor.at += length;
        let text = rest.get(..length).unwrap_or(&[]).trim_ascii_end();
        Span::new(start, start + text.len())
    }

    /// `.file index "path"[, time, size]` behind its first word.
    pub(super) fn file(&mut self) {
        self.trivia();
        let index = self.count32();
        self.trivia();
        let path = self.cursor.string(&mut self.module.errors);
        match (index, path) {
            (Some(index), Some(path)) => self.module.files.push(FileDirective { index, path }),
            (None, Some(_)) => {}
            (_, None) => self.error_here(ErrorKind::Expected("a path in quotes")),
        }
        self.skip_line();
    }

    /// `.section name[, flags] { … }` behind its first word.
    pub(super) fn section(&mut self) {
        self.trivia();
        let start = self.cursor.at;
        self.cursor.eat(b'.');
        self.cursor.opcode_rest();
        let name = Span::new(start, self.cursor.at);
        let rest = self.cursor.rest();
        match memchr::memchr2(b'{', b'}', rest) {
            Some(ahead) if rest.get(ahead) == Some(&b'{') => self.cursor.at += ahead + 1,
            _ => {
                self.error_here(ErrorKind::Expected("`{`"));
                return self.skip_line();
            }
        }
        let start = self.cursor.at;
        let rest = self.cursor.rest();
        match memchr::memchr(b'}', rest) {
            Some(ahead) => self.cursor.at += ahead,
            None => {
                self.error(ErrorKind::OpenBody, Span::new(start - 1, start));
                self.cursor.at = self.cursor.bytes.len();
            }
        }
        self.module.sections.push(Section { name, content: Span::new(start, self.cursor.at) });
        self.cursor.eat(b'}');
    }

    /// `.alias new, old;` behind its first word.
    fn alias(&mut self) {
        let name = self.next_word();
        self.trivia();
        let comma = self.cursor.eat(b',');
        let target = self.next_word();
        if name.is_empty() || target.is_empty() || !comma {
            self.error_here(ErrorKind::Expected("two functions' names"));
            return self.cursor.recover();
        }
        self.module.aliases.push(Alias { name, target });
        self.end_of_directive();
    }
}
