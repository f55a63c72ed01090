//! What a rehearsal's standstills and faults mean: barrier-count, warp-mask, wait-cycle, grid-divergence and
//! the divergence of counted barriers.

mod faults;
mod reports;
mod writers;

use standstill_findings::{
    Finding, Known, Node, Outcome, Platform, PlatformRow, Rule, ThreadRanges, WaitGraph,
};
use standstill_kernel_ir::{InstructionId, Op, Operand, Reachability};

use crate::body::{Base, Body};
use crate::kernel::Kernel;
use crate::rehearsal::{Doing, Fault, Group, Place, Rehearsal, Standstill};
use writers::{Writes, waits_for_the_same};

/// Reports what a rehearsal showed; gives the barriers whose divergence is explained by it.
pub(crate) fn check(
    kernel: &Kernel<'_>,
    rehearsal: &Rehearsal,
    findings: &mut Vec<Finding>,
) -> Vec<InstructionId> {
    let mut explained = Vec::new();
    for fault in &rehearsal.faults {
        findings.push(faults::report(kernel, fault));
        if matches!(fault, Fault::PartOfWarp { .. }) {
            explained.push(fault.at());
        }
    }
    // Where arrivals do not add up, who waits at a barrier in the end only follows from that.
    let miscounted = rehearsal.faults.iter().any(Fault::is_miscount);
    for standstill in &rehearsal.standstills {
        let state = State { kernel, rehearsal, standstill };
        if let Some(mut finding) = state.report() {
            if let Some(late) = standstill.groups.iter().find(|group| group.too_late) {
                finding.platforms = finding.platforms.in_some_order();
                finding.notes.push(format!(
                    "it depends on who is faster: what is polled on line {} held something else before, and threads that look \
                     in time go on",
                    kernel.places.line(late.at)
                ));
            }
            explained.extend(standstill.groups.iter().map(|group| group.at));
            let at_barrier = standstill.groups.iter().all(|group| matches!(group.doing, Doing::Barrier(_)));
            if !(miscounted && at_barrier) {
                findings.push(finding);
            }
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

/// What a rehearsal was told of the launch.
fn launch_assumptions(kernel: &Kernel<'_>) -> Vec<String> {
    let launch = kernel.launch;
    let shape =
        |name: &str, extents: Option<[u32; 3]>| extents.map(|[x, y, z]| format!("{name} = {x}x{y}x{z}"));
    let mut parameters: Vec<(&usize, &i64)> = launch.shape.parameters.iter().collect();
    parameters.sort_unstable();
    let given = parameters.into_iter().map(|(&index, value)| {
        format!("{} = {value}", kernel.places.parameter_name(u32::try_from(index).unwrap_or(u32::MAX)))
    });
    shape("block", launch.block).into_iter().chain(shape("grid", launch.grid)).chain(given).collect()
}

/// A wait that no platform ends.
fn hangs_everywhere() -> PlatformRow {
    PlatformRow::new(&[
        (Platform::Nvidia, Outcome::Hangs),
        (Platform::NvidiaOld, Outcome::Hangs),
        (Platform::Amd, Outcome::Hangs),
        (Platform::Others, Outcome::Hangs),
        (Platform::Specification, Outcome::Undefined),
    ])
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
        // Several choices on the way may exclude each other: then it may be no cycle at all.
        let spins = |&index: &usize| groups.get(index).is_some_and(|group| group.doing == Doing::Spinning);
        if self.standstill.chosen > 1 && cycle.iter().any(spins) {
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
        // A write through a pointer that was loaded or selected may go anywhere, and the flag be the host's.
        if !on_mbarrier && writers.iter().any(|&writer| self.kernel.body.base(writer) == Base::Unknown) {
            return WaitsFor::Outsiders;
        }
        if group.takes {
            return self.lock_waits_for(reach, group, &writers);
        }
        let mut found = Vec::new();
        for (other, candidate) in self.standstill.groups.iter().enumerate() {
            let same_memory = global || candidate.block == group.block;
            let same_wait = global && waits_for_the_same(group, candidate);
            if !same_memory {
                continue;
            }
            let mut writes = false;
            for &writer in &writers {
                match self.writes(reach, candidate, writer, group) {
                    // Which of many cells it writes is not known, nor what the host put into them.
                    Writes::Perhaps if global => return WaitsFor::Outsiders,
                    Writes::No => {}
                    _ => writes |= !same_wait || self.is_own_answer(group, writer),
                }
            }
            if writes {
                found.push(other);
            }
        }
        let helpers: Vec<usize> = found.iter().copied().filter(|&other| other != index).collect();
        match (helpers.is_empty(), found.is_empty()) {
            (false, _) => WaitsFor::Groups(helpers),
            (true, false) => WaitsFor::Groups(found),
            // Nobody here writes it. For an mbarrier the arrivals do not add up; what is in the block's own memory
            // nobody else can write; a flag in global memory may be the host's.
            (true, true) if on_mbarrier || self.is_closed(group, &writers) => WaitsFor::Nobody,
            (true, true) => WaitsFor::Outsiders,
        }
    }

    /// Who tries to take a lock waits for the thread that has it, and for nobody who is to take it as well.
    fn lock_waits_for(
        &self,
        reach: &mut Reachability<'_>,
        group: &Group,
        writers: &[InstructionId],
    ) -> WaitsFor {
        let [(place, _)] = group.reads.as_slice() else { return WaitsFor::Outsiders };
        let holder = self.standstill.holders.iter().find(|(held, ..)| held == place);
        let Some(&(_, block, thread)) = holder else { return WaitsFor::Outsiders };
        let mut gives_back = |candidate: &Group| {
            writers.iter().any(|&writer| self.writes(reach, candidate, writer, group) != Writes::No)
        };
        for (index, candidate) in self.standstill.groups.iter().enumerate() {
            if candidate.block == block && candidate.threads.contains(&thread) && gives_back(candidate) {
                return WaitsFor::Groups(vec![index]);
            }
        }
        WaitsFor::Outsiders
    }

    fn mbarrier(&self, place: &Place) -> Option<&crate::rehearsal::Mbarrier> {
        self.standstill.mbarriers.iter().find(|(known, _)| known == place).map(|(_, mbarrier)| mbarrier)
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
        finding.assumes = launch_assumptions(self.kernel);
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
        if standstill.chosen > 0 {
            finding.known =
                Known::Possible { reason: "a condition on the way depends on what memory holds".into() };
            finding.severity = standstill_findings::Severity::Warning;
        }
        finding
    }
}
