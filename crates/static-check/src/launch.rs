//! The launch that a kernel is checked for: what the caller gave, joined with what the code promises.

use standstill_kernel_ir::LaunchBounds;
use standstill_kernel_ir::launch::LaunchShape;

/// Threads of a warp (PTX ISA, «WARP_SZ»).
pub(crate) const WARP_SIZE: u32 = 32;

/// Most threads of a block (CUDA C++ Programming Guide, «Technical Specifications per Compute Capability»).
pub(crate) const MAXIMUM_BLOCK: u32 = 1024;

/// One launch, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Launch {
    /// Threads of a block.
    pub(crate) block: Option<[u32; 3]>,
    /// Most threads that a block may have, by the code's own bound.
    pub(crate) most_threads: Option<u32>,
    /// Blocks of the grid.
    pub(crate) grid: Option<[u32; 3]>,
    /// Blocks of a cluster.
    pub(crate) cluster: Option<[u32; 3]>,
    /// What else was given.
    pub(crate) shape: LaunchShape,
}

impl Launch {
    /// Joins a shape given from outside with a kernel's directives; `.reqntid` is binding, so it wins.
    pub(crate) fn new(shape: &LaunchShape, bounds: &LaunchBounds) -> Launch {
        let usable = |block: &[u32; 3]| {
            let threads = block.iter().try_fold(1u32, |product, &extent| product.checked_mul(extent));
            threads.is_some_and(|threads| (1..=MAXIMUM_BLOCK).contains(&threads))
        };
        let mut shape = shape.clone();
        shape.block = bounds.required_block.or(shape.block).filter(usable);
        Launch {
            block: shape.block,
            most_threads: bounds
                .maximum_block
                .map(|block| block.iter().fold(1u32, |most, &extent| most.saturating_mul(extent))),
            grid: shape.grid,
            cluster: bounds.required_cluster.or(shape.cluster),
            shape,
        }
    }

    /// Whether a block is one warp, or less.
    pub(crate) fn is_one_warp(&self) -> bool {
        self.threads().or(self.most_threads).is_some_and(|threads| threads <= WARP_SIZE)
    }

    /// Threads of a block, at most [`MAXIMUM_BLOCK`].
    pub(crate) fn threads(&self) -> Option<u32> {
        self.block.map(|block| block.iter().fold(1u32, |most, &extent| most.saturating_mul(extent)))
    }
}
