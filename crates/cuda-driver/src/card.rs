//! What the chosen card answers about itself.
//!
//! Room for blocks comes from `kernel-ir`, whose table decides residency; here stands the rest of what host
//! code can ask: names, sizes and limits (CUDA C++ Programming Guide, «Technical Specifications per Compute
//! Capability», and the vendor's data sheets).

use standstill_kernel_ir::launch::Device;

/// A card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Card {
    /// Its room for blocks.
    pub device: Device,
    /// The name that the vendor gives it.
    pub name: &'static str,
    /// Compute capability, as 90 for 9.0.
    pub capability: u32,
    /// Global memory in bytes.
    pub memory: u64,
    /// Clock of the multiprocessors in kHz.
    pub clock: i32,
    /// Clock of the memory in kHz.
    pub memory_clock: i32,
    /// Width of the memory's bus in bits.
    pub bus: i32,
    /// Second-level cache in bytes.
    pub cache: i32,
    /// The most shared memory that a block can ask for, in bytes.
    pub shared_optin: u32,
}

struct Row(&'static str, &'static str, u32, u64, i32, i32, i32, i32, u32);

/// Model, name, capability, memory (GiB), clock and memory clock (MHz), bus (bits), cache (MiB), shared memory
/// of a block (KiB).
const ROWS: [Row; 12] = [
    Row("v100", "Tesla V100-SXM2-32GB", 70, 32, 1530, 877, 4096, 6, 96),
    Row("t4", "Tesla T4", 75, 15, 1590, 5001, 256, 4, 64),
    Row("a100", "NVIDIA A100-SXM4-80GB", 80, 80, 1410, 1593, 5120, 40, 163),
    Row("a10", "NVIDIA A10", 86, 22, 1695, 6251, 384, 6, 99),
    Row("rtx3090", "NVIDIA GeForce RTX 3090", 86, 24, 1695, 9751, 384, 6, 99),
    Row("l4", "NVIDIA L4", 89, 22, 2040, 6251, 192, 48, 99),
    Row("l40s", "NVIDIA L40S", 89, 44, 2520, 9001, 384, 96, 99),
    Row("rtx4090", "NVIDIA GeForce RTX 4090", 89, 24, 2520, 10501, 384, 72, 99),
    Row("h100", "NVIDIA H100 80GB HBM3", 90, 79, 1980, 2619, 5120, 50, 227),
    Row("h200", "NVIDIA H200", 90, 139, 1980, 3201, 6144, 60, 227),
    Row("b200", "NVIDIA B200", 100, 178, 1965, 3996, 7680, 126, 227),
    Row("gb10", "NVIDIA GB10", 121, 119, 2418, 4266, 256, 24, 99),
];

/// The model that stands in when none is chosen.
pub const DEFAULT_MODEL: &str = "h200";

const WARP: i32 = 32;
const THREADS_OF_BLOCK: i32 = 1024;
const SHARED_OF_BLOCK: i32 = 48 << 10;
const REGISTERS: i32 = 64 << 10;

impl Card {
    /// The card with this model name, whatever its case.
    #[must_use]
    pub fn find(model: &str) -> Option<Card> {
        let device = Device::find(model)?;
        let row = ROWS.iter().find(|row| row.0 == device.name)?;
        Some(Card {
            device,
            name: row.1,
            capability: row.2,
            memory: row.3 << 30,
            clock: row.4 * 1000,
            memory_clock: row.5 * 1000,
            bus: row.6,
            cache: row.7 << 20,
            shared_optin: row.8 << 10,
        })
    }

    /// Compute capability before the point.
    #[must_use]
    pub fn major(&self) -> i32 {
        (self.capability / 10) as i32
    }

    /// Compute capability behind the point.
    #[must_use]
    pub fn minor(&self) -> i32 {
        (self.capability % 10) as i32
    }

    /// Whether the card shares its memory with the host.
    #[must_use]
    pub fn integrated(&self) -> bool {
        self.device.name == "gb10"
    }

    /// The value of a device attribute by its number (`cudaDeviceAttr`); `None` for one that is not known.
    #[must_use]
    pub fn attribute(&self, attribute: i32) -> Option<i32> {
        let newer = |capability| i32::from(self.capability >= capability);
        Some(match attribute {
            1..=3 => THREADS_OF_BLOCK,
            4 => 64,
            5 => i32::MAX,
            6 | 7 => 65535,
            8 => SHARED_OF_BLOCK,
            9 => 64 << 10,
            10 => WARP,
            11 => i32::MAX,
            12 | 82 => REGISTERS,
            13 => self.clock,
            14 => 512,
            15 | 19 | 31 | 41 => 1,
            16 => self.device.multiprocessors as i32,
            18 => i32::from(self.integrated()),
            // No run-time limit, default compute mode, first slot of the first bus.
            17 | 20 | 33..=35 | 50 => 0,
            21 | 22 | 23 | 45 | 46 | 52 | 55 | 57 | 61 | 63 | 64 | 66 | 67 => 32768,
            24..=26 | 47..=49 | 58..=60 => 16384,
            27 | 28 | 42 | 53 => 32768,
            29 | 43 | 62 | 65 => 2048,
            54 | 68 => 2046,
            30 => 512,
            32 => i32::from(self.bus >= 4096),
            36 => self.memory_clock,
            37 => self.bus,
            38 => self.cache,
            39 => self.device.threads as i32,
            40 => 2,
            51 => 32,
            56 => 65536,
            69 => 1 << 28,
            70 => 131_072,
            71 => 65000,
            72 => 2_097_120,
            73 | 74 | 77 => 32768,
            75 => self.major(),
            76 => self.minor(),
            // Priorities, caches, managed memory.
            78 | 79 | 80 | 83 => 1,
            81 => self.device.shared_bytes as i32,
            84 | 85 => 0,
            86 | 88 | 100 | 101 => i32::from(self.integrated()),
            87 => 2,
            89..=91 => 1,
            95 | 96 => 1,
            97 => self.shared_optin as i32,
            98 => 0,
            99 => 1,
            106 => self.device.blocks as i32,
            108 | 109 => self.cache * newer(80) / 2,
            111 => self.device.reserved_shared_bytes as i32,
            112..=114 | 116..=118 | 121 | 125 => 0,
            115 => 1,
            119 => 0,
            120 => newer(90),
            126 => {
                if self.capability >= 90 {
                    4
                } else {
                    1
                }
            }
            130..=134 | 139 | 140 => 0,
            142..=144 => 0,
            _ => return None,
        })
    }

    /// Blocks of a kernel that fit on one multiprocessor at once.
    #[must_use]
    pub fn blocks_per_multiprocessor(&self, threads: u32, registers: u32, shared: u64) -> u64 {
        if threads == 0 || threads > THREADS_OF_BLOCK as u32 {
            return 0;
        }
        self.device.blocks_per_multiprocessor(threads, registers, shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_a_row() {
        for device in Device::all() {
            let card = Card::find(device.name).unwrap();
            assert_eq!(card.attribute(16), Some(device.multiprocessors as i32));
            assert_eq!(
                card.attribute(75).unwrap() * 10 + card.attribute(76).unwrap(),
                card.capability as i32
            );
        }
        assert!(Card::find(DEFAULT_MODEL).is_some());
        assert_eq!(Card::find("H200").unwrap().attribute(97), Some(227 << 10));
        assert_eq!(Card::find("h200").unwrap().attribute(9999), None);
    }
}
