//! Expressions: which construct is checked where, literals, names and calls.

use super::infer::Hint;
use super::{Checker, Obligation, constant, signature};
use crate::extent::Extent;
use crate::tree::{Block, Expression, Kind};
use crate::types::{Scalar, Ty};

impl Checker<'_> {
    pub(super) fn expression(&mut self, expression: &syn::Expr) -> Expression {
        let extent = Extent::of_expression(expression);
        match expression {
            syn::Expr::Paren(it) => self.expression(&it.expr),
            syn::Expr::Group(it) => self.expression(&it.expr),
            syn::Expr::Lit(it) => self.literal(&it.lit, extent),
            syn::Expr::Path(_) | syn::Expr::Index(_) => self.read(expression, extent),
            syn::Expr::Reference(it) => self.borrow(it, extent),
            syn::Expr::Field(it) => self.field(it, extent),
            syn::Expr::Unary(it) => self.unary(it, extent),
            syn::Expr::Binary(it) => self.binary(it, extent),
            syn::Expr::Assign(it) => self.assign(it, extent),
            syn::Expr::Cast(it) => self.cast(it, extent),
            syn::Expr::Call(it) => self.call(it, extent),
            syn::Expr::MethodCall(it) => self.method(it, extent),
            syn::Expr::Macro(it) => self.macro_call(&it.mac, extent),
            syn::Expr::Block(it) if it.label.is_none() => self.block_value(&it.block, extent),
            syn::Expr::Unsafe(it) => self
                .wrong(Extent::at(it.unsafe_token.span), "kernels have no `unsafe`; every access is checked"),
            syn::Expr::If(it) => self.if_else(it, extent),
            syn::Expr::Match(it) => self.match_on(it, extent),
            syn::Expr::Loop(it) => self.forever(it, extent),
            syn::Expr::While(it) => self.while_loop(it, extent),
            syn::Expr::ForLoop(it) => self.for_loop(it, extent),
            syn::Expr::Break(it) => self.leave(it, extent),
            syn::Expr::Continue(it) => self.next(it, extent),
            syn::Expr::Return(it) => self.give_back(it, extent),
            syn::Expr::Tuple(it) if it.elems.is_empty() => {
                Expression { kind: Kind::Unit, ty: Ty::Unit, extent }
            }
            other => self.wrong(extent, outside(other)),
        }
    }

    fn block_value(&mut self, block: &syn::Block, extent: Extent) -> Expression {
        let (block, ty) = self.block(block);
        Expression { kind: Kind::Block(block), ty, extent }
    }

    fn literal(&mut self, literal: &syn::Lit, extent: Extent) -> Expression {
        match literal {
            syn::Lit::Int(number) => {
                let ty = match number.suffix() {
                    "" => self.types.fresh(Hint::Integer),
                    suffix => match Scalar::find(suffix) {
                        Some(scalar) => Ty::Scalar(scalar),
                        None => {
                            return self.wrong(
                                extent,
                                format!("there are no numbers of type `{suffix}` in kernels"),
                            );
                        }
                    },
                };
                match number.base10_parse::<i128>() {
                    Ok(value) if ty.scalar().is_some_and(Scalar::is_float) => {
                        Expression { kind: Kind::Float(value as f64), ty, extent }
                    }
                    Ok(value) => {
                        self.oblige(Obligation::Literal(ty.clone(), value), extent);
                        Expression { kind: Kind::Integer(value), ty, extent }
                    }
                    Err(error) => self.wrong(extent, error.to_string()),
                }
            }
            syn::Lit::Float(number) => {
                let ty = match number.suffix() {
                    "" => self.types.fresh(Hint::Float),
                    suffix => match Scalar::find(suffix) {
                        Some(scalar) => Ty::Scalar(scalar),
                        None => {
                            return self.wrong(
                                extent,
                                format!("there are no numbers of type `{suffix}` in kernels"),
                            );
                        }
                    },
                };
                match number.base10_parse::<f64>() {
                    Ok(value) => Expression { kind: Kind::Float(value), ty, extent },
                    Err(error) => self.wrong(extent, error.to_string()),
                }
            }
            syn::Lit::Bool(truth) => {
                Expression { kind: Kind::Bool(truth.value), ty: Ty::Scalar(Scalar::Bool), extent }
            }
            _ => self
                .wrong(extent, "kernels have numbers and truth values; letters and texts stay on the host"),
        }
    }

    /// The value of a constant, such as `N` or `f32::MAX`.
    pub(super) fn constant(&mut self, path: &syn::Path, extent: Extent) -> Option<Expression> {
        let (value, scalar) = constant::named(path, &self.constants)?;
        let kind = match value {
            constant::Value::Integer(number) => Kind::Integer(number),
            constant::Value::Float(number) => Kind::Float(number),
            constant::Value::Bool(truth) => Kind::Bool(truth),
        };
        Some(Expression { kind, ty: Ty::Scalar(scalar), extent })
    }

    fn cast(&mut self, it: &syn::ExprCast, extent: Extent) -> Expression {
        let value = self.expression(&it.expr);
        let to = match signature::read(&it.ty, &self.constants) {
            Ok(Ty::Scalar(to)) => to,
            Ok(_) => return self.wrong(Extent::of(&it.ty), "`as` converts between numbers"),
            Err(problem) => {
                self.problems.push(problem);
                return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
            }
        };
        let wanted = Ty::Scalar(to);
        match (self.types.hint(&value.ty), self.types.resolve(&value.ty)) {
            // A literal takes the type at once, as it does in Rust.
            (Some(Hint::Integer), from) if to.is_integer() => drop(self.types.unify(&from, &wanted)),
            (Some(Hint::Float), from) if to.is_float() => drop(self.types.unify(&from, &wanted)),
            (Some(_), _) | (None, Ty::Wrong | Ty::Never) => {}
            (None, Ty::Scalar(from)) => {
                let message = match (from, to) {
                    (Scalar::Bool, to) if to.is_float() => Some(format!(
                        "convert the truth value to an integer first, as in `x as u32 as {}`",
                        to.name()
                    )),
                    (from, Scalar::Bool) if from != Scalar::Bool => {
                        Some("a number is no truth value; compare it, as in `x != 0`".to_owned())
                    }
                    _ => None,
                };
                if let Some(message) = message {
                    return self.wrong(extent, message);
                }
            }
            (None, other) => return self.wrong(value.extent, format!("`{other}` is not a number")),
        }
        Expression { kind: Kind::Cast(Box::new(value)), ty: wanted, extent }
    }

    fn call(&mut self, it: &syn::ExprCall, extent: Extent) -> Expression {
        let syn::Expr::Path(path) = &*it.func else {
            return self.wrong(Extent::of(&it.func), "only functions are called by name in kernels");
        };
        let names: Vec<String> = path.path.segments.iter().map(|s| s.ident.to_string()).collect();
        let at = Extent::of(&path.path);
        if let [.., ty, name] = names.as_slice()
            && let Some(scalar) = Scalar::find(ty)
        {
            return self.associated(scalar, name, &it.args, extent);
        }
        let Some(name) = names.last() else { return self.wrong(at, "this is no function") };
        if let Some(id) = path.path.get_ident().and_then(|name| self.find(&name.to_string()))
            && let Ty::Function(parameters, result) = self.local_type(id)
        {
            let arguments = self.arguments(name, &it.args, parameters.into_iter().map(Ty::Scalar), extent);
            return Expression { kind: Kind::CallParameter(id, arguments), ty: Ty::Scalar(result), extent };
        }
        let Some(index) = self.signatures.iter().position(|s| s.name == *name) else {
            return self.wrong(
                at,
                format!(
                    "the kernel does not know `{name}`; write it as a `#[device]` function, and put it and the kernel \
                     into one `#[kernels] mod`"
                ),
            );
        };
        let signatures = self.signatures;
        let Some(signature) = signatures.get(index) else { return self.wrong(at, "this is no function") };
        if signature.role == crate::unit::Role::Kernel {
            let message = format!(
                "`{name}` is a kernel, which only the host launches; move what both need to a `#[device]` function"
            );
            return self.wrong(at, message);
        }
        let wanted = signature.parameters.iter().map(|parameter| parameter.ty.clone());
        let arguments = self.arguments(name, &it.args, wanted, extent);
        let ty = signature.result.map_or(Ty::Unit, Ty::Scalar);
        Expression { kind: Kind::Call(index, arguments), ty, extent }
    }

    /// The arguments of a call; none after saying that their number is wrong.
    fn arguments(
        &mut self,
        name: &str,
        given: &syn::punctuated::Punctuated<syn::Expr, syn::Token![,]>,
        wanted: impl ExactSizeIterator<Item = Ty>,
        extent: Extent,
    ) -> Vec<Expression> {
        if wanted.len() != given.len() {
            let (takes, given) = (wanted.len(), given.len());
            self.problem(extent, format!("`{name}` takes {takes} arguments, {given} are given"));
            return Vec::new();
        }
        let mut arguments = Vec::new();
        for (argument, wanted) in given.iter().zip(wanted) {
            let value = self.expression(argument);
            self.expect(&wanted, &value.ty.clone(), value.extent);
            arguments.push(value);
        }
        arguments
    }
}

