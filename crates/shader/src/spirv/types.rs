//! Types of a module: which scalars a value consists of, and where they lie in memory.

use naga::{Scalar, ScalarKind};
use rspirv::spirv::{Op, StorageClass};
use rustc_hash::{FxHashMap, FxHashSet};

use super::module::Module;
use super::words::Instruction;
use crate::types::{MOST_SCALARS, Slot, memory_type};

/// Where members of structures without decorations may lie.
const ALIGN: u64 = 8;
/// Most levels of a type.
const MOST_LEVELS: u32 = 48;

/// A type, with what is asked of it often.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    /// Scalars of a value; none of what has no constant size.
    pub(crate) scalars: u64,
    /// Bytes in memory without decorations; a runtime-sized array counts as one element.
    bytes: u64,
    levels: u32,
}

/// What a type is.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Void,
    Scalar(Scalar),
    Vector {
        of: u32,
        count: u32,
    },
    Matrix {
        column: u32,
        count: u32,
    },
    Array {
        of: u32,
        count: u32,
    },
    RuntimeArray {
        of: u32,
    },
    Struct {
        members: Vec<u32>,
        /// For each member, scalars and bytes of those before it.
        before: Vec<(u64, u64)>,
    },
    Pointer {
        class: StorageClass,
        to: u32,
    },
    /// Images, samplers and whatever else has no value here.
    Handle,
}

/// How matrices and the components of vectors lie in memory (SPIR-V, «MatrixStride», «RowMajor»).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes from one column (or row) of a matrix to the next; 0 for those without a decoration.
    pub(crate) matrix_stride: u32,
    pub(crate) row_major: bool,
    /// Bytes from one component of a vector to the next; 0 when they lie side by side.
    pub(crate) component_stride: u32,
}

/// A part of a type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) ty: u32,
    /// Scalars that stand before it in a value.
    pub(crate) before: u64,
    /// Bytes before it in memory.
    pub(crate) offset: u64,
    pub(crate) shape: Shape,
}

