//! A loaded module: its variables in memory.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use standstill_kernel_ir::{Function, FunctionId, FunctionKind, Program, Space, VariableImage};

use crate::address;
use crate::decode::code::Kernel;
use crate::device::{Device, is_placed};
use crate::launch::{KernelInfo, LaunchError, ParameterInfo};
use crate::memory::MemoryError;

/// Why a module cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The card's memory is full.
    #[error("variable {name}: {error}")]
    Memory {
        /// The variable.
        name: String,
        /// What is wrong.
        error: MemoryError,
    },
    /// An image of a variable that does not exist, or is smaller.
    #[error("the first value of variable {0} does not fit it")]
    Image(u32),
}

/// A module on a device.
pub struct Module {
    device: Arc<Device>,
    program: Arc<dyn Program + Send + Sync>,
    /// Address of each variable of the module; 0 where it has none of its own (shared memory).
    addresses: Vec<u64>,
    allocated: Vec<u64>,
    kernels: Mutex<FxHashMap<u32, Arc<Kernel>>>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Module {
    pub(crate) fn load(
        device: &Arc<Device>,
        program: Arc<dyn Program + Send + Sync>,
        images: &[VariableImage],
        placed: &[(u32, u64)],
    ) -> Result<Module, LoadError> {
        let mut module = Module {
            device: Arc::clone(device),
            program,
            addresses: Vec::new(),
            allocated: Vec::new(),
            kernels: Mutex::default(),
        };
        let variables = &Arc::clone(&module.program);
        for (variable, index) in variables.module().variables.iter().zip(0u32..) {
            let chosen = placed.iter().find(|(variable, _)| *variable == index);
            let mut place = chosen.map_or(0, |(_, address)| *address);
            if place == 0 && is_placed(variable.space) {
                place = device
                    .memory()
                    .allocate(variable.bytes)
                    .map_err(|error| LoadError::Memory { name: variable.name.clone(), error })?;
                module.allocated.push(place);
            }
            module.addresses.push(place);
        }
        for image in images {
            let misfit = LoadError::Image(image.variable);
            let address = module.variable_address(image.variable).ok_or(misfit.clone())?;
            device.memory().write(address, &image.bytes).map_err(|_| misfit.clone())?;
            for pointer in &image.pointers {
                let value = module.symbol_address(pointer.symbol).wrapping_add_signed(pointer.addend);
                let bytes = value.to_le_bytes();
                let bytes = bytes.get(..usize::from(pointer.bytes)).unwrap_or(&bytes);
                device
                    .memory()
                    .write(address + u64::from(pointer.offset), bytes)
                    .map_err(|_| misfit.clone())?;
            }
        }
        Ok(module)
    }

    /// The program.
    pub fn program(&self) -> &Arc<dyn Program + Send + Sync> {
        &self.program
    }

    /// The device that it is loaded onto.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The address of a variable in global or constant memory.
    pub fn variable_address(&self, variable: u32) -> Option<u64> {
        self.addresses.get(variable as usize).copied().filter(|&address| address != 0)
    }

    /// The address and size of the global or constant variable with this name.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let variables = &self.program.module().variables;
        let index = variables.iter().position(|variable| variable.name == name)?;
        Some((self.variable_address(index as u32)?, variables.get(index)?.bytes))
    }

    /// The kernel with this (mangled) name.
    pub fn kernel(&self, name: &str) -> Option<FunctionId> {
        let functions = &self.program.module().functions;
        let index = functions.iter().position(|function| {
            function.name == name && function.kind == FunctionKind::Kernel && function.defined
        })?;
        Some(FunctionId(index as u32))
    }

    /// What is known of a kernel before it is launched.
    pub fn kernel_info(&self, id: FunctionId) -> Option<KernelInfo> {
        let header = self.program.module().functions.get(id.0 as usize)?;
        let function = self.program.function(id)?;
        let (parameters, parameter_bytes) = parameter_layout(&function);
        let of_space = |space| {
            let sizes = function.variables.iter().filter(|variable| variable.space == space);
            sizes.fold(0u64, |end, variable| {
                let start = end.checked_next_multiple_of(u64::from(variable.align.max(1))).unwrap_or(end);
                start.saturating_add(variable.bytes)
            })
        };
        let threads = header.bounds.required_block.or(header.bounds.maximum_block);
        Some(KernelInfo {
            id,
            name: header.name.clone(),
            parameters,
            parameter_bytes,
            static_shared: of_space(Space::Shared).try_into().unwrap_or(u32::MAX),
            local_bytes: of_space(Space::Local).try_into().unwrap_or(u32::MAX),
            most_threads: threads.map_or(1024, |[x, y, z]| x.saturating_mul(y).saturating_mul(z)),
        })
    }

    /// A kernel ready to run; decoded the first time.
    pub(crate) fn decoded(&self, id: FunctionId) -> Result<Arc<Kernel>, LaunchError> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(&id.0) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(crate::decode::kernel(self, id)?);
        kernels.insert(id.0, Arc::clone(&kernel));
        Ok(kernel)
    }

    /// The address of something that code or another variable names; shared variables have none here.
    pub(crate) fn symbol_address(&self, symbol: standstill_kernel_ir::Symbol) -> u64 {
        use standstill_kernel_ir::Symbol;
        match symbol {
            Symbol::Module(index) => self.addresses.get(index as usize).copied().unwrap_or(0),
            Symbol::Function(index) => address::FUNCTIONS + u64::from(index) * address::FUNCTION_STEP,
            Symbol::Local(_) => 0,
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        for &address in &self.allocated {
            // It may be gone only if somebody freed it by its address, which is theirs to answer for.
            let _ = self.device.memory().free(address);
        }
    }
}

/// Where a kernel's parameters lie, and their size together.
pub(crate) fn parameter_layout(function: &Function) -> (Vec<ParameterInfo>, u32) {
    let offsets = function.parameter_offsets();
    let places = function.parameters.iter().zip(&offsets);
    let layout =
        places.map(|(parameter, &offset)| ParameterInfo { offset, bytes: parameter.bytes }).collect();
    (layout, offsets.last().copied().unwrap_or(0))
}
