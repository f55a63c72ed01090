//! What arithmetic instructions compute: the scalar semantics of [`Arithmetic`], by the PTX ISA.
//!
//! Values are held in the low bits of a `u64`. Of a source only the bits of the operation's type count,
//! whatever stands above them. Results of signed integer types are sign-extended to 64 bits, all others
//! zero-extended, so that the low bits are right for a destination register of any width (PTX ISA,
//! «Operand Size Exceeding Instruction-Type Size»); see [`keep`]. Predicates are 0 or 1.
//!
//! [`evaluate`] is for analyses: `None` means that the value is not known, since it is unspecified by the ISA,
//! approximate in hardware (`.approx`, `sin` and the like), dependent on the machine (`isspacep`,
//! `mapa`), or not modelled. [`execute`] is for engines: it also gives the best value where the ISA
//! promises only a bound of the error, or nothing while the cards all do the same ([`approximate`]).
//!
//! What the ISA leaves open and hardware does in one way is done that way: single-precision NaNs are
//! `0x7fffffff`, signed division of the least value by -1 wraps around, remainders take the sign of the
//! dividend. Double-precision NaNs keep the payload of a NaN operand: of the
//! second, else the third, else the first.
//!
//! [`atomic`] is what atomics write, [`warp`] what operations across a warp give, [`lanes`] the same
//! semantics for 32 lanes at a time.

pub mod approximate;
pub mod atomic;
mod bits;
mod compare;
mod convert;
pub(crate) mod float;
mod integer;
pub mod lanes;
pub mod mbarrier;
pub(crate) mod narrow;
pub(crate) mod softfloat;
#[cfg(test)]
mod tests;
mod video;
pub mod warp;

use crate::{Arithmetic, ArithmeticFlags, Operation, Type};

/// The values of an instruction's destinations, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Results {
    values: [u64; 4],
    count: u8,
}

impl Results {
    #[inline]
    fn one(value: u64) -> Results {
        Results { values: [value, 0, 0, 0], count: 1 }
    }

    fn two(first: u64, second: u64) -> Results {
        Results { values: [first, second, 0, 0], count: 2 }
    }
}

impl std::ops::Deref for Results {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        self.values.get(..usize::from(self.count)).unwrap_or(&[])
    }
}

/// Computes an instruction where its value is certain. `sources` are the values of its sources in order,
/// negated predicates already negated; `destinations` is the number of destinations, absent ones included,
/// which matters to a `mov` that takes a value apart. There may be more results than destinations: a `setp`
/// always has two.
#[inline]
pub fn evaluate(arithmetic: &Arithmetic, sources: &[u64], destinations: usize) -> Option<Results> {
    if arithmetic.flags.has(ArithmeticFlags::OTHER) {
        return None;
    }
    exact(arithmetic, sources, destinations)
}

/// Computes an instruction as [`evaluate`] does, and with the best known value where that is none:
/// approximate functions, division by zero, and the rest of [`approximate`]. `None` stays for what depends on
/// the machine and for what is not modelled.
#[inline]
pub fn execute(arithmetic: &Arithmetic, sources: &[u64], destinations: usize) -> Option<Results> {
    if arithmetic.flags.has(ArithmeticFlags::OTHER) && !arithmetic.flags.has(ArithmeticFlags::MODELLED) {
        return None;
    }
    exact(arithmetic, sources, destinations)
        .or_else(|| approximate::value(arithmetic, sources).map(Results::one))
}

/// The value that the ISA and the facts above determine.
#[inline]
fn exact(arithmetic: &Arithmetic, sources: &[u64], destinations: usize) -> Option<Results> {
    let ty = arithmetic.ty;
    match arithmetic.operation {
        Operation::Mov => move_value(ty, sources, destinations),
        Operation::Cvt => convert::convert(arithmetic, sources).map(Results::one),
        Operation::Cvta => match *sources {
            [address] => Some(Results::one(extend(address, ty))),
            _ => None,
        },
        Operation::Setp => compare::set_predicate(arithmetic, sources),
        Operation::Set => compare::set(arithmetic, sources).map(Results::one),
        Operation::Selp | Operation::Slct => compare::select(arithmetic, sources).map(Results::one),
        Operation::Testp => compare::test_property(arithmetic, sources).map(Results::one),
        Operation::Mul | Operation::Mad if arithmetic.flags.has(ArithmeticFlags::TWENTY_FOUR) => {
            integer::multiply_24(arithmetic, sources).map(Results::one)
        }
        Operation::Dp4a | Operation::Dp2a => integer::dot_product(arithmetic, sources).map(Results::one),
        Operation::And
        | Operation::Or
        | Operation::Xor
        | Operation::Not
        | Operation::Cnot
        | Operation::Lop3
        | Operation::Shl
        | Operation::Shr
        | Operation::Shf
        | Operation::Prmt
        | Operation::Popc
        | Operation::Clz
        | Operation::Bfind
        | Operation::Fns
        | Operation::Brev
        | Operation::Bfe
        | Operation::Bfi
        | Operation::Bmsk
        | Operation::Szext => {
            if matches!(ty.bits(), 1..=64) {
                bits::bits(arithmetic, sources)
            } else {
                None
            }
        }
        Operation::Add
        | Operation::Sub
        | Operation::Mul
        | Operation::Mad
        | Operation::Sad
        | Operation::Div
        | Operation::Rem
        | Operation::Abs
        | Operation::Neg
        | Operation::Min
        | Operation::Max
        | Operation::AddCarry
        | Operation::SubCarry
        | Operation::MadCarry
        | Operation::Fma
        | Operation::Rcp
        | Operation::Sqrt
        | Operation::Copysign => numeric(arithmetic, sources),
        Operation::Video(operation) => video::value(operation, arithmetic, sources).map(Results::one),
        Operation::Mapa
        | Operation::GetCtaRank
        | Operation::Isspacep
        | Operation::Rsqrt
        | Operation::Sin
        | Operation::Cos
        | Operation::Lg2
        | Operation::Ex2
        | Operation::Tanh => None,
    }
}

