//! A sorted list of a pool's nodes (Michael, «High Performance Dynamic Lock-Free Hash Tables and List-Based Sets», 2002, after Harris).

use standstill_kernel::{Buffer, Device, kernels};

use crate::treiber::stack;
use crate::{Error, HazardArray};

/// Helpers for a sorted set of keys of 32 bits. They build on [`stack`](mod@stack) and [`hazard`](mod@hazard): bring in all three.
///
/// Node 0 stands before the first. `links[node]` is the node behind in its upper 31 bits, and in the lowest one whether `node` itself is
/// removed. A node is removed in two steps: the *mark* decides, and keeps anybody from linking behind it; then one cell *unlinks* it and
/// lets it wait until no reader holds it. Each cell has two hazard entries, `2·mine` and `2·mine + 1`: its place and the one before.
///
/// **Progress.** Lock-free: a search begins again only because a link has changed under it, which is a step of an operation that ends or
/// of an unlinking that is done once per removal.
///
/// **Memory order.** A link that leads to a node is set with release and read with acquire, so that whoever comes to a node sees its key.
/// A node's key is plain: it is written only by whoever took it from the pool, which is ordered behind all its readers
/// ([`hazard`](mod@hazard)). That a link still leads to the node after the entry was written shows that the one before was not removed
/// then, so that the node had not been unlinked, and waits from then on.
///
/// **Coming back.** A compare-and-swap on a link compares nodes that the cell's own entries hold: they are not used anew meanwhile, so that
/// what is equal is the same. The end of the list is no node.
///
/// **Capacity.** `list_insert` gives `FULL` when the pool has no node.
#[kernels(with(stack, hazard), export)]
pub mod list {
    /// The end of the list, in the place of a node.
    pub const END: u32 = 0x7fff_ffff;
    /// The key was there already.
    pub const THERE: u32 = 0;
    /// The key is in.
    pub const INSERTED: u32 = 1;
    /// The pool has no node.
    pub const FULL: u32 = 2;

    /// Finds the first node whose key is not less, and the one before it. Whether its key is equal. Unlinks what is marked on the way.
    #[device]
    fn list_find(
        links: &[Atomic<u32>],
        keys: &[u32],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        hazards: &[Atomic<u32>],
        mine: u32,
        key: u32,
        before: &mut u32,
        found: &mut u32,
    ) -> bool {
        'again: loop {
            *before = 0;
            let mut entry = 2 * mine;
            let mut link = links[0].load(Acquire);
            loop {
                let node = link >> 1;
                *found = node;
                if node == END {
                    return false;
                }
                hazards[entry].store(node, SeqCst);
                if links[*before].load(SeqCst) != link {
                    continue 'again;
                }
                let behind = links[node].load(Acquire);
                if behind & 1 == 1 {
                    if links[*before].compare_exchange(link, behind - 1, AcqRel).is_err() {
                        continue 'again;
                    }
                    hazard_retire(heads, next, node);
                    link = behind - 1;
                } else {
                    let here = keys[node];
                    if here >= key {
                        return here == key;
                    }
                    *before = node;
                    entry = entry ^ 1;
                    link = behind;
                }
            }
        }
    }

    /// Puts a key in: `INSERTED`, `THERE`, or `FULL`.
    #[device]
    fn list_insert(
        links: &[Atomic<u32>],
        keys: &mut [u32],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        hazards: &[Atomic<u32>],
        mine: u32,
        key: u32,
    ) -> u32 {
        let node = hazard_take(heads, next, hazards);
        if node == NIL {
            return FULL;
        }
        keys[node] = key;
        let mut before = 0;
        let mut found = 0;
        let mut result = INSERTED;
        loop {
            if list_find(links, keys, heads, next, hazards, mine, key, &mut before, &mut found) {
                hazard_give_back(heads, next, node);
                result = THERE;
                break;
            }
            links[node].store(found << 1, Relaxed);
            if links[before].compare_exchange(found << 1, node << 1, Release).is_ok() {
                break;
            }
        }
        list_leave(hazards, mine);
        result
    }

    /// Takes a key out; whether it was there.
    #[device]
    fn list_remove(
        links: &[Atomic<u32>],
        keys: &[u32],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        hazards: &[Atomic<u32>],
        mine: u32,
        key: u32,
    ) -> bool {
        let mut before = 0;
        let mut found = 0;
        let mut removed = false;
        while !removed && list_find(links, keys, heads, next, hazards, mine, key, &mut before, &mut found) {
            let behind = links[found].load(Acquire);
            if behind & 1 == 0 && links[found].compare_exchange(behind, behind | 1, AcqRel).is_ok() {
                removed = true;
                if links[before].compare_exchange(found << 1, behind, AcqRel).is_ok() {
                    hazard_retire(heads, next, found);
                } else {
                    // Who comes by unlinks it: the search does.
                    list_find(links, keys, heads, next, hazards, mine, key, &mut before, &mut found);
                }
            }
        }
        list_leave(hazards, mine);
        removed
    }

    /// Whether a key is in.
    #[device]
    fn list_contains(
        links: &[Atomic<u32>],
        keys: &[u32],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        hazards: &[Atomic<u32>],
        mine: u32,
        key: u32,
    ) -> bool {
        let mut before = 0;
        let mut found = 0;
        let there = list_find(links, keys, heads, next, hazards, mine, key, &mut before, &mut found);
        list_leave(hazards, mine);
        there
    }

    /// Goes on to the least key that is not less than `key`, and puts it there; `false` at the end. Keys that come and go
    /// meanwhile may be met or not; all others are met, in their order.
    #[device]
    fn list_from(
        links: &[Atomic<u32>],
        keys: &[u32],
        heads: &[Atomic<u64>],
        next: &[Atomic<u32>],
        hazards: &[Atomic<u32>],
        mine: u32,
        key: &mut u32,
    ) -> bool {
        let mut before = 0;
        let mut found = 0;
        list_find(links, keys, heads, next, hazards, mine, *key, &mut before, &mut found);
        if found != END {
            *key = keys[found];
        }
        list_leave(hazards, mine);
        found != END
    }

    /// Clears the cell's two entries.
    #[device]
    fn list_leave(hazards: &[Atomic<u32>], mine: u32) {
        hazard_clear(hazards, 2 * mine);
        hazard_clear(hazards, 2 * mine + 1);
    }
}

