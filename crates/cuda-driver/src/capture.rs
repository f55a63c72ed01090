//! A launch written down as it is about to begin: the kernel, its shape and arguments, and the memory that it can reach.
//!
//! The file is one JSON object, a [`LaunchImage`]. Nothing of the launch runs: what follows can be tried elsewhere, in any
//! order, from the same beginning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use standstill_device_sim::Memory;

use crate::operation::Launch;

/// Environment variable: the file that a launch is written to; the process ends with it.
pub const CAPTURE: &str = "STANDSTILL_CAPTURE";
/// Environment variable: the kernels whose launches count, by their mangled names with commas between; all without it.
pub const KERNELS: &str = "STANDSTILL_CAPTURE_KERNELS";
/// Environment variable: which of these launches is meant, from 1; the first without it.
pub const LAUNCH: &str = "STANDSTILL_CAPTURE_LAUNCH";

/// The most bytes that are written down of what a launch can reach.
const MOST_BYTES: u64 = 64 << 20;
/// Zeros in a row that are not worth a new piece.
const SHORT_GAP: usize = 16;

/// A launch with everything that it finds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchImage {
    /// [`LaunchImage::VERSION`].
    pub version: u32,
    /// The PTX that the kernel is in.
    pub text: String,
    /// The kernel's name, mangled.
    pub kernel: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y and z.
    pub cluster: [u32; 3],
    /// The grid may synchronise as a whole.
    pub cooperative: bool,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameters as they lie in parameter space.
    pub parameters: Contents,
    /// Address of each variable of the module, in the order of the text; 0 for those that have none of their own.
    pub variables: Vec<u64>,
    /// Memory that it can reach: variables, and allocations that a parameter or reachable memory points into.
    pub memory: Vec<RegionImage>,
}

/// A piece of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionImage {
    /// Its first address.
    pub address: u64,
    /// What it holds.
    pub contents: Contents,
}

/// Bytes; in a file the pieces of them that are not zero, in hexadecimal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Pieces", try_from = "Pieces")]
pub struct Contents(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
struct Pieces {
    bytes: u64,
    /// By offset.
    pieces: BTreeMap<u64, String>,
}

impl From<Contents> for Pieces {
    fn from(Contents(bytes): Contents) -> Pieces {
        let mut pieces = BTreeMap::new();
        let mut at = 0;
        while let Some(start) =
            bytes.get(at..).and_then(|rest| rest.iter().position(|&byte| byte != 0)).map(|found| at + found)
        {
            let rest = bytes.get(start..).unwrap_or_default();
            let gap = rest.windows(SHORT_GAP).position(|window| window.iter().all(|&byte| byte == 0));
            let piece = rest.get(..gap.unwrap_or(rest.len())).unwrap_or(rest);
            pieces.insert(start as u64, hexadecimal(piece));
            at = start + piece.len().max(1);
        }
        Pieces { bytes: bytes.len() as u64, pieces }
    }
}

impl TryFrom<Pieces> for Contents {
    type Error = String;

    fn try_from(Pieces { bytes: length, pieces }: Pieces) -> Result<Contents, String> {
        if length > MOST_BYTES {
            return Err(format!("{length} bytes of memory are more than the {MOST_BYTES} that are kept"));
        }
        let mut bytes = vec![0; length as usize];
        for (at, text) in pieces {
            let piece = from_hexadecimal(&text).ok_or_else(|| format!("`{text}` is not hexadecimal"))?;
            let start = usize::try_from(at).unwrap_or(usize::MAX);
            let place = bytes.get_mut(start..start.saturating_add(piece.len()));
            place
                .ok_or_else(|| format!("bytes at {at} lie outside of {length} bytes"))?
                .copy_from_slice(&piece);
        }
        Ok(Contents(bytes))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| DIGITS.get(usize::from(digit))).collect()
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}

impl LaunchImage {
    /// The version of the format that this code reads and writes.
    pub const VERSION: u32 = 1;

    /// Reads what [`Capture`] has written.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the file.
    pub fn read(path: &Path) -> Result<LaunchImage, String> {
        let wrong = |what: String| format!("{}: {what}", path.display());
        let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let image: LaunchImage = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        match image.version {
            LaunchImage::VERSION => Ok(image),
            other => Err(wrong(format!("it is of version {other}, and version 1 is read"))),
        }
    }
}

/// Which launch is to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    file: PathBuf,
    /// Mangled names; none for any kernel.
    kernels: Vec<String>,
    /// From 1.
    launch: u64,
}

impl Capture {
    /// What the environment asks for.
    #[must_use]
    pub fn from_environment() -> Option<Capture> {
        let kernels = std::env::var(KERNELS).unwrap_or_default();
        Some(Capture {
            file: std::env::var_os(CAPTURE)?.into(),
            kernels: kernels.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            launch: std::env::var(LAUNCH).ok().and_then(|number| number.parse().ok()).unwrap_or(1),
        })
    }

