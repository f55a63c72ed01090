//! What programs load as `libcuda.so.1` when their host operations are recorded on a real card: every call goes to
//! NVIDIA's driver as it is, and those that order, touch or give back something are written down.
//!
//! Belongs here: the functions of the driver's interface that are recorded, and how programs come to them.
//! Does not belong here: the form of a trace (`trace`), what the order of operations means (`stream-order`), and any
//! answer of our own: not one call is answered here, and the tables by which NVIDIA's runtime and driver know each
//! other (`cuGetExportTable`) are never looked at.
//!
//! The library defines only what it wraps. It needs `libcuda-real.so`, a link to the driver, so the loader finds every
//! other function there, those of newer drivers too ([`real`]).

#![allow(unsafe_code, reason = "this crate is a C interface: every pointer comes from the program")]
#![allow(non_snake_case, reason = "the exported names are CUDA's own")]
#![allow(missing_docs, reason = "an exported function does what the CUDA Driver API says of its name")]
#![allow(clippy::missing_safety_doc, reason = "callers are C programs; the contract is CUDA's documentation")]
#![allow(unreachable_pub, reason = "exported functions are reached by name")]
#![allow(clippy::too_many_arguments, reason = "the parameters are CUDA's own")]

mod api;
mod call_chain;
mod contexts;
mod graphs;
mod host_calls;
mod kernels;
mod layout;
mod lock;
mod mapped_file;
mod memo;
mod memory;
mod python;
mod real;
mod recorder;
mod streams;
mod thread;
