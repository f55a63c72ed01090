//! What was seen, until somebody asks for it.

/// Frames of an access's chain at most.
pub const MOST_FRAMES: usize = 24;

/// Accesses that are kept until they are taken; more are let through unseen.
pub const MOST_NOTED: usize = 4096;

/// Whose access it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    /// A thread of the program, by the system's number.
    Program(i32),
    /// The thread that calls functions of the host for a stream.
    HostFunction,
}

/// An access of the program.
#[derive(Debug, Clone, Copy)]
pub struct Noted {
    /// The first byte.
    pub address: usize,
    /// How many bytes; 1 where only the first is known.
    pub bytes: usize,
    /// Whether it was a write.
    pub write: bool,
    /// Who.
    pub thread: Thread,
    /// Return addresses, the innermost first; the first is the accessing instruction's with one added.
    frames: [usize; MOST_FRAMES],
    count: usize,
}

impl Noted {
    pub(crate) fn new(address: usize, bytes: usize, write: bool, thread: Thread, chain: &[usize]) -> Noted {
        let mut frames = [0; MOST_FRAMES];
        let count = chain.len().min(MOST_FRAMES);
        for (place, frame) in frames.iter_mut().zip(chain) {
            *place = *frame;
        }
        Noted { address, bytes, write, thread, frames, count }
    }

    /// An access of one byte from the same place.
    pub(crate) fn moved(self, address: usize, write: bool, thread: Thread) -> Noted {
        Noted { address, bytes: 1, write, thread, ..self }
    }

    /// Return addresses, the innermost first; the first is the accessing instruction's with one added.
    #[must_use]
    pub fn frames(&self) -> &[usize] {
        self.frames.get(..self.count).unwrap_or_default()
    }
}

/// All that was noted, in order. Adding needs no memory.
#[derive(Debug)]
pub(crate) struct Notes(Vec<Noted>);

impl Notes {
    pub(crate) const fn new() -> Notes {
        Notes(Vec::new())
    }

    /// Gets the memory.
    pub(crate) fn reserve(&mut self) {
        self.0.reserve_exact(MOST_NOTED.saturating_sub(self.0.len()));
    }

    pub(crate) fn add(&mut self, noted: Noted) {
        if self.0.len() < self.0.capacity() {
            self.0.push(noted);
        }
    }

    pub(crate) fn last(&self) -> Option<&Noted> {
        self.0.last()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take_into(&mut self, into: &mut Vec<Noted>) {
        into.append(&mut self.0);
    }
}
