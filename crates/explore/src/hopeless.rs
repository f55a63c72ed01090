//! States from which no execution ends.

use crate::graph::{Graph, NONE, StateId};
use crate::search::{Limits, Search, expand};
use crate::share::share;
use crate::system::System;

/// The states that follow each state, one behind the other.
struct Edges {
    targets: Vec<StateId>,
    /// How many each state has.
    counts: Vec<u16>,
}

/// Bytes that finding them takes, for so many states and steps.
pub(crate) fn room_for(states: usize, steps: u64) -> usize {
    (steps as usize).saturating_mul(size_of::<StateId>()) + states * (size_of::<u16>() + size_of::<bool>())
}

/// Finds the states that follow each state once more, which is cheaper than to keep them during the search.
fn edges(system: &mut System<'_>, graph: &Graph, steps: u64, limits: Limits) -> Edges {
    let mut edges = Edges { targets: Vec::with_capacity(steps as usize), counts: vec![0; graph.len()] };
    let chunk = limits.chunk(system, graph);
    for first in (0..graph.len()).step_by(chunk) {
        let end = graph.len().min(first + chunk);
        let batch = expand(system, graph, first as StateId..end as StateId, limits);
        let found = share(batch.parts.len(), |at| {
            batch.parts.get(at).map_or(Vec::new(), |part| graph.find_all(part))
        });
        for (part, found) in batch.parts.iter().zip(&found) {
            for (at, &id) in (0u32..).zip(found) {
                if id != NONE
                    && let Some(count) = edges.counts.get_mut(part.parent(at) as usize)
                {
                    *count = count.saturating_add(1);
                    edges.targets.push(id);
                }
            }
        }
    }
    edges
}

/// The first state, in the order of the search, from which no execution ends.
pub(crate) fn hopeless(system: &mut System<'_>, found: &Search, limits: Limits) -> Option<StateId> {
    let edges = edges(system, &found.graph, found.transitions, limits);
    let mut ends = vec![false; found.graph.len()];
    for &state in &found.ends {
        if let Some(slot) = ends.get_mut(state as usize) {
            *slot = true;
        }
    }
    // To and fro, until nothing is added: steps lead both to states that were met later and to ones met before.
    loop {
        let forth = pass(&edges, &mut ends, true);
        let back = pass(&edges, &mut ends, false);
        if !forth && !back {
            return ends.iter().position(|&ends| !ends).map(|id| id as StateId);
        }
    }
}

/// Marks the states that a step leads from to one that is marked; says whether there were any.
fn pass(edges: &Edges, ends: &mut [bool], forth: bool) -> bool {
    let mut changed = false;
    let mut at = if forth { 0 } else { edges.targets.len() };
    let mut visit = |id: usize| {
        let count = usize::from(edges.counts.get(id).copied().unwrap_or(0));
        let targets = if forth { at..at + count } else { at - count..at };
        at = if forth { targets.end } else { targets.start };
        if ends.get(id) == Some(&false) {
            let targets = edges.targets.get(targets).unwrap_or(&[]);
            let found = targets.iter().any(|&to| ends.get(to as usize) == Some(&true));
            if let Some(slot) = ends.get_mut(id) {
                *slot = found;
            }
            changed |= found;
        }
    };
    if forth {
        (0..edges.counts.len()).for_each(&mut visit)
    } else {
        (0..edges.counts.len()).rev().for_each(&mut visit)
    }
    changed
}
