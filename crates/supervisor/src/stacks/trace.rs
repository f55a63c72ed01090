//! Stopping the threads of a process for a moment and following their stacks.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, Unwinder, UnwinderNative};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::image::{self, Image};
use super::registers::{self, Registers};
use crate::process::{Mapping, mappings, parse_stat, read_text};

/// Frames of one thread at most.
const MOST_FRAMES: usize = 256;
/// Bytes of a stack that are searched when unwinding fails.
const SEARCHED: usize = 1 << 16;

/// A thread with the addresses of its frames, the innermost first, each inside the instruction that called.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    pub(crate) tid: i32,
    pub(crate) name: String,
    pub(crate) state: char,
    pub(crate) kernel_function: String,
    pub(crate) addresses: Vec<u64>,
    pub(crate) problem: String,
}

/// What was found in a process.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) threads: Vec<Traced>,
    pub(crate) images: Vec<Image>,
    pub(crate) problem: String,
}

/// Takes the stacks of all threads of a process.
pub(crate) fn trace(pid: i32, within: Duration) -> Trace {
    let deadline = Instant::now() + within;
    let mut trace = Trace { threads: thread_list(pid), ..Trace::default() };
    if trace.threads.is_empty() {
        trace.problem = format!("process {pid} is not there any more");
        return trace;
    }
    let mut stopped: Vec<(usize, Stopped)> = Vec::new();
    for (index, thread) in trace.threads.iter_mut().enumerate() {
        match Stopped::seize(thread.tid) {
            Ok(one) => stopped.push((index, one)),
            Err(Errno::EPERM) => trace.problem = not_permitted(pid),
            Err(error) => thread.problem = format!("it could not be traced: {}", error.desc()),
        }
    }
    let memory = File::open(format!("/proc/{pid}/mem")).ok();
    let mut read_memory = |address: u64, bytes: &mut [u8]| {
        memory.as_ref().is_some_and(|memory| memory.read_exact_at(bytes, address).is_ok())
    };
    let mappings = mappings(pid);
    trace.images = image::images(pid, &mappings);
    let mut stacks = Stacks::new(&trace.images, &mappings);
    for (index, one) in &mut stopped {
        let Some(thread) = trace.threads.get_mut(*index) else { continue };
        match one.registers(deadline) {
            Some(registers) => {
                let (addresses, problem) = stacks.follow(&registers, &mut read_memory);
                thread.addresses = addresses;
                thread.problem = problem;
            }
            None => thread.problem = "the kernel did not stop it".to_owned(),
        }
    }
    trace
}

/// The threads as `/proc` describes them, before they are disturbed.
fn thread_list(pid: i32) -> Vec<Traced> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let tid = |entry: fs::DirEntry| entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
    let mut threads: Vec<Traced> = entries
        .flatten()
        .filter_map(tid)
        .filter_map(|tid| {
            let folder = format!("/proc/{pid}/task/{tid}");
            let thread = parse_stat(&read_text(&format!("{folder}/stat"))?)?;
            let kernel_function = read_text(&format!("{folder}/wchan")).unwrap_or_default();
            let kernel_function = kernel_function.trim_matches(['0', '\n']).to_owned();
            Some(Traced { tid, name: thread.name, state: thread.state, kernel_function, ..Traced::default() })
        })
        .filter(|thread| !matches!(thread.state, 'Z' | 'X'))
        .collect();
    threads.sort_by_key(|thread| thread.tid);
    threads
}

/// Why a process may not be traced, in words that help.
fn not_permitted(pid: i32) -> String {
    let scope = read_text("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let why = match scope.trim() {
        "1" => "kernel.yama.ptrace_scope is 1: only a parent may trace",
        "2" => "kernel.yama.ptrace_scope is 2: only root may trace",
        "3" => "kernel.yama.ptrace_scope is 3: nobody may trace",
        _ => "it belongs to another user, or is traced already",
    };
    format!("the stacks of process {pid} cannot be read ({why}); as root, or with `standstill run`, they can")
}

/// A thread that this one traces; let go when dropped.
struct Stopped {
    tid: Pid,
    /// A signal that arrived while it was to be stopped, and must still reach it.
    signal: Option<nix::sys::signal::Signal>,
    stopped: bool,
}

impl Stopped {
    fn seize(tid: i32) -> Result<Stopped, Errno> {
        let tid = Pid::from_raw(tid);
        ptrace::seize(tid, ptrace::Options::empty())?;
        let one = Stopped { tid, signal: None, stopped: false };
        ptrace::interrupt(tid)?;
        Ok(one)
    }

    /// Waits for the stop and reads the registers. `wait` knows no deadline and no handle on a thread to poll, so
    /// it is asked again after a moment.
    fn registers(&mut self, deadline: Instant) -> Option<Registers> {
        let mut pause = Duration::from_micros(20);
        loop {
            match waitpid(self.tid, Some(WaitPidFlag::__WALL | WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::PtraceEvent(..)) => break,
                Ok(WaitStatus::Stopped(_, signal)) => {
                    self.signal = Some(signal);
                    break;
                }
                Ok(WaitStatus::StillAlive) if Instant::now() < deadline => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                _ => return None,
            }
        }
        self.stopped = true;
        registers::read(self.tid).ok()
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // Only a stopped thread can be let go; the others go on by themselves when this process ends.
        if self.stopped || self.registers(Instant::now() + Duration::from_millis(50)).is_some() {
            let _ = ptrace::detach(self.tid, self.signal);
        }
    }
}

