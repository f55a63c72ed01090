//! The only place that depends on the processor: the registers of a stopped thread.

use framehop::UnwindRegsNative;
use nix::sys::ptrace::getregset;
use nix::sys::ptrace::regset::NT_PRSTATUS;
use nix::unistd::Pid;

/// Where a stopped thread stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registers {
    /// The instruction's address.
    pub(crate) instruction: u64,
    /// The stack pointer.
    pub(crate) stack: u64,
    /// What unwinding needs.
    pub(crate) unwind: UnwindRegsNative,
}

/// The registers of a thread that is stopped and traced by the caller.
#[cfg(target_arch = "x86_64")]
pub(crate) fn read(tid: Pid) -> nix::Result<Registers> {
    let all = getregset::<NT_PRSTATUS>(tid)?;
    let unwind = framehop::x86_64::UnwindRegsX86_64::new(all.rip, all.rsp, all.rbp);
    Ok(Registers { instruction: all.rip, stack: all.rsp, unwind })
}

/// The registers of a thread that is stopped and traced by the caller.
#[cfg(target_arch = "aarch64")]
pub(crate) fn read(tid: Pid) -> nix::Result<Registers> {
    let all = getregset::<NT_PRSTATUS>(tid)?;
    let [.., frame_pointer, link] = all.regs;
    let unwind = framehop::aarch64::UnwindRegsAarch64::new(link, all.sp, frame_pointer);
    Ok(Registers { instruction: all.pc, stack: all.sp, unwind })
}
