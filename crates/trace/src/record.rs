//! What is recorded: one value for each call of host code that orders, touches or gives back something.

use serde::{Deserialize, Serialize, Serializer};

/// An operation, numbered in the order of submission over all streams, from 1.
pub type Operation = u64;

/// A distinct chain of return addresses; 0 when it is not known.
pub type Site = u32;

/// One call of host code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The host thread that called, numbered in the order of first calls.
    pub thread: u32,
    /// Where the call stands in the program.
    pub site: Site,
    /// What it asked.
    pub call: Call,
}

/// What a call asked. Streams and events are numbered by the recorder and never used twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Gives a number to a chain of return addresses, innermost first.
    NameSite {
        /// The number that records use from now on.
        site: Site,
        /// The chain.
        frames: Vec<Frame>,
    },
    /// Gives a number to an executable or library.
    NameObject {
        /// The number that frames use from now on.
        object: u32,
        /// Its path.
        path: String,
    },
    /// Says where a site stands in the program's source, for readers that do not have the program.
    PlaceSite {
        /// The site.
        site: Site,
        /// The file as the compiler wrote it.
        file: String,
        /// The line, from 1.
        line: u32,
    },
    /// A stream is made, or one that always exists is used for the first time.
    CreateStream {
        /// Its number.
        stream: u64,
        /// How it behaves towards the legacy default stream.
        kind: StreamKind,
    },
    /// A stream is destroyed; its operations run to their end.
    DestroyStream {
        /// Its number.
        stream: u64,
    },
    /// An operation is put into a stream.
    Submit {
        /// Its number.
        operation: Operation,
        /// The stream.
        stream: u64,
        /// What it does.
        work: Work,
    },
    /// A graph is launched: its nodes follow, and come behind this operation, which comes behind every earlier
    /// launch of the same executable graph.
    LaunchGraph {
        /// The number of what stands before all nodes.
        operation: Operation,
        /// The stream.
        stream: u64,
        /// The executable graph.
        graph: u64,
    },
    /// A node of a launched graph is put in behind exactly these operations.
    SubmitNode {
        /// Its number.
        operation: Operation,
        /// The stream that the graph was launched in.
        stream: u64,
        /// What it does.
        work: Work,
        /// The launch of the graph.
        launch: Operation,
        /// The operations that it comes behind.
        after: Vec<Operation>,
    },
    /// The nodes of a launch are all put in; what comes next in the stream waits for these.
    EndGraph {
        /// The number of what stands behind all nodes.
        operation: Operation,
        /// The stream.
        stream: u64,
        /// The launch of the graph.
        launch: Operation,
        /// The nodes that nothing in the graph comes behind.
        last: Vec<Operation>,
    },
    /// An event is recorded in a stream.
    RecordEvent {
        /// The number of the record.
        operation: Operation,
        /// The stream.
        stream: u64,
        /// The event.
        event: u64,
    },
    /// A stream waits for an event: for its most recent record at this moment.
    WaitEvent {
        /// The number of the waiting itself.
        operation: Operation,
        /// The stream.
        stream: u64,
        /// The event.
        event: u64,
    },
    /// An event is destroyed; waits for it that were made stay as they are.
    DestroyEvent {
        /// The event.
        event: u64,
    },
    /// The call returned after this was done, or said that it is done.
    Synchronise(Target),
    /// A question was answered with «not yet».
    NotReady(Target),
    /// Memory is allocated.
    Allocate {
        /// Its first byte.
        address: u64,
        /// Its size in bytes.
        bytes: u64,
        /// What kind of memory.
        kind: Allocation,
    },
    /// Memory is given back by a call that is no operation of a stream.
    Free {
        /// Its first byte.
        address: u64,
    },
    /// The host itself reads or writes memory that operations may touch.
    HostAccess(Access),
    /// Which bytes an operation touches, where that is known only once it has run. Replaces what its submission
    /// said.
    Reach {
        /// The operation.
        operation: Operation,
        /// The bytes.
        accesses: Vec<Access>,
    },
    /// A function that host functions must not call was called in one.
    CalledInHostFunction {
        /// The function's name.
        function: String,
    },
    /// A call reported an error that another call caused.
    Surfaced {
        /// The error's name.
        error: String,
        /// The site of the call that caused it.
        cause: Site,
        /// What that call did.
        what: String,
    },
    /// Gives a number to a kernel.
    NameKernel {
        /// The number that launches use from now on.
        kernel: u32,
        /// Its name as the compiler wrote it.
        name: String,
        /// Its parameters, by position; none where the driver does not tell.
        parameters: Vec<Parameter>,
    },
    /// Gives a number to a launch with its shape and arguments: most programs make the same one again and again.
    NameLaunch {
        /// The number that [`Work::Launch`] uses from now on.
        launch: u32,
        /// What is launched.
        shape: LaunchShape,
    },
    /// Which bytes a launch touches, for readers that do not have the program's code.
    ReachOfLaunch {
        /// The launch's number.
        launch: u32,
        /// The bytes.
        accesses: Vec<Access>,
    },
    /// As [`Call::NameLaunch`], for a launch that is like another one but for some words of its arguments.
    NameLaunchLike {
        /// The number that [`Work::Launch`] uses from now on.
        launch: u32,
        /// The other one.
        like: u32,
        /// Words by number, eight bytes each.
        words: Vec<(u32, u64)>,
    },
    /// A stream is of another context than the first that the program has used. Each has streams, and a legacy default
    /// stream, of its own (CUDA C++ Programming Guide, «Context»).
    InContext {
        /// The stream.
        stream: u64,
        /// The context's number, from 1; the first one has 0.
        context: u32,
    },
    /// Memory is of another context than the first.
    MemoryInContext {
        /// Its first byte.
        address: u64,
        /// The context's number.
        context: u32,
    },
}

