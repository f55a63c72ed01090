//! A barrier for all tiles of a launch.

use standstill_kernel::{Buffer, Device, kernels};

use crate::Error;

/// A helper that waits for all tiles of a launch.
///
/// `barrier[0]` counts the tiles that have come, `barrier[1]` the rounds that are done.
///
/// **Progress.** It blocks: every tile must come, so every tile must be on the device at once. Launch the kernel with
/// `name::launch_together`: it refuses what does not fit, where `launch` would hang. In which order tiles start does not matter.
///
/// **Memory order.** Coming is a read-modify-write with acquire and release: the last to come is ordered behind all others. It
/// counts the round with release, which the waiting ones read with acquire; the `sync()` before and behind pass that on to all
/// cells of the tiles. So what any cell wrote before the barrier is visible to every cell behind it.
///
/// **Again.** The count is set back before the round is counted on: nobody can come again before. All cells of a tile
/// call it together.
#[kernels(export)]
pub mod barrier {
    /// Waits until all tiles of the launch are here.
    #[device]
    fn grid_wait(space: Space, barrier: &[Atomic<u32>]) {
        space.sync();
        if space.cell_x == 0 && space.cell_y == 0 && space.cell_z == 0 {
            let tiles = space.tiles_x * space.tiles_y * space.tiles_z;
            let round = barrier[1].load(Relaxed);
            if barrier[0].fetch_add(1, AcqRel) + 1 == tiles {
                barrier[0].store(0, Relaxed);
                barrier[1].store(round + 1, Release);
            } else {
                while barrier[1].load(Acquire) == round {}
            }
        }
        space.sync();
    }
}

/// The memory of a barrier; see [`barrier`](mod@barrier). It can serve one launch after the other, but not two at a time.
#[derive(Debug)]
pub struct GridBarrier {
    /// Tiles that have come, and rounds done.
    pub state: Buffer<u32>,
}

impl GridBarrier {
    /// A barrier that nobody has come to.
    ///
    /// # Errors
    /// When the device's memory is full.
    pub fn new(device: &Device) -> Result<GridBarrier, Error> {
        Ok(GridBarrier { state: device.zeros(2)? })
    }

    /// Times that all tiles have met.
    ///
    /// # Errors
    /// When some tiles have come and others not: a launch was ended on the way.
    pub fn rounds(&self) -> Result<u32, Error> {
        match self.state.read()?.as_slice() {
            [0, rounds] => Ok(*rounds),
            state => Err(Error::NotWhole { structure: "barrier", what: format!("it is at {state:?}") }),
        }
    }
}
