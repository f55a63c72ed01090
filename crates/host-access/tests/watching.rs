//! Real pages, real faults.

#![allow(
    clippy::unwrap_used,
    unsafe_code,
    reason = "a test that cannot go on must stop; pages are touched by address"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use standstill_host_access::{
    Noted, Owner, Refuses, Shared, Thread, create, device_side, guard, guard_reachable, open_for_call, rearm,
    release, remove, replace_handler, set_thread, start, take_noted,
};

const PAGE: usize = 4096;
const FIRST: Owner = Owner { stream: 1, operation: 1 };

/// The watch is one for the process: a test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(start());
    alone
}

fn pages(count: usize) -> Shared {
    create(count * PAGE, false).unwrap()
}

fn guard_all(memory: Shared, count: usize, refuses: Refuses, owner: Owner) {
    guard(memory.program.addr(), count * PAGE, refuses, owner);
}

fn read(memory: Shared, at: usize) -> u8 {
    // SAFETY: within the pages.
    unsafe { memory.program.add(at).read_volatile() }
}

fn write(memory: Shared, at: usize, value: u8) {
    // SAFETY: within the pages.
    unsafe { memory.program.add(at).write_volatile(value) }
}

/// What was noted, as offsets with whether they were written.
fn seen(memory: Shared) -> Vec<(usize, bool)> {
    noted().iter().map(|noted| (noted.address - memory.program.addr(), noted.write)).collect()
}

fn noted() -> Vec<Noted> {
    let mut noted = Vec::new();
    take_noted(&mut noted);
    noted
}

fn finish(memory: Shared) {
    release(&|_| true);
    assert!(remove(memory.program.addr()));
    assert_eq!(noted().len(), 0);
}

#[test]
fn both_sides_have_the_same_bytes_and_only_the_program_faults() {
    let _alone = alone();
    let memory = pages(2);
    write(memory, 5, 7);
    assert_eq!(seen(memory), [], "nothing is unfinished");
    guard_all(memory, 2, Refuses::Everything, FIRST);
    let device = device_side(memory.program.addr() + 5, 1).unwrap();
    // SAFETY: within the pages.
    unsafe {
        assert_eq!(device.read_volatile(), 7);
        device.write_volatile(8);
    }
    assert_eq!(read(memory, 5), 8);
    assert_eq!(read(memory, 6), 0);
    write(memory, 9, 1);
    write(memory, 5, 9);
    assert_eq!(read(memory, PAGE + 1), 0);
    assert_eq!(seen(memory), [(5, false), (9, true), (PAGE + 1, false)]);
    assert_eq!(device_side(memory.program.addr() + 1, 2 * PAGE), None);
    finish(memory);
}

#[test]
fn an_operation_that_reads_lets_the_program_read() {
    let _alone = alone();
    let memory = pages(1);
    guard_all(memory, 1, Refuses::Writes, FIRST);
    assert_eq!(read(memory, 1), 0);
    write(memory, 2, 3);
    write(memory, 3, 3);
    assert_eq!(seen(memory), [(2, true)]);
    // Somebody else begins to run.
    rearm();
    write(memory, 4, 3);
    assert_eq!(seen(memory), [(4, true)]);
    finish(memory);
}

#[test]
fn pages_open_when_the_program_knows_the_operation_to_be_finished() {
    let _alone = alone();
    let memory = pages(1);
    guard_all(memory, 1, Refuses::Everything, FIRST);
    guard_all(memory, 1, Refuses::Everything, Owner { stream: 2, operation: 2 });
    release(&|owner| owner.stream == 1);
    write(memory, 0, 1);
    assert_eq!(seen(memory), [(0, true)]);
    release(&|owner| owner.operation <= 2);
    write(memory, 0, 1);
    assert_eq!(seen(memory), []);
    finish(memory);
}

#[test]
fn kernels_reach_what_their_parameters_point_into() {
    let _alone = alone();
    let (pointed, other, everywhere) = (pages(1), pages(1), create(PAGE, true).unwrap());
    let mut parameters = vec![0; 8];
    parameters.extend((pointed.program.addr() as u64 + 100).to_le_bytes());
    guard_reachable(&parameters, FIRST);
    for memory in [pointed, other, everywhere] {
        write(memory, 0, 1);
    }
    let places: Vec<usize> = noted().iter().map(|noted| noted.address).collect();
    assert_eq!(places, [pointed.program.addr(), everywhere.program.addr()]);
    for memory in [pointed, other, everywhere] {
        finish(memory);
    }
}

