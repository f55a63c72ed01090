//! Operands, kept flat: a group's header is followed by its members in the same pool.

use crate::span::Span;

/// A register of a function: a dense number over all its declarations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegisterNumber(pub u32);

/// A 64-bit value in two halves, so that operands stay 12 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Wide {
    low: u32,
    high: u32,
}

impl Wide {
    /// Splits a value.
    pub fn new(value: u64) -> Self {
        Self { low: value as u32, high: (value >> 32) as u32 }
    }

    /// The value.
    pub fn get(self) -> u64 {
        u64::from(self.high) << 32 | u64::from(self.low)
    }
}

/// The part of a register that an operand names: a vector element (`.x`) or a byte or half (`.b0`, `.h1`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// A vector element, from 0.
    Element(u8),
    /// A byte, from 0.
    Byte(u8),
    /// A half word, from 0.
    Half(u8),
}

/// What holds a group together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupKind {
    /// `{a, b, c, d}`.
    Vector,
    /// `[a]`, `[a+4]`, `[map, {x, y}]`: one or more members between brackets.
    Address,
    /// `p|q`: two destinations.
    Pair,
    /// `(a, b)`: the results or arguments of a call.
    List,
    /// `a+4`: a base and an integer.
    Sum,
    /// `generic(a)`.
    Generic,
    /// `!a` where `a` is not a plain register.
    Not,
}

/// One slot of the operand pool.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operand {
    /// A declared register.
    Register(RegisterNumber),
    /// `!%p`: the complement of a predicate register.
    NotRegister(RegisterNumber),
    /// A part of a declared register.
    RegisterPart(RegisterNumber, Part),
    /// `_`: a result that is thrown away.
    Sink,
    /// An integer; negative ones are stored in two's complement.
    Integer(Wide),
    /// A `0f` literal: the bits of a single.
    Float32(u32),
    /// A `0d` literal or a decimal fraction: the bits of a double.
    Float64(Wide),
    /// A name that is no declared register: a variable, label, function or special register (with its
    /// `.x`), the names of which are sorted out by lowering.
    Name(Span),
    /// `[%rd1+4]`, the commonest address.
    AddressRegister(RegisterNumber, i32),
    /// `[name]`.
    AddressName(Span),
    /// A group; its members fill the next `slots` slots.
    Group(GroupKind, u32),
    /// Text that fits no operand form.
    Unknown(Span),
}

/// An operand together with its members.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OperandRef<'m> {
    /// The operand, or the group's header.
    pub operand: Operand,
    /// The slots of a group's members.
    inner: &'m [Operand],
}

impl<'m> OperandRef<'m> {
    /// The group's kind, if this is a group.
    pub fn group(self) -> Option<GroupKind> {
        match self.operand {
            Operand::Group(kind, _) => Some(kind),
            _ => None,
        }
    }

    /// The group's members; none for anything else.
    pub fn members(self) -> Operands<'m> {
        Operands { slots: self.inner }
    }
}

/// Walks the operands of an instruction or the members of a group.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'m> {
    slots: &'m [Operand],
}

impl<'m> Operands<'m> {
    pub(crate) fn new(slots: &'m [Operand]) -> Self {
        Self { slots }
    }

    /// The slots as stored: headers and members in one row.
    pub fn slots(self) -> &'m [Operand] {
        self.slots
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.slots.is_empty()
    }
}

impl<'m> Iterator for Operands<'m> {
    type Item = OperandRef<'m>;

    #[inline]
    fn next(&mut self) -> Option<OperandRef<'m>> {
        let (&operand, rest) = self.slots.split_first()?;
        let count = match operand {
            Operand::Group(_, slots) => (slots as usize).min(rest.len()),
            _ => 0,
        };
        let (inner, rest) = rest.split_at(count);
        self.slots = rest;
        Some(OperandRef { operand, inner })
    }
}
