//! Progress, by two dumps of the same program some time apart.
//!
//! Work has gone on when a grid or a block began or ended in between, or when a thread that was neither waiting nor
//! spinning has other values in its registers. Threads that wait at barriers or spin on memory have other values
//! too, and go nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use standstill_gpu_core::{Doing, Dump, GridState, Source, positions, read};
use standstill_supervisor::Judgement;

/// A GPU at one moment.
struct Look {
    /// By device and grid: its blocks.
    blocks: BTreeMap<(usize, u64), BTreeSet<u64>>,
    /// Values of the threads that were neither waiting nor spinning, by device, grid, block and thread.
    working: BTreeMap<(usize, u64, u64, u32), u64>,
}

/// Compares two dumps of one process.
pub(super) fn compare(before: &Path, after: &Path) -> Judgement {
    match (look(before), look(after)) {
        (Ok(before), Ok(after)) => judge(&before, &after),
        (Err(reason), _) | (_, Err(reason)) => Judgement::Unknown(reason),
    }
}

fn judge(before: &Look, after: &Look) -> Judgement {
    if after.blocks.is_empty() || before.blocks != after.blocks {
        return Judgement::Progress;
    }
    let moved = after.working.iter().any(|(thread, values)| before.working.get(thread) != Some(values));
    if moved {
        return Judgement::Progress;
    }
    let blocks: usize = after.blocks.values().map(BTreeSet::len).sum();
    let noun = if blocks == 1 { "block" } else { "blocks" };
    Judgement::Standstill(format!(
        "judged by two dumps: the same {blocks} {noun} on the card, and no thread that does anything but wait"
    ))
}

fn look(path: &Path) -> Result<Look, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let source: &dyn Source = &OnDisk(file);
    let mut dump = read(source).map_err(|error| error.to_string())?;
    let states = positions(source, &mut dump);
    let mut result = Look { blocks: BTreeMap::new(), working: BTreeMap::new() };
    for state in &states {
        let key = (state.device, state.grid.id);
        result.blocks.insert(key, state.blocks.keys().copied().collect());
        values(source, &dump, state, &mut result);
    }
    Ok(result)
}

/// Adds the register values of the threads that work.
fn values(source: &dyn Source, dump: &Dump, state: &GridState, look: &mut Look) {
    let works = |doing: &Doing| matches!(doing, Doing::Work | Doing::Loop { .. });
    let mut working: BTreeSet<(u64, u32)> = BTreeSet::new();
    for group in state.groups.iter().filter(|group| works(&group.doing)) {
        for (block, threads) in &group.threads {
            working.extend(threads.iter().map(|thread| (*block, *thread)));
        }
    }
    if working.is_empty() {
        return;
    }
    let [width, height, _] = state.grid.grid_dim.map(u64::from);
    let [across, down, _] = state.grid.block_dim;
    let Some(device) = dump.devices.get(state.device) else { return };
    for block in device.blocks.iter().filter(|block| block.grid == state.grid.id) {
        let [x, y, z] = block.index.map(u64::from);
        let number = x + width * (y + height * z);
        for lane in block.warps.iter().flat_map(|warp| &warp.lanes) {
            let [x, y, z] = lane.thread;
            let thread = x + across * (y + down * z);
            if !working.contains(&(number, thread)) {
                continue;
            }
            let registers = lane
                .registers
                .and_then(|extent| source.read(extent.offset, usize::try_from(extent.size).ok()?).ok());
            let hash = registers.as_deref().unwrap_or_default().iter().fold(lane.pc, mixed);
            look.working.insert((state.device, state.grid.id, number, thread), hash);
        }
    }
}

/// FNV-1a.
fn mixed(hash: u64, byte: &u8) -> u64 {
    (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
}

/// A dump on disk, read in parts.
struct OnDisk(File);

impl Source for OnDisk {
    fn size(&self) -> u64 {
        self.0.metadata().map_or(0, |metadata| metadata.len())
    }

    fn read(&self, offset: u64, length: usize) -> std::io::Result<std::borrow::Cow<'_, [u8]>> {
        use std::os::unix::fs::FileExt;
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, offset)?;
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(blocks: &[u64], values: &[(u64, u64)]) -> Look {
        Look {
            blocks: [((0, 7), blocks.iter().copied().collect())].into(),
            working: values.iter().map(|(thread, value)| ((0, 7, 0, *thread as u32), *value)).collect(),
        }
    }

    #[test]
    fn what_counts_as_progress() {
        let still = |before: &Look, after: &Look| matches!(judge(before, after), Judgement::Standstill(_));
        assert!(still(&at(&[0, 1], &[]), &at(&[0, 1], &[])));
        assert!(still(&at(&[0], &[(3, 9)]), &at(&[0], &[(3, 9)])));
        assert!(!still(&at(&[0], &[(3, 9)]), &at(&[0], &[(3, 10)])));
        assert!(!still(&at(&[0], &[]), &at(&[0], &[(3, 10)])), "it has begun to work");
        assert!(!still(&at(&[0, 1], &[]), &at(&[1, 2], &[])));
        let idle = Look { blocks: BTreeMap::new(), working: BTreeMap::new() };
        assert!(!still(&idle, &idle));
    }
}
