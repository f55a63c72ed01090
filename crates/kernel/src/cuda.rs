//! A card of NVIDIA: PTX is written from kernel IR, and the driver compiles and runs it.
//!
//! The driver's library is loaded when the first such device is asked for; without one everything else works.

mod driver;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use standstill_ptx::write;

use self::driver::{Code, Context};
pub(crate) use self::driver::{Moment, Queue};
use crate::launch::{Order, Source, ptx};
use crate::{DeviceError, LaunchError};

/// A card under its primary context.
#[derive(Debug)]
pub(crate) struct Card {
    /// Compiled sources, by the address of the source. They go before the context.
    compiled: Mutex<HashMap<usize, Arc<Code>>>,
    context: Arc<Context>,
    name: String,
    /// What PTX is written for, such as `sm_90`.
    target: String,
}

impl Card {
    /// The card of a number.
    pub(crate) fn open(ordinal: u32) -> Result<Card, DeviceError> {
        let context = Context::of(ordinal)?;
        let (name, capability) = (context.name()?, context.capability()?);
        Ok(Card {
            compiled: Mutex::default(),
            context: Arc::new(context),
            name,
            target: format!("sm_{capability}"),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn allocate(&self, bytes: u64) -> Result<u64, DeviceError> {
        self.context.allocate(size(bytes))
    }

    pub(crate) fn free(&self, address: u64) {
        // There is nobody to tell; after a failed launch the driver refuses everything.
        let _ = self.context.free(address);
    }

    pub(crate) fn zero(&self, address: u64, bytes: u64) -> Result<(), DeviceError> {
        if bytes == 0 { Ok(()) } else { self.context.zero(address, size(bytes)) }
    }

    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        if bytes.is_empty() { Ok(()) } else { self.context.write(address, bytes) }
    }

    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        if bytes.is_empty() { Ok(()) } else { self.context.read(address, bytes) }
    }

    /// A new stream.
    pub(crate) fn queue(&self) -> Result<Queue, DeviceError> {
        Queue::new(&self.context)
    }

    /// Runs a launch: in the order of a stream, or to its end.
    pub(crate) fn run(
        &self,
        source: &'static Source,
        mut order: Order,
        queue: Option<&Queue>,
    ) -> Result<(), LaunchError> {
        let code = self.code(source, &order.kernel)?;
        let failed = |error| LaunchError::Failed { kernel: order.kernel.clone(), error };
        let name = write::identifier(&order.kernel);
        code.launch(&name, order.grid, order.block, &mut order.values, order.together, queue)
            .map_err(failed)?;
        match queue {
            Some(_) => Ok(()),
            None => self.context.synchronize().map_err(failed),
        }
    }

    fn code(&self, source: &'static Source, kernel: &str) -> Result<Arc<Code>, LaunchError> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let key = std::ptr::from_ref(source).addr();
        if let Some(known) = compiled.get(&key) {
            return Ok(Arc::clone(known));
        }
        let refused = |reason: String| LaunchError::Refused { kernel: kernel.to_owned(), reason };
        let text = ptx(source, kernel, &self.target)?;
        let code = Code::load(&self.context, &text).map_err(|(error, log)| match log.as_str() {
            "" => refused(error.to_string()),
            log => refused(format!("{error}\n{log}")),
        })?;
        let code = Arc::new(code);
        compiled.insert(key, Arc::clone(&code));
        Ok(code)
    }
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
