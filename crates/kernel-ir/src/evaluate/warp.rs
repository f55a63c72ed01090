//! What operations across a warp give (PTX ISA, «shfl.sync», «vote.sync», «match.sync», «redux.sync»).
//!
//! Masks have one bit for each lane, lane 0 lowest.

use super::atomic::atomic;
use super::{extend, unsigned};
use crate::{AtomicOperation, ShuffleMode, Space, Type, VoteMode};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// The lane whose value a lane gets from `shfl`, and whether it is in range (the second destination).
/// `lane_operand` and `clamp` are the third and fourth operands.
#[inline]
pub fn shuffle_source(mode: ShuffleMode, lane: u32, lane_operand: u64, clamp: u64) -> (usize, bool) {
    let lane = lane & 31;
    let (by, limit, segment) = (lane_operand as u32 & 31, clamp as u32 & 31, (clamp >> 8) as u32 & 31);
    let most = (lane & segment) | (limit & !segment);
    let (source, in_range) = match mode {
        ShuffleMode::Up => (lane.wrapping_sub(by), lane as i32 - by as i32 >= most as i32),
        ShuffleMode::Down => (lane + by, lane + by <= most),
        ShuffleMode::Bfly => (lane ^ by, lane ^ by <= most),
        ShuffleMode::Idx => {
            let source = (lane & segment) | (by & !segment);
            (source, source <= most)
        }
    };
    (if in_range { source & 31 } else { lane } as usize, in_range)
}

/// `vote` over the lanes of `mask`, where `votes` has a bit for each lane whose predicate holds.
#[inline]
pub fn vote(mode: VoteMode, votes: u32, mask: u32) -> u64 {
    let votes = votes & mask;
    match mode {
        VoteMode::All => u64::from(votes == mask),
        VoteMode::Any => u64::from(votes != 0),
        VoteMode::Uni => u64::from(votes == mask || votes == 0),
        VoteMode::Ballot => votes.into(),
    }
}

/// `match.any`: for each lane of the mask those with its value; 0 for other lanes.
pub fn match_any(values: &[u64; LANES], bits: u32, mask: u32) -> [u64; LANES] {
    let mut result = [0; LANES];
    for ((found, &value), lane) in result.iter_mut().zip(values).zip(0u32..) {
        if mask >> lane & 1 == 1 {
            let equal = values.iter().zip(0u32..).filter(|&(&other, at)| {
                mask >> at & 1 == 1 && unsigned(other, bits) == unsigned(value, bits)
            });
            *found = equal.fold(0, |found, (_, at)| found | 1 << at);
        }
    }
    result
}

/// `match.all`: the mask and true when all lanes of it have the same value, else 0 and false.
pub fn match_all(values: &[u64; LANES], bits: u32, mask: u32) -> (u64, bool) {
    let mut those = values.iter().zip(0u32..).filter(|&(_, lane)| mask >> lane & 1 == 1);
    let first = those.next().map_or(0, |(&value, _)| unsigned(value, bits));
    let same = those.all(|(&value, _)| unsigned(value, bits) == first);
    (if same { mask.into() } else { 0 }, same)
}

/// `redux`: the lanes' values put together; `None` for an operation that it does not have.
pub fn reduce(operation: AtomicOperation, ty: Type, values: &[u64; LANES], mask: u32) -> Option<u64> {
    let mut those = values.iter().zip(0u32..).filter(|&(_, lane)| mask >> lane & 1 == 1);
    let (&first, _) = those.next()?;
    // Every one of these is a sum, a minimum, a maximum or a bit operation of integers.
    those.try_fold(extend(first, ty), |whole, (&value, _)| {
        atomic(operation, ty, Space::Shared, whole, value, 0).map(|value| extend(value, ty))
    })
}
