//! Variables of a module: which are buffers, and where all lie.

use rspirv::spirv::StorageClass;
use standstill_kernel_ir::{Operand, Parameter as IrParameter, Space, Type};

use super::kernel::{Fault, Frame, Kernel, Place, Value};
use super::module::{Module, Variable};
use super::types::{Kind, Shape};
use crate::emit::Pointer;
use crate::program::{Parameter, ParameterKind};
use crate::types::{memory_type, register_type};

/// Buffers in the order of the kernel's parameters.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) buffers: Vec<Variable>,
    /// Buffers that end in a runtime-sized array, by their position.
    lengths: Vec<usize>,
}

/// The memory that a storage class is; `None` for those that are none.
pub(crate) fn space(class: StorageClass) -> Option<Space> {
    Some(match class {
        StorageClass::Uniform
        | StorageClass::StorageBuffer
        | StorageClass::PushConstant
        | StorageClass::PhysicalStorageBuffer
        | StorageClass::CrossWorkgroup => Space::Global,
        StorageClass::Workgroup => Space::Shared,
        StorageClass::Private | StorageClass::Function => Space::Local,
        StorageClass::Generic => Space::Generic,
        _ => return None,
    })
}

impl Layout {
    pub(crate) fn of(module: &Module<'_>) -> Layout {
        let is_buffer = |variable: &&Variable| {
            matches!(
                variable.class,
                StorageClass::Uniform | StorageClass::StorageBuffer | StorageClass::PushConstant
            )
        };
        let mut buffers: Vec<Variable> = module.variables.iter().filter(is_buffer).copied().collect();
        buffers.sort_by_key(|variable| {
            let decorations = module.decorations(variable.id);
            (decorations.set.unwrap_or(u32::MAX), decorations.binding.unwrap_or(u32::MAX))
        });
        let ends_open = |(at, variable): (usize, &Variable)| module.runtime_array(variable.ty).map(|_| at);
        let lengths = buffers.iter().enumerate().filter_map(ends_open).collect();
        Layout { buffers, lengths }
    }

    /// The parameter that holds the length of a buffer.
    pub(crate) fn length_of(&self, buffer: usize) -> Option<u32> {
        let at = self.lengths.iter().position(|&known| known == buffer)?;
        Some((self.buffers.len() + at) as u32)
    }

    /// The parameters of a kernel, with those of its function behind the buffers.
    pub(crate) fn parameters(&self, module: &Module<'_>, own: &[u32]) -> Vec<(Parameter, IrParameter)> {
        let pointer = IrParameter { ty: Type::U64, bytes: 8, align: 8, pointer: true };
        let mut list = Vec::new();
        for variable in &self.buffers {
            let decorations = module.decorations(variable.id);
            // A block without an instance has the name of its type.
            let name = [variable.id, variable.ty]
                .into_iter()
                .find_map(|id| module.names.get(&id).filter(|n| !n.is_empty()));
            let name = name.cloned().unwrap_or_else(|| format!("%{}", variable.id));
            let kind = ParameterKind::Buffer {
                group: decorations.set.unwrap_or(0),
                binding: decorations.binding.unwrap_or(0),
                bytes: module.bytes(variable.ty),
            };
            list.push((Parameter { name, kind }, pointer.clone()));
        }
        for &of in &self.lengths {
            let named = list.get(of).map_or(String::new(), |(parameter, _)| parameter.name.clone());
            let kind = ParameterKind::Length { of: of as u32 };
            let number = IrParameter { ty: Type::U32, bytes: 4, align: 4, pointer: false };
            list.push((Parameter { name: format!("bytes of {named}"), kind }, number));
        }
        for &id in own {
            let number = module.scalar(module.type_of(id)).map(memory_type);
            let (kind, declared) = match number {
                Some(ty) => (
                    ParameterKind::Override,
                    IrParameter { ty, bytes: ty.bytes(), align: ty.bytes(), pointer: false },
                ),
                None => (ParameterKind::Buffer { group: 0, binding: 0, bytes: 0 }, pointer.clone()),
            };
            list.push((Parameter { name: module.name(id), kind }, declared));
        }
        list
    }
}

