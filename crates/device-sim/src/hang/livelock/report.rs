//! What is said of threads that go round without end.

use rustc_hash::FxHashMap;
use standstill_findings::{Finding, Known, Node, Outcome, PlatformRow, Rule, ThreadRanges, WaitGraph};
use standstill_kernel_ir::Order;

use super::explore::Explored;
use super::joint;
use super::ledger::{Touch, Way};
use crate::address::{self, Window};
use crate::exec::core::lanes;
use crate::fault::Place;
use crate::grid::Grid;
use crate::hang::names;
use crate::hang::verdict::{primary, push_cause};

/// Names that a sentence lists.
const MOST_NAMES: usize = 4;
/// Kinds of threads that a report lists.
const MOST_MEMBERS: usize = 16;

/// Threads of a block that go round the same loop.
#[derive(Debug, Clone)]
pub(super) struct Member {
    block: u32,
    threads: ThreadRanges,
    /// The test that leaves the loop.
    test: Place,
}

/// An access that is told of.
#[derive(Debug, Clone)]
struct Told {
    who: String,
    name: String,
    place: Place,
}

/// Threads that come back to the same joint state.
#[derive(Debug, Clone)]
pub(crate) struct Circle {
    members: Vec<Member>,
    blocks: usize,
    /// A thread reads what another writes.
    read: Option<Told>,
    write: Option<Told>,
    /// Something that decides and that nobody writes.
    constant: Option<Told>,
    /// What is changed and comes back.
    names: Vec<String>,
    one_warp: bool,
    pub(super) explored: Explored,
    pub(crate) threads: u64,
}

/// Where an address is, when blocks have memory of their own at the same ones.
fn home(touch: &Touch) -> (u64, Option<u32>) {
    let own = matches!(address::window(touch.address), Window::Shared { rank: None, .. });
    (touch.address / 4, own.then_some(touch.party.block))
}

impl Grid {
    /// What the threads do that are in a repetition, as far as it was written down.
    pub(super) fn circle(&self) -> Option<Circle> {
        let ledger = self.shared.ledger.as_ref()?;
        let touches = ledger.touches();
        let mut writers: FxHashMap<(u64, Option<u32>), Vec<&Touch>> = FxHashMap::default();
        for touch in touches.iter().filter(|touch| touch.way != Way::Read) {
            writers.entry(home(touch)).or_default().push(touch);
        }
        let strong = |touch: &&Touch| touch.way.reads() && self.order_at(touch.at).0 != Order::Weak;
        let mut read = None;
        let mut constant = None;
        for touch in touches.iter().filter(strong) {
            let written = writers.get(&home(touch));
            match written {
                None => constant = constant.or(Some(touch)),
                Some(written) => {
                    let other = written.iter().find(|write| write.party != touch.party);
                    read = read.or(other.map(|write| (touch, *write)));
                }
            }
        }
        let told = |touch: &Touch| Told {
            who: format!("thread {} of block {}", touch.party.thread, touch.party.block),
            name: names::name(&self.shared, touch.address, touch.bytes),
            place: self.place(touch.at.0, touch.at.1),
        };
        let mut changed: Vec<String> = Vec::new();
        for touch in touches.iter().filter(|touch| touch.way != Way::Read) {
            let name = names::name(&self.shared, touch.address, touch.bytes);
            if !changed.contains(&name) && changed.len() <= MOST_NAMES {
                changed.push(name);
            }
        }
        let (members, blocks, warps) = self.members();
        Some(Circle {
            threads: members.iter().map(|member| member.threads.len()).sum(),
            members,
            blocks,
            read: read.map(|(read, _)| told(read)),
            write: read.map(|(_, write)| told(write)),
            constant: constant.map(told),
            names: changed,
            one_warp: warps == 1,
            explored: Explored::Ordered,
        })
    }

    /// Threads that are in a loop, the blocks they are of, and how many warps.
    fn members(&self) -> (Vec<Member>, usize, usize) {
        let mut members: Vec<(u32, u32, Vec<u32>, Place)> = Vec::new();
        let (mut blocks, mut warps) = (0, 0);
        for block in self.slots.iter().flatten() {
            let mut any = false;
            for warp in &block.warps {
                let mut runs = false;
                for group in &warp.flow.groups {
                    let Some(head) = joint::outermost(warp, group) else { continue };
                    runs = true;
                    let threads = lanes(group.mask).map(|lane| warp.place.first_thread + lane as u32);
                    let few = members.len() < MOST_MEMBERS;
                    let known = members
                        .iter_mut()
                        .rev()
                        .take(64)
                        .find(|(of, at, ..)| (*of, *at) == (block.place.index, head));
                    match known {
                        Some((.., all, _)) => all.extend(threads),
                        None if few => {
                            let code = warp.flow.frames.first().map(|frame| &frame.code.0);
                            let test = code.map(|code| self.exit_test(code, head)).unwrap_or_default();
                            members.push((block.place.index, head, threads.collect(), test));
                        }
                        None => {}
                    }
                }
                warps += usize::from(runs);
                any |= runs;
            }
            blocks += usize::from(any);
        }
        let member =
            |(block, _, threads, test)| Member { block, threads: ThreadRanges::from_members(threads), test };
        (members.into_iter().map(member).collect(), blocks, warps)
    }

