//! Deciding that nothing can move any more.

pub(crate) mod slice;
pub(crate) mod spy;
pub(crate) mod watch;