/// Why a construct is not part of kernels, and what to write instead.
fn outside(expression: &syn::Expr) -> &'static str {
    match expression {
        syn::Expr::Closure(_) => "kernels have no closures; write a `#[device]` function",
        syn::Expr::Struct(_) => "kernels have no structures; keep their fields in slices of their own",
        syn::Expr::Tuple(_) => "kernels have no tuples; keep their parts in variables of their own",
        syn::Expr::Array(_) | syn::Expr::Repeat(_) => "give the array a name first: `let mut a = [0.0; 8];`",
        syn::Expr::Range(_) => "a range stands in `for`, or in a borrow such as `&a[i..j]`",
        syn::Expr::Try(_) => "kernels have no `?`; take the result apart with `match`",
        syn::Expr::Let(_) => "`if let` stands alone; nest the other conditions",
        syn::Expr::Async(_) | syn::Expr::Await(_) => "kernels do not wait for futures",
        syn::Expr::Block(_) => "a block of a kernel has no label; label a `loop`",
        _ => "this is not part of kernels",
    }
}

/// A block that first sets a variable.
pub(super) fn with_variable(id: crate::tree::LocalId, value: Expression, then: Expression) -> Expression {
    let (ty, extent) = (then.ty.clone(), then.extent);
    let block =
        Block { statements: vec![crate::tree::Statement::Let(id, value)], value: Some(Box::new(then)) };
    Expression { kind: Kind::Block(block), ty, extent }
}
