//! Where a program launches a kernel, read off its machine code: a launch is a call of the kernel's host function
//! (the *stub*, which the compiler writes), or a call of `cudaLaunch…` with that function's address.
//!
//! Nothing is recorded for this while the program runs, so it says where a kernel can have been launched. x86-64 code
//! only; kernels that are loaded by name (`cuModuleGetFunction`) have no stub.

mod code;
mod stubs;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use crate::process::{mappings, path_seen_by};
use crate::stacks::{Content, Frame, Image, Symbols, readable};

/// One place where a kernel is launched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// The function that launches, readable.
    pub function: String,
    /// Source file; empty when there is no line table.
    pub file: String,
    /// Source line, from 1; 0 when not known.
    pub line: u32,
}

/// A kernel that was on the GPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OnGpu {
    /// The process that launched it.
    pub pid: i32,
    /// Its name for a person.
    pub kernel: String,
    /// Where the program launches it; empty when that is not known.
    pub launches: Vec<Launch>,
}

/// The files of a process that hold device code, held open: the process may be gone when its kernels are known.
#[derive(Debug, Default)]
pub struct Programs {
    files: Vec<(String, File)>,
}

/// Sections with device code, as nvcc and clang name them.
const DEVICE_CODE: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];

impl Programs {
    /// Opens the files of a process.
    #[must_use]
    pub fn of(pid: i32) -> Programs {
        let mut seen: Vec<String> = Vec::new();
        let mut files = Vec::new();
        for mapping in mappings(pid) {
            if !mapping.executable || !mapping.path.starts_with('/') || seen.contains(&mapping.path) {
                continue;
            }
            // A program that was built anew while it ran can be had as the running one; a library that was cannot.
            let path = match mapping.path.strip_suffix(" (deleted)") {
                Some(_) if is_program(pid, &mapping.path) => PathBuf::from(format!("/proc/{pid}/exe")),
                Some(_) => continue,
                None => path_seen_by(pid, &mapping.path),
            };
            if let Ok(file) = File::open(path)
                && image(&file).with_elf(code::HasSection(&DEVICE_CODE)).is_some()
            {
                files.push((mapping.path.clone(), file));
            }
            seen.push(mapping.path);
        }
        Programs { files }
    }

    /// Where a kernel is launched, by its name in the device code.
    #[must_use]
    pub fn launches(&self, kernel: &str) -> Vec<Launch> {
        let mut launches: Vec<Launch> = Vec::new();
        for (path, file) in &self.files {
            let image = Image { path: path.clone(), ..image(file) };
            let Some(sites) = image.with_elf(code::FindSites { kernel }) else { continue };
            let mut symbols = Symbols::of(sites.clone());
            for site in sites {
                let frames = symbols.frames(std::slice::from_ref(&image), &[site]);
                if let Some(launch) = launch(&frames, kernel)
                    && !launches.contains(&launch)
                {
                    launches.push(launch);
                }
            }
        }
        launches.sort_by(|a, b| (&a.file, a.line, &a.function).cmp(&(&b.file, b.line, &b.function)));
        launches
    }
}

/// Whether a path is the one of the process's program.
fn is_program(pid: i32, path: &str) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program.as_os_str() == path)
}

/// A file by its own addresses.
fn image(file: &File) -> Image {
    Image {
        path: String::new(),
        content: Content::File(PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))),
        ranges: vec![(0, u64::MAX)],
        bias: 0,
    }
}

/// The launch at a place, seen from the function that the programmer wrote: without the stubs and the runtime's own
/// templates, which may have been put into it.
fn launch(frames: &[Frame], kernel: &str) -> Option<Launch> {
    let kernel = readable(kernel);
    let generated = |frame: &&Frame| {
        let name = frame.function.as_str();
        name == kernel
            // Functions that only their file sees have no linkage name in the line table, so no parameters here.
            || (!name.contains('(') && stubs::bare(name) == stubs::bare(&kernel))
            || name.contains("__device_stub_")
            || stubs::is_runtime(name)
            || frame.file.ends_with(".stub.c")
            || frame.file.ends_with("/cuda_runtime.h")
    };
    // What stands in a stub itself is a part of every launch, and none of its own.
    let outer = frames.last()?;
    if generated(&outer) {
        return None;
    }
    let own = frames.iter().find(|frame| !generated(frame))?;
    Some(Launch { function: own.function.clone(), file: own.file.clone(), line: own.line })
}
