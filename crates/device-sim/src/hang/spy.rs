//! What a suspected spin reads and changes, recorded for one turn of its loop.

use std::sync::Arc;

use crate::decode::code::LANES;
use crate::exec::access::{Target, load};
use crate::memory::region::Region;

/// More different places than this are no spin.
const MOST_READS: usize = 4096;

/// A place that was read, and what stood there.
#[derive(Debug, Clone)]
pub(crate) struct Read {
    pub(crate) region: Arc<Region>,
    pub(crate) offset: usize,
    pub(crate) bytes: u32,
    pub(crate) value: u64,
    /// The generic address.
    pub(crate) address: u64,
    /// The reading operation: function and position.
    pub(crate) at: (u32, u32),
}

impl Read {
    /// Whether something else stands there now.
    pub(crate) fn changed(&self) -> bool {
        load(&self.region, self.offset, self.bytes) != Some(self.value)
    }
}

/// The recorder.
#[derive(Debug, Default)]
pub(crate) struct Spy {
    /// Accesses go the careful way and are written down.
    pub(crate) recording: bool,
    pub(crate) reads: Vec<Read>,
    /// Memory was changed.
    pub(crate) effect: bool,
    /// Other warps were met at a barrier.
    pub(crate) met: bool,
    /// A clock was read, or time was waited for.
    pub(crate) timed: bool,
    /// Barriers of the block that opened while accesses were written down.
    pub(crate) epoch: u32,
    /// What each lane has read, as one number; kept only where it is asked for.
    pub(crate) lanes: Option<Box<[u64; LANES]>>,
    /// The operation that runs: function and position.
    pub(crate) at: (u32, u32),
}

/// Mixes a value into a number that stands for all values so far.
pub(crate) fn mix(so_far: u64, value: u64) -> u64 {
    let mixed = (so_far.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

impl Spy {
    /// Starts anew.
    pub(crate) fn start(&mut self) {
        self.recording = true;
        self.reads.clear();
        (self.effect, self.met, self.timed) = (false, false, false);
    }

    /// As it is before anything has run.
    pub(crate) fn renew(&mut self) {
        self.start();
        self.recording = false;
        self.lanes = None;
        self.at = (0, 0);
    }

    /// Stops.
    pub(crate) fn stop(&mut self) {
        self.recording = false;
    }

    /// Writes down a read. Local memory and parameters belong to the thread, which changes them only by
    /// effects that are seen elsewhere.
    pub(crate) fn read(&mut self, target: &Target, lane: usize, address: u64, bytes: u32, value: u64) {
        if let Some(of_lane) = self.lanes.as_mut().and_then(|lanes| lanes.get_mut(lane)) {
            *of_lane = mix(*of_lane, value);
        }
        let Target::Region(region, offset) = target else { return };
        if self.reads.iter().any(|read| read.address == address && read.bytes == bytes && read.value == value)
        {
            return;
        }
        if self.reads.len() >= MOST_READS {
            self.effect = true;
            return;
        }
        self.reads.push(Read {
            region: Arc::clone(region),
            offset: *offset,
            bytes,
            value,
            address,
            at: self.at,
        });
    }
}
