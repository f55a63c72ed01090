//! Happens-before by brute force: every edge by the text of the PTX ISA («Memory Consistency Model»), the transitive
//! closure over all events, and every pair of accesses looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::program::{Event, Kind, Order, Scope, What};

/// Pairs of lines.
pub(crate) type Pairs = BTreeSet<(u32, u32)>;

/// Events of all threads as one list, and who is before whom.
pub(crate) struct Trace {
    events: Vec<Event>,
    /// Of each event, its index among its thread's, and its thread.
    position: Vec<usize>,
    owner: Vec<usize>,
    threads: Vec<Vec<usize>>,
    /// Bits of those that are before.
    before: Vec<Vec<u64>>,
    /// The same by the order of threads and barriers alone.
    met: Vec<Vec<u64>>,
    /// Who has seen what each write left, or what came from it by way of atomics.
    seen: Vec<Vec<usize>>,
}

fn is_strong(order: Order) -> bool {
    order != Order::Weak
}

fn releases(order: Order) -> bool {
    matches!(order, Order::Release | Order::AcquireRelease)
}

fn acquires(order: Order) -> bool {
    matches!(order, Order::Acquire | Order::AcquireRelease)
}

impl Trace {
    /// `value` gives the word of the buffer with this number, as the run has left it.
    pub(crate) fn new(threads: &[Vec<Event>], value: impl Fn(u64) -> u32) -> Trace {
        let mut trace = Trace {
            events: Vec::new(),
            position: Vec::new(),
            owner: Vec::new(),
            threads: Vec::new(),
            before: Vec::new(),
            met: Vec::new(),
            seen: Vec::new(),
        };
        for events in threads {
            let first = trace.events.len();
            trace.threads.push((first..first + events.len()).collect());
            trace.position.extend(0..events.len());
            trace.owner.extend(events.iter().map(|_| trace.threads.len() - 1));
            trace.events.extend(events);
        }
        let mut edges = trace.barriers();
        for events in &trace.threads {
            edges.extend(events.windows(2).map(|pair| (pair[0], pair[1])));
        }
        trace.met = trace.close(&edges);
        edges.extend(trace.synchronisation(&value));
        trace.before = trace.close(&edges);
        trace
    }

    fn thread_of(&self, event: usize) -> (u32, u32) {
        (self.events[event].block, self.events[event].thread)
    }

    fn scope_of(&self, event: usize) -> Option<Scope> {
        match self.events[event].what {
            What::Access { order, scope, .. } => is_strong(order).then_some(scope),
            What::Fence(scope) => Some(scope),
            What::Barrier { .. } => None,
        }
    }

    /// Both strong, with scopes that take in the other's thread, or of one thread (ISA, «Morally strong operations»).
    /// Accesses overlap completely where they overlap at all and are strong: the programs see to that.
    fn are_morally_strong(&self, one: usize, two: usize) -> bool {
        if self.thread_of(one) == self.thread_of(two) {
            return true;
        }
        let reaches = |scope: Scope| scope >= Scope::Gpu || self.events[one].block == self.events[two].block;
        match (self.scope_of(one), self.scope_of(two)) {
            (Some(one), Some(two)) => reaches(one) && reaches(two),
            _ => false,
        }
    }

    fn thread(&self, event: usize) -> &[usize] {
        &self.threads[self.owner[event]]
    }

    /// A place, as comparable.
    fn place(&self, event: usize) -> Option<(Option<u32>, u64, u64)> {
        match self.events[event].what {
            What::Access { shared, start, bytes, .. } => {
                Some((shared.then_some(self.events[event].block), start, bytes))
            }
            _ => None,
        }
    }

    /// Which release patterns acquire patterns synchronise with.
    fn synchronisation(&mut self, value: &impl Fn(u64) -> u32) -> Vec<(usize, usize)> {
        let mut edges = Vec::new();
        // Who wrote what the flags' readers have seen.
        let mut writers = BTreeMap::new();
        for (event, index) in self.events.iter().zip(0..) {
            if let What::Access { kind: Kind::Store | Kind::Exchange, writes, .. } = event.what {
                writers.insert((self.place(index), writes), index);
            }
        }
        let source = |trace: &Trace, event: usize| match trace.events[event].what {
            What::Access { result: Some(word), .. } => {
                writers.get(&(trace.place(event), value(word))).copied()
            }
            _ => None,
        };
        self.seen = vec![Vec::new(); self.events.len()];
        for read in 0..self.events.len() {
            // Observation order: back through atomics.
            let mut at = read;
            let mut seen = BTreeSet::new();
            while let Some(write) = source(self, at)
                && self.are_morally_strong(write, at)
                && seen.insert(write)
            {
                self.seen[write].push(read);
                for first in self.release_patterns(write) {
                    for last in self.acquire_patterns(read) {
                        if self.are_morally_strong(first, last)
                            && self.thread_of(first) != self.thread_of(last)
                        {
                            edges.push((first, last));
                        }
                    }
                }
                at = write;
            }
        }
        edges
    }

    /// The first operations of release patterns that end in a write (ISA, «Release and Acquire Patterns»).
    fn release_patterns(&self, write: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let What::Access { order, .. } = self.events[write].what else { return found };
        if !is_strong(order) {
            return found;
        }
        for &event in self.thread(write).iter().take_while(|&&event| event <= write) {
            match self.events[event].what {
                What::Fence(_) => found.push(event),
                What::Access { order, kind, .. }
                    if kind != Kind::Load && releases(order) && self.place(event) == self.place(write) =>
                {
                    found.push(event);
                }
                _ => {}
            }
        }
        found.extend(
            self.fences()
                .filter(|&(fence, scope)| scope >= Scope::Gpu && self.have_met(fence, write))
                .map(|(fence, _)| fence),
        );
        found
    }

