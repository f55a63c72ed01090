//! Prints what the engines found: terminal text in the manner of a compiler, JSON (a contract that
//! scripts rely on), SARIF 2.1.0, JUnit, and one HTML page with pictures.
//!
//! Belongs here: everything about how findings look, and merging what is the same finding in many
//! instantiations of one template.
//! Does not belong here: finding anything, deciding how bad it is, and writing to files or
//! terminals: every function gives back a string.

mod html;
mod json;
mod junit;
mod merge;
mod names;
mod report;
mod sarif;
mod snippet;
mod sources;
mod summary;
mod text;

pub use html::to_html;
pub use json::to_json;
pub use junit::to_junit;
pub use merge::merge;
pub use names::{base_name, display_name, shorten};
pub use report::{
    Evidence, Explored, Input, InputError, Kernel, Report, Reported, Runs, Schedule, ScheduleStep,
};
pub use sarif::to_sarif;
pub use sources::{MemorySources, SourceText, Sources};
pub use summary::summary;
pub use text::{TextOptions, render_errors, render_text};

#[cfg(test)]
mod testing;
