//! What was found, as findings: which rule, where, and the schedule in words.

use standstill_findings::{
    Finding, Known, Node, Outcome as Happens, PlatformRow, Rule, Severity, Span, ThreadRanges, WaitGraph,
};
use standstill_kernel_ir::AtomicOperation;

use crate::check::{Failure, FailureKind, Outcome, RacingAccess};
use crate::launch::Launch;
use crate::misuse;
use crate::schedule::{Place, ScheduleStep, Stand, StepKind, Stuck};

/// Steps of a schedule that are shown.
const SHOWN_STEPS: usize = 60;

/// Gives a place the file and line that it has in the input itself, where the compiler left no line of the source.
pub type LineOf<'a> = dyn Fn(u32) -> (String, u32, u32) + 'a;

/// The findings of an exploration, each with the failure that it tells of.
pub fn findings<'a>(
    outcome: &'a Outcome,
    launch: &Launch,
    line_of: &LineOf<'_>,
) -> Vec<(Finding, Option<&'a Failure>)> {
    let mut list: Vec<(Finding, Option<&Failure>)> = Vec::new();
    for failure in &outcome.failures {
        let finding = finding(failure, outcome, launch, line_of);
        // What an expectation has shown already, with the end that it leads to.
        let place = |finding: &Finding| finding.primary_span().map(|span| (span.file.clone(), span.line));
        let same = |known: &Finding| known.rule == finding.rule && place(known) == place(&finding);
        if !list.iter().any(|(known, _)| same(known) && matches!(finding.rule, Rule::LostUpdate | Rule::Aba))
        {
            list.push((finding, Some(failure)));
        }
    }
    list.extend(outcome.wrong_marks.iter().map(|mark| (mark.finding(outcome, line_of), None)));
    list.extend(outcome.not_explored.iter().map(|missing| {
        let message = format!("{} is not explored: what comes behind it stays open", missing.what);
        let mut finding = Finding::new(Rule::Undecided, &outcome.kernel, message);
        finding.severity = Severity::Note;
        finding.known = Known::Possible { reason: format!("{} is not explored", missing.what) };
        finding.spans.push(span(&missing.place, "exploration ends here", true, line_of));
        (finding, None)
    }));
    list
}

pub(crate) fn span(place: &Place, label: impl Into<String>, primary: bool, line_of: &LineOf<'_>) -> Span {
    let (file, line, column) =
        if place.line > 0 { (place.file.clone(), place.line, place.column) } else { line_of(place.offset) };
    let span = Span::cause(file, line, column, label);
    Span { primary, ..span }
}

fn finding(failure: &Failure, outcome: &Outcome, launch: &Launch, line_of: &LineOf<'_>) -> Finding {
    let mut finding = match &failure.kind {
        FailureKind::Hang => hang(failure, outcome, line_of),
        FailureKind::Unexpected { expected } => unexpected(failure, expected, outcome, line_of),
        FailureKind::Assertion { what } => {
            let message = format!("an interleaving comes to {what}");
            let mut finding = Finding::new(Rule::FailedAssertion, &outcome.kernel, message);
            finding.platforms = PlatformRow::everywhere(Happens::MayBeWrong);
            finding.spans.push(span(&failure.place, format!("{what} here"), true, line_of));
            finding.help = "look in the schedule for the step that the condition did not count on".to_owned();
            finding
        }
        FailureKind::Race { memory, shared, accesses } => race(memory, *shared, accesses, outcome, line_of),
        FailureKind::Reuse { memory, accesses } => misuse::reuse(memory, accesses, outcome, line_of),
        FailureKind::LostUpdate { memory, accesses } => {
            misuse::outdated(Rule::LostUpdate, memory, accesses, outcome, line_of)
        }
        FailureKind::Aba { memory, accesses } => {
            misuse::outdated(Rule::Aba, memory, accesses, outcome, line_of)
        }
        FailureKind::NoOrder { accesses, operations } => {
            misuse::no_order(accesses, operations, outcome, line_of)
        }
        FailureKind::OutOfBounds { what } => wrong_access(Rule::OutOfBounds, what, failure, outcome, line_of),
        FailureKind::Misaligned { what } => wrong_access(Rule::Misaligned, what, failure, outcome, line_of),
    };
    finding.assumes = vec![
        format!(
            "{} of {}, with these arguments and this memory",
            counted(launch.blocks().into(), "block"),
            counted(launch.block_threads().into(), "thread")
        ),
        "memory is sequentially consistent: every load sees the newest value".to_owned(),
    ];
    if !failure.schedule.is_empty() {
        finding.notes.push(table(&failure.schedule));
    }
    if !failure.memory.is_empty() && failure.kind != FailureKind::Hang {
        let values = failure.memory.iter().take(12).map(|(name, value)| format!("{name} = {value}"));
        finding.notes.push(format!("memory then holds {}", values.collect::<Vec<_>>().join(", ")));
    }
    finding
}

