//! The types of kernels.

use std::fmt;

use standstill_kernel_ir::Type;

/// A number or a truth value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are Rust's own")]
pub enum Scalar {
    Bool,
    I8,
    I16,
    I32,
    I64,
    Isize,
    U8,
    U16,
    U32,
    U64,
    Usize,
    F32,
    F64,
}

/// A scalar with its name, the type of its registers, and its type in memory.
type Row = (Scalar, &'static str, Type, Type);

const SCALARS: [Row; 13] = [
    (Scalar::Bool, "bool", Type::Pred, Type::U8),
    (Scalar::I8, "i8", Type::S32, Type::S8),
    (Scalar::I16, "i16", Type::S32, Type::S16),
    (Scalar::I32, "i32", Type::S32, Type::S32),
    (Scalar::I64, "i64", Type::S64, Type::S64),
    (Scalar::Isize, "isize", Type::S64, Type::S64),
    (Scalar::U8, "u8", Type::U32, Type::U8),
    (Scalar::U16, "u16", Type::U32, Type::U16),
    (Scalar::U32, "u32", Type::U32, Type::U32),
    (Scalar::U64, "u64", Type::U64, Type::U64),
    (Scalar::Usize, "usize", Type::U64, Type::U64),
    (Scalar::F32, "f32", Type::F32, Type::F32),
    (Scalar::F64, "f64", Type::F64, Type::F64),
];

impl Scalar {
    fn row(self) -> &'static Row {
        SCALARS.iter().find(|row| row.0 == self).unwrap_or(&SCALARS[0])
    }

    /// The scalar that Rust calls so.
    pub fn find(name: &str) -> Option<Scalar> {
        SCALARS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Its name in Rust.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The type of registers that hold it. Narrow integers are held as 32 bits, extended by their sign.
    pub fn register(self) -> Type {
        self.row().2
    }

    /// Its type in memory.
    pub fn memory(self) -> Type {
        self.row().3
    }

    /// Its width in bits; that of a `bool` is 8.
    pub fn bits(self) -> u32 {
        self.memory().bits()
    }

    /// Whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }

    /// Whether it is an integer.
    pub fn is_integer(self) -> bool {
        !self.is_float() && self != Scalar::Bool
    }

    /// Whether it is a signed integer.
    pub fn is_signed(self) -> bool {
        self.is_integer() && self.register().is_signed()
    }

    /// The least and the greatest integer of this type.
    pub fn range(self) -> (i128, i128) {
        let bits = self.bits();
        if self.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
    }
}

/// The type of a place or value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ty {
    /// A number or truth value.
    Scalar(Scalar),
    /// Not known yet; see [`crate::check`].
    Variable(u32),
    /// `()`
    Unit,
    /// `!`
    Never,
    /// What follows from an error; fits everything.
    Wrong,
    /// `[T; N]`
    Array(Box<Ty>, u64),
    /// `&[T]` or `&mut [T]`
    Slice(Box<Ty>, bool),
    /// `&T` or `&mut T`
    Reference(Box<Ty>, bool),
    /// `Atomic<T>`
    Atomic(Scalar),
    /// What `compare_exchange` gives: `Ok` or `Err` of what memory held.
    Exchange(Scalar),
    /// `fn(u32, u32) -> u32`: a helper that takes numbers and gives one, and so can touch no memory.
    Function(Vec<Scalar>, Scalar),
    /// `Space`
    Space,
}

impl Ty {
    /// The number or truth value that it is.
    pub fn scalar(&self) -> Option<Scalar> {
        match self {
            Ty::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    /// Bytes in memory of an element of a slice or array; 0 for what cannot be one.
    pub fn bytes(&self) -> u64 {
        match self {
            Ty::Scalar(scalar) | Ty::Atomic(scalar) => u64::from(scalar.memory().bytes()),
            Ty::Array(element, length) => element.bytes().saturating_mul(*length),
            _ => 0,
        }
    }

    /// What an array of arrays holds in the end.
    pub fn innermost(&self) -> &Ty {
        match self {
            Ty::Array(element, _) => element.innermost(),
            other => other,
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mutable = |mutable: &bool| if *mutable { "mut " } else { "" };
        match self {
            Ty::Scalar(scalar) => f.write_str(scalar.name()),
            Ty::Variable(_) | Ty::Wrong => f.write_str("_"),
            Ty::Unit => f.write_str("()"),
            Ty::Never => f.write_str("!"),
            Ty::Array(element, length) => write!(f, "[{element}; {length}]"),
            Ty::Slice(element, m) => write!(f, "&{}[{element}]", mutable(m)),
            Ty::Reference(to, m) => write!(f, "&{}{to}", mutable(m)),
            Ty::Atomic(scalar) => write!(f, "Atomic<{}>", scalar.name()),
            Ty::Exchange(scalar) => write!(f, "Result<{0}, {0}>", scalar.name()),
            Ty::Function(parameters, result) => {
                let names: Vec<&str> = parameters.iter().map(|scalar| scalar.name()).collect();
                write!(f, "fn({}) -> {}", names.join(", "), result.name())
            }
            Ty::Space => f.write_str("Space"),
        }
    }
}
