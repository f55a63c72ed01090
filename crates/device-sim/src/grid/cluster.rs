//! Clusters: blocks that start together and meet at a barrier (PTX ISA, «barrier.cluster»).

use standstill_kernel_ir::Op;

use super::Grid;
use crate::exec::warp::State;

/// A cluster with resident blocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cluster {
    /// Linear index among the clusters of the grid.
    pub(crate) index: u32,
    /// Slots of its blocks.
    pub(crate) slots: Vec<usize>,
    /// Blocks that have not ended.
    pub(crate) blocks: u32,
    /// Threads that have arrived in this phase.
    pub(crate) arrived: u32,
    pub(crate) phase: u64,
}

impl Grid {
    /// Deals with a group at an operation that concerns more than its block.
    pub(super) fn meet(&mut self, slot: usize, warp: usize, group: usize) {
        let kernel = std::sync::Arc::clone(&self.shared.kernel);
        let Some(block) = self.slots.get_mut(slot).and_then(Option::as_mut) else { return };
        let cluster = self.clusters.iter_mut().find(|cluster| cluster.index == block.place.cluster);
        let Some(at) = block.warps.get(warp).and_then(|warp| warp.flow.groups.get(group)) else { return };
        let operation = block.operation(&kernel, warp, at.frame, at.pc).map(|whole| whole.op);
        let Some(member) = block.warps.get_mut(warp) else { return };
        // Who meets other blocks does not wait by itself.
        member.spy.effect = true;
        let phase = member.cluster_phase;
        let Some(at) = member.flow.groups.get_mut(group) else { return };
        let mut pass = true;
        let mask = at.mask;
        if let (Some(race), Some(Op::ClusterBarrier { arrive, .. })) = (&mut self.shared.race, operation) {
            match arrive {
                true => race.cluster_arrived(block.place.cluster, block.place.index, warp as u32, mask),
                // Who has to wait learns it when the barrier opens.
                false => race.cluster_passed(block.place.cluster, block.place.index, warp as u32, mask),
            }
        }
        match (operation, cluster) {
            (Some(Op::ClusterBarrier { arrive: true, .. }), Some(cluster)) => {
                cluster.arrived += at.mask.count_ones();
                member.cluster_phase = cluster.phase;
            }
            (Some(Op::ClusterBarrier { arrive: false, .. }), Some(cluster)) if cluster.phase <= phase => {
                at.state = State::AtCluster;
                pass = false;
            }
            _ => {}
        }
        if pass && let Some(at) = member.flow.groups.get_mut(group) {
            at.state = State::Ready;
            at.pc += 1;
        }
    }

    /// Opens the barrier of a cluster when all its live threads have arrived; gives the slots of its blocks then.
    pub(super) fn settle_cluster(&mut self, index: u32) -> Vec<usize> {
        let Some(cluster) = self.clusters.iter_mut().find(|cluster| cluster.index == index) else {
            return Vec::new();
        };
        let members = || cluster.slots.iter().copied();
        let of_cluster = |slots: &[Option<Box<super::block::Block>>], slot: usize| {
            slots
                .get(slot)
                .and_then(Option::as_ref)
                .filter(|block| block.place.cluster == index)
                .map_or(0, |block| block.live())
        };
        let live: u32 = members().map(|slot| of_cluster(&self.slots, slot)).sum();
        if cluster.arrived == 0 || cluster.arrived < live {
            return Vec::new();
        }
        cluster.arrived = 0;
        cluster.phase += 1;
        let slots = cluster.slots.clone();
        if let Some(race) = &mut self.shared.race {
            race.cluster_opened(index);
        }
        for &slot in &slots {
            let Some(block) = self.slots.get_mut(slot).and_then(Option::as_mut) else { continue };
            if block.place.cluster != index {
                continue;
            }
            let groups = block.warps.iter_mut().zip(0..);
            for (group, warp) in
                groups.flat_map(|(warp, index)| warp.flow.groups.iter_mut().map(move |group| (group, index)))
            {
                if matches!(group.state, State::AtCluster) {
                    if let Some(race) = &mut self.shared.race {
                        race.cluster_passed(index, block.place.index, warp, group.mask);
                    }
                    group.state = State::Ready;
                    group.pc += 1;
                }
            }
        }
        slots
    }
}
