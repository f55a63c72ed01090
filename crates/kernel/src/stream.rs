//! Streams: operations that run one behind the other, beside those of other streams.

use std::panic::Location;

use crate::cuda::Queue;
use crate::device::Backend;
use crate::order::{Clock, Use};
use crate::{Buffer, BufferError, Device, DeviceError, Element};

/// Operations of a device that run one behind the other: launches (`name::launch_on(&stream, …)`) and copies. Those of
/// different streams run in any order, unless an [`Event`] or [`Stream::synchronize`] orders them.
///
/// The software GPU runs each operation when it is submitted, and tells from the order alone when one uses a buffer that another stream may
/// be using still (E0301), in every run.
#[derive(Debug)]
pub struct Stream {
    device: Device,
    pub(crate) real: Real,
}

/// What a stream is on its device.
#[derive(Debug)]
pub(crate) enum Real {
    Software(u32),
    Cuda(Queue),
}

/// The point of a stream at which [`Stream::record`] stood.
#[derive(Debug)]
pub struct Event {
    device: Device,
    real: Moment,
}

#[derive(Debug)]
enum Moment {
    Software(Clock),
    Cuda(crate::cuda::Moment),
}

impl Stream {
    pub(crate) fn new(device: &Device) -> Result<Stream, DeviceError> {
        let real = match device.backend() {
            Backend::Software(software) => Real::Software(software.orders().stream()),
            Backend::Cuda(card) => Real::Cuda(card.queue()?),
        };
        Ok(Stream { device: device.clone(), real })
    }

    /// The device that it belongs to.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// An event behind everything that the stream has been given so far.
    ///
    /// # Errors
    /// When the driver refuses it.
    pub fn record(&self) -> Result<Event, DeviceError> {
        let real = match (self.device.backend(), &self.real) {
            (Backend::Software(software), Real::Software(number)) => {
                Moment::Software(software.orders().recorded(*number))
            }
            (_, Real::Cuda(queue)) => Moment::Cuda(queue.record()?),
            (Backend::Cuda(_), Real::Software(_)) => Moment::Software(Clock::default()),
        };
        Ok(Event { device: self.device.clone(), real })
    }

    /// Lets what the stream is given from now on run behind an event, of this or another stream of the device.
    ///
    /// # Errors
    /// When the driver refuses it.
    pub fn wait(&self, event: &Event) -> Result<(), DeviceError> {
        if !self.device.is(&event.device) {
            return Err(DeviceError::OtherDevice);
        }
        match (self.device.backend(), &self.real, &event.real) {
            (Backend::Software(software), Real::Software(number), Moment::Software(clock)) => {
                software.orders().wait(*number, clock);
                Ok(())
            }
            (_, Real::Cuda(queue), Moment::Cuda(moment)) => queue.wait(moment),
            _ => Err(DeviceError::OtherDevice),
        }
    }

    /// Waits on the host for everything that the stream has been given so far.
    ///
    /// # Errors
    /// What failed on the device before.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        match (self.device.backend(), &self.real) {
            (Backend::Software(software), Real::Software(number)) => {
                let mut orders = software.orders();
                let done = orders.recorded(*number);
                orders.wait(crate::order::HOST, &done);
                Ok(())
            }
            (_, Real::Cuda(queue)) => queue.synchronize(),
            (Backend::Cuda(_), Real::Software(_)) => Ok(()),
        }
    }

    /// Copies elements to a buffer, in the order of the stream. The elements are free when this returns.
    ///
    /// # Errors
    /// When there are not exactly as many, and when another stream may be using the buffer.
    #[track_caller]
    pub fn write<T: Element>(&self, buffer: &mut Buffer<T>, elements: &[T]) -> Result<(), BufferError> {
        let bytes = buffer.bytes_of(elements)?;
        match &self.real {
            Real::Software(number) => {
                self.device.used(
                    *number,
                    "the copy",
                    &[(buffer.address(), Use::Write)],
                    Location::caller(),
                )?;
                self.device.write(buffer.address(), &bytes)
            }
            Real::Cuda(queue) => Ok(queue.write(buffer.address(), &bytes)?),
        }
    }

    /// A copy of a buffer's elements, in the order of the stream, which is waited for.
    ///
    /// # Errors
    /// When another stream may be writing to the buffer, and when elements were never written.
    #[track_caller]
    pub fn read<T: Element>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, BufferError> {
        match &self.real {
            Real::Software(number) => {
                self.device.used(
                    *number,
                    "the copy",
                    &[(buffer.address(), Use::Read)],
                    Location::caller(),
                )?;
                self.synchronize()?;
                buffer.taken()
            }
            Real::Cuda(queue) => {
                let mut bytes = vec![0; buffer.bytes() as usize];
                queue.read(buffer.address(), &mut bytes)?;
                Ok(Buffer::<T>::elements(&bytes))
            }
        }
    }
}