/// The memory of a sorted list; see [`list`](mod@list).
#[derive(Debug)]
pub struct SortedList {
    /// The node behind each, and whether it is removed.
    pub links: Buffer<u32>,
    /// The key of each node.
    pub keys: Buffer<u32>,
    /// The pool.
    pub pool: HazardArray,
}

impl SortedList {
    /// A list of these keys, which are sorted and different, with room for `capacity` keys, for launches of so many cells.
    ///
    /// # Errors
    /// For more than 2³¹ − 2 keys, more keys than there is room for or not in order, and when the device's memory is full.
    pub fn new(device: &Device, keys: &[u32], capacity: usize, cells: usize) -> Result<SortedList, Error> {
        let most = list::END as usize - 1;
        if capacity > most || keys.len() > capacity {
            let (wanted, most) = (capacity.max(keys.len()), most.min(capacity));
            return Err(Error::Capacity { structure: "list", wanted, most });
        }
        if keys.iter().zip(keys.iter().skip(1)).any(|(a, b)| a >= b) {
            return Err(not_whole("its keys must be sorted and different".to_owned()));
        }
        let nodes = capacity + 1;
        let mut links = vec![list::END << 1; nodes];
        for (link, behind) in links.iter_mut().zip(1..=keys.len() as u32) {
            *link = behind << 1;
        }
        let mut all = vec![0; nodes];
        for (place, key) in all.iter_mut().skip(1).zip(keys) {
            *place = *key;
        }
        Ok(SortedList {
            links: device.buffer(&links)?,
            keys: device.buffer(&all)?,
            pool: HazardArray::new(device, nodes, keys.len() + 1, 2 * cells.max(1))?,
        })
    }

    /// The keys in the order of the list, without those of marked nodes.
    ///
    /// # Errors
    /// When the keys are not in order, or a node is lost or comes twice.
    pub fn contents(&self) -> Result<Vec<u32>, Error> {
        let (links, keys) = (self.links.read()?, self.keys.read()?);
        let mut used = vec![false; links.len()];
        for node in self.pool.unused()? {
            if let Some(used) = used.get_mut(node as usize) {
                *used = true;
            }
        }
        let (mut order, mut node) = (Vec::new(), 0);
        while node != list::END as usize {
            match used.get_mut(node) {
                Some(used) if !*used => *used = true,
                _ => return Err(not_whole(format!("node {node} comes twice, or is none"))),
            }
            let link = links.get(node).copied().unwrap_or(stack::NIL);
            if node != 0 && link & 1 == 0 {
                order.push(keys.get(node).copied().unwrap_or_default());
            }
            node = (link >> 1) as usize;
        }
        if order.iter().zip(order.iter().skip(1)).any(|(a, b)| a >= b) {
            return Err(not_whole(format!("{order:?} is not in order")));
        }
        match used.iter().position(|used| !used) {
            Some(node) => Err(not_whole(format!("node {node} is lost"))),
            None => Ok(order),
        }
    }
}

fn not_whole(what: String) -> Error {
    Error::NotWhole { structure: "list", what }
}
