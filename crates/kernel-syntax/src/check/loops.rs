//! Loops, and leaving them and functions.

use super::infer::Hint;
use super::{Checker, LoopFrame, Obligation};
use crate::extent::Extent;
use crate::tree::{Block, Expression, Kind, Loop, LoopId, LoopKind, Range, Statement};
use crate::types::Ty;

impl Checker<'_> {
    fn enter(&mut self, label: Option<&syn::Label>, value: Option<Ty>) -> LoopId {
        let id = LoopId(self.loop_count);
        self.loop_count += 1;
        let label = label.map(|label| label.name.ident.to_string());
        self.loops.push(LoopFrame { id, label, value });
        id
    }

    pub(super) fn forever(&mut self, it: &syn::ExprLoop, extent: Extent) -> Expression {
        let value = self.types.fresh(Hint::Any);
        let id = self.enter(it.label.as_ref(), Some(value.clone()));
        let (body, _) = self.block(&it.body);
        self.loops.pop();
        let ty = if breaks(&it.body, it.label.as_ref()) { value } else { Ty::Never };
        Expression { kind: Kind::Loop(Box::new(Loop { id, kind: LoopKind::Forever, body })), ty, extent }
    }

    pub(super) fn while_loop(&mut self, it: &syn::ExprWhile, extent: Extent) -> Expression {
        if let syn::Expr::Let(binding) = &*it.cond {
            // `while let P = e { b }` is `loop { if let P = e { b } else { break } }`.
            let id = self.enter(it.label.as_ref(), None);
            let leave: syn::Expr = syn::parse_quote!(break);
            let choice = self.if_let(binding, &it.body, Some(&leave), extent);
            self.loops.pop();
            let body = Block { statements: vec![Statement::Expression(choice)], value: None };
            let kind = Kind::Loop(Box::new(Loop { id, kind: LoopKind::Forever, body }));
            return Expression { kind, ty: Ty::Unit, extent };
        }
        let condition = self.condition(&it.cond);
        let id = self.enter(it.label.as_ref(), None);
        let (body, _) = self.block(&it.body);
        self.loops.pop();
        let kind = Kind::Loop(Box::new(Loop { id, kind: LoopKind::While(condition), body }));
        Expression { kind, ty: Ty::Unit, extent }
    }

    pub(super) fn for_loop(&mut self, it: &syn::ExprForLoop, extent: Extent) -> Expression {
        let name = match &*it.pat {
            syn::Pat::Ident(name) => (name.ident.to_string(), name.mutability.is_some()),
            syn::Pat::Wild(_) => (String::new(), false),
            other => {
                self.problem(Extent::of(other), "write a plain name for the loop's variable");
                (String::new(), false)
            }
        };
        let range_extent = Extent::of(&it.expr);
        let (range, reversed, step) = self.range_of(&it.expr);
        let Some(range) = range else {
            return self.wrong(
                range_extent,
                "a kernel's `for` runs over a range; write `for i in 0..slice.len()` and take `slice[i]`",
            );
        };
        let (Some(start), Some(end)) = (&range.start, &range.end) else {
            return self.wrong(range_extent, "the range needs both ends; a loop without an end is `loop`");
        };
        let (start, end) = (self.expression(start), self.expression(end));
        let (first, last) = (start.ty.clone(), end.ty.clone());
        self.expect(&first, &last, end.extent);
        self.oblige(Obligation::Integer(first.clone()), start.extent);
        let step = step.map(|step| {
            let step = self.expression(&step);
            self.oblige(Obligation::Integer(step.ty.clone()), step.extent);
            step
        });
        self.scopes.push(rustc_hash::FxHashMap::default());
        let variable = self.declare(&name.0, first, name.1);
        let id = self.enter(it.label.as_ref(), None);
        let (body, _) = self.block(&it.body);
        self.loops.pop();
        self.scopes.pop();
        let inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
        if (reversed || step.is_some()) && inclusive {
            self.problem(range_extent, "write the range with an exclusive end, as in `(0..n + 1)`");
        }
        let kind = LoopKind::Range(Box::new(Range {
            variable,
            start,
            end,
            inclusive,
            reversed,
            step,
            extent: range_extent,
        }));
        Expression { kind: Kind::Loop(Box::new(Loop { id, kind, body })), ty: Ty::Unit, extent }
    }

    /// `a..b`, `(a..b).rev()`, `(a..b).step_by(n)`.
    fn range_of(&mut self, expression: &syn::Expr) -> (Option<syn::ExprRange>, bool, Option<syn::Expr>) {
        match expression {
            syn::Expr::Range(range) => (Some(range.clone()), false, None),
            syn::Expr::Paren(inner) => self.range_of(&inner.expr),
            syn::Expr::MethodCall(call) => {
                let (range, reversed, step) = self.range_of(&call.receiver);
                match (call.method.to_string().as_str(), call.args.first()) {
                    ("rev", None) if step.is_none() => (range, !reversed, step),
                    ("step_by", Some(by)) if step.is_none() && !reversed => {
                        (range, reversed, Some(by.clone()))
                    }
                    _ => (None, false, None),
                }
            }
            _ => (None, false, None),
        }
    }

    pub(super) fn leave(&mut self, it: &syn::ExprBreak, extent: Extent) -> Expression {
        let value = it.expr.as_ref().map(|value| self.expression(value));
        let label = it.label.as_ref().map(|label| label.ident.to_string());
        let Some(frame) = self.frame(label.as_deref()) else {
            return self.wrong(extent, "there is no such loop around this `break`");
        };
        let (id, wanted) = (frame.id, frame.value.clone());
        match (&value, wanted) {
            (Some(value), Some(wanted)) => {
                let _ = self.expect(&wanted, &value.ty.clone(), value.extent);
            }
            (Some(value), None) => {
                self.problem(value.extent, "only `loop` gives a value; set a variable before the `break`");
            }
            (None, Some(wanted)) => {
                let _ = self.expect(&wanted, &Ty::Unit, extent);
            }
            (None, None) => {}
        }
        Expression { kind: Kind::Break(id, value.map(Box::new)), ty: Ty::Never, extent }
    }

    pub(super) fn next(&mut self, it: &syn::ExprContinue, extent: Extent) -> Expression {
        let label = it.label.as_ref().map(|label| label.ident.to_string());
        match self.frame(label.as_deref()).map(|frame| frame.id) {
            Some(id) => Expression { kind: Kind::Continue(id), ty: Ty::Never, extent },
            None => self.wrong(extent, "there is no such loop around this `continue`"),
        }
    }

    fn frame(&self, label: Option<&str>) -> Option<&LoopFrame> {
        self.loops.iter().rev().find(|frame| label.is_none() || frame.label.as_deref() == label)
    }

    pub(super) fn give_back(&mut self, it: &syn::ExprReturn, extent: Extent) -> Expression {
        let value = it.expr.as_ref().map(|value| self.expression(value));
        match (&value, self.result) {
            (Some(value), Some(result)) => {
                let _ = self.expect(&Ty::Scalar(result), &value.ty.clone(), value.extent);
            }
            (Some(value), None) => {
                let _ = self.expect(&Ty::Unit, &value.ty.clone(), value.extent);
            }
            (None, Some(result)) => {
                let _ = self.expect(&Ty::Scalar(result), &Ty::Unit, extent);
            }
            (None, None) => {}
        }
        Expression { kind: Kind::Return(value.map(Box::new)), ty: Ty::Never, extent }
    }
}

