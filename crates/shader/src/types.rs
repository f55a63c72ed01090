//! Types: which scalars a value consists of, and where they lie in memory.

use naga::{ArraySize, Handle, Scalar, ScalarKind, Type as NagaType, TypeInner, VectorSize};
use standstill_kernel_ir::Type;

/// Most scalars of one value.
pub(crate) const MOST_SCALARS: usize = 4096;

/// A scalar of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Bytes from the start of the value.
    pub(crate) offset: u32,
    pub(crate) scalar: Scalar,
}

/// The type of a register for a scalar.
pub(crate) fn register_type(scalar: Scalar) -> Type {
    match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => Type::Pred,
        (ScalarKind::Sint, 8) => Type::S64,
        (ScalarKind::Sint, 2) => Type::S16,
        (ScalarKind::Uint, 8) => Type::U64,
        (ScalarKind::Uint, 2) => Type::U16,
        (ScalarKind::Uint, _) => Type::U32,
        (ScalarKind::Float, 8) => Type::F64,
        (ScalarKind::Float, 2) => Type::F16,
        (ScalarKind::Float | ScalarKind::AbstractFloat, _) => Type::F32,
        (ScalarKind::Sint | ScalarKind::AbstractInt, _) => Type::S32,
    }
}

/// The same in memory, where a truth value takes four bytes.
pub(crate) fn memory_type(scalar: Scalar) -> Type {
    match (register_type(scalar), scalar.width) {
        (Type::Pred, _) => Type::U32,
        (Type::S32, 1) => Type::S8,
        (Type::U32, 1) => Type::U8,
        (ty, _) => ty,
    }
}

/// Types of a module, with what is asked of them.
#[derive(Clone, Copy)]
pub(crate) struct Types<'a> {
    pub(crate) module: &'a naga::Module,
}

impl<'a> Types<'a> {
    pub(crate) fn inner(self, handle: Handle<NagaType>) -> &'a TypeInner {
        &self.module.types[handle].inner
    }

    /// The scalars of a type; `None` for what has none, is not of a constant size, or has too many.
    pub(crate) fn slots(self, inner: &TypeInner) -> Option<Vec<Slot>> {
        let mut slots = Vec::new();
        self.collect(inner, 0, &mut slots)?;
        Some(slots)
    }

    fn collect(self, inner: &TypeInner, offset: u32, slots: &mut Vec<Slot>) -> Option<()> {
        if slots.len() > MOST_SCALARS {
            return None;
        }
        match *inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => slots.push(Slot { offset, scalar }),
            TypeInner::Vector { size, scalar } => {
                vector(size, scalar, offset, slots);
            }
            TypeInner::Matrix { columns, rows, scalar } => {
                let stride = column_stride(rows, scalar);
                for column in 0..columns as u32 {
                    vector(rows, scalar, offset + column * stride, slots);
                }
            }
            TypeInner::Array { base, size: ArraySize::Constant(count), stride } => {
                for index in 0..count.get() {
                    let offset = offset.checked_add(index.checked_mul(stride)?)?;
                    self.collect(self.inner(base), offset, slots)?;
                }
            }
            TypeInner::Struct { ref members, .. } => {
                for member in members {
                    self.collect(self.inner(member.ty), offset.checked_add(member.offset)?, slots)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// How many scalars stand before a component, and the component's type.
    pub(crate) fn component(self, inner: &TypeInner, index: u32) -> Option<(usize, TypeInner)> {
        Some(match *inner {
            TypeInner::Vector { scalar, .. } => (index as usize, TypeInner::Scalar(scalar)),
            TypeInner::Matrix { rows, scalar, .. } => {
                (index as usize * rows as usize, TypeInner::Vector { size: rows, scalar })
            }
            TypeInner::Array { base, .. } => {
                let base = self.inner(base);
                (index as usize * self.slots(base)?.len(), base.clone())
            }
            TypeInner::Struct { ref members, .. } => {
                let mut before = 0;
                for member in members.get(..index as usize)? {
                    before += self.slots(self.inner(member.ty))?.len();
                }
                (before, self.inner(members.get(index as usize)?.ty).clone())
            }
            _ => return None,
        })
    }

    /// Bytes from the start of a type in memory to a component of it, and the distance of its elements.
    pub(crate) fn offset(self, inner: &TypeInner, index: u32) -> Option<u32> {
        match *inner {
            TypeInner::Struct { ref members, .. } => Some(members.get(index as usize)?.offset),
            _ => self.stride(inner)?.checked_mul(index),
        }
    }

    /// Bytes from one element to the next.
    pub(crate) fn stride(self, inner: &TypeInner) -> Option<u32> {
        Some(match *inner {
            TypeInner::Vector { scalar, .. } => {
                u32::from(scalar.width).max(if scalar.kind == ScalarKind::Bool { 4 } else { 0 })
            }
            TypeInner::Matrix { rows, scalar, .. } => column_stride(rows, scalar),
            TypeInner::Array { stride, .. } => stride,
            _ => return None,
        })
    }

    /// Bytes of a type in memory; a runtime-sized array counts as one element.
    pub(crate) fn bytes(self, inner: &TypeInner) -> u64 {
        match *inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => u64::from(memory_type(scalar).bytes()),
            TypeInner::Vector { size, scalar } => size as u64 * u64::from(memory_type(scalar).bytes()),
            TypeInner::Matrix { columns, rows, scalar } => {
                columns as u64 * u64::from(column_stride(rows, scalar))
            }
            TypeInner::Array { size: ArraySize::Constant(count), stride, .. } => {
                u64::from(count.get()) * u64::from(stride)
            }
            TypeInner::Array { stride, .. } => u64::from(stride),
            TypeInner::Struct { span, .. } => u64::from(span),
            _ => 0,
        }
    }
}

fn vector(size: VectorSize, scalar: Scalar, offset: u32, slots: &mut Vec<Slot>) {
    let bytes = memory_type(scalar).bytes();
    slots.extend((0..size as u32).map(|index| Slot { offset: offset + index * bytes, scalar }));
}

/// Columns of three lie as far apart as columns of four.
fn column_stride(rows: VectorSize, scalar: Scalar) -> u32 {
    let rows = if rows == VectorSize::Tri { 4 } else { rows as u32 };
    rows * u32::from(scalar.width)
}
