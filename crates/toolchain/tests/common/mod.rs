//! Folders with programs in them.

#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held while a test writes and runs scripts: a process that another thread starts in the meantime has the
/// script open for writing for a moment, and running it then fails with "text file busy".
static SCRIPTS: Mutex<()> = Mutex::new(());

/// A folder with programs in it: scripts for the shell.
pub(crate) struct Folder {
    folder: tempfile::TempDir,
    _scripts: MutexGuard<'static, ()>,
}

impl Folder {
    pub(crate) fn with(programs: &[(&str, &str)]) -> Self {
        let scripts = SCRIPTS.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Folder { folder: tempfile::tempdir().unwrap(), _scripts: scripts };
        for (name, script) in programs {
            folder.add(name, script, 0o755);
        }
        folder
    }

    pub(crate) fn add(&self, name: &str, script: &str, mode: u32) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
