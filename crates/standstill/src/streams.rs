//! `streams`: what the host operations of recorded runs break by their order.

mod dump;
mod judge;
mod places;
mod stored;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use standstill_findings::NotUnderstood;
use standstill_report::{Input, InputError, Report, merge};
use standstill_stream_order::{NoReach, Places};
use standstill_trace::{Damage, Record};

use crate::args::{Format, OutputArgs, VerdictArgs};
use crate::check::{command_line, is_allowed};
use crate::disk::DiskSources;
use crate::exit;
use crate::input::Hash;
use crate::output::{self, print};
pub(crate) use judge::{draw, judge, outstanding};
use places::KnownPlaces;
pub(crate) use stored::{Stored, keep_traces};

#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 an input or the call is wrong, \
                        3 not decided."
)]
pub(crate) struct StreamsArgs {
    /// Traces that `standstill run --trace FILE` has written
    #[arg(required = true, value_name = "TRACE")]
    files: Vec<PathBuf>,
    /// Show the records, a line each, and judge nothing; with `--format json` as one object
    #[arg(long)]
    dump: bool,

    #[command(flatten)]
    verdict: VerdictArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Judges the traces and writes the report; gives the exit code.
pub(crate) fn streams(arguments: &StreamsArgs) -> u8 {
    if arguments.dump {
        return dump_all(&arguments.files, arguments.output.format);
    }
    let allowed = arguments.verdict.allowed();
    let sources = DiskSources::default();
    let mut report = Report { fail_on: arguments.verdict.fail_on.severity(), ..Report::default() };
    for path in &arguments.files {
        let shown = path.display().to_string();
        let trace = Stored::File(path.clone());
        let judged = judge(&trace, &mut NoReach, None).and_then(|judged| {
            if arguments.output.html.is_some() {
                report.timelines.push(draw(&trace, &shown));
            }
            let mut hash = Hash::default();
            trace.copy_to(&mut hash).map_err(|error| Damage::Unreadable { error: error.to_string() })?;
            report.evidence.inputs.push(Input { path: shown.clone(), sha256: hash.text() });
            Ok(judged)
        });
        let error = |message| InputError { file: shown.clone(), line: 0, column: 0, message };
        let mut judged = match judged {
            Ok(judged) => judged,
            Err(damage) => {
                report.errors.push(error(damage.to_string()));
                continue;
            }
        };
        // What comes before a cut is judged; a program that was killed leaves one.
        report.errors.extend(judged.damage.map(|damage| error(damage.to_string())));
        let before = judged.findings.len();
        judged.findings.retain(|finding| !is_allowed(finding, &allowed, &shown, &sources));
        report.allowed += (before - judged.findings.len()) as u64;
        report.findings.extend(merge(&shown, judged.findings));
        report.coverage.add(judged.coverage);
        report.not_understood.extend(unknown_bytes(&shown, judged.unknown));
        report.not_understood.extend(judged.not_understood);
    }
    report.evidence.command = command_line();
    report.exit = i32::from(exit::code(&report, arguments.verdict.strict));
    output::write(&report, &sources, &arguments.output)
}

/// What a report says of operations of which it stayed unknown what they touch.
pub(crate) fn unknown_bytes(file: &str, count: u64) -> Option<NotUnderstood> {
    let what = "operations whose bytes are not known".to_owned();
    (count > 0).then(|| NotUnderstood { file: file.to_owned(), line: 0, what, count })
}

fn dump_all(files: &[PathBuf], format: Format) -> u8 {
    let mut exit = 0;
    for path in files {
        let (trace, shown) = (Stored::File(path.clone()), path.display().to_string());
        let dumped = match format {
            Format::Json => dump_json(&trace, &shown),
            _ => dump_text(&trace),
        };
        if let Err(message) = dumped {
            output::fail(&format!("{shown}: {message}"));
            exit = exit::BAD_INPUT;
        }
    }
    exit
}

/// All places of a trace: they stand behind what they are about.
fn places_of(trace: &Stored) -> Result<KnownPlaces, String> {
    let mut places = KnownPlaces::default();
    let records = trace.open().map_err(|damage| damage.to_string())?;
    records.map_while(Result::ok).for_each(|record| places.take(&record));
    Ok(places)
}

fn dump_text(trace: &Stored) -> Result<(), String> {
    let places = places_of(trace)?;
    dump_each(trace, |record| dump::line(record, &places))?.map_or(Ok(()), Err)
}

/// One object: `records` has a record in each line, as the trace has it and with its place in the source.
fn dump_json(trace: &Stored, path: &str) -> Result<(), String> {
    let places = places_of(trace)?;
    print(&format!("{{\"version\": 1, \"trace\": {}, \"records\": [\n", json!(path)));
    let mut first = true;
    let damage = dump_each(trace, |record| {
        let place = places.place(record.site).map(|it| json!({"file": it.file, "line": it.line}));
        let record =
            json!({"thread": record.thread, "site": record.site, "place": place, "call": record.call});
        let begin = if std::mem::take(&mut first) { "" } else { ",\n" };
        format!("{begin}{record}")
    })?;
    print(&format!("\n], \"damage\": {}}}\n", json!(damage)));
    damage.map_or(Ok(()), Err)
}

/// Prints the text of every record, and gives why the trace cannot be read further.
fn dump_each(trace: &Stored, mut text: impl FnMut(&Record) -> String) -> Result<Option<String>, String> {
    const PIECE: usize = 64 << 10;
    let (mut piece, mut damage) = (String::new(), None);
    for record in trace.open().map_err(|damage| damage.to_string())? {
        match record {
            Ok(record) => piece.push_str(&text(&record)),
            Err(found) => damage = Some(found.to_string()),
        }
        if piece.len() > PIECE {
            print(&std::mem::take(&mut piece));
        }
    }
    print(&piece);
    Ok(damage)
}
