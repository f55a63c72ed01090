//! What each thread was doing, and the threads that were doing the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::code::Place;
use crate::dump::Grid;
use crate::explain::users_line;
use crate::mbarrier::MbarrierWord;
use crate::memory::Location;

/// What a thread was doing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doing {
    /// Waits at a block barrier.
    BlockBarrier {
        /// The barrier's number; `None` when it is in a register that was overwritten.
        id: Option<u32>,
        /// How many threads complete it.
        count: Count,
    },
    /// Waits for lanes of its warp.
    WarpSync {
        /// The lanes that must come; `None` when the register with them was overwritten.
        mask: Option<u32>,
        /// The operation that they do together, such as `shuffle`.
        operation: Option<&'static str>,
    },
    /// Waits for lanes of its warp that went another way to meet it again.
    Reconverge,
    /// Waits on an mbarrier.
    Mbarrier {
        /// The word's address in shared memory.
        address: Option<u64>,
        /// The parity that it waits for.
        parity: Option<u8>,
        /// The word, when shared memory was dumped.
        word: Option<MbarrierWord>,
    },
    /// Waits at the barrier of its cluster.
    ClusterBarrier,
    /// Reads the same places again and again until they change.
    Spin {
        /// The places.
        polled: Vec<Location>,
        /// Whether a compare-and-swap is tried again.
        swaps: bool,
    },
    /// Runs a loop whose end does not hang on memory that others write.
    Loop {
        /// Whether the loop has a way out.
        has_exit: bool,
        /// Whether it waits at block barriers on its way round.
        has_barrier: bool,
        /// Whether it may be ordinary work that is under way: something that changes from round to round decides its
        /// end.
        may_end: bool,
    },
    /// Stopped by an exception (`CUDBGException_t`).
    Fault(u32),
    /// Runs.
    Work,
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doing::BlockBarrier { id, count } => {
                match id {
                    Some(id) => write!(f, "at barrier {id}")?,
                    None => f.write_str("at a block barrier")?,
                }
                match count {
                    Count::Threads(count) => write!(f, " of {count} threads"),
                    Count::All | Count::Unknown => Ok(()),
                }
            }
            Doing::WarpSync { operation: Some(operation), .. } => {
                write!(f, "at a {operation}, for lanes of the warp")
            }
            Doing::WarpSync { .. } => f.write_str("at a warp synchronisation"),
            Doing::Reconverge => f.write_str("waiting for lanes of the warp to come back"),
            Doing::Mbarrier { address: Some(address), .. } => {
                write!(f, "at the mbarrier at shared {address:#x}")
            }
            Doing::Mbarrier { .. } => f.write_str("at an mbarrier"),
            Doing::ClusterBarrier => f.write_str("at the barrier of the cluster"),
            Doing::Spin { swaps: true, .. } => f.write_str("trying a compare-and-swap again"),
            Doing::Spin { .. } => f.write_str("spinning"),
            Doing::Loop { has_exit: true, .. } => f.write_str("in a loop"),
            Doing::Loop { .. } => f.write_str("in a loop without a way out"),
            Doing::Fault(exception) => write!(f, "stopped by exception {exception}"),
            Doing::Work => f.write_str("running"),
        }
    }
}

/// How many threads complete a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Count {
    /// All threads of the block that have not exited.
    All,
    /// This many.
    Threads(u32),
    /// It is in a register that was overwritten.
    Unknown,
}

/// Arrivals without waiting that the code on the way to a place makes, by the numbers of the barriers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// The numbers that are written in the code.
    pub ids: BTreeSet<u32>,
    /// Whether a number stands in a register, so that it may be any.
    pub any: bool,
}

impl Arrivals {
    /// Whether there may have been one at a barrier; without a number, at any.
    pub fn may_be_at(&self, id: Option<u32>) -> bool {
        self.any || id.map_or(!self.ids.is_empty(), |id| self.ids.contains(&id))
    }
}

/// Threads that were doing the same at the same place.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What they were doing.
    pub doing: Doing,
    /// Address of the instruction: the one that waits, or the loop's decision, or the program counter.
    pub at: u64,
    /// Where that instruction comes from.
    pub place: Option<Place>,
    /// Its line in the PTX that the dump carries, from 1.
    pub ptx_line: Option<u32>,
    /// The function that it lies in, mangled.
    pub function: String,
    /// Bytes from the start of the function.
    pub offset: u64,
    /// Barriers at which the threads may have arrived on their way here without waiting (`bar.arrive`): an arrival leaves
    /// no trace in a dump.
    pub arrived: Arrivals,
    /// For a fault: the synchronisation that the hardware refused.
    pub faulted: Option<Doing>,
    /// First and last address of the loop, where there is one.
    pub range: Option<(u64, u64)>,
    /// The threads, by the number of their block in the grid: numbers in the block, ascending.
    pub threads: BTreeMap<u64, Vec<u32>>,
}

