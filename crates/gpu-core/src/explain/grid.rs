//! Blocks that wait for blocks: too many for the card, or a grid barrier that some never reach.

use standstill_findings::{Finding, Known, Node, Rule, WaitGraph};

use crate::position::Doing;

use super::pattern::Room;
use super::{Member, Pattern, Scene, words};

pub(crate) fn judge(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    let spins = || {
        scene.doing(
            pattern,
            |doing| matches!(doing, Doing::Spin { polled, .. } if polled.iter().any(|place| !place.shared)),
        )
    };
    if let Some((member, class)) =
        spins().find(|(_, class)| class.place.as_ref().is_some_and(words::in_grid_sync))
    {
        return Some(divergence(scene, pattern, member, class));
    }
    let (member, class) = spins().next()?;
    (scene.without_room() > 0).then(|| residency(scene, pattern, member, class))
}

/// A cooperative grid barrier, where all blocks fit by definition: some block will not come.
fn divergence(
    scene: &Scene<'_>,
    pattern: &Pattern,
    member: &Member,
    class: &crate::position::Group,
) -> Finding {
    let at_sync = |pattern: &&Pattern| {
        let mut spins = scene.doing(pattern, |doing| matches!(doing, Doing::Spin { .. }));
        spins.any(|(_, class)| class.place.as_ref().is_some_and(words::in_grid_sync))
    };
    let waiting: Vec<u64> = scene.patterns.iter().filter(at_sync).flat_map(|p| p.blocks.clone()).collect();
    let elsewhere: Vec<u64> =
        scene.patterns.iter().filter(|p| !at_sync(p)).flat_map(|p| p.blocks.clone()).collect();
    let (line, on) = (scene.line(class), scene.on(class));
    let waits = words::blocks(&waiting);
    let gone = if scene.state.size_known { scene.finished() } else { scene.state.finished() };
    let for_whom = match (elsewhere.as_slice(), gone) {
        ([], 0) => "for blocks that have finished or never come to it".to_owned(),
        ([], 1) => "for a block that has finished without coming to it".to_owned(),
        ([], gone) => format!("for {gone} blocks that have finished without coming to it"),
        (others, _) => format!("for {}, which stand elsewhere", words::blocks(others)),
    };
    let wait = words::verb(waiting.len(), "wait");
    let message = format!("{waits} {wait} at the grid barrier {on} {for_whom}");
    let mut finding = scene.finding(Rule::GridDivergence, message.clone());
    finding.help = "let every block of the grid reach every grid barrier, equally often".to_owned();
    let runs = |doing: &Doing| matches!(doing, Doing::Work | Doing::Loop { .. });
    let running = |other: &&Pattern| !at_sync(other) && scene.doing(other, runs).next().is_some();
    let running: Vec<u64> = scene.patterns.iter().filter(running).flat_map(|p| p.blocks.clone()).collect();
    if !running.is_empty() {
        let were = if running.len() == 1 { "was" } else { "were" };
        let reason = format!("{} {were} running and may still come", words::blocks(&running));
        scene.may_end(&mut finding, reason);
    }
    scene.primary(&mut finding, member, "the grid barrier that they wait at");
    for other in scene.patterns.iter().filter(|p| !at_sync(p)) {
        for there in other.members.iter().take(1) {
            scene.cause(
                &mut finding,
                there,
                format!("{} {} here", words::blocks(&other.blocks), words::verb(other.blocks.len(), "stand")),
            );
        }
    }
    let _ = pattern;
    let mut graph = WaitGraph { sentence: message, ..WaitGraph::default() };
    let blocks = graph.node(Node::Named(waits));
    let barrier = graph.node(Node::Barrier {
        name: "the grid barrier".to_owned(),
        expected: scene
            .state
            .size_known
            .then(|| u32::try_from(scene.state.grid.blocks()).unwrap_or(u32::MAX)),
        arrived: waiting.len() as u32,
    });
    graph.edge(blocks, barrier, format!("wait at the grid barrier ({line})"), scene.line_number(class));
    finding.waits = Some(graph);
    finding
}

/// Blocks on a full card wait for what only blocks without a place on it can do.
fn residency(
    scene: &Scene<'_>,
    pattern: &Pattern,
    member: &Member,
    class: &crate::position::Group,
) -> Finding {
    let (missing, there) = (scene.without_room(), scene.state.blocks.len() as u64);
    let line = scene.line(class);
    let place = scene.polled(class);
    let spinners = scene.threads(pattern, &member.threads);
    let blocks = if missing == 1 { "1 block has".to_owned() } else { format!("{missing} blocks have") };
    let spin = scene.verb(pattern, &member.threads, "spin");
    let message = format!(
        "{spinners} {spin} on `{place}` ({line}) while {blocks} not begun: the card is full with {there} blocks of the \
         grid of {}, none of them ends before the wait does, and nothing makes room",
        scene.state.grid.blocks()
    );
    let mut finding = scene.finding(Rule::GridResidency, message.clone());
    finding.help =
        "launch no more blocks than fit at once (occupancy × multiprocessors), or launch cooperatively, \
                    which refuses a larger grid"
            .to_owned();
    if scene.room == Room::Crowded {
        let reason =
            "the multiprocessors held unequal numbers of blocks, so there may have been room".to_owned();
        finding.known = Known::Possible { reason };
    }
    scene.primary(&mut finding, member, "they spin here");
    for (other, _) in scene.doing(pattern, |doing| matches!(doing, Doing::BlockBarrier { .. })) {
        scene.cause(&mut finding, other, scene.say(pattern, other, "wait", "here for them"));
    }
    let mut graph = WaitGraph { sentence: message, ..WaitGraph::default() };
    let resident = graph.node(Node::Named(words::blocks(&pattern.blocks)));
    let location = graph.node(Node::Location(place));
    let waiting = graph.node(Node::Named(blocks.replace(" have", "").replace(" has", "") + " not begun"));
    let slot = graph.node(Node::ResidencySlot { capacity: there });
    graph.edge(resident, location, format!("spin ({line})"), scene.line_number(class));
    graph.edge(location, waiting, "is to be written by", 0);
    graph.edge(waiting, slot, "wait for", 0);
    graph.edge(slot, resident, "is held by", 0);
    finding.waits = Some(graph);
    finding
}
