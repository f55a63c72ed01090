//! Threads that wait on an mbarrier for a phase that does not end.

use standstill_findings::{Finding, Known, Node, Rule, WaitGraph};

use crate::position::Doing;

use super::{Pattern, Scene};

pub(crate) fn judge(scene: &Scene<'_>, pattern: &Pattern) -> Option<Finding> {
    let waits: Vec<_> = scene.doing(pattern, |doing| matches!(doing, Doing::Mbarrier { .. })).collect();
    let stuck = |doing: &Doing| match doing {
        Doing::Mbarrier { parity: Some(parity), word: Some(word), .. } => *parity == word.phase(),
        _ => true,
    };
    // Bytes that nothing brings come first, then arrivals that are missing, then waits behind those.
    let pending = |doing: &Doing| match doing {
        Doing::Mbarrier { word: Some(word), .. } if word.pending() == 0 => 2,
        Doing::Mbarrier { word: Some(word), .. } if word.expected() > 1 => 1,
        _ => 0,
    };
    let found = waits.iter().filter(|(_, class)| stuck(&class.doing));
    let (member, class) = found.max_by_key(|(_, class)| pending(&class.doing))?;
    let Doing::Mbarrier { address, parity, word } = &class.doing else { return None };
    let line = scene.line(class);
    let threads = scene.threads(pattern, &member.threads);
    let name = match address {
        Some(address) => format!("the mbarrier at shared {address:#x}"),
        None => "an mbarrier".to_owned(),
    };
    let parity = parity.map(|parity| format!(" for the phase of parity {parity}")).unwrap_or_default();
    let state = match word {
        Some(word) => format!("{word}"),
        None => "shared memory was not dumped, so its word is not known".to_owned(),
    };
    let nobody = waits.len() == pattern.members.len();
    let all_here = waits.len() == 1 && nobody;
    let (rule, why) = match word {
        // Everybody is there, and still arrivals are missing: the count is wrong.
        Some(word) if all_here && word.pending() > 0 => {
            (Rule::BarrierCount, format!("its count of {} is more than arrive", word.expected()))
        }
        _ if nobody => {
            (Rule::MbarrierPhase, "every thread of the block waits, so nobody is left to arrive".to_owned())
        }
        _ => (Rule::MbarrierPhase, "the arrivals that it needs did not come".to_owned()),
    };
    let wait = scene.verb(pattern, &member.threads, "wait");
    let message = format!("{threads} {wait} on {name} ({line}){parity}: {state}; {why}");
    let mut finding = scene.finding(rule, message.clone());
    finding.help =
        "let as many threads arrive in each phase as the initialisation says, and flip the parity that \
                    is waited for once a round"
            .to_owned();
    let running = scene.doing(pattern, |doing| matches!(doing, Doing::Work | Doing::Loop { .. })).next();
    if let Some((busy, at)) = running {
        let busy = scene.threads(pattern, &busy.threads);
        let reason = format!("{busy} were running {} and may still arrive", scene.on(at));
        scene.may_end(&mut finding, reason);
    } else if word.is_none() {
        let reason = "without shared memory in the dump the phase is not known".to_owned();
        finding.known = Known::Possible { reason };
    }
    scene.primary(&mut finding, member, scene.say(pattern, member, "wait", "here"));
    let mut graph = WaitGraph { sentence: message, ..WaitGraph::default() };
    for (other, at) in &waits {
        let Doing::Mbarrier { address, word, .. } = &at.doing else { continue };
        let from = graph.node(Node::Named(scene.threads(pattern, &other.threads)));
        let expected = word.map(|word| word.expected());
        let arrived = word.map_or(0, |word| word.expected().saturating_sub(word.pending()));
        let name = address.map_or("mbarrier".to_owned(), |address| format!("mbarrier {address:#x}"));
        let to = graph.node(Node::Barrier { name, expected, arrived });
        graph.edge(from, to, format!("wait ({})", scene.line(at)), scene.line_number(at));
        scene.cause(&mut finding, other, scene.say(pattern, other, "wait", "here"));
    }
    finding.waits = Some(graph);
    Some(finding)
}
