//! Conditions, loops and leaving them.

use super::infer::Hint;
use super::{Checker, LoopFrame, constant};
use crate::extent::Extent;
use crate::tree::{Arm, Block, Expression, Kind, Loop, LoopId, LoopKind, Range, Statement};
use crate::types::{Scalar, Ty};

const BOOL: Ty = Ty::Scalar(Scalar::Bool);

impl Checker<'_> {
    /// A truth value.
    pub(super) fn condition(&mut self, expression: &syn::Expr) -> Expression {
        let value = self.expression(expression);
        let found = value.ty.clone();
        self.expect(&BOOL, &found, value.extent);
        value
    }

    pub(super) fn if_else(&mut self, it: &syn::ExprIf, extent: Extent) -> Expression {
        if let syn::Expr::Let(binding) = &*it.cond {
            let otherwise = it.else_branch.as_ref().map(|(_, expression)| &**expression);
            return self.if_let(binding, &it.then_branch, otherwise, extent);
        }
        let condition = self.condition(&it.cond);
        let (then, then_type) = self.block(&it.then_branch);
        let Some((_, otherwise)) = &it.else_branch else {
            if let Some(value) = &then.value {
                let at = value.extent;
                let found = self.types.resolve(&then_type);
                if !matches!(found, Ty::Unit | Ty::Never | Ty::Wrong) {
                    let shown = self.types.show(&found);
                    let message = format!(
                        "this gives `{shown}` where the condition holds, and nothing else; add an `else`"
                    );
                    self.problem(at, message);
                }
            }
            let kind = Kind::If { condition: Box::new(condition), then, otherwise: None };
            return Expression { kind, ty: Ty::Unit, extent };
        };
        let otherwise = self.expression(otherwise);
        let ty = self.joined(&then_type, &otherwise.ty, value_extent(&otherwise));
        let kind = Kind::If { condition: Box::new(condition), then, otherwise: Some(Box::new(otherwise)) };
        Expression { kind, ty, extent }
    }

    /// The type of what two ways give.
    fn joined(&mut self, first: &Ty, second: &Ty, extent: Extent) -> Ty {
        match (self.types.resolve(first), self.types.resolve(second)) {
            (Ty::Never, other) => other,
            (other, Ty::Never) => other,
            (Ty::Slice(..) | Ty::Reference(..), _) => {
                self.problem(extent, "a slice cannot be chosen by a condition; choose the index instead");
                Ty::Wrong
            }
            (first, second) => {
                self.expect(&first, &second, extent);
                first
            }
        }
    }

    /// `if let Ok(x) = …compare_exchange(…)`, also with `Err`.
    fn if_let(
        &mut self,
        binding: &syn::ExprLet,
        then: &syn::Block,
        otherwise: Option<&syn::Expr>,
        extent: Extent,
    ) -> Expression {
        let value = self.expression(&binding.expr);
        let Some((scalar, exchange)) = self.exchange(value) else {
            return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
        };
        let Some((wanted, name)) = self.outcome(&binding.pat) else {
            return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
        };
        let id = self.declare("", Ty::Exchange(scalar), false);
        let at = exchange.extent;
        let condition = exchanged(id, wanted, at);
        self.scopes.push(rustc_hash::FxHashMap::default());
        let held = self.declare(&name, Ty::Scalar(scalar), false);
        let (mut then, then_type) = self.block(then);
        self.scopes.pop();
        let kind = Kind::Held(id);
        then.statements
            .insert(0, Statement::Let(held, Expression { kind, ty: Ty::Scalar(scalar), extent: at }));
        let otherwise = otherwise.map(|expression| Box::new(self.expression(expression)));
        let ty = match &otherwise {
            Some(otherwise) => self.joined(&then_type, &otherwise.ty.clone(), otherwise.extent),
            None => Ty::Unit,
        };
        let choice = Expression {
            kind: Kind::If { condition: Box::new(condition), then, otherwise },
            ty: ty.clone(),
            extent,
        };
        let block = Block { statements: vec![Statement::Let(id, exchange)], value: Some(Box::new(choice)) };
        Expression { kind: Kind::Block(block), ty, extent }
    }

    /// The result of a `compare_exchange`; says so where it is something else.
    pub(super) fn exchange(&mut self, value: Expression) -> Option<(Scalar, Expression)> {
        match self.types.resolve(&value.ty) {
            Ty::Exchange(scalar) => Some((scalar, value)),
            Ty::Wrong => None,
            _ => {
                self.problem(
                    value.extent,
                    "only the result of `compare_exchange` is taken apart by `Ok` and `Err`",
                );
                None
            }
        }
    }

    /// `Ok(x)` or `Err(x)`: whether it is `Ok`, and the name.
    fn outcome(&mut self, pattern: &syn::Pat) -> Option<(bool, String)> {
        if let syn::Pat::TupleStruct(it) = pattern
            && let Some(word) = it.path.segments.last()
            && let (true, Some(inner)) = (it.elems.len() == 1, it.elems.first())
        {
            let wanted = match word.ident.to_string().as_str() {
                "Ok" => Some(true),
                "Err" => Some(false),
                _ => None,
            };
            let name = match inner {
                syn::Pat::Ident(name) => Some(name.ident.to_string()),
                syn::Pat::Wild(_) => Some(String::new()),
                _ => None,
            };
            if let (Some(wanted), Some(name)) = (wanted, name) {
                return Some((wanted, name));
            }
        }
        self.problem(Extent::of(pattern), "write `Ok(name)` or `Err(name)`");
        None
    }

    pub(super) fn match_on(&mut self, it: &syn::ExprMatch, extent: Extent) -> Expression {
        let value = self.expression(&it.expr);
        if let Ty::Exchange(_) = self.types.resolve(&value.ty) {
            return self.match_exchange(it, value, extent);
        }
        let at = value.extent;
        let matched = value.ty.clone();
        if self.types.hint(&matched).is_none()
            && !self.types.resolve(&matched).scalar().is_some_and(|s| s.is_integer() || s == Scalar::Bool)
            && self.types.resolve(&matched) != Ty::Wrong
        {
            self.problem(at, "a kernel's `match` is on integers and truth values; write `if` for others");
        }
        let id = self.declare("", matched.clone(), false);
        let mut arms = Vec::new();
        let mut ty: Option<Ty> = None;
        let (mut complete, mut truths) = (false, [false; 2]);
        for arm in &it.arms {
            self.scopes.push(rustc_hash::FxHashMap::default());
            let mut numbers = Vec::new();
            let everything = self.pattern(&arm.pat, &matched, id, &mut numbers);
            let guard = arm.guard.as_ref().map(|(_, guard)| self.condition(guard));
            if guard.is_none() {
                complete |= everything;
                for &(first, last) in &numbers {
                    truths[0] |= first <= 0 && last >= 0;
                    truths[1] |= first <= 1 && last >= 1;
                }
            }
            let value = self.expression(&arm.body);
            self.scopes.pop();
            let joined = match &ty {
                Some(known) => {
                    let known = known.clone();
                    self.joined(&known, &value.ty.clone(), value.extent)
                }
                None => value.ty.clone(),
            };
            ty = Some(joined);
            let numbers = if everything { Vec::new() } else { numbers };
            arms.push(Arm { numbers, guard, value, extent: Extent::of(&arm.pat) });
        }
        complete |= self.types.resolve(&matched) == BOOL && truths == [true; 2];
        if !complete {
            let message = "some values have no arm; add a last arm `_ => …`";
            self.problem(Extent::at(it.match_token.span).to(at), message);
        }
        let ty = ty.unwrap_or(Ty::Unit);
        let choice = Expression { kind: Kind::Match { value: id, arms }, ty: ty.clone(), extent: at };
        let block = Block { statements: vec![Statement::Let(id, value)], value: Some(Box::new(choice)) };
        Expression { kind: Kind::Block(block), ty, extent }
    }

    /// Both outcomes of a `compare_exchange`.
    fn match_exchange(&mut self, it: &syn::ExprMatch, value: Expression, extent: Extent) -> Expression {
        let Some((scalar, exchange)) = self.exchange(value) else {
            return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
        };
        let at = exchange.extent;
        let id = self.declare("", Ty::Exchange(scalar), false);
        let mut ways: [Option<Expression>; 2] = [None, None];
        for arm in &it.arms {
            let Some((wanted, name)) = self.outcome(&arm.pat) else { continue };
            self.scopes.push(rustc_hash::FxHashMap::default());
            let held = self.declare(&name, Ty::Scalar(scalar), false);
            let body = self.expression(&arm.body);
            self.scopes.pop();
            let kind = Kind::Held(id);
            let first = Statement::Let(held, Expression { kind, ty: Ty::Scalar(scalar), extent: at });
            let (ty, extent) = (body.ty.clone(), body.extent);
            let block = Block { statements: vec![first], value: Some(Box::new(body)) };
            ways[usize::from(wanted)] = Some(Expression { kind: Kind::Block(block), ty, extent });
        }
        let [Some(refused), Some(done)] = ways else {
            return self.wrong(at, "write one arm `Ok(…)` and one arm `Err(…)`");
        };
        let ty = self.joined(&done.ty.clone(), &refused.ty.clone(), refused.extent);
        let then = Block { statements: Vec::new(), value: Some(Box::new(done)) };
        let condition = Box::new(exchanged(id, true, at));
        let kind = Kind::If { condition, then, otherwise: Some(Box::new(refused)) };
        let choice = Expression { kind, ty: ty.clone(), extent };
        let block = Block { statements: vec![Statement::Let(id, exchange)], value: Some(Box::new(choice)) };
        Expression { kind: Kind::Block(block), ty, extent }
    }

    /// The numbers of a pattern; whether it matches everything.
    fn pattern(
        &mut self,
        pattern: &syn::Pat,
        matched: &Ty,
        value: crate::tree::LocalId,
        numbers: &mut Vec<(i128, i128)>,
    ) -> bool {
        match pattern {
            syn::Pat::Wild(_) => return true,
            syn::Pat::Paren(inner) => return self.pattern(&inner.pat, matched, value, numbers),
            syn::Pat::Or(or) => {
                let mut everything = false;
                for case in &or.cases {
                    everything |= self.pattern(case, matched, value, numbers);
                }
                return everything;
            }
            syn::Pat::Ident(name) if !self.constants.contains_key(&name.ident.to_string()) => {
                if let Some(scope) = self.scopes.last_mut() {
                    scope.insert(name.ident.to_string(), value);
                }
                return true;
            }
            syn::Pat::Ident(name) => {
                let path: syn::Expr = syn::parse_quote_spanned!(name.ident.span()=> #name);
                numbers.extend(self.number(&path, matched).map(|n| (n, n)));
            }
            syn::Pat::Lit(literal) => {
                numbers.extend(self.number(&syn::Expr::Lit(literal.clone()), matched).map(|n| (n, n)));
            }
            syn::Pat::Const(_) | syn::Pat::Path(_) => {
                self.problem(Extent::of(pattern), "write the constant's plain name");
            }
            syn::Pat::Range(range) => {
                let first = match &range.start {
                    Some(start) => self.number(start, matched),
                    None => Some(i128::MIN),
                };
                let last = match (&range.end, &range.limits) {
                    (Some(end), syn::RangeLimits::Closed(_)) => self.number(end, matched),
                    (Some(end), syn::RangeLimits::HalfOpen(_)) => self.number(end, matched).map(|n| n - 1),
                    (None, _) => Some(i128::MAX),
                };
                numbers.extend(first.zip(last));
            }
            other => {
                let message = "a kernel matches numbers, ranges of them, and `_`";
                self.problem(Extent::of(other), message);
            }
        }
        false
    }

    fn number(&mut self, expression: &syn::Expr, matched: &Ty) -> Option<i128> {
        match constant::evaluate(expression, &self.constants) {
            Ok(constant::Value::Integer(number)) => {
                let integer = self.types.fresh(Hint::Integer);
                self.expect(matched, &integer, Extent::of(expression));
                self.oblige(super::Obligation::Literal(matched.clone(), number), Extent::of(expression));
                Some(number)
            }
            Ok(constant::Value::Bool(truth)) => {
                self.expect(matched, &BOOL, Extent::of(expression));
                Some(i128::from(truth))
            }
            Ok(constant::Value::Float(_)) => {
                self.problem(
                    Extent::of(expression),
                    "floating-point numbers are not matched; compare with `if`",
                );
                None
            }
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

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
        self.oblige(super::Obligation::Integer(first.clone()), start.extent);
        let step = step.map(|step| {
            let step = self.expression(&step);
            self.oblige(super::Obligation::Integer(step.ty.clone()), step.extent);
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

fn exchanged(id: crate::tree::LocalId, wanted: bool, extent: Extent) -> Expression {
    let truth = Expression { kind: Kind::Exchanged(id), ty: BOOL, extent };
    if wanted { truth } else { Expression { kind: Kind::Not(Box::new(truth)), ty: BOOL, extent } }
}

/// The piece of source of what a block gives.
fn value_extent(expression: &Expression) -> Extent {
    match &expression.kind {
        Kind::Block(Block { value: Some(value), .. }) => value_extent(value),
        _ => expression.extent,
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
