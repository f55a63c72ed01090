//! The driver's functions that a device needs, as functions that cannot be called wrongly: handles have owners, and
//! sizes are those of the slices that are handed over.
#![allow(unsafe_code, reason = "the driver is a C library; its handles live as long as their owners here")]

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{DriverError, result, sys};

use crate::DeviceError;

/// Bytes of the log in which the driver says why it refuses PTX.
const LOG_BYTES: usize = 16 << 10;

/// What the driver says to a call.
fn done<T>(call: &'static str, answer: Result<T, DriverError>) -> Result<T, DeviceError> {
    answer.map_err(|error| {
        let text = |it: Result<&CStr, DriverError>| {
            it.map_or_else(|_| "unknown".to_owned(), |text| text.to_string_lossy().into_owned())
        };
        DeviceError::Driver {
            call,
            code: error.0 as u32,
            name: text(error.error_name()),
            meaning: text(error.error_string()),
        }
    })
}

/// Loads the driver's library, once.
fn load() -> Result<(), DeviceError> {
    // SAFETY: the library is opened by its name and closed again; its start-up code is the driver's own.
    if !unsafe { sys::is_culib_present() } {
        return Err(DeviceError::NoDriver);
    }
    done("cuInit", result::init())
}

/// A device's primary context, which all libraries of a process share.
#[derive(Debug)]
pub(super) struct Context {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

// SAFETY: the driver's functions may be called from every thread.
unsafe impl Send for Context {}
// SAFETY: as above; each call makes the context current on its own thread first.
unsafe impl Sync for Context {}

impl Context {
    /// The context of a device by its number.
    pub(super) fn of(ordinal: u32) -> Result<Context, DeviceError> {
        load()?;
        let count = u32::try_from(done("cuDeviceGetCount", result::device::get_count())?).unwrap_or(0);
        let number = c_int::try_from(ordinal).ok().filter(|_| ordinal < count);
        let Some(number) = number else { return Err(DeviceError::NoDevice { ordinal, count }) };
        let device = done("cuDeviceGet", result::device::get(number))?;
        // SAFETY: the device is one that the driver has just given.
        let context = done("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        Ok(Context { device, context })
    }

    /// The device's name.
    pub(super) fn name(&self) -> Result<String, DeviceError> {
        done("cuDeviceGetName", result::device::get_name(self.device))
    }

    /// The compute capability as a number: 90 for 9.0.
    pub(super) fn capability(&self) -> Result<u32, DeviceError> {
        use sys::CUdevice_attribute::{
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
        };
        let number = |attribute| {
            // SAFETY: the device is one that the driver has given.
            done("cuDeviceGetAttribute", unsafe { result::device::get_attribute(self.device, attribute) })
        };
        Ok(u32::try_from(number(MAJOR)? * 10 + number(MINOR)?).unwrap_or(0))
    }

    /// Makes it the one of this thread.
    fn enter(&self) -> Result<(), DeviceError> {
        // SAFETY: the context lives as long as this value.
        done("cuCtxSetCurrent", unsafe { result::ctx::set_current(self.context) })
    }

    /// Waits for all that was launched.
    pub(super) fn synchronize(&self) -> Result<(), DeviceError> {
        self.enter()?;
        done("cuCtxSynchronize", result::ctx::synchronize())
    }

    /// Reserves memory.
    pub(super) fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        self.enter()?;
        // SAFETY: nothing is read before it is written: the caller fills what it reserves.
        done("cuMemAlloc", unsafe { result::malloc_sync(bytes) })
    }

    /// Frees memory that [`Context::allocate`] gave.
    pub(super) fn free(&self, address: u64) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: a wrong address is an error of the driver.
        done("cuMemFree", unsafe { result::free_sync(address) })
    }

