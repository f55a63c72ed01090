//! Operators and assignments.

use super::{Checker, Obligation};
use crate::extent::Extent;
use crate::tree::{Binary, Comparison, Expression, Kind};
use crate::types::{Scalar, Ty};

const BOOL: Ty = Ty::Scalar(Scalar::Bool);

/// What a binary operator does.
enum Operator {
    Value(Binary),
    Update(Binary),
    Compare(Comparison),
    Lazy { and: bool },
}

fn operator(op: &syn::BinOp) -> Option<Operator> {
    use syn::BinOp;
    Some(match op {
        BinOp::Add(_) => Operator::Value(Binary::Add),
        BinOp::Sub(_) => Operator::Value(Binary::Subtract),
        BinOp::Mul(_) => Operator::Value(Binary::Multiply),
        BinOp::Div(_) => Operator::Value(Binary::Divide),
        BinOp::Rem(_) => Operator::Value(Binary::Remainder),
        BinOp::BitAnd(_) => Operator::Value(Binary::And),
        BinOp::BitOr(_) => Operator::Value(Binary::Or),
        BinOp::BitXor(_) => Operator::Value(Binary::Xor),
        BinOp::Shl(_) => Operator::Value(Binary::ShiftLeft),
        BinOp::Shr(_) => Operator::Value(Binary::ShiftRight),
        BinOp::AddAssign(_) => Operator::Update(Binary::Add),
        BinOp::SubAssign(_) => Operator::Update(Binary::Subtract),
        BinOp::MulAssign(_) => Operator::Update(Binary::Multiply),
        BinOp::DivAssign(_) => Operator::Update(Binary::Divide),
        BinOp::RemAssign(_) => Operator::Update(Binary::Remainder),
        BinOp::BitAndAssign(_) => Operator::Update(Binary::And),
        BinOp::BitOrAssign(_) => Operator::Update(Binary::Or),
        BinOp::BitXorAssign(_) => Operator::Update(Binary::Xor),
        BinOp::ShlAssign(_) => Operator::Update(Binary::ShiftLeft),
        BinOp::ShrAssign(_) => Operator::Update(Binary::ShiftRight),
        BinOp::Eq(_) => Operator::Compare(Comparison::Equal),
        BinOp::Ne(_) => Operator::Compare(Comparison::NotEqual),
        BinOp::Lt(_) => Operator::Compare(Comparison::Less),
        BinOp::Le(_) => Operator::Compare(Comparison::LessOrEqual),
        BinOp::Gt(_) => Operator::Compare(Comparison::Greater),
        BinOp::Ge(_) => Operator::Compare(Comparison::GreaterOrEqual),
        BinOp::And(_) => Operator::Lazy { and: true },
        BinOp::Or(_) => Operator::Lazy { and: false },
        _ => return None,
    })
}

