//! Whether the driver works on a dump, by the time that the processor gave the threads of its process. On a busy machine
//! it can take long without a byte; a clock alone would take that for silence.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

use crate::process::{parse_stat, read_text};

/// How much the threads of a process have worked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadTimes {
    at: Instant,
    /// Time that each ran or was ready to run.
    times: HashMap<i32, Duration>,
}

/// A thread that ran, or was ready to run, through more than a twentieth of a time worked.
const WORKED: u32 = 20;
/// Through more than half of it: it works all along. Taking its stack makes every thread run for a moment.
const POLLED: u32 = 2;

impl ThreadTimes {
    /// The threads of a process now.
    #[must_use]
    pub fn of(pid: i32) -> ThreadTimes {
        let at = Instant::now();
        let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let times = numbers.filter_map(|tid| Some((tid, time(pid, tid)?))).collect();
        ThreadTimes { at, times }
    }

    /// The threads that have worked through more than a `part`-th of the time since `before`.
    fn busy_since(&self, before: &ThreadTimes, part: u32) -> HashSet<i32> {
        let least = self.at.saturating_duration_since(before.at) / part;
        let worked = |(tid, time): (&i32, &Duration)| {
            let before = before.times.get(tid).copied().unwrap_or_default();
            (time.saturating_sub(before) > least).then_some(*tid)
        };
        self.times.iter().filter_map(worked).collect()
    }
}

/// `RAN WAITED SLICES`, the first two in nanoseconds (proc(5), `/proc/pid/schedstat`); kernels without it know the ticks
/// that a thread ran.
fn time(pid: i32, tid: i32) -> Option<Duration> {
    let folder = format!("/proc/{pid}/task/{tid}");
    let numbers = |text: &str| -> Vec<u64> {
        text.split_ascii_whitespace().map(|word| word.parse().unwrap_or(0)).collect()
    };
    if let Some(text) = read_text(&format!("{folder}/schedstat"))
        && let [ran, waited, ..] = numbers(&text).as_slice()
    {
        return Some(Duration::from_nanos(ran.saturating_add(*waited)));
    }
    /// Ticks are hundredths of a second for programs (`USER_HZ`).
    const TICK: u64 = 10;
    let text = read_text(&format!("{folder}/stat"))?;
    let (_, tail) = text.rsplit_once(')')?;
    let fields = numbers(tail);
    let (user, system) = (fields.get(11)?, fields.get(12)?);
    Some(Duration::from_millis((user + system).saturating_mul(TICK)))
}

/// The work of one process on its dump.
#[derive(Debug)]
pub(super) struct Activity {
    /// Threads that were at work before.
    others: HashSet<i32>,
    last: ThreadTimes,
}

impl Activity {
    pub(super) fn new(pid: i32, before: &ThreadTimes) -> Activity {
        let last = ThreadTimes::of(pid);
        Activity { others: last.busy_since(before, POLLED), last }
    }

    /// Whether a thread has worked since this was last asked, or stands in a call that no signal interrupts, as calls
    /// of the driver into the kernel do.
    pub(super) fn works(&mut self, pid: i32) -> bool {
        let now = ThreadTimes::of(pid);
        let worked = now.busy_since(&self.last, WORKED).difference(&self.others).next().is_some();
        self.last = now;
        let held = |tid: &i32| {
            let stat = read_text(&format!("/proc/{pid}/task/{tid}/stat"));
            stat.and_then(|text| parse_stat(&text)).is_some_and(|thread| thread.state == 'D')
        };
        worked || self.last.times.keys().filter(|tid| !self.others.contains(tid)).any(held)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_thread_that_works_is_told_from_one_that_worked_all_along() {
        let own = std::process::id() as i32;
        let end = AtomicBool::new(false);
        let spin = || {
            while !end.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        let pause = || std::thread::sleep(Duration::from_millis(150));
        std::thread::scope(|scope| {
            scope.spawn(spin);
            let before = ThreadTimes::of(own);
            pause();
            let mut activity = Activity::new(own, &before);
            assert!(!activity.others.is_empty());
            scope.spawn(spin);
            pause();
            assert!(activity.works(own));
            end.store(true, Ordering::Relaxed);
        });
        assert_eq!(time(own, -1), None);
    }
}