impl Kernel<'_> {
    /// Buffers, workgroup memory, variables of an invocation, and what it is given.
    pub(crate) fn place_variables(&mut self, frame: &mut Frame) -> Result<(), Fault> {
        for (index, variable) in self.layout.buffers.iter().enumerate() {
            let base = self.parameter(index as u32, Type::U64);
            let pointer = Pointer::Memory { space: Space::Global, base, offset: 0, buffer: Some(index) };
            let place = Place {
                pointer,
                ty: variable.ty,
                shape: Shape::default(),
                is_shared: self.module.decorations(variable.id).is_shared,
            };
            self.globals.insert(variable.id, Value::Place(place));
        }
        for &variable in &self.module.variables {
            let value = match variable.class {
                StorageClass::Workgroup | StorageClass::Private | StorageClass::CrossWorkgroup => {
                    self.variable(frame, variable)?
                }
                StorageClass::Input => {
                    match (self.module.decorations(variable.id).built_in, self.module.kind(variable.ty)) {
                        (Some(code), _) => Value::BuiltIn { code, component: None },
                        (None, Kind::Struct { .. }) => Value::BuiltIns(variable.ty),
                        _ => Value::Handle,
                    }
                }
                StorageClass::Uniform | StorageClass::StorageBuffer | StorageClass::PushConstant => continue,
                _ => Value::Handle,
            };
            self.globals.insert(variable.id, value);
        }
        Ok(())
    }

    /// A variable: in registers, as long as no index into it is worked out while it runs.
    pub(crate) fn variable(&mut self, frame: &Frame, variable: Variable) -> Result<Value, Fault> {
        let Some(space) = space(variable.class) else { return Ok(Value::Handle) };
        let shape = Shape::default();
        let slots = self.module.slots(variable.ty, shape);
        let own = matches!(variable.class, StorageClass::Private | StorageClass::Function);
        let pointer = match &slots {
            Some(slots) if own && !self.module.in_memory.contains(&variable.id) => Pointer::Registers(
                slots.iter().map(|slot| self.emit.out.register(register_type(slot.scalar))).collect(),
            ),
            _ => {
                let bytes = self.module.bytes(variable.ty);
                if bytes == 0 || bytes > MOST_BYTES {
                    return Ok(Value::Handle);
                }
                self.emit.variable(&self.module.name(variable.id), space, bytes)
            }
        };
        let first = match (variable.first, &pointer) {
            (Some(first), _) => Some(self.scalars(frame, first)?),
            // What is undefined may be anything, so also the same for all.
            (None, Pointer::Registers(registers)) => Some(vec![Operand::Immediate(0); registers.len()]),
            (None, Pointer::Memory { .. }) => None,
        };
        if let (Some(first), Some(slots)) = (first, slots) {
            self.emit.store_slots(&pointer, &slots, &first, None);
        }
        Ok(Value::Place(Place { pointer, ty: variable.ty, shape, is_shared: false }))
    }

    /// What the function of an entry point is handed: parameters behind the buffers and their lengths.
    pub(crate) fn kernel_arguments(&mut self, parameters: &[u32]) -> Vec<Value> {
        let before = self.layout.buffers.len() + self.layout.lengths.len();
        let one = |(&id, index): (&u32, usize)| {
            let Kind::Pointer { class, to } = *self.module.kind(self.module.type_of(id)) else {
                return match self.module.scalar(self.module.type_of(id)) {
                    Some(scalar) => {
                        let ty = memory_type(scalar);
                        Value::Scalars(vec![self.parameter(index as u32, ty)])
                    }
                    None => Value::Handle,
                };
            };
            let Some(space) = space(class) else { return Value::Handle };
            let base = self.parameter(index as u32, Type::U64);
            let pointer = Pointer::Memory { space, base, offset: 0, buffer: None };
            Value::Place(Place { pointer, ty: to, shape: Shape::default(), is_shared: false })
        };
        parameters.iter().zip(before..).map(one).collect()
    }
}

/// Most bytes of a variable that is not a buffer.
const MOST_BYTES: u64 = 1 << 30;
