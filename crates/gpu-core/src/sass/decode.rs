//! From the code of an instruction to what it does.

use super::{AccessKind, Address, BarrierAction, Mask, Op, Operand, RZ, SIZE, Space, URZ, register};

/// What the instruction at `pc` does.
pub(super) fn op(pc: u64, raw: u128) -> Op {
    let high = (raw >> 64) as u64;
    let low = raw as u64;
    let access = |kind, space| Op::Access { kind, address: address(raw, space) };
    // Bits 13 to 15 of the upper half: the scope and strength of a load; 4 is the constant cache.
    let load = if matches!((high >> 13) & 7, 0 | 4) { AccessKind::Load } else { AccessKind::StrongLoad };
    match low & 0x1ff {
        0x11d => barrier(raw),
        0x148 => {
            let collective = (high >> 22) & 1 == 1;
            let mask = if low & 0xfff == 0x948 { Mask::All } else { Mask::Register(register(raw, 24)) };
            Op::WarpSync { mask, collective }
        }
        0x141 => Op::Reconverge((raw >> 16) as u8 & 0xf),
        0x189 => Op::WarpOperation("shuffle"),
        0x006 => Op::WarpOperation("vote"),
        0x086 => Op::WarpOperation("vote"),
        0x1a1 => Op::WarpOperation("match"),
        0x1c4 => Op::WarpOperation("reduction"),
        0x1a7 if low & 0xfff == 0x5a7 => {
            Op::MbarrierTry { address: address(raw, Space::Shared), parity: register(raw, 32) }
        }
        0x1a7 | 0x1b2 => Op::Mbarrier(address(raw, Space::Shared)),
        0x1c7 if low & 0xfff == 0xdc7 => Op::ClusterWait,
        0x1c7 => Op::ClusterArrive,
        0x180 => access(load, Space::Generic),
        0x181 => access(load, Space::Global),
        0x184 => access(AccessKind::Load, Space::Shared),
        0x185 => access(AccessKind::Store, Space::Generic),
        0x186 => access(AccessKind::Store, Space::Global),
        0x188 => access(AccessKind::Store, Space::Shared),
        0x18a => access(AccessKind::Atomic, Space::Generic),
        0x18b => access(AccessKind::CompareAndSwap, Space::Generic),
        0x18c => access(AccessKind::Atomic, Space::Shared),
        0x18d => access(AccessKind::CompareAndSwap, Space::Shared),
        0x18e => access(AccessKind::Atomic, Space::Global),
        0x1a8 => access(AccessKind::Atomic, Space::Global),
        0x1a9 => access(AccessKind::CompareAndSwap, Space::Global),
        0x147 => Op::Branch(target(pc, raw)),
        0x149 | 0x14a => Op::IndirectBranch,
        0x143 | 0x144 => Op::Call,
        0x150 => Op::Return,
        0x14d => Op::Exit,
        0x15d => Op::NanoSleep,
        0x146 => Op::Yield,
        0x15c => Op::Trap,
        _ => Op::Other,
    }
}

/// The target of a branch, in steps of four bytes from the next instruction: bits 34 to 81, then 16 to 23.
fn target(pc: u64, raw: u128) -> u64 {
    let upper = ((raw >> 34) as u64) << 16;
    // The sign is bit 81.
    let upper = (upper as i64) >> 8;
    let steps = upper | i64::from(register(raw, 16));
    pc.wrapping_add(SIZE).wrapping_add_signed(steps.wrapping_mul(4))
}

fn barrier(raw: u128) -> Op {
    let high = (raw >> 64) as u64;
    let action = match (high & 0x4000 != 0, high & 0x2000 != 0) {
        (true, _) => BarrierAction::Reduce,
        (false, true) => BarrierAction::Arrive,
        (false, false) => BarrierAction::Sync,
    };
    let form = raw as u64 & 0xfff;
    let held = Operand::Register(register(raw, 32));
    let written = Operand::Value((raw >> 54) as u32 & 0xf);
    let count = Some((raw >> 42) as u32 & 0xfff).filter(|count| *count != 0).map(Operand::Value);
    let (id, count, packed) = match form {
        0x31d => (held, Some(held), true),
        0x51d => (held, count, false),
        0x91d => (written, Some(held), false),
        _ => (written, count, false),
    };
    Op::Barrier { action, id, count, packed }
}

