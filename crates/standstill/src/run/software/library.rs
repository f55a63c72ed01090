//! The CUDA runtime that programs get on the software GPU: where it is, and how they find it.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ObjectSymbol};
use tempfile::TempDir;

use super::stand_in::stand_in;
use crate::args::CompilerArgs;

/// Where to look first: the library, or the folder it is in.
const VARIABLE: &str = "STANDSTILL_LIBRARY_PATH";

/// The library's file.
pub(super) const FILE: &str = "libstandstill_cuda_runtime.so";

/// The name that programs are linked to here.
const NAME: &str = "libcudart.so";

/// The names of the driver's library; the same library has its public functions.
const DRIVER: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// The names that programs have which were linked with NVIDIA's shared runtime.
const VERSIONED: [&str; 2] = ["libcudart.so.12", "libcudart.so.13"];

/// A folder with the library under the names of NVIDIA's.
pub(super) struct Library {
    folder: TempDir,
}

impl Library {
    /// Finds the library beside the command. The error says where it was looked for.
    pub(super) fn find() -> Result<Library, String> {
        let places = places(FILE);
        let file = places.iter().find(|place| place.is_file()).ok_or_else(|| {
            let looked: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
            format!(
                "the software GPU's runtime ({FILE}) is not there; it was looked for at {}. `cargo install` brings \
                 the command alone: in the project's folder, `cargo build --release -p standstill-cuda-runtime` makes \
                 it in target/release; copy it to one of these places, or set {VARIABLE} to where it is",
                looked.join(", ")
            )
        })?;
        let made = || -> std::io::Result<TempDir> {
            let folder = tempfile::Builder::new().prefix("standstill-").tempdir()?;
            let file = file.canonicalize()?;
            symlink(&file, folder.path().join(NAME))?;
            for name in DRIVER {
                symlink(&file, folder.path().join(name))?;
            }
            symlink(&file, folder.path().join(FILE))?;
            for name in VERSIONED {
                std::fs::write(folder.path().join(name), stand_in(name, FILE))?;
            }
            Ok(folder)
        };
        let folder = made().map_err(|error| format!("cannot make a folder for temporary files: {error}"))?;
        Ok(Library { folder })
    }

    /// The compiler's arguments with this library in the place of NVIDIA's: the linker looks here first.
    pub(super) fn linked(&self, compiler: &CompilerArgs) -> CompilerArgs {
        let folder = self.folder.path().display().to_string().replace('\'', r"'\''");
        let mut cflags: Vec<String> = compiler.cflags.iter().map(|flags| with_own_ptx(flags)).collect();
        cflags.push(format!("'-L{folder}'"));
        CompilerArgs {
            cflags,
            arch: compiler.arch.clone(),
            nvcc: compiler.nvcc.clone(),
            fetch_nvcc: compiler.fetch_nvcc,
        }
    }

    /// Where the program looks for libraries: here first.
    pub(super) fn search_path(&self) -> OsString {
        let mut path = self.folder.path().as_os_str().to_owned();
        if let Some(others) = env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
            path.push(":");
            path.push(others);
        }
        path
    }
}

/// For an architecture with features of its own (`sm_90a`) nvcc embeds the PTX of the portable one beside it, for
/// which such code does not compile: only the own one is asked for.
fn with_own_ptx(flags: &str) -> String {
    let own = |word: &str| {
        let number = word.strip_prefix("-arch=sm_")?;
        let specific = number.ends_with(['a', 'f']);
        specific.then(|| format!("-gencode=arch=compute_{number},code=[sm_{number},compute_{number}]"))
    };
    let words = flags.split_inclusive(char::is_whitespace);
    words
        .map(|word| {
            let bare = word.trim_end();
            own(bare).map_or_else(|| word.to_owned(), |own| word.replacen(bare, &own, 1))
        })
        .collect()
}

/// Where a library of the project may be, in this order.
pub(in crate::run) fn places(file: &str) -> Vec<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE).map(PathBuf::from) {
        let is_other = file != FILE;
        return vec![match named.is_dir() {
            true => named.join(file),
            false if is_other => named.with_file_name(file),
            false => named,
        }];
    }
    let Some(folder) =
        env::current_exe().ok().and_then(|exe| Some(exe.canonicalize().ok()?.parent()?.to_owned()))
    else {
        return vec![PathBuf::from(file)];
    };
    // Beside the command as it is installed, or as cargo builds it.
    let mut places = vec![folder.join(file), folder.join("deps").join(file)];
    if let Some(above) = folder.parent() {
        places.push(above.join("lib/standstill").join(file));
        places.push(above.join("lib").join(file));
    }
    // `cargo install --path` leaves it where it was built.
    places.push(Path::new(env!("STANDSTILL_BUILT_IN")).join("deps").join(FILE));
    places
}

/// A program that has NVIDIA's runtime inside cannot run here: that runtime talks to NVIDIA's driver only.
pub(super) fn refuse_static(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let Ok(file) = object::File::parse(bytes) else { return Ok(()) };
    let device_code = file.sections().any(|section| matches!(section.name(), Ok(".nv_fatbin")));
    let registers = |name: &[u8]| name.starts_with(b"__cudaRegisterFatBinary");
    let imported = file
        .dynamic_symbols()
        .any(|symbol| symbol.is_undefined() && symbol.name_bytes().is_ok_and(registers));
    // A library of the program's own may bring the runtime; then its functions are imported.
    if device_code && !imported {
        let name = path.display();
        return Err(format!(
            "{name} has NVIDIA's CUDA runtime linked into it, which works with NVIDIA's driver only. \
             Link it again with the shared runtime: `nvcc -cudart shared … -o {name}` \
             (with CMake: CUDA_RUNTIME_LIBRARY Shared)"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::with_own_ptx;

    #[test]
    fn only_specific_architectures_are_changed() {
        let check = |flags, expected| assert_eq!(with_own_ptx(flags), expected);
        check("-O3 -arch=sm_90 'a b'", "-O3 -arch=sm_90 'a b'");
        check("-arch=sm_90a  -O3", "-gencode=arch=compute_90a,code=[sm_90a,compute_90a]  -O3");
        check("", "");
    }
}
