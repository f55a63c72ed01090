//! The calls of a trace as lanes, boxes and arrows, around what is wrong.

use std::ops::Range;

use rustc_hash::FxHashMap;
use standstill_findings::{Arrow, Lane, Step, StepKind, Timeline};
use standstill_trace::{Call, Copied, Operation, Record, Site, StreamKind, Target, Work};

use crate::completion::{Completion, completion};
use crate::conflict::Conflict;
use crate::report::Places;
use crate::words::Words;

/// Calls that are shown around each of the two that nothing orders.
const AROUND: u64 = 24;
/// Calls that are shown where nothing is wrong.
const CLEAN: u64 = 200;
/// Findings that are drawn; a page with more than that is not looked at.
const DRAWN: usize = 24;

/// Takes the records of a trace once more, when it is known what is wrong, and draws what stands around that.
#[derive(Debug)]
pub struct Drawing<'a> {
    conflicts: &'a [Conflict],
    places: &'a dyn Places,
    shown: Vec<Range<u64>>,
    taken: u64,
    left_out: u64,
    timeline: Timeline,
    lanes: FxHashMap<Owner, usize>,
    /// The step of each record that is shown and that something may point at.
    steps: FxHashMap<u64, usize>,
    streams: FxHashMap<u64, Stream>,
    /// The most recent record of each event.
    events: FxHashMap<u64, usize>,
    /// Nodes of graphs that are put in.
    nodes: FxHashMap<Operation, usize>,
}

impl std::fmt::Debug for dyn Places + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Places")
    }
}

/// Whose lane it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    Host(u32),
    Stream(u64),
}

#[derive(Debug, Default)]
struct Stream {
    blocking: bool,
    /// Its last step.
    last: Option<usize>,
    /// The last step of the legacy default stream that it comes behind.
    behind_default: Option<usize>,
    /// Its last step that the legacy default stream comes behind.
    before_default: Option<usize>,
    /// The last step that the host has waited for.
    waited: Option<usize>,
}

