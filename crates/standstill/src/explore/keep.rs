//! Keeping what was found: schedules as files, and the folder of evidence.

use std::fs;
use std::path::{Path, PathBuf};

use standstill_explore::{Failure, Launch};
use standstill_findings::Finding;
use standstill_report::{Report, to_json};

use super::ExploreArgs;
use super::subject::Subject;
use crate::run::{Saved, SavedInput, ScheduleFile};

/// The schedules' file in a folder of evidence.
const SCHEDULE: &str = "schedule.json";

/// Saves the schedule of each finding where the arguments say, and gives the finding the command that replays it.
pub(super) fn save(
    findings: &mut [(Finding, Option<&Failure>)],
    launch: &Launch,
    subject: &Subject,
    arguments: &ExploreArgs,
) -> Result<(), String> {
    let mut places: Vec<PathBuf> = arguments.save.clone().into_iter().collect();
    if let Some(folder) = &arguments.evidence {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        places.push(folder.join(SCHEDULE));
    }
    let saved = Saved {
        input: SavedInput { path: subject.path.clone(), sha256: subject.sha256.clone() },
        text: &subject.text.text,
        kernel: &subject.symbol,
        launch,
        expect: arguments.expect.as_deref(),
    };
    let failures = findings.iter_mut().filter_map(|(finding, failure)| Some((finding, (*failure)?)));
    for ((finding, failure), number) in failures.zip(1..) {
        let Some(file) = ScheduleFile::new(&saved, failure, finding) else { continue };
        for place in &places {
            let place = numbered(place, number);
            file.write(&place)?;
            finding.replay.get_or_insert_with(|| format!("standstill run --replay {}", place.display()));
        }
    }
    Ok(())
}

/// `x.json`, `x.2.json`, …
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Puts the report and the code beside the schedules.
pub(super) fn keep_report(folder: &Path, report: &Report, subject: Option<&Subject>) -> Result<(), String> {
    let kept = || {
        fs::create_dir_all(folder)?;
        if let Some(subject) = subject {
            fs::write(folder.join("kernel.ptx"), &subject.text.text)?;
        }
        fs::write(folder.join("report.json"), to_json(report).map_err(std::io::Error::other)?)
    };
    kept().map_err(|error| format!("{}: the report cannot be kept there: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_schedules_are_numbered() {
        let check = |path: &str, number: u32, expected: &str| {
            assert_eq!(numbered(Path::new(path), number), Path::new(expected));
        };
        check("a/x.json", 1, "a/x.json");
        check("a/x.json", 2, "a/x.2.json");
        check("x", 3, "x.3");
    }
}