/// Arithmetic on numbers: integers, floating point, or packed lanes of either.
#[inline]
fn numeric(arithmetic: &Arithmetic, sources: &[u64]) -> Option<Results> {
    let ty = arithmetic.ty;
    if let Some((lane, width)) = packed(ty) {
        let &[a, ref rest @ ..] = sources else { return None };
        let second = |index: usize| rest.get(index).copied().unwrap_or(0);
        let scalar = Arithmetic { ty: lane, ..*arithmetic };
        let inputs = [a, second(0), second(1)];
        let low = numeric(&scalar, inputs.get(..sources.len())?)?;
        let inputs = inputs.map(|value| value >> width);
        let high = numeric(&scalar, inputs.get(..sources.len())?)?;
        let (low, high) = (low.first().copied()?, high.first().copied()?);
        return Some(Results::one(unsigned(low, width) | unsigned(high, width) << width));
    }
    if ty.is_float() {
        return float::arithmetic(arithmetic, sources).map(Results::one);
    }
    if matches!(ty.bits(), 8..=64) { integer::arithmetic(arithmetic, sources) } else { None }
}

/// A copy, parts put together (the first lowest), or a value taken apart.
fn move_value(ty: Type, sources: &[u64], destinations: usize) -> Option<Results> {
    let width = ty.bits();
    if !matches!(width, 1..=64) {
        return None;
    }
    match (sources, destinations) {
        (&[value], 0 | 1) => Some(Results::one(extend(value, ty))),
        (&[value], 2 | 4) => {
            let part = width / destinations as u32;
            let values =
                [0, 1, 2, 3].map(|index| unsigned(value.checked_shr(index * part).unwrap_or(0), part));
            Some(Results { values, count: destinations as u8 })
        }
        (parts, 0 | 1) if matches!(parts.len(), 2 | 4) => {
            let part = width / parts.len() as u32;
            let value =
                parts.iter().rev().fold(0u64, |value, &next| value.wrapping_shl(part) | unsigned(next, part));
            Some(Results::one(extend(value, ty)))
        }
        _ => None,
    }
}

/// What a register of a type keeps of a value: the low bits, zero above. Registers wider than 64 bits
/// keep 64.
#[inline]
pub fn keep(value: u64, register: Type) -> u64 {
    match register.bits() {
        0 | 64.. => value,
        bits => unsigned(value, bits),
    }
}

/// The low bits of a value as an unsigned number. `bits` is 1 to 64.
#[inline]
fn unsigned(value: u64, bits: u32) -> u64 {
    value & (u64::MAX >> (64 - bits.clamp(1, 64)))
}

/// The low bits of a value as a signed number. `bits` is 1 to 64.
#[inline]
pub fn signed(value: u64, bits: u32) -> i64 {
    let unused = 64 - bits.clamp(1, 64);
    ((value << unused) as i64) >> unused
}

/// The low bits of a value that a type has, extended by the type's sign.
#[inline]
pub fn extend(value: u64, ty: Type) -> u64 {
    if ty.is_signed() { signed(value, ty.bits()) as u64 } else { unsigned(value, ty.bits()) }
}

/// The least and the greatest value of an integer type.
fn range(ty: Type) -> (i128, i128) {
    let bits = ty.bits().clamp(1, 64);
    if ty.is_signed() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    }
}

/// The type of one lane of a packed type, and its width in bits.
fn packed(ty: Type) -> Option<(Type, u32)> {
    match ty {
        Type::F16x2 => Some((Type::F16, 16)),
        Type::Bf16x2 => Some((Type::Bf16, 16)),
        Type::U16x2 => Some((Type::U16, 16)),
        Type::S16x2 => Some((Type::S16, 16)),
        Type::F32x2 => Some((Type::F32, 32)),
        Type::E4m3x2 => Some((Type::E4m3, 8)),
        Type::E5m2x2 => Some((Type::E5m2, 8)),
        Type::E2m3x2 => Some((Type::E2m3, 8)),
        Type::E3m2x2 => Some((Type::E3m2, 8)),
        Type::E2m1x2 => Some((Type::E2m1, 4)),
        _ => None,
    }
}
