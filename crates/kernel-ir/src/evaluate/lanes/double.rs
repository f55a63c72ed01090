//! Double precision.

use super::{LaneFunction, Lanes, Quick};
use crate::evaluate::float::nan_of;
use crate::evaluate::softfloat::Format;
use crate::{Arithmetic, ArithmeticFlags as Flags, BooleanOperation, Comparison, Operation};

/// Gives NaNs their payload, after the quick way has given any NaN.
#[cold]
fn mend(sources: &[&Lanes], result: &mut Lanes) {
    for (lane, slot) in result.iter_mut().enumerate() {
        if f64::from_bits(*slot).is_nan() {
            let mut operands = [0; 3];
            for (operand, source) in operands.iter_mut().zip(sources) {
                *operand = source.get(lane).copied().unwrap_or(0);
            }
            *slot = nan_of(Format::F64, operands.get(..sources.len()).unwrap_or(&operands));
        }
    }
}

macro_rules! of_double {
    (binary $function:expr) => {
        of_double!(binary $function, false)
    };
    // Whether the first source's NaN goes first.
    (binary $function:expr, $reversed:expr) => {{
        let function: LaneFunction = |sources, result| {
            if let &[a, b] = sources {
                let mut nan = false;
                for ((result, &a), &b) in result.iter_mut().zip(a).zip(b) {
                    let value: f64 = $function(f64::from_bits(a), f64::from_bits(b));
                    nan |= value.is_nan();
                    *result = value.to_bits();
                }
                if nan {
                    mend(&if $reversed { [b, a] } else { [a, b] }, result);
                }
            }
        };
        (function, 2)
    }};
    (ternary $function:expr) => {{
        let function: LaneFunction = |sources, result| {
            if let &[a, b, c] = sources {
                let mut nan = false;
                for (((result, &a), &b), &c) in result.iter_mut().zip(a).zip(b).zip(c) {
                    let value: f64 = $function(f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
                    nan |= value.is_nan();
                    *result = value.to_bits();
                }
                if nan {
                    mend(sources, result);
                }
            }
        };
        (function, 3)
    }};
}

#[allow(clippy::double_comparisons, reason = "a NaN is neither")]
pub(super) fn quick(arithmetic: &Arithmetic) -> Option<Quick> {
    if arithmetic.flags.0 & !Flags::NEAREST != 0 {
        return None;
    }
    Some(match arithmetic.operation {
        Operation::Setp if arithmetic.combine == BooleanOperation::None => {
            return test_floats!(arithmetic, f64::from_bits);
        }
        Operation::Add => of_double!(binary |a: f64, b: f64| a + b),
        Operation::Sub => of_double!(binary |a: f64, b: f64| a - b),
        Operation::Mul => of_double!(binary |a: f64, b: f64| a * b),
        Operation::Div => of_double!(binary |a: f64, b: f64| a / b, true),
        Operation::Fma => of_double!(ternary f64::mul_add),
        _ => return None,
    })
}