impl Checker<'_> {
    pub(super) fn unary(&mut self, it: &syn::ExprUnary, extent: Extent) -> Expression {
        match it.op {
            syn::UnOp::Deref(_) => self.read(&syn::Expr::Unary(it.clone()), extent),
            syn::UnOp::Neg(_) => {
                // `-128i8` is one literal.
                if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(_), .. }) = &*it.expr {
                    let value = self.expression(&it.expr);
                    if let Kind::Integer(number) = value.kind {
                        if let Some((Obligation::Literal(_, kept), at)) = self.obligations.last_mut() {
                            (*kept, *at) = (-number, extent);
                        }
                        return Expression { kind: Kind::Integer(-number), ty: value.ty, extent };
                    }
                    return value;
                }
                let value = self.expression(&it.expr);
                self.oblige(Obligation::Negative(value.ty.clone()), extent);
                let ty = value.ty.clone();
                Expression { kind: Kind::Negate(Box::new(value)), ty, extent }
            }
            syn::UnOp::Not(_) => {
                let value = self.expression(&it.expr);
                self.oblige(Obligation::Bits(value.ty.clone()), extent);
                let ty = value.ty.clone();
                Expression { kind: Kind::Not(Box::new(value)), ty, extent }
            }
            _ => self.wrong(extent, "this operator is not part of kernels"),
        }
    }

    pub(super) fn binary(&mut self, it: &syn::ExprBinary, extent: Extent) -> Expression {
        match operator(&it.op) {
            Some(Operator::Value(operation)) => {
                let left = self.expression(&it.left);
                let right = self.expression(&it.right);
                let ty = self.operands(operation, &left, &right);
                Expression { kind: Kind::Binary(operation, Box::new(left), Box::new(right)), ty, extent }
            }
            Some(Operator::Compare(comparison)) => {
                let left = self.expression(&it.left);
                let right = self.expression(&it.right);
                let (first, second) = (left.ty.clone(), right.ty.clone());
                if self.expect(&first, &second, right.extent)
                    && !matches!(
                        self.types.resolve(&first),
                        Ty::Scalar(_) | Ty::Variable(_) | Ty::Wrong | Ty::Never
                    )
                {
                    let shown = self.types.show(&first);
                    self.problem(extent, format!("`{shown}` cannot be compared"));
                }
                Expression {
                    kind: Kind::Compare(comparison, Box::new(left), Box::new(right)),
                    ty: BOOL,
                    extent,
                }
            }
            Some(Operator::Lazy { and }) => {
                let left = self.condition(&it.left);
                let right = self.condition(&it.right);
                let kind = Kind::Lazy { and, left: Box::new(left), right: Box::new(right) };
                Expression { kind, ty: BOOL, extent }
            }
            Some(Operator::Update(operation)) => {
                let right = self.expression(&it.right);
                let Some((place, ty)) = self.written(&it.left) else {
                    return Expression { kind: Kind::Wrong, ty: Ty::Unit, extent };
                };
                let left = Expression { kind: Kind::Wrong, ty, extent: place.extent };
                self.operands(operation, &left, &right);
                Expression { kind: Kind::Update(operation, place, Box::new(right)), ty: Ty::Unit, extent }
            }
            None => self.wrong(extent, "this operator is not part of kernels"),
        }
    }

    /// What must hold of the operands; gives the type of the result.
    fn operands(&mut self, operation: Binary, left: &Expression, right: &Expression) -> Ty {
        let obligation = match operation {
            Binary::ShiftLeft | Binary::ShiftRight => {
                self.oblige(Obligation::Integer(left.ty.clone()), left.extent);
                self.oblige(Obligation::Integer(right.ty.clone()), right.extent);
                return left.ty.clone();
            }
            Binary::And | Binary::Or | Binary::Xor => Obligation::Bits(left.ty.clone()),
            _ => Obligation::Number(left.ty.clone()),
        };
        if self.expect(&left.ty.clone(), &right.ty.clone(), right.extent) {
            self.oblige(obligation, left.extent);
        }
        if self.types.resolve(&left.ty) == Ty::Never { right.ty.clone() } else { left.ty.clone() }
    }

    pub(super) fn assign(&mut self, it: &syn::ExprAssign, extent: Extent) -> Expression {
        if matches!(&*it.left, syn::Expr::Infer(_)) {
            let value = self.expression(&it.right);
            let block = crate::tree::Block {
                statements: vec![crate::tree::Statement::Expression(value)],
                value: None,
            };
            return Expression { kind: Kind::Block(block), ty: Ty::Unit, extent };
        }
        let value = self.expression(&it.right);
        let Some((place, ty)) = self.written(&it.left) else {
            return Expression { kind: Kind::Wrong, ty: Ty::Unit, extent };
        };
        self.expect(&ty, &value.ty.clone(), value.extent);
        Expression { kind: Kind::Assign(place, Box::new(value)), ty: Ty::Unit, extent }
    }
}
