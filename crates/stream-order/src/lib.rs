//! Which operations of a program's host code come before which, and which pairs nothing orders.
//!
//! Belongs here: happens-before over streams, events and the host, exactly as CUDA's documentation defines each
//! call; which bytes were touched by whom; the rules about streams.
//! Does not belong here: recording and reading traces, finding source lines, printing.
//!
//! [`Check`] takes the records of a trace one by one and keeps only what later records can still conflict with.

mod actors;
mod arguments;
mod check;
mod clock;
mod completion;
mod conflict;
mod coverage;
mod found;
mod history;
mod launches;
mod library_kernels;
mod log;
mod memory;
mod order;
mod outstanding;
mod report;
mod rules;
mod talk;
mod timeline;
mod values;
mod words;

pub use check::Check;
pub use completion::{Completion, completion};
pub use conflict::{Actor, Certainty, Conflict, Deed, Name};
pub use coverage::Coverage;
pub use launches::{Extents, Launches, NoReach, Reach, Reached};
pub use outstanding::{Front, Outstanding};
pub use report::{Place, Places, findings};
pub use timeline::Drawing;
