//! Pieces of source: where a construct begins and ends.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

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

    fn of_tokens(tokens: TokenStream) -> Extent {
        let mut tokens = tokens.into_iter();
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