    /// Whether launches of this kernel count.
    pub(crate) fn counts(&self, kernel: &str) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|wanted| wanted == kernel)
    }

    /// Whether this one of the launches that count is meant.
    pub(crate) fn is_due(&self, number: u64) -> bool {
        number == self.launch
    }

    /// Writes a launch down.
    ///
    /// # Errors
    /// A sentence, when the launch can reach too much memory, or the file cannot be written.
    pub(crate) fn write(&self, launch: &Launch, variables: Vec<u64>, memory: &Memory) -> Result<(), String> {
        let words = launch.parameters.chunks_exact(8).filter_map(word);
        let reachable = reachable(memory, words.chain(variables.iter().copied()).collect())?;
        let image = LaunchImage {
            version: LaunchImage::VERSION,
            text: launch.kernel.image.text.to_owned(),
            kernel: launch.kernel.name.clone(),
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            cooperative: launch.cooperative,
            dynamic_shared: launch.dynamic_shared,
            parameters: Contents(launch.parameters.clone()),
            variables,
            memory: reachable,
        };
        let text = serde_json::to_vec(&image).map_err(|error| error.to_string())?;
        // Whoever waits for the file sees a whole one.
        let part = self.file.with_extension("part");
        let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, &self.file));
        written.map_err(|error| format!("{}: {error}", self.file.display()))
    }
}

fn word(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

/// The allocations that these addresses lie in, and those that words in them point into, by address.
fn reachable(memory: &Memory, mut addresses: Vec<u64>) -> Result<Vec<RegionImage>, String> {
    let mut found: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut total = 0u64;
    while let Some(address) = addresses.pop() {
        let Some(allocation) = memory.find(address) else { continue };
        if found.contains_key(&allocation.address) {
            continue;
        }
        total = total.saturating_add(allocation.bytes);
        if total > MOST_BYTES {
            return Err(format!(
                "it can reach {total} bytes of memory or more, and at most {MOST_BYTES} are captured: run the \
                 program with a smaller problem"
            ));
        }
        let mut bytes = vec![0; allocation.bytes as usize];
        memory.read(allocation.address, &mut bytes).map_err(|error| error.to_string())?;
        addresses.extend(bytes.chunks_exact(8).filter_map(word).filter(|&word| word != 0));
        found.insert(allocation.address, bytes);
    }
    let region = |(address, bytes)| RegionImage { address, contents: Contents(bytes) };
    Ok(found.into_iter().map(region).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_their_pieces() {
        let check = |bytes: Vec<u8>, pieces: usize| {
            let written: Pieces = Contents(bytes.clone()).into();
            assert_eq!(written.pieces.len(), pieces, "{bytes:?}");
            assert_eq!(Contents::try_from(written), Ok(Contents(bytes)));
        };
        check(vec![], 0);
        check(vec![0; 100], 0);
        check(vec![0xff], 1);
        let mut sparse = vec![0; 1000];
        (sparse[3], sparse[4], sparse[15], sparse[500], sparse[999]) = (1, 0x20, 3, 4, 5);
        check(sparse, 3);
    }

    #[test]
    fn pieces_that_do_not_fit_are_errors() {
        let check = |bytes: u64, at: u64, text: &str, part: &str| {
            let pieces = Pieces { bytes, pieces: [(at, text.to_owned())].into() };
            let error = Contents::try_from(pieces).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        check(8, 7, "0102", "bytes at 7 lie outside of 8 bytes");
        check(8, u64::MAX, "01", "lie outside");
        check(8, 0, "0", "`0` is not hexadecimal");
        check(8, 0, "0é", "is not hexadecimal");
        check(u64::MAX, 0, "01", "are more than");
    }

    #[test]
    fn what_memory_points_at_is_reached() {
        let device = standstill_device_sim::Device::new(
            standstill_kernel_ir::launch::Device::find("h200").unwrap(),
            1 << 30,
        );
        let memory = device.memory();
        let [first, second, third, alone] = [64, 32, 8, 8].map(|bytes| memory.allocate(bytes).unwrap());
        memory.write(first + 56, &(second + 31).to_le_bytes()).unwrap();
        memory.write(second, &third.to_le_bytes()).unwrap();
        memory.write(third, &first.to_le_bytes()).unwrap();
        let found = reachable(memory, vec![7, first + 4]).unwrap();
        let addresses: Vec<u64> = found.iter().map(|region| region.address).collect();
        assert_eq!(addresses, [first, second, third]);
        assert_eq!(
            reachable(memory, vec![alone]).unwrap(),
            [RegionImage { address: alone, contents: Contents(vec![0; 8]) }]
        );
        let large = memory.allocate(MOST_BYTES).unwrap();
        assert!(reachable(memory, vec![large]).is_ok());
        assert!(reachable(memory, vec![large, alone]).unwrap_err().contains("with a smaller problem"));
    }
}
