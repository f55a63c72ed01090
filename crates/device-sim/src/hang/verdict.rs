//! The verdict on a grid that stands: which rule, where, and who waits for whom.

use standstill_findings::{Finding, Known, Node, Outcome, PlatformRow, Rule, Span, ThreadRanges, WaitGraph};
use standstill_kernel_ir::Order;
use standstill_kernel_ir::evaluate::mbarrier::Mbarrier;

use super::future::Write;
use super::names;
use super::parties::{Party, parties, verb};
use super::waiters::Why;
use crate::fault::Place;
use crate::grid::{Grid, Standstill};

impl Grid {
    /// Who waits for whom, when the grid is parked. `outside` says that somebody outside may still write
    /// what is waited for; then the finding is possible, not observed.
    ///
    /// Without `outside` the grid is at its end with this call: the waiting threads are let go to see what they
    /// would write, and memory is not what it was.
    pub fn standstill(&mut self, outside: Option<&str>) -> Option<Standstill> {
        if let Some((finding, threads)) = self.circling(outside) {
            return Some(Standstill { finding, threads });
        }
        let waiters = self.waiters();
        if waiters.is_empty() {
            return None;
        }
        let parties = parties(&waiters);
        let (next, blocks) = (self.next_block, self.blocks);
        let described: Vec<Described> = parties.iter().map(|party| self.describe(party)).collect();
        let exited = self.exited(&parties);
        let ended = self.statistics().blocks_ended;
        let writes = if outside.is_none() { self.future(&waiters) } else { Vec::new() };
        let judged =
            Judged { grid: self, parties: &parties, described: &described, writes: &writes, exited, ended };
        let mut finding = judged.judge(next, blocks);
        finding.kernel = self.kernel().to_owned();
        let timed = parties.iter().any(|party| matches!(party.first.why, Why::Time));
        finding.known = match outside {
            // Time never repeats, so that this can never be certain.
            None if timed => Known::Possible {
                reason: "a loop reads the clock, and did not end however late it got".to_owned(),
            },
            None => Known::Observed,
            Some(reason) => Known::Possible { reason: reason.to_owned() },
        };
        finding.platforms = PlatformRow::everywhere(Outcome::Hangs);
        let threads = waiters.iter().map(|waiter| waiter.threads.len() as u64).sum();
        Some(Standstill { finding, threads })
    }

    /// What a party waits for, in words, before anything is let go.
    fn describe(&self, party: &Party) -> Described {
        let waiter = &party.first;
        match &waiter.why {
            Why::Memory { reads, mbarrier, .. } => {
                let read = reads
                    .iter()
                    .find(|read| {
                        read.at.1 != u32::MAX && self.place(read.at.0, read.at.1).line == waiter.place.line
                    })
                    .or(reads.first());
                let location =
                    read.map_or_else(String::new, |read| names::name(&self.shared, read.address, read.bytes));
                let state = read.filter(|_| *mbarrier).map(|read| Mbarrier::from_word(read.value));
                let grid_barrier = location == "the grid barrier";
                Described { location, state, grid_barrier }
            }
            _ => Described::default(),
        }
    }

    /// Threads of the first party's block that have ended.
    fn exited(&self, parties: &[Party]) -> ThreadRanges {
        let Some(party) = parties.first() else { return ThreadRanges::default() };
        let block = self.slots.get(party.first.slot).and_then(Option::as_ref);
        let warps = block.map_or(&[][..], |block| &block.warps);
        let threads = self.shared.threads;
        ThreadRanges::from_members(warps.iter().flat_map(|warp| {
            let first = warp.place.first_thread;
            let live = warp.flow.live;
            (0..32)
                .filter(move |lane| live >> lane & 1 == 0 && first + lane < threads)
                .map(move |lane| first + lane)
        }))
    }
}

/// What a party waits for, in words.
#[derive(Debug, Clone, Default)]
pub(super) struct Described {
    pub(super) location: String,
    pub(super) state: Option<Mbarrier>,
    grid_barrier: bool,
}

/// Everything that the verdict is made of.
pub(super) struct Judged<'a> {
    grid: &'a Grid,
    pub(super) parties: &'a [Party],
    pub(super) described: &'a [Described],
    writes: &'a [Write],
    exited: ThreadRanges,
    /// Blocks that had ended.
    ended: u64,
}

