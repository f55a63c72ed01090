//! The source's path as a compiler gets it: nvcc hands it to a shell, so that some characters must not be in it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::compile::{CompileError, Request};

/// A source's path, made safe.
#[derive(Debug)]
pub(crate) struct Passed {
    /// What the compiler is given.
    pub(crate) path: PathBuf,
    /// A folder to search for headers, where the source is a copy elsewhere.
    pub(crate) include: Option<PathBuf>,
    /// Names that stand for others, with what the user typed for each.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// Holds the copy and the link as long as the compiler runs.
    _folder: Option<TempDir>,
}

impl Passed {
    /// The source and what must stand beside it in a compiler's arguments.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let include = self.include.as_ref().map(|folder| {
            let mut flag = OsString::from("-I");
            flag.push(folder);
            flag
        });
        include.into_iter().chain([self.path.clone().into_os_string()]).collect()
    }

    /// What a compiler printed, with the user's names.
    pub(crate) fn with_typed_names(&self, printed: String) -> String {
        self.links.iter().fold(printed, |text, (link, typed)| match link.to_str() {
            Some(link) => text.replace(link, &typed.to_string_lossy()),
            None => text,
        })
    }
}

/// The source's path as it is passed to a compiler, where the file can be read.
pub(crate) fn passed(request: &Request<'_>) -> Result<Passed, CompileError> {
    let source_error = |error| CompileError::Source { path: request.source.to_owned(), error };
    let real = request.directory.join(request.source);
    let metadata = fs::metadata(&real).map_err(source_error)?;
    if metadata.is_dir() {
        return Err(source_error(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    #[cfg(unix)]
    if !is_safe(request.source) {
        return copied(request.source, &real);
    }
    // A name that begins with a hyphen would be taken for a flag.
    let hyphen = request.source.as_os_str().as_encoded_bytes().starts_with(b"-");
    let path = if hyphen { Path::new(".").join(request.source) } else { request.source.to_owned() };
    Ok(Passed { path, include: None, links: Vec::new(), _folder: None })
}

/// Whether a path comes through nvcc's shell and into a line table unchanged.
#[cfg(unix)]
fn is_safe(path: &Path) -> bool {
    let unsafe_characters = |c: char| !c.is_ascii() || c.is_control() || "\"'`$\\".contains(c);
    path.to_str().is_some_and(|text| !text.contains(unsafe_characters))
}

/// Copies the file to a folder for temporary files: nvcc follows a link, and its shell would read the real name.
/// Headers are found beside the file through a link to its folder.
#[cfg(unix)]
fn copied(typed: &Path, real: &Path) -> Result<Passed, CompileError> {
    use std::os::unix::fs::symlink;

    let temporary = CompileError::Temporary;
    let folder = tempfile::Builder::new().prefix("standstill-").tempdir().map_err(temporary)?;
    let real = std::path::absolute(real).map_err(temporary)?;
    let (file, beside) = (folder.path().join("source.cu"), folder.path().join("beside"));
    fs::copy(&real, &file).map_err(|error| CompileError::Source { path: typed.to_owned(), error })?;
    symlink(real.parent().unwrap_or(Path::new("/")), &beside).map_err(temporary)?;
    let typed_parent = typed.parent().unwrap_or(Path::new("")).to_owned();
    let links = vec![(file.clone(), typed.to_owned()), (beside.clone(), typed_parent)];
    Ok(Passed { path: file, include: Some(beside), links, _folder: Some(folder) })
}
