//! A card: memory, and room for blocks.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use standstill_kernel_ir::launch::Device as Model;
use standstill_kernel_ir::{Program, Space, VariableImage};

use crate::grid::Grid;
use crate::launch::{LaunchError, LaunchRequest};
use crate::memory::Memory;
use crate::module::{LoadError, Module};

/// A software GPU.
#[derive(Debug)]
pub struct Device {
    model: Model,
    memory: Memory,
    room: Mutex<Vec<Room>>,
    grids: AtomicU64,
    /// Threads that a grid may use.
    workers: AtomicUsize,
    worthwhile: AtomicU64,
}

/// What a multiprocessor has left.
#[derive(Debug, Clone, Copy)]
struct Room {
    /// In parts of the whole, so that grids of different kernels share a multiprocessor: a block takes the
    /// share that its tightest limit makes it take.
    free: i64,
}

/// The parts that a multiprocessor is divided into; divisible by every small number of blocks.
const WHOLE: i64 = 5_354_228_880;
/// Instructions of warps that another thread is worth starting for.
const WORTHWHILE: u64 = 200_000;

impl Device {
    /// A card of a model, with this much memory.
    pub fn new(model: Model, memory_bytes: u64) -> Arc<Device> {
        Device::with_memory(model, Memory::new(memory_bytes, false))
    }

    /// [`Device::new`], and of allocations that are marked it is known which bytes were written.
    pub fn watched(model: Model, memory_bytes: u64) -> Arc<Device> {
        Device::with_memory(model, Memory::new(memory_bytes, true))
    }

    fn with_memory(model: Model, memory: Memory) -> Arc<Device> {
        let room = vec![Room { free: WHOLE }; model.multiprocessors as usize];
        Arc::new(Device {
            model,
            memory,
            room: Mutex::new(room),
            grids: AtomicU64::new(1),
            workers: AtomicUsize::new(std::thread::available_parallelism().map_or(1, usize::from)),
            worthwhile: AtomicU64::new(WORTHWHILE),
        })
    }

    /// The card's model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Threads that a grid may use; as many as this machine has processors, unless [`Device::set_workers`] was called.
    pub fn workers(&self) -> usize {
        self.workers.load(Ordering::Relaxed)
    }

    /// Lets grids that are launched from now on use so many threads. What they do does not depend on it.
    pub fn set_workers(&self, workers: usize) {
        self.workers.store(workers, Ordering::Relaxed);
    }

    /// Instructions of warps that another thread is started for.
    pub(crate) fn worthwhile(&self) -> u64 {
        self.worthwhile.load(Ordering::Relaxed)
    }

    /// Lets grids start another thread for so few instructions of warps, as tests of small launches want it.
    pub fn set_worthwhile(&self, instructions: u64) {
        self.worthwhile.store(instructions, Ordering::Relaxed);
    }

    /// Global memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Places a module's variables in memory.
    ///
    /// # Errors
    /// When memory is short or an image does not fit its variable.
    pub fn load(
        self: &Arc<Device>,
        program: Arc<dyn Program + Send + Sync>,
        images: &[VariableImage],
    ) -> Result<Arc<Module>, LoadError> {
        Module::load(self, program, images, &[]).map(Arc::new)
    }

    /// [`Device::load`] with some variables at addresses that the caller chose, such as host memory that was
    /// mapped: the variable's index and the address. Their memory stays the caller's.
    ///
    /// # Errors
    /// When memory is short or an image does not fit its variable.
    pub fn load_placed(
        self: &Arc<Device>,
        program: Arc<dyn Program + Send + Sync>,
        images: &[VariableImage],
        placed: &[(u32, u64)],
    ) -> Result<Arc<Module>, LoadError> {
        Module::load(self, program, images, placed).map(Arc::new)
    }

    /// Makes a grid, of which nothing has run yet.
    ///
    /// # Errors
    /// When the shape or the resources are beyond the card, or the code cannot be executed.
    pub fn launch(
        self: &Arc<Device>,
        module: &Arc<Module>,
        request: LaunchRequest,
    ) -> Result<Grid, LaunchError> {
        Grid::new(self, module, request)
    }

    /// A number for a grid.
    pub(crate) fn number_grid(&self) -> u64 {
        self.grids.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes room for `blocks` blocks at once, each a `per`-th of a multiprocessor; gives the multiprocessor
    /// of each. All or none. `first` is the one to begin with among those that are equally empty.
    pub(crate) fn take_room(&self, blocks: usize, per: u64, first: usize) -> Option<Vec<u32>> {
        let share = share(per);
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = Vec::with_capacity(blocks);
        for _ in 0..blocks {
            let best = emptiest(&room, first + taken.len());
            match room.get_mut(best) {
                Some(place) if place.free >= share => {
                    place.free -= share;
                    taken.push(best as u32);
                }
                _ => {
                    for index in taken {
                        if let Some(room) = room.get_mut(index as usize) {
                            room.free += share;
                        }
                    }
                    return None;
                }
            }
        }
        Some(taken)
    }

    /// Takes room that is not there.
    pub(crate) fn take_beyond(&self, multiprocessor: u32, per: u64) {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = room.get_mut(multiprocessor as usize) {
            room.free -= share(per);
        }
    }

    /// Gives back the room of one block.
    pub(crate) fn give_room(&self, multiprocessor: u32, per: u64) {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = room.get_mut(multiprocessor as usize) {
            room.free += share(per);
        }
    }
}

/// The emptiest multiprocessor, as hardware spreads blocks; of equal ones the next from `first` on.
fn emptiest(room: &[Room], first: usize) -> usize {
    let start = first % room.len().max(1);
    let mut best = (i64::MIN, start);
    for index in (start..room.len()).chain(0..start) {
        let free = room.get(index).map_or(i64::MIN, |room| room.free);
        if free > best.0 {
            best = (free, index);
        }
        if free == WHOLE {
            break;
        }
    }
    best.1
}

/// What one of `per` blocks takes of a multiprocessor.
fn share(per: u64) -> i64 {
    WHOLE / i64::try_from(per).unwrap_or(i64::MAX).max(1)
}

/// Whether a variable of this space is placed in global memory.
pub(crate) fn is_placed(space: Space) -> bool {
    matches!(space, Space::Global | Space::Const | Space::Generic)
}
