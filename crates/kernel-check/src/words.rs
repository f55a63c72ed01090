//! The words of Rust kernels: a block is a tile, a thread a cell.

use standstill_findings::Vocabulary;

/// What CUDA C++ calls a thing, and what a Rust kernel does; longer phrases first.
const PHRASES: [(&str, &str); 33] = [
    ("`threadIdx.x`", "`space.cell_x`"),
    ("threadIdx.x read here", "the cell's own index is read here"),
    ("threadIdx.y read here", "the cell's own index is read here"),
    ("threadIdx.z read here", "the cell's own index is read here"),
    ("blockIdx.x read here", "the tile's index is read here"),
    ("blockIdx.y read here", "the tile's index is read here"),
    ("blockIdx.z read here", "the tile's index is read here"),
    ("threadIdx.", "space.cell_"),
    ("blockIdx.", "space.tile_"),
    ("`__syncthreads()`", "`space.sync()`"),
    ("__syncthreads()", "space.sync()"),
    ("__syncthreads", "space.sync()"),
    ("`__syncwarp()`", "`space.warp_sync()`"),
    ("__syncwarp", "space.warp_sync()"),
    ("`__ballot_sync`", "`space.warp_ballot`"),
    ("__threadfence_block()", "space.fence(AcqRel, Tile)"),
    ("__threadfence()", "space.fence(AcqRel, Device)"),
    (
        "through `volatile`, a `cuda::atomic_ref` or an atomic operation",
        "with `load(Relaxed)` of an `Atomic`",
    ),
    ("the atomic function without `_block`", "the atomic without `Tile`"),
    ("an atomic without `_block`", "an atomic without `Tile`"),
    ("cuda::thread_scope_device", "Device"),
    ("cuda::thread_scope_block", "Tile"),
    ("cuda::thread_scope_system", "System"),
    ("cuda::memory_order_release", "Release"),
    ("cuda::memory_order_acquire", "Acquire"),
    ("memory_order_release", "Release"),
    ("memory_order_acquire", "Acquire"),
    ("thread_scope_device", "Device"),
    ("shared memory", "tile memory"),
    ("blockDim.", "space.tile_size_"),
    ("gridDim.", "space.tiles_"),
    ("(`--block`)", "(`--block`, the cells of a tile)"),
    ("thread block", "tile"),
];

/// Single words.
const WORDS: [(&str, &str); 8] = [
    ("thread", "cell"),
    ("threads", "cells"),
    ("block", "tile"),
    ("blocks", "tiles"),
    ("Thread", "Cell"),
    ("Threads", "Cells"),
    ("Block", "Tile"),
    ("Blocks", "Tiles"),
];

/// The words of Rust kernels.
pub(crate) const VOCABULARY: Vocabulary = Vocabulary { phrases: &PHRASES, words: &WORDS };

/// A text about CUDA C++ in the words of a reader of Rust kernels.
pub fn reader(text: &str) -> String {
    VOCABULARY.reader(text)
}

#[cfg(test)]
mod tests {
    use super::reader;

    #[test]
    fn a_block_is_a_tile() {
        let cases = [
            ("threads 0–127 of block 0 wait", "cells 0–127 of tile 0 wait"),
            ("threadIdx.x read here", "the cell's own index is read here"),
            ("move the barrier behind `__syncthreads()`", "move the barrier behind `space.sync()`"),
            ("the block's shape (`--block`)", "the tile's shape (`--block`, the cells of a tile)"),
            (
                "put `__threadfence()` before, or use `cuda::memory_order_release` at `cuda::thread_scope_device`",
                "put `space.fence(AcqRel, Device)` before, or use `Release` at `Device`",
            ),
            ("a non-blocking stream", "a non-blocking stream"),
        ];
        for (theirs, ours) in cases {
            assert_eq!(reader(theirs), ours);
        }
    }
}
