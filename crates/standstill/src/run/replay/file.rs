//! A schedule as a file: where it comes from, the launch with the memory that it finds, and the accesses in their order.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use standstill_cuda_driver::capture::{Contents, LaunchImage, RegionImage};
use standstill_explore::{Failure, Launch, Region, ScheduleStep, Standing};
use standstill_findings::Finding;

/// What the file says it is.
const FORMAT: &str = "standstill-schedule";
/// The version that is written and read.
const VERSION: u32 = 1;

/// A schedule with everything that replaying it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScheduleFile {
    /// [`FORMAT`].
    pub(crate) format: String,
    pub(crate) version: u32,
    pub(crate) input: SavedInput,
    /// What the schedule shows.
    pub(crate) finding: Finding,
    /// What memory was to hold at the end, where that is what does not come true.
    pub(crate) expect: Option<String>,
    /// Every access of every thread, in their order.
    pub(crate) steps: Vec<SavedStep>,
    /// Where threads stand that go on behind the last one.
    pub(crate) stands: Vec<SavedStand>,
    /// What memory is called.
    pub(crate) names: Vec<SavedName>,
    pub(crate) launch: LaunchImage,
}

/// The file that was explored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedInput {
    pub(crate) path: PathBuf,
    /// Of its bytes, in hexadecimal.
    pub(crate) sha256: String,
}

/// One access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedStep {
    pub(crate) block: u32,
    pub(crate) thread: u32,
    /// In the user's source; 0 when it is not known.
    pub(crate) line: u32,
    /// Byte offset of the instruction in the launch's text.
    pub(crate) offset: u32,
    /// What it does, for a reader.
    pub(crate) does: String,
    /// The bytes; none for what touches no memory.
    pub(crate) touches: Option<SavedBytes>,
}

/// Bytes that an access touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedBytes {
    pub(crate) address: u64,
    /// The address counts from the start of the block's shared memory.
    pub(crate) shared: bool,
    /// How many.
    pub(crate) bytes: u32,
    pub(crate) before: u64,
    pub(crate) after: u64,
}

/// Where a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedStand {
    pub(crate) block: u32,
    pub(crate) thread: u32,
    pub(crate) offset: u32,
}

/// The name of a piece of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedName {
    pub(crate) address: u64,
    pub(crate) name: String,
    /// Bytes of one element.
    pub(crate) element: u32,
}

/// What a schedule is saved of.
pub(crate) struct Saved<'a> {
    pub(crate) input: SavedInput,
    pub(crate) text: &'a str,
    /// The kernel's mangled name.
    pub(crate) kernel: &'a str,
    pub(crate) launch: &'a Launch,
    pub(crate) expect: Option<&'a str>,
}

impl ScheduleFile {
    /// The schedule of a failure; `None` where it is too long to be followed.
    pub(crate) fn new(saved: &Saved<'_>, failure: &Failure, finding: &Finding) -> Option<ScheduleFile> {
        let track = failure.track.as_ref()?;
        let Launch { grid, block, cluster, dynamic_shared, .. } = *saved.launch;
        let region = |region: &Region| RegionImage {
            address: region.address,
            contents: Contents(region.bytes.clone()),
        };
        let name = |region: &Region| SavedName {
            address: region.address,
            name: region.name.clone(),
            element: region.element,
        };
        Some(ScheduleFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            input: saved.input.clone(),
            finding: finding.clone(),
            expect: saved.expect.map(str::to_owned),
            steps: track.accesses.iter().map(saved_step).collect(),
            stands: track.stands.iter().map(saved_stand).collect(),
            names: saved.launch.memory.iter().map(name).collect(),
            launch: LaunchImage {
                version: LaunchImage::VERSION,
                text: saved.text.to_owned(),
                kernel: saved.kernel.to_owned(),
                grid,
                block,
                cluster,
                cooperative: false,
                dynamic_shared,
                parameters: Contents(saved.launch.parameters.clone()),
                variables: saved.launch.variables.clone(),
                memory: saved.launch.memory.iter().map(region).collect(),
            },
        })
    }

    /// Writes it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), String> {
        let wrong = |error: String| format!("{}: the schedule cannot be saved: {error}", path.display());
        let mut text = serde_json::to_string_pretty(self).map_err(|error| wrong(error.to_string()))?;
        text.push('\n');
        std::fs::write(path, text).map_err(|error| wrong(error.to_string()))
    }

    /// Reads what [`ScheduleFile::write`] has written.
    pub(crate) fn read(path: &Path) -> Result<ScheduleFile, String> {
        let wrong = |what: String| format!("{}: {what}", path.display());
        let text = std::fs::read(path).map_err(|error| wrong(crate::input::unreadable(path, &error)))?;
        let value: serde_json::Value = serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("this is no schedule, or a part of one: {error}")))?;
        if value.get("format").and_then(|format| format.as_str()) != Some(FORMAT) {
            return Err(wrong("this is no schedule: `explore --save FILE` writes them".to_owned()));
        }
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            other => {
                let other = other.map_or("none".to_owned(), |version| version.to_string());
                return Err(wrong(format!(
                    "it is of version {other}, and version {VERSION} is read: save it again with this command"
                )));
            }
        }
        serde_json::from_value(value).map_err(|error| wrong(format!("the schedule is damaged: {error}")))
    }
}

/// An access as the file has it.
pub(super) fn saved_step(step: &ScheduleStep) -> SavedStep {
    SavedStep {
        block: step.block,
        thread: step.thread,
        line: step.place.line,
        offset: step.place.offset,
        does: step.words(),
        touches: step.touched.map(|touched| SavedBytes {
            address: touched.address,
            shared: touched.shared,
            bytes: touched.bytes,
            before: touched.before,
            after: touched.after,
        }),
    }
}

/// Where a thread stands, as the file has it.
pub(super) fn saved_stand(stand: &Standing) -> SavedStand {
    SavedStand { block: stand.block, thread: stand.thread, offset: stand.offset }
}
