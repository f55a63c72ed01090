//! The rule table: stable names and codes.

/// A rule, by its stable name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[allow(missing_docs, reason = "each variant's meaning is its row of the table below")]
pub enum Rule {
    DivergentBarrier,
    EarlyExitBarrier,
    BarrierCount,
    WarpMask,
    GridDivergence,
    GridResidency,
    WaitCycle,
    SpinLockLockstep,
    NonTerminatingLoop,
    HoistableSpin,
    SharedRace,
    GlobalRace,
    MissingRelease,
    MissingAcquire,
    ScopeTooNarrow,
    LostUpdate,
    ReuseAfterFree,
    Aba,
    MbarrierPhase,
    PipelineOrder,
    OutOfBounds,
    Misaligned,
    Uninitialised,
    UseAfterFree,
    StreamRace,
    EventRecordedEarly,
    WaitUnrecorded,
    EventRerecorded,
    HostReadBeforeSync,
    HostWriteInFlight,
    BufferReuse,
    FreeInFlight,
    AllocOrder,
    DefaultStream,
    GraphDependency,
    HostCallback,
    UncheckedAsyncError,
    WrongResult,
    FailedAssertion,
    NotLinearizable,
    Leak,
    PinnedShare,
    Undecided,
}

/// What the table says of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleInfo {
    /// The rule.
    pub rule: Rule,
    /// `E0009`.
    pub code: &'static str,
    /// `divergent-barrier`.
    pub name: &'static str,
    /// One line for `standstill rules`.
    pub summary: &'static str,
    /// The long text, in Markdown: one file per rule under `rules/`.
    pub explanation: &'static str,
}

macro_rules! table {
    ($($rule:ident $code:literal $name:literal $summary:literal)*) => {
        const TABLE: &[RuleInfo] = &[$(RuleInfo {
            rule: Rule::$rule, code: $code, name: $name, summary: $summary,
            explanation: include_str!(concat!("../rules/", $name, ".md")),
        }),*];
    };
}

table! {
    DivergentBarrier "E0009" "divergent-barrier" "a barrier under a condition that differs between the threads that must meet there"
    EarlyExitBarrier "E0009" "early-exit-barrier" "threads return before a barrier that the others still reach"
    BarrierCount "E0101" "barrier-count" "a counted barrier whose arrivals do not add up to its count"
    WarpMask "E0102" "warp-mask" "a warp operation whose mask names lanes that do not come, or leaves out its caller"
    GridDivergence "E0103" "grid-divergence" "a grid or cluster barrier that some blocks do not reach"
    GridResidency "E0104" "grid-residency" "blocks that wait for each other need more room than the card has"
    WaitCycle "E0105" "wait-cycle" "threads that wait for each other"
    SpinLockLockstep "E0106" "spin-lock-lockstep" "a lock taken by every lane of a warp and released behind the loop"
    NonTerminatingLoop "E0107" "non-terminating-loop" "a loop whose exit condition cannot come true"
    HoistableSpin "E0108" "hoistable-spin" "a spin on a plain load that the compiler may read once"
    SharedRace "E0201" "shared-race" "two accesses to shared memory without order, one of them a write"
    GlobalRace "E0202" "global-race" "two accesses to global memory without order, one of them a write"
    MissingRelease "E0203" "missing-release" "a flag is published without a release after its payload"
    MissingAcquire "E0203" "missing-acquire" "a payload is read behind a flag that was read without acquire"
    ScopeTooNarrow "E0204" "scope-too-narrow" "an operation whose scope leaves out the threads that it should reach"
    LostUpdate "E0205" "lost-update" "a read-modify-write in which another thread's update is lost"
    ReuseAfterFree "E0206" "reuse-after-free" "a reference to a slot that was freed and used again"
    Aba "E0207" "aba" "a compare-and-swap that a returned value fools"
    MbarrierPhase "E0208" "mbarrier-phase" "a wait on the wrong phase of an mbarrier"
    PipelineOrder "E0209" "pipeline-order" "a stage of an asynchronous pipeline is used before its copy is waited for"
    OutOfBounds "E0210" "out-of-bounds" "an access outside every allocation"
    Misaligned "E0211" "misaligned" "an access that is not aligned to its width"
    Uninitialised "E0212" "uninitialised" "a read of memory that nobody wrote"
    UseAfterFree "E0213" "use-after-free" "an access to memory that was freed"
    StreamRace "E0301" "stream-race" "two operations on overlapping bytes without order between their streams"
    EventRecordedEarly "E0302" "event-recorded-early" "an event recorded before the operation that it should cover"
    WaitUnrecorded "E0303" "wait-unrecorded" "a wait for an event that was never recorded"
    EventRerecorded "E0304" "event-rerecorded" "a wait that names a later record than the one it needs"
    HostReadBeforeSync "E0305" "host-read-before-sync" "the host reads a result that is not known to be there"
    HostWriteInFlight "E0306" "host-write-in-flight" "the host writes memory that an unfinished operation may touch"
    BufferReuse "E0307" "buffer-reuse" "a buffer is refilled before its last reader is done"
    FreeInFlight "E0308" "free-in-flight" "memory is freed while an unfinished operation may touch it"
    AllocOrder "E0309" "alloc-order" "stream-ordered memory used outside the order of its allocation"
    DefaultStream "E0310" "default-stream" "the default stream does not order non-blocking streams"
    GraphDependency "E0311" "graph-dependency" "two nodes of a graph without the edge that they need"
    HostCallback "E0312" "host-callback" "a host function that waits for the work it is part of"
    UncheckedAsyncError "E0313" "unchecked-async-error" "an asynchronous error that surfaces at an unrelated call"
    WrongResult "E0401" "wrong-result" "an interleaving whose result is not the expected one"
    FailedAssertion "E0402" "failed-assertion" "an interleaving that comes to a failed assertion or a trap"
    NotLinearizable "E0403" "not-linearizable" "operations whose results no order of them explains"
    Leak "N0001" "leak" "memory that is still allocated at exit"
    PinnedShare "N0002" "pinned-share" "a large share of the host's memory is pinned"
    Undecided "N0003" "undecided" "something that could not be decided, and why"
}