/// A type that an instruction declares. Its parts stand before it; those that do not are kept in `later`, and may only be pointers,
/// so that no type contains itself.
pub(crate) fn declared(
    instruction: Instruction<'_>,
    module: &Module<'_>,
    later: &mut FxHashSet<u32>,
) -> Option<Type> {
    let word = |index: usize| instruction.operand(index);
    let types = &module.types;
    let kind = match instruction.op? {
        Op::TypeVoid => Kind::Void,
        Op::TypeBool => Kind::Scalar(Scalar { kind: ScalarKind::Bool, width: 1 }),
        Op::TypeInt => {
            let kind = if word(1)? == 0 { ScalarKind::Uint } else { ScalarKind::Sint };
            match word(0)? {
                bits @ (8 | 16 | 32 | 64) => Kind::Scalar(Scalar { kind, width: (bits / 8) as u8 }),
                _ => Kind::Handle,
            }
        }
        Op::TypeFloat => match (word(0)?, word(1)) {
            // Another encoding has other values: bits that nobody works with.
            (16, Some(_)) => Kind::Scalar(Scalar { kind: ScalarKind::Uint, width: 2 }),
            (bits @ (16 | 32 | 64), None) => {
                Kind::Scalar(Scalar { kind: ScalarKind::Float, width: (bits / 8) as u8 })
            }
            _ => Kind::Handle,
        },
        Op::TypeVector => Kind::Vector { of: word(0)?, count: word(1)? },
        Op::TypeMatrix => Kind::Matrix { column: word(0)?, count: word(1)? },
        Op::TypeArray => match module.integer(word(1)?) {
            Some(count) => Kind::Array { of: word(0)?, count: u32::try_from(count).ok()? },
            None => Kind::RuntimeArray { of: word(0)? },
        },
        Op::TypeRuntimeArray => Kind::RuntimeArray { of: word(0)? },
        Op::TypeStruct => {
            let members = instruction.operands().to_vec();
            let mut sum = (0u64, 0u64);
            let one = |member: &u32| {
                let earlier = sum;
                if let Some(own) = types.get(member) {
                    let bytes = own.bytes.checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX);
                    sum = (sum.0.saturating_add(own.scalars), sum.1.saturating_add(bytes));
                }
                earlier
            };
            let before = members.iter().map(one).collect();
            Kind::Struct { members, before }
        }
        Op::TypePointer => Kind::Pointer { class: StorageClass::from_u32(word(0)?)?, to: word(1)? },
        _ => Kind::Handle,
    };
    let mut all = Type { kind, scalars: 0, bytes: 0, levels: 1 };
    let (mut scalars, mut bytes, mut levels) = (0u64, 0u64, 1);
    let mut end = 0;
    let mut add = |of: u32, count: u64, stride: Option<u32>, align: u64| {
        let Some(part) = types.get(&of) else {
            later.insert(of);
            return;
        };
        levels = levels.max(part.levels + 1);
        scalars = scalars.saturating_add(part.scalars.saturating_mul(count));
        let each = stride.map_or(part.bytes, u64::from);
        let each = each.checked_next_multiple_of(align).unwrap_or(u64::MAX);
        bytes = bytes.saturating_add(each.saturating_mul(count));
    };
    let id = instruction.result()?;
    match &all.kind {
        Kind::Scalar(scalar) => (scalars, bytes) = (1, u64::from(memory_type(*scalar).bytes())),
        Kind::Vector { of, count } | Kind::Matrix { column: of, count } => {
            add(*of, u64::from(*count), None, 1)
        }
        Kind::Array { of, count } => add(*of, u64::from(*count), module.array_stride(id), 1),
        Kind::RuntimeArray { of } => {
            add(*of, 1, module.array_stride(id), 1);
            scalars = 0;
        }
        Kind::Struct { members, .. } => {
            for (&member, index) in members.iter().zip(0..) {
                add(member, 1, None, ALIGN);
                if let Some(offset) = module.member(id, index).offset {
                    let own = types.get(&member).map_or(0, |ty| ty.bytes);
                    end = end.max(u64::from(offset).saturating_add(own));
                }
            }
            let open = |member: &u32| {
                types.get(member).is_none_or(|ty| ty.scalars == 0 && !matches!(ty.kind, Kind::Struct { .. }))
            };
            if members.iter().any(open) {
                scalars = 0;
            }
        }
        Kind::Pointer { .. } => bytes = 8,
        Kind::Void | Kind::Handle => {}
    }
    (all.scalars, all.bytes, all.levels) = (scalars, if end > 0 { end } else { bytes }, levels);
    let is_pointer = matches!(all.kind, Kind::Pointer { .. });
    if levels > MOST_LEVELS || later.contains(&id) && !is_pointer {
        all = Type { kind: Kind::Handle, scalars: 0, bytes: 0, levels: 1 };
    }
    Some(all)
}

