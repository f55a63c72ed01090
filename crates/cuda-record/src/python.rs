//! Where a Python program calls: the innermost line of its own, at a price that a launch does not feel.
//!
//! A thread's frames tell where they are by two words each. To which line they lead is worked out once, and kept by a
//! hash of the words up to the first frame that is no library's. Whatever is looked at is likely to be found in no cache:
//! between two launches a Python program does much else. So little is looked at, and no pointers are followed but the
//! interpreter's own.

use std::ffi::{CStr, c_char, c_void};

use rustc_hash::FxHashMap;
use standstill_python_frames::{
    COUNTED, Layout, Memory, OWNED_BY_C_STACK, Position, PythonFrame, Symbols, frame, positions,
};

use crate::thread::Thread;

/// Frames that are looked at, the innermost first.
const MOST: usize = 24;
/// Functions of the program that are known again, in sets of one line of a cache each.
const SETS: usize = 128;
const WAYS: usize = 8;
/// Bits that say which functions may be the program's: one line of a cache.
const BITS: usize = 512;
/// Sites that are found at once.
const SLOTS: usize = 1024;
/// Sites that are kept at most: beyond, all are forgotten.
const SITES: usize = 1 << 16;

/// The interpreter in this process.
#[derive(Debug)]
#[repr(C)]
struct Interpreter {
    walk: Walk,
    /// `PyGILState_GetThisThreadState`: it needs no lock, and gives zero for threads that never ran Python.
    this_thread: unsafe extern "C" fn() -> usize,
    layout: Layout,
}

/// How frames are followed, in less than one line of a cache.
#[derive(Debug, Clone, Copy)]
struct Walk {
    frame_holder: u16,
    in_holder: Option<u16>,
    code: u16,
    previous: u16,
    instruction: u16,
    owner: u16,
    /// Whether the structures were seen to be as the layout says.
    confirmed: bool,
    /// Whether the state of the process's first thread is part of the runtime, and so stays where it is.
    first_state_stays: bool,
}

/// The chains that were met.
#[derive(Debug)]
#[repr(C)]
pub struct Python {
    met: Met,
    interpreter: Option<Interpreter>,
}

/// What is known again.
#[derive(Debug)]
#[repr(C)]
struct Met {
    /// Which code may be the program's own.
    may_be_own: [u64; BITS / 64],
    /// Code of the program itself.
    own: Vec<[u64; WAYS]>,
    /// Sites by the hash of what leads to them; the most recent at once.
    quick: Vec<(u64, u32)>,
    sites: FxHashMap<u64, u32>,
}

/// What is known of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Called {
    /// It does not come from Python.
    Elsewhere,
    /// From a site that has a number.
    From(u32),
    /// From this line, for the first time: it is to be given a number.
    New(PythonFrame, Chain),
}

/// Frames, the innermost first.
#[derive(Debug, PartialEq, Eq)]
pub struct Chain {
    frames: Vec<Position>,
    /// Whether the last one is the program's own, so that nothing behind it was looked at.
    ends_at_own: bool,
    /// Whether it leads through PyTorch's backward pass, whose operations threads of the library put in.
    pub is_backward: bool,
}

impl Python {
    /// Looks for an interpreter in this process.
    pub fn find() -> Python {
        Python { met: Met::new(), interpreter: Interpreter::find() }
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        self.interpreter.is_some()
    }

    /// A hash of where the calling thread is in Python, once the interpreter is known to be as expected; 0 when it is
    /// not in Python.
    #[inline(always)]
    pub fn hash_of_here(&self, thread: &Thread) -> Option<u64> {
        let Some(interpreter) = &self.interpreter else { return Some(0) };
        if !interpreter.walk.confirmed {
            return None;
        }
        match interpreter.state(thread) {
            0 => Some(0),
            state => Some(hash_of_frames(&self.met, &interpreter.walk, state)),
        }
    }

    /// Where the calling thread is.
    #[inline]
    pub fn here(&mut self, thread: &Thread) -> Called {
        let hash = self.hash_of_here(thread);
        match hash.map(|hash| (hash, self.met.find(hash))) {
            Some((0, _)) => Called::Elsewhere,
            Some((_, Some(site))) => Called::From(site),
            _ => self.look(thread),
        }
    }

    #[cold]
    fn look(&mut self, thread: &Thread) -> Called {
        let Some(interpreter) = &mut self.interpreter else { return Called::Elsewhere };
        let state = interpreter.state(thread);
        if state == 0 {
            return Called::Elsewhere;
        }
        let Some((frame, chain)) = interpreter.look(state) else { return Called::Elsewhere };
        interpreter.walk.confirmed = true;
        match self.met.find(hash_of(&chain.frames)) {
            Some(site) => {
                // It was not known where the chain ends.
                self.met.add(&chain, site);
                Called::From(site)
            }
            None => Called::New(frame, chain),
        }
    }

