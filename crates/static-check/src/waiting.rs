//! What a rehearsal's standstills and faults mean: barrier-count, warp-mask, wait-cycle, grid-divergence and
//! the divergence of counted barriers.

use standstill_findings::{
    Finding, Known, Node, Outcome, Platform, PlatformRow, Rule, ThreadRanges, WaitGraph,
};
use standstill_kernel_ir::{
    InstructionId, MatrixKind, MbarrierOperation, Op, Operand, Reachability, Terminator,
};

use crate::body::{Base, Body};
use crate::inline::is_shared;
use crate::kernel::Kernel;
use crate::rehearsal::{Doing, Fault, Group, Place, PointerBase, Rehearsal, Standstill};
use crate::threads::ThreadValues;

/// Reports what a rehearsal showed; gives the barriers whose divergence is explained by it.
pub(crate) fn check(
    kernel: &Kernel<'_>,
    rehearsal: &Rehearsal,
    findings: &mut Vec<Finding>,
) -> Vec<InstructionId> {
    let mut explained = Vec::new();
    for fault in &rehearsal.faults {
        findings.push(report_fault(kernel, fault));
        if matches!(fault, Fault::PartOfWarp { .. }) {
            explained.push(fault.at());
        }
    }
    for standstill in &rehearsal.standstills {
        let state = State { kernel, rehearsal, standstill };
        if let Some(finding) = state.report() {
            explained.extend(standstill.groups.iter().map(|group| group.at));
            findings.push(finding);
        }
    }
    explained
}

/// A barrier that waits on every platform.
fn hangs() -> PlatformRow {
    PlatformRow::new(&[
        (Platform::Nvidia, Outcome::Hangs),
        (Platform::NvidiaOld, Outcome::Hangs),
        (Platform::Specification, Outcome::Undefined),
    ])
}

fn report_fault(kernel: &Kernel<'_>, fault: &Fault) -> Finding {
    let places = kernel.places;
    let new = |rule, message: String| Finding::new(rule, kernel.name, message);
    match fault {
        Fault::CountNotWholeWarps { at, count } => {
            let mut finding = new(
                Rule::BarrierCount,
                format!("the count {count} of this barrier is not a positive multiple of the warp size"),
            );
            finding.spans.push(places.primary(*at, format!("waits for {count} threads")));
            finding.notes.push("a barrier counts whole warps: its count must be a multiple of 32".into());
            finding.help = "give the number of participating threads, rounded up to whole warps".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::MayHang),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::CountsDiffer { at, count, other, other_count } => {
            let words = |count: &Option<u32>| match count {
                Some(count) => format!("{count} threads"),
                None => "all threads of the block".to_string(),
            };
            let mut finding =
                new(Rule::BarrierCount, "threads meet at one barrier with different counts".to_string());
            finding.spans.push(places.primary(*at, format!("expects {}", words(count))));
            finding.spans.push(places.cause(*other, format!("expects {}", words(other_count))));
            finding.help = "give all participants of a barrier the same count".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::MayHang),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::ArrivesTwice { at, earlier, id, thread } => {
            let mut finding = new(
                Rule::BarrierCount,
                format!("thread {thread} arrives at barrier {id} again before the others came"),
            );
            finding.spans.push(places.primary(*at, "arrives a second time in one phase"));
            if earlier != at {
                finding.spans.push(places.cause(*earlier, "arrives first here"));
            }
            finding.notes.push(
                "its second arrival counts in place of a thread that is still missing, so the barrier lets \
                 through too early and the next phase waits for an arrival too many"
                    .into(),
            );
            finding.help = "wait for the other side between two arrivals".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::MayHang),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::TooManyThreads { at, count, id, other, threads } => {
            let more = ThreadRanges::from_members(threads.iter().copied());
            let mut finding = new(
                Rule::BarrierCount,
                format!("more threads come to barrier {id} than its count of {count}"),
            );
            finding
                .spans
                .push(places.primary(*at, format!("{} come here as well", more.with_noun("thread"))));
            if places.line(*other) != places.line(*at) {
                finding.spans.push(places.cause(*other, format!("{count} threads complete it here")));
            }
            crate::divergence::add_causes(kernel, *at, &mut finding);
            finding.notes.push(
                "nothing keeps the groups apart, so the barrier opens for whichever threads come first: it lets \
                 through too early"
                    .into(),
            );
            finding.help =
                "let the count be the number of threads that come, or give each group its own barrier".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::MayBeWrong),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::PartOfWarp { at, present, absent } => {
            let present = ThreadRanges::from_members(present.iter().copied());
            let absent = ThreadRanges::from_members(absent.iter().copied());
            let mut finding =
                new(Rule::DivergentBarrier, "a counted barrier is executed by parts of warps".to_string());
            finding.spans.push(places.primary(*at, format!("{} come here", present.with_noun("thread"))));
            crate::divergence::add_causes(kernel, *at, &mut finding);
            finding.notes.push(format!(
                "{} of the same warps do not; the barrier counts each warp with all its threads, so it opens \
                 before everybody came",
                absent.with_noun("thread")
            ));
            finding.help = "let whole warps take part in the barrier".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::MayBeWrong),
                (Platform::NvidiaOld, Outcome::MayHang),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::MaskLeavesOutCaller { at, mask, thread } => {
            let mut finding = new(
                Rule::WarpMask,
                format!("thread {thread} executes a warp operation whose mask 0x{mask:08x} leaves it out"),
            );
            finding.spans.push(places.primary(*at, format!("mask 0x{mask:08x}")));
            finding.notes.push(
                "every thread that executes a warp operation must be named by its mask; for the others it is \
                 undefined (NVIDIA CUDA C++ guidelines 2.4)"
                    .into(),
            );
            finding.help = "name all lanes that come here, or let only the named ones come".into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::CompletesUnordered),
                (Platform::NvidiaOld, Outcome::Undefined),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
        Fault::MaskNamesEnded { at, mask, ended } => {
            let ended = ThreadRanges::from_members(ended.iter().copied());
            let mut finding = new(
                Rule::WarpMask,
                format!(
                    "the mask 0x{mask:08x} of this warp operation names lanes that have already returned"
                ),
            );
            let verb = if ended.len() == 1 { "has" } else { "have" };
            finding
                .spans
                .push(places.primary(*at, format!("{} {verb} returned before", ended.with_noun("thread"))));
            crate::divergence::add_causes(kernel, *at, &mut finding);
            finding.notes.push(
                "all lanes that the mask names must execute the operation (NVIDIA CUDA C++ guidelines 2.4)"
                    .into(),
            );
            finding.help = "keep the lanes alive until behind the operation, or take the mask from \
                            `__ballot_sync` before they leave"
                .into();
            finding.platforms = PlatformRow::new(&[
                (Platform::Nvidia, Outcome::CompletesUnordered),
                (Platform::NvidiaOld, Outcome::Undefined),
                (Platform::Specification, Outcome::Undefined),
            ]);
            finding
        }
    }
}

