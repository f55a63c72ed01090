//! `streams`: what the host operations of recorded runs break by their order.

mod dump;
mod places;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use standstill_findings::{Coverage, Finding, NotUnderstood, Timeline};
use standstill_report::{Input, InputError, Report, base_name, merge};
use standstill_stream_order::{
    Check, Drawing, Launches, Name, NoReach, Outstanding, Place, Places, Reach, findings,
};
use standstill_trace::{Access, Call, Damage, Reader, Record, Writer};

use crate::args::{Format, OutputArgs, VerdictArgs};
use crate::check::{command_line, is_allowed};
use crate::disk::DiskSources;
use crate::exit;
use crate::input::sha256;
use crate::output::{self, print};
use places::KnownPlaces;
use places::Resolved;

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

/// What a trace gave.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) findings: Vec<Finding>,
    pub(crate) coverage: Coverage,
    /// Operations of which it stayed unknown what they touch.
    pub(crate) unknown: u64,
    /// Pairs of launches that share a pointer without order, and where the first stands.
    pub(crate) undecided: Option<NotUnderstood>,
    /// Why the trace could not be read to its end.
    pub(crate) damage: Option<Damage>,
    /// Where its sites stand in the source.
    pub(crate) places: Vec<Resolved>,
    /// What launches touch that a card has run, as far as it is known.
    pub(crate) reaches: Vec<(u32, Vec<Access>)>,
}

/// Judges a trace, up to where it can be read.
///
/// # Errors
/// When it is no trace.
pub(crate) fn judge(bytes: &[u8]) -> Result<Judged, Damage> {
    judge_with(bytes, &mut NoReach)
}

/// Judges a trace of a program that a card has run.
///
/// # Errors
/// As for [`judge`].
pub(crate) fn judge_with(bytes: &[u8], reach: &mut dyn Reach) -> Result<Judged, Damage> {
    let (mut check, mut places, mut damage) = (Check::default(), KnownPlaces::default(), None);
    let mut launches = launches_of(bytes, reach)?;
    for record in Reader::new(bytes)? {
        match record {
            Ok(record) => {
                places.take(&record);
                check.take(&launches.expand(record));
            }
            Err(found) => damage = Some(found),
        }
    }
    let (conflicts, seen) = check.finish();
    let findings = findings(&conflicts, &places);
    let coverage = Coverage {
        kernels: launches.kernels(),
        launches: launches.launches,
        operations: seen.operations,
        widened: seen.widened,
    };
    let mut reaches: Vec<_> =
        launches.known().map(|(launch, accesses)| (launch, accesses.to_vec())).collect();
    reaches.sort_unstable_by_key(|(launch, _)| *launch);
    let undecided = (seen.undecided > 0).then(|| {
        let place = seen.undecided_at.and_then(|site| places.place(site));
        let Place { file, line } = place.unwrap_or(Place { file: String::new(), line: 0 });
        let what = "pairs of launches that nothing orders and that share a pointer, which no known code uses"
            .to_owned();
        NotUnderstood { file, line, what, count: seen.undecided }
    });
    let (unknown, places) = (seen.unknown, places.resolved());
    Ok(Judged { findings, coverage, unknown, undecided, damage, places, reaches })
}

/// What a trace says by itself of its launches: that stands behind them.
fn launches_of<'a>(bytes: &[u8], reach: &'a mut dyn Reach) -> Result<Launches<'a>, Damage> {
    let mut launches = Launches::new(reach);
    Reader::new(bytes)?.map_while(Result::ok).for_each(|record| launches.told(&record));
    launches.begin();
    Ok(launches)
}

