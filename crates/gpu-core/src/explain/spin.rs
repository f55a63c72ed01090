//! Threads that read memory again and again, and who could write it.

use standstill_findings::{Finding, Known, Node, Rule, ThreadRanges, WaitGraph};

use crate::position::{Doing, Group};

use super::{Member, Pattern, Scene, words};

pub(crate) fn judge(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    let (member, class) = scene.doing(pattern, |doing| matches!(doing, Doing::Spin { .. })).next()?;
    let Doing::Spin { polled, swaps } = &class.doing else { return None };
    if *swaps {
        return Some(retry(scene, pattern, member, class));
    }
    let place = scene.polled(class);
    let line = scene.line(class);
    let spinners = scene.threads(pattern, &member.threads);
    let barrier = scene.doing(pattern, |doing| matches!(doing, Doing::BlockBarrier { .. })).next();
    let elsewhere = rest(scene, pattern);
    let shared = polled.iter().all(|place| place.shared) && !polled.is_empty();
    let spin = scene.verb(pattern, &member.threads, "spin");
    let message = match barrier {
        Some((waiting, at)) => format!(
            "{} {} at the barrier {} for {}, which {spin} on `{place}` ({line}){elsewhere}",
            scene.threads(pattern, &waiting.threads),
            scene.verb(pattern, &waiting.threads, "wait"),
            scene.on(at),
            words::threads(&member.threads)
        ),
        None => format!("{spinners} {spin} on `{place}` ({line}){elsewhere}"),
    };
    let mut finding = scene.finding(Rule::WaitCycle, message.clone());
    finding.help = "write the location before anything that waits for the threads that read it".to_owned();
    match running(scene, pattern, shared) {
        Some(reason) => scene.may_end(&mut finding, reason),
        None if !shared => finding.assumes.push(format!("nobody outside the grid writes `{place}`")),
        None => {}
    }
    let value = polled.first().and_then(|place| place.value);
    if let Some(value) = value {
        finding.notes.push(format!("`{place}` held {} (as 32 bits)", value as u32));
    }
    scene.primary(&mut finding, member, scene.say(pattern, member, "spin", "here"));
    for (other, at) in scene.doing(pattern, |_| true) {
        let (verb, rest) = match &at.doing {
            Doing::BlockBarrier { .. } => ("wait", "at this barrier"),
            Doing::WarpSync { .. } | Doing::Reconverge => ("wait", "here for lanes of the same warp"),
            Doing::Spin { .. } => ("spin", "here"),
            _ => ("stand", "here"),
        };
        scene.cause(&mut finding, other, scene.say(pattern, other, verb, rest));
    }
    finding.waits = Some(graph(scene, pattern, (member, class), barrier, (place, message)));
    Some(finding)
}

/// Where the other threads of the grid are, when nobody waits at a barrier in this block.
fn rest(scene: &Scene<'_>, pattern: &Pattern) -> String {
    let finished = scene.finished();
    let others = scene.state.blocks.len() - pattern.blocks.len();
    match (finished, others) {
        (0, 0) => String::new(),
        (0, _) => "; the other blocks wait too".to_owned(),
        (1, _) => "; 1 block has finished without writing it".to_owned(),
        (finished, _) => format!("; {finished} blocks have finished without writing it"),
    }
}

/// Who was running and may still write; `None` when everybody waits.
fn running(scene: &Scene<'_>, pattern: &Pattern, shared: bool) -> Option<String> {
    let patterns = scene.patterns.iter().filter(|other| !shared || other.blocks == pattern.blocks);
    for other in patterns {
        let busy =
            scene.doing(other, |doing| matches!(doing, Doing::Work | Doing::Loop { has_exit: true, .. }));
        for (member, class) in busy {
            // Lanes beside a spinning one stand still until it lets them run.
            if beside(other, member, scene) {
                continue;
            }
            let threads = scene.threads(other, &member.threads);
            return Some(format!("{threads} were running {} and may still write it", scene.on(class)));
        }
    }
    if !shared && scene.others {
        return Some("another grid was on the device and may still write it".to_owned());
    }
    None
}

/// Whether all these threads share their warp with spinning lanes.
fn beside(pattern: &Pattern, member: &Member, scene: &Scene<'_>) -> bool {
    let warps: Vec<u32> = scene
        .doing(pattern, |doing| matches!(doing, Doing::Spin { .. }))
        .flat_map(|(spinning, _)| spinning.threads.iter().map(|thread| thread / 32))
        .collect();
    member.threads.iter().all(|thread| warps.contains(&(thread / 32)))
}

fn graph(
    scene: &Scene<'_>,
    pattern: &Pattern,
    spin: (&Member, &Group),
    barrier: Option<(&Member, &Group)>,
    words: (String, String),
) -> WaitGraph {
    let ((member, class), (place, sentence)) = (spin, words);
    let mut graph = WaitGraph { sentence, ..WaitGraph::default() };
    let block = pattern.blocks.first().and_then(|block| u32::try_from(*block).ok()).unwrap_or(0);
    let set = |member: &Member| ThreadRanges::from_members(member.threads.iter().copied());
    let spinners = graph.node(Node::Threads { block, threads: set(member) });
    let location = graph.node(Node::Location(place));
    let reason = format!("spin on it ({})", scene.line(class));
    graph.edge(spinners, location, reason, scene.line_number(class));
    if let Some((waiting, at)) = barrier {
        let waiters = graph.node(Node::Threads { block, threads: set(waiting) });
        let name = match at.doing {
            Doing::BlockBarrier { id: Some(id), .. } => format!("barrier {id}"),
            _ => "the block barrier".to_owned(),
        };
        let expected = match at.doing {
            Doing::BlockBarrier { count: crate::position::Count::Threads(count), .. } => Some(count),
            _ => u32::try_from(scene.state.grid.threads_per_block()).ok(),
        };
        let node = graph.node(Node::Barrier { name, expected, arrived: waiting.threads.len() as u32 });
        graph.edge(waiters, node, format!("wait ({})", scene.line(at)), scene.line_number(at));
        graph.edge(node, spinners, "still needs", 0);
    }
    graph
}

/// A compare-and-swap that is tried again and again.
fn retry(scene: &Scene<'_>, pattern: &Pattern, member: &Member, class: &Group) -> Finding {
    let place = scene.polled(class);
    let threads = scene.threads(pattern, &member.threads);
    let line = scene.line(class);
    let verb = if member.threads.len() * pattern.blocks.len() == 1 { "tries" } else { "try" };
    let message = format!("{threads} {verb} the same compare-and-swap on `{place}` again and again ({line})");
    let mut finding = scene.finding(Rule::NonTerminatingLoop, message.clone());
    finding.known = Known::Possible {
        reason: "one snapshot cannot tell a busy lock or list from one that nobody will ever change"
            .to_owned(),
    };
    finding.help = "after a failed compare-and-swap, read the memory again and search afresh".to_owned();
    scene.primary(&mut finding, member, "the compare-and-swap that is tried again");
    let mut graph = WaitGraph { sentence: message, ..WaitGraph::default() };
    let waiting = graph.node(Node::Named(threads));
    let location = graph.node(Node::Location(place));
    graph.edge(waiting, location, format!("compare and swap ({line})"), scene.line_number(class));
    finding.waits = Some(graph);
    finding
}