impl Module<'_> {
    pub(crate) fn kind(&self, ty: u32) -> &Kind {
        self.types.get(&ty).map_or(&Kind::Handle, |ty| &ty.kind)
    }

    /// Bytes of a type in memory.
    pub(crate) fn bytes(&self, ty: u32) -> u64 {
        self.types.get(&ty).map_or(0, |ty| ty.bytes)
    }

    /// The kind of number that a type consists of, by its first.
    pub(crate) fn scalar(&self, ty: u32) -> Option<Scalar> {
        let mut ty = ty;
        for _ in 0..MOST_LEVELS {
            ty = match self.kind(ty) {
                Kind::Scalar(scalar) => return Some(*scalar),
                Kind::Vector { of, .. } | Kind::Array { of, .. } | Kind::RuntimeArray { of } => *of,
                Kind::Matrix { column, .. } => *column,
                Kind::Struct { members, .. } => *members.first()?,
                _ => return None,
            };
        }
        None
    }

    /// The scalars of a type; `None` for what has none, is not of a constant size, or has too many.
    pub(crate) fn slots(&self, ty: u32, shape: Shape) -> Option<Vec<Slot>> {
        let scalars = self.types.get(&ty)?.scalars;
        if scalars == 0 || scalars > MOST_SCALARS as u64 {
            return None;
        }
        let mut slots = Vec::with_capacity(scalars as usize);
        self.collect(ty, shape, 0, &mut slots)?;
        Some(slots)
    }

    fn collect(&self, ty: u32, shape: Shape, offset: u64, slots: &mut Vec<Slot>) -> Option<()> {
        if let Kind::Scalar(scalar) = *self.kind(ty) {
            slots.push(Slot { offset: u32::try_from(offset).ok()?, scalar });
            return Some(());
        }
        for index in 0..self.parts(ty)? {
            let part = self.part(ty, shape, index)?;
            if self.types.get(&part.ty)?.scalars > 0 {
                self.collect(part.ty, part.shape, offset.checked_add(part.offset)?, slots)?;
            }
        }
        Some(())
    }

    /// How many parts a type has; `None` for a runtime-sized array and what has none.
    pub(crate) fn parts(&self, ty: u32) -> Option<u32> {
        match self.kind(ty) {
            Kind::Vector { count, .. } | Kind::Matrix { count, .. } | Kind::Array { count, .. } => {
                Some(*count)
            }
            Kind::Struct { members, .. } => u32::try_from(members.len()).ok(),
            _ => None,
        }
    }

    /// Bytes from one element to the next, and the element.
    pub(crate) fn element(&self, ty: u32, shape: Shape) -> Option<(u64, Part)> {
        let part = |of: u32, shape: Shape| Part { ty: of, before: 0, offset: 0, shape };
        Some(match *self.kind(ty) {
            Kind::Vector { of, .. } => {
                let own = self.bytes(of);
                let stride =
                    if shape.component_stride == 0 { own } else { u64::from(shape.component_stride) };
                (stride, part(of, Shape::default()))
            }
            Kind::Matrix { column, .. } if shape.row_major && shape.matrix_stride > 0 => {
                let Kind::Vector { of, .. } = *self.kind(column) else { return None };
                let within = Shape { component_stride: shape.matrix_stride, ..Shape::default() };
                (self.bytes(of), part(column, within))
            }
            Kind::Matrix { column, .. } => {
                let own = self.bytes(column);
                let stride = if shape.matrix_stride == 0 { own } else { u64::from(shape.matrix_stride) };
                (stride, part(column, Shape::default()))
            }
            Kind::Array { of, .. } | Kind::RuntimeArray { of } => {
                let stride = self.array_stride(ty).map_or(self.bytes(of), u64::from);
                (stride, part(of, shape))
            }
            _ => return None,
        })
    }

    /// A part by its number.
    pub(crate) fn part(&self, ty: u32, shape: Shape, index: u32) -> Option<Part> {
        if let Kind::Struct { members, before } = self.kind(ty) {
            let &member = members.get(index as usize)?;
            let decorations = self.member(ty, index);
            let &(before, natural) = before.get(index as usize)?;
            let shape = Shape {
                matrix_stride: decorations.matrix_stride,
                row_major: decorations.row_major,
                component_stride: 0,
            };
            let offset = decorations.offset.map_or(natural, u64::from);
            return Some(Part { ty: member, before, offset, shape });
        }
        let (stride, part) = self.element(ty, shape)?;
        let scalars = self.types.get(&part.ty).map_or(0, |ty| ty.scalars);
        let index = u64::from(index);
        Some(Part { before: scalars.saturating_mul(index), offset: stride.saturating_mul(index), ..part })
    }

    /// Bytes before the runtime-sized array in which a type ends, or which it is, and the distance of the elements.
    pub(crate) fn runtime_array(&self, ty: u32) -> Option<(u64, u64)> {
        let (mut ty, mut before) = (ty, 0u64);
        for _ in 0..MOST_LEVELS {
            match self.kind(ty) {
                Kind::RuntimeArray { .. } => {
                    return Some((before, self.element(ty, Shape::default())?.0));
                }
                Kind::Struct { members, .. } => {
                    let last = u32::try_from(members.len()).ok()?.checked_sub(1)?;
                    let part = self.part(ty, Shape::default(), last)?;
                    before = before.saturating_add(part.offset);
                    ty = part.ty;
                }
                _ => return None,
            }
        }
        None
    }
}

/// Types by their ids.
pub(crate) type Types = FxHashMap<u32, Type>;
