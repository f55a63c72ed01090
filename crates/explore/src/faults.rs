//! Searches for the faults that show only where something beside threads and memory is followed.

use standstill_kernel_ir::{Op, Program};

use crate::check::{Failure, FailureKind, Options, RacingAccess};
use crate::follow::{Follower, Looks, Shown, Touch, What};
use crate::launch::{Launch, LaunchError};
use crate::order::MOST_THREADS;
use crate::reductions::Reductions;
use crate::schedule::{Place, Schedule};
use crate::search::{Observer, Search, Wrong, search};
use crate::system::System;
use crate::thread::Status;
use crate::track::track;
use crate::updates::Roles;
use crate::wrong_marks::{WrongMark, wrong_marks};

/// What such a search found.
pub(crate) struct Looked {
    pub(crate) failures: Vec<Failure>,
    /// Why it is not known whether there are more.
    pub(crate) unknown: Option<String>,
    /// Marks that do not fit together.
    pub(crate) wrong_marks: Vec<WrongMark>,
}

/// Searches for one kind of fault.
pub(crate) fn look_for(
    program: &dyn Program,
    launch: &Launch,
    options: &Options,
    (looks, merge_plain_accesses): (Looks, bool),
    observer: &mut dyn Observer,
) -> Result<Looked, LaunchError> {
    let reductions = Reductions {
        merge_own_accesses: options.reductions.merge_own_accesses,
        merge_plain_accesses,
        merge_ends: true,
        symmetry: false,
    };
    let mut system = System::new(program, launch.clone(), reductions, Some(looks))?;
    if system.threads() > MOST_THREADS {
        let why = format!("they are looked for among at most {MOST_THREADS} threads");
        return Ok(Looked { failures: Vec::new(), unknown: Some(why), wrong_marks: Vec::new() });
    }
    let found = search(&mut system, options.limits, |_, _| true, observer);
    let mut failures: Vec<Failure> = Vec::new();
    for &(kind, state) in &found.wrong {
        let Wrong::Race { number, thread } = kind else { continue };
        let Some(shown) = system.orders.as_ref().and_then(|orders| orders.shown(number)) else { continue };
        let Some(kind) = kind_of(&system, launch, &shown) else { continue };
        // Each place of the code is told once; where something had no order, so had what comes behind it.
        if failures.iter().any(|known| same_places(&known.kind, &kind)) {
            continue;
        }
        let Schedule { steps: mut schedule, now, mut way } = system.schedule(&found.graph, state);
        if let (Some(&local), Some(&contents)) = (now.get(thread), now.last()) {
            schedule.push(system.describe(thread, local, contents));
        }
        let place = system.site(shown.second.site);
        let kind = match kind {
            FailureKind::NoOrder { accesses, .. } => {
                FailureKind::NoOrder { accesses, operations: system.operations(&schedule) }
            }
            other => other,
        };
        let track = match kind {
            // It shows at a mark, which is no access: the step goes to its end.
            FailureKind::NoOrder { .. } => {
                way.moves.extend(system.move_of(&now, thread));
                track(program, launch, Some(Looks::Histories), &way, None)
            }
            _ => track(program, launch, None, &way, Some((thread, place.offset))),
        };
        failures.push(Failure { kind, schedule, track, stuck: Vec::new(), place, memory: Vec::new() });
    }
    let unknown = why_unknown(&system, &found);
    let wrong_marks = wrong_marks(&system, &found);
    Ok(Looked { failures, unknown, wrong_marks })
}

/// Why a search does not know all.
fn why_unknown(system: &System<'_>, found: &Search) -> Option<String> {
    let overflow = system.orders.as_ref().is_some_and(Follower::overflows);
    let unknown = found.wrong.iter().any(|(kind, _)| match kind {
        Wrong::Stopped(local) => matches!(system.why_stopped(*local), Some((Status::Unknown(_), _))),
        _ => false,
    });
    let why = match &found.limit {
        Some(_) => "there are too many states",
        None if overflow => "too many places are atomic",
        None if unknown => "some instructions are not explored",
        None => return None,
    };
    Some(why.to_owned())
}

/// What a fault is called; `None` where it is one of marks.
fn kind_of(system: &System<'_>, launch: &Launch, shown: &Shown) -> Option<FailureKind> {
    let access = |touch: Touch| RacingAccess {
        block: system.block_of(touch.thread.into()),
        thread: u32::from(touch.thread) % launch.block_threads().max(1),
        writes: touch.writes,
        strong: touch.strong,
        place: system.site(touch.site),
    };
    let (memory, shared) = system.word_name(shown.word as usize, shown.bytes);
    let (first, second) = (access(shown.first), access(shown.second));
    let between = || access(shown.between.unwrap_or(shown.second));
    Some(match shown.what {
        What::Race => FailureKind::Race { memory, shared, accesses: [second, first] },
        What::Reuse => FailureKind::Reuse { memory, accesses: [second, first] },
        What::LostUpdate => FailureKind::LostUpdate { memory, accesses: [second, first, between()] },
        What::NoOrder => FailureKind::NoOrder { accesses: [second, first], operations: Vec::new() },
        What::Aba => FailureKind::Aba { memory, accesses: [second, first, between()] },
        What::Marks(_) => return None,
    })
}

/// Whether two faults are of the same kind at the same places, in whichever order. What was freed where does not count: the use
/// is what is wrong.
fn same_places(one: &FailureKind, other: &FailureKind) -> bool {
    fn places(accesses: &[RacingAccess]) -> Vec<&Place> {
        accesses.iter().map(|access| &access.place).collect()
    }
    let same = |one: &[RacingAccess], other: &[RacingAccess]| places(one) == places(other);
    match (one, other) {
        (FailureKind::Race { accesses: one, .. }, FailureKind::Race { accesses: other, .. }) => {
            let turned = [other[1].clone(), other[0].clone()];
            same(one, other) || same(one, &turned)
        }
        (FailureKind::NoOrder { .. }, FailureKind::NoOrder { .. }) => true,
        (FailureKind::Reuse { accesses: [one, _], .. }, FailureKind::Reuse { accesses: [other, _], .. })
        | (
            FailureKind::LostUpdate { accesses: [one, ..], .. },
            FailureKind::LostUpdate { accesses: [other, ..], .. },
        )
        | (FailureKind::Aba { accesses: [one, ..], .. }, FailureKind::Aba { accesses: [other, ..], .. }) => {
            one.place == other.place
        }
        _ => false,
    }
}

/// What is worth a search, with what it is called.
pub(crate) type Worth = (&'static str, Looks);

/// What there is to look for in a program, with what it is called, beside races.
pub(crate) fn worth_looking_for(system: &System<'_>) -> Vec<Worth> {
    let instructions = || system.codes.iter().flatten().flat_map(|code| &code.function.instructions);
    let roles = Roles::of(&system.codes);
    let mut list = Vec::new();
    if instructions().any(|instruction| matches!(instruction.op, Op::LifeMark { freed: true })) {
        list.push(("uses of freed memory", Looks::Lives));
    }
    if instructions().any(|instruction| matches!(instruction.op, Op::OperationMark(_))) {
        list.push(("orders of operations", Looks::Histories));
    }
    if roles.len() > 0 {
        list.push(("lost updates", Looks::Updates(roles)));
    }
    list
}
