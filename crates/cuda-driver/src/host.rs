//! The few things that are asked of the host's process: its memory, its threads, its output.
//!
//! All unsafe code of this crate but the mapping of memory stands here.

#![allow(unsafe_code, reason = "the program's own memory is reached by the addresses that it hands over")]

use std::collections::HashSet;
use std::time::Duration;

use crate::operation::HostCall;

/// The beginning of the names of this library's own threads.
pub const THREAD_PREFIX: &str = "standstill";

/// Copies bytes out of the program's memory.
///
/// # Safety
/// The program has promised that the bytes are readable: that is the contract of CUDA's copies.
pub unsafe fn read(address: u64, into: &mut [u8]) {
    let from = device_side(address, into.len());
    // SAFETY: readable by the caller's promise; the destination is a slice of that length, and regions that
    // overlap are allowed.
    unsafe { std::ptr::copy(from.cast_const(), into.as_mut_ptr(), into.len()) };
}

/// Copies bytes into the program's memory.
///
/// # Safety
/// The program has promised that the bytes are writable.
pub unsafe fn write(address: u64, from: &[u8]) {
    let to = device_side(address, from.len());
    // SAFETY: writable by the caller's promise.
    unsafe { std::ptr::copy(from.as_ptr(), to, from.len()) };
}

/// Where the device reaches the program's bytes: what is shared with it is open to it under another address.
fn device_side(address: u64, bytes: usize) -> *mut u8 {
    let same = std::ptr::with_exposed_provenance_mut(address as usize);
    standstill_host_access::device_side(address as usize, bytes).unwrap_or(same)
}

/// Calls a function of the program.
///
/// # Safety
/// The program has promised that the function may be called with this argument.
pub unsafe fn call(call: HostCall) {
    (call.function)(call.argument);
}

/// Writes to the program's standard output, behind what it has printed itself.
pub fn print(text: &[u8]) {
    // SAFETY: `fwrite` reads `text.len()` bytes, which the slice has; a null stream for `fflush` means all.
    unsafe {
        unsafe extern "C" {
            static stdout: *mut libc::FILE;
        }
        libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
    }
}

/// Whether a person reads the program's standard error.
#[must_use]
pub fn somebody_reads() -> bool {
    // SAFETY: takes a number and cannot fail.
    unsafe { libc::isatty(libc::STDERR_FILENO) == 1 }
}

/// Whether the address is in memory of this process, by the system's own list.
#[must_use]
pub fn is_own_memory(address: u64) -> bool {
    mapping(address).is_some()
}

/// Whether other processes may have the same memory, and write it.
#[must_use]
pub fn is_shared_memory(address: u64) -> bool {
    mapping(address).is_some_and(|line| line.split(' ').nth(1).is_some_and(|rights| rights.ends_with('s')))
}

/// The line of the system's list of mappings that holds the address.
fn mapping(address: u64) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let holds = |line: &&str| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        range.is_some_and(|(start, end)| {
            number(start).is_some_and(|start| start <= address)
                && number(end).is_some_and(|end| address < end)
        })
    };
    maps.lines().find(holds).map(str::to_owned)
}

/// So long the program's output may take to be written when the process is ended.
const FLUSH: Duration = Duration::from_secs(1);

/// Ends the process without running what the program registered for its end, but with its output written.
pub fn end_process(code: i32) -> ! {
    let (done, flushed) = std::sync::mpsc::channel();
    // A thread of the program may hold a stream for good: writing is left to a thread that need not come back.
    let name = format!("{THREAD_PREFIX}-out");
    let started = std::thread::Builder::new().name(name).spawn(move || {
        // SAFETY: safe to call at any time; a null stream means all streams.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let _ = done.send(());
    });
    if started.is_ok() {
        let _ = flushed.recv_timeout(FLUSH);
    }
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(code) }
}

/// The number of this thread in the system.
#[must_use]
pub fn thread_number() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

/// What the program's threads that do not wait for the device are doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// There are none.
    None,
    /// All of them wait for another thread without a limit in time.
    WaitForEachOther,
    /// At least one can still do something.
    MayAct,
}

/// Looks at the threads of this process except this library's own and those that wait in it.
#[must_use]
pub fn other_threads(waiting: &HashSet<i32>) -> Others {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Others::MayAct };
    let mut others = Others::None;
    for task in tasks.flatten() {
        let name = task.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if waiting.contains(&number) {
            continue;
        }
        let file = |name: &str| std::fs::read_to_string(task.path().join(name));
        // A thread that has just ended has no files any more.
        let Ok(command) = file("comm") else { continue };
        if command.starts_with(THREAD_PREFIX) {
            continue;
        }
        match file("syscall") {
            Ok(call) if waits_for_a_thread(&call) => others = Others::WaitForEachOther,
            _ => return Others::MayAct,
        }
    }
    others
}

/// Whether a line of `/proc/PID/task/TID/syscall` is a wait on a futex without a time limit.
fn waits_for_a_thread(line: &str) -> bool {
    const FUTEX_COMMAND: u64 = 0x7f;
    let mut words = line.split_whitespace();
    let call: Option<i64> = words.next().and_then(|word| word.parse().ok());
    if call != Some(libc::SYS_futex) {
        return false;
    }
    let mut argument = || {
        let word = words.next()?;
        u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
    };
    let (_, Some(operation), _, Some(limit)) = (argument(), argument(), argument(), argument()) else {
        return false;
    };
    let waits = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET].map(|command| command as u64);
    waits.contains(&(operation & FUTEX_COMMAND)) && limit == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_process_is_told_from_other() {
        let here = 0u8;
        assert!(is_own_memory(std::ptr::from_ref(&here).addr() as u64));
        assert!(!is_own_memory(8));
        assert!(!is_shared_memory(std::ptr::from_ref(&here).addr() as u64));
    }

    #[test]
    fn waits_without_limit_are_told_from_others() {
        let futex = libc::SYS_futex;
        assert!(waits_for_a_thread(&format!("{futex} 0x7f 0x109 0x5 0x0 0x0 0xffffffff 0x7ffd 0x7f")));
        assert!(!waits_for_a_thread(&format!("{futex} 0x7f 0x109 0x5 0x7ffd 0x0 0xffffffff 0x7ffd 0x7f")));
        assert!(!waits_for_a_thread(&format!("{futex} 0x7f 0x81 0x1 0x0 0x0 0x0 0x7ffd 0x7f")));
        assert!(!waits_for_a_thread("running"));
    }
}