fn race(
    memory: &str,
    shared: bool,
    accesses: &[RacingAccess; 2],
    outcome: &Outcome,
    line_of: &LineOf<'_>,
) -> Finding {
    let [later, earlier] = accesses;
    let does = |access: &RacingAccess| match (access.strong, access.writes) {
        (false, false) => "reads it",
        (false, true) => "writes it",
        (true, false) => "reads it atomically",
        (true, true) => "changes it atomically",
    };
    let who = |access: &RacingAccess| format!("thread {} of block {}", access.thread, access.block);
    let message = format!("nothing orders {} and {} on `{memory}`", who(earlier), who(later));
    let rule = if shared { Rule::SharedRace } else { Rule::GlobalRace };
    let mut finding = Finding::new(rule, &outcome.kernel, message);
    finding.platforms = PlatformRow::everywhere(Happens::MayBeWrong);
    finding.spans.push(span(&later.place, format!("{} {}", who(later), does(later)), true, line_of));
    if later.place != earlier.place {
        finding.spans.push(span(
            &earlier.place,
            format!("{} {}", who(earlier), does(earlier)),
            false,
            line_of,
        ));
    }
    finding.help = if later.block == earlier.block {
        "let the threads meet at a barrier between the two accesses, or hand over by a release and an acquire"
            .to_owned()
    } else {
        "hand over by a release after the one access and an acquire before the other, both for the whole card, or make both \
         atomic"
            .to_owned()
    };
    finding
}

fn wrong_access(
    rule: Rule,
    what: &str,
    failure: &Failure,
    outcome: &Outcome,
    line_of: &LineOf<'_>,
) -> Finding {
    let mut finding = Finding::new(rule, &outcome.kernel, format!("an interleaving comes to {what}"));
    finding.platforms = PlatformRow::everywhere(Happens::MayBeWrong);
    finding.spans.push(span(&failure.place, "this access", true, line_of));
    finding
}

/// The schedule, a line for each step.
fn table(schedule: &[ScheduleStep]) -> String {
    let who = |step: &ScheduleStep| format!("thread {} of block {}", step.thread, step.block);
    let shown = schedule.get(..SHOWN_STEPS).unwrap_or(schedule);
    let width = shown.iter().map(|step| who(step).len()).max().unwrap_or(0);
    let mut text = format!("the shortest schedule has {}:", counted(schedule.len() as u64, "step"));
    for (step, number) in shown.iter().zip(1..) {
        let line = if step.place.line > 0 { format!("line {}: ", step.place.line) } else { String::new() };
        text.push_str(&format!("\n{number:>3}. {:width$}  {line}{}", who(step), step.words()));
    }
    if schedule.len() > shown.len() {
        text.push_str(&format!("\n     and {} more", schedule.len() - shown.len()));
    }
    text
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Threads of one block that stand at the same.
struct Group<'a> {
    block: u32,
    threads: ThreadRanges,
    first: &'a Stuck,
}

fn groups(stuck: &[Stuck]) -> Vec<Group<'_>> {
    let mut groups: Vec<(&Stuck, Vec<u32>)> = Vec::new();
    for one in stuck {
        let same = groups.iter_mut().find(|(first, _)| {
            first.block == one.block && first.stand == one.stand && first.place.line == one.place.line
        });
        match same {
            Some((_, threads)) => threads.push(one.thread),
            None => groups.push((one, vec![one.thread])),
        }
    }
    let mut list = Vec::new();
    for (first, threads) in groups {
        list.push(Group { block: first.block, threads: ThreadRanges::from_members(threads), first });
    }
    list
}

