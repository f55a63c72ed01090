//! The hardware stopped the kernel: which instruction it would not do.

use standstill_findings::{Finding, Known, Outcome, Platform, PlatformRow, Rule, Severity};

use crate::position::{Count, Doing, Group};

use super::{Pattern, Scene};

/// Exceptions, by `CUDBGException_t`.
const ILLEGAL_INSTRUCTION: u32 = 4;
const ADDRESSES: [u32; 4] = [1, 5, 10, 14];
const MISALIGNED: [u32; 2] = [6, 11];
const ASSERTION: u32 = 12;
/// What else stops a kernel.
const OTHERS: [(u32, &str); 12] = [
    (2, "a stack overflow"),
    (3, "a stack overflow"),
    (7, "an address in a space that the instruction cannot reach"),
    (8, "a jump to no code"),
    (9, "a stack overflow"),
    (12, "a failed assertion"),
    (13, "an error in a call of the driver's"),
    (15, "a system-wide atomic on memory that cannot move"),
    (16, "a system-wide atomic that the memory does not know"),
    (17, "an access to a block of the cluster that has ended"),
    (18, "an address outside the shared memory of the cluster's block"),
    (19, "a stack that was written over"),
];

pub(crate) fn judge(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    let (member, class) = scene.doing(pattern, |doing| matches!(doing, Doing::Fault(_))).next()?;
    let Doing::Fault(exception) = class.doing else { return None };
    if exception == ILLEGAL_INSTRUCTION {
        return illegal(scene, pattern);
    }
    let mut finding = named(scene, exception, &scene.threads(pattern, &member.threads), class);
    scene.primary(&mut finding, member, format!("the hardware stopped here (exception {exception})"));
    Some(finding)
}

/// An exception that only the multiprocessor noted: its threads are gone.
pub(crate) fn gone(scene: &Scene<'_>, class: &Group) -> Option<Finding> {
    let Doing::Fault(exception) = class.doing else { return None };
    let mut finding = named(scene, exception, "threads that were gone when the dump was taken", class);
    finding
        .spans
        .push(scene.primary_span(class, format!("the hardware stopped here (exception {exception})")));
    Some(finding)
}

fn named(scene: &Scene<'_>, exception: u32, threads: &str, class: &Group) -> Finding {
    let on = scene.on(class);
    let mut finding = match exception {
        _ if ADDRESSES.contains(&exception) => scene
            .finding(Rule::OutOfBounds, format!("{threads} accessed an address outside any allocation {on}")),
        _ if MISALIGNED.contains(&exception) => {
            scene.finding(Rule::Misaligned, format!("{threads} accessed a misaligned address {on}"))
        }
        _ => {
            let known = OTHERS.iter().find(|(number, _)| *number == exception);
            let what = known.map_or(format!("exception {exception}"), |(_, what)| (*what).to_owned());
            let message = match exception {
                ASSERTION => format!("an assertion failed {on}, in {threads}"),
                _ => format!("{threads} were stopped by the hardware {on}: {what}"),
            };
            let mut finding = scene.finding(Rule::Undecided, message);
            finding.severity = Severity::Note;
            finding.known = Known::Observed;
            return finding;
        }
    };
    finding.platforms = PlatformRow::new(&[(Platform::Nvidia, Outcome::WrongResult)]);
    finding
}

/// An illegal instruction at a synchronisation: what it was asked for cannot be.
fn illegal(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    let (member, class) = scene.doing(pattern, |doing| matches!(doing, Doing::Fault(_))).next()?;
    let threads = scene.threads(pattern, &member.threads);
    let on = scene.on(class);
    let mut finding = match class.faulted {
        Some(Doing::WarpSync { mask, operation }) => {
            let what = operation.unwrap_or("warp synchronisation");
            let mask = mask.map(|mask| format!(" whose mask is {mask:#010x}")).unwrap_or_default();
            let mut finding = scene.finding(
                Rule::WarpMask,
                format!("{threads}: the hardware refused the {what} {on}{mask}: a calling lane is not in it"),
            );
            finding.help =
                "name exactly the lanes that call: every caller must be in its own mask".to_owned();
            scene.primary(&mut finding, member, "the hardware stopped the warp here");
            finding
        }
        Some(Doing::BlockBarrier { id, count }) => barrier(scene, pattern, id, count),
        _ => return None,
    };
    finding.platforms = PlatformRow::new(&[
        (Platform::Nvidia, Outcome::WrongResult),
        (Platform::Specification, Outcome::Undefined),
    ]);
    Some(finding)
}

fn barrier(scene: &Scene<'_>, pattern: &Pattern, id: Option<u32>, count: Count) -> Finding {
    let fault = scene.doing(pattern, |doing| matches!(doing, Doing::Fault(_))).next();
    let others = scene.doing(pattern, |doing| match doing {
        Doing::BlockBarrier { id: other, count: others } => *other == id && *others != count,
        _ => false,
    });
    let name = id.map_or("the barrier".to_owned(), |id| format!("barrier {id}"));
    let number = |count: Count| match count {
        Count::Threads(count) => count.to_string(),
        Count::All => "the whole block".to_owned(),
        Count::Unknown => "another count".to_owned(),
    };
    let on = fault.map(|(_, class)| scene.on(class)).unwrap_or_default();
    if let Some((member, class)) = others.into_iter().next()
        && let Doing::BlockBarrier { count: theirs, .. } = class.doing
    {
        let message = format!(
            "two counts at {name}: {} ask for {} {}, others for {} {on}",
            scene.threads(pattern, &member.threads),
            number(theirs),
            scene.on(class),
            number(count)
        );
        let mut finding = scene.finding(Rule::BarrierCount, message);
        finding.help = "give each group of threads a barrier number of its own".to_owned();
        scene.primary(&mut finding, member, format!("{name}, {}", number(theirs)));
        if let Some((member, _)) = fault {
            scene.cause(
                &mut finding,
                member,
                format!("{name}, {}: the hardware stopped here", number(count)),
            );
        }
        return finding;
    }
    let why = match count {
        Count::Threads(count) if count % 32 != 0 => {
            format!("its count of {count} is not a multiple of 32")
        }
        Count::Threads(count) => {
            format!("more threads arrived than its count of {count}, or with other counts")
        }
        _ => "threads came with different counts".to_owned(),
    };
    let mut finding = scene.finding(Rule::BarrierCount, format!("the hardware refused {name} {on}: {why}"));
    finding.help =
        "the count is the number of threads that arrive, a multiple of 32, the same for all".to_owned();
    if let Some((member, _)) = fault {
        scene.primary(&mut finding, member, "the hardware stopped the warp here");
    }
    finding
}
