//! A folder with inputs, and the command run in it.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

pub struct Workplace {
    pub folder: TempDir,
}

impl Workplace {
    pub fn new() -> Workplace {
        Workplace { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_standstill"));
        command.current_dir(self.folder.path());
        command
    }

    /// Runs the command in this folder.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran(self.command().args(arguments).output().unwrap())
    }
}

pub struct Ran(Output);

impl Ran {
    pub fn new(output: Output) -> Ran {
        Ran(output)
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        assert_eq!(self.0.status.code(), Some(code), "{}\n{}", self.out(), self.err());
        assert!(!self.err().contains("panicked"), "{}", self.err());
        self
    }

    #[track_caller]
    pub fn says(self, part: &str) -> Ran {
        assert!(self.err().contains(part), "expected {part:?} in\n{}", self.err());
        self
    }

    #[track_caller]
    pub fn prints(self, part: &str) -> Ran {
        assert!(self.out().contains(part), "expected {part:?} in\n{}", self.out());
        self
    }

    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap_or_else(|error| panic!("{error}: {}", self.out()))
    }
}
