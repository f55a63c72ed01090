//! The layout of generic addresses.
//!
//! A shared, local or parameter address is the same number as a 32-bit address of its space and as a
//! generic address, so that a conversion between the two (`cvta`) changes nothing in either width. The
//! windows lie below 2 GiB, where sign extension changes nothing either. Global and constant memory are
//! everywhere else.

/// First address of the window of kernel parameters.
pub const PARAMETERS: u64 = 0x3f00_0000;
/// First address of the window of a thread's local memory.
pub const LOCAL: u64 = 0x4000_0000;
/// First address of the window of the own block's shared memory.
pub const SHARED: u64 = 0x6000_0000;
/// The shared memory of the block with rank `r` of the cluster begins at `SHARED + (r + 1) * SHARED_STEP`.
pub const SHARED_STEP: u64 = 0x0100_0000;
/// One past the last address of any window of shared memory.
pub const SHARED_END: u64 = 0x8000_0000;
/// The address of function `i` is `FUNCTIONS + i * FUNCTION_STEP`.
pub const FUNCTIONS: u64 = 0x0800_0000_0000;
/// Distance of the addresses of functions.
pub const FUNCTION_STEP: u64 = 16;
/// The first address that device memory is allocated at: above any host address that a Linux process
/// on x86-64 or aarch64 usually has near its program, below its stacks and libraries.
pub const GLOBAL: u64 = 0x3000_0000_0000;

/// Which space a generic address lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// Global or constant memory.
    Global,
    /// Shared memory: of the own block, or of the block with a rank in the cluster.
    Shared {
        /// Rank in the cluster; `None` is the own block.
        rank: Option<u32>,
        /// Bytes from the start of that block's shared memory.
        offset: u32,
    },
    /// The thread's local memory, at this offset.
    Local(u32),
    /// The kernel's parameters, at this offset.
    Parameters(u32),
}

/// Takes a generic address apart.
#[inline]
pub fn window(address: u64) -> Window {
    if !(PARAMETERS..SHARED_END).contains(&address) {
        return Window::Global;
    }
    let address = address as u32;
    if address < LOCAL as u32 {
        Window::Parameters(address - PARAMETERS as u32)
    } else if address < SHARED as u32 {
        Window::Local(address - LOCAL as u32)
    } else {
        shared(address)
    }
}

/// Takes a shared address apart; only its low 32 bits count.
#[inline]
pub(crate) fn shared(address: u32) -> Window {
    let step = SHARED_STEP as u32;
    let relative = address.wrapping_sub(SHARED as u32);
    let offset = relative & (step - 1);
    match relative / step {
        0 => Window::Shared { rank: None, offset },
        rank => Window::Shared { rank: Some(rank - 1), offset },
    }
}
