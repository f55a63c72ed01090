//! A value as «thread part plus uniform part».

use std::rc::Rc;

/// A value as a part that only depends on the thread's place in its block, plus a part that all threads of
/// the block agree on and that is a multiple of `divisor` (0: there is none).
#[derive(Debug, Clone)]
pub(super) struct Split {
    /// The least thread part.
    pub(super) lowest: i64,
    /// The greatest thread part.
    pub(super) highest: i64,
    /// The thread part of every thread.
    pub(super) parts: Rc<[i64]>,
    /// What the uniform part is a multiple of.
    pub(super) divisor: u64,
}

impl Split {
    /// An exact value.
    pub(super) fn of(vector: &[u64]) -> Option<Split> {
        let parts: Rc<[i64]> = vector.iter().map(|&bits| i64::from(bits as u32 as i32)).collect();
        Self::from_parts(parts, 0)
    }

    fn from_parts(parts: Rc<[i64]>, divisor: u64) -> Option<Split> {
        let (lowest, highest) = (*parts.iter().min()?, *parts.iter().max()?);
        Some(Split { lowest, highest, parts, divisor })
    }

    /// A constant.
    pub(super) fn exact(threads: u32, constant: i64) -> Split {
        Split {
            lowest: constant,
            highest: constant,
            parts: vec![constant; threads as usize].into(),
            divisor: 0,
        }
    }

    /// A value that all threads of the block agree on, of which only a divisor is known.
    pub(super) fn uniform(threads: u32, divisor: u64) -> Split {
        Split { divisor, ..Self::exact(threads, 0) }
    }

    fn join(&self, other: &Split, with: impl Fn(i64, i64) -> Option<i64>) -> Option<Split> {
        let parts: Option<Rc<[i64]>> =
            self.parts.iter().zip(other.parts.iter()).map(|(&a, &b)| with(a, b)).collect();
        Self::from_parts(parts?, gcd(self.divisor, other.divisor))
    }

    /// The sum.
    pub(super) fn plus(&self, other: &Split) -> Option<Split> {
        self.join(other, i64::checked_add)
    }

    /// The difference.
    pub(super) fn minus(&self, other: &Split) -> Option<Split> {
        self.join(other, i64::checked_sub)
    }

    /// The product with a constant.
    pub(super) fn times(&self, factor: i64) -> Option<Split> {
        let parts: Option<Rc<[i64]>> = self.parts.iter().map(|part| part.checked_mul(factor)).collect();
        Self::from_parts(parts?, self.divisor.checked_mul(factor.unsigned_abs())?)
    }

    /// The quotient, rounded down, where the uniform part is a multiple of the divisor. Loop bounds count
    /// upwards from zero, so that rounding down and towards zero are the same.
    pub(super) fn divided_by(&self, by: i64) -> Option<Split> {
        let whole = u64::try_from(by).ok()?;
        if !self.divisor.is_multiple_of(whole) {
            return None;
        }
        Self::from_parts(self.parts.iter().map(|part| part.div_euclid(by)).collect(), self.divisor / whole)
    }

    /// The product of two uniform values, or of a uniform one with an exact one.
    pub(super) fn times_uniform(&self, other: &Split) -> Option<Split> {
        let exact = |split: &Split| split.divisor == 0 && split.lowest == split.highest;
        if exact(other) {
            return self.times(other.lowest);
        }
        if exact(self) {
            return other.times(self.lowest);
        }
        let plain = |split: &Split| split.lowest == 0 && split.highest == 0;
        (plain(self) && plain(other))
            .then(|| Split { divisor: self.divisor.saturating_mul(other.divisor), ..self.clone() })
    }
}

/// The greatest common divisor; of 0 and a number, the number.
pub(super) fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
