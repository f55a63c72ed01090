//! Operations that can order the host otherwise than by calls: kernels that access memory of the host by operations in
//! which the host can take part (a flag that one side sets and the other polls), and functions of the host, which can
//! do what threads of a program do.
//!
//! In which order that happens is not in the calls. So nothing is concluded across them: the host may know all that
//! comes before such an operation, and such an operation may wait for the host.

use rustc_hash::FxHashMap;

use crate::clock::{Clock, Strand};

/// What such operations may have said.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// What the host may have been told to be done.
    told: Clock,
    /// In each strand the first operation that may still wait for the host.
    waiting: FxHashMap<Strand, u64>,
}

impl Talk {
    /// Takes an operation that can order the host.
    pub(crate) fn add(&mut self, strand: Strand, index: u64, before: &Clock) {
        self.told.join(before);
        self.told.set(strand, index.max(self.told.get(strand)));
        self.waiting.entry(strand).or_insert(index);
    }

    /// What an access of the host may come behind, besides what the calls say.
    pub(crate) fn told(&self) -> &Clock {
        &self.told
    }

    /// Whether an operation with this before it may wait for the host.
    pub(crate) fn may_hold_up(&self, before: &Clock) -> bool {
        self.waiting.iter().any(|(strand, index)| before.get(*strand) >= *index)
    }

    /// Forgets operations that the host knows to be done.
    pub(crate) fn retire(&mut self, settled: &Clock) {
        if self.waiting.is_empty() {
            return;
        }
        let told = &self.told;
        self.waiting.retain(|strand, _| settled.get(*strand) < told.get(*strand));
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
    fn a_function_of_the_host_may_do_the_same() {
        let function =
            Call::Submit { operation: 2, stream: 1, work: Work::HostFunction { accesses: Some(Vec::new()) } };
        let before = kernel(1, &[(Mode::Write, BUFFER)]);
        check(vec![before, function, host(Mode::Read, BUFFER)], &[]);
    }
}
