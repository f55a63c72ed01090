//! What all blocks of a grid, or all warps of a block, have in common.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::decode::code::{Code, Kernel, Micro};
use crate::device::Device;
use crate::fault::Beside;
use crate::launch::DeviceSink;
use crate::memory::ahead::Pace;
use crate::memory::region::Region;
use crate::memory::{Allocation, Table};
use crate::module::Module;

/// Allocations that are remembered.
const CACHED: usize = 4;

/// What all blocks of a grid have in common.
pub(crate) struct GridShared {
    pub(crate) device: Arc<Device>,
    pub(crate) module: Arc<Module>,
    pub(crate) kernel: Arc<Kernel>,
    table: Arc<Table>,
    version: u64,
    /// What accesses last went to, the latest first.
    cache: [Option<Arc<Allocation>>; CACHED],
    pub(crate) parameters: Vec<u8>,
    /// Blocks in x, y, z.
    pub(crate) shape: [u32; 3],
    /// Threads of a block in x, y, z.
    pub(crate) block: [u32; 3],
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Blocks of a cluster in x, y, z.
    pub(crate) cluster: [u32; 3],
    pub(crate) explicit_cluster: bool,
    pub(crate) dynamic_shared: u32,
    pub(crate) number: u64,
    /// Address of the cooperative workspace, or 0.
    pub(crate) workspace: u64,
    /// Ticks of the card's clock.
    pub(crate) clock: u64,
    pub(crate) sink: Option<Box<dyn DeviceSink>>,
    /// Operations whose results were unknown: function and position.
    pub(crate) unknown: BTreeSet<(u32, u32)>,
    /// States of lanes in loops, by function and head, from which they never leave them.
    pub(crate) endless: FxHashMap<(u32, u32), FxHashSet<u64>>,
    /// Unknown results end the launch.
    pub(crate) strict: bool,
    /// What is known of races, when it is asked for.
    pub(crate) race: Option<Box<crate::race::Race>>,
    /// What is noted of accesses to global memory while blocks run ahead.
    pub(crate) pace: Option<Pace>,
    /// What threads access that may go round without end.
    pub(crate) ledger: Option<Box<crate::hang::livelock::ledger::Ledger>>,
    /// Where turns end within the code, when the schedule asks for it.
    pub(crate) preempt: Option<Box<crate::preempt::Preempt>>,
    /// The bytes that were touched, when they are asked for.
    pub(crate) reach: Option<Box<crate::reach::Reach>>,
    /// Values that nobody gave, once there may be some.
    pub(crate) follow: Option<Box<crate::follow::Follow>>,
}

#[inline(always)]
fn holds(place: &Option<Arc<Allocation>>, address: u64) -> bool {
    matches!(place, Some(last) if address.wrapping_sub(last.address) < last.bytes)
}

/// What makes a [`GridShared`].
pub(crate) struct GridParts {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) parameters: Vec<u8>,
    pub(crate) shape: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) cluster: [u32; 3],
    pub(crate) explicit_cluster: bool,
    pub(crate) dynamic_shared: u32,
    pub(crate) workspace: u64,
    pub(crate) sink: Option<Box<dyn DeviceSink>>,
    pub(crate) strict: bool,
    pub(crate) races: bool,
    pub(crate) stale: bool,
    pub(crate) preempt: Option<Box<crate::preempt::Preempt>>,
    pub(crate) reach: bool,
    pub(crate) in_order: bool,
    pub(crate) seed: u64,
}

impl GridShared {
    pub(crate) fn new(device: &Arc<Device>, module: &Arc<Module>, parts: GridParts) -> GridShared {
        let race = parts.races.then(|| {
            let (seed, in_order) = (parts.seed, parts.in_order);
            let shape = (parts.shape, parts.threads, parts.cluster);
            crate::race::Race::new(shape, seed, parts.stale, in_order)
        });
        GridShared {
            race: race.flatten(),
            preempt: parts.preempt,
            reach: parts.reach.then(|| Box::new(crate::reach::Reach::without(parts.workspace))),
            follow: parts.races.then(|| crate::follow::Follow::new(true)),
            device: Arc::clone(device),
            module: Arc::clone(module),
            kernel: parts.kernel,
            table: device.memory().table(),
            version: device.memory().version(),
            cache: Default::default(),
            parameters: parts.parameters,
            shape: parts.shape,
            block: parts.block,
            threads: parts.threads,
            cluster: parts.cluster,
            explicit_cluster: parts.explicit_cluster,
            dynamic_shared: parts.dynamic_shared,
            number: device.number_grid(),
            workspace: parts.workspace,
            clock: 0,
            sink: parts.sink,
            unknown: BTreeSet::new(),
            endless: FxHashMap::default(),
            strict: parts.strict,
            pace: None,
            ledger: None,
        }
    }

