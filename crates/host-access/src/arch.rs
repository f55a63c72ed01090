//! What the processor tells of a fault.

use crate::regions::PAGE;

/// Where a fault happened and what was tried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause {
    /// Address of the instruction.
    pub(crate) instruction: usize,
    /// The stack pointer at that moment.
    pub(crate) stack: usize,
    /// Whether it was a write.
    pub(crate) write: bool,
    /// General registers.
    registers: [usize; REGISTERS],
}

/// Registers that are looked at.
const REGISTERS: usize = 16;

/// Functions that look for the end of a string read whole vectors of up to this many bytes, from where these are
/// aligned on.
const VECTOR: usize = 64;

impl Cause {
    /// The first byte that such a function was asked about, when it has read from this address on: where that is in a
    /// register, not what the vector began with.
    pub(crate) fn asked_for(&self, address: usize) -> usize {
        let vector = address + 1..address.saturating_add(VECTOR).min((address | (PAGE - 1)) + 1);
        // A shift by an address needs only its low half.
        const HALF: usize = u32::MAX as usize;
        let whole = |value: usize| if value > HALF { value } else { (address & !HALF) | value };
        let registers = self.registers.iter().map(|value| whole(*value));
        registers.filter(|value| vector.contains(value)).min().unwrap_or(address)
    }
}

/// Whether faults are understood on this processor.
pub(crate) const KNOWN: bool =
    cfg!(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")));

/// Reads the cause of a page fault.
///
/// # Safety
/// `context` is what the system gave to a signal handler.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn cause(context: *const libc::ucontext_t) -> Cause {
    /// Bit of the page fault's error code: the access was a write.
    const WRITE: i64 = 2;
    // SAFETY: by the caller's promise.
    let registers = unsafe { &(*context).uc_mcontext.gregs };
    let register = |number: i32| registers.get(number as usize).copied().unwrap_or(0);
    Cause {
        instruction: register(libc::REG_RIP) as usize,
        stack: register(libc::REG_RSP) as usize,
        write: register(libc::REG_ERR) & WRITE != 0,
        // The first of them are the general ones.
        registers: std::array::from_fn(|number| register(number as i32) as usize),
    }
}

/// Reads the cause of a page fault.
///
/// # Safety
/// `context` is what the system gave to a signal handler.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn cause(context: *const libc::ucontext_t) -> Cause {
    /// The record of the exception's syndrome among those behind the registers, and its bit for writes
    /// (`asm/sigcontext.h`).
    const ESR_MAGIC: u32 = 0x4553_5201;
    const WRITE: u64 = 1 << 6;
    /// Where the records begin in `sigcontext`: behind the fault address, 31 registers, sp, pc and pstate, aligned to 16.
    const RECORDS: usize = 288;
    const END: usize = RECORDS + 4096;
    // SAFETY: by the caller's promise.
    let machine = unsafe { &raw const (*context).uc_mcontext };
    let mut write = false;
    let mut at = RECORDS;
    while at + 16 <= END {
        // SAFETY: the records lie in the 4096 bytes behind the registers; a magic of zero ends them.
        let (magic, size) = unsafe {
            let head = machine.cast::<u8>().add(at).cast::<u32>();
            (head.read(), head.add(1).read() as usize)
        };
        if magic == ESR_MAGIC {
            // SAFETY: the syndrome follows the head of its record.
            write = unsafe { machine.cast::<u8>().add(at + 8).cast::<u64>().read() } & WRITE != 0;
        }
        if magic == 0 || size == 0 {
            break;
        }
        at += size;
    }
    // SAFETY: by the caller's promise.
    let (pc, sp, general) = unsafe { ((*machine).pc, (*machine).sp, (*machine).regs) };
    let register = |number: usize| general.get(number).copied().unwrap_or(0) as usize;
    Cause { instruction: pc as usize, stack: sp as usize, write, registers: std::array::from_fn(register) }
}

/// Faults of other processors are not understood.
///
/// # Safety
/// None is asked for.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) unsafe fn cause(_context: *const libc::ucontext_t) -> Cause {
    Cause { instruction: 0, stack: 0, write: true, registers: [0; REGISTERS] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_begins_where_a_register_says() {
        let check = |registers: &[usize], address, expected| {
            let mut all = [0; REGISTERS];
            all[..registers.len()].copy_from_slice(registers);
            let cause = Cause { instruction: 0, stack: 0, write: false, registers: all };
            assert_eq!(cause.asked_for(address), expected);
        };
        check(&[0x5fff, 0x5fe4, 0x5fe9], 0x5fe0, 0x5fe4);
        check(&[0xffff_5fe4], 0x7f12_ffff_5fe0, 0x7f12_ffff_5fe4);
        check(&[0x5fdf, 0x6000], 0x5fe0, 0x5fe0);
        check(&[0x5fe0, 0x5fe4], 0x5fe0, 0x5fe4);
        check(&[0x5fe0], 0x5fe0, 0x5fe0);
    }
}
