//! What CUDA host code asks of a device: operations in streams, their order, and a device that carries them out.
//!
//! Belongs here: the operations and what each call means, the order that streams and events give, device code
//! as programs hand it over, the card's answers about itself, errors as CUDA defines them, and the software
//! device behind it all.
//! Does not belong here: the C interface of a library (`cuda-runtime` has that of `libcudart`), executing
//! kernels (`device-sim`), and judging what was seen.
//!
//! A [`Machine`] takes operations for streams and runs them on a thread of its own, over a [`Backend`]. What it
//! finds goes into a [`journal`], which the process that started the program reads.

pub mod backend;
mod call_site;
pub mod capture;
mod card;
mod fault_report;
pub mod host;
mod image;
pub mod journal;
mod kept;
mod link;
mod machine;
pub mod operation;
mod queue;
mod reach;
pub mod recorder;
mod software;
pub mod status;
mod transfer;

pub use backend::{Backend, Mention};
pub use call_site::{CallSite, HostFrame, outside};
pub use card::{Card, DEFAULT_MODEL};
pub use image::{Image, ImageError, Kernel, ParameterSlot, ptx_of};
pub use kept::Kept;
pub use link::link;
pub use machine::{Machine, in_host_call};
pub use queue::{Awaited, OperationOrder, Queue, StreamKind};
pub use reach::reach;
pub use software::{Execution, Order, Software};
pub use status::Status;