    /// Gives a number to the site that a chain leads to.
    pub fn number(&mut self, chain: &Chain, site: u32) {
        self.met.add(chain, site);
    }
}

impl Met {
    fn new() -> Met {
        Met {
            may_be_own: [0; BITS / 64],
            own: vec![[0; WAYS]; SETS],
            quick: vec![(0, 0); SLOTS],
            sites: FxHashMap::default(),
        }
    }

    #[inline(always)]
    fn is_own(&self, code: u64) -> bool {
        let (word, bit) = bit_of(code);
        self.may_be_own.get(word).is_some_and(|bits| bits & bit != 0) && self.is_surely_own(code)
    }

    fn is_surely_own(&self, code: u64) -> bool {
        self.own.get(set_of(code)).is_some_and(|set| set.contains(&code))
    }

    #[inline]
    fn find(&mut self, hash: u64) -> Option<u32> {
        let slot = self.quick.get_mut((hash >> 32) as usize % SLOTS)?;
        if slot.0 != hash {
            *slot = (hash, *self.sites.get(&hash)?);
        }
        Some(slot.1)
    }

    #[cold]
    fn add(&mut self, chain: &Chain, site: u32) {
        if self.sites.len() >= SITES {
            *self = Met::new();
        }
        self.sites.insert(hash_of(&chain.frames), site);
        let last = chain.frames.last().filter(|_| chain.ends_at_own);
        if let Some(last) = last.filter(|last| !self.is_own(last.code))
            && let Some(set) = self.own.get_mut(set_of(last.code))
        {
            // The oldest goes.
            set.rotate_right(1);
            set[0] = last.code;
            let (word, bit) = bit_of(last.code);
            if let Some(bits) = self.may_be_own.get_mut(word) {
                *bits |= bit;
            }
        }
    }
}

/// Objects lie at multiples of 16.
fn set_of(code: u64) -> usize {
    (code >> 4) as usize % SETS
}

/// The word and the bit of code in [`Met::may_be_own`].
#[inline(always)]
fn bit_of(code: u64) -> (usize, u64) {
    let bit = (code >> 4 ^ code >> 13) as usize % BITS;
    (bit / 64, 1 << (bit % 64))
}

#[inline(always)]
fn hash_on(hash: u64, Position { code, instruction }: Position) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (hash ^ code).wrapping_mul(FACTOR).rotate_left(29) ^ instruction;
    let mixed = mixed.wrapping_mul(FACTOR);
    mixed ^ mixed >> 31
}

fn hash_of(chain: &[Position]) -> u64 {
    chain.iter().fold(0, |hash, position| hash_on(hash, *position))
}

/// The hash of a thread's frames up to the program's own; 0 where there are none: libraries have threads that may run
/// Python and do not now.
#[inline(always)]
fn hash_of_frames(met: &Met, walk: &Walk, state: usize) -> u64 {
    let word = |address: usize| {
        // SAFETY: this thread's own state and frames, which nobody else changes; their layout was confirmed.
        unsafe { (address as *const usize).read() }
    };
    let mut frame = word(state + usize::from(walk.frame_holder));
    if let Some(inner) = walk.in_holder {
        frame = word(frame + usize::from(inner));
    }
    let (mut hash, mut count) = (0, 0);
    while frame != 0 && count < MOST {
        // SAFETY: as above.
        let owner = unsafe { ((frame + usize::from(walk.owner)) as *const u8).read() };
        if owner < OWNED_BY_C_STACK {
            let position = Position {
                code: word(frame + usize::from(walk.code)) as u64 & !COUNTED,
                instruction: word(frame + usize::from(walk.instruction)) as u64,
            };
            (hash, count) = (hash_on(hash, position), count + 1);
            if met.is_own(position.code) {
                break;
            }
        }
        frame = word(frame + usize::from(walk.previous));
    }
    hash
}

impl Walk {
    fn of(layout: &Layout) -> Option<Walk> {
        let short = |offset: u64| u16::try_from(offset).ok();
        Some(Walk {
            frame_holder: short(layout.frame_holder)?,
            in_holder: match layout.frame_in_holder {
                Some(offset) => Some(short(offset)?),
                None => None,
            },
            code: short(layout.in_frame.code)?,
            previous: short(layout.in_frame.previous)?,
            instruction: short(layout.in_frame.instruction)?,
            owner: short(layout.in_frame.owner)?,
            confirmed: false,
            first_state_stays: layout.first_state_stays(),
        })
    }
}

