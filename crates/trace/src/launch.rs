//! Launches: a kernel with its shape and its arguments.

use serde::{Deserialize, Serialize, Serializer};

/// Where a kernel's parameter lies among the bytes of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parameter {
    /// Bytes from the start.
    pub offset: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

/// A kernel with the shape and the arguments of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LaunchShape {
    /// The kernel's number.
    pub kernel: u32,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster; all one where there are none.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
    /// Whether all blocks must be resident at once.
    pub cooperative: bool,
    /// The bytes of all parameters; none where their layout is not known.
    #[serde(serialize_with = "at_once")]
    pub arguments: Vec<u8>,
}

/// Bytes of a word of the arguments.
const WORD: usize = 8;

impl LaunchShape {
    /// Words of the arguments that are not those of another launch, where nothing else differs.
    #[must_use]
    pub fn differing_words(&self, other: &LaunchShape) -> Option<Vec<(u32, u64)>> {
        let [own, others] = [self, other].map(|it| {
            (it.kernel, it.grid, it.block, it.cluster, it.dynamic_shared, it.cooperative, it.arguments.len())
        });
        // What is left behind the last word cannot be told so.
        if own != others || !self.arguments.len().is_multiple_of(WORD) {
            return None;
        }
        let (own, others) = (self.arguments.as_chunks::<WORD>().0, other.arguments.as_chunks::<WORD>().0);
        let pairs = (0..).zip(own.iter().zip(others));
        let differing = pairs.filter(|(_, (own, other))| own != other);
        Some(differing.map(|(number, (own, _))| (number, u64::from_le_bytes(*own))).collect())
    }

    /// The launch with other words in its arguments.
    #[must_use]
    pub fn with_words(&self, words: &[(u32, u64)]) -> LaunchShape {
        let mut shape = self.clone();
        for (number, word) in words {
            let start = *number as usize * WORD;
            if let Some(place) = shape.arguments.get_mut(start..start.saturating_add(WORD)) {
                place.copy_from_slice(&word.to_le_bytes());
            }
        }
        shape
    }
}

/// Writes bytes in one piece, which in this format is the same as one by one.
fn at_once<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}
