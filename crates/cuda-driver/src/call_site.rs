//! Where in the program a call came from: the chain of return addresses, each different one kept once.
//!
//! Source lines are worked out by the process that reads the journal, from the program's own line table.

#![allow(unsafe_code, reason = "the stack is followed, and the loader asked, by functions of the C library")]

use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};

/// Frames of a chain at most; the library's own few are among them.
const MOST: usize = 32;

/// A place that a call came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CallSite(u64);

/// A frame of a call's stack.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostFrame {
    /// The program or library.
    pub file: String,
    /// The address inside of the calling instruction, as the file counts.
    pub address: u64,
}

#[derive(Default)]
struct Known {
    numbers: HashMap<Vec<usize>, u64>,
    chains: Vec<Vec<usize>>,
}

fn known() -> &'static Mutex<Known> {
    static KNOWN: OnceLock<Mutex<Known>> = OnceLock::new();
    KNOWN.get_or_init(Mutex::default)
}

impl CallSite {
    /// The place that is calling now.
    #[must_use]
    pub fn here() -> CallSite {
        CallSite::of(return_addresses())
    }

    /// The place with these return addresses, the innermost first.
    #[must_use]
    pub fn of(chain: Vec<usize>) -> CallSite {
        if chain.is_empty() {
            return CallSite::default();
        }
        let mut known = known().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.numbers.get(&chain) {
            return CallSite(*number);
        }
        known.chains.push(chain.clone());
        let number = known.chains.len() as u64;
        known.numbers.insert(chain, number);
        CallSite(number)
    }

    /// The place with a number that [`CallSite::number`] gave.
    #[must_use]
    pub fn from_number(number: u64) -> CallSite {
        CallSite(number)
    }

    /// Its number; 0 when it is not known.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// Its frames outside of this library, the innermost first.
    #[must_use]
    pub fn frames(self) -> Vec<HostFrame> {
        let chain = {
            let known = known().lock().unwrap_or_else(PoisonError::into_inner);
            let index = (self.0 as usize).checked_sub(1);
            index.and_then(|index| known.chains.get(index)).cloned().unwrap_or_default()
        };
        let files = loaded_files();
        let holder = |address: usize| files.iter().find(|file| file.holds(address));
        let own = holder(return_addresses as fn() -> Vec<usize> as usize).map(|file| &file.path);
        let frames = chain.iter().filter_map(|&returns_to| {
            let address = returns_to.checked_sub(1)?;
            let file = holder(address)?;
            (Some(&file.path) != own).then(|| HostFrame {
                file: file.path.clone(),
                address: address.wrapping_sub(file.bias) as u64,
            })
        });
        frames.collect()
    }
}

/// Return addresses, the innermost first.
#[cfg(target_env = "gnu")]
fn return_addresses() -> Vec<usize> {
    let mut addresses = [std::ptr::null_mut::<c_void>(); MOST];
    // SAFETY: the array has room for as many addresses as are asked for.
    let count = unsafe { libc::backtrace(addresses.as_mut_ptr(), MOST as c_int) };
    let found = addresses.get(..usize::try_from(count).unwrap_or(0)).unwrap_or(&[]);
    found.iter().map(|address| address.addr()).collect()
}

/// Other C libraries do not follow stacks.
#[cfg(not(target_env = "gnu"))]
fn return_addresses() -> Vec<usize> {
    Vec::new()
}

/// What is left of a chain of return addresses behind those of this library, which calls of the program lead into.
#[must_use]
pub fn outside(chain: &[usize]) -> &[usize] {
    static OWN: OnceLock<Option<LoadedFile>> = OnceLock::new();
    let own = OWN.get_or_init(|| {
        let here = return_addresses as fn() -> Vec<usize> as usize;
        loaded_files().into_iter().find(|file| file.holds(here))
    });
    let is_own = |address: &usize| own.as_ref().is_some_and(|own| own.holds(*address));
    let first = chain.iter().position(|address| !is_own(address)).unwrap_or(chain.len());
    chain.get(first..).unwrap_or_default()
}

/// A program or library in memory.
#[derive(Debug)]
struct LoadedFile {
    path: String,
    /// What is added to the file's addresses.
    bias: usize,
    ranges: Vec<(usize, usize)>,
}

impl LoadedFile {
    fn holds(&self, address: usize) -> bool {
        self.ranges.iter().any(|(start, end)| (*start..*end).contains(&address))
    }
}

fn loaded_files() -> Vec<LoadedFile> {
    let mut files: Vec<LoadedFile> = Vec::new();
    // SAFETY: the callback takes what `dl_iterate_phdr` documents, and the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add_file), std::ptr::from_mut(&mut files).cast()) };
    files
}

extern "C" fn add_file(object: *mut libc::dl_phdr_info, _size: libc::size_t, files: *mut c_void) -> c_int {
    // SAFETY: the loader passes a whole description, whose name is null or a string and whose headers are as many as
    // it says; `loaded_files` passes its list.
    unsafe {
        let (Some(object), Some(files)) = (object.as_ref(), files.cast::<Vec<LoadedFile>>().as_mut()) else {
            return 0;
        };
        let name = match object.dlpi_name.is_null() {
            true => String::new(),
            false => CStr::from_ptr(object.dlpi_name).to_string_lossy().into_owned(),
        };
        // The program itself has no name here.
        let path = match name.as_str() {
            "" => std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default(),
            _ => name,
        };
        let headers: &[libc::Elf64_Phdr] = match object.dlpi_phdr.is_null() {
            true => &[],
            false => std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()),
        };
        let bias = object.dlpi_addr as usize;
        let range = |header: &libc::Elf64_Phdr| {
            let start = bias.wrapping_add(header.p_vaddr as usize);
            (start, start.wrapping_add(header.p_memsz as usize))
        };
        let ranges = headers.iter().filter(|header| header.p_type == libc::PT_LOAD).map(range).collect();
        files.push(LoadedFile { path, bias, ranges });
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn here() -> CallSite {
        CallSite::here()
    }

    #[test]
    fn a_place_is_known_again() {
        let mut places = Vec::new();
        // One call that the compiler must not write twice.
        for _ in 0..std::hint::black_box(2) {
            places.push(here());
        }
        assert_eq!(places[0], places[1]);
        let number = places[0].number();
        assert_eq!(CallSite::from_number(number), places[0]);
        assert_eq!(CallSite::default().frames(), []);
        // Here the library is the program itself; what is left is the C library's start of the thread.
        assert!(number == 0 || places[0].frames().iter().all(|frame| !frame.file.is_empty()));
    }
}