    /// The same for blocks that run ahead; `None` when none can.
    pub(crate) fn ahead(&self) -> Option<GridShared> {
        let race = match &self.race {
            Some(race) => Some(race.ahead()?),
            None => None,
        };
        let follow = match &self.follow {
            Some(follow) => Some(follow.ahead()?),
            None => None,
        };
        Some(GridShared {
            race,
            follow,
            device: Arc::clone(&self.device),
            module: Arc::clone(&self.module),
            kernel: Arc::clone(&self.kernel),
            table: Arc::clone(&self.table),
            version: self.version,
            cache: Default::default(),
            parameters: self.parameters.clone(),
            shape: self.shape,
            block: self.block,
            threads: self.threads,
            cluster: self.cluster,
            explicit_cluster: self.explicit_cluster,
            dynamic_shared: self.dynamic_shared,
            number: self.number,
            workspace: 0,
            clock: 0,
            sink: None,
            unknown: BTreeSet::new(),
            endless: FxHashMap::default(),
            strict: self.strict,
            ledger: None,
            preempt: None,
            reach: self.reach.as_ref().map(|_| Box::default()),
            pace: Some(Pace::Ahead(Box::default())),
        })
    }

    /// Whether blocks that run ahead did something that cannot be kept back.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(&self.pace, Some(Pace::Ahead(ahead)) if ahead.failed
            || self.race.as_ref().is_some_and(|race| race.has_failed())
            || self.follow.as_ref().is_some_and(|follow| follow.doubts))
    }

    /// Takes over what is known of blocks that have run ahead; false when that is of no use.
    pub(crate) fn join(&mut self, ahead: &GridShared) -> bool {
        let doubts = self.follow.as_ref().is_some_and(|follow| follow.doubts);
        let joined = match (&mut self.race, &ahead.race) {
            _ if doubts => false,
            (Some(race), Some(ahead)) => race.join(ahead),
            (race, ahead) => race.is_none() && ahead.is_none(),
        };
        if let (true, Some(reach), Some(ahead)) = (joined, &mut self.reach, &ahead.reach) {
            reach.join(ahead);
        }
        joined
    }

    /// Looks again at what is allocated.
    pub(crate) fn refresh(&mut self) {
        let version = self.device.memory().version();
        if version != self.version {
            self.table = self.device.memory().table();
            self.version = version;
            self.cache = Default::default();
        }
    }

    /// The allocation that holds an address, remembered for the next access.
    #[inline(always)]
    pub(crate) fn cached(&mut self, address: u64) -> Option<&Allocation> {
        if !holds(&self.cache[0], address) {
            self.bring_forward(address)?;
        }
        self.cache[0].as_deref()
    }

    #[inline(never)]
    fn bring_forward(&mut self, address: u64) -> Option<()> {
        match self.cache.iter().position(|place| holds(place, address)) {
            Some(position) => self.cache.swap(0, position),
            None => {
                let found = Arc::clone(self.table.find(address)?);
                self.cache.rotate_right(1);
                self.cache[0] = Some(found);
            }
        }
        Some(())
    }

    /// The allocation that holds an address.
    pub(crate) fn allocation(&self, address: u64) -> Option<Arc<Allocation>> {
        self.table.find(address).map(Arc::clone)
    }

    /// The allocation nearest to an address.
    pub(crate) fn nearest(&self, address: u64) -> Option<Beside> {
        let around = [self.table.below(address), self.table.above(address)];
        let beside = around.into_iter().flatten().map(|allocation| {
            let info = allocation.info();
            Beside { address: info.address, bytes: info.bytes, mark: info.mark, name: String::new() }
        });
        let mut nearest = beside.min_by_key(|beside| beside.distance(address))?;
        nearest.name = crate::hang::names::start(self, nearest.address).unwrap_or_default();
        Some(nearest)
    }

    /// Whether every operation is looked at before it is executed.
    pub(crate) fn is_watched(&self) -> bool {
        self.race.is_some() || self.preempt.is_some() || self.reach.is_some() || self.follow.is_some()
    }

    /// Notes that an operation gave results that are not known.
    pub(crate) fn unknown(&mut self, code: &Code, op: &Micro) {
        self.unknown.insert((code.function.id.0, code.position(op) as u32));
    }
}

/// What all warps of a block have in common.
pub(crate) struct BlockShared {
    pub(crate) shared: Arc<Region>,
    /// Shared memory of the blocks of the cluster, by rank.
    pub(crate) cluster: Vec<Arc<Region>>,
}
