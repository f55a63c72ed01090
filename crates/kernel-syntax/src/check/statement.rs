//! Statements of a block.

use syn::spanned::Spanned;

use super::{Checker, constant, signature};
use crate::extent::Extent;
use crate::tree::{ArrayValue, Block, Expression, Kind, Statement};
use crate::types::Ty;
use crate::unit::Role;

impl Checker<'_> {
    /// Statements with the type of what they give.
    pub(super) fn statements(&mut self, statements: &[syn::Stmt]) -> (Block, Ty) {
        let mut block = Block::default();
        let mut never = false;
        let mut ty = Ty::Unit;
        for (index, statement) in statements.iter().enumerate() {
            match statement {
                syn::Stmt::Local(local) => {
                    let made = self.binding(local);
                    if let Some(Statement::Let(_, value)) = &made {
                        never |= value.ty == Ty::Never;
                    }
                    block.statements.extend(made);
                }
                syn::Stmt::Item(syn::Item::Const(item)) => match constant::item(item, &self.constants) {
                    Ok(value) => drop(self.constants.insert(item.ident.to_string(), value)),
                    Err(problem) => self.problems.push(problem),
                },
                syn::Stmt::Item(syn::Item::Use(_)) => {}
                syn::Stmt::Item(item) => {
                    let message = "only constants stand inside a kernel; move this out of it, helpers into its \
                                   `#[kernels]` module";
                    self.problem(Extent::at(item.span()), message);
                }
                syn::Stmt::Macro(call) => {
                    let value = self.macro_call(&call.mac, Extent::of(&call.mac));
                    never |= value.ty == Ty::Never;
                    block.statements.push(Statement::Expression(value));
                }
                syn::Stmt::Expr(expression, semicolon) => {
                    let value = self.expression(expression);
                    let last = index + 1 == statements.len();
                    never |= self.types.resolve(&value.ty) == Ty::Never;
                    if last && semicolon.is_none() {
                        ty = value.ty.clone();
                        block.value = Some(Box::new(value));
                    } else {
                        if semicolon.is_none() {
                            let (found, extent) = (value.ty.clone(), value.extent);
                            self.expect(&Ty::Unit, &found, extent);
                        }
                        block.statements.push(Statement::Expression(value));
                    }
                }
            }
        }
        if never && block.value.is_none() {
            ty = Ty::Never;
        }
        (block, ty)
    }

    /// `let`
    fn binding(&mut self, local: &syn::Local) -> Option<Statement> {
        let (pattern, annotated) = match &local.pat {
            syn::Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            other => (other, None),
        };
        let annotated = match annotated.map(|ty| signature::read(ty, &self.constants)) {
            Some(Ok(ty)) => Some(ty),
            Some(Err(problem)) => {
                self.problems.push(problem);
                Some(Ty::Wrong)
            }
            None => None,
        };
        let (name, mutable) = match pattern {
            syn::Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                (name.ident.to_string(), name.mutability.is_some())
            }
            syn::Pat::Wild(_) => (String::new(), false),
            other => {
                self.problem(
                    Extent::of(other),
                    "a kernel's `let` names one variable; write one `let` for each",
                );
                return None;
            }
        };
        let Some(initial) = &local.init else {
            let message = "give the variable a value here; a kernel's variables always have one";
            self.problem(Extent::of(pattern), message);
            self.declare(&name, annotated.unwrap_or(Ty::Wrong), mutable);
            return None;
        };
        if let Some((token, _)) = &initial.diverge {
            self.problem(
                Extent::at(token.span()),
                "`let … else` is not part of kernels; write `if` or `match`",
            );
        }
        let extent = Extent::of(&initial.expr);
        if let Some(element) = self.tile_array(&initial.expr) {
            let ty = element.unwrap_or(Ty::Wrong);
            if let Some(annotated) = annotated {
                self.expect(&annotated, &ty, extent);
            }
            if self.role == Role::Device {
                let message = "tile arrays belong to the kernel; make it there and hand it on as a slice";
                self.problem(extent, message);
            }
            let id = self.declare(&name, ty, mutable);
            return Some(Statement::LetArray(id, None, extent));
        }
        if let Some((value, ty)) = self.array(&initial.expr) {
            if let Some(annotated) = annotated {
                self.expect_array(&annotated, &ty, extent);
            }
            let id = self.declare(&name, ty, mutable);
            return Some(Statement::LetArray(id, Some(value), extent));
        }
        let value = self.expression(&initial.expr);
        if let Some(annotated) = &annotated {
            let found = value.ty.clone();
            self.expect(annotated, &found, value.extent);
        }
        let ty = match (annotated, self.types.resolve(&value.ty)) {
            (Some(annotated), _) => annotated,
            (None, Ty::Never) => Ty::Wrong,
            (None, Ty::Unit) if !name.is_empty() => {
                self.problem(value.extent, "this gives nothing that a variable could hold");
                Ty::Wrong
            }
            (None, _) => value.ty.clone(),
        };
        let id = self.declare(&name, ty, mutable);
        Some(Statement::Let(id, value))
    }

    fn expect_array(&mut self, wanted: &Ty, found: &Ty, extent: Extent) {
        match (wanted, found) {
            (Ty::Array(a, n), Ty::Array(b, m)) if n == m => self.expect_array(a, b, extent),
            _ => drop(self.expect(wanted, found, extent)),
        }
    }

    /// `[x; N]` or `[a, b, c]` with its type; `None` for anything else.
    fn array(&mut self, expression: &syn::Expr) -> Option<(ArrayValue, Ty)> {
        match expression {
            syn::Expr::Paren(inner) => self.array(&inner.expr),
            syn::Expr::Repeat(repeat) => {
                let length = match constant::length(&repeat.len, &self.constants) {
                    Ok(length) => length,
                    Err(problem) => {
                        self.problems.push(problem);
                        1
                    }
                };
                let (value, ty) = self.element(&repeat.expr);
                let everywhere = match value {
                    ArrayValue::Repeat(value) | ArrayValue::Element(value) => value,
                    ArrayValue::List(_) => {
                        let message =
                            "only one value can be repeated; write the inner array as `[x; N]`, too";
                        self.wrong(Extent::of(&repeat.expr), message)
                    }
                };
                Some((ArrayValue::Repeat(everywhere), Ty::Array(Box::new(ty), length)))
            }
            syn::Expr::Array(array) => {
                let mut values = Vec::new();
                let mut element: Option<Ty> = None;
                for one in &array.elems {
                    let (value, ty) = self.element(one);
                    match &element {
                        Some(known) => {
                            let known = known.clone();
                            self.expect_array(&known, &ty, Extent::of(one));
                        }
                        None => element = Some(ty),
                    }
                    values.push(value);
                }
                let length = values.len() as u64;
                let Some(element) = element else {
                    self.problem(Extent::of(array), "an array without elements holds nothing; leave it out");
                    return Some((ArrayValue::List(values), Ty::Wrong));
                };
                Some((ArrayValue::List(values), Ty::Array(Box::new(element), length)))
            }
            _ => None,
        }
    }

    fn element(&mut self, expression: &syn::Expr) -> (ArrayValue, Ty) {
        if let Some(array) = self.array(expression) {
            return array;
        }
        let value: Expression = self.expression(expression);
        let ty = self.types.resolve(&value.ty);
        if !matches!(ty, Ty::Scalar(_) | Ty::Variable(_) | Ty::Wrong | Ty::Never) {
            let shown = ty.to_string();
            self.problem(value.extent, format!("an array of a kernel holds numbers, this is `{shown}`"));
        }
        (ArrayValue::Element(value), ty)
    }

    /// `assert!(…)`, `panic!()` and the like.
    pub(super) fn macro_call(&mut self, call: &syn::Macro, extent: Extent) -> Expression {
        let name = call.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        match name.as_str() {
            "panic" | "unreachable" | "todo" | "unimplemented" => {
                Expression { kind: Kind::Stop, ty: Ty::Never, extent }
            }
            "assert" | "debug_assert" => {
                let first = call.parse_body_with(
                    syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated,
                );
                let condition = match first.map(|list| list.into_iter().next()) {
                    Ok(Some(condition)) => self.condition(&condition),
                    Ok(None) => return self.wrong(extent, "`assert!` needs a condition"),
                    Err(error) => {
                        self.problems.push(error.into());
                        return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
                    }
                };
                let stop = Expression { kind: Kind::Stop, ty: Ty::Never, extent };
                let then = Block { statements: vec![Statement::Expression(stop)], value: None };
                let at = condition.extent;
                let not =
                    Expression { kind: Kind::Not(Box::new(condition)), ty: Ty::Scalar(crate::types::Scalar::Bool), extent: at };
                let kind = Kind::If { condition: Box::new(not), then, otherwise: None };
                Expression { kind, ty: Ty::Unit, extent }
            }
            "println" | "print" | "eprintln" | "eprint" | "dbg" => self.wrong(
                extent,
                "a kernel does not print; write what is of interest to a `&mut [T]` parameter and print it on the host",
            ),
            _ => self.wrong(
                extent,
                format!("`{name}!` is not part of kernels; `assert!`, `panic!` and `unreachable!` are"),
            ),
        }
    }
}