impl<'a> Drawing<'a> {
    /// A drawing of a trace with these conflicts.
    #[must_use]
    pub fn new(conflicts: &'a [Conflict], places: &'a dyn Places) -> Drawing<'a> {
        let conflicts = conflicts.get(..DRAWN).unwrap_or(conflicts);
        let ends = conflicts.iter().flat_map(|it| [it.earlier.0.record, it.later.0.record]);
        let mut shown: Vec<Range<u64>> =
            ends.map(|at| at.saturating_sub(AROUND)..at.saturating_add(AROUND)).collect();
        if shown.is_empty() {
            shown.push(0..CLEAN);
        }
        shown.sort_by_key(|range| range.start);
        Drawing {
            conflicts,
            places,
            shown,
            taken: 0,
            left_out: 0,
            timeline: Timeline::default(),
            lanes: FxHashMap::default(),
            steps: FxHashMap::default(),
            streams: FxHashMap::default(),
            events: FxHashMap::default(),
            nodes: FxHashMap::default(),
        }
    }

    /// Takes the next record.
    pub fn take(&mut self, record: &Record) {
        let (thread, site) = (record.thread, record.site);
        match &record.call {
            Call::CreateStream { stream, kind } => {
                let blocking = matches!(kind, StreamKind::Blocking | StreamKind::PerThread);
                self.streams.entry(*stream).or_default().blocking = blocking;
            }
            // Its default stream is not the one that is drawn so.
            Call::InContext { stream, .. } => self.streams.entry(*stream).or_default().blocking = false,
            Call::Submit { operation, stream, work } => {
                let step = self.work(*stream, site, work);
                self.advance(*stream, *operation, step, work);
                if let Some(step) = step.filter(|_| returns_when_done(work)) {
                    self.wait_for(thread, site, "returns", "the call returns when it is done", &[step]);
                }
            }
            Call::LaunchGraph { operation, stream, graph } => {
                let step = self.step(Owner::Stream(*stream), site, StepKind::Graph, "graph", {
                    format!("launch of graph {graph}")
                });
                self.advance(*stream, *operation, step, &Work::Order);
                if let Some(step) = step {
                    self.nodes.insert(*operation, step);
                }
            }
            Call::SubmitNode { operation, stream, work, launch, after } => {
                let step = self.work(*stream, site, work);
                self.node(
                    *operation,
                    step,
                    if after.is_empty() { std::slice::from_ref(launch) } else { after },
                );
            }
            Call::EndGraph { operation, stream, last, .. } => {
                let step = self.step(Owner::Stream(*stream), site, StepKind::Graph, "end", {
                    "all nodes of the graph are done".to_owned()
                });
                self.node(*operation, step, last);
                self.advance(*stream, *operation, step, &Work::Order);
                self.nodes.clear();
            }
            Call::RecordEvent { operation, stream, event } => {
                let work = Work::Record { event: *event };
                let step = self.work(*stream, site, &work);
                self.advance(*stream, *operation, step, &work);
            }
            Call::WaitEvent { operation, stream, event } => {
                let step =
                    self.step(Owner::Stream(*stream), site, StepKind::Wait, &format!("wait e{event}"), {
                        let known = self.events.contains_key(event);
                        let of = if known { "its most recent record" } else { "no record that is shown" };
                        format!("stream {stream} waits for event {event}: {of}")
                    });
                if let (Some(step), Some(record)) = (step, self.events.get(event).copied()) {
                    self.order(record, step);
                }
                self.advance(*stream, *operation, step, &Work::Order);
            }
            Call::Synchronise(target) => self.synchronise(thread, site, *target),
            Call::HostAccess(access) => {
                let (label, bytes) = (access.mode.verb(), access.width);
                let detail = format!("the host {label} {bytes} bytes at {:#x}", access.address);
                self.step(Owner::Host(thread), site, StepKind::Access, label, detail);
            }
            Call::Free { address } => {
                let detail = format!("gives back the memory at {address:#x}");
                self.step(Owner::Host(thread), site, StepKind::Memory, "free", detail);
            }
            Call::Allocate { address, bytes, kind } => {
                let detail = format!("allocates {bytes} bytes at {address:#x} ({kind:?})");
                self.step(Owner::Host(thread), site, StepKind::Memory, "allocate", detail);
            }
            _ => {}
        }
        self.taken += 1;
    }

    /// What there is to draw.
    #[must_use]
    pub fn finish(mut self, title: &str) -> Timeline {
        self.close_gap();
        let words = Words { places: self.places };
        for conflict in self.conflicts {
            let step = |record: u64| self.steps.get(&record).copied();
            if let (Some(from), Some(to)) = (step(conflict.earlier.0.record), step(conflict.later.0.record))
                && from != to
            {
                let missing = Some(words.message(conflict));
                self.timeline.arrows.push(Arrow { from, to, missing });
            }
        }
        title.clone_into(&mut self.timeline.title);
        self.timeline
    }

    fn is_shown(&mut self) -> bool {
        // Ranges are sorted by where they begin, and all about as long.
        while self.shown.first().is_some_and(|range| range.end <= self.taken) {
            self.shown.remove(0);
        }
        self.shown.first().is_some_and(|range| range.contains(&self.taken))
    }

    fn close_gap(&mut self) {
        let count = std::mem::take(&mut self.left_out);
        if count > 0 {
            let detail = format!("{count} call{} left out", if count == 1 { " is" } else { "s are" });
            let (kind, label) = (StepKind::LeftOut, format!("… {count} …"));
            self.timeline.steps.push(Step { lane: None, kind, label, detail });
        }
    }

    fn step(
        &mut self,
        owner: Owner,
        site: Site,
        kind: StepKind,
        label: &str,
        detail: String,
    ) -> Option<usize> {
        if !self.is_shown() {
            self.left_out += 1;
            return None;
        }
        self.close_gap();
        let lanes = &mut self.timeline.lanes;
        let lane = *self.lanes.entry(owner).or_insert_with(|| {
            let (name, host) = match owner {
                Owner::Host(thread) => (format!("host thread {thread}"), true),
                Owner::Stream(0) => ("default stream".to_owned(), false),
                Owner::Stream(stream) => (format!("stream {stream}"), false),
            };
            lanes.push(Lane { name, host });
            lanes.len() - 1
        });
        let place = self.places.place(site).map(|place| format!(", {}:{}", place.file, place.line));
        let detail = detail + &place.unwrap_or_default();
        let number = self.timeline.steps.len();
        self.timeline.steps.push(Step { lane: Some(lane), kind, label: label.to_owned(), detail });
        self.steps.entry(self.taken).or_insert(number);
        Some(number)
    }

    fn work(&mut self, stream: u64, site: Site, work: &Work) -> Option<usize> {
        let (kind, label, detail) = match work {
            Work::Order => return None,
            Work::Record { event } => {
                (StepKind::Record, format!("record e{event}"), format!("records event {event}"))
            }
            Work::Copy { copied, .. } => {
                let how = if copied.asynchronous { "asynchronous copy" } else { "copy" };
                let Copied { from, to, .. } = copied;
                let detail = format!("{how} from {} to {} memory", from.word(), to.word());
                (StepKind::Copy, "copy".to_owned(), detail)
            }
            Work::Fill { .. } => (StepKind::Copy, "memset".to_owned(), "memset".to_owned()),
            Work::Kernel { name, .. } => {
                let name = self.places.readable(name);
                let detail = format!("kernel {name}");
                (StepKind::Kernel, name, detail)
            }
            Work::Launch { launch } => (StepKind::Kernel, format!("launch {launch}"), "a kernel".to_owned()),
            Work::WriteValue { address, value, .. } => {
                let detail = format!("writes {value} to {address:#x}, which streams may wait for");
                (StepKind::Record, "write value".to_owned(), detail)
            }
            Work::WaitValue { address, value, .. } => {
                let detail = format!("waits for {value} at {address:#x}");
                (StepKind::Wait, "wait for value".to_owned(), detail)
            }
            Work::HostFunction { .. } => (
                StepKind::HostFunction,
                "host function".to_owned(),
                "calls a function of the host".to_owned(),
            ),
            Work::Allocate { address, bytes } => {
                let detail = format!("makes {bytes} bytes at {address:#x} usable");
                (StepKind::Memory, "allocate".to_owned(), detail)
            }
            Work::Free { address } => {
                (StepKind::Memory, "free".to_owned(), format!("gives back the memory at {address:#x}"))
            }
        };
        self.step(Owner::Stream(stream), site, kind, &label, detail)
    }

    /// The stream has a new last operation.
    fn advance(&mut self, stream: u64, operation: Operation, step: Option<usize>, work: &Work) {
        let Some(step) = step else { return };
        if let Work::Record { event } = work {
            self.events.insert(*event, step);
        }
        self.nodes.insert(operation, step);
        // The legacy default stream (CUDA C++ Programming Guide, «Default Stream»).
        let mut before = Vec::new();
        if stream == 0 {
            for other in self.streams.values_mut().filter(|other| other.blocking) {
                before.extend(other.last.filter(|last| other.before_default < Some(*last)));
                other.before_default = other.last;
            }
        } else {
            let legacy = self.streams.get(&0).and_then(|legacy| legacy.last);
            let own = self.streams.entry(stream).or_default();
            if own.blocking && own.behind_default < legacy {
                before.extend(legacy);
                own.behind_default = legacy;
            }
        }
        before.sort_unstable();
        before.into_iter().for_each(|from| self.order(from, step));
        self.streams.entry(stream).or_default().last = Some(step);
    }

    fn node(&mut self, operation: Operation, step: Option<usize>, after: &[Operation]) {
        let Some(step) = step else { return };
        let before: Vec<usize> = after.iter().filter_map(|node| self.nodes.get(node).copied()).collect();
        before.into_iter().for_each(|from| self.order(from, step));
        self.nodes.insert(operation, step);
    }

    fn order(&mut self, from: usize, to: usize) {
        self.timeline.arrows.push(Arrow { from, to, missing: None });
    }

    fn synchronise(&mut self, thread: u32, site: Site, target: Target) {
        let mut before = Vec::new();
        let mut wait = |stream: &mut Stream| {
            before.extend(stream.last.filter(|last| stream.waited < Some(*last)));
            stream.waited = stream.last;
        };
        let on = match target {
            Target::Device | Target::Context(_) => {
                self.streams.values_mut().for_each(wait);
                "the device".to_owned()
            }
            Target::Stream(stream) => {
                self.streams.get_mut(&stream).into_iter().for_each(&mut wait);
                format!("stream {stream}")
            }
            Target::Event(event) => {
                before.extend(self.events.get(&event));
                format!("event {event}")
            }
        };
        before.sort_unstable();
        self.wait_for(thread, site, "synchronise", &format!("waits for {on}"), &before);
    }

    fn wait_for(&mut self, thread: u32, site: Site, label: &str, detail: &str, before: &[usize]) {
        let step = self.step(Owner::Host(thread), site, StepKind::Synchronise, label, detail.to_owned());
        if let Some(step) = step {
            before.iter().for_each(|from| self.order(*from, step));
        }
    }
}

fn returns_when_done(work: &Work) -> bool {
    match work {
        Work::Copy { copied, .. } => completion(*copied) == Completion::Done,
        Work::Fill { done, .. } => *done,
        _ => false,
    }
}
