//! What the surroundings say about where compilers are.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The places that are searched for a compiler, as a value, so that searching can be tested.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment {
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// `CUDA_HOME` and `CUDA_PATH`, where set, in this order.
    pub cuda_homes: Vec<PathBuf>,
    /// Where CUDA is installed by default.
    pub system_toolkits: Vec<PathBuf>,
    /// The user's folder for caches: `XDG_CACHE_HOME`, or `.cache` in the home folder.
    pub cache: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    #[must_use]
    pub fn from_process() -> Self {
        let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        // The XDG specification has relative paths ignored.
        let cache = folder("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| folder("HOME").map(|home| home.join(".cache")));
        Environment {
            path: env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default(),
            cuda_homes: ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(folder).collect(),
            system_toolkits: ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"].map(PathBuf::from).to_vec(),
            cache,
        }
    }

    /// Where fetched compilers are kept: `standstill` in the user's cache.
    #[must_use]
    pub fn compiler_cache(&self) -> Option<PathBuf> {
        self.cache.as_ref().map(|cache| cache.join("standstill"))
    }

    /// The first program called `name` in `PATH`.
    pub(crate) fn find_program(&self, name: impl AsRef<OsStr>) -> Option<PathBuf> {
        let name = Path::new(name.as_ref());
        self.path.iter().map(|folder| folder.join(name)).find(|path| is_program(path))
    }
}

/// Whether `path` is a file that may be executed.
pub(crate) fn is_program(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    metadata.is_file()
}
