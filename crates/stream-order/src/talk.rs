//! Operations that can order the host otherwise than by calls: kernels that access memory of the host by operations in
//! which the host can take part (a flag that one side sets and the other polls), and functions of the host, which can
//! do what threads of a program do.
//!
//! In which order that happens is not in the calls. So nothing is concluded across them: the host may know all that
//! comes before such an operation, and such an operation may wait for the host.
//!
//! But a kernel and the host can speak only by memory that both reach, whose accesses by the host are seen: where the host
//! has looked at none of it since the kernel was put in, it was told nothing, and where it has written none of it, nothing
//! waited for it. And what has not begun has told nothing, nor does what has ended wait.

use std::collections::VecDeque;
use std::ops::Range;

use standstill_trace::Access;

use crate::clock::{Clock, Strand};

/// Bytes of a page: of the accesses to one only the first is seen.
const PAGE: u64 = 4096;
/// Accesses of the host that are kept.
const KEPT: usize = 1 << 14;

/// An operation that can order the host.
#[derive(Debug)]
pub(crate) struct Talker {
    pub(crate) strand: Strand,
    pub(crate) index: u64,
    /// What comes before it.
    pub(crate) before: Clock,
    /// The records at which it was put in, began and ended, the latter where they are known.
    pub(crate) submitted: u64,
    /// A kernel may speak from the moment on at which it is put in.
    pub(crate) began: Option<u64>,
    pub(crate) ended: Option<u64>,
    /// The memory by which it speaks; `None` where accesses of the host to it are not all seen.
    pub(crate) by: Option<Vec<Access>>,
}

fn overlap(access: &Access, bytes: &Range<u64>) -> bool {
    access.address < bytes.end && bytes.start < access.address.saturating_add(access.width)
}

/// What such operations may have said.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// What the host may have been told to be done by those that are forgotten.
    told: Clock,
    talkers: Vec<Talker>,
    /// Accesses of the host: the record, the bytes, whether they were written.
    seen: VecDeque<(u64, Range<u64>, bool)>,
    /// Before this record not all were seen.
    unseen: u64,
}

impl Talk {
    /// Takes an operation that can order the host.
    pub(crate) fn add(&mut self, mut talker: Talker) {
        if talker.submitted < self.unseen {
            talker.by = None;
        }
        self.talkers.push(talker);
    }

    /// The host has accessed these bytes.
    pub(crate) fn see(&mut self, record: u64, access: &Access, write: bool) {
        if self.seen.len() == KEPT {
            self.not_seen(record);
        }
        let end = access.address.saturating_add(access.width);
        self.seen.push_back((record, access.address / PAGE * PAGE..end.next_multiple_of(PAGE), write));
    }

    /// Accesses of the host before this record were not all seen.
    pub(crate) fn not_seen(&mut self, record: u64) {
        self.unseen = record;
        self.seen.clear();
        self.talkers.iter_mut().for_each(|talker| talker.by = None);
    }

    /// What an access of the host at this record may come behind, besides what the calls say. `seen`: it is one of those
    /// that are all seen.
    pub(crate) fn told(&self, record: u64, seen: bool) -> Clock {
        let mut told = self.told.clone();
        for talker in self.talkers.iter().filter(|talker| !seen || self.tells(talker, record)) {
            told.join(&talker.before);
            told.set(talker.strand, talker.index.max(told.get(talker.strand)));
        }
        told
    }

    /// What an operation that the host puts in at this record may come behind, besides what the calls say: the host may put
    /// it in because it was told. `None` where nobody has told it anything.
    pub(crate) fn told_before_putting_in(&self, record: u64) -> Option<Clock> {
        let mut told: Option<Clock> = None;
        for talker in self.talkers.iter().filter(|talker| {
            let has_begun = talker.began.is_some_and(|began| began < record);
            talker.submitted < record && has_begun && self.tells(talker, record)
        }) {
            let told = told.get_or_insert_default();
            told.join(&talker.before);
            told.set(talker.strand, talker.index.max(told.get(talker.strand)));
        }
        told
    }

    fn tells(&self, talker: &Talker, record: u64) -> bool {
        match &talker.by {
            Some(by) => self.meets(by, talker.submitted..record, false),
            None => talker.began.is_none_or(|began| began < record),
        }
    }

    /// Whether the host has accessed a page of these bytes between two records.
    fn meets(&self, bytes: &[Access], between: Range<u64>, only_writes: bool) -> bool {
        let at = self.seen.partition_point(|(record, ..)| *record <= between.start);
        let seen = self.seen.range(at..).take_while(|(record, ..)| *record < between.end);
        let mut seen = seen.filter(|(.., write)| *write || !only_writes);
        seen.any(|(_, pages, _)| bytes.iter().any(|access| overlap(access, pages)))
    }

