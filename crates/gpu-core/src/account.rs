//! What of a dump was read and what was not, for a person who has only a part of one.

use crate::dump::Dump;

impl Dump {
    /// What was read, in a line: devices, modules, grids, blocks, threads.
    #[must_use]
    pub fn account(&self) -> String {
        let devices = || self.devices.iter();
        let blocks = || devices().flat_map(|device| &device.blocks);
        let warps = || blocks().flat_map(|block| &block.warps);
        let lanes = || warps().flat_map(|warp| &warp.lanes);
        let counts = [
            (devices().map(|device| device.modules.len()).sum(), "module", "modules"),
            (devices().map(|device| device.grids.len()).sum(), "grid", "grids"),
            (blocks().count(), "block", "blocks"),
            (warps().count(), "warp", "warps"),
            (lanes().count(), "thread", "threads"),
        ];
        let words: Vec<String> = counts
            .into_iter()
            .filter(|(count, _, _)| *count > 0)
            .map(|(count, one, many): (usize, _, _)| {
                format!("{count} {}", if count == 1 { one } else { many })
            })
            .collect();
        match words.as_slice() {
            [] => "nothing".to_owned(),
            _ => words.join(", "),
        }
    }

    /// Whether threads may be missing that were on the card: then nothing can be said of all of them.
    #[must_use]
    pub fn lacks_threads(&self) -> bool {
        self.problems.lose_threads()
    }
}
