//! Why a program could not be supervised.

use std::io;

use thiserror::Error;

/// Why a program could not be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no such program.
    #[error("{program}: not found")]
    NotFound {
        /// As it was named.
        program: String,
    },
    /// It is there and cannot be executed.
    #[error("{program}: cannot be executed: {error}")]
    NotExecutable {
        /// As it was named.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// The supervisor itself lacks something that it needs: file descriptors, processes, a temporary folder.
    #[error("cannot {what}: {error}")]
    System {
        /// What it wanted to do.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
}

impl StartError {
    pub(crate) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> StartError {
        move |error| StartError::System { what, error: error.into() }
    }

    /// Sorts what starting `program` gave.
    pub(crate) fn starting(program: &std::ffi::OsStr, error: io::Error) -> StartError {
        let program = program.to_string_lossy().into_owned();
        match error.raw_os_error() {
            Some(code)
                if code == nix::libc::EAGAIN || code == nix::libc::ENOMEM || code == nix::libc::EMFILE =>
            {
                StartError::System { what: "start a process", error }
            }
            _ if error.kind() == io::ErrorKind::NotFound => StartError::NotFound { program },
            _ => StartError::NotExecutable { program, error },
        }
    }

    /// The exit code that shells and `timeout` use for it: 127 not found, 126 not executable, 125 otherwise.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            StartError::NotFound { .. } => 127,
            StartError::NotExecutable { .. } => 126,
            StartError::System { .. } => 125,
        }
    }
}
