//! Deciding that nothing can move any more.

mod cycle;
mod future;
pub(crate) mod induction;
pub(crate) mod livelock;
pub(crate) mod names;
mod parties;
pub(crate) mod rounds;
pub(crate) mod slice;
pub(crate) mod spy;
mod verdict;
mod waiters;
pub(crate) mod watch;
