//! Sees when a program's own code reads or writes memory that unfinished operations of a device may touch.
//!
//! Belongs here: memory that is mapped twice, for the program and for the device; the protection of the program's
//! pages while operations are unfinished, and the handler of the faults that come of it; opening pages for system
//! calls, which answer a protected page with an error instead of a fault.
//! Does not belong here: which operations are finished (`cuda-driver`), and whether an access was right
//! (`stream-order`).
//!
//! While nothing is unfinished the pages are open and an access costs nothing. The first access to a page faults; it is
//! noted with the place of the instruction, and the page stays open (to reading, after a read) until the next operation
//! that may touch it is put in.
//!
//! Limits: of the accesses to a page only the first read and the first write after each operation are seen; memory that
//! the program has registered is its own and is not watched; futexes in protected pages are not opened.

#![allow(unsafe_code, reason = "pages are protected and faults handled by the C library's functions")]

mod arch;
mod fault;
mod lock;
mod memory;
mod notes;
mod regions;
mod watch;

pub use fault::replace_handler;
pub use memory::{Shared, create, device_side, remove};
pub use notes::{MOST_FRAMES, MOST_NOTED, Noted, Thread};
pub use regions::{Owner, Refuses};
pub use watch::{
    Pin, guard, guard_reachable, is_on, open_for_call, rearm, release, set_thread, start, take_noted,
};