/// Where a kernel's parameter lies among the bytes of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parameter {
    /// Bytes from the start.
    pub offset: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

/// A kernel with the shape and the arguments of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LaunchShape {
    /// The kernel's number.
    pub kernel: u32,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster; all one where there are none.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
    /// Whether all blocks must be resident at once.
    pub cooperative: bool,
    /// The bytes of all parameters; none where their layout is not known.
    #[serde(serialize_with = "at_once")]
    pub arguments: Vec<u8>,
}

/// Bytes of a word of the arguments.
const WORD: usize = 8;

impl LaunchShape {
    /// Words of the arguments that are not those of another launch, where nothing else differs.
    #[must_use]
    pub fn differing_words(&self, other: &LaunchShape) -> Option<Vec<(u32, u64)>> {
        let [own, others] = [self, other].map(|it| {
            (it.kernel, it.grid, it.block, it.cluster, it.dynamic_shared, it.cooperative, it.arguments.len())
        });
        // What is left behind the last word cannot be told so.
        if own != others || !self.arguments.len().is_multiple_of(WORD) {
            return None;
        }
        let (own, others) = (self.arguments.as_chunks::<WORD>().0, other.arguments.as_chunks::<WORD>().0);
        let pairs = (0..).zip(own.iter().zip(others));
        let differing = pairs.filter(|(_, (own, other))| own != other);
        Some(differing.map(|(number, (own, _))| (number, u64::from_le_bytes(*own))).collect())
    }

    /// The launch with other words in its arguments.
    #[must_use]
    pub fn with_words(&self, words: &[(u32, u64)]) -> LaunchShape {
        let mut shape = self.clone();
        for (number, word) in words {
            let start = *number as usize * WORD;
            if let Some(place) = shape.arguments.get_mut(start..start.saturating_add(WORD)) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
        shape
    }
}

/// Writes bytes in one piece, which in this format is the same as one by one.
fn at_once<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// One return address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The executable or library.
    pub object: u32,
    /// The address in that file, as its line table counts.
    pub address: u64,
}

/// How a stream behaves towards the legacy default stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamKind {
    /// The legacy default stream itself.
    Legacy,
    /// A host thread's own default stream: ordered with the legacy default stream as a blocking one.
    PerThread,
    /// Ordered with the legacy default stream both ways.
    Blocking,
    /// Not ordered with it.
    NonBlocking,
}

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

/// Bytes that something touches: `rows` rows of `width` bytes, `pitch` bytes from one to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// The first byte.
    pub address: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// What is done to them.
    pub mode: Mode,
    /// Whether these are the bytes, and not a wider range that holds them.
    pub exact: bool,
}

impl Access {
    /// One row that is known exactly.
    #[must_use]
    pub fn bytes(mode: Mode, address: u64, width: u64) -> Access {
        Access { address, width, rows: 1, pitch: width, mode, exact: true }
    }
}

/// What is done to bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Mode {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Only changed by atomic operations of the whole device, which need no order among themselves.
    Update,
    /// Besides what other accesses say of them: by operations that the host can take part in, so that host and device
    /// may order each other by these bytes.
    Signal,
    /// Perhaps read or written: a pointer to them was handed over, and what is done with it is not known.
    May,
    /// Perhaps read: a pointer to constant data was handed over.
    MayRead,
    /// Perhaps written: a pointer to them was handed over that is not to constant data, beside others that are.
    MayWrite,
}

impl Mode {
    /// What somebody does to bytes.
    #[must_use]
    pub fn verb(self) -> &'static str {
        match self {
            Mode::Read => "reads",
            Mode::Write => "writes",
            Mode::Update => "updates",
            Mode::Signal => "signals by",
            Mode::May => "may touch",
            Mode::MayRead => "may read",
            Mode::MayWrite => "may write",
        }
    }
}

/// What a call waited for or asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// Everything in the first context.
    Device,
    /// Everything in a stream so far.
    Stream(u64),
    /// The most recent record of an event.
    Event(u64),
    /// Everything in another context.
    Context(u32),
}

/// How memory came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Allocation {
    /// `cudaMalloc` and its kin: usable everywhere from now on; giving it back waits for the device.
    Device,
    /// Page-locked host memory.
    Pinned,
    /// Host memory that was page-locked by registering it.
    Registered,
    /// Managed memory.
    Managed,
    /// Memory of a pool that a synchronous call gave back or took.
    Pool,
}