    /// Whether something that stands there, or comes behind what stands there, can have waited for what the host did to
    /// these bytes at this record, or speaks by these bytes.
    pub(crate) fn can_wait(
        &self,
        (strand, index): (Strand, u64),
        before: &Clock,
        bytes: &Range<u64>,
        record: u64,
    ) -> bool {
        self.talkers.iter().any(|talker| {
            let is_it = (talker.strand, talker.index) == (strand, index);
            let speaks = |by: &Vec<Access>| is_it && by.iter().any(|access| overlap(access, bytes));
            (is_it || before.get(talker.strand) >= talker.index)
                && match (talker.ended, &talker.by) {
                    (None, _) => true,
                    (Some(ended), None) => record < ended,
                    (Some(ended), Some(by)) => speaks(by) || self.meets(by, record..ended, true),
                }
        })
    }

    /// Whether there is any before this.
    pub(crate) fn may_hold_up(&self, before: &Clock) -> bool {
        self.talkers.iter().any(|talker| before.get(talker.strand) >= talker.index)
    }

    /// Forgets operations that the host knows to be done.
    pub(crate) fn retire(&mut self, settled: &Clock) {
        let told = &mut self.told;
        self.talkers.retain(|talker| {
            let done = settled.get(talker.strand) >= talker.index;
            if done {
                told.join(&talker.before);
                told.set(talker.strand, talker.index.max(told.get(talker.strand)));
            }
            !done
        });
        if self.talkers.is_empty() {
            self.seen.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use standstill_findings::Rule;
    use standstill_trace::{Access, Call, Mode, Record, StreamKind, Target, Work};

    use crate::Check;

    const BUFFER: u64 = 0x1000;
    const FLAG: u64 = 0x2000;

    fn kernel(operation: u64, accesses: &[(Mode, u64)]) -> Call {
        let accesses = accesses.iter().map(|(mode, at)| Access::bytes(*mode, *at, 4)).collect();
        let work = Work::Kernel { name: "k".to_owned(), accesses: Some(accesses) };
        Call::Submit { operation, stream: 1, work }
    }

    fn host(mode: Mode, at: u64) -> Call {
        Call::HostAccess(Access::bytes(mode, at, 1))
    }

    fn check(calls: Vec<Call>, expected: &[Rule]) {
        let mut check = Check::default();
        let begin = Call::CreateStream { stream: 1, kind: StreamKind::NonBlocking };
        for (call, site) in std::iter::once(begin).chain(calls).zip(1..) {
            check.take(&Record { thread: 0, site, call });
        }
        let (conflicts, _) = check.finish();
        let rules: Vec<Rule> = conflicts.iter().map(|conflict| conflict.rule).collect();
        assert_eq!(rules, expected);
    }

    #[test]
    fn accesses_of_the_host_are_unordered_with_operations_that_are_not_known_to_be_done() {
        let writes = kernel(1, &[(Mode::Write, BUFFER)]);
        check(vec![writes.clone(), host(Mode::Read, BUFFER)], &[Rule::HostReadBeforeSync]);
        check(vec![writes.clone(), host(Mode::Write, BUFFER + 3)], &[Rule::HostWriteInFlight]);
        check(vec![writes.clone(), host(Mode::Write, BUFFER + 4)], &[]);
        check(vec![writes, Call::Synchronise(Target::Stream(1)), host(Mode::Read, BUFFER)], &[]);
        let reads = kernel(1, &[(Mode::Read, BUFFER)]);
        check(vec![reads.clone(), host(Mode::Read, BUFFER)], &[]);
        check(vec![reads, host(Mode::Write, BUFFER)], &[Rule::HostWriteInFlight]);
    }

    #[test]
    fn a_kernel_with_a_flag_for_the_host_may_have_told_it_of_all_before() {
        let before = kernel(1, &[(Mode::Write, BUFFER)]);
        let tells = kernel(2, &[(Mode::Write, FLAG), (Mode::Signal, FLAG)]);
        let behind = kernel(3, &[(Mode::Write, BUFFER)]);
        check(vec![before.clone(), tells.clone(), host(Mode::Read, FLAG), host(Mode::Read, BUFFER)], &[]);
        // What comes behind may have to wait for the host.
        check(vec![tells.clone(), behind.clone(), host(Mode::Write, BUFFER)], &[]);
        // Nobody has told the host of what is put in after the flag was seen to be done.
        let done = Call::Synchronise(Target::Stream(1));
        check(vec![tells, done, behind, host(Mode::Read, BUFFER)], &[Rule::HostReadBeforeSync]);
        check(
            vec![before, host(Mode::Read, BUFFER), kernel(2, &[(Mode::Signal, FLAG)])],
            &[Rule::HostReadBeforeSync],
        );
    }

    #[test]
    fn what_has_not_begun_has_told_nothing_and_what_has_ended_waits_for_nobody() {
        let function = Call::Submit { operation: 2, stream: 1, work: Work::HostFunction { accesses: None } };
        let (begins, ends) = (Call::Begin { operation: 2 }, Call::Reach { operation: 2, accesses: vec![] });
        let before = kernel(1, &[(Mode::Write, BUFFER)]);
        let behind = kernel(3, &[(Mode::Write, BUFFER)]);
        let reads = host(Mode::Read, BUFFER);
        let early = Rule::HostReadBeforeSync;
        let order = |calls: &[&Call], expected: &[Rule]| {
            check(calls.iter().map(|call| (*call).clone()).collect(), expected);
        };
        order(&[&before, &function, &reads, &begins, &ends], &[early]);
        order(&[&before, &function, &begins, &reads, &ends], &[]);
        order(&[&before, &function, &begins, &ends, &reads], &[]);
        // What comes behind it may have waited for the host as long as it ran.
        order(&[&function, &behind, &reads, &begins, &ends], &[]);
        order(&[&function, &behind, &begins, &reads, &ends], &[]);
        order(&[&function, &behind, &begins, &ends, &reads], &[early]);
    }

    #[test]
    fn what_the_host_puts_in_may_come_behind_what_it_was_told() {
        let other = |operation, mode| {
            let accesses = Some(vec![Access::bytes(mode, BUFFER, 4)]);
            Call::Submit { operation, stream: 2, work: Work::Kernel { name: "k".to_owned(), accesses } }
        };
        let stream = Call::CreateStream { stream: 2, kind: StreamKind::NonBlocking };
        let order = |calls: &[&Call], expected: &[Rule]| {
            check(std::iter::once(&stream).chain(calls.iter().copied()).cloned().collect(), expected);
        };
        let before = kernel(1, &[(Mode::Write, BUFFER)]);
        let function = Call::Submit { operation: 2, stream: 1, work: Work::HostFunction { accesses: None } };
        let (begins, ends) = (Call::Begin { operation: 2 }, Call::Reach { operation: 2, accesses: vec![] });
        let (reads, race) = (other(3, Mode::Read), Rule::StreamRace);
        order(&[&before, &function, &begins, &ends, &reads], &[]);
        order(&[&before, &function, &begins, &reads, &ends], &[]);
        order(&[&before, &function, &reads, &begins, &ends], &[race]);
        // By a flag, where the host has looked at it.
        let work = Work::Kernel { name: "k".to_owned(), accesses: None };
        let tells = Call::Submit { operation: 2, stream: 1, work };
        let accesses = [Mode::Write, Mode::Signal].map(|mode| Access::bytes(mode, FLAG, 4)).to_vec();
        let (told, looks) = (Call::Reach { operation: 2, accesses }, host(Mode::Read, FLAG));
        order(&[&before, &tells, &looks, &reads, &told], &[]);
        order(&[&before, &tells, &reads, &looks, &told], &[race]);
    }

    #[test]
    fn who_has_not_looked_was_told_nothing_and_who_has_not_spoken_held_nothing_up() {
        let runs = |operation| {
            let work = Work::Kernel { name: "k".to_owned(), accesses: None };
            Call::Submit { operation, stream: 1, work }
        };
        let (buffer, far) = (0x10_000, 0x20_000);
        let ends = |operation, accesses: &[(Mode, u64)]| {
            let accesses = accesses.iter().map(|(mode, at)| Access::bytes(*mode, *at, 4)).collect();
            Call::Reach { operation, accesses }
        };
        let (tells, behind) = (runs(1), runs(2));
        let told = ends(1, &[(Mode::Write, buffer), (Mode::Write, FLAG), (Mode::Signal, FLAG)]);
        let wrote = ends(2, &[(Mode::Write, far)]);
        let (looks, speaks) = (host(Mode::Read, FLAG), host(Mode::Write, FLAG));
        let order = |calls: &[&Call], expected: &[Rule]| {
            check(calls.iter().map(|call| (*call).clone()).collect(), expected);
        };
        let early = Rule::HostReadBeforeSync;
        let reads = |at| host(Mode::Read, at);
        order(&[&tells, &reads(buffer), &told], &[early]);
        order(&[&tells, &looks, &reads(buffer), &told], &[]);
        // Whoever looked before does not know of it.
        order(&[&looks, &tells, &reads(buffer), &told], &[early]);
        order(&[&tells, &reads(buffer), &looks, &told], &[early]);
        // It may have waited for the host.
        order(&[&tells, &reads(buffer), &speaks, &told], &[]);
        order(&[&tells, &reads(buffer), &told, &speaks], &[early]);
        // What comes behind it as well.
        order(&[&tells, &behind, &reads(far), &speaks, &told, &wrote], &[]);
        order(&[&tells, &behind, &reads(far), &told, &wrote], &[early]);
        order(&[&tells, &behind, &looks, &reads(far), &told, &wrote], &[early]);
        // Not all was seen.
        order(&[&tells, &reads(buffer), &Call::AccessesUnseen, &told], &[]);
    }

    #[test]
    fn a_function_of_the_host_may_do_the_same() {
        let function =
            Call::Submit { operation: 2, stream: 1, work: Work::HostFunction { accesses: Some(Vec::new()) } };
        let before = kernel(1, &[(Mode::Write, BUFFER)]);
        check(vec![before, function, host(Mode::Read, BUFFER)], &[]);
    }
}
