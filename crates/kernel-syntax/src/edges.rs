//! The first and the last token of an expression, without writing all of its tokens down.

use proc_macro2::Span;
use syn::Expr;
use syn::spanned::Spanned as _;

/// First and last token; `None` for what is short enough to be written down.
pub(crate) fn of(expression: &Expr) -> Option<(Span, Span)> {
    Some((first(expression)?, last(expression)?))
}

fn first(mut it: &Expr) -> Option<Span> {
    loop {
        crate::extent::count_work();
        it = match it {
            Expr::Binary(binary) => &binary.left,
            Expr::Assign(assign) => &assign.left,
            Expr::Cast(cast) => &cast.expr,
            Expr::Field(field) => &field.base,
            Expr::Index(index) => &index.expr,
            Expr::MethodCall(call) => &call.receiver,
            Expr::Call(call) => &call.func,
            Expr::Paren(paren) => return Some(paren.paren_token.span.open()),
            Expr::If(it) => return Some(it.if_token.span),
            Expr::Match(it) => return Some(it.match_token.span),
            Expr::Block(it) if it.label.is_none() => return Some(it.block.brace_token.span.open()),
            Expr::Loop(it) if it.label.is_none() => return Some(it.loop_token.span),
            Expr::While(it) if it.label.is_none() => return Some(it.while_token.span),
            Expr::ForLoop(it) if it.label.is_none() => return Some(it.for_token.span),
            Expr::Unary(it) => return Some(it.op.span()),
            Expr::Reference(it) => return Some(it.and_token.span),
            // One token has no other span.
            Expr::Path(it) => return it.path.get_ident().map(syn::Ident::span),
            Expr::Lit(it) => return Some(it.lit.span()),
            _ => return None,
        };
    }
}

fn last(mut it: &Expr) -> Option<Span> {
    loop {
        crate::extent::count_work();
        it = match it {
            Expr::Binary(binary) => &binary.right,
            Expr::Assign(assign) => &assign.right,
            Expr::Unary(unary) => &unary.expr,
            Expr::Reference(reference) => &reference.expr,
            Expr::If(it) => match &it.else_branch {
                Some((_, otherwise)) => otherwise,
                None => return Some(it.then_branch.brace_token.span.close()),
            },
            Expr::Paren(it) => return Some(it.paren_token.span.close()),
            Expr::Index(it) => return Some(it.bracket_token.span.close()),
            Expr::MethodCall(it) => return Some(it.paren_token.span.close()),
            Expr::Call(it) => return Some(it.paren_token.span.close()),
            Expr::Match(it) => return Some(it.brace_token.span.close()),
            Expr::Block(it) => return Some(it.block.brace_token.span.close()),
            Expr::Loop(it) => return Some(it.body.brace_token.span.close()),
            Expr::While(it) => return Some(it.body.brace_token.span.close()),
            Expr::ForLoop(it) => return Some(it.body.brace_token.span.close()),
            Expr::Field(it) => return Some(it.member.span()),
            Expr::Path(it) => return it.path.get_ident().map(syn::Ident::span),
            Expr::Lit(it) => return Some(it.lit.span()),
            _ => return None,
        };
    }
}