/// Follows stacks; loads the tables of a file when the first frame lies in it.
struct Stacks<'a> {
    images: &'a [Image],
    loaded: Vec<bool>,
    mappings: &'a [Mapping],
    unwinder: UnwinderNative<Vec<u8>, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

impl<'a> Stacks<'a> {
    fn new(images: &'a [Image], mappings: &'a [Mapping]) -> Stacks<'a> {
        let loaded = vec![false; images.len()];
        Stacks { images, loaded, mappings, unwinder: UnwinderNative::new(), cache: CacheNative::new() }
    }

    fn load(&mut self, address: u64) {
        let Some(index) = self.images.iter().position(|image| image.holds(address)) else { return };
        if let (Some(loaded), Some(image)) = (self.loaded.get_mut(index), self.images.get(index))
            && !std::mem::replace(loaded, true)
        {
            image::add_to(&mut self.unwinder, image);
        }
    }

    fn follow(
        &mut self,
        registers: &Registers,
        memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
    ) -> (Vec<u64>, String) {
        let mut read_word = |address: u64| {
            let mut word = [0; 8];
            if memory(address, &mut word) { Ok(u64::from_ne_bytes(word)) } else { Err(()) }
        };
        let mut at = FrameAddress::from_instruction_pointer(registers.instruction);
        let mut unwind = registers.unwind;
        let mut addresses = vec![at.address_for_lookup()];
        let problem = loop {
            self.load(at.address_for_lookup());
            match self.unwinder.unwind_frame(at, &mut unwind, &mut self.cache, &mut read_word) {
                Ok(Some(next)) if addresses.len() < MOST_FRAMES => {
                    let Some(next) = FrameAddress::from_return_address(next) else { break String::new() };
                    at = next;
                    addresses.push(at.address_for_lookup());
                }
                Ok(_) => break String::new(),
                Err(error) => break format!("the stack could not be followed further: {error}"),
            }
        };
        let known = |address: &u64| self.images.iter().any(|image| image.holds(*address));
        addresses.retain(known);
        if problem.is_empty() && addresses.len() > 2 {
            return (addresses, problem);
        }
        // Code without tables, or with wrong ones. What looks like a return address on the stack is one, mostly.
        let found = self.search(registers.stack, memory);
        if found.len() <= addresses.len() {
            return (addresses, problem);
        }
        let top = addresses.first().copied();
        let all = top.into_iter().chain(found.into_iter().filter(|address| Some(*address) != top)).collect();
        (
            all,
            "some of these frames were found by searching the stack, and may be left over from before"
                .to_owned(),
        )
    }

    /// Words on the stack that point behind a call instruction.
    fn search(&self, stack: u64, memory: &mut dyn FnMut(u64, &mut [u8]) -> bool) -> Vec<u64> {
        let Some(mapping) = self.mappings.iter().find(|m| (m.start..m.end).contains(&stack)) else {
            return Vec::new();
        };
        let start = stack & !7;
        let length = usize::try_from(mapping.end - start).unwrap_or(SEARCHED).min(SEARCHED);
        let mut bytes = vec![0; length];
        if !memory(start, &mut bytes) {
            return Vec::new();
        }
        let words = bytes.chunks_exact(8).filter_map(|word| word.try_into().ok()).map(u64::from_ne_bytes);
        let mut found = Vec::new();
        for word in words {
            if !self.images.iter().any(|image| image.holds(word)) || found.len() >= MOST_FRAMES {
                continue;
            }
            let mut before = [0; 8];
            if memory(word.wrapping_sub(8), &mut before) && follows_call(&before) {
                found.push(word - 1);
            }
        }
        found
    }
}

/// Whether the eight bytes before an address end with a call.
#[cfg(target_arch = "x86_64")]
fn follows_call(before: &[u8; 8]) -> bool {
    let &[_, b1, b2, b3, _, b5, b6, _] = before;
    // call rel32; call [rip+disp32] and call [reg+disp32]; call reg; call r8..r15; call [reg+disp8].
    let indirect = |modrm: u8| modrm & 0x38 == 0x10;
    b3 == 0xe8
        || (b2 == 0xff && indirect(b3))
        || (b6 == 0xff && indirect(before[7]))
        || (b5 == 0xff && indirect(b6))
        || (b1 == 0xff && b2 & 0x3f == 0x14)
}

/// Whether the eight bytes before an address end with a call.
#[cfg(target_arch = "aarch64")]
fn follows_call(before: &[u8; 8]) -> bool {
    let [_, _, _, _, last @ ..] = *before;
    let instruction = u32::from_le_bytes(last);
    // bl; blr and its authenticated forms.
    instruction >> 26 == 0b100101 || instruction & 0xfffe_f000 == 0xd63f_0000
}
