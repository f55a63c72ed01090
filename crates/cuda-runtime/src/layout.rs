//! Structures as C programs lay them out (`driver_types.h`, `vector_types.h`).

use std::ffi::{c_int, c_void};

pub type Pointer = *mut c_void;
pub type ConstPointer = *const c_void;
pub type StreamHandle = *mut c_void;
pub type EventHandle = *mut c_void;
pub type GraphHandle = *mut c_void;
pub type NodeHandle = *mut c_void;
pub type ExecHandle = *mut c_void;
pub type PoolHandle = *mut c_void;
pub type ArrayHandle = *mut c_void;

#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl Dim3 {
    pub fn extents(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PitchedPtr {
    pub ptr: Pointer,
    pub pitch: usize,
    pub xsize: usize,
    pub ysize: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Pos {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Memcpy3DParms {
    pub src_array: ArrayHandle,
    pub src_pos: Pos,
    pub src_ptr: PitchedPtr,
    pub dst_array: ArrayHandle,
    pub dst_pos: Pos,
    pub dst_ptr: PitchedPtr,
    pub extent: Extent,
    pub kind: c_int,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PointerAttributes {
    pub kind: c_int,
    pub device: c_int,
    pub device_pointer: Pointer,
    pub host_pointer: Pointer,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FuncAttributes {
    pub shared_size: usize,
    pub const_size: usize,
    pub local_size: usize,
    pub max_threads_per_block: c_int,
    pub registers: c_int,
    pub ptx_version: c_int,
    pub binary_version: c_int,
    pub cache_mode_ca: c_int,
    pub max_dynamic_shared: c_int,
    pub preferred_carveout: c_int,
    pub cluster_dim_must_be_set: c_int,
    pub required_cluster: [c_int; 3],
    pub cluster_policy: c_int,
    pub non_portable_cluster: c_int,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub dynamic_shared: usize,
    pub stream: StreamHandle,
    pub attributes: *const LaunchAttribute,
    pub count: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct LaunchAttribute {
    pub id: c_int,
    pub pad: [u8; 4],
    pub value: [u32; 16],
}

pub const ATTRIBUTE_COOPERATIVE: c_int = 2;
pub const ATTRIBUTE_CLUSTER: c_int = 4;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelNodeParams {
    pub func: Pointer,
    pub grid: Dim3,
    pub block: Dim3,
    pub dynamic_shared: u32,
    pub kernel_params: *mut Pointer,
    pub extra: *mut Pointer,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MemsetParams {
    pub dst: Pointer,
    pub pitch: usize,
    pub value: u32,
    pub element_size: u32,
    pub width: usize,
    pub height: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HostNodeParams {
    pub function: Pointer,
    pub user_data: Pointer,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MemLocation {
    pub kind: c_int,
    pub id: c_int,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MemPoolProps {
    pub alloc_type: c_int,
    pub handle_types: c_int,
    pub location: MemLocation,
    pub security: Pointer,
    pub max_size: usize,
    pub usage: u16,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ChannelFormatDesc {
    pub x: c_int,
    pub y: c_int,
    pub z: c_int,
    pub w: c_int,
    pub f: c_int,
}

/// What the compiler's registration code hands over for the device code of one translation unit
/// (`fatbinary_section.h`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct FatbinWrapper {
    pub magic: u32,
    pub version: u32,
    pub data: *const u8,
    /// Version 2: a list of fatbins that ends with a null pointer, before they were linked.
    pub prelinked: *const *const u8,
}

pub const FATBIN_WRAPPER_MAGIC: u32 = 0x4662_43b1;

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn sizes_are_those_of_the_headers() {
        assert_eq!(size_of::<Memcpy3DParms>(), 160);
        assert_eq!(size_of::<LaunchConfig>(), 56);
        assert_eq!(size_of::<LaunchAttribute>(), 72);
        assert_eq!(offset_of!(FuncAttributes, max_dynamic_shared), 44);
        assert_eq!(size_of::<KernelNodeParams>(), 56);
        assert_eq!(size_of::<MemsetParams>(), 40);
        assert_eq!(size_of::<FatbinWrapper>(), 24);
    }
}
