//! Blocks that stand alike, and what a finding needs to speak of them.

use std::collections::BTreeMap;

use standstill_findings::{Finding, Known, Rule, Severity, Span, ThreadRanges};

use crate::code::Place;
use crate::dump::Dump;
use crate::position::{Count, Doing, GridState, Group};

use super::Options;
use super::words;

/// Threads of one block at one place.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Member {
    /// Position of the class in the scene's list.
    pub(crate) class: usize,
    pub(crate) threads: Vec<u32>,
}

/// Blocks whose threads stand at the same places.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// The blocks, ascending.
    pub(crate) blocks: Vec<u64>,
    pub(crate) members: Vec<Member>,
    /// Threads of the block that have exited.
    pub(crate) exited: Vec<u32>,
}

/// Whether blocks that have not begun had room on the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Every multiprocessor held the same number of blocks.
    Full,
    /// Every multiprocessor held a block, some more than others.
    Crowded,
    /// A multiprocessor was empty.
    Free,
}

/// Everything that the rules look at.
pub(crate) struct Scene<'a> {
    pub(crate) state: &'a GridState,
    pub(crate) options: &'a Options<'a>,
    /// One group for each place and kind of doing: groups that differ by an address only are one class.
    pub(crate) classes: Vec<&'a Group>,
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) room: Room,
    /// Whether another grid was running or queued.
    pub(crate) others: bool,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(dump: &Dump, state: &'a GridState, options: &'a Options<'a>) -> Scene<'a> {
        let mut classes: Vec<&Group> = Vec::new();
        let mut by_block: BTreeMap<u64, BTreeMap<usize, Vec<u32>>> = BTreeMap::new();
        for group in &state.groups {
            let known =
                classes.iter().position(|class| class.at == group.at && alike(&class.doing, &group.doing));
            let class = known.unwrap_or_else(|| {
                classes.push(group);
                classes.len() - 1
            });
            // A group whose registers were dumped speaks for those without.
            if let Some(speaker) = classes.get_mut(class)
                && !has_address(&speaker.doing)
                && has_address(&group.doing)
            {
                *speaker = group;
            }
            for (block, threads) in &group.threads {
                by_block.entry(*block).or_default().entry(class).or_default().extend(threads);
            }
        }
        let mut alike: BTreeMap<Vec<Member>, Vec<u64>> = BTreeMap::new();
        for (block, members) in by_block {
            let member = |(class, mut threads): (usize, Vec<u32>)| {
                threads.sort_unstable();
                Member { class, threads }
            };
            alike.entry(members.into_iter().map(member).collect()).or_default().push(block);
        }
        let mut patterns: Vec<Pattern> = alike
            .into_iter()
            .map(|(members, blocks)| {
                let exited = blocks.first().map(|block| state.exited(*block)).unwrap_or_default();
                Pattern { blocks, members, exited }
            })
            .collect();
        patterns.sort_by(|a, b| b.blocks.len().cmp(&a.blocks.len()).then(a.blocks.cmp(&b.blocks)));
        let others = dump.devices.get(state.device).is_some_and(|device| device.grids.len() > 1);
        Scene { state, options, classes, patterns, room: room(dump, state), others }
    }

    pub(crate) fn class(&self, member: &Member) -> Option<&'a Group> {
        self.classes.get(member.class).copied()
    }

    /// Members whose doing is of a kind, with their class.
    pub(crate) fn doing<'p>(
        &'p self,
        pattern: &'p Pattern,
        wanted: impl Fn(&Doing) -> bool + 'p,
    ) -> impl Iterator<Item = (&'p Member, &'a Group)> + 'p {
        let with_class = |member: &'p Member| Some((member, self.class(member)?));
        pattern.members.iter().filter_map(with_class).filter(move |(_, class)| wanted(&class.doing))
    }

    pub(crate) fn finding(&self, rule: Rule, message: String) -> Finding {
        Finding { known: Known::Observed, ..Finding::new(rule, self.state.kernel.clone(), message) }
    }

    /// Says that a wait may still end: threads were running that can end it. That is what a healthy kernel looks like
    /// too, so it is no fault.
    pub(crate) fn may_end(&self, finding: &mut Finding, reason: String) {
        finding.rule = Rule::Undecided;
        finding.severity = Severity::Note;
        finding.known = Known::Possible { reason };
        finding.help.clear();
    }

    /// The blocks that never began because there is no room; 0 when that cannot be.
    pub(crate) fn without_room(&self) -> u64 {
        match self.room {
            Room::Free => 0,
            Room::Full | Room::Crowded => self.state.not_begun(),
        }
    }

    /// Blocks that have finished.
    pub(crate) fn finished(&self) -> u64 {
        match self.room {
            Room::Free => self.state.grid.blocks().saturating_sub(self.state.blocks.len() as u64),
            Room::Full | Room::Crowded => self.state.finished(),
        }
    }

    /// Threads, with their blocks, in words.
    pub(crate) fn threads(&self, pattern: &Pattern, threads: &[u32]) -> String {
        let set = ThreadRanges::from_members(threads.iter().copied());
        let blocks = words::blocks(&pattern.blocks);
        if self.state.grid.blocks() == 1 && pattern.blocks == [0] && !self.others {
            return set.with_noun("thread");
        }
        format!("{} of {blocks}", set.with_noun("thread"))
    }

    /// The verb for these threads: «wait», or «waits» for a single one.
    pub(crate) fn verb(&self, pattern: &Pattern, threads: &[u32], plural: &str) -> String {
        words::verb(threads.len() * pattern.blocks.len(), plural)
    }

    /// «threads 0–127 wait here».
    pub(crate) fn say(&self, pattern: &Pattern, member: &Member, verb: &str, rest: &str) -> String {
        let verb = self.verb(pattern, &member.threads, verb);
        format!("{} {verb} {rest}", self.threads(pattern, &member.threads))
    }

    /// «line 20», «line 12, called on line 21», or what is known without a line table.
    pub(crate) fn line(&self, class: &Group) -> String {
        let Some(place) = &class.place else {
            return match class.function.as_str() {
                "" => format!("address {:#x}", class.at),
                name => format!("{}+{:#x}", words::short_name(name), class.offset),
            };
        };
        let own = words::users_line(place);
        match words::callers_line(place) {
            Some(caller) if caller.file == own.file && caller.line != own.line => {
                format!("line {}, called on line {}", own.line, caller.line)
            }
            _ => format!("line {}", own.line),
        }
    }

    /// «on line 20», or «at kernel+0x120» without a line table.
    pub(crate) fn on(&self, class: &Group) -> String {
        let preposition = if class.place.is_some() { "on" } else { "at" };
        format!("{preposition} {}", self.line(class))
    }

    /// The places that the threads of a class read again and again, in words.
    pub(crate) fn polled(&self, class: &Group) -> String {
        let same = |group: &&Group| group.at == class.at && alike(&group.doing, &class.doing);
        let first = |group: &'a Group| match &group.doing {
            Doing::Spin { polled, .. } => polled.first(),
            _ => None,
        };
        let places = || self.state.groups.iter().filter(same).filter_map(first);
        let least = places().min_by_key(|place| place.address);
        let most = places().max_by_key(|place| place.address);
        match (least, most) {
            (Some(least), Some(most)) if least.address == most.address => {
                words::location(self.state, class, least)
            }
            (Some(least), Some(most)) => {
                let (least, most) =
                    (words::location(self.state, class, least), words::location(self.state, class, most));
                if least == most { least } else { format!("{least} … {most}") }
            }
            _ => "an unknown address".to_owned(),
        }
    }

    /// The line number, 0 when there is none.
    pub(crate) fn line_number(&self, class: &Group) -> u32 {
        class.place.as_ref().map_or(0, |place| words::users_line(place).line)
    }

    /// Points the finding at a member's place.
    pub(crate) fn primary(&self, finding: &mut Finding, member: &Member, label: impl Into<String>) {
        let place = self.class(member).and_then(|class| class.place.as_ref());
        finding.spans.push(Span { primary: true, ..self.span(place, label.into()) });
    }

    /// The place of a class as the one that a finding points at.
    pub(crate) fn primary_span(&self, class: &Group, label: String) -> Span {
        Span { primary: true, ..self.span(class.place.as_ref(), label) }
    }

    /// A further place of the finding, unless it is there already.
    pub(crate) fn cause(&self, finding: &mut Finding, member: &Member, label: impl Into<String>) {
        let Some(place) = self.class(member).and_then(|class| class.place.as_ref()) else { return };
        let span = self.span(Some(place), label.into());
        if !finding.spans.iter().any(|other| other.file == span.file && other.line == span.line) {
            finding.spans.push(span);
        }
    }

    fn span(&self, place: Option<&Place>, label: String) -> Span {
        let Some(place) = place else { return Span::cause(self.options.input, 0, 0, label) };
        let frames: Vec<_> = std::iter::once(&place.line).chain(&place.inlined_at).collect();
        let at = words::users_frame(place);
        let line = words::users_line(place);
        let outer = frames.iter().skip(at + 1);
        let inlined_at = outer.map(|frame| format!("{}:{}", frame.file, frame.line)).collect();
        Span { inlined_at, ..Span::cause(line.file.clone(), line.line, 0, label) }
    }
}

