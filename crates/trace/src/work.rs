//! What operations of streams do.

use serde::{Deserialize, Serialize};

use crate::access::Access;
#[cfg(doc)]
use crate::record::Call;

/// What an operation does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Only orders.
    Order,
    /// Records an event, as a node of a graph.
    Record {
        /// The event.
        event: u64,
    },
    /// Copies bytes.
    Copy {
        /// Who may go on when.
        copied: Copied,
        /// The bytes.
        accesses: Vec<Access>,
    },
    /// Fills bytes with a pattern.
    Fill {
        /// Whether the call returned after it was done.
        done: bool,
        /// The bytes.
        accesses: Vec<Access>,
    },
    /// Runs a kernel.
    Kernel {
        /// Its name as the compiler wrote it.
        name: String,
        /// The bytes that it may touch; `None` when only its run will tell ([`Call::Reach`]).
        accesses: Option<Vec<Access>>,
    },
    /// Calls a function of the host.
    HostFunction {
        /// The bytes that it may touch; `None` when only its run will tell ([`Call::Reach`]).
        accesses: Option<Vec<Access>>,
    },
    /// Makes memory of a stream-ordered allocation usable.
    Allocate {
        /// Its first byte.
        address: u64,
        /// Its size in bytes.
        bytes: u64,
    },
    /// Gives stream-ordered memory back.
    Free {
        /// Its first byte.
        address: u64,
    },
    /// Runs a kernel of which the recorder saw the arguments and not what it does.
    Launch {
        /// The launch's number ([`Call::NameLaunch`]).
        launch: u32,
    },
    /// Writes a value that streams may wait for (CUDA Driver API, `cuStreamWriteValue32`).
    WriteValue {
        /// Where.
        address: u64,
        /// The value.
        value: u64,
        /// Whether what comes before it in the stream is to be seen by whoever sees the value.
        fenced: bool,
    },
    /// Waits until a value is there (CUDA Driver API, `cuStreamWaitValue32`).
    WaitValue {
        /// Where.
        address: u64,
        /// What it is compared with.
        value: u64,
        /// How.
        until: Until,
        /// Bytes of the value: 4 or 8.
        bytes: u8,
    },
}

/// What a stream waits for in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    /// The value there is not below, as numbers that wrap around.
    AtLeast,
    /// They are equal.
    Equal,
    /// They have a bit in common.
    And,
    /// A bit is in neither of them.
    Nor,
}

impl Until {
    /// Whether a value that is there ends the wait for another one.
    #[must_use]
    pub fn is_met(self, there: u64, value: u64, bytes: u8) -> bool {
        let mask = if bytes == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let (there, value) = (there & mask, value & mask);
        match self {
            Until::AtLeast if bytes == 4 => (there.wrapping_sub(value) as i32) >= 0,
            Until::AtLeast => (there.wrapping_sub(value) as i64) >= 0,
            Until::Equal => there == value,
            Until::And => there & value != 0,
            Until::Nor => !(there | value) & mask != 0,
        }
    }
}

/// Which call copies, and between what: that decides how far the copy is when the call returns (CUDA Runtime API,
/// «API synchronization behavior»).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Copied {
    /// A call with `Async` in its name.
    pub asynchronous: bool,
    /// Where from.
    pub from: Memory,
    /// Where to.
    pub to: Memory,
}

/// What kind of memory a side of a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Memory {
    /// The device's.
    Device,
    /// The host's, not known to CUDA.
    Pageable,
    /// The host's, page-locked.
    Pinned,
    /// Shared by host and device.
    Managed,
}

impl Memory {
    /// The word before «memory».
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Memory::Device => "device",
            Memory::Pageable => "pageable",
            Memory::Pinned => "pinned",
            Memory::Managed => "managed",
        }
    }
}
