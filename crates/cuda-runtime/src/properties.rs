//! `cudaDeviceProp`, whose layout differs between CUDA 12 and 13: one table of fields for each.
//!
//! Fields stand at multiples of their size, as C lays them out.

use standstill_cuda_driver::Card;

/// One field, in the order of the structure.
#[derive(Debug, Clone, Copy)]
enum Field {
    /// 256 bytes.
    Name,
    /// 16 bytes.
    Uuid,
    /// Bytes that are zero.
    Bytes(usize),
    /// Bytes of global memory, 8 bytes.
    Memory,
    /// The value of a device attribute in 4 bytes.
    Int(i32),
    /// The value of a device attribute in 8 bytes.
    Long(i32),
    /// Numbers of 4 bytes that are zero.
    Zeros(usize),
}

use Field::{Bytes, Int, Long, Memory, Name, Uuid, Zeros};

const NAME_BYTES: usize = 256;

/// As `driver_types.h` of CUDA 13 has it.
const FIELDS_13: &[Field] = &[
    Name,
    Uuid,
    Bytes(8),
    Zeros(1),
    Memory,
    Long(8),
    Int(12),
    Int(10),
    Long(11),
    Int(1),
    Int(2),
    Int(3),
    Int(4),
    Int(5),
    Int(6),
    Int(7),
    Long(9),
    Int(75),
    Int(76),
    Long(14),
    Long(51),
    Int(16),
    Int(18),
    Int(19),
    Int(21),
    Int(77),
    Int(22),
    Int(23),
    Int(73),
    Int(74),
    Int(70),
    Int(71),
    Int(72),
    Int(45),
    Int(46),
    Int(24),
    Int(25),
    Int(26),
    Int(47),
    Int(48),
    Int(49),
    Int(52),
    Int(42),
    Int(43),
    Int(27),
    Int(28),
    Int(29),
    Int(53),
    Int(54),
    Int(55),
    Int(56),
    Int(57),
    Int(58),
    Int(59),
    Int(60),
    Int(61),
    Int(62),
    Int(63),
    Int(64),
    Int(65),
    Int(66),
    Int(67),
    Int(68),
    Long(30),
    Int(31),
    Int(32),
    Int(33),
    Int(34),
    Int(50),
    Int(35),
    Int(40),
    Int(41),
    Int(37),
    Int(38),
    Int(108),
    Int(39),
    Int(78),
    Int(79),
    Int(80),
    Long(81),
    Int(82),
    Int(83),
    Int(84),
    Int(85),
    Int(86),
    Int(88),
    Int(89),
    Int(90),
    Int(91),
    Int(95),
    Long(97),
    Int(100),
    Int(101),
    Int(106),
    Int(109),
    Long(111),
    Int(99),
    Int(112),
    Int(113),
    Int(114),
    Int(115),
    Int(116),
    Zeros(1),
    Zeros(1),
    Zeros(1),
    Int(121),
    Int(125),
    Int(120),
    Zeros(1),
    Zeros(1),
    Zeros(1),
    Zeros(1),
    Zeros(1),
    Zeros(1),
    Zeros(1),
    Zeros(1),
    Zeros(56),
];

/// As `driver_types.h` of CUDA 12 has it.
const FIELDS_12: &[Field] = &[
    Name,
    Uuid,
    Bytes(8),
    Zeros(1),
    Memory,
    Long(8),
    Int(12),
    Int(10),
    Long(11),
    Int(1),
    Int(2),
    Int(3),
    Int(4),
    Int(5),
    Int(6),
    Int(7),
    Int(13),
    Long(9),
    Int(75),
    Int(76),
    Long(14),
    Long(51),
    Int(15),
    Int(16),
    Int(17),
    Int(18),
    Int(19),
    Int(20),
    Int(21),
    Int(77),
    Int(69),
    Int(22),
    Int(23),
    Int(73),
    Int(74),
    Int(70),
    Int(71),
    Int(72),
    Int(45),
    Int(46),
    Int(24),
    Int(25),
    Int(26),
    Int(47),
    Int(48),
    Int(49),
    Int(52),
    Int(42),
    Int(43),
    Int(27),
    Int(28),
    Int(29),
    Int(53),
    Int(54),
    Int(55),
    Int(56),
    Int(57),
    Int(58),
    Int(59),
    Int(60),
    Int(61),
    Int(62),
    Int(63),
    Int(64),
    Int(65),
    Int(66),
    Int(67),
    Int(68),
    Long(30),
    Int(31),
    Int(32),
    Int(33),
    Int(34),
    Int(50),
    Int(35),
    Int(40),
    Int(41),
    Int(36),
    Int(37),
    Int(38),
    Int(108),
    Int(39),
    Int(78),
    Int(79),
    Int(80),
    Long(81),
    Int(82),
    Int(83),
    Int(84),
    Int(85),
    Int(86),
    Int(87),
    Int(88),
    Int(89),
    Int(90),
    Int(91),
    Int(95),
    Int(96),
    Long(97),
    Int(100),
    Int(101),
    Int(106),
    Int(109),
    Long(111),
    Int(99),
    Int(112),
    Int(113),
    Int(114),
    Int(115),
    Int(116),
    Zeros(1),
    Zeros(1),
    Zeros(1),
    Int(121),
    Int(125),
    Int(120),
    Zeros(1),
    Zeros(2),
    Zeros(1),
    Zeros(60),
];

/// The structure's bytes, in the layout of this major version of CUDA.
pub fn bytes(card: &Card, major: i32) -> Vec<u8> {
    let fields = if major < 13 { FIELDS_12 } else { FIELDS_13 };
    let mut bytes = Vec::new();
    let aligned = |bytes: &mut Vec<u8>, value: &[u8]| {
        bytes.resize(bytes.len().next_multiple_of(value.len().max(1)), 0);
        bytes.extend_from_slice(value);
    };
    let value = |attribute: i32| card.attribute(attribute).unwrap_or(0);
    for field in fields {
        match *field {
            Name => {
                bytes.extend(card.name.as_bytes());
                bytes.resize(NAME_BYTES, 0);
            }
            Uuid => bytes.extend(*b"standstill-sim-0"),
            Bytes(count) => bytes.resize(bytes.len() + count, 0),
            Memory => aligned(&mut bytes, &card.memory.to_ne_bytes()),
            Int(attribute) => aligned(&mut bytes, &value(attribute).to_ne_bytes()),
            Long(attribute) => aligned(&mut bytes, &u64::from(value(attribute) as u32).to_ne_bytes()),
            Zeros(count) => (0..count).for_each(|_| aligned(&mut bytes, &0i32.to_ne_bytes())),
        }
    }
    bytes.resize(bytes.len().next_multiple_of(size_of::<u64>()), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets and sizes that a C compiler gives for the headers.
    #[test]
    fn fields_stand_where_c_puts_them() {
        let card = Card::find("h200").unwrap();
        let int = |bytes: &[u8], at: usize| i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        let new = bytes(&card, 13);
        let old = bytes(&card, 12);
        assert_eq!((new.len(), old.len()), (1008, 1032));
        for (bytes, processors, threads, optin, clusters) in
            [(&new, 384, 604, 672, 748), (&old, 388, 624, 696, 772)]
        {
            assert_eq!(int(bytes, 308), 32);
            assert_eq!(int(bytes, 360), 9);
            assert_eq!(int(bytes, processors), 132);
            assert_eq!(int(bytes, threads), 2048);
            assert_eq!(int(bytes, optin), 227 << 10);
            assert_eq!(int(bytes, clusters), 1);
        }
    }
}
