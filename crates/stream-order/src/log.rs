//! What streams waited for and where events were recorded, to explain why that gave no order.

use std::collections::VecDeque;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use standstill_trace::{Operation, Site};

use crate::clock::{Clock, Strand};

/// Records and waits that are kept of each event and stream; explanations look no further back.
const KEPT: usize = 64;

/// A record of an event.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) operation: Operation,
    pub(crate) strand: Strand,
    pub(crate) index: u64,
    pub(crate) covers: Rc<Clock>,
    pub(crate) site: Site,
}

/// A wait of a stream for an event.
#[derive(Debug, Clone)]
pub(crate) struct Waited {
    pub(crate) operation: Operation,
    pub(crate) event: u64,
    /// The record that it meant.
    pub(crate) record: Option<Operation>,
    pub(crate) site: Site,
}

/// The most recent of both.
#[derive(Debug, Default)]
pub(crate) struct Log {
    records: FxHashMap<u64, VecDeque<Recorded>>,
    waits: FxHashMap<u64, VecDeque<Waited>>,
    /// Where events were recorded later that something waited for before.
    too_late: FxHashMap<u64, Vec<Strand>>,
}

fn push<T>(queue: &mut VecDeque<T>, value: T) {
    if queue.len() == KEPT {
        queue.pop_front();
    }
    queue.push_back(value);
}

impl Log {
    pub(crate) fn record(&mut self, event: u64, record: Recorded) {
        if let Some(strands) = self.too_late.get_mut(&event)
            && !strands.contains(&record.strand)
        {
            strands.push(record.strand);
        }
        push(self.records.entry(event).or_default(), record);
    }

    pub(crate) fn wait(&mut self, stream: u64, wait: Waited) {
        if wait.record.is_none() {
            self.too_late.entry(wait.event).or_default();
        }
        push(self.waits.entry(stream).or_default(), wait);
    }

    pub(crate) fn forget_stream(&mut self, stream: u64) {
        self.waits.remove(&stream);
    }

    pub(crate) fn forget_event(&mut self, event: u64) {
        self.records.remove(&event);
    }

    /// Whether an event that something waited for too early was meant for an operation of this strand: it was never
    /// recorded, or there among other places.
    pub(crate) fn may_mean(&self, event: u64, strand: Strand) -> bool {
        self.too_late.get(&event).is_none_or(|strands| strands.is_empty() || strands.contains(&strand))
    }

    /// Waits of a stream before an operation, the most recent first.
    pub(crate) fn waits(&self, stream: u64, before: Operation) -> impl Iterator<Item = &Waited> {
        let all = self.waits.get(&stream).into_iter().flatten().rev();
        all.filter(move |wait| wait.operation < before)
    }

    /// Records of an event before an operation, the most recent first.
    pub(crate) fn records(&self, event: u64, before: Operation) -> impl Iterator<Item = &Recorded> {
        let all = self.records.get(&event).into_iter().flatten().rev();
        all.filter(move |record| record.operation < before)
    }
}
