//! Functions of the C library that hand buffers to the system, which answers a closed page with an error where the
//! program's own access would fault and be let through. Those of this library stand in front: they open the pages,
//! note the access and go on to the C library's.
//!
//! That works for a program to which this library was linked. Where the C library's functions come first (a library
//! that was opened while the program ran), memory is not watched at all.

#![cfg_attr(test, allow(dead_code, reason = "tests keep the C library's own functions"))]

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use standstill_host_access::{self as host_access, Pin, open_for_call};

/// Begins to watch what the program touches, if system calls can be kept working.
pub fn watch() {
    // SAFETY: asks for a symbol by its name.
    let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"read".as_ptr()) };
    let own = read as unsafe extern "C" fn(c_int, *mut c_void, usize) -> isize;
    if first.addr() == own as usize {
        // Without a watch, accesses of the host are not judged.
        let _ = host_access::start();
    }
}

/// The C library's function of a name, as an address.
macro_rules! next_function {
    ($name:expr) => {{
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        const NAME: &std::ffi::CStr =
            match std::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
        crate::host_calls::next(NAME, &NEXT)
    }};
}

pub(crate) use next_function;

/// The C library's function of a name; looked for once.
pub fn next(name: &'static std::ffi::CStr, known: &AtomicUsize) -> usize {
    let address = known.load(Ordering::Relaxed);
    if address != 0 {
        return address;
    }
    // SAFETY: asks for a symbol by its name.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }.addr();
    if found == 0 {
        // The C library has all of them.
        std::process::abort();
    }
    known.store(found, Ordering::Relaxed);
    found
}

/// A buffer that a call reads (`true`: writes).
type Buffer = (usize, usize, bool);

/// Buffers of a call that stay open; more than these are opened only.
struct Open(Vec<(Pin, Buffer)>);

/// Opens a call's buffers. Nothing is allocated where no watched memory is among them.
fn open(buffers: impl Iterator<Item = Buffer>) -> Open {
    let pins = buffers.filter_map(|(address, bytes, writes)| {
        let pin = open_for_call(address, bytes, writes);
        pin.is_watched().then_some((pin, (address, bytes, writes)))
    });
    let open = Open(pins.collect());
    // What the system reads is read before the call returns; how much it writes is known then.
    for (pin, (address, bytes, writes)) in &open.0 {
        if !writes {
            pin.note(*address, *bytes, false);
        }
    }
    open
}

impl Open {
    /// The call has written so many bytes, in the order of the buffers.
    fn written(&self, bytes: isize) {
        let mut left = usize::try_from(bytes).unwrap_or(0);
        for (pin, (address, bytes, writes)) in &self.0 {
            let bytes = left.min(*bytes);
            if *writes && bytes > 0 {
                pin.note(*address, bytes, true);
                left -= bytes;
            }
        }
    }
}

/// The buffers of a vector.
///
/// # Safety
/// There are as many as it says.
unsafe fn vector(vector: *const libc::iovec, count: c_int, writes: bool) -> impl Iterator<Item = Buffer> {
    let count = if vector.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) };
    (0..count).map(move |index| {
        // SAFETY: by the caller's promise.
        let one = unsafe { vector.add(index).read() };
        (one.iov_base.addr(), one.iov_len, writes)
    })
}

/// The buffers of a message.
///
/// # Safety
/// It is whole, or null.
unsafe fn message(message: *const libc::msghdr, writes: bool) -> impl Iterator<Item = Buffer> {
    // SAFETY: by the caller's promise.
    let whole = unsafe { message.as_ref() };
    let (vector_of, count) =
        whole.map_or((std::ptr::null(), 0), |message| (message.msg_iov.cast_const(), message.msg_iovlen));
    // SAFETY: by the caller's promise.
    unsafe { vector(vector_of, count as c_int, writes) }
}

/// Functions that stand in front of the C library's: their buffers, and whether the result counts bytes that were
/// written into them.
macro_rules! in_front {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) -> $result:ty { $buffers:expr } $(written $written:expr)?;)*) => {$(
        /// As the C library's.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        unsafe extern "C" fn $name($($argument: $ty),*) -> $result {
            // SAFETY: the C library's function of that name has this type.
            let next: unsafe extern "C" fn($($ty),*) -> $result =
                unsafe { std::mem::transmute(next_function!(stringify!($name))) };
            // SAFETY: the program vouches for its arguments, as for the C library's function.
            let (_open, result) = unsafe {
                let open = open($buffers);
                (open, next($($argument),*))
            };
            $( _open.written(($written)(result)); )?
            result
        }
    )*};
}

fn one(address: *const c_void, bytes: usize, writes: bool) -> std::iter::Once<Buffer> {
    std::iter::once((address.addr(), bytes, writes))
}

fn same(result: isize) -> isize {
    result
}

