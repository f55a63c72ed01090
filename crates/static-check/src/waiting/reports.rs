//! Standstills in the reader's words: who waits for whom, and the edge that closes the cycle.

use super::*;
use crate::words::{agreeing, count, sentence};

impl State<'_> {
    /// A wait that nobody can end.
    pub(super) fn hopeless(&self, group: &Group, reach: &mut Reachability<'_>) -> Option<Finding> {
        let places = self.kernel.places;
        let threads = ThreadRanges::from_members(group.threads.iter().copied());
        let who = format!("{} of block {}", threads.with_noun("thread"), group.block);
        let line = places.line(group.at);
        let mut graph = WaitGraph::default();
        let waiter = graph.node(Node::Threads { block: group.block, threads: threads.clone() });
        match group.doing {
            Doing::Barrier(id) => {
                let (_, _, phase) = self
                    .standstill
                    .phases
                    .iter()
                    .find(|(block, known, _)| *block == group.block && *known == id)?;
                let arrived = phase.arrivals.len() as u32;
                let expected = phase.count?;
                let mut finding = self.finding(
                    Rule::BarrierCount,
                    format!(
                        "barrier {id} waits for {}, but only {arrived} {}",
                        count(u64::from(expected), "thread"),
                        if arrived == 1 { "comes" } else { "come" }
                    ),
                );
                finding.spans.push(places.primary(
                    group.at,
                    format!(
                        "{arrived} of {} {}",
                        count(u64::from(expected), "thread"),
                        if arrived == 1 { "arrives" } else { "arrive" }
                    ),
                ));
                for arrival in &phase.arrivals {
                    if arrival.instruction != group.at
                        && !finding.spans.iter().any(|s| s.line == places.line(arrival.instruction))
                    {
                        finding.spans.push(places.cause(arrival.instruction, "arrives at the same barrier"));
                    }
                }
                self.add_others(group, &mut finding);
                crate::divergence::add_causes(self.kernel, group.at, &mut finding);
                let barrier = graph.node(Node::Barrier {
                    name: format!("barrier {id}"),
                    expected: Some(expected),
                    arrived,
                });
                let wait = agreeing(&threads, "wait");
                graph.edge(waiter, barrier, format!("{wait} at the barrier on line {line}"), line);
                graph.sentence = format!(
                    "{who} {wait} at barrier {id} on line {line} for {}, of which {arrived} came; no other thread \
                     can arrive there any more",
                    count(u64::from(expected), "arrival")
                );
                finding.help =
                    "let the count be the number of threads that arrive (all that sync plus all that \
                                arrive), and name the same barrier on both sides"
                        .into();
                finding.waits = Some(graph);
                Some(finding)
            }
            Doing::Spinning => {
                let on_mbarrier =
                    group.reads.iter().find_map(|(place, _)| Some((place, self.mbarrier(place)?)));
                let Some((place, mbarrier)) = on_mbarrier else { return self.nobody_writes(group) };
                let missing = mbarrier.pending.max(0);
                let arrivals = count(u64::from(mbarrier.expected), "arrival");
                let name = self.place_name(place, group.at);
                let bytes = count(mbarrier.transactions.unsigned_abs(), "transaction byte");
                let (lack, phase_lacks) = match (missing, mbarrier.transactions) {
                    (0, 1..) => (
                        format!("{bytes} more than any copy brings"),
                        format!("is short of {bytes}; no thread can bring them any more"),
                    ),
                    (0, ..=-1) => (
                        format!("{bytes} fewer than its copies bring"),
                        format!("got {bytes} too many; no thread can expect them any more"),
                    ),
                    _ => (
                        format!(
                            "{arrivals}, of which {missing} never {}",
                            if missing == 1 { "comes" } else { "come" }
                        ),
                        format!("lacks {missing} of {arrivals}; no thread can arrive there any more"),
                    ),
                };
                let mut finding =
                    self.finding(Rule::BarrierCount, format!("the mbarrier {name} expects {lack}"));
                finding.spans.push(places.primary(group.at, "waits for a phase that is never complete"));
                finding.spans.push(
                    places
                        .cause(InstructionId(mbarrier.initialised_by), format!("initialised for {arrivals}")),
                );
                for writer in self.writers(group) {
                    if !finding.spans.iter().any(|s| s.line == places.line(writer)) {
                        finding.spans.push(places.cause(writer, "arrives here"));
                    }
                }
                if mbarrier.transactions > 0 {
                    let are = if mbarrier.transactions == 1 { "is" } else { "are" };
                    finding.notes.push(format!("{bytes} {are} still expected"));
                }
                let barrier = graph.node(Node::Barrier {
                    name: format!("mbarrier {name}"),
                    expected: Some(mbarrier.expected),
                    arrived: mbarrier.expected.saturating_sub(missing as u32),
                });
                let wait = agreeing(&threads, "wait");
                graph.edge(waiter, barrier, format!("{wait} on line {line}"), line);
                graph.sentence =
                    format!("{who} {wait} on line {line} for a phase of mbarrier {name} that {phase_lacks}");
                finding.help = if missing == 0 {
                    "expect exactly the bytes that the copies of one phase bring".into()
                } else {
                    "initialise the mbarrier with the number of arrivals of one phase".into()
                };
                finding.waits = Some(graph);
                Some(finding)
            }
            Doing::WarpOperation => Some(self.report_warp_operation(group, reach)),
            Doing::ClusterBarrier => None,
        }
    }

    /// A flag in the block's own memory that no thread can set any more.
    fn nobody_writes(&self, group: &Group) -> Option<Finding> {
        let places = self.kernel.places;
        let (place, _) = group.reads.first()?;
        let name = self.place_name(place, group.at);
        let threads = ThreadRanges::from_members(group.threads.iter().copied());
        let message = match group.too_late {
            true => format!("threads may come too late for what {name} holds, and nobody writes it any more"),
            false => format!("threads wait for {name}, which nobody writes any more"),
        };
        let mut finding = self.finding(Rule::WaitCycle, message);
        finding.platforms = hangs_everywhere();
        finding.spans.push(places.primary(group.at, sentence("thread", &threads, "spin here")));
        let body = self.kernel.body;
        let stores = body.instructions().filter(|(id, instruction)| {
            matches!(instruction.op, Op::Store(_) | Op::Atomic { .. })
                && *id != group.at
                && place.named_base() == Some(body.base(*id))
        });
        for (at, _) in stores {
            let label = match group.too_late {
                true => "one of these writes may be over before they look",
                false => "this write does not end the wait",
            };
            let span = places.cause(at, label);
            if !finding.spans.iter().any(|known| (&known.file, known.line) == (&span.file, span.line)) {
                finding.spans.push(span);
            }
        }
        if finding.spans.len() == 1 {
            finding.assumes.push(format!("{name} does not happen to hold what the loop waits for"));
        }
        self.add_others(group, &mut finding);
        finding.help = match group.too_late {
            true => "wait for this value or any later one (`>=`), or let the writer wait until it was seen",
            false => "write the flag in a thread that does not wait for it",
        }
        .into();
        let mut graph = WaitGraph::default();
        let waiter = graph.node(Node::Threads { block: group.block, threads: threads.clone() });
        let flag = graph.node(Node::Location(name.clone()));
        let line = places.line(group.at);
        let spin = agreeing(&threads, "spin");
        graph.edge(waiter, flag, format!("{spin} on {name} (line {line})"), line);
        graph.sentence = format!(
            "{} of block {} {spin} on {name} (line {line}), which nobody writes any more",
            threads.with_noun("thread"),
            group.block
        );
        finding.waits = Some(graph);
        Some(finding)
    }

    /// Where the other threads of the block are.
    fn add_others(&self, group: &Group, finding: &mut Finding) {
        for other in &self.standstill.groups {
            if other.block == group.block && other.at != group.at {
                let threads = ThreadRanges::from_members(other.threads.iter().copied());
                let label = sentence("thread", &threads, doing_words(other.doing));
                finding.spans.push(self.kernel.places.cause(other.at, label));
            }
        }
    }

    fn report_warp_operation(&self, group: &Group, _reach: &mut Reachability<'_>) -> Finding {
        let places = self.kernel.places;
        let threads = ThreadRanges::from_members(group.threads.iter().copied());
        let mut finding = self.finding(
            Rule::WarpMask,
            "the mask of this warp operation names lanes that do not come".to_string(),
        );
        let label = sentence("thread", &threads, "wait here for the whole mask");
        finding.spans.push(places.primary(group.at, label));
        crate::divergence::add_causes(self.kernel, group.at, &mut finding);
        self.add_others(group, &mut finding);
        finding.notes.push(
            "all lanes that the mask names must execute the operation (NVIDIA CUDA C++ guidelines 2.4)"
                .into(),
        );
        finding.help = "name only the lanes that take this branch, or move the operation out of it".into();
        finding.platforms = PlatformRow::new(&[
            (Platform::Nvidia, Outcome::Hangs),
            (Platform::NvidiaOld, Outcome::Undefined),
            (Platform::Specification, Outcome::Undefined),
        ]);
        let mut graph = WaitGraph::default();
        let waiter = graph.node(Node::Threads { block: group.block, threads: threads.clone() });
        let line = places.line(group.at);
        let mut tail = String::new();
        for other in &self.standstill.groups {
            if other.block == group.block && other.at != group.at {
                let absent = ThreadRanges::from_members(other.threads.iter().copied());
                let words = self.doing_words(other);
                tail = format!(" for {}, which {words}", absent.with_noun("thread"));
                let node = graph.node(Node::Threads { block: other.block, threads: absent });
                graph.edge(waiter, node, self.doing_words(group), line);
                graph.edge(node, waiter, words, places.line(other.at));
                break;
            }
        }
        graph.sentence = format!(
            "{} of block {} {}{tail}",
            threads.with_noun("thread"),
            group.block,
            self.doing_words(group)
        );
        finding.waits = Some(graph);
        finding
    }

    pub(super) fn report_cycle(&self, cycle: &[usize], reach: &mut Reachability<'_>) -> Finding {
        let places = self.kernel.places;
        let groups: Vec<&Group> =
            cycle.iter().filter_map(|&index| self.standstill.groups.get(index)).collect();
        // A flag that is written behind the operation is the fault, not the mask.
        let spins = groups.iter().any(|g| g.doing == Doing::Spinning);
        if let Some(group) = groups.iter().find(|g| g.doing == Doing::WarpOperation && !spins) {
            return self.report_warp_operation(group, reach);
        }
        let on_workspace =
            |group: &&&Group| group.reads.iter().any(|(_, at)| self.kernel.body.base(*at) == Base::Workspace);
        if let Some(group) = groups.iter().find(on_workspace) {
            return self.report_grid_barrier(group);
        }
        let message = match groups.as_slice() {
            [alone] if alone.takes => "threads wait for a lock that one of them already has",
            [_] => "threads wait for what they do only behind this wait",
            _ => "threads wait for each other",
        };
        let mut finding = self.finding(Rule::WaitCycle, message.to_string());
        // Named barriers and warp operations are NVIDIA's own.
        if groups.iter().all(|group| matches!(group.doing, Doing::Barrier(0) | Doing::Spinning)) {
            finding.platforms = hangs_everywhere();
        }
        let mut graph = WaitGraph::default();
        let mut story = String::new();
        let mut writer_clauses = Vec::new();
        for (position, group) in groups.iter().enumerate() {
            let next = groups.get((position + 1) % groups.len()).copied().unwrap_or(group);
            let from_threads = ThreadRanges::from_members(group.threads.iter().copied());
            let to_threads = ThreadRanges::from_members(next.threads.iter().copied());
            let from = graph.node(Node::Threads { block: group.block, threads: from_threads.clone() });
            let to = graph.node(Node::Threads { block: next.block, threads: to_threads.clone() });
            let line = places.line(group.at);
            let words = self.doing_words(group);
            graph.edge(from, to, words.clone(), line);
            let name = |threads: &ThreadRanges, block: u32, with_block: bool| {
                if with_block {
                    format!("{} of block {block}", threads.with_noun("thread"))
                } else {
                    threads.with_noun("thread")
                }
            };
            if position == 0 {
                story = format!("{} {words}", name(&from_threads, group.block, true));
            } else {
                story.push_str(&format!(", which {words}"));
            }
            if position + 1 < groups.len() {
                story.push_str(&format!(" for {}", name(&to_threads, next.block, next.block != group.block)));
            }
            let label = sentence("thread", &from_threads, doing_words(group.doing));
            finding.spans.push(if position == 0 {
                places.primary(group.at, label)
            } else {
                places.cause(group.at, label)
            });
            if group.doing == Doing::Spinning {
                self.add_writers(group, next, reach, &mut finding, &mut writer_clauses);
            }
        }
        for clause in writer_clauses {
            story.push_str("; ");
            story.push_str(&clause);
        }
        graph.sentence = story;
        finding.help = if groups.iter().any(|g| g.takes) {
            "give the lock back before anything that waits for those who take it".into()
        } else if let [_] = groups.as_slice() {
            "write the flag before waiting for it, or in a thread that does not wait".into()
        } else if groups.iter().any(|g| g.doing == Doing::Spinning) {
            "write the flag before anything that waits for its readers, or move the barrier out of the branch so \
             that all threads reach it"
                .into()
        } else {
            "let both sides come to their barriers in the same order".into()
        };
        finding.waits = Some(graph);
        finding
    }

    /// The writes that would end a spin, and where they stand.
    fn add_writers(
        &self,
        group: &Group,
        next: &Group,
        reach: &mut Reachability<'_>,
        finding: &mut Finding,
        clauses: &mut Vec<String>,
    ) {
        let places = self.kernel.places;
        let Some((place, _)) = group.reads.first() else { return };
        let name = self.place_name(place, group.at);
        let assumption = match group.takes {
            true => format!("{name} is free at the start, and nobody outside the grid gives it back"),
            false => format!(
                "{name} does not already hold what the loop waits for, and nobody outside the grid writes it"
            ),
        };
        if !finding.assumes.contains(&assumption) {
            finding.assumes.push(assumption);
        }
        let writers: Vec<InstructionId> = self
            .writers(group)
            .into_iter()
            .filter(|&w| self.writes(reach, next, w, group) != Writes::No)
            .collect();
        let Some(&writer) = writers.first() else { return };
        let what = if group.takes { "release of" } else { "write of" };
        for &writer in &writers {
            if !finding.spans.iter().any(|s| s.line == places.line(writer)) {
                finding.spans.push(places.cause(writer, format!("the {what} {name} lies behind that wait")));
            }
        }
        let by = ThreadRanges::from_members(self.threads_at(writer, next));
        let behind = match next.doing {
            Doing::Barrier(_) | Doing::ClusterBarrier => "that barrier",
            _ => "that wait",
        };
        let of = if next.block == group.block { String::new() } else { format!(" of block {}", next.block) };
        let does = match group.takes {
            true => format!("{} {name} back", agreeing(&by, "give")),
            false => format!("{} {name}", agreeing(&by, "write")),
        };
        clauses.push(format!(
            "only {}{of} {does}, on line {}, after {behind}",
            by.with_noun("thread"),
            places.line(writer)
        ));
    }

    fn report_grid_barrier(&self, group: &Group) -> Finding {
        let places = self.kernel.places;
        let blocks: Vec<u32> = self
            .standstill
            .groups
            .iter()
            .filter(|g| g.reads.iter().any(|(_, at)| self.kernel.body.base(*at) == Base::Workspace))
            .map(|g| g.block)
            .collect();
        let blocks = ThreadRanges::from_members(blocks);
        let mut finding =
            self.finding(Rule::GridDivergence, "a grid barrier that some blocks do not reach".to_string());
        let label = sentence("block", &blocks, "wait here for the whole grid");
        finding.spans.push(places.primary(group.at, label));
        crate::divergence::add_causes(self.kernel, group.at, &mut finding);
        finding.help = "let every block of the grid come to the grid barrier".into();
        let mut graph = WaitGraph::default();
        let waiting = graph.node(Node::Blocks(blocks.clone()));
        let barrier = graph.node(Node::Barrier {
            name: "the grid barrier".into(),
            expected: None,
            arrived: blocks.len() as u32,
        });
        let line = places.line(group.at);
        let wait = agreeing(&blocks, "wait");
        graph.edge(waiting, barrier, format!("{wait} at the grid barrier on line {line}"), line);
        graph.sentence = format!(
            "{} {wait} at the grid barrier on line {line} for blocks that never come there",
            blocks.with_noun("block")
        );
        finding.waits = Some(graph);
        finding
    }

    fn place_name(&self, place: &Place, at: InstructionId) -> String {
        let body = self.kernel.body;
        match place.named_base().unwrap_or_else(|| body.base(at)) {
            Base::Unknown => "the location it polls".into(),
            base => {
                let name = self.kernel.places.base_name(base);
                if place.offset == 0 { name } else { format!("{name} + {} bytes", place.offset) }
            }
        }
    }

    /// What a group does and where, as a predicate for its threads.
    fn doing_words(&self, group: &Group) -> String {
        let line = self.kernel.places.line(group.at);
        let words = match group.doing {
            Doing::Barrier(0) => format!("wait at the barrier on line {line}"),
            Doing::Barrier(id) => format!("wait at barrier {id} on line {line}"),
            Doing::WarpOperation => format!("wait in the warp operation on line {line}"),
            Doing::ClusterBarrier => format!("wait at the cluster barrier on line {line}"),
            Doing::Spinning => match group.reads.first() {
                Some((place, at)) => format!("spin on {} (line {line})", self.place_name(place, *at)),
                None => format!("spin on line {line}"),
            },
        };
        agreeing(&ThreadRanges::from_members(group.threads.iter().copied()), &words)
    }
}

fn doing_words(doing: Doing) -> &'static str {
    match doing {
        Doing::Barrier(_) => "wait at this barrier",
        Doing::WarpOperation => "wait in this warp operation",
        Doing::ClusterBarrier => "wait at this cluster barrier",
        Doing::Spinning => "spin here",
    }
}
