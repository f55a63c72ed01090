//! How far a copy is when the call that asked for it returns.

use standstill_trace::{Copied, Memory};

/// What is done when the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Nothing: it was only submitted.
    Submitted,
    /// The source has been read, so that the host may write it again; the destination may not be there.
    SourceTaken,
    /// All of it.
    Done,
}

use Completion::{Done, SourceTaken, Submitted};
use Memory::{Device, Managed, Pageable, Pinned};

/// One row for each sentence of the CUDA Runtime API, «API synchronization behavior»: whether the call has `Async`
/// in its name, the kinds of memory, what is done when it returns.
type Row = (bool, &'static [Memory], &'static [Memory], Completion);

const HOST: &[Memory] = &[Pageable, Pinned];

const TABLE: &[Row] = &[
    // «Memcpy, synchronous»: from pageable memory it returns once the source is in staging memory; the transfer
    // to its final place may not be complete.
    (false, &[Pageable], &[Device], SourceTaken),
    // From pinned memory it is synchronous to the host.
    (false, &[Pinned], &[Device], Done),
    // From device memory to host memory, pageable or pinned, it returns once the copy is complete.
    (false, &[Device], HOST, Done),
    // From device memory to device memory the host does not wait.
    (false, &[Device], &[Device], Submitted),
    // From host memory to host memory it is synchronous to the host.
    (false, HOST, HOST, Done),
    // Managed memory may be the host's: the host may rely on the call being as synchronous as with pinned memory.
    (false, &[Managed], &[Device, Managed, Pageable, Pinned], Done),
    (false, &[Device, Pageable, Pinned], &[Managed], Done),
    // «Memcpy, asynchronous»: from device memory to pageable memory it returns once the copy is complete.
    (true, &[Device, Managed], &[Pageable], Done),
    // From host memory to host memory it is synchronous to the host.
    (true, HOST, HOST, Done),
    // From pageable memory the driver stages the source, as `cuMemcpyHtoDAsync` and its kin must: the source is
    // the caller's again when the call returns.
    (true, &[Pageable], &[Device, Managed], SourceTaken),
    // All others are asynchronous.
    (true, &[Pinned], &[Device, Managed], Submitted),
    (true, &[Device, Managed], &[Pinned, Device, Managed], Submitted),
];

/// How far a copy is when its call returns.
#[must_use]
pub fn completion(copied: Copied) -> Completion {
    let row = TABLE.iter().find(|(asynchronous, from, to, _)| {
        *asynchronous == copied.asynchronous && from.contains(&copied.from) && to.contains(&copied.to)
    });
    row.map_or(Submitted, |(.., completion)| *completion)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_memories_has_a_row() {
        let kinds = [Device, Pageable, Pinned, Managed];
        for asynchronous in [false, true] {
            for from in kinds {
                for to in kinds {
                    let found = TABLE
                        .iter()
                        .any(|(a, f, t, _)| *a == asynchronous && f.contains(&from) && t.contains(&to));
                    assert!(found, "{asynchronous} {from:?} {to:?}");
                }
            }
        }
    }

    #[test]
    fn each_sentence_gives_its_verdict() {
        let check = |asynchronous, from, to, expected| {
            assert_eq!(
                completion(Copied { asynchronous, from, to }),
                expected,
                "{asynchronous} {from:?} {to:?}"
            );
        };
        check(false, Pageable, Device, SourceTaken);
        check(false, Pinned, Device, Done);
        check(false, Device, Pageable, Done);
        check(false, Device, Pinned, Done);
        check(false, Device, Device, Submitted);
        check(false, Pageable, Pageable, Done);
        check(false, Device, Managed, Done);
        check(false, Pageable, Managed, Done);
        check(true, Managed, Device, Submitted);
        check(true, Device, Pageable, Done);
        check(true, Pinned, Pageable, Done);
        check(true, Pinned, Device, Submitted);
        check(true, Device, Pinned, Submitted);
        check(true, Device, Device, Submitted);
        check(true, Pageable, Device, SourceTaken);
    }
}
