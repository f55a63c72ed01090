//! The CUDA runtime as programs link it (`libcudart`), for machines without a card: written from NVIDIA's public
//! documentation of the CUDA Runtime API and the headers that programs compile with.
//!
//! Belongs here: the C functions, the layouts of what they take and give, and the tables behind handles.
//! Does not belong here: what an operation does (`cuda-driver`), and any answer to the checks by which NVIDIA's
//! own runtime and driver know each other.
//!
//! Every exported function goes through [`call::enter`], which keeps the error state that CUDA defines and lets
//! no panic out.

#![allow(unsafe_code, reason = "this crate is a C interface: every pointer comes from the program")]
#![allow(non_snake_case, reason = "the exported names are CUDA's own")]
#![allow(missing_docs, reason = "an exported function does what the CUDA Runtime API says of its name")]
#![allow(clippy::missing_safety_doc, reason = "callers are C programs; the contract is CUDA's documentation")]
#![allow(unreachable_pub, reason = "exported functions are reached by name")]
#![allow(clippy::too_many_arguments, reason = "the parameters are CUDA's own")]

mod address_space;
mod call;
mod copies;
mod devices;
mod driver;
mod errors;
mod events;
mod functions;
mod graphs;
mod handles;
mod host_calls;
mod host_signals;
mod launches;
mod layout;
mod memory;
mod memory_faults;
mod modules;
mod pools;
mod properties;
mod registration;
mod runtime;
mod streams;
mod unprovided;
