//! Constants: `const N: usize = 256;`, the lengths of arrays, and patterns.

use rustc_hash::FxHashMap;

use crate::extent::Extent;
use crate::problem::Problem;
use crate::types::Scalar;

/// The value of a constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Integer(i128),
    Float(f64),
    Bool(bool),
}

/// Constants by their names.
pub(crate) type Constants = FxHashMap<String, (Value, Scalar)>;

/// The value of a constant of a type.
pub(crate) fn item(constant: &syn::ItemConst, known: &Constants) -> Result<(Value, Scalar), Problem> {
    let scalar = match &*constant.ty {
        syn::Type::Path(path) => path.path.get_ident().and_then(|name| Scalar::find(&name.to_string())),
        _ => None,
    };
    let Some(scalar) = scalar else {
        return Err(Problem::new(
            Extent::of(&constant.ty),
            "constants of kernels are numbers and truth values; write a type such as `u32` or `f32`",
        ));
    };
    let value = evaluate(&constant.expr, known)?;
    match value {
        Value::Integer(number) if scalar.is_integer() => {
            let (least, greatest) = scalar.range();
            if !(least..=greatest).contains(&number) {
                let message = format!("{number} is out of range for `{}`", scalar.name());
                return Err(Problem::new(Extent::of(&constant.expr), message));
            }
        }
        Value::Float(_) if scalar.is_float() => {}
        Value::Bool(_) if scalar == Scalar::Bool => {}
        _ => {
            let message = format!("the value is not of type `{}`", scalar.name());
            return Err(Problem::new(Extent::of(&constant.expr), message));
        }
    }
    Ok((value, scalar))
}

/// The length of an array.
pub(crate) fn length(expression: &syn::Expr, known: &Constants) -> Result<u64, Problem> {
    let extent = Extent::of(expression);
    match evaluate(expression, known)? {
        Value::Integer(number) if (0..=1 << 30).contains(&number) => Ok(number as u64),
        _ => Err(Problem::new(extent, "the length of an array is a number from 0 to 2^30")),
    }
}

/// The value of an expression of constants.
pub(crate) fn evaluate(expression: &syn::Expr, known: &Constants) -> Result<Value, Problem> {
    let wrong = |message: &str| Err(Problem::new(Extent::of(expression), message));
    match expression {
        syn::Expr::Paren(inner) => evaluate(&inner.expr, known),
        syn::Expr::Group(inner) => evaluate(&inner.expr, known),
        syn::Expr::Cast(cast) => match (evaluate(&cast.expr, known)?, &*cast.ty) {
            (Value::Integer(number), syn::Type::Path(path)) => {
                let scalar = path.path.get_ident().and_then(|name| Scalar::find(&name.to_string()));
                match scalar {
                    Some(scalar) if scalar.is_integer() => Ok(Value::Integer(wrapped(number, scalar))),
                    Some(scalar) if scalar.is_float() => Ok(Value::Float(number as f64)),
                    _ => wrong("this cast is not constant"),
                }
            }
            (value, _) => Ok(value),
        },
        syn::Expr::Lit(literal) => match &literal.lit {
            syn::Lit::Int(number) => match number.base10_parse::<i128>() {
                Ok(number) => Ok(Value::Integer(number)),
                Err(error) => Err(error.into()),
            },
            syn::Lit::Float(number) => match number.base10_parse::<f64>() {
                Ok(number) => Ok(Value::Float(number)),
                Err(error) => Err(error.into()),
            },
            syn::Lit::Bool(value) => Ok(Value::Bool(value.value)),
            _ => wrong("this is neither a number nor a truth value"),
        },
        syn::Expr::Path(path) => match named(&path.path, known) {
            Some((value, _)) => Ok(value),
            None => wrong(
                "this is not a constant that the kernel knows; define it with `const` in the function or in its \
                 `#[kernels]` module",
            ),
        },
        syn::Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => {
            match evaluate(expr, known)? {
                Value::Integer(number) => Ok(Value::Integer(number.saturating_neg())),
                Value::Float(number) => Ok(Value::Float(-number)),
                Value::Bool(_) => wrong("a truth value has no negative"),
            }
        }
        syn::Expr::Binary(binary) => {
            let (left, right) = (evaluate(&binary.left, known)?, evaluate(&binary.right, known)?);
            match operate(&binary.op, left, right) {
                Some(value) => Ok(value),
                None => wrong("this has no constant value"),
            }
        }
        _ => wrong("this is not constant; constants are made of numbers, other constants and operators"),
    }
}

/// The value of a constant: of the kernel's own by its last name, or one such as `f32::MAX`.
pub(crate) fn named(path: &syn::Path, known: &Constants) -> Option<(Value, Scalar)> {
    let mut names = path.segments.iter().rev().map(|segment| segment.ident.to_string());
    let name = names.next()?;
    if let Some(constant) = known.get(&name) {
        return Some(*constant);
    }
    let scalar = Scalar::find(&names.next()?)?;
    if scalar.is_integer() {
        let (least, greatest) = scalar.range();
        return match name.as_str() {
            "MIN" => Some((Value::Integer(least), scalar)),
            "MAX" => Some((Value::Integer(greatest), scalar)),
            "BITS" => Some((Value::Integer(scalar.bits().into()), Scalar::U32)),
            _ => None,
        };
    }
    let (greatest, epsilon) = match scalar {
        Scalar::F32 => (f32::MAX.into(), f32::EPSILON.into()),
        Scalar::F64 => (f64::MAX, f64::EPSILON),
        _ => return None,
    };
    let value = match name.as_str() {
        "MAX" => greatest,
        "MIN" => -greatest,
        "EPSILON" => epsilon,
        "INFINITY" => f64::INFINITY,
        "NEG_INFINITY" => f64::NEG_INFINITY,
        "NAN" => f64::NAN,
        _ => return None,
    };
    Some((Value::Float(value), scalar))
}

/// The low bits of a number, as a type holds them.
pub(crate) fn wrapped(number: i128, scalar: Scalar) -> i128 {
    let bits = scalar.bits();
    let low = number & ((1i128 << bits) - 1);
    if scalar.is_signed() && low >> (bits - 1) & 1 == 1 { low - (1i128 << bits) } else { low }
}

fn operate(op: &syn::BinOp, left: Value, right: Value) -> Option<Value> {
    use syn::BinOp;
    Some(match (left, right) {
        (Value::Integer(a), Value::Integer(b)) => Value::Integer(match op {
            BinOp::Add(_) => a.checked_add(b)?,
            BinOp::Sub(_) => a.checked_sub(b)?,
            BinOp::Mul(_) => a.checked_mul(b)?,
            BinOp::Div(_) => a.checked_div(b)?,
            BinOp::Rem(_) => a.checked_rem(b)?,
            BinOp::BitAnd(_) => a & b,
            BinOp::BitOr(_) => a | b,
            BinOp::BitXor(_) => a ^ b,
            BinOp::Shl(_) => a.checked_shl(u32::try_from(b).ok()?)?,
            BinOp::Shr(_) => a.checked_shr(u32::try_from(b).ok()?)?,
            _ => return None,
        }),
        (Value::Float(a), Value::Float(b)) => Value::Float(match op {
            BinOp::Add(_) => a + b,
            BinOp::Sub(_) => a - b,
            BinOp::Mul(_) => a * b,
            BinOp::Div(_) => a / b,
            _ => return None,
        }),
        _ => return None,
    })
}
