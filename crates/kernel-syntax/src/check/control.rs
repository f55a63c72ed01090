//! Conditions and choices: `if`, `match`, and the two outcomes of `compare_exchange`.

use super::infer::Hint;
use super::{Checker, constant};
use crate::extent::Extent;
use crate::tree::{Arm, Block, Expression, Kind, Statement};
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

    /// A chain of `else if` is walked, not descended into: all of its links end with the same token.
    pub(super) fn if_else(&mut self, first: &syn::ExprIf, extent: Extent) -> Expression {
        let mut links = Vec::new();
        let mut link = first;
        let mut value = loop {
            let extent = if links.is_empty() { extent } else { Extent::at(link.if_token.span).to(extent) };
            if let syn::Expr::Let(binding) = &*link.cond {
                let otherwise = link.else_branch.as_ref().map(|(_, expression)| &**expression);
                break self.if_let(binding, &link.then_branch, otherwise, extent);
            }
            let condition = self.condition(&link.cond);
            let (then, then_type) = self.block(&link.then_branch);
            let Some((_, otherwise)) = &link.else_branch else {
                self.gives_nothing(&then, &then_type);
                let kind = Kind::If { condition: Box::new(condition), then, otherwise: None };
                break Expression { kind, ty: Ty::Unit, extent };
            };
            links.push((condition, then, then_type, extent));
            match &**otherwise {
                syn::Expr::If(next) => link = next,
                other => break self.expression(other),
            }
        };
        while let Some((condition, then, then_type, extent)) = links.pop() {
            let ty = self.joined(&then_type, &value.ty, value_extent(&value));
            let kind = Kind::If { condition: Box::new(condition), then, otherwise: Some(Box::new(value)) };
            value = Expression { kind, ty, extent };
        }
        value
    }

    /// A block behind an `if` without `else` has no value.
    fn gives_nothing(&mut self, then: &Block, then_type: &Ty) {
        let Some(value) = &then.value else { return };
        let found = self.types.resolve(then_type);
        if !matches!(found, Ty::Unit | Ty::Never | Ty::Wrong) {
            let shown = self.types.show(&found);
            let message =
                format!("this gives `{shown}` where the condition holds, and nothing else; add an `else`");
            self.problem(value.extent, message);
        }
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
    pub(super) fn if_let(
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
                    (Some(end), syn::RangeLimits::HalfOpen(_)) => {
                        self.number(end, matched).map(|n| n.saturating_sub(1))
                    }
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
