//! Pure functions of registers: operations, comparisons and their modifiers.

use crate::Type;

/// A pure function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arithmetic {
    /// Which function.
    pub operation: Operation,
    /// Type of the operation (of the destination, for conversions).
    pub ty: Type,
    /// Type of the source, for conversions, `set`, `slct`, `dp4a`, and of all but the last source of
    /// mixed-precision `add`, `sub` and `fma`.
    pub from: Type,
    /// For `setp`, `set`, `slct`; otherwise [`Comparison::None`].
    pub comparison: Comparison,
    /// How `setp` and `set` combine with their last source; otherwise [`BooleanOperation::None`].
    pub combine: BooleanOperation,
    /// Further modifiers.
    pub flags: ArithmeticFlags,
}

/// The function of an [`Arithmetic`] (PTX ISA, «Instruction Set»).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own mnemonics")]
pub enum Operation {
    /// `mov`, also packing (several sources) and unpacking (several destinations).
    Mov,
    Cvt,
    /// `cvta`: a conversion between generic and a space; both address the same byte.
    Cvta,
    /// `mapa`: the address of a shared variable in another block of the cluster.
    Mapa,
    /// `getctarank`.
    GetCtaRank,
    /// `isspacep`: the second source is the number of the [`crate::Space`] asked about.
    Isspacep,
    Add,
    Sub,
    Mul,
    Mad,
    Sad,
    Div,
    Rem,
    Abs,
    Neg,
    Min,
    Max,
    Popc,
    Clz,
    Bfind,
    Fns,
    Brev,
    Bfe,
    Bfi,
    Bmsk,
    Szext,
    Dp4a,
    Dp2a,
    /// `addc`, `subc`, `madc`: the last source is the carry flag.
    AddCarry,
    SubCarry,
    MadCarry,
    Fma,
    Rcp,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Lg2,
    Ex2,
    Tanh,
    Copysign,
    Testp,
    Setp,
    Set,
    Selp,
    Slct,
    And,
    Or,
    Xor,
    Not,
    Cnot,
    /// `lop3`: the fourth source is the table.
    Lop3,
    Shl,
    Shr,
    /// `shf.l` and `shf.r` (flag HIGH for left, WRAP for `.wrap`).
    Shf,
    Prmt,
    /// Scalar and packed video instructions: `d ← a, b, [c]`, with the type of a in `from`. Bytes and half
    /// words of a register are taken out before.
    Video(VideoOperation),
}

/// The function of a video instruction (PTX ISA, «Scalar Video Instructions», «SIMD Video Instructions»).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own mnemonics")]
pub enum VideoOperation {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    /// `vavrg2`, `vavrg4`.
    Average,
    Shl,
    Shr,
    Set,
    Mad,
}

/// Modifiers of an [`Arithmetic`], as a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ArithmeticFlags(pub u32);

impl ArithmeticFlags {
    /// `.lo`
    pub const LOW: u32 = 1 << 0;
    /// `.hi`; `.l` of `shf`
    pub const HIGH: u32 = 1 << 1;
    /// `.wide`
    pub const WIDE: u32 = 1 << 2;
    /// `.sat`
    pub const SATURATE: u32 = 1 << 3;
    /// `.ftz`
    pub const FLUSH: u32 = 1 << 4;
    /// `.approx`
    pub const APPROXIMATE: u32 = 1 << 5;
    /// `.rn`
    pub const NEAREST: u32 = 1 << 6;
    /// `.rz`
    pub const TOWARD_ZERO: u32 = 1 << 7;
    /// `.rm`
    pub const DOWN: u32 = 1 << 8;
    /// `.rp`
    pub const UP: u32 = 1 << 9;
    /// `.rni`
    pub const NEAREST_INTEGER: u32 = 1 << 10;
    /// `.rzi`
    pub const ZERO_INTEGER: u32 = 1 << 11;
    /// `.rmi`
    pub const DOWN_INTEGER: u32 = 1 << 12;
    /// `.rpi`
    pub const UP_INTEGER: u32 = 1 << 13;
    /// `.cc`
    pub const CARRY_OUT: u32 = 1 << 14;
    /// `.wrap`
    pub const WRAP: u32 = 1 << 15;
    /// `.clamp`
    pub const CLAMP: u32 = 1 << 16;
    /// `.shiftamt`
    pub const SHIFT_AMOUNT: u32 = 1 << 17;
    /// `.NaN`
    pub const NAN: u32 = 1 << 18;
    /// `.relu`
    pub const RELU: u32 = 1 << 19;
    /// `.full`
    pub const FULL: u32 = 1 << 20;
    /// `.rna`
    pub const NEAREST_AWAY: u32 = 1 << 21;
    /// The mode of `prmt` or the property of `testp`, from 1; see [`ArithmeticFlags::mode`].
    pub const MODE: u32 = 7 << 22;
    /// `.xorsign.abs`
    pub const XORSIGN: u32 = 1 << 25;
    /// `.satfinite`
    pub const FINITE: u32 = 1 << 26;
    /// `mul24`, `mad24`
    pub const TWENTY_FOUR: u32 = 1 << 27;
    /// The second source of a video instruction is signed.
    pub const SECOND_SIGNED: u32 = 1 << 28;
    /// With [`ArithmeticFlags::OTHER`]: execution knows the value all the same.
    pub const MODELLED: u32 = 1 << 30;
    /// Not what the operation alone says: analyses must take the value as unknown.
    pub const OTHER: u32 = 1 << 31;

    /// The bits of a mode from 1 to 7.
    pub const fn of_mode(mode: u32) -> u32 {
        (mode & 7) << 22
    }

    /// The mode: 0 for none; of `prmt` 1 `f4e`, 2 `b4e`, 3 `rc8`, 4 `ecl`, 5 `ecr`, 6 `rc16`; of
    /// `testp` 1 `finite`, 2 `infinite`, 3 `number`, 4 `notanumber`, 5 `normal`, 6 `subnormal`; of
    /// video instructions 1 `.add`, 2 `.min`, 3 `.max` with one lane, 4 two lanes, 5 two lanes and `.add`, 6 four
    /// lanes, 7 four lanes and `.add`.
    pub fn mode(self) -> u32 {
        self.0 >> 22 & 7
    }

    /// Whether any of `bits` is set.
    pub fn has(self, bits: u32) -> bool {
        self.0 & bits != 0
    }
}

/// A comparison of `setp`, `set`, `slct`, `testp` has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the names are PTX's own; the U forms are true for NaN")]
pub enum Comparison {
    #[default]
    None,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Unsigned forms of the ordered comparisons: `lo`, `ls`, `hi`, `hs`.
    Lo,
    Ls,
    Hi,
    Hs,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

/// How `setp` combines its comparison with a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BooleanOperation {
    #[default]
    None,
    And,
    Or,
    Xor,
}
