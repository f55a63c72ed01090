//! What was asked of a device and is not known to be done: where a program stands that does not go on.

use std::rc::Rc;

use standstill_trace::{Call, Operation, Record, Site, Work};

use crate::clock::{Clock, Strand};
use crate::conflict::Name;
use crate::order::{Order, Placed};

/// Operations after which what is done is forgotten.
const SWEEP: usize = 1 << 12;
/// Operations that are told of at most.
const MOST: usize = 8;

/// An operation that nothing unfinished stands before: what is behind it may wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Front {
    /// Its number.
    pub operation: Operation,
    /// Its stream.
    pub stream: u64,
    /// Where the call stands.
    pub site: Site,
    /// What it is.
    pub name: Name,
    /// Operations that are not known to be done and come behind it.
    pub behind: usize,
}

#[derive(Debug)]
struct Asked {
    operation: Operation,
    stream: u64,
    site: Site,
    name: Name,
    strand: Strand,
    index: u64,
    before: Rc<Clock>,
}

/// Takes a trace record by record.
#[derive(Debug)]
pub struct Outstanding {
    order: Order,
    asked: Vec<Asked>,
    sweep_at: usize,
    operations: u64,
}

impl Default for Outstanding {
    fn default() -> Outstanding {
        Outstanding { order: Order::new(), asked: Vec::new(), sweep_at: SWEEP, operations: 0 }
    }
}

impl Outstanding {
    /// Takes the next record.
    pub fn take(&mut self, record: &Record) {
        match &record.call {
            Call::CreateStream { stream, kind } => self.order.create(*stream, *kind),
            Call::InContext { stream, context } => self.order.set_context(*stream, *context),
            Call::DestroyStream { stream } => self.order.destroy(*stream),
            Call::Submit { operation, stream, work } => {
                let placed = self.order.place(*stream, work).0;
                self.work(record.site, *operation, *stream, placed, work);
            }
            Call::LaunchGraph { operation, stream, graph } => {
                self.order.launch_graph(*operation, *stream, *graph);
            }
            Call::SubmitNode { operation, stream, work, launch, after } => {
                let placed = self.order.node(*operation, *launch, after, work).0;
                self.work(record.site, *operation, *stream, placed, work);
            }
            Call::EndGraph { stream, launch, last, .. } => {
                self.order.end_graph(*stream, *launch, last);
            }
            Call::RecordEvent { operation, stream, event } => {
                self.order.record(*operation, *stream, *event);
            }
            Call::WaitEvent { stream, event, .. } => {
                self.order.wait(*stream, *event);
            }
            Call::DestroyEvent { event } => self.order.destroy_event(*event),
            Call::Synchronise(target) => self.order.done(*target),
            _ => {}
        }
        if self.asked.len() > self.sweep_at {
            self.sweep();
            self.sweep_at = SWEEP.max(2 * self.asked.len());
        }
    }

    fn work(&mut self, site: Site, operation: Operation, stream: u64, placed: Placed, work: &Work) {
        self.operations += 1;
        let name = match work {
            Work::Kernel { name, .. } => Name::Kernel(name.as_str().into()),
            Work::Launch { .. } => Name::Other("kernel"),
            Work::Copy { .. } => Name::Other("copy"),
            Work::Fill { .. } => Name::Other("memset"),
            Work::HostFunction { .. } => Name::Other("host function"),
            Work::WaitValue { .. } => Name::Other("wait for a value in memory"),
            Work::Record { event } => return self.order.set_record(operation, *event, &placed),
            Work::Order | Work::WriteValue { .. } | Work::Allocate { .. } | Work::Free { .. } => return,
        };
        let done = match work {
            Work::Copy { copied, .. } => crate::completion(*copied) == crate::Completion::Done,
            Work::Fill { done, .. } => *done,
            _ => false,
        };
        if done {
            return self.order.returned(&placed);
        }
        let Placed { strand, index, before } = placed;
        self.asked.push(Asked { operation, stream, site, name, strand, index, before });
    }

    fn sweep(&mut self) {
        let settled = self.order.settled();
        self.asked.retain(|one| settled.get(one.strand) < one.index);
    }

    /// How many operations were asked for.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// The operations that nothing unfinished stands before, in the order of submission, and how many are not known to
    /// be done. A kernel that was seen to run has everything behind it that comes before it.
    #[must_use]
    pub fn finish(mut self, runs: &dyn Fn(&str) -> bool) -> (Vec<Front>, usize) {
        self.sweep();
        let is_seen = |one: &&Asked| matches!(&one.name, Name::Kernel(name) if runs(name));
        let mut seen = self.asked.iter().filter(is_seen);
        // Of several launches of one kernel it is not known which one runs.
        if let (Some(one), None) = (seen.next(), seen.next()) {
            let before = one.before.clone();
            self.asked.retain(|other| before.get(other.strand) < other.index);
        }
        let mut fronts: Vec<(&Asked, usize)> = Vec::new();
        for one in &self.asked {
            let mut held = false;
            for (front, behind) in &mut fronts {
                if one.before.get(front.strand) >= front.index {
                    *behind += 1;
                    held = true;
                }
            }
            if !held && fronts.len() < MOST {
                fronts.push((one, 0));
            }
        }
        let front = |(one, behind): &(&Asked, usize)| Front {
            operation: one.operation,
            stream: one.stream,
            site: one.site,
            name: one.name.clone(),
            behind: *behind,
        };
        (fronts.iter().map(front).collect(), self.asked.len())
    }
}

#[cfg(test)]
mod tests {
    use standstill_trace::{StreamKind, Target};

    use super::*;

    fn some() -> (Outstanding, impl Fn(Operation, Site, &str, usize) -> Front) {
        let mut outstanding = Outstanding::default();
        let kind = StreamKind::NonBlocking;
        let launch = |operation, stream, name: &str| {
            let work = Work::Kernel { name: name.to_owned(), accesses: None };
            Call::Submit { operation, stream, work }
        };
        let calls = [
            Call::CreateStream { stream: 1, kind },
            Call::CreateStream { stream: 2, kind },
            launch(1, 1, "done"),
            Call::Synchronise(Target::Stream(1)),
            launch(2, 1, "begins"),
            launch(3, 1, "spins"),
            Call::RecordEvent { operation: 4, stream: 1, event: 1 },
            Call::WaitEvent { operation: 5, stream: 2, event: 1 },
            launch(6, 2, "waits"),
        ];
        for (call, site) in calls.into_iter().zip(0..) {
            outstanding.take(&Record { thread: 0, site, call });
        }
        assert_eq!(outstanding.operations(), 4);
        let front = |operation, site, name: &str, behind| {
            let name = Name::Kernel(name.into());
            Front { operation, stream: 1, site, name, behind }
        };
        (outstanding, front)
    }

    #[test]
    fn what_stands_before_the_rest_is_told() {
        let (outstanding, front) = some();
        assert_eq!(outstanding.finish(&|_| false), (vec![front(2, 4, "begins", 2)], 3));
        let (outstanding, front) = some();
        assert_eq!(outstanding.finish(&|name| name == "spins"), (vec![front(3, 5, "spins", 1)], 2));
    }
}
