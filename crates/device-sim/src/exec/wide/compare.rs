//! Comparisons, for all lanes at once.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "the U forms are true for NaN")]

use std::marker::PhantomData;

use standstill_kernel_ir::{Comparison, Type};

use super::{BITS, Element, f, g, is_word};
use crate::decode::code::{Handler, LANES, Micro, Plane};
use crate::exec::core::{Body, Core, Step, fast};

/// A comparison.
trait Compare {
    type From: Element;
    fn holds(a: Self::From, b: Self::From) -> bool;
}

struct WideCompare<F>(PhantomData<F>);

impl<F: Compare> Body for WideCompare<F> {
    type Output = ();
    #[inline(always)]
    fn body<const AVX: bool>(core: &mut Core<'_>, op: &Micro) {
        let a = F::From::source(core, op.a);
        let b = F::From::source(core, op.b);
        let mut bits = [0u32; LANES];
        for lane in 0..LANES {
            bits[lane] = if F::holds(a[lane], b[lane]) { BITS[lane] } else { 0 };
        }
        let mut value = 0;
        for bit in bits {
            value |= bit;
        }
        core.set_predicate(op.d, value);
    }
}

fn compare<F: Compare>(core: &mut Core<'_>, op: &Micro) -> Step {
    fast::<WideCompare<F>>(core, op);
    Step::Next
}

macro_rules! comparisons {
    ($($name:ident: $from:ty, $a:ident, $b:ident => $body:expr;)*) => {$(
        struct $name;
        impl Compare for $name {
            type From = $from;
            #[inline(always)]
            fn holds($a: $from, $b: $from) -> bool {
                $body
            }
        }
    )*};
}

comparisons! {
    Equal32: u32, a, b => a == b;
    Different32: u32, a, b => a != b;
    LessU32: u32, a, b => a < b;
    LessEqualU32: u32, a, b => a <= b;
    LessS32: u32, a, b => (a as i32) < (b as i32);
    LessEqualS32: u32, a, b => (a as i32) <= (b as i32);
    GreaterU32: u32, a, b => a > b;
    GreaterEqualU32: u32, a, b => a >= b;
    GreaterS32: u32, a, b => (a as i32) > (b as i32);
    GreaterEqualS32: u32, a, b => (a as i32) >= (b as i32);
    Equal64: u64, a, b => a == b;
    Different64: u64, a, b => a != b;
    LessU64: u64, a, b => a < b;
    LessEqualU64: u64, a, b => a <= b;
    LessS64: u64, a, b => (a as i64) < (b as i64);
    LessEqualS64: u64, a, b => (a as i64) <= (b as i64);
    GreaterU64: u64, a, b => a > b;
    GreaterEqualU64: u64, a, b => a >= b;
    GreaterS64: u64, a, b => (a as i64) > (b as i64);
    GreaterEqualS64: u64, a, b => (a as i64) >= (b as i64);
    FloatEqual: u32, a, b => f(a) == f(b);
    FloatDifferent: u32, a, b => f(a) < f(b) || f(a) > f(b);
    FloatLess: u32, a, b => f(a) < f(b);
    FloatLessEqual: u32, a, b => f(a) <= f(b);
    FloatGreater: u32, a, b => f(a) > f(b);
    FloatGreaterEqual: u32, a, b => f(a) >= f(b);
    FloatDifferentOrNan: u32, a, b => f(a) != f(b);
    FloatNotGreaterEqual: u32, a, b => !(f(a) >= f(b));
    FloatNotGreater: u32, a, b => !(f(a) > f(b));
    FloatNotLessEqual: u32, a, b => !(f(a) <= f(b));
    FloatNotLess: u32, a, b => !(f(a) < f(b));
    DoubleEqual: u64, a, b => g(a) == g(b);
    DoubleLess: u64, a, b => g(a) < g(b);
    DoubleLessEqual: u64, a, b => g(a) <= g(b);
    DoubleGreater: u64, a, b => g(a) > g(b);
    DoubleGreaterEqual: u64, a, b => g(a) >= g(b);
    DoubleDifferentOrNan: u64, a, b => g(a) != g(b);
}

/// The handler of a `setp` of one type.
pub(super) fn select(comparison: Comparison, ty: Type, planes: &[Plane]) -> Option<Handler> {
    use Comparison as C;
    let word = is_word(ty) && planes.first() == Some(&Plane::Narrow);
    let long = matches!(ty, Type::B64 | Type::U64 | Type::S64) && planes.first() == Some(&Plane::Wide);
    let float = ty == Type::F32 && planes.first() == Some(&Plane::Narrow);
    let precise = ty == Type::F64 && planes.first() == Some(&Plane::Wide);
    let signed = ty.is_signed();
    let handler: Handler = match comparison {
        C::Eq if word => compare::<Equal32>,
        C::Ne if word => compare::<Different32>,
        C::Lt if word && signed => compare::<LessS32>,
        C::Le if word && signed => compare::<LessEqualS32>,
        C::Gt if word && signed => compare::<GreaterS32>,
        C::Ge if word && signed => compare::<GreaterEqualS32>,
        C::Lt | C::Lo if word && ty == Type::U32 => compare::<LessU32>,
        C::Le | C::Ls if word && ty == Type::U32 => compare::<LessEqualU32>,
        C::Gt | C::Hi if word && ty == Type::U32 => compare::<GreaterU32>,
        C::Ge | C::Hs if word && ty == Type::U32 => compare::<GreaterEqualU32>,
        C::Eq if long => compare::<Equal64>,
        C::Ne if long => compare::<Different64>,
        C::Lt if long && signed => compare::<LessS64>,
        C::Le if long && signed => compare::<LessEqualS64>,
        C::Gt if long && signed => compare::<GreaterS64>,
        C::Ge if long && signed => compare::<GreaterEqualS64>,
        C::Lt | C::Lo if long && ty == Type::U64 => compare::<LessU64>,
        C::Le | C::Ls if long && ty == Type::U64 => compare::<LessEqualU64>,
        C::Gt | C::Hi if long && ty == Type::U64 => compare::<GreaterU64>,
        C::Ge | C::Hs if long && ty == Type::U64 => compare::<GreaterEqualU64>,
        C::Eq if float => compare::<FloatEqual>,
        C::Ne if float => compare::<FloatDifferent>,
        C::Lt if float => compare::<FloatLess>,
        C::Le if float => compare::<FloatLessEqual>,
        C::Gt if float => compare::<FloatGreater>,
        C::Ge if float => compare::<FloatGreaterEqual>,
        C::Neu if float => compare::<FloatDifferentOrNan>,
        C::Ltu if float => compare::<FloatNotGreaterEqual>,
        C::Leu if float => compare::<FloatNotGreater>,
        C::Gtu if float => compare::<FloatNotLessEqual>,
        C::Geu if float => compare::<FloatNotLess>,
        C::Eq if precise => compare::<DoubleEqual>,
        C::Lt if precise => compare::<DoubleLess>,
        C::Le if precise => compare::<DoubleLessEqual>,
        C::Gt if precise => compare::<DoubleGreater>,
        C::Ge if precise => compare::<DoubleGreaterEqual>,
        C::Neu if precise => compare::<DoubleDifferentOrNan>,
        _ => return None,
    };
    Some(handler)
}