fn has_address(doing: &Doing) -> bool {
    match doing {
        Doing::Spin { polled, .. } => !polled.is_empty(),
        Doing::Mbarrier { word, .. } => word.is_some(),
        Doing::WarpSync { mask, .. } => mask.is_some(),
        Doing::BlockBarrier { id, count } => id.is_some() && *count != Count::Unknown,
        _ => true,
    }
}

/// Whether two doings are the same but for an address.
fn alike(one: &Doing, other: &Doing) -> bool {
    match (one, other) {
        (Doing::Spin { swaps: a, .. }, Doing::Spin { swaps: b, .. }) => a == b,
        (Doing::Mbarrier { parity: a, .. }, Doing::Mbarrier { parity: b, .. }) => {
            a == b || a.is_none() || b.is_none()
        }
        (Doing::WarpSync { operation: a, .. }, Doing::WarpSync { operation: b, .. }) => {
            a == b && (!has_address(one) || !has_address(other) || one == other)
        }
        (Doing::BlockBarrier { .. }, Doing::BlockBarrier { .. }) => {
            one == other || !has_address(one) || !has_address(other)
        }
        _ => one == other,
    }
}

fn room(dump: &Dump, state: &GridState) -> Room {
    let Some(device) = dump.devices.get(state.device) else { return Room::Free };
    let mut held: BTreeMap<u32, u32> = BTreeMap::new();
    for block in &device.blocks {
        *held.entry(block.multiprocessor).or_default() += 1;
    }
    let (least, most) = (held.values().min(), held.values().max());
    if (held.len() as u32) < device.multiprocessors || held.is_empty() {
        Room::Free
    } else if least == most {
        Room::Full
    } else {
        Room::Crowded
    }
}
