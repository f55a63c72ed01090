//! Devices: where buffers lie and kernels run.

use std::panic::Location;
use std::sync::Arc;

use standstill_device_sim::Device as Simulated;
use standstill_findings::Finding;
use standstill_kernel_ir::launch::Device as Model;

use crate::cuda::Card;
use crate::order::Use;
use crate::software::{Schedule, Software};
use crate::{Buffer, BufferError, DeviceError, Element, Stream};

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

/// Names the device of [`Device::from_environment`].
const VARIABLE: &str = "STANDSTILL_DEVICE";

/// A device that runs kernels. Clones are the same device.
#[derive(Debug, Clone)]
pub struct Device {
    backend: Arc<Backend>,
}

/// What is behind a device.
#[derive(Debug)]
pub(crate) enum Backend {
    Software(Software),
    Cuda(Card),
}

impl Device {
    /// The software GPU: it needs no card, watches every access, and decides hangs.
    pub fn software() -> Device {
        Device::software_with(Schedule::Turns)
    }

    /// The software GPU with another order of what could run: what is right must be right in each.
    pub fn software_with(schedule: Schedule) -> Device {
        let software = Software::new(Simulated::watched(MODEL, MEMORY), schedule);
        Device { backend: Arc::new(Backend::Software(software)) }
    }

    /// A card of NVIDIA, by its number from 0. Kernels run as PTX that is written from the same kernel IR. Nothing watches
    /// them there: a kernel that hangs does not come back, and a race is not told.
    ///
    /// # Errors
    /// When there is no driver, or no such card.
    pub fn cuda(ordinal: u32) -> Result<Device, DeviceError> {
        Ok(Device { backend: Arc::new(Backend::Cuda(Card::open(ordinal)?)) })
    }

    /// The device of a word: `software`, `cuda` (the first card), `cuda:1`.
    ///
    /// # Errors
    /// When there is no driver, no such card, or the word is another.
    pub fn named(word: &str) -> Result<Device, DeviceError> {
        match word.split_once(':').unwrap_or((word, "0")) {
            ("software", "0") => Ok(Device::software()),
            ("cuda", number) => {
                let ordinal = number.parse().map_err(|_| DeviceError::Unknown(word.to_owned()))?;
                Device::cuda(ordinal)
            }
            _ => Err(DeviceError::Unknown(word.to_owned())),
        }
    }

    /// The device that the environment variable `STANDSTILL_DEVICE` names; without it the software GPU.
    ///
    /// # Errors
    /// As [`Device::named`].
    pub fn from_environment() -> Result<Device, DeviceError> {
        match std::env::var(VARIABLE) {
            Ok(word) => Device::named(&word),
            Err(_) => Ok(Device::software()),
        }
    }

    /// What it is called: the card's name, or `software GPU`.
    pub fn name(&self) -> &str {
        match self.backend() {
            Backend::Software(_) => "software GPU",
            Backend::Cuda(card) => card.name(),
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

    /// A stream.
    ///
    /// # Errors
    /// When the driver refuses it.
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(self)
    }

    /// Notes an operation of a stream where the device watches their order.
    pub(crate) fn used(
        &self,
        stream: u32,
        what: &str,
        uses: &[(u64, Use)],
        place: &'static Location<'static>,
    ) -> Result<(), BufferError> {
        match self.backend() {
            Backend::Software(software) => {
                software.orders().operation(stream, what, uses, place).map_err(BufferError::Doubtful)
            }
            Backend::Cuda(_) => Ok(()),
        }
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Whether two are the same device.
    pub(crate) fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.backend, &other.backend)
    }

    /// Reserves memory; what is in it is not known.
    pub(crate) fn allocate(&self, bytes: u64) -> Result<u64, BufferError> {
        Ok(match self.backend() {
            Backend::Software(software) => software.memory().allocate_marked(bytes, 0)?,
            Backend::Cuda(card) => card.allocate(bytes)?,
        })
    }

    pub(crate) fn free(&self, address: u64) {
        match self.backend() {
            Backend::Software(software) => {
                software.orders().forget(address);
                // It is freed by its only owner.
                let _ = software.memory().free(address);
            }
            Backend::Cuda(card) => card.free(address),
        }
    }

    pub(crate) fn zero(&self, address: u64, bytes: u64) -> Result<(), BufferError> {
        match self.backend() {
            Backend::Software(software) => software.memory().fill(address, &[0], bytes)?,
            Backend::Cuda(card) => card.zero(address, bytes)?,
        }
        Ok(())
    }

    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), BufferError> {
        match self.backend() {
            Backend::Software(software) => software.memory().write(address, bytes)?,
            Backend::Cuda(card) => card.write(address, bytes)?,
        }
        Ok(())
    }

    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), BufferError> {
        match self.backend() {
            Backend::Software(software) => software.memory().read(address, bytes)?,
            Backend::Cuda(card) => card.read(address, bytes)?,
        }
        Ok(())
    }

    /// What nobody has written among these bytes, where the device knows.
    pub(crate) fn doubtful(&self, address: u64, bytes: u64) -> Option<Finding> {
        match self.backend() {
            Backend::Software(software) => {
                software.memory().doubtful(address, bytes).map(|(finding, _)| finding)
            }
            Backend::Cuda(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_the_one_of_the_table() {
        assert_eq!(Model::find("h200"), Some(MODEL));
    }

    #[test]
    fn devices_have_names() {
        assert_eq!(
            Device::named("software").map(|device| device.name().to_owned()),
            Ok("software GPU".to_owned())
        );
        for word in ["", "gpu", "cuda:", "cuda:x", "software:1"] {
            assert_eq!(Device::named(word).map(drop), Err(DeviceError::Unknown(word.to_owned())));
        }
    }

    /// With a card or without one: an answer, no panic.
    #[test]
    fn a_card_that_is_not_there_is_an_error() {
        let error = Device::cuda(4_000_000_000).map(drop);
        assert!(matches!(
            error,
            Err(DeviceError::NoDriver | DeviceError::NoDevice { .. } | DeviceError::Driver { .. })
        ));
    }
}