/// The first party that something holds for.
type Found<'a> = Option<(usize, &'a Party, &'a Described)>;

impl<'a> Judged<'a> {
    fn find(&self, holds: impl Fn(&Party, &Described) -> bool) -> Found<'a> {
        let mut all = self.parties.iter().zip(self.described).enumerate();
        all.find(|(_, (party, described))| holds(party, described))
            .map(|(index, (party, described))| (index, party, described))
    }

    fn judge(&self, next: u64, blocks: u64) -> Finding {
        let memory = |party: &Party, _: &Described| matches!(party.first.why, Why::Memory { .. });
        let unstarted = self.writes.iter().find(|write| write.behind.is_none());
        if next < blocks
            && let Some(found) = self.find(memory)
            && (unstarted.is_some()
                || self.find(|party, _| matches!(party.first.why, Why::Barrier { .. })).is_none())
        {
            return self.residency(found, next, blocks, unstarted);
        }
        if let Some(found) = self.find(|_, described| described.grid_barrier) {
            return self.grid_barrier(found);
        }
        if let Some(found) = self.find(|party, _| matches!(party.first.why, Why::Cluster)) {
            return self.grid_barrier(found);
        }
        if let Some(found) = self.find(|party, _| matches!(party.first.why, Why::Lanes { .. })) {
            return self.lanes(found);
        }
        if let Some(found) =
            self.find(|party, _| matches!(party.first.why, Why::Barrier { count: Some(_), .. }))
        {
            return self.counted(found);
        }
        if let Some(found) = self.find(|_, described| described.state.is_some()) {
            return self.mbarrier(found);
        }
        let alone = |party: &Party, _: &Described| match &party.first.why {
            Why::Itself { .. } | Why::Time => true,
            Why::Memory { order, .. } => *order == Order::Weak,
            _ => false,
        };
        // A thread that would write only after its own loop is no help to itself.
        let written = |party: &Party| {
            let write = self.write_for(party);
            write.is_some_and(|write| write.behind.is_none_or(|waiter| !party.members.contains(&waiter)))
        };
        if let Some((_, party, _)) =
            self.find(|party, _| matches!(party.first.why, Why::Itself { steps: true }))
        {
            return self.past_the_end(party);
        }
        if let Some(found) = self.find(|party, described| alone(party, described) && !written(party)) {
            return self.endless(found);
        }
        if let Some(found) = self.find(memory) {
            return self.cycle(found);
        }
        self.divergent()
    }

    /// The write that would end a party's wait.
    pub(super) fn write_for(&self, party: &Party) -> Option<&'a Write> {
        let Why::Memory { reads, .. } = &party.first.why else { return None };
        let ends = |write: &&Write| reads.iter().any(|read| read.address == write.address);
        // What the party itself would write behind its wait helps it less than what others would.
        let by_others = |write: &&Write| {
            ends(write) && write.behind.is_none_or(|waiter| !party.members.contains(&waiter))
        };
        self.writes.iter().find(by_others).or_else(|| self.writes.iter().find(ends))
    }

    /// The party that a waiter belongs to.
    pub(super) fn party_of(&self, waiter: usize) -> Option<(usize, &'a Party)> {
        self.parties.iter().enumerate().find(|(_, party)| party.members.contains(&waiter))
    }

    fn residency(
        &self,
        (_, party, described): (usize, &Party, &Described),
        next: u64,
        blocks: u64,
        write: Option<&Write>,
    ) -> Finding {
        let line = party.first.place.line;
        let resident = ThreadRanges::from_members(0..next as u32).with_noun("block");
        let waiting = ThreadRanges::from_members(next as u32..blocks as u32).with_noun("block");
        let name = &described.location;
        let sentence = format!(
            "{resident} hold every slot of the {} and spin on `{name}` (line {line}) for {waiting}, which {} no slot until one of them ends{}",
            self.grid.shared.device.model().name,
            if blocks - next == 1 { "has" } else { "have" },
            write.map_or(String::new(), |write| format!(
                "; {waiting} would write it on line {}",
                write.place.line
            )),
        );
        let message = format!("{blocks} blocks wait for each other, but only {next} are resident at once");
        let mut finding = Finding::new(Rule::GridResidency, "", message);
        finding.help = "launch no more blocks than are resident at once (the occupancy interface tells), or launch cooperatively, which refuses such a grid".into();
        finding
            .spans
            .push(primary(&party.first.place, format!("spins on `{name}` for a block that has no slot")));
        if let Some(write) = write {
            push_cause(&mut finding, &write.place, "a block without a slot would write it here".into());
        }
        let mut graph = WaitGraph::default();
        let spinners = graph.node(Node::Blocks(ThreadRanges::from_members(0..next as u32)));
        let location = graph.node(Node::Location(name.clone()));
        let absent = graph.node(Node::Blocks(ThreadRanges::from_members(next as u32..blocks as u32)));
        let slot = graph.node(Node::ResidencySlot { capacity: next });
        graph.edge(spinners, location, format!("spin on `{name}` (line {line})"), line);
        graph.edge(location, absent, "is written by", write.map_or(0, |write| write.place.line));
        graph.edge(absent, slot, "wait for", 0);
        graph.edge(slot, spinners, "is held by", 0);
        graph.sentence = sentence;
        finding.waits = Some(graph);
        finding
    }

    fn grid_barrier(&self, (_, party, described): (usize, &Party, &Described)) -> Finding {
        let line = party.first.place.line;
        let cluster = matches!(party.first.why, Why::Cluster);
        let barrier = if cluster { "the cluster's barrier" } else { "the grid's barrier" };
        let message = format!("{barrier} waits for blocks that do not come");
        let mut finding = Finding::new(Rule::GridDivergence, "", message);
        finding.help = "let every block reach the barrier, or none".into();
        finding
            .spans
            .push(primary(&party.first.place, format!("{} {} here", party.who(), verb(party, "wait"))));
        let others = match self.ended {
            0 => String::new(),
            1 => "; one block has ended without it".into(),
            ended => format!("; {ended} blocks have ended without it"),
        };
        let sentence = format!(
            "{} {} at {barrier} on line {line} for the others{others}",
            party.who(),
            verb(party, "wait")
        );
        self.finish(&mut finding, sentence, &described.location);
        finding
    }

    fn lanes(&self, (_, party, _): (usize, &Party, &Described)) -> Finding {
        let Why::Lanes { missing } = party.first.why else { return self.divergent() };
        let line = party.first.place.line;
        let base = party.first.threads.first().copied().unwrap_or(0) / 32 * 32;
        let absent = ThreadRanges::from_members(
            (0..32).filter(|lane| missing >> lane & 1 != 0).map(|lane| base + lane),
        );
        let others = self.parties.iter().find(|other| {
            other.block == party.block
                && other
                    .first
                    .threads
                    .iter()
                    .any(|thread| thread / 32 * 32 == base && missing >> (thread % 32) & 1 != 0)
        });
        let message = "a warp operation waits for lanes that its mask names and that do not come".to_owned();
        let mut finding = Finding::new(Rule::WarpMask, "", message);
        finding.help =
            "compute the mask where the lanes part, or take the operation out of the condition".into();
        finding.spans.push(primary(&party.first.place, format!("waits for {}", absent.with_noun("thread"))));
        let elsewhere = others.map_or(String::new(), |other| format!(", which {}", self.doing(other)));
        if let Some(other) = others {
            push_cause(&mut finding, &other.first.place, "the absent lanes wait here".into());
        }
        let sentence = format!(
            "{} {} at the warp operation on line {line} for {}{elsewhere}",
            party.who(),
            verb(party, "wait"),
            absent.with_noun("thread"),
        );
        self.finish(&mut finding, sentence, "");
        finding
    }

    fn counted(&self, (_, party, _): (usize, &Party, &Described)) -> Finding {
        let Why::Barrier { id, count: Some(count), arrived } = party.first.why else {
            return self.divergent();
        };
        let line = party.first.place.line;
        let message = format!("barrier {id} waits for {count} threads, but only {arrived} arrive");
        let mut finding = Finding::new(Rule::BarrierCount, "", message);
        finding.help = "let the count be the number of threads that arrive, all of them".into();
        finding.spans.push(primary(&party.first.place, format!("{arrived} of {count} threads arrive")));
        let ended = match self.exited.is_empty() {
            true => String::new(),
            false => format!(
                "; {} of block {} have ended, and a counted barrier waits for them all the same",
                self.exited.with_noun("thread"),
                party.block
            ),
        };
        let sentence = format!(
            "{} {} at barrier {id} on line {line} for {count} arrivals, of which {arrived} came; no other thread can arrive there any more{ended}",
            party.who(),
            verb(party, "wait"),
        );
        let mut graph = WaitGraph::default();
        let waiter = graph.node(Node::Threads { block: party.block, threads: party.threads.clone() });
        let barrier =
            graph.node(Node::Barrier { name: format!("barrier {id}"), expected: Some(count), arrived });
        graph.edge(waiter, barrier, format!("{} at the barrier on line {line}", verb(party, "wait")), line);
        graph.sentence = sentence;
        self.others(party, &mut finding);
        finding.waits = Some(graph);
        finding
    }

    fn mbarrier(&self, (_, party, described): (usize, &Party, &Described)) -> Finding {
        let line = party.first.place.line;
        let state = described.state.unwrap_or(Mbarrier::new(0));
        let (name, arrived) = (&described.location, state.expected.saturating_sub(state.pending));
        let untouched = state.pending == state.expected && state.bytes == 0;
        let rule = if untouched && self.writes.is_empty() { Rule::MbarrierPhase } else { Rule::BarrierCount };
        let bytes = match state.bytes {
            0 => String::new(),
            bytes => format!(" and {bytes} bytes"),
        };
        let message = match rule {
            Rule::MbarrierPhase => format!("`{name}` is waited for in a phase that nobody completes"),
            _ => format!("`{name}` waits for {} arrivals, but only {arrived} come", state.expected),
        };
        let mut finding = Finding::new(rule, "", message);
        finding.help = "initialise it with the number of arrivals that come in each phase, and wait for the phase that they complete".into();
        finding
            .spans
            .push(primary(&party.first.place, format!("{arrived} of {} arrivals came", state.expected)));
        let sentence = format!(
            "{} {} on line {line} for the mbarrier `{name}`, which still misses {} of {} arrivals{bytes}",
            party.who(),
            verb(party, "wait"),
            state.pending,
            state.expected,
        );
        let mut graph = WaitGraph::default();
        let waiter = graph.node(Node::Threads { block: party.block, threads: party.threads.clone() });
        let barrier = graph.node(Node::Barrier {
            name: format!("mbarrier {name}"),
            expected: Some(state.expected),
            arrived,
        });
        graph.edge(waiter, barrier, format!("{} on line {line}", verb(party, "wait")), line);
        graph.sentence = sentence;
        self.others(party, &mut finding);
        finding.waits = Some(graph);
        finding
    }

    fn endless(&self, (_, party, described): (usize, &Party, &Described)) -> Finding {
        let place = if party.first.test.line > 0 { &party.first.test } else { &party.first.place };
        let line = place.line;
        let mut finding =
            Finding::new(Rule::NonTerminatingLoop, "", "a loop never ends: its values repeat".to_owned());
        finding.help =
            "compare with < or <= where a value may step over the limit or stop short of it".into();
        finding.spans.push(primary(place, format!("never becomes true for {}", party.who())));
        if party.first.place.line != line {
            push_cause(&mut finding, &party.first.place, "this reads the same value every time".into());
        }
        let reads = match described.location.as_str() {
            "" => "nothing that others could change".to_owned(),
            name => format!("`{name}`, which nobody changes any more"),
        };
        let sentence = format!(
            "{} {} in the loop on line {line} without end: a turn comes back to the same values and reads {reads}",
            party.who(),
            verb(party, "go").replace("gos", "goes"),
        );
        self.finish(&mut finding, sentence, &described.location);
        finding
    }

    /// A loop that goes by equal steps past its end, again and again.
    fn past_the_end(&self, party: &Party) -> Finding {
        let place = if party.first.test.line > 0 { &party.first.test } else { &party.first.place };
        let message =
            "a loop never ends: its steps go past the end, and past it again after every turn of the counter";
        let mut finding = Finding::new(Rule::NonTerminatingLoop, "", message.to_owned());
        finding.help = "compare with < or <= where a step may go over the end".into();
        finding.spans.push(primary(place, format!("never becomes true for {}", party.who())));
        let sentence = format!(
            "{} {} in the loop on line {} without end: none of the values that its steps lead to, however often the \
             counter wraps around, ends it",
            party.who(),
            verb(party, "go").replace("gos", "goes"),
            place.line,
        );
        self.finish(&mut finding, sentence, "");
        finding
    }

    /// Threads at different barriers of a block.
    fn divergent(&self) -> Finding {
        let Some(party) = self.parties.first() else {
            return Finding::new(Rule::WaitCycle, "", "threads wait for each other");
        };
        let line = party.first.place.line;
        let mut finding = Finding::new(
            Rule::DivergentBarrier,
            "",
            "threads of a block wait at different barriers".to_owned(),
        );
        finding.help = "let all threads of the block reach the same barrier".into();
        finding
            .spans
            .push(primary(&party.first.place, format!("{} {} here", party.who(), verb(party, "wait"))));
        self.others(party, &mut finding);
        let others: Vec<String> = self
            .parties
            .iter()
            .skip(1)
            .take(2)
            .map(|other| format!("{} {}", other.who(), self.doing(other).replacen("which ", "", 1)))
            .collect();
        let sentence =
            format!("{} {} on line {line}; {}", party.who(), verb(party, "wait"), others.join("; "));
        self.finish(&mut finding, sentence, "");
        finding
    }

    /// What a party does, as the end of a sentence.
    pub(super) fn doing(&self, party: &Party) -> String {
        let line = party.first.place.line;
        let described =
            self.parties.iter().zip(self.described).find(|(other, _)| std::ptr::eq(*other, party));
        let name = described.map(|(_, described)| described.location.clone()).unwrap_or_default();
        let wait = verb(party, "wait");
        match &party.first.why {
            Why::Barrier { id: 0, count: None, .. } => format!("{wait} at the barrier on line {line}"),
            Why::Barrier { id, .. } => format!("{wait} at barrier {id} on line {line}"),
            Why::Cluster => format!("{wait} at the cluster's barrier on line {line}"),
            Why::Lanes { .. } => format!("{wait} at the warp operation on line {line}"),
            Why::Memory { .. } => format!("{} on `{name}` (line {line})", verb(party, "spin")),
            Why::Time | Why::Itself { .. } => {
                format!("{} in a loop without end (line {line})", verb(party, "run"))
            }
        }
    }

    /// Shows the places of the other waits of the same block.
    fn others(&self, party: &Party, finding: &mut Finding) {
        for other in self
            .parties
            .iter()
            .filter(|other| other.block == party.block && !std::ptr::eq(*other, party))
            .take(3)
        {
            push_cause(finding, &other.first.place, format!("{} {}", other.who(), self.doing(other)));
        }
    }

    /// A graph of who waits where, for verdicts without a cycle.
    fn finish(&self, finding: &mut Finding, sentence: String, location: &str) {
        let mut graph = WaitGraph::default();
        for (party, described) in self.parties.iter().zip(self.described).take(16) {
            let node = graph.node(Node::Threads { block: party.block, threads: party.threads.clone() });
            let line = party.first.place.line;
            let target = match &party.first.why {
                Why::Barrier { id, count, arrived } => {
                    Node::Barrier { name: format!("barrier {id}"), expected: *count, arrived: *arrived }
                }
                Why::Memory { .. } => Node::Location(described.location.clone()),
                Why::Cluster => Node::Named("the cluster's barrier".into()),
                Why::Lanes { missing } => Node::Named(format!("lanes {missing:#010x} of its warp")),
                Why::Time => Node::Named("time".into()),
                Why::Itself { .. } => Node::Named("its own loop".into()),
            };
            let target = graph.node(target);
            graph.edge(node, target, self.doing(party), line);
        }
        let _ = location;
        graph.sentence = sentence;
        finding.waits = Some(graph);
    }
}

pub(super) fn primary(place: &Place, label: String) -> Span {
    let mut span = Span::primary(place.file.clone(), place.line, place.column, label);
    span.inlined_at = place.inlined_at.clone();
    span
}

pub(super) fn push_cause(finding: &mut Finding, place: &Place, label: String) {
    if place.line == 0 || finding.spans.iter().any(|span| span.line == place.line && span.file == place.file)
    {
        return;
    }
    let mut span = Span::cause(place.file.clone(), place.line, place.column, label);
    span.inlined_at = place.inlined_at.clone();
    finding.spans.push(span);
}
