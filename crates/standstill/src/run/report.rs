//! The report of a run: on standard error, since standard output is the program's.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use standstill_report::{Report, render_errors, to_html, to_json};
use standstill_supervisor::Dump;

use super::host::HostReport;
use crate::args::{Format, OutputArgs};
use crate::disk::DiskSources;
use crate::output::{colored, fail, render, save};

/// Whether the report is for a person.
pub(crate) fn is_text(arguments: &OutputArgs) -> bool {
    arguments.format == Format::Text
}

/// Whether a report is asked for even when there is nothing to say.
pub(crate) fn wanted_always(arguments: &OutputArgs) -> bool {
    !is_text(arguments) || arguments.output.is_some() || arguments.html.is_some()
}

/// Writes the report where the arguments say, otherwise to standard error; false when it could not be written there.
pub(crate) fn write(
    report: &Report,
    host: Option<&HostReport>,
    sources: &DiskSources,
    arguments: &OutputArgs,
) -> bool {
    let mut err = io::stderr();
    let color = arguments.output.is_none() && colored(arguments.color, &err);
    if !report.errors.is_empty() {
        let _ = err.write_all(render_errors(report, color).as_bytes());
    }
    let mut text = match render(report, sources, arguments, color) {
        Ok(text) => text,
        Err(message) => {
            fail(&format!("the report could not be written: {message}"));
            return false;
        }
    };
    match (arguments.format, host) {
        (Format::Text, Some(host)) => {
            if report.coverage.kernels == 0 && report.findings.is_empty() {
                // Nothing of the GPU was seen; the host's side says why.
                text.clear();
            }
            let took = host.explained_after.as_secs_f64();
            text = format!("{text}\n{}  explained after {took:.2} s\n", host.text);
        }
        (Format::Json, Some(host)) => text = with_field(&text, "watchdog", &host.json),
        _ => {}
    }
    let page = arguments.html.as_deref().is_none_or(|path| save(path, &to_html(report, sources)));
    let saved = arguments.output.as_deref().map(|path| save(path, &text));
    if saved != Some(true) {
        let _ = err.write_all(text.as_bytes());
    }
    page && saved != Some(false)
}

/// Adds a field at the end of a JSON object; the others stay as they were written.
fn with_field(document: &str, name: &str, value: &serde_json::Value) -> String {
    let Some(body) = document.trim_end().strip_suffix('}') else { return document.to_owned() };
    let value = serde_json::to_string_pretty(value).unwrap_or_else(|_| "null".to_owned());
    format!("{},\n  \"{name}\": {}\n}}\n", body.trim_end(), value.replace('\n', "\n  "))
}

/// Puts the report beside the dumps that were kept.
pub(crate) fn keep_report(folder: &Path, report: &Report, host: Option<&HostReport>) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let text = to_json(report).map_err(io::Error::other)?;
    let text = host.map_or_else(|| text.clone(), |host| with_field(&text, "watchdog", &host.json));
    fs::write(folder.join("report.json"), text)
}

/// Copies the dumps into a folder of the user's.
pub(crate) fn keep_dumps(folder: &Path, dumps: &[Dump]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for dump in dumps.iter().filter(|dump| dump.core.exists()) {
        fs::copy(&dump.core, folder.join(format!("core.{}", dump.pid)))?;
    }
    Ok(())
}

/// A line for a person who waits; nothing when nobody looks.
pub(crate) fn progress(line: &str) {
    let mut err = io::stderr();
    if err.is_terminal() {
        let _ = writeln!(err, "standstill: {line}");
    }
}
