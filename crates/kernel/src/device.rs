//! Devices: where buffers lie and kernels run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use standstill_device_sim::{Device as Simulated, LoadError, Module};
use standstill_kernel_ir::launch::Device as Model;

use crate::launch::Source;
use crate::{Buffer, BufferError, Element};

/// The card that the software GPU is.
const MODEL: Model = Model {
    name: "h200",
    multiprocessors: 132,
    threads: 2048,
    blocks: 32,
    shared_bytes: 228 << 10,
    reserved_shared_bytes: 1 << 10,
    shared_unit: 128,
};

/// Memory of the software GPU, in bytes.
const MEMORY: u64 = 8 << 30;

/// A device that runs kernels. Clones are the same device.
#[derive(Debug, Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    simulated: Arc<Simulated>,
    /// The kernels that are loaded, by the address of their source.
    modules: Mutex<HashMap<usize, Arc<Module>>>,
}

impl Device {
    /// The software GPU: it needs no card, watches every access, and decides hangs.
    pub fn software() -> Device {
        Device {
            inner: Arc::new(Inner {
                simulated: Simulated::watched(MODEL, MEMORY),
                modules: Mutex::default(),
            }),
        }
    }

    /// A buffer with a copy of these elements.
    ///
    /// # Errors
    /// When the device's memory is full.
    pub fn buffer<T: Element>(&self, elements: &[T]) -> Result<Buffer<T>, BufferError> {
        Buffer::with(self, elements)
    }

    /// A buffer of so many elements, all bytes of which are zero.
    ///
    /// # Errors
    /// When the device's memory is full.
    pub fn zeros<T: Element>(&self, length: usize) -> Result<Buffer<T>, BufferError> {
        Buffer::zeros(self, length)
    }

    pub(crate) fn simulated(&self) -> &Arc<Simulated> {
        &self.inner.simulated
    }

    /// Whether two are the same device.
    pub(crate) fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The kernels of a source, loaded onto this device.
    pub(crate) fn module(
        &self,
        source: &'static Source,
        program: &Arc<standstill_kernel_syntax::Program>,
    ) -> Result<Arc<Module>, LoadError> {
        let mut modules = self.inner.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let key = std::ptr::from_ref(source).addr();
        if let Some(known) = modules.get(&key) {
            return Ok(Arc::clone(known));
        }
        let program: Arc<standstill_kernel_syntax::Program> = Arc::clone(program);
        let module = self.inner.simulated.load(program, &[])?;
        modules.insert(key, Arc::clone(&module));
        Ok(module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_the_one_of_the_table() {
        assert_eq!(Model::find("h200"), Some(MODEL));
    }
}
