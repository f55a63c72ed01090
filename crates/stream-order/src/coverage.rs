//! How much was analysed.

use standstill_trace::Site;

/// What was analysed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Operations of streams.
    pub operations: u64,
    /// Operations of which it stayed unknown what they touch.
    pub unknown: u64,
    /// Accesses that were taken wider than they may be.
    pub widened: u64,
    /// Accesses of the host that were seen.
    pub host_accesses: u64,
    /// Copies from and to memory of the host, and functions of the host, in a trace that does not have what the host itself does
    /// with memory.
    pub beside_unseen: u64,
    /// Where the first of them stands.
    pub beside_unseen_at: Option<Site>,
    /// Pairs of launches on different streams that nothing orders and that have a pointer to the same bytes, counted by
    /// their places: what either does with it is not known.
    pub undecided: u64,
    /// Where the later launch of the first such pair stands.
    pub undecided_at: Option<Site>,
}
