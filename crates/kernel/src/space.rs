//! The words that kernels are written with.
//!
//! Kernels are read by the attribute, not by the compiler: these types give their words a home, documentation and
//! names that the compiler can resolve.

use std::marker::PhantomData;

use crate::Element;

/// Where a cell is, and what it does together with the others of its tile.
///
/// Every kernel's first parameter. All numbers are `u32`; each exists for `x`, `y` and `z`.
///
/// | written | is |
/// |---|---|
/// | `space.x` | the cell's index in the whole space |
/// | `space.cell_x` | the cell's index in its tile |
/// | `space.tile_x` | the tile's index |
/// | `space.size_x` | the cells of the space, as the launch gave them |
/// | `space.tile_size_x` | the cells of a tile |
/// | `space.tiles_x` | the tiles of the space |
/// | `space.lane`, `space.warp` | the cell's index in its warp of 32, the warp's index in its tile |
/// | `space.in_bounds_x()`, `space.in_bounds()` | whether the cell is one of the space, and not one of a last tile's rest |
/// | `space.tile_array::<T, N>()` | an array that the cells of a tile share, as the value of a `let` |
/// | `space.sync()` | waits until all cells of the tile are here |
/// | `space.fence(AcqRel, Device)` | orders the cell's accesses before and behind |
/// | `space.warp_sync()` | waits for the cells of the warp |
/// | `space.warp_sum(v)`, `warp_min`, `warp_max` | the sum, least, greatest of a warp's 32-bit values |
/// | `space.warp_any(p)`, `warp_all(p)`, `warp_ballot(p)` | whether it holds for any, for all, and for which cells of the warp |
/// | `space.shuffle(v, lane)`, `shuffle_up`, `shuffle_down`, `shuffle_xor` | the value of another cell of the warp |
/// | `space.warp_match(v)` | the cells of the warp that have the same 32-bit value, as bits |
/// | `space.mark_freed(&a[i])`, `space.mark_allocated(&a[i])` | tells the checker that an element of a pool is free or in use |
/// | `space.mark_begins(stack_push, &a[i], v)`, `space.mark_ends(v)`, `space.mark_held(…)` | an operation of a shared structure begins, ends, or has been done before the launch; see `docs/explore.md` |
#[derive(Debug, Clone, Copy)]
pub struct Space {
    _private: (),
}

impl Space {
    /// Waits until all cells of the tile are here. What they wrote to tile arrays and buffers before can be read behind
    /// it.
    ///
    /// All cells of a tile must come to it together: under a condition that may differ between them, or behind a
    /// `return` of some, the kernel does not compile (E0009). Let cells that have nothing to do load a neutral value,
    /// come to the `sync()`, and guard only what they store.
    pub fn sync(&self) {}
}

/// A number that cells access at the same time: the elements of `&[Atomic<u32>]`, and of tile arrays.
///
/// `load(order)`, `store(value, order)`, `swap`, `fetch_add`, `fetch_sub`, `fetch_min`, `fetch_max`, `fetch_and`,
/// `fetch_or`, `fetch_xor(value, order)` and `compare_exchange(current, new, order)`, whose result is taken apart by
/// `match` or `if let` with `Ok` and `Err`. A last argument `Tile`, `Device` (taken when none is given) or `System`
/// says for whom the order holds.
#[derive(Debug)]
pub struct Atomic<T: Element>(PhantomData<T>);

/// The memory order of an atomic access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The access is atomic, and orders nothing else.
    Relaxed,
    /// What the writer wrote before its release can be read behind this load.
    Acquire,
    /// Who reads this store with an acquire can read what was written before.
    Release,
    /// Both.
    AcqRel,
    /// Both, and one order of all such accesses.
    SeqCst,
}

/// For whom the order of an access holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// For the cells of the tile.
    Tile,
    /// For all cells of the device.
    Device,
    /// For the host, too.
    System,
}
