//! Barriers of blocks, clusters and dependent grids: the block decides.

use super::core::{Core, Step};
use crate::decode::code::Micro;

/// Hands the operation to the block.
pub(crate) fn wait(_: &mut Core<'_>, _: &Micro) -> Step {
    Step::Barrier
}
