//! Types and state spaces.

/// The type of a register or of an operation (PTX ISA, «Types»).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are PTX's own")]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F32x2,
    F64,
    U16x2,
    S16x2,
    /// Eight-bit floating point, and pairs of it.
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    /// Six and four bits, and pairs of them. Six bits take a byte.
    E2m3,
    E3m2,
    E2m1,
    E2m3x2,
    E3m2x2,
    E2m1x2,
    /// Less than a byte: elements of matrices and of `cvt.pack`.
    U4,
    S4,
    U2,
    S2,
    B1,
    /// Other sub-byte and narrow floating forms of matrix and conversion instructions.
    Narrow,
    /// No type, or one that is not known.
    #[default]
    None,
}

impl Type {
    /// Width in bits; 0 for [`Type::None`] and [`Type::Narrow`], 1 for a predicate.
    pub fn bits(self) -> u32 {
        match self {
            Type::Pred | Type::B1 => 1,
            Type::U4 | Type::S4 | Type::E2m1 => 4,
            Type::U2 | Type::S2 => 2,
            Type::B8
            | Type::U8
            | Type::S8
            | Type::E4m3
            | Type::E5m2
            | Type::E2m3
            | Type::E3m2
            | Type::E2m1x2 => 8,
            Type::B16
            | Type::U16
            | Type::S16
            | Type::F16
            | Type::Bf16
            | Type::E4m3x2
            | Type::E5m2x2
            | Type::E2m3x2
            | Type::E3m2x2 => 16,
            Type::B32
            | Type::U32
            | Type::S32
            | Type::F32
            | Type::F16x2
            | Type::Bf16x2
            | Type::Tf32
            | Type::U16x2
            | Type::S16x2 => 32,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 | Type::F32x2 => 64,
            Type::B128 => 128,
            Type::Narrow | Type::None => 0,
        }
    }

    /// Width in bytes, at least 1.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8).max(1)
    }

    /// Whether arithmetic on it is signed integer arithmetic.
    pub fn is_signed(self) -> bool {
        matches!(self, Type::S2 | Type::S4 | Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::S16x2)
    }

    /// Whether arithmetic on it is floating-point arithmetic.
    pub fn is_float(self) -> bool {
        matches!(
            self,
            Type::F16
                | Type::F16x2
                | Type::Bf16
                | Type::Bf16x2
                | Type::Tf32
                | Type::F32
                | Type::F32x2
                | Type::F64
                | Type::E4m3
                | Type::E5m2
                | Type::E4m3x2
                | Type::E5m2x2
                | Type::E2m3
                | Type::E3m2
                | Type::E2m1
                | Type::E2m3x2
                | Type::E3m2x2
                | Type::E2m1x2
                | Type::Narrow
        )
    }
}

/// Where memory lies (PTX ISA, «State Spaces»).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Space {
    /// A generic address: any of global, shared, local or constant.
    #[default]
    Generic,
    /// Global memory.
    Global,
    /// Shared memory of the block.
    Shared,
    /// Shared memory of any block of the cluster.
    SharedCluster,
    /// Private memory of the thread.
    Local,
    /// Parameters of the kernel.
    Param,
    /// Constant memory.
    Const,
    /// Tensor memory of the multiprocessor (tcgen05).
    Tensor,
}