/// A trace that also says where its sites stand in the source, and what its launches touch: it can be judged without
/// the program.
pub(crate) fn with_places_of(mut bytes: Vec<u8>, judged: &Judged) -> Vec<u8> {
    let Ok(mut reader) = Reader::new(&bytes) else { return bytes };
    // Behind a record that is cut short nothing could be read.
    if !reader.by_ref().all(|record| record.is_ok()) {
        return bytes;
    }
    // A program that writes into the file's memory leaves room behind its records.
    let length = reader.length();
    bytes.truncate(length);
    let places = judged.places.iter().map(|Resolved { site, file, line }| Call::PlaceSite {
        site: *site,
        file: file.clone(),
        line: *line,
    });
    let reaches = judged.reaches.iter();
    let reaches =
        reaches.map(|(launch, accesses)| Call::ReachOfLaunch { launch: *launch, accesses: accesses.clone() });
    for call in places.chain(reaches) {
        // Memory takes whatever is written to it.
        let _ = Writer::behind(&mut bytes).write(&Record { thread: 0, site: 0, call });
    }
    bytes
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
        let judged = std::fs::read(path).map_err(|error| error.to_string()).and_then(|bytes| {
            let judged = judge(&bytes).map_err(|damage| damage.to_string())?;
            if arguments.output.html.is_some() {
                report.timelines.push(draw(&bytes, &shown));
            }
            report.evidence.inputs.push(Input { path: shown.clone(), sha256: sha256(&bytes) });
            Ok(judged)
        });
        let error = |message| InputError { file: shown.clone(), line: 0, column: 0, message };
        let mut judged = match judged {
            Ok(judged) => judged,
            Err(message) => {
                report.errors.push(error(message));
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
        report.not_understood.extend(judged.undecided);
    }
    report.evidence.command = command_line();
    report.exit = i32::from(exit::code(&report, arguments.verdict.strict));
    output::write(&report, &sources, &arguments.output)
}

/// What a trace shows, as a picture around what is wrong.
pub(crate) fn draw(bytes: &[u8], title: &str) -> Timeline {
    let each = |take: &mut dyn FnMut(&Record)| {
        let mut reach = NoReach;
        let Ok(mut launches) = launches_of(bytes, &mut reach) else { return };
        for record in Reader::new(bytes).into_iter().flatten().flatten() {
            take(&launches.expand(record));
        }
    };
    let (mut check, mut places) = (Check::default(), KnownPlaces::default());
    each(&mut |record| {
        places.take(record);
        check.take(record);
    });
    let (conflicts, _) = check.finish();
    let mut drawing = Drawing::new(&conflicts, &places);
    each(&mut |record| drawing.take(record));
    drawing.finish(title)
}

/// What was asked for and is not known to be done, in lines: what stands before the rest, and how much that is. The
/// trace may still be written. These kernels were seen to run.
pub(crate) fn outstanding(bytes: &[u8], running: &[&str]) -> Vec<String> {
    let (mut outstanding, mut places) = (Outstanding::default(), KnownPlaces::default());
    let mut reach = NoReach;
    let Ok(mut launches) = launches_of(bytes, &mut reach) else { return Vec::new() };
    for record in Reader::new(bytes).into_iter().flatten().map_while(Result::ok) {
        places.take(&record);
        outstanding.take(&launches.expand(record));
    }
    let asked = outstanding.operations();
    let (fronts, count) = outstanding.finish(&|symbol| running.contains(&base_name(symbol).as_str()));
    if asked == 0 {
        return Vec::new();
    }
    if count == 0 {
        return vec![format!("the host knows all {asked} operations to be done that it has asked for")];
    }
    let lines = fronts.iter().map(|front| {
        let name = match &front.name {
            Name::Kernel(symbol) => format!("kernel `{}`", places.readable(symbol)),
            other => other.to_string(),
        };
        let stream = match front.stream {
            0 => "the default stream".to_owned(),
            stream => format!("stream {stream}"),
        };
        let place = places.place(front.site).map(|it| format!(" ({}:{})", it.file, it.line));
        let behind = match front.behind {
            0 => String::new(),
            1 => "; 1 operation behind it".to_owned(),
            more => format!("; {more} operations behind it"),
        };
        format!("  {name} on {stream}{}{behind}", place.unwrap_or_default())
    });
    let first =
        format!("of {asked} operations that the host has asked for it does not know {count} to be done:");
    std::iter::once(first).chain(lines).collect()
}

/// What a report says of operations of which it stayed unknown what they touch.
pub(crate) fn unknown_bytes(file: &str, count: u64) -> Option<NotUnderstood> {
    let what = "operations whose bytes are not known".to_owned();
    (count > 0).then(|| NotUnderstood { file: file.to_owned(), line: 0, what, count })
}

fn dump_all(files: &[PathBuf], format: Format) -> u8 {
    let mut exit = 0;
    for path in files {
        let dumped = std::fs::read(path).map_err(|error| error.to_string());
        let shown = path.display().to_string();
        let dumped = dumped.and_then(|bytes| match format {
            Format::Json => dump_json(&bytes, &shown),
            _ => dump_text(&bytes),
        });
        if let Err(message) = dumped {
            output::fail(&format!("{shown}: {message}"));
            exit = exit::BAD_INPUT;
        }
    }
    exit
}

/// All places of a trace: they stand behind what they are about.
fn places_of(bytes: &[u8]) -> Result<KnownPlaces, String> {
    let mut places = KnownPlaces::default();
    let records = Reader::new(bytes).map_err(|damage| damage.to_string())?;
    records.map_while(Result::ok).for_each(|record| places.take(&record));
    Ok(places)
}

fn dump_text(bytes: &[u8]) -> Result<(), String> {
    let places = places_of(bytes)?;
    dump_each(bytes, |record| dump::line(record, &places))?.map_or(Ok(()), Err)
}

/// One object: `records` has a record in each line, as the trace has it and with its place in the source.
fn dump_json(bytes: &[u8], path: &str) -> Result<(), String> {
    let places = places_of(bytes)?;
    print(&format!("{{\"version\": 1, \"trace\": {}, \"records\": [\n", json!(path)));
    let mut first = true;
    let damage = dump_each(bytes, |record| {
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
fn dump_each(bytes: &[u8], mut text: impl FnMut(&Record) -> String) -> Result<Option<String>, String> {
    const PIECE: usize = 64 << 10;
    let (mut piece, mut damage) = (String::new(), None);
    for record in Reader::new(bytes).map_err(|damage| damage.to_string())? {
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