fn address(raw: u128, space: Space) -> Address {
    let high = (raw >> 64) as u64;
    let low = raw as u64;
    let offset = (low as i64 >> 40) as i32;
    // A uniform register is added in shared memory only; elsewhere the field names a descriptor.
    let uniform = match (space, low & 0x1ff) {
        (Space::Shared, 0x1a7 | 0x1b2) => high as u8 & 0x3f,
        (Space::Shared, 0x184) if (high >> 27) & 1 == 1 => register(raw, 32) & 0x3f,
        (Space::Shared, 0x184) => URZ,
        (Space::Shared, _) if matches!(low & 0xe00, 0x800 | 0xe00) => high as u8 & 0x3f,
        _ => URZ,
    };
    // The initialisation of an mbarrier has its address in a uniform register of another field.
    match low & 0x1ff {
        0x1b2 => Address { space, register: RZ, uniform: register(raw, 24) & 0x3f, offset },
        _ => Address { space, register: register(raw, 24), uniform, offset },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass::Instruction;

    fn check(pc: u64, high: u64, low: u64, expected: Op) {
        let raw = u128::from(high) << 64 | u128::from(low);
        assert_eq!(Instruction::decode(pc, raw).op, expected, "{high:016x} {low:016x}");
    }

    #[test]
    fn barriers_have_their_id_and_count() {
        let barrier = |action, id, count, packed| Op::Barrier { action, id, count, packed };
        use BarrierAction::{Arrive, Reduce, Sync};
        use Operand::{Register, Value};
        check(0, 0x000fec0000010000, 0x7b1d, barrier(Sync, Value(0), None, false));
        check(0, 0x000fec0000010000, 0x0042000000007b1d, barrier(Sync, Value(1), Some(Value(128)), false));
        check(0, 0x000ff00000002000, 0x0084000000009b1d, barrier(Arrive, Value(2), Some(Value(256)), false));
        check(0, 0x0003e20000010000, 0x000000090000751d, barrier(Sync, Register(9), None, false));
        check(0, 0x0003ec0000010000, 0x000100090000751d, barrier(Sync, Register(9), Some(Value(64)), false));
        check(0, 0x0005e20000010000, 0x00c000050000791d, barrier(Sync, Value(3), Some(Register(5)), false));
        check(
            0,
            0x0007ec0000002000,
            0x000000040000731d,
            barrier(Arrive, Register(4), Some(Register(4)), true),
        );
        check(0, 0x000fec0000014800, 0x7b1d, barrier(Reduce, Value(0), None, false));
    }

    #[test]
    fn branches_go_both_ways() {
        check(0x450, 0x002fea0003800000, 0x0000000000100947, Op::Branch(0x4a0));
        check(0x4a0, 0x000fea000383ffff, 0xfffffffc00f08947, Op::Branch(0x470));
        check(0x7a0, 0x000fea000b800000, 0x0000000605447947, Op::Branch(0xcc0));
        check(0xd20, 0x000fea000383ffff, 0xfffffff800a47947, Op::Branch(0x7c0));
    }

    #[test]
    fn addresses_have_their_parts() {
        let access = |kind, space, register, uniform, offset| Op::Access {
            kind,
            address: Address { space, register, uniform, offset },
        };
        use AccessKind::{Atomic, CompareAndSwap, Load, Store, StrongLoad};
        check(0, 0x000e680000000800, 0x0000040000047984, access(Load, Space::Shared, 0, URZ, 4));
        check(0, 0x000e620008000800, 0x00002004ff007984, access(Load, Space::Shared, RZ, 4, 0x20));
        check(0, 0x0001e20000008000, 0x0000000512007388, access(Store, Space::Shared, 18, URZ, 0));
        check(0, 0x0001e20008000804, 0x0002000904007988, access(Store, Space::Shared, 4, 4, 0x200));
        check(0, 0x000f28000c1e1900, 0x0000200416197981, access(Load, Space::Global, 22, URZ, 0x20));
        check(0, 0x000ea8000c1f5900, 0x00018c080c047981, access(StrongLoad, Space::Global, 12, URZ, 0x18c));
        check(0, 0x000ea8000c10f900, 0x0000040a06097980, access(StrongLoad, Space::Generic, 6, URZ, 4));
        check(0, 0x000e64000b000004, 0x000014ffff04798c, access(Atomic, Space::Shared, RZ, 4, 0x14));
        check(0, 0x003ea400001ee107, 0x00000006040273a9, access(CompareAndSwap, Space::Global, 4, URZ, 0));
    }

    #[test]
    fn an_mbarrier_wait_has_its_word_and_parity() {
        let wait = |register, uniform, offset, parity| Op::MbarrierTry {
            address: Address { space: Space::Shared, register, uniform, offset },
            parity,
        };
        check(0, 0x000e240008000146, 0x00000000ff0075a7, wait(RZ, 6, 0, 0));
        check(0, 0x000ee4000802017f, 0x00000802070075a7, wait(7, URZ, 8, 2));
    }
}
