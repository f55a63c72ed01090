//! Where a Python program calls: the innermost line of its own, at a price that a launch does not feel.
//!
//! A thread's frames tell where they are by two words each. What chain of them leads to which line is worked out once;
//! the next time the words are only compared, up to the first frame that is no library's.

use std::ffi::c_void;

use standstill_python_frames::{
    COUNTED, Layout, Memory, OWNED_BY_C_STACK, Position, PythonFrame, Symbols, frame, positions,
};

/// Frames that are looked at, the innermost first.
const MOST: usize = 24;
/// Nodes at most: beyond, everything is forgotten.
const NODES: usize = 1 << 16;

/// The interpreter in this process.
#[derive(Debug)]
struct Interpreter {
    /// `PyGILState_GetThisThreadState`: it needs no lock, and gives zero for threads that never ran Python.
    this_thread: unsafe extern "C" fn() -> usize,
    layout: Layout,
    /// Whether the structures were seen to be as the layout says.
    confirmed: bool,
}

/// Where a frame is, behind those further in.
#[derive(Debug, Default)]
struct Node {
    next: Vec<(Position, u32)>,
    /// The site of the chain that ends here.
    site: Option<u32>,
}

/// The chains that were met.
#[derive(Debug)]
pub struct Python {
    interpreter: Option<Interpreter>,
    nodes: Vec<Node>,
}

/// What is known of a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Called {
    /// It does not come from Python.
    Elsewhere,
    /// From a site that has a number.
    From(u32),
    /// From this line, for the first time: it is to be given a number.
    New(PythonFrame, Vec<Position>),
}

impl Python {
    /// Looks for an interpreter in this process.
    pub fn find() -> Python {
        Python { interpreter: Interpreter::find(), nodes: vec![Node::default()] }
    }

    /// Where the calling thread is.
    pub fn here(&mut self) -> Called {
        let Some(interpreter) = &mut self.interpreter else { return Called::Elsewhere };
        // SAFETY: the interpreter's own function, which takes nothing.
        let state = unsafe { (interpreter.this_thread)() };
        if state == 0 {
            return Called::Elsewhere;
        }
        if interpreter.confirmed {
            match known(&self.nodes, &interpreter.layout, state) {
                Found::Site(site) => return Called::From(site),
                Found::NoFrames => return Called::Elsewhere,
                Found::New => {}
            }
        }
        let Some((frame, chain)) = interpreter.look(state) else { return Called::Elsewhere };
        interpreter.confirmed = true;
        match self.nodes.get(self.follow(&chain).unwrap_or_default() as usize).and_then(|node| node.site) {
            Some(site) => Called::From(site),
            None => Called::New(frame, chain),
        }
    }

    /// The number of the site that a chain leads to.
    pub fn number(&mut self, chain: &[Position], site: u32) {
        if self.nodes.len() > NODES {
            self.nodes = vec![Node::default()];
        }
        let mut at = 0;
        for position in chain {
            let new = self.nodes.len() as u32;
            let Some(node) = self.nodes.get_mut(at as usize) else { return };
            at = match node.next.iter().find(|(known, _)| known == position) {
                Some((_, next)) => *next,
                None => {
                    node.next.push((*position, new));
                    self.nodes.push(Node::default());
                    new
                }
            };
        }
        if let Some(node) = self.nodes.get_mut(at as usize).filter(|_| at > 0) {
            node.site = Some(site);
        }
    }

    fn follow(&self, chain: &[Position]) -> Option<u32> {
        let next = |at: u32, position: &Position| {
            let node = self.nodes.get(at as usize)?;
            node.next.iter().find(|(known, _)| known == position).map(|(_, next)| *next)
        };
        chain.iter().try_fold(0, next)
    }
}

/// What comparing a thread's frames gives.
enum Found {
    Site(u32),
    /// A library's own thread, which may run Python and does not now.
    NoFrames,
    New,
}

/// The site of a thread whose frames are known.
#[inline]
fn known(nodes: &[Node], layout: &Layout, state: usize) -> Found {
    let word = |address: usize| {
        // SAFETY: this thread's own state and frames, which nobody else changes; their layout was confirmed.
        unsafe { (address as *const usize).read() }
    };
    let mut frame = word(state + layout.frame_holder as usize);
    if let Some(inner) = layout.frame_in_holder {
        frame = word(frame + inner as usize);
    }
    let fields = layout.in_frame;
    let (mut at, mut met) = (0, false);
    while let Some(node) = nodes.get(at) {
        if let Some(site) = node.site {
            return Found::Site(site);
        }
        if frame == 0 {
            return if met { Found::New } else { Found::NoFrames };
        }
        // SAFETY: as above.
        let owner = unsafe { ((frame + fields.owner as usize) as *const u8).read() };
        if owner < OWNED_BY_C_STACK {
            met = true;
            let position = Position {
                code: word(frame + fields.code as usize) as u64 & !COUNTED,
                instruction: word(frame + fields.instruction as usize) as u64,
            };
            match node.next.iter().find(|(known, _)| *known == position) {
                Some((_, next)) => at = *next as usize,
                None => return Found::New,
            }
        }
        frame = word(frame + fields.previous as usize);
    }
    Found::New
}

impl Interpreter {
    fn find() -> Option<Interpreter> {
        // SAFETY: the names end with a zero byte.
        let find = |name: &std::ffi::CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        let address = |found: *mut c_void| (!found.is_null()).then(|| found.addr() as u64);
        let this_thread = find(c"PyGILState_GetThisThreadState");
        let symbols =
            Symbols { runtime: address(find(c"_PyRuntime"))?, version: address(find(c"Py_Version")) };
        let layout = Layout::of(&Own, &symbols)?;
        address(this_thread)?;
        // SAFETY: the function of this name has this type (Python/C API).
        let this_thread =
            unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> usize>(this_thread) };
        Some(Interpreter { this_thread, layout, confirmed: false })
    }

    /// The innermost line of a thread that is no library's, and what leads there.
    #[cold]
    fn look(&self, state: usize) -> Option<(PythonFrame, Vec<Position>)> {
        let mut chain = positions(&Own, &self.layout, state as u64);
        chain.truncate(MOST);
        let mut last = None;
        for (position, number) in chain.iter().zip(1..) {
            let frame = frame(&Own, &self.layout, *position)?;
            if is_own(&frame.file) {
                chain.truncate(number);
                return Some((frame, chain));
            }
            if !frame.file.starts_with('<') {
                last = Some(frame);
            }
        }
        Some((last?, chain))
    }
}

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
        let mut python = Python { interpreter: None, nodes: vec![Node::default()] };
        let at = |code| Position { code, instruction: code + 200 };
        python.number(&[at(1), at(2)], 7);
        python.number(&[at(1), at(3), at(4)], 8);
        let site = |chain: &[Position]| python.nodes.get(python.follow(chain)? as usize)?.site;
        assert_eq!(site(&[at(1), at(2)]), Some(7));
        assert_eq!(site(&[at(1), at(3), at(4)]), Some(8));
        assert_eq!(site(&[at(1)]), None);
        assert_eq!(site(&[at(2)]), None);
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