impl Rule {
    /// The rule's row.
    pub fn info(self) -> &'static RuleInfo {
        // The table lists the variants in their order; a test holds it to that.
        &TABLE[(self as usize).min(TABLE.len() - 1)]
    }

    /// `E0009`.
    pub fn code(self) -> &'static str {
        self.info().code
    }

    /// `divergent-barrier`.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The long text of `standstill explain`, in Markdown.
    pub fn explanation(self) -> &'static str {
        self.info().explanation
    }

    /// All rules, in the order of the table.
    pub fn all() -> impl Iterator<Item = &'static RuleInfo> {
        TABLE.iter()
    }

    /// The rule with this name.
    pub fn from_name(name: &str) -> Option<Rule> {
        TABLE.iter().find(|info| info.name == name).map(|info| info.rule)
    }

    /// The rules with this code (E0009 and E0203 have two each), or the one with this name.
    pub fn find(code_or_name: &str) -> Vec<Rule> {
        let wanted = |info: &&RuleInfo| {
            info.code.eq_ignore_ascii_case(code_or_name) || info.name.eq_ignore_ascii_case(code_or_name)
        };
        TABLE.iter().filter(wanted).map(|info| info.rule).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_the_variants_in_order() {
        for (index, info) in TABLE.iter().enumerate() {
            assert_eq!(info.rule as usize, index, "{}", info.name);
            assert_eq!(Rule::from_name(info.name), Some(info.rule));
        }
        assert_eq!(Rule::Undecided as usize + 1, TABLE.len());
        assert_eq!(Rule::find("e0009").len(), 2);
    }
    #[test]
    fn every_rule_is_explained() {
        for info in Rule::all() {
            let title = format!("# {} ({})\n", info.name, info.code);
            assert!(info.explanation.starts_with(&title), "{}", info.name);
            for part in ["## The shape", "## Why it happens", "## The right pattern", "## How it is known"] {
                assert!(info.explanation.contains(part), "{}: {part}", info.name);
            }
        }
    }
}
