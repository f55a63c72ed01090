//! Pieces of source: where a construct begins and ends.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

use crate::edges;

#[cfg(test)]
thread_local! {
    /// Tokens and expressions that were looked at to find extents.
    pub(crate) static WORK: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts what a test limits.
pub(crate) fn count_work() {
    #[cfg(test)]
    WORK.set(WORK.get() + 1);
}

/// A piece of source by the spans of its first and last token. Stable compilers cannot join the two.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The first token.
    pub start: Span,
    /// The last token.
    pub end: Span,
}

/// The same as numbers. Lines and columns count from 1, columns in characters; the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Place {
    /// The file, by its place in the program's list; 0 where it is not known.
    pub file: u32,
    /// Line of the first character.
    pub line: u32,
    /// Column of the first character.
    pub column: u32,
    /// Line of the last character.
    pub end_line: u32,
    /// One past the column of the last character.
    pub end_column: u32,
}

impl Extent {
    /// The tokens of a syntax node.
    pub fn of(node: &impl ToTokens) -> Extent {
        Extent::of_tokens(node.to_token_stream())
    }

    /// The tokens of an expression.
    pub(crate) fn of_expression(expression: &syn::Expr) -> Extent {
        match edges::of(expression) {
            Some((start, end)) => Extent { start, end },
            None => Extent::of(expression),
        }
    }

    fn of_tokens(tokens: TokenStream) -> Extent {
        let mut tokens = tokens.into_iter().inspect(|_| count_work());
        let Some(first) = tokens.next() else { return Extent::at(Span::call_site()) };
        let last = tokens.last().unwrap_or_else(|| first.clone());
        let (start, end) = (opening(&first), closing(&last));
        Extent { start, end }
    }

    /// One token.
    pub fn at(span: Span) -> Extent {
        Extent { start: span, end: span }
    }

    /// From the start of this to the end of `other`.
    #[must_use]
    pub fn to(self, other: Extent) -> Extent {
        Extent { start: self.start, end: other.end }
    }

    /// As numbers; zeros where the compiler does not tell.
    pub fn place(self) -> Place {
        let (start, end) = (self.start.start(), self.end.end());
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Place {
            file: 0,
            line: number(start.line),
            column: number(start.column).saturating_add(1),
            end_line: number(end.line),
            end_column: number(end.column).saturating_add(1),
        }
    }
}

fn opening(token: &proc_macro2::TokenTree) -> Span {
    match token {
        proc_macro2::TokenTree::Group(group) => group.span_open(),
        other => other.span(),
    }
}

fn closing(token: &proc_macro2::TokenTree) -> Span {
    match token {
        proc_macro2::TokenTree::Group(group) => group.span_close(),
        other => other.span(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is looked at to check and lower a source.
    fn work(source: &str) -> usize {
        let file = syn::parse_file(source).unwrap();
        let unit = crate::Unit::all(&file).remove(0);
        let before = WORK.get();
        crate::lower(&unit, "long.rs", 1).unwrap();
        WORK.get() - before
    }

    fn check(part: &str, end: &str) {
        let source = |count: usize| {
            let parts: String = (0..count).map(|i| part.replace('#', &i.to_string())).collect();
            format!(
                "#[kernel] fn k(space: Space, out: &mut [u32], a: u32) {{ let mut x = a; {parts}{end} out[0] = x; }}"
            )
        };
        let (some, more) = (work(&source(100)), work(&source(200)));
        assert!(more <= 2 * some + 100, "{some} for 100 times «{part}», {more} for 200");
    }

    #[test]
    fn long_sources_take_work_by_their_length() {
        check("if a == # { x = #; } else ", "{ x = 7; }");
        check("x = if a == # { # } else { x + 1 };", "");
        check("while x > # { x -= 1; }", "");
    }

    #[test]
    fn edges_are_the_first_and_the_last_token() {
        for source in [
            "a + b * c[1]",
            "if a { 1 } else if b { 2 } else { 3 }",
            "x.y.z(1, 2)",
            "-f(a)",
            "&a[1..2]",
            "(a) as u32",
            "'a: loop { break 'a 1; }",
            "match a { 1 => 2, _ => 3 }",
            "u32::MAX",
            "a = b",
            "{ 1 }",
            "1.5",
            "return a + 1",
            "for i in 0..3 { x }",
            "while a < 3 {}",
            "m!(1)",
            "!x.0",
        ] {
            let expression: syn::Expr = syn::parse_str(source).unwrap();
            assert_eq!(
                Extent::of_expression(&expression).place(),
                Extent::of(&expression).place(),
                "{source}"
            );
        }
    }
}
