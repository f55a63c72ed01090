//! Structures of the driver's interface, as `cuda.h` lays them out on 64-bit systems.

use std::ffi::{c_int, c_void};

/// A stream, event, function, graph or other thing of the driver's.
pub type Handle = *mut c_void;

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Memcpy2D {
    pub from: Side2D,
    pub to: Side2D,
    pub width: usize,
    pub height: usize,
}

/// One side of [`Memcpy2D`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Side2D {
    pub x: usize,
    pub y: usize,
    pub memory: c_int,
    pub host: usize,
    pub device: u64,
    pub array: usize,
    pub pitch: usize,
}

/// `CUDA_MEMCPY3D`; `CUDA_MEMCPY3D_PEER` has contexts where this has words that must be zero.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Memcpy3D {
    pub from: Side3D,
    pub to: Side3D,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// One side of [`Memcpy3D`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Side3D {
    pub x: usize,
    pub y: usize,
    pub z: usize,
    pub level: usize,
    pub memory: c_int,
    pub host: usize,
    pub device: u64,
    pub array: usize,
    pub reserved: usize,
    pub pitch: usize,
    pub height: usize,
}

/// `CUmemorytype`.
pub const MEMORY_HOST: c_int = 1;
pub const MEMORY_DEVICE: c_int = 2;
pub const MEMORY_ARRAY: c_int = 3;

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct MemsetNode {
    pub to: u64,
    pub pitch: usize,
    pub value: u32,
    pub element: u32,
    pub width: usize,
    pub height: usize,
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LaunchConfig {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub stream: Handle,
    pub attributes: *const LaunchAttribute,
    pub count: u32,
}

/// `CUlaunchAttribute`; the value is a union of 64 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LaunchAttribute {
    pub id: c_int,
    pub padding: [u8; 4],
    pub value: [u32; 16],
}

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`.
pub const COOPERATIVE: c_int = 2;
/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
pub const CLUSTER: c_int = 4;

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelNode {
    pub function: Handle,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub parameters: *const *const c_void,
    pub extra: *const *const c_void,
    pub kernel: Handle,
    pub context: Handle,
}

/// `CUstreamBatchMemOpParams`, a union of 48 bytes whose members begin alike.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MemoryOperation {
    pub kind: c_int,
    pub address: u64,
    pub value: u64,
    pub flags: u32,
    pub rest: [u64; 2],
}

/// `CUDA_BATCH_MEM_OP_NODE_PARAMS`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct BatchNode {
    pub context: Handle,
    pub count: u32,
    pub operations: *const MemoryOperation,
    pub flags: u32,
}