impl Group {
    /// How many threads it has.
    pub fn len(&self) -> u64 {
        self.threads.values().map(|threads| threads.len() as u64).sum()
    }

    /// Whether it has no thread.
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }
}

/// One grid with its threads in groups.
#[derive(Debug, Clone, PartialEq)]
pub struct GridState {
    /// Position of its device in the dump.
    pub device: usize,
    /// The grid.
    pub grid: Grid,
    /// Whether the size of the grid is known; of a cooperative launch it is not.
    pub size_known: bool,
    /// The kernel's name, mangled; empty when its code was not dumped.
    pub kernel: String,
    /// Parameters that are eight bytes long, by position, with their values.
    pub parameters: Vec<(usize, u64)>,
    /// Parameters that are four bytes long, by position, with their values as signed numbers.
    pub numbers: Vec<(usize, i64)>,
    /// The PTX of the kernel's module, when the dump carries it, with the source place of its lines.
    pub ptx: Option<Ptx>,
    /// The groups, larger ones first.
    pub groups: Vec<Group>,
    /// Arrivals without waiting anywhere in the kernel's function.
    pub arrivals: Arrivals,
    /// Exceptions whose warps were gone when the dump was taken.
    pub stops: Vec<Group>,
    /// Blocks that were on a multiprocessor, by number: threads that had not exited.
    pub blocks: BTreeMap<u64, u32>,
}

/// PTX that a dump carries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ptx {
    /// The text, without its line directives.
    pub text: String,
    /// The source place of its lines, by line from 1.
    pub places: BTreeMap<u32, Place>,
}

impl Ptx {
    /// The text with line directives put back where its lines have source places: the user's own line of each, with
    /// the calls around it left out.
    pub fn with_lines(&self) -> String {
        let mut files: Vec<&str> = Vec::new();
        let mut text = String::with_capacity(self.text.len() * 2);
        let mut last: Option<(usize, u32)> = None;
        for (number, line) in (1u32..).zip(self.text.lines()) {
            // Directives stand between instructions only.
            let is_instruction = line.trim_start().starts_with(|c: char| c.is_ascii_alphabetic() || c == '@');
            if let Some(place) = self.places.get(&number).filter(|_| is_instruction) {
                let own = users_line(place);
                let file = files.iter().position(|file| *file == own.file).unwrap_or_else(|| {
                    files.push(&own.file);
                    files.len() - 1
                });
                if last.replace((file, own.line)) != Some((file, own.line)) {
                    text.push_str(&format!("\t.loc {} {} 0\n", file + 1, own.line));
                }
            }
            text.push_str(line);
            text.push('\n');
        }
        for (number, file) in (1..).zip(&files) {
            text.push_str(&format!("\t.file {number} \"{file}\"\n"));
        }
        text
    }
}

impl GridState {
    /// Blocks that have finished: they began before one that is there, and are gone.
    pub fn finished(&self) -> u64 {
        let begun = self.blocks.keys().next_back().map_or(0, |last| last.saturating_add(1));
        begun.saturating_sub(self.blocks.len() as u64)
    }

    /// Blocks that never began: the hardware starts them in the order of their numbers.
    pub fn not_begun(&self) -> u64 {
        let begun = self.blocks.keys().next_back().map_or(0, |last| last.saturating_add(1));
        self.grid.blocks().saturating_sub(begun)
    }

    /// Threads of a block that have exited.
    pub fn exited(&self, block: u64) -> Vec<u32> {
        let all = u32::try_from(self.grid.threads_per_block()).unwrap_or(0);
        let mut there = vec![false; all as usize];
        for threads in self.groups.iter().filter_map(|group| group.threads.get(&block)) {
            for thread in threads {
                if let Some(slot) = there.get_mut(*thread as usize) {
                    *slot = true;
                }
            }
        }
        (0..all).filter(|thread| there.get(*thread as usize) == Some(&false)).collect()
    }
}

/// What [`Doing::WarpSync`] says of lanes that gather before a block barrier.
pub(crate) const BEFORE_BARRIER: &str = "block barrier";
