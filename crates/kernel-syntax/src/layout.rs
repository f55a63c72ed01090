//! A text with every token where it stood in its file, from tokens alone.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// The text of an item with its tokens at the lines and columns they came from, and the line of its file that the
/// text's first line is. Comments are gone. Tokens whose places are not known, or that came from a macro, follow the
/// one before.
pub fn rebuilt(tokens: TokenStream) -> (String, u32) {
    let first = tokens.clone().into_iter().next().map_or(1, |token| line_of(token.span()).max(1));
    let mut text = Text { text: String::new(), line: first, column: 0 };
    text.stream(tokens);
    (text.text, first)
}

fn line_of(span: Span) -> u32 {
    u32::try_from(span.start().line).unwrap_or(0)
}

struct Text {
    text: String,
    line: u32,
    column: usize,
}

impl Text {
    fn stream(&mut self, tokens: TokenStream) {
        let mut joint = false;
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    self.token(group.span_open(), open, false);
                    self.stream(group.stream());
                    self.token(group.span_close(), close, false);
                    joint = false;
                }
                TokenTree::Punct(punct) => {
                    self.token(punct.span(), &punct.as_char().to_string(), joint);
                    joint = punct.spacing() == proc_macro2::Spacing::Joint;
                }
                other => {
                    let attached = joint && self.text.ends_with('\'');
                    self.token(other.span(), &other.to_string(), attached);
                    joint = false;
                }
            }
        }
    }

    fn token(&mut self, span: Span, token: &str, attached: bool) {
        let start = span.start();
        let line = u32::try_from(start.line).unwrap_or(0);
        if !attached {
            if line > self.line && line - self.line < 100_000 {
                while self.line < line {
                    self.text.push('\n');
                    self.line += 1;
                }
                self.column = 0;
            }
            if line == self.line && start.column > self.column && start.column < 10_000 {
                while self.column < start.column {
                    self.text.push(' ');
                    self.column += 1;
                }
            } else if needs_space(&self.text, token) && !(line == self.line && start.column == self.column) {
                self.text.push(' ');
                self.column += 1;
            }
        }
        self.text.push_str(token);
        let breaks = token.matches('\n').count() as u32;
        self.line += breaks;
        self.column = match token.rsplit_once('\n') {
            Some((_, last)) => last.chars().count(),
            None => self.column + token.chars().count(),
        };
    }
}

fn needs_space(text: &str, token: &str) -> bool {
    !text.is_empty() && !token.is_empty() && !text.ends_with(['\n', ' ', '('])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_stand_where_they_stood() {
        let source =
            "\n\nfn k<'a>(a: &'a [f32]) {\n    // why\n    let é = a[0] >= 1.0e3; 'x: loop { break 'x; }\n}";
        let (text, first) = rebuilt(source.parse().unwrap());
        assert_eq!(first, 3);
        assert_eq!(text, "fn k<'a>(a: &'a [f32]) {\n\n    let é = a[0] >= 1.0e3; 'x: loop { break 'x; }\n}");
    }
}
