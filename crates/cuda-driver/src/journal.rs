//! What a running program tells the process that started it: one JSON object a line, in a file.
//!
//! Each record is appended with a single write, so that several processes can share a journal and a program
//! that dies leaves whole records.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use standstill_findings::{Finding, Severity};

use crate::backend::Mention;
use crate::call_site::HostFrame;

/// Environment variable: the folder that the journal and the PTX of the program go to.
pub const FOLDER: &str = "STANDSTILL_JOURNAL";
/// Environment variable: the model of the card.
pub const CARD: &str = "STANDSTILL_GPU";
/// Environment variable: where random choices start.
pub const SEED: &str = "STANDSTILL_SEED";
/// Environment variable: the name of an [`Order`](crate::Order).
pub const SCHEDULE: &str = "STANDSTILL_SCHEDULE";
/// Environment variable: the name of an [`OperationOrder`](crate::OperationOrder).
pub const ORDER: &str = "STANDSTILL_ORDER";
/// Environment variable: `on` lets loads see values that were overwritten.
pub const STALE: &str = "STANDSTILL_STALE";
/// Environment variable: a file with what a rehearsal told of where threads meet, as JSON.
pub const CONTENDED: &str = "STANDSTILL_CONTENDED";
/// Environment variable: a folder with the PTX that the compiler left behind.
pub const PTX: &str = "STANDSTILL_PTX";

/// Environment variable: `on` looks for races.
pub const RACES: &str = "STANDSTILL_RACES";

/// The journal's name in its folder.
pub const FILE: &str = "journal.jsonl";

/// One thing that a running program tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// A process made its first call.
    Started {
        /// Its number.
        process: u32,
        /// The card that it sees.
        card: String,
    },
    /// A PTX module was loaded; its text is in the journal's folder.
    Image {
        /// The process.
        process: u32,
        /// Its number in the process.
        image: usize,
        /// The file's name in the folder.
        file: String,
        /// Registers of a thread by kernel, where compiled code says them.
        registers: BTreeMap<String, u32>,
    },
    /// A kernel was launched with a shape and arguments that are new.
    Launch(LaunchRecord),
    /// Something breaks a rule.
    Finding(Box<Finding>),
    /// Something breaks a rule, and calls of the host belong to it.
    Sited(Box<Finding>, Vec<HostPlace>),
    /// The device stands still, but somebody outside may still help; the last one of these counts when the
    /// process has to be stopped.
    Parked(Option<Box<Finding>>),
    /// Something else that the user must know, in a sentence.
    Trouble(String),
    /// Where threads met in a rehearsal: image, function and position.
    Contended(Vec<(usize, u32, u32)>),
    /// Work that was done, at the end of the process.
    Ended {
        /// Kernel launches.
        launches: u64,
        /// Operations of any kind.
        operations: u64,
    },
}

impl Record {
    /// A finding with calls of the host; what is not known of them is left out.
    #[must_use]
    pub fn sited(finding: Finding, mentions: &[Mention]) -> Record {
        let place = |mention: &Mention| HostPlace {
            label: mention.label.clone(),
            primary: mention.primary,
            frames: mention.site.frames(),
        };
        let places: Vec<HostPlace> =
            mentions.iter().map(place).filter(|place| !place.frames.is_empty()).collect();
        match places.is_empty() {
            true => Record::Finding(Box::new(finding)),
            false => Record::Sited(Box::new(finding), places),
        }
    }
}

/// A call of the host that a finding shows, by the frames of its stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPlace {
    /// What the reader should see there.
    pub label: String,
    /// Whether the finding points there.
    pub primary: bool,
    /// The frames, the innermost first.
    pub frames: Vec<HostFrame>,
}

/// A launch with what a static check can use of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LaunchRecord {
    /// The process.
    pub process: u32,
    /// The image's number.
    pub image: usize,
    /// The kernel's name, mangled.
    pub kernel: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Values of integer parameters that are no addresses, by position.
    pub parameters: BTreeMap<usize, i64>,
    /// Registers of a thread.
    pub registers: u32,
}

/// Where records go.
#[derive(Debug)]
pub struct Journal {
    folder: Option<PathBuf>,
    file: Mutex<Option<File>>,
}

impl Journal {
    /// The journal that the environment names; without one, findings go to standard error as sentences.
    #[must_use]
    pub fn from_environment() -> Journal {
        let folder = std::env::var_os(FOLDER).map(PathBuf::from);
        let open =
            |folder: &PathBuf| OpenOptions::new().append(true).create(true).open(folder.join(FILE)).ok();
        let file = folder.as_ref().and_then(open);
        Journal { folder: folder.filter(|_| file.is_some()), file: Mutex::new(file) }
    }

    /// The folder, when there is a journal.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Writes a record.
    pub fn write(&self, record: &Record) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match (file.as_mut(), serde_json::to_string(record)) {
            (Some(file), Ok(mut line)) => {
                line.push('\n');
                // A parent that is gone needs no report.
                let _ = file.write_all(line.as_bytes());
            }
            (None, _) => say(record),
            (Some(_), Err(_)) => {}
        }
    }
}

/// Without a parent process the user still hears what must be heard.
fn say(record: &Record) {
    let sentence = match record {
        Record::Trouble(sentence) => sentence.clone(),
        Record::Finding(finding) | Record::Sited(finding, _) if finding.severity > Severity::Note => {
            let place = finding.primary_span().map(|span| format!(" ({}:{})", span.file, span.line));
            let waits = finding.waits.as_ref().map(|graph| format!("\n  {}", graph.sentence));
            format!(
                "{}[{}]: {}{}{}",
                finding.rule.name(),
                finding.rule.code(),
                finding.message,
                place.unwrap_or_default(),
                waits.unwrap_or_default()
            )
        }
        _ => return,
    };
    let _ = writeln!(std::io::stderr(), "standstill: {sentence}");
}

/// Where threads meet, as the file says that the environment names; nothing without one.
#[must_use]
pub fn contended() -> Vec<(usize, u32, u32)> {
    let text = std::env::var_os(CONTENDED).and_then(|file| std::fs::read(file).ok());
    text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Reads the whole records of a journal; a line that was cut off, or comes from another version, is left out.
#[must_use]
pub fn read(text: &str) -> Vec<Record> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use standstill_findings::{Rule, Span};

    #[test]
    fn records_come_back_and_cut_lines_are_left_out() {
        let mut finding = Finding::new(Rule::WaitCycle, "k", "m");
        finding.spans.push(Span::primary("a.cu", 3, 1, "here"));
        let records = vec![
            Record::Started { process: 1, card: "h200".into() },
            Record::Finding(Box::new(finding)),
            Record::Parked(None),
        ];
        let mut text = String::new();
        for record in &records {
            text.push_str(&serde_json::to_string(record).unwrap());
            text.push('\n');
        }
        text.push_str("{\"Trouble\":\"cut o");
        assert_eq!(read(&text), records);
    }
}
