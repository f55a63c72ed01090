//! Kernels that together use every construct of the language, each with what plain Rust says about the same input.
//! The software GPU must give the same bits as plain Rust, and a card the same bits as the software GPU.
#![allow(
    clippy::all,
    dead_code,
    unused_parens,
    unreachable_pub,
    reason = "the functions are what kernels look like, not what the host's do"
)]

mod control;
mod floats;
mod integers;
mod memory;
mod together;

use standstill_kernel::{Device, Element, LaunchError};

pub(crate) type Outcome = Result<Vec<Word>, Box<dyn std::error::Error>>;

/// A value that a kernel has given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) bits: u64,
    pub(crate) is_nan: bool,
}

impl Word {
    /// Whether Rust calls both the same: which NaN an operation gives is nobody's promise.
    pub(crate) fn is(self, other: Word) -> bool {
        self.bits == other.bits || self.is_nan && other.is_nan
    }
}

/// What the kernels give.
pub(crate) trait Value: Element {
    fn word(self) -> Word;
}

macro_rules! values {
    ($($ty:ident $bits:expr, $nan:expr;)*) => { $(
        impl Value for $ty {
            fn word(self) -> Word {
                let (bits, nan): (fn($ty) -> u64, fn($ty) -> bool) = ($bits, $nan);
                Word { bits: bits(self), is_nan: nan(self) }
            }
        }
    )* };
}

values! {
    bool |v| v.into(), |_| false;
    i8 |v| v as u64, |_| false;
    i16 |v| v as u64, |_| false;
    i32 |v| v as u64, |_| false;
    i64 |v| v as u64, |_| false;
    isize |v| v as u64, |_| false;
    u8 |v| v as u64, |_| false;
    u16 |v| v as u64, |_| false;
    u32 |v| v as u64, |_| false;
    u64 |v| v, |_| false;
    usize |v| v as u64, |_| false;
    f32 |v| v.to_bits().into(), f32::is_nan;
    f64 |v| v.to_bits(), f64::is_nan;
}

pub(crate) fn words<T: Value>(values: impl IntoIterator<Item = T>) -> Vec<Word> {
    values.into_iter().map(Value::word).collect()
}

/// A kernel, run on a device, and what it should give.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Device) -> Outcome,
    pub(crate) expected: fn() -> Vec<Word>,
    /// The kernel as PTX for a target.
    pub(crate) ptx: fn(&str) -> Result<String, LaunchError>,
}

/// A function of two values: once for the host, once as a helper of a kernel that applies it to all pairs of some.
macro_rules! pairs {
    ($name:ident($a:ident, $b:ident: $from:ident) -> $to:ident { $($body:tt)* } of $values:expr) => {
        pub(super) mod $name {
            #[allow(unused_imports)]
            use super::*;
            use crate::suite::{Case, Outcome, Word, words};

            fn host($a: $from, $b: $from) -> $to { $($body)* }

            #[standstill_kernel::kernels]
            mod device {
                use standstill_kernel::Space;

                #[device]
                fn apply($a: $from, $b: $from) -> $to { $($body)* }

                #[kernel]
                pub fn run(space: Space, left: &[$from], right: &[$from], out: &mut [$to]) {
                    if space.in_bounds_x() {
                        out[space.x] = apply(left[space.x], right[space.x]);
                    }
                }
            }

            fn inputs() -> (Vec<$from>, Vec<$from>) {
                let values = $values;
                values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).unzip()
            }

            fn run(device: &standstill_kernel::Device) -> Outcome {
                let (left, right) = inputs();
                let (a, b) = (device.buffer(&left)?, device.buffer(&right)?);
                let mut out = device.zeros(left.len())?;
                let space = standstill_kernel::cells(left.len() as u32);
                device::run::launch(device, space, 64, &a, &b, &mut out)?;
                Ok(words(out.read()?))
            }

            fn expected() -> Vec<Word> {
                let (left, right) = inputs();
                words(left.into_iter().zip(right).map(|(a, b)| host(a, b)))
            }

            pub(in crate::suite) const CASE: Case =
                Case { name: stringify!($name), run, expected, ptx: device::run::ptx };
        }
    };
}
pub(crate) use pairs;

/// All kernels.
pub(crate) fn cases() -> impl Iterator<Item = &'static Case> {
    [integers::CASES, floats::CASES, control::CASES, memory::CASES, together::CASES].into_iter().flatten()
}
