//! Loops whose end does not hang on what other threads write.

use standstill_findings::{Finding, Known, Rule};

use crate::position::{Doing, Group};

use super::{Member, Pattern, Scene};

pub(crate) fn judge(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    let loops = |way_out: bool| {
        scene.doing(
            pattern,
            move |doing| matches!(doing, Doing::Loop { has_exit, .. } if *has_exit == way_out),
        )
    };
    let may_end = |doing: &Doing| matches!(doing, Doing::Loop { may_end: true, .. });
    if let Some((member, class)) = loops(false).next() {
        return Some(endless(scene, pattern, member, class));
    }
    let mut found = loops(true);
    let (member, class) = loops(true).find(|(_, class)| !may_end(&class.doing)).or_else(|| found.next())?;
    Some(perhaps(scene, pattern, member, class))
}

/// The compiled loop has no way out.
fn endless(scene: &Scene<'_>, pattern: &Pattern, member: &Member, class: &Group) -> Finding {
    let threads = scene.threads(pattern, &member.threads);
    let on = scene.on(class);
    let spin = scene.verb(pattern, &member.threads, "spin");
    let empty = class.range.is_some_and(|(first, last)| first == last);
    let mut finding = if empty {
        let message = format!(
            "{threads} {spin} for ever {on}: the compiled loop is a single jump to itself, which reads nothing, \
             so no write by another thread can end it"
        );
        let mut finding = scene.finding(Rule::HoistableSpin, message);
        finding.help =
            "poll through an atomic or a volatile access, so that every round reads memory".to_owned();
        finding
    } else {
        let are = if spin == "spins" { "is" } else { "are" };
        let message = format!("{threads} {are} in a loop {on} whose compiled code has no way out");
        let mut finding = scene.finding(Rule::NonTerminatingLoop, message);
        finding.help =
            "the compiler found that the exit test never holds: look at how its operands change".to_owned();
        finding
    };
    scene.primary(&mut finding, member, "the loop");
    others(scene, pattern, member, &mut finding);
    finding
}

/// A loop with a way out, which may be slow.
fn perhaps(scene: &Scene<'_>, pattern: &Pattern, member: &Member, class: &Group) -> Finding {
    let threads = scene.threads(pattern, &member.threads);
    let (on, run) = (scene.on(class), scene.verb(pattern, &member.threads, "run"));
    let slow = || "one snapshot cannot tell slow from stuck".to_owned();
    if matches!(class.doing, Doing::Loop { may_end: true, .. }) {
        let message = format!("{threads} {run} a loop whose exit test is {on}");
        let mut finding = scene.finding(Rule::NonTerminatingLoop, message);
        scene.may_end(&mut finding, slow());
        scene.primary(&mut finding, member, "the loop's exit test");
        others(scene, pattern, member, &mut finding);
        return finding;
    }
    let message = format!(
        "{threads} {run} a loop whose exit test is {on}; nothing that another thread does can end it"
    );
    let mut finding = scene.finding(Rule::NonTerminatingLoop, message);
    finding.known = Known::Possible { reason: slow() };
    finding.help = "look at whether the exit test can ever hold: an inequality that is stepped over, or a \
                    floating-point value that is never met exactly"
        .to_owned();
    scene.primary(&mut finding, member, "the loop's exit test");
    others(scene, pattern, member, &mut finding);
    finding
}

fn others(scene: &Scene<'_>, pattern: &Pattern, member: &Member, finding: &mut Finding) {
    for (other, at) in scene.doing(pattern, |_| true).filter(|(other, _)| *other != member) {
        let (verb, rest) = match &at.doing {
            Doing::BlockBarrier { .. } => ("wait", "at this barrier for them"),
            Doing::WarpSync { .. } | Doing::Reconverge => ("wait", "here for lanes of the same warp"),
            _ => ("stand", "here"),
        };
        scene.cause(finding, other, scene.say(pattern, other, verb, rest));
    }
}
