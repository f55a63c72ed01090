//! Rendering a report, and writing it to the terminal or a file.

use std::io::{ErrorKind, Write};
use std::path::Path;

use standstill_report::{
    Report, TextOptions, render_errors, render_text, to_html, to_json, to_junit, to_sarif,
};

use crate::args::{Color, Format, OutputArgs};
use crate::disk::DiskSources;
use crate::exit::BAD_INPUT;

/// Writes the report where the arguments say; gives the exit code of the call.
pub(crate) fn write(report: &Report, sources: &DiskSources, arguments: &OutputArgs) -> u8 {
    let exit = u8::try_from(report.exit).unwrap_or(BAD_INPUT);
    if !report.errors.is_empty() {
        let color = colored(arguments.color, &std::io::stderr());
        let _ = std::io::stderr().write_all(render_errors(report, color).as_bytes());
    }
    let color = arguments.output.is_none() && colored(arguments.color, &std::io::stdout());
    let text = match render(report, sources, arguments, color) {
        Ok(text) => text,
        Err(message) => {
            fail(&format!("the report could not be written: {message}"));
            return BAD_INPUT;
        }
    };
    let page = arguments.html.as_deref().map(|path| save(path, &to_html(report, sources)));
    let written = match arguments.output.as_deref() {
        None => print(&text),
        Some(path) => {
            let saved = save(path, &text);
            if !saved {
                // What was found must not be lost.
                print(&text);
            }
            saved
        }
    };
    if written && page != Some(false) { exit } else { BAD_INPUT }
}

/// Writes a report to a file, or says why it cannot.
pub(crate) fn save(path: &Path, text: &str) -> bool {
    let written = std::fs::write(path, text);
    if let Err(error) = &written {
        fail(&format!("{}: the report cannot be written there: {}", path.display(), reason(path, error)));
    }
    written.is_ok()
}

fn reason(path: &Path, error: &std::io::Error) -> String {
    if path.is_dir() { "it is a directory".to_owned() } else { error.to_string() }
}

pub(crate) fn render(
    report: &Report,
    sources: &DiskSources,
    arguments: &OutputArgs,
    color: bool,
) -> Result<String, String> {
    match arguments.format {
        Format::Text => {
            let options = TextOptions {
                color,
                quiet: arguments.quiet,
                verbose: arguments.verbose,
                // On the terminal they go to the other stream.
                errors: arguments.output.is_some(),
                ..TextOptions::default()
            };
            Ok(render_text(report, sources, options))
        }
        Format::Json => to_json(report).map_err(|error| error.to_string()),
        Format::Sarif => to_sarif(report).map_err(|error| error.to_string()),
        Format::Junit => to_junit(report, sources).map_err(|error| error.to_string()),
    }
}

pub(crate) fn colored(choice: Color, stream: &impl anstream::stream::RawStream) -> bool {
    match choice {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => anstream::AutoStream::choice(stream) != anstream::ColorChoice::Never,
    }
}

/// Writes to standard output, or says why it cannot. A reader that has gone is no fault.
pub(crate) fn print(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            fail(&format!("standard output cannot be written: {error}"));
            false
        }
        _ => true,
    }
}

/// Says something beside the report, on standard error.
pub(crate) fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Says on standard error why the call cannot be done.
pub(crate) fn fail(message: &str) {
    let _ = writeln!(std::io::stderr(), "error: {message}");
}
