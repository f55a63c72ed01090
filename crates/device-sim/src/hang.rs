//! Deciding that nothing can move any more.

mod future;
mod names;
pub(crate) mod slice;
pub(crate) mod spy;
mod verdict;
mod waiters;
pub(crate) mod watch;
