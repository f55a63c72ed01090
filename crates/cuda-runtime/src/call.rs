//! The way in for every exported function: CUDA's error state, and no panic out.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use standstill_cuda_driver::{CallSite, Status, in_host_call, status};
use standstill_trace::Call;

use crate::runtime::runtime;

thread_local! {
    /// The last error of this thread (CUDA Runtime API, «Error Handling»).
    static LAST: Cell<i32> = const { Cell::new(0) };
    /// The launch whose error nobody has asked for yet.
    static UNSEEN: RefCell<Option<Unseen>> = const { RefCell::new(None) };
}

/// A launch that was refused.
struct Unseen {
    site: CallSite,
    kernel: String,
    status: Status,
    /// Whether another launch was taken since.
    followed: bool,
}

pub type Result<T = ()> = std::result::Result<T, Status>;

/// Runs the body of an exported function that needs the device.
pub fn enter(name: &str, body: impl FnOnce() -> Result) -> c_int {
    finish(|| {
        if is_in_host_call(name) {
            return Err(Status::NotPermitted);
        }
        match runtime().broken() {
            Some(status) => Err(status),
            None => body(),
        }
    })
}

/// Runs the body of an exported function that also answers when the device is broken.
pub fn enter_always(name: &str, body: impl FnOnce() -> Result) -> c_int {
    is_in_host_call(name);
    finish(body)
}

/// Whether a function of the host calls, which no function of CUDA may be called by (CUDA Runtime API,
/// `cudaLaunchHostFunc`); such a call is written down.
fn is_in_host_call(name: &str) -> bool {
    if in_host_call()
        && let Ok(machine) = runtime().machine()
    {
        machine.note(|| Call::CalledInHostFunction { function: name.to_owned() });
    }
    in_host_call()
}

fn finish(body: impl FnOnce() -> Result) -> c_int {
    // A panic is a fault of this library; the program sees an error, as it would of a driver.
    let status = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return 0,
        Ok(Err(status)) => status,
        Err(_) => Status::Unknown,
    };
    LAST.set(status.code());
    runtime().answers_with_error();
    status.code()
}

/// A launch was refused: the syntax of launches hands its error to nobody.
pub fn launch_refused(kernel: String, status: Status) {
    let site = runtime().machine().map(|machine| machine.site()).unwrap_or_default();
    UNSEEN.replace(Some(Unseen { site, kernel, status, followed: false }));
}

/// A launch was taken.
pub fn launch_taken() {
    UNSEEN.with_borrow_mut(|unseen| {
        if let Some(unseen) = unseen {
            unseen.followed = true;
        }
    });
}

/// The last error; takes it when asked to.
pub fn last(take: bool) -> i32 {
    if let Some(status) = runtime().broken() {
        runtime().answers_with_error();
        return status.code();
    }
    let code = if take { LAST.replace(0) } else { LAST.get() };
    if let Some(unseen) = UNSEEN.take().filter(|unseen| unseen.followed && unseen.status.code() == code)
        && let Ok(machine) = runtime().machine()
    {
        machine.note(|| Call::Surfaced {
            error: status::name(code).trim_end_matches('\0').to_owned(),
            cause: unseen.site.number() as u32,
            what: unseen.kernel,
        });
    }
    code
}

/// Exports functions that take no stream.
macro_rules! export {
    ($($enter:ident fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> std::ffi::c_int {
            crate::call::$enter(stringify!($name), || $body)
        }
    )*};
}

/// Exports functions twice: with the legacy default stream, and with the thread's own (`_ptsz`, `_ptds`), which
/// `--default-stream per-thread` makes the compiler call.
macro_rules! export_both {
    ($(fn $name:ident / $other:ident($($argument:ident: $ty:ty),* $(,)?) [$default:ident] $body:block)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> std::ffi::c_int {
            let $default = crate::streams::Default::Legacy;
            crate::call::enter(stringify!($name), || $body)
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $other($($argument: $ty),*) -> std::ffi::c_int {
            let $default = crate::streams::Default::PerThread;
            crate::call::enter(stringify!($name), || $body)
        }
    )*};
}

pub(crate) use {export, export_both};

/// Writes through a pointer that the program gave for a result.
///
/// # Safety
/// The pointer is null or valid for a write: that is the contract of every CUDA function with a result.
pub unsafe fn put<T>(pointer: *mut T, value: T) -> Result {
    if pointer.is_null() {
        return Err(Status::InvalidValue);
    }
    // SAFETY: not null, and valid by the caller's promise.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Reads through a pointer that the program gave.
///
/// # Safety
/// The pointer is null or valid for a read.
pub unsafe fn get<T: Copy>(pointer: *const T) -> Result<T> {
    if pointer.is_null() {
        return Err(Status::InvalidValue);
    }
    // SAFETY: not null, and valid by the caller's promise.
    Ok(unsafe { pointer.read_unaligned() })
}
