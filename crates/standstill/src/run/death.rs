//! A program that a signal has killed: which, and what the GPU was doing.

use std::collections::BTreeMap;
use std::path::Path;

use standstill_report::{display_name, shorten};
use standstill_trace::{Call, Work};

use crate::streams::Stored;

/// Signals that end programs, as Linux numbers them.
const NAMES: [(i32, &str); 14] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
    (31, "SIGSYS"),
];

/// The sentence about it.
pub(super) fn sentence(signal: i32, traces: &[Stored]) -> String {
    let name = NAMES.iter().find(|(number, _)| *number == signal).map(|(_, name)| format!(" ({name})"));
    let launch = traces.iter().find_map(outstanding).unwrap_or_default();
    format!("standstill: the program was killed by signal {signal}{}{launch}", name.unwrap_or_default())
}

/// The first launch that had not ended, as the end of the sentence.
fn outstanding(trace: &Stored) -> Option<String> {
    let mut open: BTreeMap<u64, (String, u32)> = BTreeMap::new();
    let mut places: BTreeMap<u32, String> = BTreeMap::new();
    let here = std::env::current_dir().ok();
    for record in trace.open().ok()?.map_while(Result::ok) {
        match record.call {
            Call::Submit { operation, work: Work::Kernel { name, .. }, .. }
            | Call::SubmitNode { operation, work: Work::Kernel { name, .. }, .. } => {
                open.insert(operation, (name, record.site));
            }
            Call::Reach { operation, .. } => _ = open.remove(&operation),
            // Launches of templates stand in a file that the compiler made.
            Call::PlaceSite { site, file, line } if !file.ends_with(".stub.c") => {
                let path = Path::new(&file);
                let near = here.as_ref().and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path);
                places.insert(site, format!(", launched at {}:{line},", near.display()));
            }
            _ => {}
        }
    }
    let more = open.len().saturating_sub(1);
    let (_, (name, site)) = open.into_iter().next()?;
    let place = places.get(&site).cloned().unwrap_or_default();
    let more = match more {
        0 => String::new(),
        1 => "; so had one launch behind it".to_owned(),
        more => format!("; so had {more} launches behind it"),
    };
    Some(format!("; the kernel `{}`{place} had not ended{more}", shorten(&display_name(&name))))
}