    /// The last operations of acquire patterns that begin with a read.
    fn acquire_patterns(&self, read: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let What::Access { order, .. } = self.events[read].what else { return found };
        if !is_strong(order) {
            return found;
        }
        for &event in self.thread(read).iter().skip_while(|&&event| event < read) {
            match self.events[event].what {
                What::Fence(_) => found.push(event),
                What::Access { order, kind: Kind::Load | Kind::Exchange, .. }
                    if acquires(order) && self.place(event) == self.place(read) =>
                {
                    found.push(event);
                }
                _ => {}
            }
        }
        found.extend(self.fences().filter(|&(fence, _)| self.have_met(read, fence)).map(|(fence, _)| fence));
        found
    }

    fn fences(&self) -> impl Iterator<Item = (usize, Scope)> {
        self.events.iter().zip(0..).filter_map(|(event, index)| match event.what {
            What::Fence(scope) => Some((index, scope)),
            _ => None,
        })
    }

    /// Whether events of two threads lie before and behind barriers. The ISA wants a pattern's fence to be the thread's
    /// own; but `__threadfence(); __syncthreads();` of all threads, and one that then sets the flag, is common and right
    /// by the one order of sequentially consistent fences, and the detector takes all fences for such.
    fn have_met(&self, one: usize, two: usize) -> bool {
        self.owner[one] != self.owner[two] && self.met[two][one / 64] >> (one % 64) & 1 != 0
    }

    /// Barriers order what was before one behind it.
    fn barriers(&self) -> Vec<(usize, usize)> {
        let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (event, index) in self.events.iter().zip(0..) {
            if let What::Barrier { id, .. } = event.what {
                groups.entry(id).or_default().push(index);
            }
        }
        let mut edges = Vec::new();
        for group in groups.values() {
            for &from in group {
                for &to in group {
                    let waits = matches!(self.events[to].what, What::Barrier { waits: true, .. });
                    // From what is before the arrival to what is behind the wait.
                    let next = self.thread(to).get(self.position[to] + 1);
                    if from != to
                        && waits
                        && let Some(&next) = next
                    {
                        edges.push((from, next));
                    }
                }
            }
        }
        edges
    }

    /// The transitive closure.
    fn close(&self, edges: &[(usize, usize)]) -> Vec<Vec<u64>> {
        let count = self.events.len();
        let words = count.div_ceil(64);
        let mut before = vec![vec![0; words]; count];
        let mut into = vec![0; count];
        let mut out = vec![Vec::new(); count];
        for &(from, to) in edges {
            into[to] += 1;
            out[from].push(to);
        }
        let mut ready: Vec<usize> = (0..count).filter(|&event| into[event] == 0).collect();
        let mut done = 0;
        while let Some(event) = ready.pop() {
            done += 1;
            let mut known: Vec<u64> = before[event].clone();
            known[event / 64] |= 1 << (event % 64);
            for &next in &out[event] {
                for (word, more) in before[next].iter_mut().zip(&known) {
                    *word |= more;
                }
                into[next] -= 1;
                if into[next] == 0 {
                    ready.push(next);
                }
            }
        }
        assert_eq!(done, count, "the order has a cycle");
        before
    }

    fn is_before(&self, one: usize, two: usize) -> bool {
        self.before[two][one / 64] >> (one % 64) & 1 != 0
    }

    /// The lines of all pairs of accesses that race: those that do in any case, and those that may, as the order of
    /// reductions on one place leaves no trace.
    pub(crate) fn races(mut self) -> (Pairs, Pairs) {
        let possible = self.racing();
        let adds = |event: &usize| matches!(self.events[*event].what, What::Access { kind: Kind::Add, .. });
        let adds: Vec<usize> = (0..self.events.len()).filter(adds).collect();
        for &one in &adds {
            for &two in &adds {
                if one != two && self.place(one) == self.place(two) && self.are_morally_strong(one, two) {
                    self.seen[one].push(two);
                }
            }
        }
        (self.racing(), possible)
    }

    fn racing(&self) -> Pairs {
        let mut found = BTreeSet::new();
        let accesses: Vec<usize> =
            (0..self.events.len()).filter(|&event| self.place(event).is_some()).collect();
        for (&one, at) in accesses.iter().zip(1..) {
            for &two in &accesses[at..] {
                if self.do_race(one, two) {
                    let lines = [self.events[one].line, self.events[two].line];
                    found.insert((lines[0].min(lines[1]), lines[0].max(lines[1])));
                }
            }
        }
        found
    }

    fn do_race(&self, one: usize, two: usize) -> bool {
        let (Some((space, start, bytes)), Some((other, from, length))) = (self.place(one), self.place(two))
        else {
            return false;
        };
        let writes = |event: usize| !matches!(self.events[event].what, What::Access { kind: Kind::Load, .. });
        space == other
            && start < from + length
            && from < start + bytes
            && (writes(one) || writes(two))
            && self.thread_of(one) != self.thread_of(two)
            && !self.are_morally_strong(one, two)
            && !self.is_caused(one, two)
            && !self.is_caused(two, one)
    }

    /// Causality order: who has seen a write has it behind it (ISA, «Causality Order»).
    fn is_caused(&self, one: usize, two: usize) -> bool {
        self.is_before(one, two) || self.seen[one].iter().any(|&read| self.is_before(read, two))
    }
}