/// What a group does, in words, with the place that it waits at.
fn waits(group: &Group<'_>) -> String {
    // One thread waits, several wait.
    let verb = |stem: &str| if group.threads.len() == 1 { format!("{stem}s") } else { stem.to_owned() };
    let go = if group.threads.len() == 1 { "goes" } else { "go" };
    let at = if group.first.place.line > 0 {
        format!(" (line {})", group.first.place.line)
    } else {
        String::new()
    };
    match &group.first.stand {
        Stand::Barrier { id: 0, count: None } => format!("{} at the block barrier{at}", verb("wait")),
        Stand::Barrier { id, .. } => format!("{} at barrier {id}{at}", verb("wait")),
        Stand::Warp { mask } => format!("{} for the lanes of mask {mask:#x}{at}", verb("wait")),
        Stand::Spins(places) if places.is_empty() => format!("{go} round in a loop{at}"),
        Stand::Spins(places) => {
            let names = places.iter().take(4).map(|name| format!("`{name}`")).collect::<Vec<_>>();
            format!("{} on {}{at}", verb("spin"), names.join(" and "))
        }
        Stand::Circles(None) => format!("{go} round in a loop that looks at nothing that changes{at}"),
        Stand::Circles(Some(name)) => {
            format!("{go} round in a loop that reads `{name}`, which nobody changes{at}")
        }
    }
}

fn hang(failure: &Failure, outcome: &Outcome, line_of: &LineOf<'_>) -> Finding {
    let groups = groups(&failure.stuck);
    let alone = groups.iter().all(|group| matches!(group.first.stand, Stand::Circles(_)));
    let rule = if alone { Rule::NonTerminatingLoop } else { Rule::WaitCycle };
    let message = match failure.schedule.len() {
        0 => "no execution of this launch ends".to_owned(),
        steps => format!("after {} no execution ends any more", counted(steps as u64, "step")),
    };
    let mut finding = Finding::new(rule, &outcome.kernel, message);
    finding.platforms =
        PlatformRow::everywhere(if failure.schedule.is_empty() { Happens::Hangs } else { Happens::MayHang });
    for (group, index) in groups.iter().zip(0..) {
        let label =
            format!("{} of block {} {}", group.threads.with_noun("thread"), group.block, waits(group));
        finding.spans.push(span(&group.first.place, label, index == 0, line_of));
    }
    // One place is shown once, and one of them is the place that the finding points at.
    let mut seen: Vec<(String, u32)> = Vec::new();
    finding.spans.retain(|span| {
        let place = (span.file.clone(), span.line);
        let fresh = !seen.contains(&place);
        seen.push(place);
        fresh
    });
    finding.waits = Some(graph(&groups, &failure.schedule));
    finding.help = if alone {
        "make the exit condition one that must come true".to_owned()
    } else {
        "let each of these threads go on without the others, or take locks in one order everywhere".to_owned()
    };
    finding
}

fn graph(groups: &[Group<'_>], schedule: &[ScheduleStep]) -> WaitGraph {
    let mut graph = WaitGraph::default();
    let mut sentences = Vec::new();
    let threads_of = |graph: &mut WaitGraph, group: &Group<'_>| {
        graph.node(Node::Threads { block: group.block, threads: group.threads.clone() })
    };
    for group in groups {
        let from = threads_of(&mut graph, group);
        let line = group.first.place.line;
        let words = waits(group);
        sentences.push(format!("{} of block {} {words}", group.threads.with_noun("thread"), group.block));
        match &group.first.stand {
            Stand::Barrier { id, count } => {
                let arrived = group.threads.len() as u32;
                let barrier = Node::Barrier { name: format!("barrier {id}"), expected: *count, arrived };
                let barrier = graph.node(barrier);
                graph.edge(from, barrier, words, line);
                let others = groups.iter().filter(|other| {
                    other.block == group.block && !matches!(other.first.stand, Stand::Barrier { .. })
                });
                for other in others {
                    let to = threads_of(&mut graph, other);
                    graph.edge(barrier, to, "needs their arrival", other.first.place.line);
                }
            }
            Stand::Spins(places) => {
                for place in places {
                    let location = graph.node(Node::Location(place.clone()));
                    graph.edge(from, location, words.clone(), line);
                    // Whoever made it what it is may be who has to change it again.
                    let last = schedule.iter().rev().find(|step| step.writes() && step.memory == *place);
                    let Some(last) = last else { continue };
                    sentences.push(format!(
                        "`{place}` is {} since thread {} of block {} wrote it (line {})",
                        last.after, last.thread, last.block, last.place.line
                    ));
                    let owner = groups.iter().find(|other| {
                        let range = |&(first, end): &(u32, u32)| (first..=end).contains(&last.thread);
                        other.block == last.block && other.threads.ranges().iter().any(range)
                    });
                    if let Some(owner) = owner.filter(|owner| !std::ptr::eq(*owner, group)) {
                        let to = threads_of(&mut graph, owner);
                        graph.edge(location, to, "was last written by them", last.place.line);
                    }
                }
            }
            Stand::Circles(Some(name)) => {
                let location = graph.node(Node::Location(name.clone()));
                graph.edge(from, location, words, line);
            }
            Stand::Warp { .. } | Stand::Circles(None) => {}
        }
    }
    graph.sentence = format!("{}; none of them can go on", sentences.join("; "));
    graph
}

