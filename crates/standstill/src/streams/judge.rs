//! What a trace says of its program: what is broken, how it looks as a picture, what is not over.

use std::io::{self, Write};

use standstill_findings::{Coverage, Finding, NotUnderstood, Timeline};
use standstill_report::base_name;
use standstill_stream_order::{
    Check, Drawing, Launches, Name, NoReach, Outstanding, Place, Places, Reach, findings,
};
use standstill_trace::{Access, Call, Damage, Record, Site, Writer};

use super::places::{KnownPlaces, Resolved};
use super::stored::Stored;

/// What a trace gave.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) findings: Vec<Finding>,
    pub(crate) coverage: Coverage,
    /// Operations of which it stayed unknown what they touch.
    pub(crate) unknown: u64,
    /// What else could not be judged.
    pub(crate) not_understood: Vec<NotUnderstood>,
    /// Why the trace could not be read to its end.
    pub(crate) damage: Option<Damage>,
}

const UNDECIDED: &str =
    "pairs of launches that nothing orders and that share a pointer, which no known code uses";
const BESIDE_UNSEEN: &str =
    "copies and functions of the host beside which the host's own accesses are not seen on a card";

/// Judges a trace, up to where it can be read. It is kept with what it does not say itself, where that is wanted: where
/// its sites stand in the source, and what its launches touch, so that it can be judged without the program.
///
/// # Errors
/// When it is no trace.
pub(crate) fn judge(
    trace: &Stored,
    reach: &mut dyn Reach,
    keep: Option<&mut dyn Write>,
) -> Result<Judged, Damage> {
    let (mut check, mut places, mut damage) = (Check::default(), KnownPlaces::default(), None);
    let mut launches = launches_of(trace, reach)?;
    let mut kept = Kept::begin(keep);
    let mut records = trace.open()?;
    while let Some(record) = records.next() {
        match record {
            Ok(record) => {
                places.take(&record);
                let record = launches.expand(record);
                kept.add(records.as_written(), launches.newly_known());
                check.take(&record);
            }
            Err(found) => damage = Some(found),
        }
    }
    kept.finish(&places, |into| if damage.is_some() { records.copy_rest(into) } else { Ok(()) });
    let (conflicts, seen) = check.finish();
    let findings = findings(&conflicts, &places);
    let coverage = Coverage {
        kernels: launches.kernels(),
        launches: launches.launches,
        operations: seen.operations,
        widened: seen.widened,
    };
    let not_understood = |what: &str, count: u64, first: Option<Site>| {
        let place = first.and_then(|site| places.place(site));
        let Place { file, line } = place.unwrap_or(Place { file: String::new(), line: 0 });
        (count > 0).then(|| NotUnderstood { file, line, what: what.to_owned(), count })
    };
    let undecided = not_understood(UNDECIDED, seen.undecided, seen.undecided_at);
    let beside = not_understood(BESIDE_UNSEEN, seen.beside_unseen, seen.beside_unseen_at);
    let not_understood = undecided.into_iter().chain(beside).collect();
    Ok(Judged { findings, coverage, unknown: seen.unknown, not_understood, damage })
}

/// What a trace says by itself of its launches: that may stand behind them.
fn launches_of<'a>(trace: &Stored, reach: &'a mut dyn Reach) -> Result<Launches<'a>, Damage> {
    let mut launches = Launches::new(reach);
    trace.open()?.map_while(Result::ok).for_each(|record| launches.told(&record));
    launches.begin();
    Ok(launches)
}

/// The trace that is kept, as long as it can be written.
struct Kept<'a>(Option<&'a mut dyn Write>);

impl<'a> Kept<'a> {
    fn begin(into: Option<&'a mut dyn Write>) -> Kept<'a> {
        let mut kept = Kept(into);
        kept.write(|into| Writer::new(into).map(|_| ()));
        kept
    }

    fn write(&mut self, does: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.0.as_mut().is_some_and(|into| does(&mut **into).is_err()) {
            self.0 = None;
        }
    }

    fn record(&mut self, call: Call) {
        self.write(|into| Writer::behind(into).write(&Record { thread: 0, site: 0, call }));
    }

    /// Adds a record, and before it what is known of its launch since.
    fn add(&mut self, written: &[u8], known: Option<(u32, &[Access])>) {
        if self.0.is_none() {
            return;
        }
        if let Some((launch, accesses)) = known {
            self.record(Call::ReachOfLaunch { launch, accesses: accesses.to_vec() });
        }
        self.write(|into| into.write_all(written));
    }

    /// Adds the places, and what is damaged behind them: nothing could be read there.
    fn finish(mut self, places: &KnownPlaces, rest: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.0.is_some() {
            for Resolved { site, file, line } in places.resolved() {
                self.record(Call::PlaceSite { site, file, line });
            }
        }
        self.write(rest);
        self.write(|into| into.flush());
    }
}

/// What a trace shows, as a picture around what is wrong.
pub(crate) fn draw(trace: &Stored, title: &str) -> Timeline {
    let each = |take: &mut dyn FnMut(&Record)| {
        let mut reach = NoReach;
        let Ok(mut launches) = launches_of(trace, &mut reach) else { return };
        for record in trace.open().into_iter().flatten().flatten() {
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
pub(crate) fn outstanding(trace: &Stored, running: &[&str]) -> Vec<String> {
    let (mut outstanding, mut places) = (Outstanding::default(), KnownPlaces::default());
    let mut reach = NoReach;
    let Ok(mut launches) = launches_of(trace, &mut reach) else { return Vec::new() };
    for record in trace.open().into_iter().flatten().map_while(Result::ok) {
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