impl Interpreter {
    fn find() -> Option<Interpreter> {
        // SAFETY: the names end with a zero byte.
        let find = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        let address = |found: *mut c_void| (!found.is_null()).then(|| found.addr() as u64);
        let this_thread = find(c"PyGILState_GetThisThreadState");
        let symbols =
            Symbols { runtime: address(find(c"_PyRuntime"))?, version: address(find(c"Py_Version")) };
        let layout = Layout::of(&Own, &symbols).or_else(|| {
            // SAFETY: the function of this name has this type (Python/C API).
            let version = unsafe {
                let version = address(find(c"Py_GetVersion"))? as usize;
                std::mem::transmute::<usize, unsafe extern "C" fn() -> *const c_char>(version)()
            };
            // SAFETY: it gives a string that stays.
            let is_3_10 =
                !version.is_null() && unsafe { CStr::from_ptr(version) }.to_bytes().starts_with(b"3.10.");
            (is_3_10 && symbols.version.is_none()).then(Layout::of_3_10)
        })?;
        address(this_thread)?;
        // SAFETY: the function of this name has this type (Python/C API).
        let this_thread =
            unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> usize>(this_thread) };
        Some(Interpreter { walk: Walk::of(&layout)?, this_thread, layout })
    }

    /// Where the state of a thread is, which is the calling one; 0 when it has none.
    #[inline(always)]
    fn state(&self, thread: &Thread) -> usize {
        match thread.python.get() {
            0 => self.ask_for_state(thread),
            state => state,
        }
    }

    #[inline(never)]
    fn ask_for_state(&self, thread: &Thread) -> usize {
        // SAFETY: the interpreter's own function, which takes nothing.
        let state = unsafe { (self.this_thread)() };
        if self.walk.first_state_stays && thread.is_first() {
            thread.python.set(state);
        }
        state
    }

    /// The innermost line of a thread that is no library's, and what leads there.
    #[cold]
    fn look(&self, state: usize) -> Option<(PythonFrame, Chain)> {
        let mut frames = positions(&Own, &self.layout, state as u64);
        frames.truncate(MOST);
        let (mut last, mut is_backward) = (None, false);
        for (position, number) in frames.iter().zip(1..) {
            let frame = frame(&Own, &self.layout, *position)?;
            if is_own(&frame.file) {
                frames.truncate(number);
                return Some((frame, Chain { frames, ends_at_own: true, is_backward }));
            }
            is_backward |= frame.file.ends_with(BACKWARD);
            if !frame.file.starts_with('<') {
                last = Some(frame);
            }
        }
        Some((last?, Chain { frames, ends_at_own: false, is_backward }))
    }
}

/// What begins a backward pass in PyTorch.
const BACKWARD: &str = "/torch/autograd/__init__.py";

/// Whether a file is the program's, and no library's nor one that a compiler wrote.
fn is_own(file: &str) -> bool {
    const OTHERS: [&str; 4] = ["/site-packages/", "/dist-packages/", "/lib/python3", "/torchinductor_"];
    !file.starts_with('<') && !OTHERS.iter().any(|part| file.contains(part))
}

/// The memory of this process, read so that a wrong address is an error.
struct Own;

impl Memory for Own {
    fn read(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        let to = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let from = libc::iovec {
            iov_base: std::ptr::without_provenance_mut(address as usize),
            iov_len: bytes.len(),
        };
        // SAFETY: the system checks the addresses that are read, and the bytes have room.
        let read = unsafe { libc::process_vm_readv(libc::getpid(), &raw const to, 1, &raw const from, 1, 0) };
        (usize::try_from(read) == Ok(bytes.len())).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_lead_to_their_sites() {
        let mut met = Met::new();
        let at = |code| Position { code, instruction: code + 200 };
        let chain = |codes: &[u64], ends_at_own| Chain {
            frames: codes.iter().copied().map(at).collect(),
            ends_at_own,
            is_backward: false,
        };
        met.add(&chain(&[16, 32], true), 7);
        met.add(&chain(&[16, 48, 64], true), 8);
        met.add(&chain(&[16, 80], false), 9);
        let mut site = |codes: &[u64]| met.find(hash_of(&chain(codes, true).frames));
        assert_eq!(site(&[16, 32]), Some(7));
        assert_eq!(site(&[16, 48, 64]), Some(8));
        assert_eq!(site(&[16, 80]), Some(9));
        assert_eq!(site(&[16]), None);
        assert_eq!(site(&[32, 16]), None);
        assert_eq!([16, 32, 48, 64, 80].map(|code| met.is_own(code)), [false, true, false, true, false]);
        // More functions of one set than it has room for.
        for code in (0..=WAYS as u64).map(|number| (1 + number * SETS as u64) << 4) {
            met.add(&chain(&[code], true), 9);
        }
        assert!(!met.is_own(1 << 4) && met.is_own((1 + SETS as u64) << 4));
    }

    #[test]
    fn files_of_libraries_are_told_apart() {
        let own = ["train.py", "/home/a/train.py", "/usr/lib/x/train.py"];
        let others =
            ["/opt/v/lib/python3.12/site-packages/torch/nn.py", "<frozen runpy>", "/usr/lib/python3.12/a.py"];
        assert!(own.into_iter().all(is_own));
        assert!(!others.into_iter().any(is_own));
    }
}
