//! What calls of the host do wrong with memory: it is freed twice, copied beyond its end, used when it is gone, or
//! never given back.

use std::collections::BTreeMap;

use standstill_cuda_driver::{CallSite, Mention, Status};
use standstill_findings::{Finding, Known, Outcome, PlatformRow, Rule, Severity};

use crate::address_space::{Allocation, Kind};
use crate::runtime::runtime;

/// A fault of this very call.
fn fault(rule: Rule, message: String, label: &str, others: &[Mention]) {
    let mut finding = Finding::new(rule, "", message);
    finding.known = Known::Observed;
    finding.platforms = PlatformRow::everywhere(Outcome::WrongResult);
    let mut mentions = vec![Mention::primary(label, CallSite::here())];
    mentions.extend_from_slice(others);
    runtime().report(finding, &mentions);
}

/// A copy or fill that begins in a range and ends outside of it.
pub fn beyond_end(range: Allocation, address: u64, bytes: u64) {
    let left = range.bytes.saturating_sub(address - range.address);
    let message = format!(
        "{bytes} bytes are copied or set, but only {left} are left of the allocation ({} bytes)",
        range.bytes
    );
    let allocated = Mention::new("it was allocated here", range.site);
    fault(Rule::OutOfBounds, message, "this call is refused with an error", &[allocated]);
}

/// A copy or fill of memory that was freed.
pub fn freed(address: u64) {
    let Some((range, by)) = runtime().addresses.lock().freed(address) else { return };
    let message = format!("a copy or fill of memory that was freed ({} bytes)", range.bytes);
    fault(Rule::UseAfterFree, message, "this call is refused with an error", &history(range, by));
}

fn history(range: Allocation, by: CallSite) -> [Mention; 2] {
    [Mention::new("it was freed here", by), Mention::new("it was allocated here", range.site)]
}

/// A call that frees what it cannot; gives the program's error.
pub fn wrong_free(address: u64, call: &str) -> Status {
    let (inside, before) = {
        let addresses = runtime().addresses.lock();
        (addresses.find(address), addresses.freed(address))
    };
    match (inside, before) {
        (Some(range), _) if range.address == address => {
            let (made, right) = match range.kind {
                Kind::Pinned(_) => ("pinned", "cudaFreeHost"),
                Kind::Registered(_) => ("registered", "cudaHostUnregister"),
                _ => ("device", "cudaFree"),
            };
            runtime().tell(format!("{call} does not free {made} memory; {right} does"));
        }
        (Some(range), _) => runtime().tell(format!(
            "{call} of an address {} bytes into an allocation of {} bytes; only its first address frees it",
            address - range.address,
            range.bytes
        )),
        (None, Some((range, by))) => {
            let message = format!("memory is freed twice ({} bytes)", range.bytes);
            fault(Rule::UseAfterFree, message, "freed for the second time here", &history(range, by));
        }
        (None, None) => runtime().tell(format!("{call} of {address:#x}, which CUDA did not allocate")),
    }
    Status::InvalidValue
}

/// What the program has not given back, by the call that it came from.
pub fn leaks() {
    let mut by_site: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for range in runtime().addresses.lock().all() {
        // Managed variables come from no call, and registered memory is the program's own.
        let own = matches!(range.kind, Kind::Registered(_) | Kind::Graph { given_back: true });
        if range.site != CallSite::default() && !own {
            let (count, bytes) = by_site.entry(range.site.number()).or_default();
            *count += 1;
            *bytes += range.bytes;
        }
    }
    for (site, (count, bytes)) in by_site {
        let message = match count {
            1 => format!("{bytes} bytes are still allocated when the program ends"),
            _ => format!("{count} allocations, {bytes} bytes together, are left when the program ends"),
        };
        let mut finding = Finding::new(Rule::Leak, "", message);
        finding.severity = Severity::Note;
        finding.known = Known::Observed;
        runtime().report(finding, &[Mention::primary("allocated here", CallSite::from_number(site))]);
    }
}
