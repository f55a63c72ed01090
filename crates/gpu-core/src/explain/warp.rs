//! Lanes that wait for lanes of their warp which do not come.

use std::collections::BTreeSet;

use standstill_findings::{Finding, Node, Rule, ThreadRanges, WaitGraph};

use crate::position::{BEFORE_BARRIER, Doing, Group};

use super::{Member, Pattern, Scene, words};

pub(crate) fn judge(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    // What the program asked for comes before the compiler's own gathering of a warp.
    let asked = |(_, class): &(&Member, &Group)| match &class.doing {
        Doing::WarpSync { operation: Some(operation), .. } => *operation != BEFORE_BARRIER,
        _ => class.place.as_ref().is_some_and(words::is_intrinsic),
    };
    let syncs: Vec<(&Member, &Group)> =
        scene.doing(pattern, |doing| matches!(doing, Doing::WarpSync { .. })).collect();
    let (member, class) = *syncs.iter().find(|sync| asked(sync)).or_else(|| syncs.first())?;
    let Doing::WarpSync { mask, operation } = &class.doing else { return None };
    let missing = missing(pattern, member, *mask);
    let (line, on) = (scene.line(class), scene.on(class));
    let threads = scene.threads(pattern, &member.threads);
    let what = operation.unwrap_or("warp synchronisation");
    let others = scene.doing(pattern, |_| true).filter(|(other, _)| *other != member);
    let others: Vec<(&Member, &Group)> =
        others.filter(|(other, _)| other.threads.iter().any(|thread| missing.contains(thread))).collect();
    let absent: Vec<u32> = missing.iter().copied().filter(|thread| pattern.exited.contains(thread)).collect();
    let mut for_whom: Vec<String> = others
        .iter()
        .map(|(other, at)| {
            let there: Vec<u32> = other.threads.iter().copied().filter(|t| missing.contains(t)).collect();
            format!("{}, which wait {}", ThreadRanges::from_members(there).with_noun("thread"), scene.on(at))
        })
        .collect();
    if !absent.is_empty() {
        for_whom
            .push(format!("{}, which have exited", ThreadRanges::from_members(absent).with_noun("thread")));
    }
    if for_whom.is_empty() {
        return None;
    }
    let wait = scene.verb(pattern, &member.threads, "wait");
    let message = format!("{threads} {wait} in the {what} {on} for {}", for_whom.join(", and for "));
    let mut finding = scene.finding(Rule::WarpMask, message.clone());
    finding.help =
        "name in the mask exactly the lanes that reach the operation, and let all of them reach it"
            .to_owned();
    if let Some((_, at)) = others.iter().find(|(_, at)| matches!(at.doing, Doing::Work)) {
        let reason = format!("threads were running {} and may still come", scene.on(at));
        scene.may_end(&mut finding, reason);
    }
    if let Some(mask) = mask {
        finding.notes.push(format!("the mask was {mask:#010x}"));
    }
    scene.primary(&mut finding, member, scene.say(pattern, member, "wait", "here"));
    let mut graph = WaitGraph { sentence: message, ..WaitGraph::default() };
    let from = graph.node(Node::Named(threads));
    for (other, at) in &others {
        let words = scene.threads(pattern, &other.threads);
        let to = graph.node(Node::Named(words.clone()));
        graph.edge(from, to, format!("wait in the {what} ({line})"), scene.line_number(class));
        if matches!(at.doing, Doing::WarpSync { .. } | Doing::Reconverge | Doing::BlockBarrier { .. }) {
            graph.edge(to, from, format!("wait ({})", scene.line(at)), scene.line_number(at));
        }
        scene.cause(&mut finding, other, scene.say(pattern, other, "wait", "here"));
    }
    finding.waits = Some(graph);
    Some(finding)
}

/// Threads of the same warps that the mask names and that are not there.
fn missing(pattern: &Pattern, member: &Member, mask: Option<u32>) -> BTreeSet<u32> {
    let here: BTreeSet<u32> = member.threads.iter().copied().collect();
    let warps: BTreeSet<u32> = here.iter().map(|thread| thread / 32).collect();
    let valid: BTreeSet<u32> =
        pattern.members.iter().flat_map(|member| member.threads.iter().copied()).collect();
    let named = |thread: &u32| mask.unwrap_or(u32::MAX) >> (thread % 32) & 1 == 1;
    // A mask of all lanes that the compiler wrote means those that have not exited; one of the program's
    // names exited lanes in vain, which the hardware lets pass.
    warps
        .into_iter()
        .flat_map(|warp| (0..32).map(move |lane| warp * 32 + lane))
        .filter(|thread| named(thread) && valid.contains(thread) && !here.contains(thread))
        .collect()
}
