//! The schedule of a failure as the report draws it.

use std::collections::{BTreeSet, HashMap};

use standstill_explore::{Failure, FailureKind, LineOf, ScheduleStep, Stand, Stuck};
use standstill_findings::Finding;
use standstill_report::{Schedule, ScheduleStep as Drawn};

use super::subject::Subject;

/// Threads that go no further and take no step before, which are drawn.
const MOST_IDLE: usize = 16;

/// Draws the schedule that a finding tells of.
pub(super) fn drawn(
    failure: &Failure,
    finding: &Finding,
    subject: &Subject,
    line_of: &LineOf<'_>,
) -> Schedule {
    let steps = shown_steps(failure);
    let mut lanes: BTreeSet<(u32, u32)> = steps.iter().map(|step| (step.block, step.thread)).collect();
    lanes.extend(failure.stuck.iter().take(MOST_IDLE).map(|stuck| (stuck.block, stuck.thread)));
    let mut schedule = Schedule { finding: finding.message.clone(), ..Schedule::default() };
    for (block, thread) in lanes {
        schedule.lane(block, thread);
    }
    let mut files: HashMap<&str, String> = HashMap::new();
    for step in &steps {
        let (file, line) = match &step.place {
            place if place.line > 0 => {
                let file = files.entry(&place.file).or_insert_with(|| subject.readers_file(&place.file));
                (file.clone(), place.line)
            }
            place => {
                let (file, line, _) = line_of(place.offset);
                (file, line)
            }
        };
        let lane = schedule.lane(step.block, step.thread);
        schedule.steps.push(Drawn {
            lane,
            does: step.words(),
            writes: step.writes(),
            fault: false,
            file,
            line,
        });
    }
    for stuck in failure.stuck.iter().take(MOST_IDLE) {
        let end = end(stuck, &mut schedule);
        schedule.ends.push(end);
    }
    if !schedule.ends.is_empty() {
        return schedule;
    }
    let primary = finding.primary_span();
    let stops = matches!(
        failure.kind,
        FailureKind::Assertion { .. } | FailureKind::OutOfBounds { .. } | FailureKind::Misaligned { .. }
    );
    if let (true, Some(last), Some(span)) = (stops, schedule.steps.last(), primary) {
        let end = Drawn {
            lane: last.lane,
            does: span.label.clone(),
            line: span.line,
            fault: true,
            ..Drawn::default()
        };
        schedule.ends.push(end);
        return schedule;
    }
    let at = primary.and_then(|span| schedule.steps.iter().rposition(|step| step.line == span.line));
    let at = at.or(schedule.steps.len().checked_sub(1));
    if let Some(step) = at.and_then(|at| schedule.steps.get_mut(at)) {
        step.fault = true;
    }
    schedule
}

/// The steps to draw: where a race needs none that others can see, the accesses of the two threads.
fn shown_steps(failure: &Failure) -> Vec<&ScheduleStep> {
    match (&failure.kind, &failure.track) {
        (FailureKind::Race { accesses, .. }, Some(track)) if failure.schedule.is_empty() => {
            let races = |step: &&ScheduleStep| {
                let who = (step.block, step.thread);
                accesses.iter().any(|access| (access.block, access.thread) == who)
            };
            track.accesses.iter().filter(races).collect()
        }
        _ => failure.schedule.iter().collect(),
    }
}

fn end(stuck: &Stuck, schedule: &mut Schedule) -> Drawn {
    let does = match &stuck.stand {
        Stand::Barrier { .. } => "waits at the barrier".to_owned(),
        Stand::Warp { mask } => format!("waits for the lanes of {mask:#x}"),
        Stand::Spins(places) => match places.first() {
            Some(place) => format!("spins on {place}"),
            None => "goes round".to_owned(),
        },
        Stand::Circles(None) => "goes round in a loop".to_owned(),
        Stand::Circles(Some(name)) => format!("goes round in a loop on {name}"),
    };
    let lane = schedule.lane(stuck.block, stuck.thread);
    Drawn { lane, does, fault: true, line: stuck.place.line, ..Drawn::default() }
}
