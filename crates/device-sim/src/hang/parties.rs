//! Waiters that wait in the same way, put together, so that a report names them once.

use standstill_findings::ThreadRanges;

use super::waiters::{Waiter, Why};

/// Waits of threads of one block at one place, put together.
#[derive(Debug, Clone)]
pub(super) struct Party {
    pub(super) block: u32,
    pub(super) threads: ThreadRanges,
    /// Blocks in which threads wait in the same way; the first is `block`.
    pub(super) blocks: Vec<u32>,
    /// The waiters behind it.
    pub(super) members: Vec<usize>,
    pub(super) first: Waiter,
}

impl Party {
    pub(super) fn who(&self) -> String {
        match self.blocks.len() {
            0 | 1 => format!("{} of block {}", self.threads.with_noun("thread"), self.block),
            _ => {
                let blocks = ThreadRanges::from_members(self.blocks.iter().copied()).with_noun("block");
                format!("{} of {blocks}", self.threads.with_noun("thread"))
            }
        }
    }

    fn one(&self) -> bool {
        self.threads.len() == 1 && self.blocks.len() <= 1
    }
}

fn same_wait(one: &Waiter, other: &Waiter) -> bool {
    std::mem::discriminant(&one.why) == std::mem::discriminant(&other.why)
        && one.place == other.place
        && one.at == other.at
}

/// Puts waiters together that wait in the same way: of one block, then blocks with the same threads.
pub(super) fn parties(waiters: &[Waiter]) -> Vec<Party> {
    let mut parties: Vec<(Party, Vec<u32>)> = Vec::new();
    for (waiter, index) in waiters.iter().zip(0..) {
        let known = parties
            .iter_mut()
            .rev()
            .take(64)
            .find(|(party, _)| party.block == waiter.block && same_wait(&party.first, waiter));
        match known {
            Some((party, threads)) => {
                party.members.push(index);
                threads.extend(&waiter.threads);
            }
            None => parties.push((
                Party {
                    block: waiter.block,
                    threads: ThreadRanges::default(),
                    blocks: vec![waiter.block],
                    members: vec![index],
                    first: waiter.clone(),
                },
                waiter.threads.clone(),
            )),
        }
    }
    let mut joined: Vec<Party> = Vec::new();
    for (mut party, threads) in parties {
        party.threads = ThreadRanges::from_members(threads);
        let address = |waiter: &Waiter| match &waiter.why {
            Why::Memory { reads, .. } => reads.first().map(|read| read.address),
            _ => None,
        };
        let known = joined.iter_mut().find(|other| {
            other.threads == party.threads
                && same_wait(&other.first, &party.first)
                && address(&other.first) == address(&party.first)
        });
        match known {
            Some(other) => {
                other.blocks.push(party.block);
                other.members.extend(party.members);
            }
            None => joined.push(party),
        }
    }
    joined
}

/// The verb for one thread or several.
pub(super) fn verb(party: &Party, plural: &str) -> String {
    if party.one() { format!("{plural}s") } else { plural.to_owned() }
}
