//! Faults of kernels as the program and the user see them.

use std::collections::VecDeque;

use standstill_device_sim::{Beside, Fault, FaultKind};
use standstill_findings::{Finding, Known, Outcome, PlatformRow, Rule, Span};

use crate::backend::{Failure, Mention};
use crate::call_site::CallSite;
use crate::status::Status;

/// Memory that was freed lately.
#[derive(Debug, Default)]
pub(crate) struct Freed(VecDeque<FreedMemory>);

/// An allocation that is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FreedMemory {
    /// Its first address.
    pub(crate) address: u64,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// Where it was allocated.
    pub(crate) allocated: CallSite,
    /// Where it was freed.
    pub(crate) freed: CallSite,
}

/// So many of them are remembered.
const REMEMBERED: usize = 4096;
/// An allocation further away than this is not shown for an address.
const NEARBY: u64 = 1 << 20;

impl Freed {
    pub(crate) fn add(&mut self, freed: FreedMemory) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(freed);
    }

    /// The freed allocation that held the address last.
    pub(crate) fn find(&self, address: u64) -> Option<FreedMemory> {
        let holds = |freed: &&FreedMemory| {
            (freed.address..freed.address.saturating_add(freed.bytes)).contains(&address)
        };
        self.0.iter().rev().find(holds).copied()
    }
}

/// A fault as the program and the user see it.
pub(crate) fn failure(fault: &Fault, replay: &str, freed: &Freed) -> Failure {
    let (status, rule) = match &fault.kind {
        FaultKind::OutOfBounds { address, .. } if freed.find(*address).is_some() => {
            (Status::IllegalAddress, Some(Rule::UseAfterFree))
        }
        FaultKind::OutOfBounds { .. } => (Status::IllegalAddress, Some(Rule::OutOfBounds)),
        FaultKind::Misaligned { .. } => (Status::MisalignedAddress, Some(Rule::Misaligned)),
        FaultKind::Trap => (Status::LaunchFailure, Some(Rule::FailedAssertion)),
        FaultKind::Assertion { .. } => (Status::Assert, Some(Rule::FailedAssertion)),
        FaultKind::InvalidCall(_) => (Status::LaunchFailure, None),
        FaultKind::IllegalInstruction(_) => (Status::IllegalInstruction, None),
        FaultKind::StackOverflow => (Status::HardwareStackError, None),
        FaultKind::NotSupported(_) => (Status::NotSupported, None),
    };
    if let FaultKind::Assertion { .. } = &fault.kind {
        say_assertion(fault);
    }
    Failure {
        finding: rule.map(|rule| finding(fault, rule, replay, freed)),
        mentions: mentions(fault, freed),
        ..Failure::told(status, format!("kernel {} was stopped: {fault}", fault.kernel))
    }
}

/// The calls of the host that made, and freed, the memory that a fault is about.
fn mentions(fault: &Fault, freed: &Freed) -> Vec<Mention> {
    let FaultKind::OutOfBounds { address, nearest, .. } = &fault.kind else { return Vec::new() };
    if let Some(gone) = freed.find(*address) {
        return vec![
            Mention::new("it was freed here", gone.freed),
            Mention::new("it was allocated here", gone.allocated),
        ];
    }
    let allocated = |beside: &Beside| CallSite::from_number(beside.mark);
    let beside = nearest.as_ref().filter(|beside| beside.distance(*address) < NEARBY).map(allocated);
    beside.map(|site| Mention::new("the nearest memory was allocated here", site)).into_iter().collect()
}

/// The words of a failed assertion as CUDA prints them (CUDA C++ Programming Guide, «Assertion»).
fn say_assertion(fault: &Fault) {
    use std::io::Write;
    if let FaultKind::Assertion { message, file, line, function } = &fault.kind {
        let ([bx, by, bz], [tx, ty, tz]) = (fault.block, fault.thread);
        let _ = writeln!(
            std::io::stderr(),
            "{file}:{line}: {function}: block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] \
             Assertion `{message}` failed."
        );
    }
}

fn finding(fault: &Fault, rule: Rule, replay: &str, freed: &Freed) -> Finding {
    let ([bx, by, bz], [tx, ty, tz]) = (fault.block, fault.thread);
    let who = format!("thread ({tx},{ty},{tz}) of block ({bx},{by},{bz})");
    let what = match &fault.kind {
        FaultKind::OutOfBounds { bytes, write, space, .. } if rule == Rule::UseAfterFree => {
            let verb = if *write { "write" } else { "read" };
            format!("{verb} of {bytes} bytes of {space} memory that was freed")
        }
        kind => kind.to_string(),
    };
    let mut finding = Finding::new(rule, fault.kernel.clone(), format!("{what} by {who}"));
    finding.known = Known::Observed;
    finding.platforms = PlatformRow::everywhere(Outcome::WrongResult);
    finding.replay = Some(replay.to_owned());
    if let FaultKind::OutOfBounds { address, .. } = &fault.kind {
        finding.notes.extend(about_address(*address, freed));
    }
    finding.notes.push("the launch ends here, and the program is told so by every later call".to_owned());
    let place = &fault.place;
    let label = if rule == Rule::FailedAssertion { "it stops here" } else { "this access" };
    let mut span = Span::primary(place.file.clone(), place.line, place.column, label);
    span.inlined_at.clone_from(&place.inlined_at);
    finding.spans.push(span);
    finding
}

/// Null pointers reach a little way into the first page.
const FIRST_PAGE: u64 = 4096;

/// What is known of an address that is no device memory.
fn about_address(address: u64, freed: &Freed) -> Option<String> {
    if address < FIRST_PAGE {
        return Some("the pointer is null".to_owned());
    }
    if let Some(FreedMemory { address: start, bytes, .. }) = freed.find(address) {
        let into = address - start;
        return Some(format!("the address is {into} bytes into an allocation that had {bytes} bytes"));
    }
    let host = crate::host::is_own_memory(address);
    host.then(|| {
        "the address is ordinary memory of the host, which a kernel does not reach: \
         copy it to the device, or allocate it with `cudaMallocManaged` or `cudaHostAlloc`"
            .to_owned()
    })
}