/// What a group waits for.
enum WaitsFor {
    /// These groups, by their positions.
    Groups(Vec<usize>),
    /// Nobody can end its wait any more.
    Nobody,
    /// Somebody who is not in the picture may.
    Outsiders,
}

/// One standstill of one kernel.
struct State<'a> {
    kernel: &'a Kernel<'a>,
    rehearsal: &'a Rehearsal,
    standstill: &'a Standstill,
}

impl State<'_> {
    fn report(&self) -> Option<Finding> {
        let groups = &self.standstill.groups;
        let mut reach = Reachability::new(&self.kernel.body.flow);
        let waits: Vec<WaitsFor> = (0..groups.len()).map(|index| self.waits_for(&mut reach, index)).collect();
        // A group that nobody can help is at fault on its own; whoever waits for it only follows.
        for (index, group) in groups.iter().enumerate() {
            if matches!(waits.get(index), Some(WaitsFor::Nobody)) {
                return self.hopeless(group, &mut reach);
            }
        }
        let cycle = self.cycle(&waits)?;
        // What a flag holds at the start was chosen on the way: with another value it may be no cycle at all.
        let spins = |&index: &usize| groups.get(index).is_some_and(|group| group.doing == Doing::Spinning);
        if self.standstill.chosen && cycle.iter().any(spins) {
            return None;
        }
        // Where a part of the other side came, it is the number of arrivals that is wrong, not the order.
        let short =
            cycle.iter().filter_map(|&index| groups.get(index)).find(|group| self.came_in_part(group));
        match short {
            Some(group) => self.hopeless(group, &mut reach),
            None => Some(self.report_cycle(&cycle, &mut reach)),
        }
    }

    /// Whether others than the waiting threads themselves have arrived at their counted barrier.
    fn came_in_part(&self, group: &Group) -> bool {
        let Doing::Barrier(id) = group.doing else { return false };
        self.standstill.phases.iter().any(|(block, known, phase)| {
            (*block, *known) == (group.block, id)
                && phase.count.is_some()
                && phase.arrivals.iter().any(|arrival| !group.threads.contains(&arrival.thread))
        })
    }

    fn waits_for(&self, reach: &mut Reachability<'_>, index: usize) -> WaitsFor {
        let groups = &self.standstill.groups;
        let Some(group) = groups.get(index) else { return WaitsFor::Outsiders };
        let others = |wanted: &mut dyn FnMut(&Group) -> bool| {
            let found: Vec<usize> = groups
                .iter()
                .enumerate()
                .filter(|(other, candidate)| *other != index && wanted(candidate))
                .map(|(other, _)| other)
                .collect();
            if found.is_empty() { WaitsFor::Nobody } else { WaitsFor::Groups(found) }
        };
        match group.doing {
            Doing::Barrier(id) => {
                let counted = self.count_of(group, id).is_some();
                others(&mut |other| {
                    other.block == group.block
                        && other.doing != group.doing
                        && (!counted || self.may_reach_barrier(reach, other, id))
                })
            }
            Doing::ClusterBarrier => others(&mut |other| other.doing != group.doing),
            Doing::WarpOperation => others(&mut |other| {
                other.block == group.block
                    && other.threads.iter().any(|t| group.threads.iter().any(|g| g / 32 == t / 32))
            }),
            Doing::Spinning => self.spin_waits_for(reach, index, group),
        }
    }

    fn spin_waits_for(&self, reach: &mut Reachability<'_>, index: usize, group: &Group) -> WaitsFor {
        if group.uncertain || group.reads.is_empty() {
            return WaitsFor::Outsiders;
        }
        let on_mbarrier = group.reads.iter().any(|(place, _)| self.mbarrier(place).is_some());
        let global = group.reads.iter().any(|(place, _)| place.block.is_none());
        if global && !self.rehearsal.whole_grid {
            return WaitsFor::Outsiders;
        }
        let writers = self.writers(group);
        let mut found = Vec::new();
        for (other, candidate) in self.standstill.groups.iter().enumerate() {
            let same_memory = global || candidate.block == group.block;
            if same_memory && writers.iter().any(|&writer| reach.reaches(candidate.at, writer)) {
                found.push(other);
            }
        }
        let helpers: Vec<usize> = found.iter().copied().filter(|&other| other != index).collect();
        match (helpers.is_empty(), found.is_empty()) {
            (false, _) => WaitsFor::Groups(helpers),
            (true, false) => WaitsFor::Groups(found),
            // Nobody here writes it. For an mbarrier the arrivals do not add up; a flag may be the host's.
            (true, true) if on_mbarrier => WaitsFor::Nobody,
            (true, true) => WaitsFor::Outsiders,
        }
    }

    fn mbarrier(&self, place: &Place) -> Option<&crate::rehearsal::Mbarrier> {
        self.standstill.mbarriers.iter().find(|(known, _)| known == place).map(|(_, mbarrier)| mbarrier)
    }

    /// The instructions that may end a spin by writing what it polls.
    fn writers(&self, group: &Group) -> Vec<InstructionId> {
        let body = self.kernel.body;
        let polled: Vec<(bool, Base)> = group
            .reads
            .iter()
            .map(|(place, at)| {
                (place.block.is_some(), base_of_place(place).unwrap_or_else(|| body.base(*at)))
            })
            .collect();
        let on_mbarrier = group.reads.iter().any(|(place, _)| self.mbarrier(place).is_some());
        let mut writers = Vec::new();
        for (id, instruction) in body.instructions() {
            let writes = match instruction.op {
                Op::Store(_) => !on_mbarrier,
                Op::Atomic { operation, .. } => !on_mbarrier && !only_reads(body, id, operation),
                Op::Mbarrier { operation: MbarrierOperation::Arrive { .. }, .. }
                | Op::AsyncMbarrierArrive { .. }
                | Op::Matrix(MatrixKind::TensorCommit) => on_mbarrier,
                _ => false,
            };
            if !writes {
                continue;
            }
            let base = body.base(id);
            let shared = match instruction.op {
                Op::Store(access) | Op::Atomic { access, .. } => is_shared(access.space),
                _ => true,
            };
            let hits = polled.iter().any(|(polled_shared, polled_base)| {
                *polled_base == base
                    || (base == Base::Unknown || *polled_base == Base::Unknown) && *polled_shared == shared
            });
            if hits {
                writers.push(id);
            }
        }
        writers
    }

    fn count_of(&self, group: &Group, id: u64) -> Option<u32> {
        let phase =
            self.standstill.phases.iter().find(|(block, known, _)| *block == group.block && *known == id);
        phase.and_then(|(_, _, phase)| phase.count)
    }

    fn may_reach_barrier(&self, reach: &mut Reachability<'_>, group: &Group, id: u64) -> bool {
        let body = self.kernel.body;
        body.instructions().any(|(at, instruction)| {
            matches!(instruction.op, Op::Barrier { .. })
                && match body.source(instruction, 0) {
                    Operand::Immediate(number) => number == id,
                    _ => body.constant(instruction, 0).is_none_or(|number| number == id),
                }
                && (reach.reaches(group.at, at) || self.is_arrival(group, at))
        })
    }

    /// Whether a group stands at this very instruction (and waits for another phase of it).
    fn is_arrival(&self, group: &Group, at: InstructionId) -> bool {
        group.at == at
    }

    /// The first cycle of groups that wait for each other.
    fn cycle(&self, waits: &[WaitsFor]) -> Option<Vec<usize>> {
        let mut path: Vec<usize> = Vec::new();
        let mut at =
            (0..waits.len()).find(|&index| !matches!(waits.get(index), Some(WaitsFor::Outsiders)))?;
        loop {
            if let Some(start) = path.iter().position(|&seen| seen == at) {
                path.drain(..start);
                return Some(path);
            }
            path.push(at);
            let Some(WaitsFor::Groups(next)) = waits.get(at) else { return None };
            // Prefer one that spins: the flag is what the reader must see.
            let spins = |&&index: &&usize| {
                self.standstill.groups.get(index).is_some_and(|g| g.doing == Doing::Spinning)
            };
            at = next.iter().find(spins).or(next.first()).copied()?;
        }
    }

    fn finding(&self, rule: Rule, message: String) -> Finding {
        let mut finding = Finding::new(rule, self.kernel.name, message);
        finding.platforms = hangs();
        let standstill = self.standstill;
        if let Some(block) = self.kernel.launch.block {
            let [x, y, z] = block;
            finding.assumes.push(format!("block = {x}x{y}x{z}"));
        }
        if self.rehearsal.grid_assumed
            && standstill.groups.iter().any(|g| g.reads.iter().any(|r| r.0.block.is_none()))
        {
            finding.assumes.push("two blocks stand for the grid, which was not given".into());
        }
        if let Some(value) = standstill.parameter {
            finding
                .assumes
                .push(format!("integer parameters that were not given, such as trip counts, are {value}"));
        }
        if standstill.chosen {
            finding.known =
                Known::Possible { reason: "a condition on the way depends on what memory holds".into() };
            finding.severity = standstill_findings::Severity::Warning;
        }
        finding
    }

    /// A wait that nobody can end.
    fn hopeless(&self, group: &Group, reach: &mut Reachability<'_>) -> Option<Finding> {
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
                    format!("barrier {id} waits for {expected} threads, but only {arrived} come"),
                );
                finding
                    .spans
                    .push(places.primary(group.at, format!("{arrived} of {expected} threads arrive")));
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
                graph.edge(waiter, barrier, format!("wait at the barrier on line {line}"), line);
                graph.sentence = format!(
                    "{who} wait at barrier {id} on line {line} for {expected} arrivals, of which {arrived} came; \
                     no other thread can arrive there any more"
                );
                finding.help =
                    "let the count be the number of threads that arrive (all that sync plus all that \
                                arrive), and name the same barrier on both sides"
                        .into();
                finding.waits = Some(graph);
                Some(finding)
            }
            Doing::Spinning => {
                let (place, mbarrier) =
                    group.reads.iter().find_map(|(place, _)| Some((place, self.mbarrier(place)?)))?;
                let missing = mbarrier.pending.max(0);
                let name = self.place_name(place, group.at);
                let mut finding = self.finding(
                    Rule::BarrierCount,
                    format!(
                        "the mbarrier {name} expects {} arrivals, of which {missing} never come",
                        mbarrier.expected
                    ),
                );
                finding.spans.push(places.primary(group.at, "waits for a phase that is never complete"));
                finding.spans.push(places.cause(
                    InstructionId(mbarrier.initialised_by),
                    format!("initialised for {} arrivals", mbarrier.expected),
                ));
                for writer in self.writers(group) {
                    if !finding.spans.iter().any(|s| s.line == places.line(writer)) {
                        finding.spans.push(places.cause(writer, "arrives here"));
                    }
                }
                if mbarrier.transactions != 0 {
                    finding
                        .notes
                        .push(format!("{} transaction bytes are still expected", mbarrier.transactions));
                }
                let barrier = graph.node(Node::Barrier {
                    name: format!("mbarrier {name}"),
                    expected: Some(mbarrier.expected),
                    arrived: mbarrier.expected.saturating_sub(missing as u32),
                });
                graph.edge(waiter, barrier, format!("wait on line {line}"), line);
                graph.sentence = format!(
                    "{who} wait on line {line} for a phase of mbarrier {name} that lacks {missing} of {} \
                     arrivals; no thread can arrive there any more",
                    mbarrier.expected
                );
                finding.help = "initialise the mbarrier with the number of arrivals of one phase".into();
                finding.waits = Some(graph);
                Some(finding)
            }
            Doing::WarpOperation => Some(self.report_warp_operation(group, reach)),
            Doing::ClusterBarrier => None,
        }
    }

    /// Where the other threads of the block are.
    fn add_others(&self, group: &Group, finding: &mut Finding) {
        for other in &self.standstill.groups {
            if other.block == group.block && other.at != group.at {
                let threads = ThreadRanges::from_members(other.threads.iter().copied());
                let label = format!("{} {}", threads.with_noun("thread"), doing_words(other.doing));
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
        finding.spans.push(
            places.primary(group.at, format!("{} wait here for the whole mask", threads.with_noun("thread"))),
        );
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
                let other_line = places.line(other.at);
                tail = format!(
                    " for {}, which {} on line {other_line}",
                    absent.with_noun("thread"),
                    doing_words(other.doing)
                );
                let node = graph.node(Node::Threads { block: other.block, threads: absent });
                graph.edge(waiter, node, format!("wait in the warp operation on line {line}"), line);
                graph.edge(
                    node,
                    waiter,
                    format!("{} on line {other_line}", doing_words(other.doing)),
                    other_line,
                );
                break;
            }
        }
        graph.sentence = format!(
            "{} of block {} wait in the warp operation on line {line}{tail}",
            threads.with_noun("thread"),
            group.block
        );
        finding.waits = Some(graph);
        finding
    }

    fn report_cycle(&self, cycle: &[usize], reach: &mut Reachability<'_>) -> Finding {
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
        let mut finding = self.finding(Rule::WaitCycle, "threads wait for each other".to_string());
        let mut graph = WaitGraph::default();
        let mut sentence = String::new();
        let mut writer_clauses = Vec::new();
        for (position, group) in groups.iter().enumerate() {
            let next = groups.get((position + 1) % groups.len()).copied().unwrap_or(group);
            let from_threads = ThreadRanges::from_members(group.threads.iter().copied());
            let to_threads = ThreadRanges::from_members(next.threads.iter().copied());
            let from = graph.node(Node::Threads { block: group.block, threads: from_threads.clone() });
            let to = graph.node(Node::Threads { block: next.block, threads: to_threads.clone() });
            let line = places.line(group.at);
            let mut words = self.doing_words(group);
            if from_threads.len() == 1 {
                words = words.replacen("wait ", "waits ", 1).replacen("spin ", "spins ", 1);
            }
            graph.edge(from, to, words.clone(), line);
            let name = |threads: &ThreadRanges, block: u32, with_block: bool| {
                if with_block {
                    format!("{} of block {block}", threads.with_noun("thread"))
                } else {
                    threads.with_noun("thread")
                }
            };
            if position == 0 {
                sentence = format!("{} {words}", name(&from_threads, group.block, true));
            } else {
                sentence.push_str(&format!(", which {words}"));
            }
            if position + 1 < groups.len() {
                sentence
                    .push_str(&format!(" for {}", name(&to_threads, next.block, next.block != group.block)));
            }
            let label = format!("{} {}", from_threads.with_noun("thread"), doing_words(group.doing));
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
            sentence.push_str("; ");
            sentence.push_str(&clause);
        }
        graph.sentence = sentence;
        finding.help = if groups.iter().any(|g| g.doing == Doing::Spinning) {
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
        finding.assumes.push(format!(
            "{name} does not already hold what the loop waits for, and nobody outside the grid writes it"
        ));
        let writers: Vec<InstructionId> =
            self.writers(group).into_iter().filter(|&writer| reach.reaches(next.at, writer)).collect();
        let Some(&writer) = writers.first() else { return };
        for &writer in &writers {
            if !finding.spans.iter().any(|s| s.line == places.line(writer)) {
                finding
                    .spans
                    .push(places.cause(writer, format!("the write of {name} lies behind that wait")));
            }
        }
        let by = self.who_writes(writer, next);
        let verb = if by.len() == 1 { "writes" } else { "write" };
        let behind = match next.doing {
            Doing::Barrier(_) | Doing::ClusterBarrier => "that barrier",
            _ => "that wait",
        };
        clauses.push(format!(
            "only {} {verb} {name}, on line {}, after {behind}",
            by.with_noun("thread"),
            places.line(writer)
        ));
    }

    /// The threads of a group that come to a writer, by the conditions on their own indices.
    fn who_writes(&self, writer: InstructionId, group: &Group) -> ThreadRanges {
        let body = self.kernel.body;
        let mut threads = group.threads.clone();
        if let Some(mut values) = ThreadValues::new(body, self.kernel.launch) {
            let mut block = body.block_of(writer);
            let mut steps = 0;
            while let Some(&branch) = body.control_dependence.branches(block).iter().find(|&&b| b != block) {
                steps += 1;
                if steps > 32 {
                    break;
                }
                if let Some(condition) = body.ssa.terminator(branch)
                    && let Some(vector) = values.vector(condition)
                    && let Some(Terminator::Branch { guard, taken, .. }) =
                        body.function.blocks.get(branch.0 as usize).map(|b| b.terminator)
                {
                    let when_true = (body.post_dominators.post_dominates(block, taken)) != guard.negated();
                    threads
                        .retain(|&t| vector.get(t as usize).is_none_or(|bits| (bits & 1 == 1) == when_true));
                }
                block = branch;
            }
        }
        if threads.is_empty() {
            threads = group.threads.clone();
        }
        ThreadRanges::from_members(threads)
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
        finding.spans.push(
            places.primary(group.at, format!("{} wait here for the whole grid", blocks.with_noun("block"))),
        );
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
        graph.edge(waiting, barrier, format!("wait at the grid barrier on line {line}"), line);
        graph.sentence = format!(
            "{} wait at the grid barrier on line {line} for blocks that never come there",
            blocks.with_noun("block")
        );
        finding.waits = Some(graph);
        finding
    }

    fn place_name(&self, place: &Place, at: InstructionId) -> String {
        let body = self.kernel.body;
        match base_of_place(place).unwrap_or_else(|| body.base(at)) {
            Base::Unknown => "the location it polls".into(),
            base => {
                let name = self.kernel.places.base_name(base);
                if place.offset == 0 { name } else { format!("{name} + {}", place.offset) }
            }
        }
    }

    fn doing_words(&self, group: &Group) -> String {
        let line = self.kernel.places.line(group.at);
        match group.doing {
            Doing::Barrier(0) => format!("wait at the barrier on line {line}"),
            Doing::Barrier(id) => format!("wait at barrier {id} on line {line}"),
            Doing::WarpOperation => format!("wait in the warp operation on line {line}"),
            Doing::ClusterBarrier => format!("wait at the cluster barrier on line {line}"),
            Doing::Spinning => match group.reads.first() {
                Some((place, at)) => format!("spin on {} (line {line})", self.place_name(place, *at)),
                None => format!("spin on line {line}"),
            },
        }
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

fn base_of_place(place: &Place) -> Option<Base> {
    match place.base {
        PointerBase::Symbol(symbol) => Some(Base::Symbol(symbol)),
        PointerBase::Parameter(index, offset) => Some(Base::Parameter(index, offset)),
        PointerBase::Unknown(_) => None,
    }
}

/// Whether an atomic leaves memory as it is: an addition of zero, an exchange of equals.
fn only_reads(body: &Body, id: InstructionId, operation: standstill_kernel_ir::AtomicOperation) -> bool {
    use standstill_kernel_ir::AtomicOperation;
    let Some(instruction) = body.instruction(id) else { return false };
    let operand = body.constant(instruction, 1);
    match operation {
        AtomicOperation::Add | AtomicOperation::Or | AtomicOperation::Xor => operand == Some(0),
        AtomicOperation::CompareExchange => operand.is_some() && operand == body.constant(instruction, 2),
        _ => false,
    }
}
