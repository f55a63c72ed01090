//! What is recorded: one value for each call of host code that orders, touches or gives back something.

use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::launch::{LaunchShape, Parameter};
use crate::work::Work;

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
    /// Accesses of the host came so densely that some were not seen.
    AccessesUnseen,
    /// A function of the host begins. When it has ended [`Call::Reach`] tells what it touched.
    Begin {
        /// The operation.
        operation: Operation,
    },
    /// Calls at this site are made by threads of PyTorch for the backward pass that stands there.
    ForBackward {
        /// The site.
        site: Site,
    },
    /// What the host itself does with memory is not part of this trace.
    HostNotSeen,
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
