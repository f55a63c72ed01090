//! The one watch of the process.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::arch::{self, Cause};
use crate::fault;
use crate::lock::Lock;
use crate::notes::{Noted, Notes, Thread};
use crate::regions::{Outcome, Owner, PAGE, Refuses, Region};

/// System calls that hold pages open at one time; further ones hold none.
const MOST_PINS: usize = 64;
/// A fault that comes so often where the page is open is none of ours.
const FOREIGN: u32 = 16;

struct State {
    /// By address; none overlaps another.
    regions: Vec<Region>,
    notes: Notes,
    /// Ranges that system calls use; empty ones are free.
    pins: [Range<usize>; MOST_PINS],
    /// The thread that carries out operations, and the one that calls functions of the host.
    device_thread: i32,
    host_function_thread: i32,
    /// The last access that was noted: its thread, instruction and stack pointer.
    last: (i32, usize, usize),
    /// Faults in a row where the page was open: address, thread, how many.
    open: (usize, i32, u32),
}

static STATE: Lock<State> = Lock::new(State {
    regions: Vec::new(),
    notes: Notes::new(),
    pins: [const { 0..0 }; MOST_PINS],
    device_thread: 0,
    host_function_thread: 0,
    last: (0, 0, 0),
    open: (0, 0, 0),
});

/// All regions lie between these.
static LOW: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGH: AtomicUsize = AtomicUsize::new(0);
static ON: AtomicBool = AtomicBool::new(false);

/// Begins to watch, once; false where that is not possible.
#[must_use]
pub fn start() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(begin)
}

fn begin() -> bool {
    // SAFETY: takes a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    if !arch::KNOWN || usize::try_from(page) != Ok(PAGE) {
        return false;
    }
    STATE.take().notes.reserve();
    let on = fault::install() && follow_forks();
    ON.store(on, Ordering::Release);
    on
}

/// Lets a child of the process find the lock free.
fn follow_forks() -> bool {
    extern "C" fn before() {
        std::mem::forget(STATE.take());
    }
    extern "C" fn after() {
        // SAFETY: `before` has taken it in this thread, and left it.
        unsafe { STATE.give_back() };
    }
    // SAFETY: the functions stay: the library is linked to the program.
    unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) == 0 }
}

/// Whether [`start`] has succeeded.
#[must_use]
pub fn is_on() -> bool {
    ON.load(Ordering::Acquire)
}

/// What a thread of the library does.
pub fn set_thread(host_functions: bool) {
    let mut state = STATE.take();
    let place = if host_functions { &mut state.host_function_thread } else { &mut state.device_thread };
    *place = own_number();
}

pub(crate) fn add(region: Region) {
    let mut state = STATE.take();
    LOW.fetch_min(region.program, Ordering::AcqRel);
    HIGH.fetch_max(region.end(), Ordering::AcqRel);
    let at = state.regions.partition_point(|known| known.program < region.program);
    state.regions.insert(at, region);
}

pub(crate) fn take_out(program: usize) -> Option<Region> {
    let mut state = STATE.take();
    let at = state.regions.binary_search_by_key(&program, |region| region.program).ok()?;
    Some(state.regions.remove(at))
}

pub(crate) fn device_side(program: usize, bytes: usize) -> Option<usize> {
    if !may_meet(program, bytes) {
        return None;
    }
    let state = STATE.take();
    let region = state.find(program)?;
    let offset = program - region.program;
    (bytes <= region.bytes() - offset).then(|| region.device + offset)
}

/// Whether watched memory may lie there.
pub(crate) fn may_meet(address: usize, bytes: usize) -> bool {
    address < HIGH.load(Ordering::Acquire) && address.saturating_add(bytes) > LOW.load(Ordering::Acquire)
}

/// An operation was put in that may touch these bytes.
pub fn guard(address: usize, bytes: usize, refuses: Refuses, owner: Owner) {
    let range = address..address.saturating_add(bytes);
    if !may_meet(address, bytes) {
        return;
    }
    fault::stay_in_front();
    let State { regions, pins, .. } = &mut *STATE.take();
    for region in regions.iter_mut().filter(|region| region.program < range.end && range.start < region.end())
    {
        region.guard(&range, refuses, owner, pins, &mut apply);
    }
}

/// A kernel was put in with these parameters: it may touch all memory that one of them points into, and all that is
/// reached without.
pub fn guard_reachable(parameters: &[u8], owner: Owner) {
    if LOW.load(Ordering::Acquire) == usize::MAX {
        return;
    }
    fault::stay_in_front();
    let (words, _) = parameters.as_chunks::<8>();
    let State { regions, pins, .. } = &mut *STATE.take();
    for region in regions.iter_mut() {
        let pointed = || words.iter().any(|word| region.holds(u64::from_le_bytes(*word) as usize));
        if region.everywhere || pointed() {
            let all = region.program..region.end();
            region.guard(&all, Refuses::Everything, owner, pins, &mut apply);
        }
    }
}

