//! Threads that wait at a block barrier for threads that do not come.

use standstill_findings::{Finding, Known, Node, Rule, ThreadRanges, WaitGraph};

use crate::position::{Count, Doing, Group};

use super::{Member, Pattern, Scene};

pub(crate) fn judge(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    let barriers: Vec<(&Member, &Group)> =
        scene.doing(pattern, |doing| matches!(doing, Doing::BlockBarrier { .. })).collect();
    // A counted barrier cannot be completed by threads that leave; one over the block can.
    let counted = |class: &Group| matches!(class.doing, Doing::BlockBarrier { count: Count::Threads(_), .. });
    let first = barriers.iter().find(|(_, class)| counted(class)).or_else(|| barriers.first());
    let (member, class) = *first?;
    let Doing::BlockBarrier { id, count } = class.doing else { return None };
    let name = id.map_or("the barrier".to_owned(), |id| format!("barrier {id}"));
    let there = pattern.members.iter().map(|member| member.threads.len()).sum::<usize>();
    let expected = match count {
        Count::Threads(count) => Some(count),
        Count::All => u32::try_from(there).ok(),
        Count::Unknown => None,
    };
    let same = |class: &Group| matches!(class.doing, Doing::BlockBarrier { id: other, .. } if other == id);
    let arrived: usize = barriers.iter().filter(|(_, class)| same(class)).map(|(m, _)| m.threads.len()).sum();
    let others: Vec<(&Member, &Group)> =
        scene.doing(pattern, |_| true).filter(|(_, class)| !same(class)).collect();
    if expected.is_some_and(|expected| arrived as u32 >= expected) && others.is_empty() {
        return None;
    }
    let (on, threads) = (scene.on(class), scene.threads(pattern, &member.threads));
    let mut where_they_are: Vec<String> = others
        .iter()
        .map(|(other, at)| {
            let threads = ThreadRanges::from_members(other.threads.iter().copied()).with_noun("thread");
            match at.doing {
                Doing::BlockBarrier { id: Some(id), .. } => {
                    format!("{threads} wait at barrier {id} ({})", scene.line(at))
                }
                Doing::BlockBarrier { .. } => {
                    format!("{threads} wait at another barrier ({})", scene.line(at))
                }
                _ => format!("{threads} were {}", scene.on(at)),
            }
        })
        .collect();
    if !pattern.exited.is_empty() {
        let gone = ThreadRanges::from_members(pattern.exited.iter().copied());
        let have = if gone.len() == 1 { "has" } else { "have" };
        where_they_are.push(format!("{} {have} exited", gone.with_noun("thread")));
    }
    let needs = match (count, expected) {
        (Count::Threads(count), _) => format!(", which needs {count} arrivals"),
        _ => ", which needs every thread of the block".to_owned(),
    };
    let rest = match where_they_are.as_slice() {
        [] => "and no other thread is there to arrive".to_owned(),
        rest => rest.join(", "),
    };
    let wait = scene.verb(pattern, &member.threads, "wait");
    let message = format!("{threads} {wait} at {name} {on}{needs}: {rest}");
    let rule = match count {
        Count::All if others.iter().all(|(_, at)| !counted(at)) => Rule::DivergentBarrier,
        _ => Rule::BarrierCount,
    };
    let mut finding = scene.finding(rule, message.clone());
    finding.help = match rule {
        Rule::BarrierCount => {
            "let as many threads arrive in each phase as the barrier's count says, at the same number"
        }
        _ => "let every thread of the block reach the barrier",
    }
    .to_owned();
    let busy = others.iter().find(|(_, at)| matches!(at.doing, Doing::Work | Doing::Loop { .. }));
    if let Some((_, at)) = busy {
        let reason = format!("threads were running {} and may still arrive", scene.on(at));
        scene.may_end(&mut finding, reason);
    }
    if let (Count::Threads(count), Some(reason)) = (count, unseen(scene, pattern, (arrived, &others), id))
        && count as usize > arrived
    {
        scene.may_end(&mut finding, reason);
    }
    if finding.known == Known::Observed
        && matches!(count, Count::Threads(_))
        && scene.state.arrivals.may_be_at(id)
    {
        finding.notes.push("arrivals without waiting (bar.arrive) leave no trace in a dump".to_owned());
    }
    scene.primary(&mut finding, member, scene.say(pattern, member, "wait", "here"));
    let mut graph = WaitGraph { sentence: message, ..WaitGraph::default() };
    for (other, at) in std::iter::once(&(member, class)).chain(&others) {
        let from = graph.node(Node::Named(scene.threads(pattern, &other.threads)));
        if let Doing::BlockBarrier { id, count } = at.doing {
            let name = id.map_or("a barrier".to_owned(), |id| format!("barrier {id}"));
            let expected =
                if let Count::Threads(count) = count { Some(count) } else { u32::try_from(there).ok() };
            let to = graph.node(Node::Barrier { name, expected, arrived: other.threads.len() as u32 });
            graph.edge(from, to, format!("wait ({})", scene.line(at)), scene.line_number(at));
        }
        if *other != member {
            scene.cause(
                &mut finding,
                other,
                format!("{} stand here", scene.threads(pattern, &other.threads)),
            );
        }
    }
    finding.waits = Some(graph);
    Some(finding)
}

/// Why the barrier may be complete all the same: threads that are elsewhere may have arrived without waiting.
fn unseen(
    scene: &Scene<'_>,
    pattern: &Pattern,
    (arrived, others): (usize, &[(&Member, &Group)]),
    id: Option<u32>,
) -> Option<String> {
    if let Some((other, at)) = others.iter().find(|(_, at)| at.arrived.may_be_at(id)) {
        let threads = scene.threads(pattern, &other.threads);
        return Some(format!(
            "{threads}, now {}, may have arrived before without waiting: bar.arrive leaves no trace in a dump",
            scene.on(at)
        ));
    }
    // With other blocks in other states this one may be caught just before it goes on.
    let alone = scene.patterns.len() == 1 && scene.state.not_begun() == 0;
    let gone = !pattern.exited.is_empty() && scene.state.arrivals.may_be_at(id) && !alone && arrived > 0;
    gone.then(|| {
        "threads that have exited may have arrived before: bar.arrive leaves no trace in a dump".to_owned()
    })
}
