//! Threads that wait for each other through memory.

use standstill_findings::{Edge, Finding, Node, NodeId, Rule, ThreadRanges, WaitGraph};

use super::future::Write;
use super::parties::{Party, verb};
use super::verdict::{Described, Judged, primary, push_cause};
use super::waiters::Why;

impl Judged<'_> {
    /// The finding about a party that spins on memory.
    pub(super) fn cycle(&self, (index, party, described): (usize, &Party, &Described)) -> Finding {
        let line = party.first.place.line;
        let name = &described.location;
        let mut graph = WaitGraph::default();
        let mut finding = Finding::new(Rule::WaitCycle, "", "threads wait for each other".to_owned());
        finding.help = "let the write come before the wait that it stands behind".into();
        finding.spans.push(primary(&party.first.place, format!("spins on `{name}`")));
        let spinner = graph.node(Node::Threads { block: party.block, threads: party.threads.clone() });
        let location = graph.node(Node::Location(name.clone()));
        graph.edge(spinner, location, format!("{} on `{name}` (line {line})", verb(party, "spin")), line);
        let sentence = match self.write_for(party) {
            None => {
                finding.message = format!("threads wait for `{name}`, which nobody writes any more");
                finding.help =
                    "let somebody write what is waited for, after the wait has begun or before".into();
                format!(
                    "{} {} on `{name}` (line {line}), which nobody writes any more",
                    party.who(),
                    verb(party, "spin")
                )
            }
            Some(write) => {
                let writer = ThreadRanges::from_members(write.threads.iter().copied());
                let by = format!("{} of block {}", writer.with_noun("thread"), write.block);
                push_cause(
                    &mut finding,
                    &write.place,
                    format!("{by} would write `{name}` here, after its own wait"),
                );
                let behind = write.behind.and_then(|waiter| self.party_of(waiter));
                self.edges(&mut graph, location, write, behind, spinner, index);
                self.sentence(party, name, line, write, &by, behind, &mut finding)
            }
        };
        graph.sentence = sentence;
        finding.waits = Some(graph);
        finding
    }

    /// The rest of the cycle: location, writer, the writer's wait, and back.
    fn edges(
        &self,
        graph: &mut WaitGraph,
        location: NodeId,
        write: &Write,
        behind: Option<(usize, &Party)>,
        spinner: NodeId,
        index: usize,
    ) {
        let Some((other, writer)) = behind else { return };
        let node = graph.node(Node::Threads { block: writer.block, threads: writer.threads.clone() });
        let line = write.place.line;
        graph.edge(location, node, format!("is written on line {line}"), line);
        let back = writer.first.place.line;
        match &writer.first.why {
            Why::Barrier { id, count, arrived } => {
                let barrier = graph.node(Node::Barrier {
                    name: format!("barrier {id}"),
                    expected: *count,
                    arrived: *arrived,
                });
                graph.edge(
                    node,
                    barrier,
                    format!("{} at the barrier on line {back}", verb(writer, "wait")),
                    back,
                );
                graph.edge(barrier, spinner, "waits for", back);
            }
            _ if other != index => {
                let name =
                    self.described.get(other).map(|described| described.location.clone()).unwrap_or_default();
                let next = graph.node(Node::Location(name.clone()));
                graph.edge(node, next, format!("{} on `{name}` (line {back})", verb(writer, "spin")), back);
                graph.edges.push(Edge { from: next, to: spinner, reason: "is written by".into(), line: 0 });
            }
            _ => {}
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one sentence")]
    fn sentence(
        &self,
        party: &Party,
        name: &str,
        line: u32,
        write: &Write,
        by: &str,
        behind: Option<(usize, &Party)>,
        finding: &mut Finding,
    ) -> String {
        let spin = verb(party, "spin");
        let wrote = write.place.line;
        match behind.map(|(_, writer)| (writer, &writer.first.why)) {
            Some((writer, Why::Barrier { .. })) => {
                let at = writer.first.place.line;
                push_cause(
                    finding,
                    &writer.first.place,
                    format!("{} {} here for them", writer.who(), verb(writer, "wait")),
                );
                let wait = verb(writer, "wait");
                format!(
                    "{} {wait} at the barrier on line {at} for {}, which {spin} on `{name}` (line {line}); only {by} writes `{name}`, on line {wrote}, after that barrier",
                    writer.who(),
                    party.threads.with_noun("thread"),
                )
            }
            Some((writer, _)) => {
                if writer.first.place != party.first.place {
                    push_cause(
                        finding,
                        &writer.first.place,
                        format!("{} {} here first", writer.who(), verb(writer, "wait")),
                    );
                }
                format!(
                    "{} {spin} on `{name}` (line {line}); only {by} writes `{name}`, on line {wrote}, after its own wait: {}",
                    party.who(),
                    self.doing(writer),
                )
            }
            None => format!(
                "{} {spin} on `{name}` (line {line}), which {by} would write on line {wrote}",
                party.who()
            ),
        }
    }
}
