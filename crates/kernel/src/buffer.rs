//! Memory of a device.

use std::marker::PhantomData;
use std::panic::Location;

use crate::order::{HOST, Use};
use crate::{BufferError, Device, Element};

/// Elements in the memory of a device. The buffer owns its memory and frees it when it is dropped.
#[derive(Debug)]
pub struct Buffer<T: Element> {
    device: Device,
    address: u64,
    length: usize,
    elements: PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    pub(crate) fn with(device: &Device, elements: &[T]) -> Result<Buffer<T>, BufferError> {
        let mut buffer = Buffer::new(device, elements.len())?;
        buffer.write(elements)?;
        Ok(buffer)
    }

    pub(crate) fn zeros(device: &Device, length: usize) -> Result<Buffer<T>, BufferError> {
        let buffer = Buffer::new(device, length)?;
        device.zero(buffer.address, buffer.bytes())?;
        Ok(buffer)
    }

    fn new(device: &Device, length: usize) -> Result<Buffer<T>, BufferError> {
        // A buffer without elements has an address, too.
        let bytes = length.saturating_mul(T::BYTES).max(1) as u64;
        let address = device.allocate(bytes)?;
        Ok(Buffer { device: device.clone(), address, length, elements: PhantomData })
    }

    /// Replaces all elements.
    ///
    /// # Errors
    /// When there are not exactly as many, and when a stream may be using the buffer still.
    #[track_caller]
    pub fn write(&mut self, elements: &[T]) -> Result<(), BufferError> {
        let bytes = self.bytes_of(elements)?;
        self.device.used(HOST, "the copy", &[(self.address, Use::Write)], Location::caller())?;
        self.device.write(self.address, &bytes)
    }

    /// A copy of all elements.
    ///
    /// # Errors
    /// When some of them were never written, by the host or by a kernel: the software GPU sees it. When a
    /// stream may be writing to the buffer still.
    #[track_caller]
    pub fn read(&self) -> Result<Vec<T>, BufferError> {
        self.device.used(HOST, "the copy", &[(self.address, Use::Read)], Location::caller())?;
        self.taken()
    }

    /// All elements, whoever is still to write them.
    pub(crate) fn taken(&self) -> Result<Vec<T>, BufferError> {
        let mut bytes = vec![0; self.length * T::BYTES];
        self.device.read(self.address, &mut bytes)?;
        if let Some(finding) = self.device.doubtful(self.address, bytes.len() as u64) {
            return Err(BufferError::Doubtful(Box::new(finding)));
        }
        Ok(Buffer::elements(&bytes))
    }

    /// The elements of these bytes.
    pub(crate) fn elements(bytes: &[u8]) -> Vec<T> {
        bytes.chunks_exact(T::BYTES.max(1)).map(T::read).collect()
    }

    /// The bytes of as many elements as the buffer has.
    pub(crate) fn bytes_of(&self, elements: &[T]) -> Result<Vec<u8>, BufferError> {
        if elements.len() != self.length {
            return Err(BufferError::Length { given: elements.len(), length: self.length });
        }
        let mut bytes = Vec::with_capacity(elements.len() * T::BYTES);
        elements.iter().for_each(|element| element.write(&mut bytes));
        Ok(bytes)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The device that it lies on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.length * T::BYTES) as u64
    }
}

impl<T: Element> Drop for Buffer<T> {
    fn drop(&mut self) {
        self.device.free(self.address);
    }
}