#[test]
fn accesses_through_functions_of_the_c_library_are_theirs_with_the_callers_behind() {
    let _alone = alone();
    let memory = pages(3);
    write(memory, PAGE + 10, b'x');
    guard_all(memory, 3, Refuses::Everything, FIRST);
    // SAFETY: the bytes end with a zero, and lie in the pages.
    unsafe {
        assert_eq!(libc::strlen(memory.program.add(PAGE + 10).cast()), 1);
        // Across a border of pages.
        let mut taken = [1u8; 16];
        libc::memcpy(taken.as_mut_ptr().cast(), memory.program.add(2 * PAGE - 8).cast_const().cast(), 16);
        assert_eq!(taken, [0; 16]);
    }
    let noted = noted();
    assert!(noted.iter().all(|noted| !noted.write && noted.frames().len() > 2));
    let pages: Vec<usize> =
        noted.iter().map(|noted| (noted.address - memory.program.addr()) / PAGE).collect();
    assert_eq!(pages, [1, 2]);
    finish(memory);
}

#[test]
fn a_string_at_the_end_of_a_page_is_read_from_its_own_first_byte() {
    let _alone = alone();
    let memory = pages(1);
    // The vector in which it lies begins with bytes that are none of its own.
    for before_end in 2..40 {
        let at = PAGE - before_end;
        write(memory, at, b'x');
        write(memory, at + 1, 0);
        guard_all(memory, 1, Refuses::Everything, FIRST);
        // SAFETY: the bytes end with a zero, and lie in the page.
        assert_eq!(unsafe { libc::strlen(memory.program.add(at).cast()) }, 1);
        assert_eq!(seen(memory), [(at, false)]);
        release(&|_| true);
    }
    finish(memory);
}

#[test]
fn a_child_can_touch_what_is_protected() {
    let _alone = alone();
    let memory = pages(1);
    guard_all(memory, 1, Refuses::Everything, FIRST);
    // SAFETY: the child does nothing but touch the page and end.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            write(memory, 3, 4);
            libc::_exit(0);
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        assert_eq!(status, 0);
    }
    assert_eq!(noted_count(), 0);
    finish(memory);
}

#[test]
fn faults_and_signals_that_are_none_of_the_watchs_end_the_program_as_ever() {
    let _alone = alone();
    let ends = |act: fn()| {
        // SAFETY: the child does nothing but what ends it.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                act();
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            libc::WTERMSIG(status)
        }
    };
    // SAFETY: it is meant to fault.
    let wild = || unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) };
    assert_eq!(ends(wild), libc::SIGSEGV);
    let sent = || {
        // SAFETY: zero is an action that asks for the default; the signal goes to the process itself.
        unsafe {
            let default: libc::sigaction = std::mem::zeroed();
            assert!(replace_handler(Some(&default)).is_some());
            libc::kill(libc::getpid(), libc::SIGSEGV);
        }
    };
    assert_eq!(ends(sent), libc::SIGSEGV);
}

#[test]
fn system_calls_find_open_pages() {
    let _alone = alone();
    let memory = pages(2);
    let mut ends = [0; 2];
    // SAFETY: the pages stay open as long as the pin lives.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let [from, to] = ends;
        assert_eq!(libc::write(to, b"hello".as_ptr().cast(), 5), 5);
        guard_all(memory, 2, Refuses::Everything, FIRST);
        let place = memory.program.add(PAGE - 2);
        assert_eq!(libc::read(from, place.cast(), 5), -1, "the system does not fault");
        let pin = open_for_call(place.addr(), 5, true);
        // An operation that another thread puts in meanwhile does not close them.
        guard_all(memory, 2, Refuses::Everything, Owner { stream: 2, operation: 2 });
        assert_eq!(libc::read(from, place.cast(), 5), 5);
        pin.note(place.addr(), 5, true);
        drop(pin);
        libc::close(from);
        libc::close(to);
    }
    let noted: Vec<_> = noted().iter().map(|noted| (noted.bytes, noted.write)).collect();
    assert_eq!(noted, [(5, true)]);
    finish(memory);
    let memory = pages(1);
    let pin = open_for_call(memory.program.addr(), 5, true);
    pin.note(memory.program.addr(), 5, true);
    drop(pin);
    assert_eq!(noted_count(), 0, "nothing is unfinished");
    finish(memory);
}

fn noted_count() -> usize {
    noted().len()
}

#[test]
fn accesses_belong_to_their_threads() {
    let _alone = alone();
    let memory = pages(1);
    let from = |host_functions: Option<bool>| {
        guard_all(memory, 1, Refuses::Everything, FIRST);
        let address = memory.program.addr();
        let thread = std::thread::spawn(move || {
            if let Some(host_functions) = host_functions {
                set_thread(host_functions);
            }
            let program = std::ptr::with_exposed_provenance_mut::<u8>(address);
            // SAFETY: within the page.
            unsafe { program.write_volatile(1) };
        });
        thread.join().unwrap();
        noted().iter().map(|noted| noted.thread).collect::<Vec<_>>()
    };
    let _ = memory.program.expose_provenance();
    assert!(matches!(from(None)[..], [Thread::Program(_)]));
    assert!(matches!(from(Some(true))[..], [Thread::HostFunction]));
    assert_eq!(from(Some(false)), [], "the device");
    finish(memory);
}
