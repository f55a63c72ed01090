//! The commonest arithmetic, for all lanes at once.
//!
//! The meaning of every operation is `kernel_ir::evaluate`; what stands here are forms of it that a compiler
//! makes vector code of. [`select`] gives one only for an exact combination of operation, types and
//! modifiers, and a test compares each with `evaluate` bit for bit. Everything else goes through
//! [`super::general`].

use standstill_kernel_ir::{Arithmetic, ArithmeticFlags as Flags, BooleanOperation, Operation, Type};

mod compare;

use std::marker::PhantomData;

use super::core::{Body, Core, Step, fast};
use crate::decode::code::{Handler, LANES, Micro, Plane};
use crate::memory::region::Word;

/// One bit for each lane.
const BITS: [u32; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// Stores a result in the active lanes.
#[inline(always)]
fn store<T: Copy>(into: &mut [T; LANES], value: &[T; LANES], active: u32, all: bool) {
    if all {
        *into = *value;
    } else {
        for lane in 0..LANES {
            into[lane] = if active & BITS[lane] != 0 { value[lane] } else { into[lane] };
        }
    }
}

/// A function of one, two or three values.
trait Function<const N: usize> {
    type From: Copy;
    type To: Copy + Default;
    fn apply(values: [Self::From; N]) -> Self::To;
}

/// A type that a plane of registers holds.
pub(super) trait Element: Word {
    fn source<'c>(core: &'c Core<'_>, slot: crate::decode::code::Slot) -> &'c [Self; LANES];
    fn destination<'c>(core: &'c mut Core<'_>, slot: crate::decode::code::Slot) -> &'c mut [Self; LANES];
}

impl Element for u32 {
    #[inline(always)]
    fn source<'c>(core: &'c Core<'_>, slot: crate::decode::code::Slot) -> &'c [u32; LANES] {
        core.narrow(slot)
    }
    #[inline(always)]
    fn destination<'c>(core: &'c mut Core<'_>, slot: crate::decode::code::Slot) -> &'c mut [u32; LANES] {
        core.narrow_mut(slot)
    }
}

impl Element for u64 {
    #[inline(always)]
    fn source<'c>(core: &'c Core<'_>, slot: crate::decode::code::Slot) -> &'c [u64; LANES] {
        core.wide(slot)
    }
    #[inline(always)]
    fn destination<'c>(core: &'c mut Core<'_>, slot: crate::decode::code::Slot) -> &'c mut [u64; LANES] {
        core.wide_mut(slot)
    }
}

struct Map<F, const N: usize>(PhantomData<F>);

impl<F: Function<N>, const N: usize> Body for Map<F, N>
where
    F::From: Element,
    F::To: Element,
{
    type Output = ();
    #[inline(always)]
    fn body<const AVX: bool>(core: &mut Core<'_>, op: &Micro) {
        let slots = [op.a, op.b, op.c];
        let sources: [&[F::From; LANES]; N] =
            std::array::from_fn(|source| F::From::source(core, slots[source]));
        let mut out = [F::To::default(); LANES];
        for lane in 0..LANES {
            out[lane] = F::apply(std::array::from_fn(|source| sources[source][lane]));
        }
        let (active, all) = (core.active, core.all_active());
        store(F::To::destination(core, op.d), &out, active, all);
    }
}

/// A function of `N` values, in every lane.
fn map<F: Function<N>, const N: usize>(core: &mut Core<'_>, op: &Micro) -> Step
where
    F::From: Element,
    F::To: Element,
{
    fast::<Map<F, N>>(core, op);
    Step::Next
}

/// `mad.wide`: narrow factors, a wide addend.
struct WideWidening<const SIGNED: bool>;

impl<const SIGNED: bool> Body for WideWidening<SIGNED> {
    type Output = ();
    #[inline(always)]
    fn body<const AVX: bool>(core: &mut Core<'_>, op: &Micro) {
        let (a, b, c) = (core.narrow(op.a), core.narrow(op.b), core.wide(op.c));
        let mut out = [0; LANES];
        for lane in 0..LANES {
            let product = if SIGNED {
                i64::from(a[lane] as i32).wrapping_mul(i64::from(b[lane] as i32)) as u64
            } else {
                u64::from(a[lane]) * u64::from(b[lane])
            };
            out[lane] = product.wrapping_add(c[lane]);
        }
        let (active, all) = (core.active, core.all_active());
        store(core.wide_mut(op.d), &out, active, all);
    }
}

fn widening<const SIGNED: bool>(core: &mut Core<'_>, op: &Micro) -> Step {
    fast::<WideWidening<SIGNED>>(core, op);
    Step::Next
}

struct WideChoose<T>(PhantomData<T>);

impl<T: Element> Body for WideChoose<T> {
    type Output = ();
    #[inline(always)]
    fn body<const AVX: bool>(core: &mut Core<'_>, op: &Micro) {
        let chosen = core.predicate(op.c);
        let (a, b) = (T::source(core, op.a), T::source(core, op.b));
        let mut out = [T::default(); LANES];
        for lane in 0..LANES {
            out[lane] = if chosen & BITS[lane] != 0 { a[lane] } else { b[lane] };
        }
        let (active, all) = (core.active, core.all_active());
        store(T::destination(core, op.d), &out, active, all);
    }
}

fn choose<T: Element>(core: &mut Core<'_>, op: &Micro) -> Step {
    fast::<WideChoose<T>>(core, op);
    Step::Next
}

/// `and`, `or`, `xor`, `not`, `mov` of predicates.
fn logic<const OPERATION: u8>(core: &mut Core<'_>, op: &Micro) -> Step {
    let a = core.predicate(op.a);
    let value = match OPERATION {
        0 => a,
        1 => !a,
        2 => a & core.predicate(op.b),
        3 => a | core.predicate(op.b),
        _ => a ^ core.predicate(op.b),
    };
    core.set_predicate(op.d, value);
    Step::Next
}

macro_rules! functions {
    ($($name:ident($($value:ident),+): $from:ty => $to:ty = $body:expr;)*) => {$(
        struct $name;
        impl Function<{ [$(stringify!($value)),+].len() }> for $name {
            type From = $from;
            type To = $to;
            #[inline(always)]
            fn apply([$($value),+]: [$from; [$(stringify!($value)),+].len()]) -> $to {
                $body
            }
        }
    )*};
}

#[inline(always)]
fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// A single-precision result: hardware has one NaN.
#[inline(always)]
fn single(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

#[inline(always)]
fn g(bits: u64) -> f64 {
    f64::from_bits(bits)
}

functions! {
    Move32(a): u32 => u32 = a;
    Move64(a): u64 => u64 = a;
    Not32(a): u32 => u32 = !a;
    Not64(a): u64 => u64 = !a;
    Negate32(a): u32 => u32 = a.wrapping_neg();
    Negate64(a): u64 => u64 = a.wrapping_neg();
    Absolute32(a): u32 => u32 = (a as i32).wrapping_abs() as u32;
    Add32(a, b): u32 => u32 = a.wrapping_add(b);
    Add64(a, b): u64 => u64 = a.wrapping_add(b);
    Subtract32(a, b): u32 => u32 = a.wrapping_sub(b);
    Subtract64(a, b): u64 => u64 = a.wrapping_sub(b);
    Multiply32(a, b): u32 => u32 = a.wrapping_mul(b);
    Multiply64(a, b): u64 => u64 = a.wrapping_mul(b);
    MultiplyHighU(a, b): u32 => u32 = ((u64::from(a) * u64::from(b)) >> 32) as u32;
    MultiplyHighS(a, b): u32 => u32 = ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32;
    WideU(a, b): u32 => u64 = u64::from(a) * u64::from(b);
    WideS(a, b): u32 => u64 = i64::from(a as i32).wrapping_mul(i64::from(b as i32)) as u64;
    MultiplyAdd32(a, b, c): u32 => u32 = a.wrapping_mul(b).wrapping_add(c);
    MultiplyAdd64(a, b, c): u64 => u64 = a.wrapping_mul(b).wrapping_add(c);
    MinimumU32(a, b): u32 => u32 = a.min(b);
    MinimumS32(a, b): u32 => u32 = (a as i32).min(b as i32) as u32;
    MaximumU32(a, b): u32 => u32 = a.max(b);
    MaximumS32(a, b): u32 => u32 = (a as i32).max(b as i32) as u32;
    And32(a, b): u32 => u32 = a & b;
    And64(a, b): u64 => u64 = a & b;
    Or32(a, b): u32 => u32 = a | b;
    Or64(a, b): u64 => u64 = a | b;
    Xor32(a, b): u32 => u32 = a ^ b;
    Xor64(a, b): u64 => u64 = a ^ b;
    ShiftLeft32(a, b): u32 => u32 = if b > 31 { 0 } else { a << (b & 31) };
    ShiftRightU32(a, b): u32 => u32 = if b > 31 { 0 } else { a >> (b & 31) };
    ShiftRightS32(a, b): u32 => u32 = ((a as i32) >> b.min(31)) as u32;
    UnsignedToWide(a): u32 => u64 = a.into();
    SignedToWide(a): u32 => u64 = i64::from(a as i32) as u64;
    WideToNarrow(a): u64 => u32 = a as u32;
    SignedToSingle(a): u32 => u32 = (a as i32 as f32).to_bits();
    UnsignedToSingle(a): u32 => u32 = (a as f32).to_bits();
    SignedToDouble(a): u32 => u64 = f64::from(a as i32).to_bits();
    SingleToSigned(a): u32 => u32 = f(a) as i32 as u32;
    FloatAdd(a, b): u32 => u32 = single(f(a) + f(b));
    FloatSubtract(a, b): u32 => u32 = single(f(a) - f(b));
    FloatMultiply(a, b): u32 => u32 = single(f(a) * f(b));
    FloatFused(a, b, c): u32 => u32 = single(f(a).mul_add(f(b), f(c)));
    FloatDivide(a, b): u32 => u32 = single(f(a) / f(b));
    FloatRoot(a): u32 => u32 = single(f(a).sqrt());
    FloatReciprocal(a): u32 => u32 = single(1.0 / f(a));
    FloatNegate(a): u32 => u32 = single(-f(a));
    FloatAbsolute(a): u32 => u32 = single(f(a).abs());
    DoubleNegate(a): u64 => u64 = (-g(a)).to_bits();
    DoubleAbsolute(a): u64 => u64 = g(a).abs().to_bits();
}

struct WideDouble<const N: usize, F>(PhantomData<F>);

impl<const N: usize, F: Function<N, From = u64, To = u64>> Body for WideDouble<N, F> {
    type Output = bool;
    #[inline(always)]
    fn body<const AVX: bool>(core: &mut Core<'_>, op: &Micro) -> bool {
        let rows = [op.a, op.b, op.c];
        let mut values = [[0u64; LANES]; N];
        for (row, slot) in values.iter_mut().zip(rows) {
            *row = *core.wide(slot);
        }
        let mut out = [0; LANES];
        let mut ordinary = true;
        for lane in 0..LANES {
            out[lane] = F::apply(values.map(|row| row[lane]));
            ordinary &= !g(out[lane]).is_nan();
        }
        if ordinary {
            let (active, all) = (core.active, core.all_active());
            store(core.wide_mut(op.d), &out, active, all);
        }
        ordinary
    }
}

/// Double precision keeps the payload of NaNs, which the general form knows about.
fn double<const N: usize, F: Function<N, From = u64, To = u64>>(core: &mut Core<'_>, op: &Micro) -> Step {
    let clean = fast::<WideDouble<N, F>>(core, op);
    if clean { Step::Next } else { super::general::arithmetic(core, op) }
}

functions! {
    DoubleAdd(a, b): u64 => u64 = (g(a) + g(b)).to_bits();
    DoubleSubtract(a, b): u64 => u64 = (g(a) - g(b)).to_bits();
    DoubleMultiply(a, b): u64 => u64 = (g(a) * g(b)).to_bits();
    DoubleFused(a, b, c): u64 => u64 = g(a).mul_add(g(b), g(c)).to_bits();
}

/// A form for all lanes at once, when there is one for exactly this operation. `sources` are the planes of the
/// sources that are present; `results` the number of destinations that are.
pub(crate) fn select(
    arithmetic: &Arithmetic,
    to: Plane,
    sources: &[Plane],
    results: usize,
) -> Option<Handler> {
    use Plane::{Narrow, Predicate, Wide};
    let Arithmetic { operation, ty, from, comparison, combine, flags } = *arithmetic;
    if results != 1 {
        return None;
    }
    if operation == Operation::Setp {
        let plain = combine == BooleanOperation::None && flags == Flags::default() && to == Predicate;
        return if plain && matches!(sources, [a, b] if a == b) {
            compare::select(comparison, ty, sources)
        } else {
            None
        };
    }
    let bits = ty.bits();
    let rows: &[Plane] = sources;
    let plain = flags == Flags::default();
    let low = flags.0 == Flags::LOW;
    let high = flags.0 == Flags::HIGH;
    let wide = flags.0 == Flags::WIDE;
    let nearest = plain || flags.0 == Flags::NEAREST;
    let named = flags.0 == Flags::NEAREST;
    let signed = ty.is_signed();
    let integer = !ty.is_float() && ty != Type::Pred;
    use Operation as O;
    let handler: Handler = match (operation, to, rows) {
        (O::Mov, Narrow, [Narrow]) if bits == 32 => map::<Move32, 1>,
        (O::Mov | O::Cvta, Wide, [Wide]) if bits == 64 => map::<Move64, 1>,
        (O::Mov, Predicate, [Predicate]) => logic::<0>,
        (O::Not, Predicate, [Predicate]) => logic::<1>,
        (O::And, Predicate, [Predicate, Predicate]) => logic::<2>,
        (O::Or, Predicate, [Predicate, Predicate]) => logic::<3>,
        (O::Xor, Predicate, [Predicate, Predicate]) => logic::<4>,
        (O::Selp, Narrow, [Narrow, Narrow, Predicate]) if bits == 32 => choose::<u32>,
        (O::Selp, Wide, [Wide, Wide, Predicate]) if bits == 64 => choose::<u64>,
        (O::Not, Narrow, [Narrow]) if bits == 32 => map::<Not32, 1>,
        (O::Not, Wide, [Wide]) if bits == 64 => map::<Not64, 1>,
        (O::And, Narrow, [Narrow, Narrow]) if bits == 32 => map::<And32, 2>,
        (O::And, Wide, [Wide, Wide]) if bits == 64 => map::<And64, 2>,
        (O::Or, Narrow, [Narrow, Narrow]) if bits == 32 => map::<Or32, 2>,
        (O::Or, Wide, [Wide, Wide]) if bits == 64 => map::<Or64, 2>,
        (O::Xor, Narrow, [Narrow, Narrow]) if bits == 32 => map::<Xor32, 2>,
        (O::Xor, Wide, [Wide, Wide]) if bits == 64 => map::<Xor64, 2>,
        (O::Shl, Narrow, [Narrow, Narrow]) if bits == 32 => map::<ShiftLeft32, 2>,
        (O::Shr, Narrow, [Narrow, Narrow]) if bits == 32 && signed => map::<ShiftRightS32, 2>,
        (O::Shr, Narrow, [Narrow, Narrow]) if bits == 32 => map::<ShiftRightU32, 2>,
        (O::Neg, Narrow, [Narrow]) if bits == 32 && integer && plain => map::<Negate32, 1>,
        (O::Neg, Wide, [Wide]) if bits == 64 && integer && plain => map::<Negate64, 1>,
        (O::Abs, Narrow, [Narrow]) if ty == Type::S32 && plain => map::<Absolute32, 1>,
        (O::Add, Narrow, [Narrow, Narrow]) if bits == 32 && is_word(ty) && plain => map::<Add32, 2>,
        (O::Add, Wide, [Wide, Wide]) if bits == 64 && integer && plain => map::<Add64, 2>,
        (O::Sub, Narrow, [Narrow, Narrow]) if bits == 32 && is_word(ty) && plain => map::<Subtract32, 2>,
        (O::Sub, Wide, [Wide, Wide]) if bits == 64 && integer && plain => map::<Subtract64, 2>,
        (O::Mul, Narrow, [Narrow, Narrow]) if is_word(ty) && low => map::<Multiply32, 2>,
        (O::Mul, Wide, [Wide, Wide]) if bits == 64 && integer && low => map::<Multiply64, 2>,
        (O::Mul, Narrow, [Narrow, Narrow]) if ty == Type::U32 && high => map::<MultiplyHighU, 2>,
        (O::Mul, Narrow, [Narrow, Narrow]) if ty == Type::S32 && high => map::<MultiplyHighS, 2>,
        (O::Mul, Wide, [Narrow, Narrow]) if ty == Type::U32 && wide => map::<WideU, 2>,
        (O::Mul, Wide, [Narrow, Narrow]) if ty == Type::S32 && wide => map::<WideS, 2>,
        (O::Mad, Narrow, [Narrow, Narrow, Narrow]) if is_word(ty) && low => map::<MultiplyAdd32, 3>,
        (O::Mad, Wide, [Wide, Wide, Wide]) if bits == 64 && integer && low => map::<MultiplyAdd64, 3>,
        (O::Mad, Wide, [Narrow, Narrow, Wide]) if ty == Type::U32 && wide => widening::<false>,
        (O::Mad, Wide, [Narrow, Narrow, Wide]) if ty == Type::S32 && wide => widening::<true>,
        (O::Min, Narrow, [Narrow, Narrow]) if ty == Type::U32 && plain => map::<MinimumU32, 2>,
        (O::Min, Narrow, [Narrow, Narrow]) if ty == Type::S32 && plain => map::<MinimumS32, 2>,
        (O::Max, Narrow, [Narrow, Narrow]) if ty == Type::U32 && plain => map::<MaximumU32, 2>,
        (O::Max, Narrow, [Narrow, Narrow]) if ty == Type::S32 && plain => map::<MaximumS32, 2>,
        (O::Cvt, Wide, [Narrow]) if bits == 64 && integer && from == Type::U32 && plain => {
            map::<UnsignedToWide, 1>
        }
        (O::Cvt, Wide, [Narrow]) if bits == 64 && integer && from == Type::S32 && plain => {
            map::<SignedToWide, 1>
        }
        (O::Cvt, Narrow, [Wide]) if is_word(ty) && from.bits() == 64 && !from.is_float() && plain => {
            map::<WideToNarrow, 1>
        }
        (O::Cvt, Narrow, [Narrow]) if ty == Type::F32 && from == Type::S32 && named => {
            map::<SignedToSingle, 1>
        }
        (O::Cvt, Narrow, [Narrow]) if ty == Type::F32 && from == Type::U32 && named => {
            map::<UnsignedToSingle, 1>
        }
        (O::Cvt, Wide, [Narrow]) if ty == Type::F64 && from == Type::S32 && named => map::<SignedToDouble, 1>,
        (O::Cvt, Narrow, [Narrow])
            if ty == Type::S32 && from == Type::F32 && flags.0 == Flags::ZERO_INTEGER =>
        {
            map::<SingleToSigned, 1>
        }
        (O::Add, Narrow, [Narrow, Narrow]) if ty == Type::F32 && nearest => map::<FloatAdd, 2>,
        (O::Sub, Narrow, [Narrow, Narrow]) if ty == Type::F32 && nearest => map::<FloatSubtract, 2>,
        (O::Mul, Narrow, [Narrow, Narrow]) if ty == Type::F32 && nearest => map::<FloatMultiply, 2>,
        (O::Fma, Narrow, [Narrow, Narrow, Narrow]) if ty == Type::F32 && named => map::<FloatFused, 3>,
        (O::Div, Narrow, [Narrow, Narrow]) if ty == Type::F32 && named => map::<FloatDivide, 2>,
        (O::Sqrt, Narrow, [Narrow]) if ty == Type::F32 && named => map::<FloatRoot, 1>,
        (O::Rcp, Narrow, [Narrow]) if ty == Type::F32 && named => map::<FloatReciprocal, 1>,
        (O::Neg, Narrow, [Narrow]) if ty == Type::F32 && plain => map::<FloatNegate, 1>,
        (O::Abs, Narrow, [Narrow]) if ty == Type::F32 && plain => map::<FloatAbsolute, 1>,
        (O::Neg, Wide, [Wide]) if ty == Type::F64 && plain => double::<1, DoubleNegate>,
        (O::Abs, Wide, [Wide]) if ty == Type::F64 && plain => double::<1, DoubleAbsolute>,
        (O::Add, Wide, [Wide, Wide]) if ty == Type::F64 && nearest => double::<2, DoubleAdd>,
        (O::Sub, Wide, [Wide, Wide]) if ty == Type::F64 && nearest => double::<2, DoubleSubtract>,
        (O::Mul, Wide, [Wide, Wide]) if ty == Type::F64 && nearest => double::<2, DoubleMultiply>,
        (O::Fma, Wide, [Wide, Wide, Wide]) if ty == Type::F64 && named => double::<3, DoubleFused>,
        _ => return None,
    };
    Some(handler)
}

/// A 32-bit integer type of one element.
fn is_word(ty: Type) -> bool {
    matches!(ty, Type::B32 | Type::U32 | Type::S32)
}
