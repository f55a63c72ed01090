//! Where memory lies: the software GPU's layout of addresses, and the words that exploration keeps.

pub(crate) use standstill_device_sim::address::{GLOBAL, LOCAL, PARAMETERS, SHARED, Window, window};

/// A word of memory as a key: eight bytes of global memory, or of one block's shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Word {
    /// The block whose shared memory it is; [`Word::GLOBAL`] for global memory.
    pub(crate) block: u32,
    /// Its address in eights of bytes.
    pub(crate) index: u64,
}

impl Word {
    pub(crate) const GLOBAL: u32 = u32::MAX;

    /// Address of its first byte; shared memory counts from its start.
    pub(crate) fn address(self) -> u64 {
        self.index * 8
    }
}