/// What a schedule with a wrong end shows: a step that writes on the ground of an earlier read of its thread, and what
/// another thread did in between.
struct Lost<'a> {
    rule: Rule,
    read: &'a ScheduleStep,
    between: &'a ScheduleStep,
    write: &'a ScheduleStep,
}

/// The first such step that is `named` so.
fn lost<'a>(schedule: &'a [ScheduleStep], named: impl Fn(&Lost<'_>) -> bool) -> Option<Lost<'a>> {
    let same =
        |left: &ScheduleStep, right: &ScheduleStep| (left.block, left.thread) == (right.block, right.thread);
    for (write, at) in schedule.iter().zip(0usize..) {
        let compares = write.kind == StepKind::Atomic(AtomicOperation::CompareExchange);
        if !write.writes() || (matches!(write.kind, StepKind::Atomic(_)) && !compares) {
            continue;
        }
        let before = schedule.get(..at)?;
        let read = before.iter().rposition(|step| same(step, write) && step.memory == write.memory);
        let Some(read) = read else { continue };
        let since = before.get(read + 1..)?;
        let others =
            |step: &&ScheduleStep| step.memory == write.memory && step.writes() && !same(step, write);
        let Some(between) = since.iter().find(others) else { continue };
        let read = schedule.get(read)?;
        // A compare-and-swap that writes has succeeded: the value came back.
        let rule = if compares { Rule::Aba } else { Rule::LostUpdate };
        let found = Lost { rule, read, between, write };
        if named(&found) {
            return Some(found);
        }
    }
    None
}

fn unexpected(failure: &Failure, expected: &str, outcome: &Outcome, line_of: &LineOf<'_>) -> Finding {
    let kernel = &outcome.kernel;
    let who = |step: &ScheduleStep| format!("thread {} of block {}", step.thread, step.block);
    // A name that the search for old values has given at that place; else the step may have been meant so.
    let named = |lost: &Lost<'_>| {
        outcome.failures.iter().any(|known| match &known.kind {
            FailureKind::LostUpdate { accesses: [write, ..], .. } => {
                lost.rule == Rule::LostUpdate && write.place == lost.write.place
            }
            FailureKind::Aba { accesses: [write, ..], .. } => {
                lost.rule == Rule::Aba && write.place == lost.write.place
            }
            _ => false,
        })
    };
    let mut finding = match lost(&failure.schedule, named) {
        Some(Lost { rule, read, between, write }) => {
            let message = match rule {
                Rule::Aba => format!(
                    "a compare-and-swap of `{}` is fooled by a value that came back: `{expected}` does not hold at the end",
                    write.memory
                ),
                _ => format!(
                    "the update of `{}` by {} is lost: `{expected}` does not hold at the end",
                    write.memory,
                    who(between)
                ),
            };
            let mut finding = Finding::new(rule, kernel, message);
            finding.spans.push(span(
                &write.place,
                format!("{} {}", who(write), write.words()),
                true,
                line_of,
            ));
            let causes = [(read, "read before"), (between, "changed in between")];
            for (step, what) in causes {
                let label = format!("{what}: {} {}", who(step), step.words());
                finding.spans.push(span(&step.place, label, false, line_of));
            }
            finding
                .spans
                .dedup_by(|later, earlier| (&later.file, later.line) == (&earlier.file, earlier.line));
            finding.help = match rule {
                Rule::Aba => "compare a tag that grows with each change together with the value".to_owned(),
                _ => "update it with an atomic operation, or with a compare-and-swap loop that tries again"
                    .to_owned(),
            };
            finding
        }
        None => {
            let message = format!("`{expected}` does not hold at the end of some execution");
            let mut finding = Finding::new(Rule::WrongResult, kernel, message);
            let merged = failure.track.iter().flat_map(|track| &track.accesses);
            let last = merged.chain(&failure.schedule).rev().find(|step| step.writes());
            let last = last.or(failure.schedule.last());
            let place = last.map_or(Place::default(), |step| step.place.clone());
            let label =
                last.map_or("the kernel".to_owned(), |step| format!("the last write: {}", step.words()));
            finding.spans.push(span(&place, label, true, line_of));
            finding.help = "follow the schedule to the first step that is not as intended".to_owned();
            finding
        }
    };
    finding.platforms = PlatformRow::everywhere(Happens::MayBeWrong);
    finding
}