    /// The finding about threads that another order of turns set free.
    pub(super) fn broken(&self, circle: &Circle) -> Finding {
        let mut finding = Circle { explored: Explored::Leaves, ..circle.clone() }.finding();
        finding.kernel = self.kernel().to_owned();
        finding.message = "threads that take equal turns keep each other from going on".to_owned();
        finding.known = Known::Possible {
            reason:
                "with equal turns they came to the same state again and again; in another order of turns, in \
                     which the run went on, one of them left its loop"
                    .to_owned(),
        };
        finding.platforms = PlatformRow::everywhere(Outcome::MayHang);
        finding
    }

    /// The finding about the repetition that the grid was parked in.
    pub(crate) fn circling(&mut self, outside: Option<&str>) -> Option<(Finding, u64)> {
        let circle = self.livelock.stuck.take()?;
        let mut finding = circle.finding();
        finding.kernel = self.kernel().to_owned();
        finding.platforms = PlatformRow::everywhere(Outcome::Hangs);
        finding.known = match (outside, circle.explored) {
            (Some(reason), _) => Known::Possible { reason: reason.to_owned() },
            (None, Explored::Open { steps }) => Known::Possible {
                reason: format!(
                    "{steps} steps in other orders of the threads' turns led nobody out of its loop, but not all \
                     orders were tried"
                ),
            },
            (None, _) => Known::Observed,
        };
        if outside.is_some() {
            self.livelock.stuck = Some(circle);
            return Some((finding, self.livelock.stuck.as_ref().map_or(0, |circle| circle.threads)));
        }
        if circle.one_warp && circle.read.is_some() {
            self.unpark();
            let apart = match self.leaves_apart() {
                true => {
                    "its lanes keep in step; if one of them went on by itself, it would come out of its loop"
                }
                false => "its lanes would not come out of their loops either if they did not keep in step",
            };
            finding.notes.push(format!("all of these threads are of one warp: {apart}"));
        }
        Some((finding, circle.threads))
    }
}

impl Circle {
    fn finding(&self) -> Finding {
        let none = Place::default();
        let test = self.members.first().map_or(&none, |member| &member.test);
        let names = self.names.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let names = match self.names.len() {
            0 => "memory".to_owned(),
            1..=MOST_NAMES => names.join(", "),
            _ => format!("{} and other memory", names.join(", ")),
        };
        let order = match self.explored {
            Explored::Ordered if self.threads == 1 => String::new(),
            Explored::Ordered if self.one_warp => "; the lanes of a warp go in step".to_owned(),
            Explored::Ordered => "; nothing that they do depends on the order of their turns".to_owned(),
            Explored::Closed { states } => {
                format!("; no order of their turns leads out of the {states} states that they come to")
            }
            Explored::Open { .. } | Explored::Leaves => String::new(),
        };
        let each = if self.threads == 1 { "" } else { ", after each of them has run" };
        let back = format!("registers and {names} come back to what they were{each}{order}");
        let mut finding;
        let sentence;
        match (&self.read, &self.write) {
            (Some(read), Some(write)) => {
                finding = Finding::new(
                    Rule::WaitCycle,
                    "",
                    "threads go round without end: what one of them does, another undoes",
                );
                finding.help =
                    "let one of them keep what it has: locks taken in one order, one thread that goes \
                                first, or a flag that ends the loop and that somebody sets"
                        .into();
                finding
                    .spans
                    .push(primary(&read.place, format!("reads `{}` here, again and again", read.name)));
                push_cause(&mut finding, &write.place, format!("{} writes `{}` here", write.who, write.name));
                if let Some(constant) = &self.constant {
                    let label = format!("`{}` is read here, which nobody writes", constant.name);
                    push_cause(&mut finding, &constant.place, label);
                }
                for member in self.members.iter().take(3) {
                    push_cause(
                        &mut finding,
                        &member.test,
                        format!("{} {} round here", member.who(), member.go()),
                    );
                }
                sentence = format!("{} go round without end: {back}", self.who());
            }
            _ => {
                finding = Finding::new(
                    Rule::NonTerminatingLoop,
                    "",
                    "a loop never ends: its values repeat, and the memory that it changes",
                );
                finding.help = "let each turn bring the loop nearer to its end, or count the turns".into();
                finding.spans.push(primary(test, format!("never becomes true for {}", self.who())));
                let go = self.members.first().map_or("go", Member::go);
                sentence =
                    format!("{} {go} round the loop on line {} without end: {back}", self.who(), test.line);
            }
        }
        let mut graph = WaitGraph::default();
        for member in &self.members {
            let node = graph.node(Node::Threads { block: member.block, threads: member.threads.clone() });
            let line = member.test.line;
            for name in self.names.iter().take(MOST_NAMES) {
                let location = graph.node(Node::Location(name.clone()));
                graph.edge(
                    node,
                    location,
                    format!("{} round the loop on line {line} for", member.go()),
                    line,
                );
            }
            if self.names.is_empty() {
                let own = graph.node(Node::Named("its own loop".into()));
                graph.edge(node, own, format!("{} round the loop on line {line}", member.go()), line);
            }
        }
        graph.sentence = sentence;
        finding.waits = Some(graph);
        finding
    }

    fn who(&self) -> String {
        let Some(first) = self.members.first() else { return "threads".to_owned() };
        match self.members.as_slice() {
            [one] => one.who(),
            [one, two] => format!("{} and {}", one.who(), two.who()),
            _ if self.blocks > 1 => format!("{} and threads of {} blocks in all", first.who(), self.blocks),
            _ => format!("{} and other threads of it", first.who()),
        }
    }
}

impl Member {
    fn who(&self) -> String {
        format!("{} of block {}", self.threads.with_noun("thread"), self.block)
    }

    fn go(&self) -> &'static str {
        if self.threads.len() == 1 { "goes" } else { "go" }
    }
}
