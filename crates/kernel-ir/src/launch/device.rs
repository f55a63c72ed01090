//! Cards, and how many blocks of a kernel one of them holds at once.

/// What a card has room for. Limits of a multiprocessor follow from the compute capability (CUDA C++
/// Programming Guide, «Technical Specifications per Compute Capability»), the number of multiprocessors
/// from the vendor's data sheet of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// The name that `--gpu` takes.
    pub name: &'static str,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Most threads of a multiprocessor.
    pub threads: u32,
    /// Most blocks of a multiprocessor.
    pub blocks: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_bytes: u64,
    /// What the system takes of it for each block, in bytes.
    pub reserved_shared_bytes: u64,
    /// Shared memory is given in pieces of this many bytes.
    pub shared_unit: u64,
}

/// Registers of a multiprocessor; the same from compute capability 7.0 to 12.1.
const REGISTERS: u64 = 64 << 10;
/// Registers are given to a warp in pieces of this many.
const REGISTER_UNIT: u64 = 256;
/// A multiprocessor has this many parts with registers of their own, and warps are dealt to them evenly.
const PARTITIONS: u64 = 4;
/// Threads of a warp.
const WARP: u32 = 32;

const KIB: u64 = 1 << 10;

/// A row of the table: compute capability 7.x has no reserved shared memory and pieces of 256 bytes.
const fn device(
    name: &'static str,
    multiprocessors: u32,
    threads: u32,
    blocks: u32,
    shared_kib: u64,
    capability: u32,
) -> Device {
    let old = capability < 80;
    Device {
        name,
        multiprocessors,
        threads,
        blocks,
        shared_bytes: shared_kib * KIB,
        reserved_shared_bytes: if old { 0 } else { KIB },
        shared_unit: if old { 256 } else { 128 },
    }
}

const DEVICES: [Device; 12] = [
    device("v100", 80, 2048, 32, 96, 70),
    device("t4", 40, 1024, 16, 64, 75),
    device("a100", 108, 2048, 32, 164, 80),
    device("a10", 72, 1536, 16, 100, 86),
    device("rtx3090", 82, 1536, 16, 100, 86),
    device("l4", 58, 1536, 24, 100, 89),
    device("l40s", 142, 1536, 24, 100, 89),
    device("rtx4090", 128, 1536, 24, 100, 89),
    device("h100", 132, 2048, 32, 228, 90),
    device("h200", 132, 2048, 32, 228, 90),
    device("b200", 148, 2048, 32, 228, 100),
    device("gb10", 48, 1536, 24, 100, 121),
];

impl Device {
    /// The card with this name, whatever its case.
    pub fn find(name: &str) -> Option<Device> {
        DEVICES.into_iter().find(|device| device.name.eq_ignore_ascii_case(name))
    }

    /// All cards that are known.
    pub fn all() -> &'static [Device] {
        &DEVICES
    }

    /// How many blocks of `threads` threads fit on one multiprocessor at once, each with `shared_bytes` of
    /// shared memory, each thread with `registers` registers. The vendor's published occupancy formula.
    pub fn blocks_per_multiprocessor(&self, threads: u32, registers: u32, shared_bytes: u64) -> u64 {
        let warps = u64::from(threads.max(1).div_ceil(WARP));
        let by_warps = u64::from(self.threads / WARP) / warps;
        let of_a_warp = (u64::from(registers.max(1)) * u64::from(WARP)).next_multiple_of(REGISTER_UNIT);
        let by_registers = (REGISTERS / of_a_warp) / PARTITIONS * PARTITIONS / warps;
        let of_a_block = shared_bytes.saturating_add(self.reserved_shared_bytes);
        let pieces = of_a_block.div_ceil(self.shared_unit);
        let by_shared = match pieces {
            0 => u64::MAX,
            _ => self.shared_bytes / self.shared_unit / pieces,
        };
        by_warps.min(by_registers).min(by_shared).min(u64::from(self.blocks))
    }

    /// How many such blocks the whole card holds at once.
    pub fn capacity(&self, threads: u32, registers: u32, shared_bytes: u64) -> u64 {
        self.blocks_per_multiprocessor(threads, registers, shared_bytes) * u64::from(self.multiprocessors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_follows_the_tightest_limit() {
        let capacity = |name, threads, registers, shared| {
            Device::find(name).map(|device| device.capacity(threads, registers, shared))
        };
        // Threads: four blocks of 256 on a T4, eight on an H200.
        assert_eq!(capacity("t4", 256, 32, 0), Some(160));
        assert_eq!(capacity("H200", 256, 32, 0), Some(1056));
        // Registers: 255 of them leave 8 warps of the 64.
        assert_eq!(capacity("h200", 256, 255, 0), Some(132));
        assert_eq!(capacity("h200", 1024, 65, 0), Some(0));
        // Shared memory: 1 KiB of it goes with every block; 228 KiB hold four of 56 KiB.
        assert_eq!(capacity("h200", 128, 32, 56 << 10), Some(4 * 132));
        assert_eq!(capacity("h200", 128, 32, 57 << 10), Some(3 * 132));
        // Blocks.
        assert_eq!(capacity("t4", 32, 16, 0), Some(640));
        assert_eq!(capacity("no such card", 32, 16, 0), None);
        assert_eq!(capacity("a100", 0, 0, u64::MAX), Some(0));
    }
}
