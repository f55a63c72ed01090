//! Declarations of variables, parameters and registers.

use crate::span::Span;

/// The state space a variable is declared in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VariableSpace {
    /// `.global`
    Global,
    /// `.const`
    Const,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.reg`, where a function's parameter or result is a register.
    Register,
    /// `.tex`
    Texture,
}

impl VariableSpace {
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "global" => Self::Global,
            "const" => Self::Const,
            "shared" | "shared::cta" => Self::Shared,
            "local" => Self::Local,
            "param" | "param::entry" | "param::func" => Self::Param,
            "tex" => Self::Texture,
            _ => return None,
        })
    }
}

/// Who sees a function or variable of the module.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Linkage {
    /// This module only.
    #[default]
    Internal,
    /// `.extern`: defined elsewhere, or (shared memory) sized at launch.
    Extern,
    /// `.visible`
    Visible,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// A declared variable or parameter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Variable {
    /// The name; empty for `_` parameters without one.
    pub name: Span,
    /// The element type without its dot, such as `b8`.
    pub ty: Span,
    /// The initialiser without `=` and `;`, or empty.
    pub initialiser: Span,
    /// Number of elements over all dimensions: 1 for a scalar, `None` for `[]`.
    pub elements: Option<u64>,
    /// Alignment in bytes as declared, 0 where not.
    pub align: u32,
    /// State space.
    pub space: VariableSpace,
    /// Linkage.
    pub linkage: Linkage,
    /// Elements of the vector type: 1, 2, 4 or 8.
    pub vector: u8,
    /// `.attribute(.managed)`.
    pub managed: bool,
    /// Whether it was declared with brackets.
    pub array: bool,
    /// For a parameter declared `.ptr`: the space it points into, if named.
    pub pointer: Option<VariableSpace>,
}

impl Variable {
    /// Size in bytes, or `None` for `[]` and unknown types.
    pub fn size(&self, text: &str) -> Option<u64> {
        let element = type_bytes(self.ty.of(text))?;
        self.elements?.checked_mul(u64::from(self.vector))?.checked_mul(u64::from(element))
    }
}

/// Bytes that a value of a fundamental type takes in memory (PTX ISA, "Fundamental Types").
pub fn type_bytes(name: &str) -> Option<u32> {
    Some(match name {
        "b8" | "u8" | "s8" | "e4m3" | "e5m2" | "pred" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "tf32" | "e4m3x4" | "e5m2x4" => 4,
        "b64" | "u64" | "s64" | "f64" | "f32x2" | "texref" | "samplerref" | "surfref" => 8,
        "b128" => 16,
        _ => return None,
    })
}

/// One name of a `.reg` declaration: `%r<100>` or `%r1`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RegisterDeclaration {
    /// The name; for a range the part before the number.
    pub name: Span,
    /// The type without its dot.
    pub ty: Span,
    /// The number of its first register.
    pub first: u32,
    /// How many registers it takes.
    pub count: u32,
    /// Elements of the vector type: 1, 2 or 4.
    pub vector: u8,
    /// Whether it was declared as a range.
    pub range: bool,
}
