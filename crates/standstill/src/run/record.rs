//! Recording what a program asks of a card: the library that stands before the driver, and what its traces say.

use std::env;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use standstill_cuda_driver::journal::FOLDER;
use standstill_cuda_driver::recorder::{RECORD, SUFFIX};
use standstill_cuda_driver::{Image, reach};
use standstill_findings::{Coverage, Finding, NotUnderstood};
use standstill_stream_order::{Extents, Reach, Reached};
use standstill_trace::LaunchShape;
use tempfile::TempDir;

use super::software::library;
use crate::streams::{Stored, judge, outstanding};

/// The library's file.
const FILE: &str = "libstandstill_cuda_record.so";
/// What the driver is called in the folder.
const REAL: &str = "libcuda-real.so";
/// How files of traces end that are kept.
const KEPT: &str = "kept";
/// The names that programs know the driver by.
const NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];
/// The name that the loader knows it by.
const DRIVER: &str = "libcuda.so.1";

/// Where drivers are installed that the loader's list does not have.
const FOLDERS: [&str; 7] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/wsl/lib",
];

/// A folder that programs look in first for the driver, and one for what they tell.
#[derive(Debug)]
pub(super) struct Recording {
    libraries: TempDir,
    journal: TempDir,
}

impl Recording {
    /// Prepares it. The error says what is missing.
    pub(super) fn prepare() -> Result<Recording, String> {
        let places = library::places(FILE);
        let library = places.iter().find(|place| place.is_file());
        let library = library.ok_or_else(|| format!("{FILE} is not beside this program"))?;
        let driver = driver().ok_or_else(|| format!("{DRIVER} is nowhere to be found"))?;
        let made = || -> std::io::Result<Recording> {
            let folder = || tempfile::Builder::new().prefix("standstill-").tempdir();
            let recording = Recording { libraries: folder()?, journal: folder()? };
            let library = library.canonicalize()?;
            for name in NAMES {
                symlink(&library, recording.libraries.path().join(name))?;
            }
            symlink(driver.canonicalize()?, recording.libraries.path().join(REAL))?;
            Ok(recording)
        };
        made().map_err(|error| format!("cannot make a folder for temporary files: {error}"))
    }

    /// Lets a program find the library.
    pub(super) fn enter(&self, command: &mut Command) {
        let mut path = self.libraries.path().as_os_str().to_owned();
        if let Some(others) = env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
            path.push(":");
            path.push(others);
        }
        command.env("LD_LIBRARY_PATH", path);
        command.env(FOLDER, self.journal.path());
        command.env(RECORD, "on");
    }

    /// Judges what the program's processes have told. Its device code is in these texts or files. The traces are kept
    /// where that is wanted, as ones that can be read without the program.
    pub(super) fn read(&self, code: &[Vec<u8>], keep: bool) -> Recorded {
        let mut recorded = Recorded::default();
        let mut reach = ByCode { images: images(code) };
        for trace in self.traces() {
            let kept = trace.with_extension(KEPT);
            let mut file = keep.then(|| File::create(&kept).map(BufWriter::new)).and_then(Result::ok);
            let into = file.as_mut().map(|file| -> &mut dyn Write { file });
            if let Ok(judged) = judge(&Stored::File(trace), &mut reach, into) {
                recorded.traces.extend(file.map(|_| Stored::File(kept)));
                recorded.findings.extend(judged.findings);
                recorded.coverage.add(judged.coverage);
                recorded.unknown += judged.unknown;
                recorded.not_understood.extend(judged.not_understood);
            }
        }
        recorded
    }

    /// What the program's processes have asked for so far and do not know to be done, in lines. These kernels were seen to
    /// run.
    pub(super) fn outstanding(&self, running: &[&str]) -> Vec<String> {
        let traces = self.traces().into_iter().map(Stored::File);
        traces.flat_map(|trace| outstanding(&trace, running)).collect()
    }

    fn traces(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.journal.path()).into_iter().flatten().flatten();
        let files = files.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(SUFFIX));
        let mut files: Vec<PathBuf> = files.collect();
        files.sort();
        files
    }
}

/// What the processes of a program have told.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub(super) findings: Vec<Finding>,
    pub(super) coverage: Coverage,
    /// Operations of which it stayed unknown what they touch.
    pub(super) unknown: u64,
    /// What else could not be judged.
    pub(super) not_understood: Vec<NotUnderstood>,
    /// The traces that were kept.
    pub(super) traces: Vec<Stored>,
}

/// Where the driver is: where the program's loader would find it.
fn driver() -> Option<PathBuf> {
    let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let named: Vec<PathBuf> = env::split_paths(&named)
        .filter(|path| !path.as_os_str().is_empty())
        .map(|path| path.join(DRIVER))
        .collect();
    let usual = FOLDERS.iter().map(|folder| Path::new(folder).join(DRIVER));
    named.into_iter().chain(listed()).chain(usual).find(|path| path.is_file())
}

/// Where the loader's list has it (`ldconfig -p`): the line's last word. A list may have the library for several
/// architectures; this program's own comes first.
fn listed() -> Vec<PathBuf> {
    let output = ["ldconfig", "/sbin/ldconfig"].iter().find_map(|program| {
        Command::new(program).arg("-p").output().ok().filter(|output| output.status.success())
    });
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let architecture = if cfg!(target_arch = "aarch64") { "AArch64" } else { "x86-64" };
    let lines = text.lines().filter(|line| line.trim_start().starts_with(&format!("{DRIVER} ")));
    let lines = lines.filter(|line| line.contains(architecture));
    lines.filter_map(|line| Some(PathBuf::from(line.split("=>").nth(1)?.trim()))).collect()
}

fn images(code: &[Vec<u8>]) -> Vec<&'static Image> {
    let numbered = code.iter().enumerate();
    numbered.filter_map(|(number, bytes)| Image::load(bytes, number, CAPABILITY).ok()).collect()
}

/// The architecture whose PTX is preferred where there are several.
const CAPABILITY: u32 = 90;

/// What launches touch by the program's own code.
struct ByCode {
    images: Vec<&'static Image>,
}

impl Reach for ByCode {
    fn of(&mut self, kernel: &str, shape: &LaunchShape, memory: &Extents) -> Reached {
        let image = self.images.iter().find(|image| image.kernel(kernel).is_some());
        let Some(image) = image else { return Reached::Unknown };
        let known = reach(image, kernel, shape, &|address| memory.find(address));
        known.map_or(Reached::Undecided, Reached::Known)
    }
}
