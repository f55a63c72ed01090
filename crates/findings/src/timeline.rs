//! What the host asked, in the order of its calls, and which calls are ordered by what.

/// The calls of a recorded run, as far as they are to be drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// What the run is called.
    pub title: String,
    /// Streams and host threads.
    pub lanes: Vec<Lane>,
    /// Calls, in the order in which they were made.
    pub steps: Vec<Step>,
    /// Order between calls of different lanes, and where it is missing.
    pub arrows: Vec<Arrow>,
}

/// A stream or a host thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// Its name in the reader's words.
    pub name: String,
    /// Whether it is a thread of the host.
    pub host: bool,
}

/// A call, or calls that are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its lane; `None` where calls are left out.
    pub lane: Option<usize>,
    /// What kind of call it is.
    pub kind: StepKind,
    /// What it does, in a word or a name.
    pub label: String,
    /// All that is known of it.
    pub detail: String,
}

/// What kind of call a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// A kernel is launched.
    Kernel,
    /// Bytes are copied or filled.
    Copy,
    /// A function of the host is called in a stream.
    HostFunction,
    /// An event is recorded.
    Record,
    /// A stream waits for an event.
    Wait,
    /// The host waits.
    Synchronise,
    /// The host touches memory itself.
    Access,
    /// Memory is allocated or given back, in a stream or by the host.
    Memory,
    /// A graph begins or ends.
    Graph,
    /// Calls that are left out.
    LeftOut,
}

/// Order between two steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    /// The step that comes first.
    pub from: usize,
    /// The step that comes behind it, or should.
    pub to: usize,
    /// What is wrong, where the order is missing: the message of the finding.
    pub missing: Option<String>,
}