/// Whether a loop's body has a `break` of that loop.
fn breaks(body: &syn::Block, label: Option<&syn::Label>) -> bool {
    struct Search<'a> {
        label: Option<&'a syn::Label>,
        depth: u32,
        found: bool,
    }
    impl<'ast> syn::visit::Visit<'ast> for Search<'_> {
        fn visit_expr_break(&mut self, it: &'ast syn::ExprBreak) {
            self.found |= match (&it.label, self.label) {
                (None, _) => self.depth == 0,
                (Some(named), Some(own)) => named.ident == own.name.ident,
                (Some(_), None) => false,
            };
            syn::visit::visit_expr_break(self, it);
        }
        fn visit_expr_loop(&mut self, it: &'ast syn::ExprLoop) {
            self.depth += 1;
            syn::visit::visit_expr_loop(self, it);
            self.depth -= 1;
        }
        fn visit_expr_while(&mut self, it: &'ast syn::ExprWhile) {
            self.depth += 1;
            syn::visit::visit_expr_while(self, it);
            self.depth -= 1;
        }
        fn visit_expr_for_loop(&mut self, it: &'ast syn::ExprForLoop) {
            self.depth += 1;
            syn::visit::visit_expr_for_loop(self, it);
            self.depth -= 1;
        }
    }
    let mut search = Search { label, depth: 0, found: false };
    syn::visit::Visit::visit_block(&mut search, body);
    search.found
}