in_front! {
    fn read(file: c_int, into: *mut c_void, bytes: usize) -> isize { one(into, bytes, true) } written same;
    fn pread(file: c_int, into: *mut c_void, bytes: usize, at: i64) -> isize { one(into, bytes, true) } written same;
    fn pread64(file: c_int, into: *mut c_void, bytes: usize, at: i64) -> isize { one(into, bytes, true) } written same;
    fn recv(socket: c_int, into: *mut c_void, bytes: usize, flags: c_int) -> isize { one(into, bytes, true) } written same;
    fn recvfrom(
        socket: c_int, into: *mut c_void, bytes: usize, flags: c_int, from: *mut c_void, length: *mut c_void,
    ) -> isize { one(into, bytes, true) } written same;
    fn recvmsg(socket: c_int, into: *mut libc::msghdr, flags: c_int) -> isize { message(into, true) } written same;
    fn readv(file: c_int, into: *const libc::iovec, count: c_int) -> isize { vector(into, count, true) } written same;
    fn preadv(file: c_int, into: *const libc::iovec, count: c_int, at: i64) -> isize {
        vector(into, count, true)
    } written same;
    fn preadv64(file: c_int, into: *const libc::iovec, count: c_int, at: i64) -> isize {
        vector(into, count, true)
    } written same;
    fn write(file: c_int, from: *const c_void, bytes: usize) -> isize { one(from, bytes, false) };
    fn pwrite(file: c_int, from: *const c_void, bytes: usize, at: i64) -> isize { one(from, bytes, false) };
    fn pwrite64(file: c_int, from: *const c_void, bytes: usize, at: i64) -> isize { one(from, bytes, false) };
    fn send(socket: c_int, from: *const c_void, bytes: usize, flags: c_int) -> isize { one(from, bytes, false) };
    fn sendto(
        socket: c_int, from: *const c_void, bytes: usize, flags: c_int, to: *const c_void, length: u32,
    ) -> isize { one(from, bytes, false) };
    fn sendmsg(socket: c_int, from: *const libc::msghdr, flags: c_int) -> isize { message(from, false) };
    fn writev(file: c_int, from: *const libc::iovec, count: c_int) -> isize { vector(from, count, false) };
    fn pwritev(file: c_int, from: *const libc::iovec, count: c_int, at: i64) -> isize { vector(from, count, false) };
    fn pwritev64(file: c_int, from: *const libc::iovec, count: c_int, at: i64) -> isize { vector(from, count, false) };
    fn fread(into: *mut c_void, size: usize, count: usize, file: *mut libc::FILE) -> usize {
        one(into, size.saturating_mul(count), true)
    } written |items: usize| isize::try_from(items.saturating_mul(size)).unwrap_or(0);
    fn fwrite(from: *const c_void, size: usize, count: usize, file: *mut libc::FILE) -> usize {
        one(from, size.saturating_mul(count), false)
    };
    fn fread_unlocked(into: *mut c_void, size: usize, count: usize, file: *mut libc::FILE) -> usize {
        one(into, size.saturating_mul(count), true)
    } written |items: usize| isize::try_from(items.saturating_mul(size)).unwrap_or(0);
    fn fwrite_unlocked(from: *const c_void, size: usize, count: usize, file: *mut libc::FILE) -> usize {
        one(from, size.saturating_mul(count), false)
    };
    // What compilers call instead where the size of the buffer is known (`_FORTIFY_SOURCE`).
    fn __read_chk(file: c_int, into: *mut c_void, bytes: usize, room: usize) -> isize {
        one(into, bytes.min(room), true)
    } written same;
    fn __pread_chk(file: c_int, into: *mut c_void, bytes: usize, at: i64, room: usize) -> isize {
        one(into, bytes.min(room), true)
    } written same;
    fn __pread64_chk(file: c_int, into: *mut c_void, bytes: usize, at: i64, room: usize) -> isize {
        one(into, bytes.min(room), true)
    } written same;
    fn __recv_chk(socket: c_int, into: *mut c_void, bytes: usize, room: usize, flags: c_int) -> isize {
        one(into, bytes.min(room), true)
    } written same;
    fn __recvfrom_chk(
        socket: c_int, into: *mut c_void, bytes: usize, room: usize, flags: c_int, from: *mut c_void,
        length: *mut c_void,
    ) -> isize { one(into, bytes.min(room), true) } written same;
    fn __fread_chk(into: *mut c_void, room: usize, size: usize, count: usize, file: *mut libc::FILE) -> usize {
        one(into, size.saturating_mul(count).min(room), true)
    } written |items: usize| isize::try_from(items.saturating_mul(size)).unwrap_or(0);
    fn __fread_unlocked_chk(
        into: *mut c_void, room: usize, size: usize, count: usize, file: *mut libc::FILE,
    ) -> usize {
        one(into, size.saturating_mul(count).min(room), true)
    } written |items: usize| isize::try_from(items.saturating_mul(size)).unwrap_or(0);
}
