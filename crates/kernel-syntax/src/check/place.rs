//! Places: variables, elements, borrows.

use super::{Checker, Obligation};
use crate::extent::Extent;
use crate::tree::{Expression, Kind, Location};
use crate::types::{Scalar, Ty};

/// A place with its type.
pub(super) struct Found {
    pub(super) location: Location,
    pub(super) ty: Ty,
    /// Why it cannot be written to, and what to write instead.
    pub(super) fixed: Option<String>,
}

impl Checker<'_> {
    /// The place that an expression names; `None` after saying what is wrong.
    pub(super) fn place(&mut self, expression: &syn::Expr) -> Option<Found> {
        let extent = Extent::of_expression(expression);
        match expression {
            syn::Expr::Paren(inner) => self.place(&inner.expr),
            syn::Expr::Group(inner) => self.place(&inner.expr),
            syn::Expr::Path(path) => self.variable(&path.path, extent),
            syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Deref(_), expr, .. }) => {
                let found = self.place(expr)?;
                match found.ty {
                    Ty::Reference(to, mutable) => {
                        let name =
                            self.local(found.location.base).map_or_else(String::new, |l| l.name.clone());
                        let fixed = (!mutable).then(|| {
                            format!(
                                "`{name}` is a shared reference; take it as `&mut {to}` to write through it"
                            )
                        });
                        let location = Location { extent, ..found.location };
                        Some(Found { location, ty: *to, fixed })
                    }
                    Ty::Wrong => None,
                    other => {
                        let shown = self.types.show(&other);
                        self.problem(extent, format!("`{shown}` is not a reference; leave the `*` out"));
                        None
                    }
                }
            }
            syn::Expr::Index(it) => self.element_of(it, extent),
            syn::Expr::Field(it) => {
                self.problem(Extent::of(&it.member), "kernels have no structures; only `space` has fields");
                None
            }
            _ => {
                self.problem(extent, "this is not a place; give the value a name with `let` first");
                None
            }
        }
    }

    fn variable(&mut self, path: &syn::Path, extent: Extent) -> Option<Found> {
        let Some(name) = path.get_ident().map(ToString::to_string) else {
            self.problem(extent, "the kernel does not know this name");
            return None;
        };
        let Some(id) = self.find(&name) else {
            let message = format!(
                "the kernel does not know `{name}`; kernels see their parameters, their variables, and constants of \
                 the function or of its `#[kernels]` module"
            );
            self.problem(extent, message);
            return None;
        };
        let ty = self.local_type(id);
        let mutable = self.local(id).is_some_and(|local| local.mutable);
        let fixed = (!mutable).then(|| format!("`{name}` is not mutable; declare it with `mut {name}`"));
        let location = Location { base: id, indices: Vec::new(), extent };
        Some(Found { location, ty, fixed })
    }

    fn element_of(&mut self, it: &syn::ExprIndex, extent: Extent) -> Option<Found> {
        let found = self.place(&it.expr);
        if let syn::Expr::Range(_) = &*it.index {
            self.problem(extent, "a part of a slice is borrowed: write `&a[i..j]` or `&mut a[i..j]`");
            return None;
        }
        let index = self.expression(&it.index);
        self.oblige(Obligation::Index(index.ty.clone()), index.extent);
        let Found { mut location, ty, fixed } = found?;
        let name = self.local(location.base).map_or_else(String::new, |local| local.name.clone());
        let (element, fixed) = match self.types.resolve(&ty) {
            Ty::Array(element, length) => {
                if let Kind::Integer(number) = index.kind
                    && !(0..i128::from(length)).contains(&number)
                {
                    self.problem(
                        index.extent,
                        format!("the array has {length} elements; the last is {}", length.saturating_sub(1)),
                    );
                }
                (element, fixed)
            }
            Ty::Slice(element, mutable) => {
                let fixed = (!mutable).then(|| {
                    format!("`{name}` is a shared slice; take it as `&mut [{element}]` to write to it")
                });
                (element, fixed)
            }
            Ty::Wrong => return None,
            other => {
                let shown = self.types.show(&other);
                self.problem(extent, format!("`{shown}` has no elements"));
                return None;
            }
        };
        location.indices.push(index);
        location.extent = extent;
        Some(Found { location, ty: *element, fixed })
    }

    /// A place that is written to, with its type.
    pub(super) fn written(&mut self, expression: &syn::Expr) -> Option<(Location, Ty)> {
        let Found { location, ty, fixed } = self.place(expression)?;
        match self.types.resolve(&ty) {
            Ty::Scalar(_) | Ty::Variable(_) => {}
            Ty::Wrong => return None,
            Ty::Atomic(_) => {
                self.problem(
                    location.extent,
                    "an atomic is written with `store(value, Relaxed)`, or with `Release`",
                );
                return None;
            }
            Ty::Reference(..) => {
                self.problem(location.extent, "write `*` before the reference");
                return None;
            }
            other => {
                self.problem(
                    location.extent,
                    format!("`{other}` cannot be assigned as a whole; assign its elements"),
                );
                return None;
            }
        }
        if let Some(message) = fixed {
            self.problem(location.extent, message);
        }
        Some((location, ty))
    }

    /// The value of a place, or of a constant.
    pub(super) fn read(&mut self, expression: &syn::Expr, extent: Extent) -> Expression {
        if let syn::Expr::Path(path) = expression
            && (path.path.get_ident().is_none_or(|name| self.find(&name.to_string()).is_none()))
            && let Some(constant) = self.constant(&path.path, extent)
        {
            return constant;
        }
        if let Some(helper) = self.helper(expression, extent) {
            return helper;
        }
        let Some(Found { location, ty, .. }) = self.place(expression) else {
            return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
        };
        match self.types.resolve(&ty) {
            Ty::Slice(..) | Ty::Reference(..) => {
                Expression { kind: Kind::Borrow(location, None), ty, extent }
            }
            Ty::Space => Expression { kind: Kind::Unit, ty, extent },
            Ty::Atomic(_) => self.wrong(extent, "an atomic is read with `load(Relaxed)`, or with `Acquire`"),
            Ty::Array(..) => {
                self.wrong(extent, "an array is not handed on whole; borrow it with `&` or `&mut`")
            }
            _ => Expression { kind: Kind::Read(location), ty, extent },
        }
    }

    /// A helper as an argument.
    fn helper(&self, expression: &syn::Expr, extent: Extent) -> Option<Expression> {
        let syn::Expr::Path(path) = expression else { return None };
        let name = path.path.get_ident()?.to_string();
        if self.find(&name).is_some() {
            return None;
        }
        let index = self.signatures.iter().position(|signature| signature.name == name)?;
        let ty = self.signatures.get(index)?.function()?;
        Some(Expression { kind: Kind::Helper(index), ty, extent })
    }

    /// `&place`, `&mut place`, `&place[i..j]`
    pub(super) fn borrow(&mut self, it: &syn::ExprReference, extent: Extent) -> Expression {
        let mutable = it.mutability.is_some();
        let (inner, range) = match &*it.expr {
            syn::Expr::Index(index) => match &*index.index {
                syn::Expr::Range(range) => (&*index.expr, Some(range)),
                _ => (&*it.expr, None),
            },
            other => (other, None),
        };
        let Some(Found { location, ty, fixed }) = self.place(inner) else {
            return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent };
        };
        let fixed = match self.types.resolve(&ty) {
            Ty::Slice(element, false) => {
                Some(format!("this is a shared slice; take it as `&mut [{element}]` to write to it"))
            }
            Ty::Slice(_, true) => None,
            _ => fixed,
        };
        if let (true, Some(message)) = (mutable, fixed) {
            self.problem(location.extent, message);
        }
        let range = range.map(|range| self.bounds(range));
        let borrowed = match (self.types.resolve(&ty), &range) {
            (Ty::Array(element, _) | Ty::Slice(element, _), _) => Ty::Slice(element, mutable),
            (to @ (Ty::Scalar(_) | Ty::Variable(_) | Ty::Atomic(_)), None) => {
                Ty::Reference(Box::new(to), mutable)
            }
            (Ty::Wrong, _) => return Expression { kind: Kind::Wrong, ty: Ty::Wrong, extent },
            (other, _) => {
                let shown = self.types.show(&other);
                return self.wrong(extent, format!("`{shown}` cannot be borrowed like this"));
            }
        };
        Expression { kind: Kind::Borrow(location, range.map(Box::new)), ty: borrowed, extent }
    }

    /// The ends of a range in a borrow; the second is absent where the range goes to the end.
    fn bounds(&mut self, range: &syn::ExprRange) -> (Expression, Option<Expression>) {
        let mut one = |expression: &syn::Expr| {
            let value = self.expression(expression);
            self.oblige(Obligation::Index(value.ty.clone()), value.extent);
            value
        };
        let start = range.start.as_deref().map(&mut one);
        let end = range.end.as_deref().map(&mut one);
        if matches!(range.limits, syn::RangeLimits::Closed(_)) {
            self.problem(Extent::of(range), "write the range with an exclusive end, as in `i..j + 1`");
        }
        let zero =
            Expression { kind: Kind::Integer(0), ty: Ty::Scalar(Scalar::Usize), extent: Extent::of(range) };
        (start.unwrap_or(zero), end)
    }
}