/// The program knows that operations are finished.
pub fn release(finished: &dyn Fn(Owner) -> bool) {
    if LOW.load(Ordering::Acquire) == usize::MAX {
        return;
    }
    for region in &mut STATE.take().regions {
        region.release(finished, &mut apply);
    }
}

/// Protects again what accesses have opened: somebody else begins to run, whose accesses are to be seen too.
pub fn rearm() {
    let State { regions, pins, .. } = &mut *STATE.take();
    for region in regions {
        region.rearm(pins, &mut apply);
    }
}

/// Takes what was noted, in order.
pub fn take_noted(into: &mut Vec<Noted>) {
    let mut state = STATE.take();
    if !state.notes.is_empty() {
        state.notes.take_into(into);
    }
}

fn apply(address: usize, bytes: usize, refuses: Refuses) -> bool {
    let protection = match refuses {
        Refuses::Nothing => libc::PROT_READ | libc::PROT_WRITE,
        Refuses::Writes => libc::PROT_READ,
        Refuses::Everything => libc::PROT_NONE,
    };
    // SAFETY: pages of a region; who touches them meanwhile comes back through the handler.
    unsafe { libc::mprotect(std::ptr::with_exposed_provenance_mut(address), bytes, protection) == 0 }
}

fn own_number() -> i32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

impl State {
    fn find(&self, address: usize) -> Option<&Region> {
        let at = self.regions.partition_point(|region| region.program <= address);
        self.regions.get(at.checked_sub(1)?).filter(|region| region.holds(address))
    }

    /// Who an access is by; `None` for the device.
    fn who(&self, number: i32) -> Option<Thread> {
        match number {
            _ if number == self.device_thread => None,
            _ if number == self.host_function_thread => Some(Thread::HostFunction),
            _ => Some(Thread::Program(number)),
        }
    }
}

/// A fault at an address; false when it is none of ours. Called in the handler.
pub(crate) fn let_through(address: usize, cause: Cause) -> bool {
    let number = own_number();
    let place = (number, cause.instruction, cause.stack);
    let (thread, chain) = {
        let mut state = STATE.take_in_handler();
        let at = state.regions.partition_point(|region| region.program <= address);
        let Some(region) = at.checked_sub(1).and_then(|at| state.regions.get_mut(at)) else { return false };
        if !region.holds(address) {
            return false;
        }
        if region.fault(address, cause.write, &mut apply) == Outcome::WasOpen {
            let (last, by, times) = state.open;
            state.open = (address, number, if (last, by) == (address, number) { times + 1 } else { 1 });
            return state.open.2 < FOREIGN;
        }
        state.open = (0, 0, 0);
        let Some(thread) = state.who(number) else { return true };
        let known = state.notes.last().filter(|_| state.last == place).copied();
        state.last = place;
        (thread, known)
    };
    let chain = chain.unwrap_or_else(|| {
        let mut frames = [0; fault::CHAIN];
        let chain = fault::chain(&mut frames, cause.instruction);
        Noted::new(address, 1, cause.write, thread, chain)
    });
    let searches = !cause.write && fault::in_c_library(cause.instruction);
    let first = if searches { cause.asked_for(address) } else { address };
    let noted = chain.moved(first, cause.write, thread);
    STATE.take_in_handler().notes.add(noted);
    true
}

/// Pages that stay open for a system call.
#[derive(Debug)]
#[must_use = "the pages may be closed when this is dropped"]
pub struct Pin {
    slot: Option<usize>,
    /// Whose access is of interest, if anybody's.
    thread: Option<Thread>,
}

/// Opens these bytes for a system call, which would fail at a closed page.
pub fn open_for_call(address: usize, bytes: usize, write: bool) -> Pin {
    if bytes == 0 || !may_meet(address, bytes) {
        return Pin { slot: None, thread: None };
    }
    let range = address..address.saturating_add(bytes);
    let number = own_number();
    let mut state = STATE.take();
    let who = state.who(number);
    let State { regions, pins, .. } = &mut *state;
    let (mut met, mut guarded) = (false, false);
    for region in regions.iter_mut().filter(|region| region.program < range.end && range.start < region.end())
    {
        met = true;
        guarded |= region.is_guarded(&range, write);
        region.open(&range, write, &mut apply);
    }
    let free = pins.iter_mut().enumerate().find(|(_, pin)| met && pin.start >= pin.end);
    let slot = free.map(|(slot, pin)| {
        *pin = range;
        slot
    });
    Pin { slot, thread: who.filter(|_| guarded) }
}

impl Pin {
    /// Whether there is anything to keep open or to note.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.slot.is_some() || self.thread.is_some()
    }

    /// Notes the system call's access, where it is of interest.
    pub fn note(&self, address: usize, bytes: usize, write: bool) {
        let Some(thread) = self.thread else { return };
        let mut frames = [0; fault::CHAIN];
        let chain = fault::chain(&mut frames, 0);
        let noted = Noted::new(address, bytes, write, thread, chain);
        let mut state = STATE.take();
        state.last = (0, 0, 0);
        state.notes.add(noted);
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if let Some(slot) = self.slot
            && let Some(pin) = STATE.take().pins.get_mut(slot)
        {
            *pin = 0..0;
        }
    }
}
