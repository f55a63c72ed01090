//! Which runs there are: their orders and seeds, and the rehearsal before the first adversarial one.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use standstill_cuda_driver::Order;
use standstill_cuda_driver::journal::{FILE, Record, read};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScheduleChoice {
    /// Warps take turns
    RoundRobin,
    /// In a random order that the seed decides
    Random,
    /// By random priorities that change at a few random accesses
    Pct,
    /// At random, with threads held up just before or behind accesses where others meet them
    Adversarial,
}

impl ScheduleChoice {
    fn order(self) -> Order {
        match self {
            ScheduleChoice::RoundRobin => Order::RoundRobin,
            ScheduleChoice::Random => Order::Random,
            ScheduleChoice::Pct => Order::Pct,
            ScheduleChoice::Adversarial => Order::Adversarial,
        }
    }
}

/// Orders of the runs behind the first when none is named.
const OTHERS: [Order; 3] = [Order::Adversarial, Order::Random, Order::Pct];

/// One run of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Round {
    /// From 0; only the first one's output is shown.
    pub(super) number: u32,
    pub(super) order: Order,
    pub(super) seed: u64,
}

impl Round {
    /// To see where threads meet. Always the same, so that replays of adversarial runs see the same places.
    pub(super) const REHEARSAL: Round = Round { number: u32::MAX, order: Order::Rehearsal, seed: 0 };

    /// So many runs, with seeds from the first one up. Without a schedule threads take turns in the first, and the
    /// others try all kinds.
    pub(super) fn all(schedule: Option<ScheduleChoice>, seed: u64, runs: u32) -> impl Iterator<Item = Round> {
        let order = move |number: u32| match schedule {
            Some(schedule) => schedule.order(),
            None if number == 0 => Order::RoundRobin,
            None => OTHERS.get((number as usize - 1) % OTHERS.len()).copied().unwrap_or_default(),
        };
        let seed = move |number: u32| seed.wrapping_add(u64::from(number));
        (0..runs).map(move |number| Round { number, order: order(number), seed: seed(number) })
    }
}

/// Writes where threads met in a rehearsal to a file, whose path it gives.
pub(super) fn contended(journal: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(journal.join(FILE)).ok()?;
    let mut places: Vec<_> = read(&text)
        .into_iter()
        .filter_map(|record| match record {
            Record::Contended(places) => Some(places),
            _ => None,
        })
        .flatten()
        .collect();
    places.sort_unstable();
    places.dedup();
    let file = journal.join("contended.json");
    std::fs::write(&file, serde_json::to_vec(&places).ok()?).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_try_all_orders_unless_one_is_named() {
        let show = |schedule| -> Vec<String> {
            let rounds = Round::all(schedule, u64::MAX, 5);
            rounds.map(|round| format!("{} {}", round.order.name(), round.seed)).collect()
        };
        assert_eq!(
            show(None),
            [&format!("round-robin {}", u64::MAX), "adversarial 0", "random 1", "pct 2", "adversarial 3"]
        );
        assert!(show(Some(ScheduleChoice::Pct)).iter().all(|round| round.starts_with("pct ")));
    }
}
