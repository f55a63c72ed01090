//! Epochs: nodes are used anew two epochs after they were unlinked (Fraser, «Practical Lock-Freedom», 2004).

use standstill_kernel::{Buffer, Device, kernels};

use crate::Error;
use crate::treiber::stack;

/// Helpers that keep nodes of a pool from being used anew while a reader may still look at them, at the price of one announcement
/// for any number of reads. They build on [`stack`](mod@stack): bring in both.
///
/// `epochs[0]` is the epoch; the others are places in which who is *inside* announces the epoch that it entered in. A place is taken
/// when entering and given back when leaving, so that there need to be as many as are inside at a time: the blocks that are resident at
/// once, where one cell enters for its block. `heads[0]` is a stack of free nodes, `heads[1 + e mod 4]` holds what was unlinked in epoch `e`.
///
/// **Progress.** Entering and leaving are lock-free. No node is used anew while somebody stays inside: then `epoch_take` gives `NIL`
/// in the end. It never waits.
///
/// **Why two.** The epoch goes on from `e` only when all that are inside have announced `e`. So while somebody that entered in `g` is
/// inside, the epoch is `g` or `g + 1`. What was unlinked in epoch `e` can be held only by who entered in `e` or before; once the epoch is `e +
/// 2`, none of these is inside. Who takes in epoch `g` takes what was unlinked in `g − 2`, while all that unlink use `g − 1`, `g` or `g + 1`: four
/// stacks keep them apart.
///
/// **Memory order.** Announcing is a store and a look at the epoch behind it, then the reads of links; unlinking is a change of a link and a look
/// at the epoch behind it. Sequential consistency in between on both sides lets who unlinks see an epoch that is no older than that of
/// anybody who can still find the node. Leaving releases; going on acquires.
///
/// **Capacity.** `epoch_enter` gives `NIL` when every place is taken, `epoch_take` when no node can be used yet: leave, and try again.
#[kernels(with(stack), export)]
pub mod epoch {
    /// A place that nobody has taken.
    pub const FREE_PLACE: u32 = 0xffff_ffff;

    /// Enters: from now on no node that can be found is used anew. Gives the place; `NIL` when there is none.
    #[device]
    fn epoch_enter(space: Space, epochs: &[Atomic<u32>]) -> u32 {
        let places = epochs.len() as u32 - 1;
        for turn in 0..places {
            let place = 1 + (space.tile_x + turn) % places;
            let mut now = epochs[0].load(Acquire);
            if epochs[place].compare_exchange(FREE_PLACE, now, SeqCst).is_ok() {
                loop {
                    space.fence(SeqCst, Device);
                    let newest = epochs[0].load(Acquire);
                    if newest == now {
                        break;
                    }
                    now = newest;
                    epochs[place].store(now, SeqCst);
                }
                space.fence(SeqCst, Device);
                return place;
            }
        }
        NIL
    }

    /// Leaves: nodes that were found are not looked at any more.
    #[device]
    fn epoch_leave(epochs: &[Atomic<u32>], place: u32) {
        epochs[place].store(FREE_PLACE, Release);
    }

    /// A node that was unlinked, by the cell that unlinked it, inside.
    #[device]
    fn epoch_retire(epochs: &[Atomic<u32>], heads: &[Atomic<u64>], next: &[Atomic<u32>], node: u32) {
        let now = epochs[0].load(SeqCst);
        node_push(&heads[1 + now % 4], next, node);
    }

    /// A node to use anew, inside: a free one, else one unlinked two epochs ago. `NIL` when there is none; then the epoch goes on if it
    /// can.
    #[device]
    fn epoch_take(
        space: Space,
        epochs: &[Atomic<u32>],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        place: u32,
    ) -> u32 {
        let node = node_pop(&heads[0], next);
        if node != NIL {
            return node;
        }
        let mine = epochs[place].load(Relaxed);
        let old = node_pop(&heads[1 + (mine + 2) % 4], next);
        if old == NIL {
            epoch_go_on(space, epochs);
        }
        old
    }

    /// Lets the epoch go on, if all that are inside have entered in it.
    #[device]
    fn epoch_go_on(space: Space, epochs: &[Atomic<u32>]) {
        let now = epochs[0].load(Acquire);
        space.fence(SeqCst, Device);
        for place in 1..epochs.len() as u32 {
            let announced = epochs[place].load(Acquire);
            if announced != FREE_PLACE && announced != now {
                return;
            }
        }
        let _went = epochs[0].compare_exchange(now, (now + 1) & 0x7fff_ffff, AcqRel).is_ok();
    }
}

/// The memory of a pool of nodes with epochs; see [`epoch`](mod@epoch).
#[derive(Debug)]
pub struct Epochs {
    /// The epoch, and the places.
    pub epochs: Buffer<u32>,
    /// The heads of the free nodes, and of those unlinked in each of four epochs.
    pub heads: Buffer<u64>,
    /// The node below each on its stack.
    pub next: Buffer<u32>,
}

impl Epochs {
    /// A pool of so many nodes, of which those from `first_free` on are free, for so many that are inside at a time.
    ///
    /// # Errors
    /// For more than 2³¹ − 1 nodes, without a place, and when the device's memory is full.
    pub fn new(device: &Device, nodes: usize, first_free: usize, places: usize) -> Result<Epochs, Error> {
        let most = (1 << 31) - 1;
        if nodes > most {
            return Err(Error::Capacity { structure: "pool", wanted: nodes, most });
        }
        if places == 0 {
            return Err(Error::NotWhole { structure: "pool", what: "it has no place to enter".to_owned() });
        }
        let first = if first_free < nodes { first_free as u32 } else { stack::NIL };
        let below = (1..=nodes as u32).map(|node| if node == nodes as u32 { stack::NIL } else { node });
        let mut epochs = vec![epoch::FREE_PLACE; places + 1];
        if let Some(now) = epochs.first_mut() {
            *now = 0;
        }
        let mut heads = vec![stack::EMPTY; 5];
        if let Some(free) = heads.first_mut() {
            *free = u64::from(first);
        }
        Ok(Epochs {
            epochs: device.buffer(&epochs)?,
            heads: device.buffer(&heads)?,
            next: device.buffer(&below.collect::<Vec<_>>())?,
        })
    }

    /// The nodes that are free or wait.
    ///
    /// # Errors
    /// When a node comes twice.
    pub fn unused(&self) -> Result<Vec<u32>, Error> {
        crate::protected::on_stacks(&self.heads.read()?, &self.next.read()?)
    }
}
