//! The findings about memory order, in the words of CUDA C++.

use standstill_findings::{Finding, Known, Outcome, Platform, PlatformRow, Rule, Severity, Span};
use standstill_kernel_ir::{InstructionId, Op};

use super::flags::{Access, Kind, Poll};
use super::partial::LeftOut;
use super::paths::Way;
use crate::body::Base;
use crate::kernel::Kernel;

/// Makes findings.
pub(super) struct Report<'a> {
    pub(super) kernel: &'a Kernel<'a>,
}

impl Report<'_> {
    fn finding(&self, rule: Rule, message: String) -> Finding {
        let mut finding = Finding::new(rule, self.kernel.name, message);
        finding.platforms = PlatformRow::new(&[
            (Platform::Nvidia, Outcome::MayBeWrong),
            (Platform::NvidiaOld, Outcome::MayBeWrong),
            (Platform::Specification, Outcome::Undefined),
        ]);
        finding
    }

    fn name(&self, access: &Access) -> String {
        self.kernel.places.base_name(access.address.base)
    }

    fn cause(&self, finding: &mut Finding, at: InstructionId, label: String) {
        let span = self.kernel.places.cause(at, label);
        let same =
            |known: &Span| (&known.file, known.line, &known.label) == (&span.file, span.line, &span.label);
        if !finding.spans.iter().any(same) {
            finding.spans.push(span);
        }
    }

    /// What the verdict about a flag and its payload rests on.
    fn assume(&self, finding: &mut Finding, flag: &Access, payload: Option<&Access>, others: bool) {
        let pointers = |access: &Access| matches!(access.address.base, Base::Parameter(..));
        if let Some(payload) = payload
            && flag.address.base != payload.address.base
            && pointers(flag)
            && pointers(payload)
        {
            finding.assumes.push(format!("{} and {} do not overlap", self.name(flag), self.name(payload)));
        }
        if others && self.kernel.launch.grid.is_none() {
            finding.assumes.push("the grid has more than one block".into());
        }
    }

    fn fence(others: bool) -> &'static str {
        if others { "__threadfence()" } else { "__threadfence_block()" }
    }

    fn scope(others: bool) -> &'static str {
        if others { "cuda::thread_scope_device" } else { "cuda::thread_scope_block" }
    }

    /// A flag written with nothing between it and the payload before it.
    pub(super) fn missing_release(
        &self,
        poll: &Poll,
        writer: &Access,
        store: &Access,
        load: &Access,
        others: bool,
        found: &mut Vec<Finding>,
    ) {
        let lock = matches!(poll.kind, Kind::Lock { .. });
        let flag = self.name(writer);
        let message = if lock {
            "a lock is given back without a release: what was stored under it may become visible later"
                .to_string()
        } else {
            format!(
                "{flag} is published without a release: the payload stored before it may become visible later"
            )
        };
        let mut finding = self.finding(Rule::MissingRelease, message);
        let what = if lock { "the lock is given back here" } else { "the flag is written here" };
        finding.spans.push(self.kernel.places.primary(writer.at, format!("{what}, without a release")));
        self.cause(&mut finding, store.at, "nothing orders this store before it".into());
        self.cause(&mut finding, poll.access.at, "another thread waits for it here".into());
        self.cause(&mut finding, load.at, "and then reads what was stored".into());
        finding.notes.push(RELAXED.into());
        finding.help = format!(
            "put `{}` between the payload's stores and the write of the flag, or write the flag with \
             `cuda::memory_order_release` at `{}`",
            Self::fence(others),
            Self::scope(others)
        );
        self.assume(&mut finding, writer, Some(store), others);
        found.push(finding);
    }

    /// A flag written with a fence before it on some ways only.
    pub(super) fn fence_left_out(
        &self,
        poll: &Poll,
        writer: &Access,
        store: &Access,
        load: &Access,
        left_out: &LeftOut,
        found: &mut Vec<Finding>,
    ) {
        self.missing_release(poll, writer, store, load, true, found);
        let Some(finding) = found.last_mut() else { return };
        let places = self.kernel.places;
        finding.spans.push(places.cause(left_out.fence, "the fence is here, but not all come to it"));
        finding.spans.push(places.branch(left_out.branch, "this condition leaves the fence out"));
        if !left_out.proved {
            let line = finding.spans.last().map_or(0, |span| span.line);
            finding.known = Known::Possible {
                reason: format!("it depends on the condition on line {line} whether the fence is left out"),
            };
            finding.severity = Severity::Warning;
        }
    }

    /// A flag that one thread writes or waits for, on behalf of others that it does not meet.
    pub(super) fn leader_alone(
        &self,
        poll: &Poll,
        writer: &Access,
        store: &Access,
        load: &Access,
        way: Way,
        found: &mut Vec<Finding>,
    ) {
        let flag = self.name(writer);
        let places = self.kernel.places;
        let mut finding = match way {
            Way::Release => {
                let mut finding = self.finding(
                    Rule::MissingRelease,
                    format!("{flag} is published for all threads of the block by one that does not wait for the others"),
                );
                finding.spans.push(places.primary(writer.at, "one thread writes the flag here"));
                self.cause(&mut finding, store.at, "every thread stores its part of the payload here".into());
                self.cause(&mut finding, poll.access.at, "another block waits for the flag here".into());
                self.cause(&mut finding, load.at, "and then reads what was stored".into());
                finding.help =
                    "put `__syncthreads()` between the stores and the fence before the flag".into();
                finding
            }
            Way::Acquire => {
                let mut finding = self.finding(
                    Rule::MissingAcquire,
                    format!("{flag} is waited for by one thread, and the others read the payload without waiting for it"),
                );
                finding.spans.push(places.primary(poll.access.at, "one thread waits for the flag here"));
                self.cause(&mut finding, load.at, "every thread reads its part of the payload here".into());
                self.cause(&mut finding, store.at, "another block stores the payload here".into());
                self.cause(&mut finding, writer.at, "and then writes the flag".into());
                finding.help = "put `__syncthreads()` between the wait and the loads".into();
                finding
            }
        };
        finding.notes.push(
            "a fence orders what the thread that executes it did itself, or has seen through a barrier; it does not \
             wait for other threads"
                .into(),
        );
        self.assume(&mut finding, writer, Some(store), true);
        found.push(finding);
    }

    /// A flag written first and its payload after it.
    pub(super) fn flag_first(
        &self,
        poll: &Poll,
        writer: &Access,
        store: &Access,
        load: &Access,
        found: &mut Vec<Finding>,
    ) {
        let flag = self.name(writer);
        let mut finding = self.finding(
            Rule::MissingRelease,
            format!("{flag} is published before its payload is stored: its reader may come too early"),
        );
        finding.spans.push(self.kernel.places.primary(writer.at, "the flag is written here"));
        self.cause(&mut finding, store.at, "its payload is stored only after it".into());
        self.cause(&mut finding, poll.access.at, "another block waits for the flag here".into());
        self.cause(&mut finding, load.at, "and then reads the payload".into());
        finding
            .notes
            .push("a fence behind the flag orders nothing that the flag's reader can rely on".into());
        finding.help = "store the payload first, then `__threadfence()`, then write the flag".into();
        self.assume(&mut finding, writer, Some(store), true);
        found.push(finding);
    }

    /// A counter raised with nothing between it and the payload before it.
    pub(super) fn unfenced_counter(
        &self,
        counter: &Access,
        store: &Access,
        load: &Access,
        found: &mut Vec<Finding>,
    ) {
        let name = self.name(counter);
        let mut finding = self.finding(
            Rule::MissingRelease,
            format!(
                "the counter in {name} is raised without a release: the last block may read results that are \
                 not there yet"
            ),
        );
        finding
            .spans
            .push(self.kernel.places.primary(counter.at, "the counter is raised here, without a release"));
        self.cause(&mut finding, store.at, "nothing orders this store before it".into());
        self.cause(&mut finding, load.at, "whoever comes last reads the others' results here".into());
        finding.notes.push(RELAXED.into());
        finding.help =
            "put `__threadfence()` between the store and the atomic that raises the counter".into();
        self.assume(&mut finding, counter, Some(store), true);
        found.push(finding);
    }

    /// A counter that shows who comes last, with nothing between it and the loads of the last one.
    pub(super) fn unfenced_last(
        &self,
        counter: &Access,
        store: &Access,
        load: &Access,
        found: &mut Vec<Finding>,
    ) {
        let name = self.name(counter);
        let mut finding = self.finding(
            Rule::MissingAcquire,
            format!(
                "the counter in {name} shows who comes last without an acquire: the last block may read results \
                 too early"
            ),
        );
        let place = self.kernel.places.primary(counter.at, "the counter is raised here, without an acquire");
        finding.spans.push(place);
        self.cause(&mut finding, load.at, "nothing orders this load behind it".into());
        self.cause(&mut finding, store.at, "the other blocks store their results here".into());
        finding.notes.push(RELAXED.into());
        finding.help =
            "put `__threadfence()` behind the atomic, in the thread that raises the counter and before the barrier"
                .into();
        self.assume(&mut finding, counter, Some(store), true);
        found.push(finding);
    }

    /// A payload read with nothing between it and the wait before it.
    pub(super) fn missing_acquire(
        &self,
        poll: &Poll,
        writer: &Access,
        store: &Access,
        load: &Access,
        others: bool,
        found: &mut Vec<Finding>,
    ) {
        let lock = matches!(poll.kind, Kind::Lock { .. });
        let flag = self.name(&poll.access);
        let message = if lock {
            "a lock is taken without an acquire: what it protects may be read too early".to_string()
        } else {
            format!("{flag} is read without an acquire: the payload behind it may be read too early")
        };
        let mut finding = self.finding(Rule::MissingAcquire, message);
        let what = if lock { "the lock is taken here" } else { "the flag is polled here" };
        finding.spans.push(self.kernel.places.primary(poll.access.at, format!("{what}, without an acquire")));
        self.cause(&mut finding, load.at, "nothing orders this load behind it".into());
        self.cause(&mut finding, store.at, "another thread stores the payload here".into());
        self.cause(&mut finding, writer.at, "and then writes the flag".into());
        finding.notes.push(RELAXED.into());
        finding.help = format!(
            "put `{}` behind the loop, in the thread that polls and before the payload's loads, or poll with \
             `cuda::memory_order_acquire` at `{}`",
            Self::fence(others),
            Self::scope(others)
        );
        self.assume(&mut finding, &poll.access, Some(load), others);
        found.push(finding);
    }

    /// A fence of block scope where the other side is in another block.
    #[allow(clippy::too_many_arguments, reason = "each is a place of the finding")]
    pub(super) fn narrow_fence(
        &self,
        fence: InstructionId,
        writer: &Access,
        reader: &Access,
        store: &Access,
        load: &Access,
        way: Way,
        found: &mut Vec<Finding>,
    ) {
        let is_fence = matches!(self.kernel.body.instruction(fence).map(|i| i.op), Some(Op::Fence { .. }));
        let what = if is_fence { "a fence" } else { "an operation" };
        let mut finding = self.finding(
            Rule::ScopeTooNarrow,
            format!("{what} of block scope orders what another block relies on"),
        );
        finding.spans.push(self.kernel.places.primary(fence, "orders for the threads of this block only"));
        match way {
            Way::Release => {
                self.cause(&mut finding, store.at, "the payload is stored here".into());
                self.cause(&mut finding, writer.at, "the flag that another block reads".into());
            }
            Way::Acquire => {
                self.cause(&mut finding, reader.at, "the flag that another block writes".into());
                self.cause(&mut finding, load.at, "the payload is read here".into());
            }
        }
        finding.help = "use `__threadfence()`, or a fence of `cuda::thread_scope_device`".into();
        self.assume(&mut finding, writer, Some(store), true);
        found.push(finding);
    }

    /// An operation of block scope on a location of several blocks.
    pub(super) fn narrow(&self, narrow: &Access, other: &Access, found: &mut Vec<Finding>) {
        let name = self.name(narrow);
        let mut finding = self.finding(
            Rule::ScopeTooNarrow,
            format!("an operation of block scope on {name}, which other blocks use, too"),
        );
        finding.spans.push(
            self.kernel.places.primary(narrow.at, "atomic and ordered for the threads of this block only"),
        );
        if narrow.at != other.at {
            self.cause(&mut finding, other.at, "another block comes to the same location here".into());
        }
        finding.help = "use `cuda::thread_scope_device`, or the atomic function without `_block`".into();
        self.assume(&mut finding, narrow, None, true);
        found.push(finding);
    }
}

/// Why an atomic is not enough.
const RELAXED: &str = "volatile accesses and atomics without a memory order are relaxed: they order no other \
                       location (PTX ISA, «Memory Consistency Model»)";
