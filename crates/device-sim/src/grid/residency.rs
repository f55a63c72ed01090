//! Residency: blocks start when there is room, and leave it when they end.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Grid;
use super::block::{Barrier, Block, BlockMemory, BlockPlace};
use super::cluster::Cluster;
use super::shared::BlockShared;
use crate::exec::warp::Warp;
use crate::launch::Schedule;
use crate::memory::region::Region;

impl Grid {
    /// Starts so many clusters, as long as there is room for a whole one; true when one was started.
    pub(super) fn start_blocks(&mut self, most: u64) -> bool {
        let mut started = false;
        let mut left = most;
        while self.next_block < self.stop && left > 0 {
            left -= 1;
            let count = self.cluster_blocks as usize;
            let device = Arc::clone(&self.shared.device);
            let first = self.next_block as usize;
            let Some(places) = device.take_room(count, self.per_multiprocessor, first) else {
                self.full = true;
                break;
            };
            if !self.start_cluster(&places) {
                for place in places {
                    device.give_room(place, self.per_multiprocessor);
                }
                break;
            }
            started = true;
        }
        started
    }

    /// The coordinates of the next cluster's blocks, in the order of their ranks.
    fn cluster_members(&self) -> Vec<[u32; 3]> {
        let [cx, cy, cz] = self.shared.cluster;
        let clusters = [self.shared.shape[0] / cx, self.shared.shape[1] / cy];
        let index = (self.next_block / u64::from(self.cluster_blocks)) as u32;
        let [x, y, z] =
            [index % clusters[0], index / clusters[0] % clusters[1], index / clusters[0] / clusters[1]];
        let mut members = Vec::new();
        for dz in 0..cz {
            for dy in 0..cy {
                for dx in 0..cx {
                    members.push([x * cx + dx, y * cy + dy, z * cz + dz]);
                }
            }
        }
        members
    }

    /// Starts the blocks of a cluster on these multiprocessors; false when the host has no memory for them.
    fn start_cluster(&mut self, multiprocessors: &[u32]) -> bool {
        let cluster = (self.next_block / u64::from(self.cluster_blocks)) as u32;
        let place = |coordinates: [u32; 3], multiprocessor, rank| {
            let [gx, gy, _] = self.shared.shape;
            let index = coordinates[0] + gx * (coordinates[1] + gy * coordinates[2]);
            BlockPlace { index, coordinates, multiprocessor, cluster, rank }
        };
        let members = self.cluster_members();
        let places = multiprocessors.iter().zip(members).zip(0u32..);
        let places: SmallVec<[BlockPlace; 1]> = places
            .map(|((&multiprocessor, coordinates), rank)| place(coordinates, multiprocessor, rank))
            .collect();
        let mut slots = SmallVec::<[usize; 1]>::new();
        if let (Some(mut block), &[place]) = (self.idle.pop(), places.as_slice()) {
            block.renew(place, self.shared.threads, self.shared.kernel.clears);
            slots.push(self.seat(block));
        } else {
            let Some(blocks) = self.fresh_blocks(&places) else { return false };
            for block in blocks {
                slots.push(self.seat(Box::new(block)));
            }
        }
        self.next_block += u64::from(self.cluster_blocks);
        if self.cluster_blocks > 1 || self.shared.explicit_cluster {
            let blocks = slots.len() as u32;
            self.clusters.push(Cluster {
                index: cluster,
                slots: slots.to_vec(),
                blocks,
                arrived: 0,
                phase: 1,
            });
        }
        true
    }

    /// Shared memory for a block; `None` when the host has none.
    fn shared_memory(&self, bytes: usize) -> Option<Region> {
        let region = Region::owned(bytes)?;
        if self.shared.follow.is_some() { region.watched() } else { Some(region) }
    }

    /// New blocks of one cluster; `None` when the host has no memory for them.
    fn fresh_blocks(&self, places: &[BlockPlace]) -> Option<Vec<Block>> {
        let code = self.shared.kernel.code(self.shared.kernel.id)?;
        let bytes = self.shared.kernel.static_shared as usize + self.shared.dynamic_shared as usize;
        let regions: Option<Vec<Arc<Region>>> =
            places.iter().map(|_| self.shared_memory(bytes).map(Arc::new)).collect();
        let regions = regions?;
        let apart = matches!(self.schedule, Schedule::Chosen(_));
        let block = |(&place, region): (&BlockPlace, &Arc<Region>)| {
            let warps = place.warps(self.shared.threads);
            Block {
                place,
                warps: warps.map(|(place, lanes)| Warp::new(place, lanes, code, apart)).collect(),
                shared: BlockMemory(Arc::new(BlockShared {
                    shared: Arc::clone(region),
                    cluster: regions.iter().map(Arc::clone).collect(),
                })),
                barriers: [Barrier::default(); super::block::BARRIERS],
                reached: 0,
                live: self.shared.threads,
                watch: Default::default(),
                meetings: self.shared.race.is_some().then(Vec::new),
            }
        };
        Some(places.iter().zip(&regions).map(block).collect())
    }

    /// Gives a block a slot and queues its warps.
    fn seat(&mut self, mut block: Box<Block>) -> usize {
        if let Some(preempt) = &mut self.shared.preempt {
            for warp in &mut block.warps {
                let priority = preempt.fresh();
                warp.flow.groups.iter_mut().for_each(|group| group.priority = priority);
            }
        }
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        let warps = block.warps.len();
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(block);
        }
        for warp in 0..warps {
            self.queue(slot, warp);
        }
        slot
    }

    /// Takes away a block that has ended.
    pub(super) fn retire(&mut self, slot: usize) {
        let Some(block) = self.slots.get_mut(slot).and_then(Option::take) else { return };
        if let Some(race) = &mut self.shared.race {
            race.forget(block.place.index);
        }
        if let Some(follow) = &mut self.shared.follow {
            follow.forget(block.place.index);
        }
        self.work += block.warps.iter().map(|warp| warp.flow.work).sum::<u64>();
        self.ended += 1;
        self.vacant.push(slot);
        self.shared.device.give_room(block.place.multiprocessor, self.per_multiprocessor);
        if let Some(cluster) = self.clusters.iter_mut().find(|cluster| cluster.index == block.place.cluster) {
            cluster.blocks = cluster.blocks.saturating_sub(1);
            if cluster.blocks == 0 {
                self.clusters.retain(|cluster| cluster.index != block.place.cluster);
            }
        } else if block.is_alone() {
            self.idle.push(block);
        }
    }

    /// Starts the next blocks although there is no room for them; gives their slots.
    pub(crate) fn start_beyond_capacity(&mut self) -> Option<Vec<usize>> {
        let places = vec![0; self.cluster_blocks as usize];
        let before: Vec<bool> = self.slots.iter().map(Option::is_some).collect();
        if !self.start_cluster(&places) {
            return None;
        }
        // Their room is given back when the grid goes; nobody has taken it.
        for &place in &places {
            self.shared.device.take_beyond(place, self.per_multiprocessor);
        }
        let fresh = |slot: &usize| !before.get(*slot).copied().unwrap_or(false);
        Some((0..self.slots.len()).filter(fresh).collect())
    }
}