    /// Sets bytes to zero.
    pub(super) fn zero(&self, address: u64, bytes: usize) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: an address outside of the device's memory is an error of the driver.
        done("cuMemsetD8", unsafe { result::memset_d8_sync(address, 0, bytes) })
    }

    /// Copies to the device.
    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: the host's side is a slice; the device's side is checked by the driver.
        done("cuMemcpyHtoD", unsafe { result::memcpy_htod_sync(address, bytes) })
    }

    /// Copies from the device.
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: as for writing.
        done("cuMemcpyDtoH", unsafe { result::memcpy_dtoh_sync(bytes, address) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained once, and is released here and nowhere else.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// PTX that the driver has compiled.
#[derive(Debug)]
pub(super) struct Code {
    module: sys::CUmodule,
    context: Arc<Context>,
}

// SAFETY: as for a context.
unsafe impl Send for Code {}
// SAFETY: as for a context.
unsafe impl Sync for Code {}

impl Code {
    /// Compiles a text; the second error is the driver's log.
    pub(super) fn load(context: &Arc<Context>, ptx: &str) -> Result<Code, (DeviceError, String)> {
        let bare = |error| (error, String::new());
        context.enter().map_err(bare)?;
        // A text with a zero in it is none, and refused as that.
        let text = CString::new(ptx).unwrap_or_default();
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG_BYTES)];
        let mut module = ptr::null_mut();
        // SAFETY: the text ends with a zero; the log has the size that is told; both outlive the call.
        let answer = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                text.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        match done("cuModuleLoadDataEx", answer.result()) {
            Ok(()) => Ok(Code { module, context: Arc::clone(context) }),
            Err(error) => {
                let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
                let log = String::from_utf8_lossy(log.get(..end).unwrap_or_default());
                Err((error, log.trim().to_owned()))
            }
        }
    }

    /// Starts a kernel. `values` are its parameters, each of the size that the kernel declares.
    pub(super) fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        values: &mut [Vec<u8>],
        together: bool,
        queue: Option<&Queue>,
    ) -> Result<(), DeviceError> {
        self.context.enter()?;
        let name = CString::new(kernel).unwrap_or_default();
        // SAFETY: the module lives as long as this value.
        let function =
            done("cuModuleGetFunction", unsafe { result::module::get_function(self.module, name) })?;
        let mut places: Vec<*mut c_void> = values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
        let stream = queue.map_or(ptr::null_mut(), |queue| queue.stream);
        let three = |[x, y, z]: [u32; 3]| (x, y, z);
        // SAFETY: each parameter has its size, which the launcher has from the kernel itself; buffers outlive the
        // launch: its end is waited for while they are borrowed, or by the driver before it frees their memory.
        unsafe {
            let (grid, block) = (three(grid), three(block));
            if together {
                let started =
                    result::launch_cooperative_kernel(function, grid, block, 0, stream, &mut places);
                done("cuLaunchCooperativeKernel", started)
            } else {
                done("cuLaunchKernel", result::launch_kernel(function, grid, block, 0, stream, &mut places))
            }
        }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the module was loaded once, and is unloaded here and nowhere else.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

/// A stream, which does not wait for the default one.
#[derive(Debug)]
pub(crate) struct Queue {
    stream: sys::CUstream,
    context: Arc<Context>,
}

// SAFETY: as for a context.
unsafe impl Send for Queue {}
// SAFETY: as for a context.
unsafe impl Sync for Queue {}

impl Queue {
    pub(super) fn new(context: &Arc<Context>) -> Result<Queue, DeviceError> {
        context.enter()?;
        let stream = done("cuStreamCreate", result::stream::create(result::stream::StreamKind::NonBlocking))?;
        Ok(Queue { stream, context: Arc::clone(context) })
    }

    pub(crate) fn synchronize(&self) -> Result<(), DeviceError> {
        self.context.enter()?;
        // SAFETY: the stream lives as long as this value.
        done("cuStreamSynchronize", unsafe { result::stream::synchronize(self.stream) })
    }

    /// Copies to the device; pageable memory is free when the driver returns (CUDA driver API, «API synchronization behavior»).
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.context.enter()?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the host's side is a slice, which the driver is done with when it returns.
        done("cuMemcpyHtoDAsync", unsafe { result::memcpy_htod_async(address, bytes, self.stream) })
    }

    /// Copies from the device, and waits.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.context.enter()?;
        if !bytes.is_empty() {
            // SAFETY: the host's side is a slice that is borrowed until the stream was waited for.
            done("cuMemcpyDtoHAsync", unsafe { result::memcpy_dtoh_async(bytes, address, self.stream) })?;
        }
        self.synchronize()
    }

    pub(crate) fn record(&self) -> Result<Moment, DeviceError> {
        self.context.enter()?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        let event = Moment { event: done("cuEventCreate", event)?, context: Arc::clone(&self.context) };
        // SAFETY: both live as long as their owners.
        done("cuEventRecord", unsafe { result::event::record(event.event, self.stream) })?;
        Ok(event)
    }

    pub(crate) fn wait(&self, moment: &Moment) -> Result<(), DeviceError> {
        self.context.enter()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: both live as long as their owners.
        done("cuStreamWaitEvent", unsafe { result::stream::wait_event(self.stream, moment.event, flags) })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: it was created once, and is destroyed here and nowhere else; what it has been given still runs.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
    }
}

/// An event.
#[derive(Debug)]
pub(crate) struct Moment {
    event: sys::CUevent,
    context: Arc<Context>,
}

// SAFETY: as for a context.
unsafe impl Send for Moment {}
// SAFETY: as for a context.
unsafe impl Sync for Moment {}

impl Drop for Moment {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: it was created once, and is destroyed here and nowhere else.
            let _ = unsafe { result::event::destroy(self.event) };
        }
    }
}
