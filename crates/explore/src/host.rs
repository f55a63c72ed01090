//! Host threads beside grids: what CUDA promises of a program that launches them.
//!
//! libcu++, «Execution model», «CUDA APIs» and «Dependencies»: a host thread makes progress; a device thread makes progress once a
//! thread of its cluster has; and a call of the CUDA API returns in the end or ensures that at least one device thread makes
//! progress, as queries do that are made again and again. Which one is not promised. A program is explored as one block: some of
//! its threads are the host's, the others those of grids.

use crate::progress::{ProgressGraph, Threads};

/// Who is who in a program of host threads and grids, by linear index of the thread.
#[derive(Debug, Clone, Default)]
pub struct HostProgram {
    /// Host threads.
    pub host: Vec<usize>,
    /// The threads of each cluster of the grids.
    pub clusters: Vec<Vec<usize>>,
}

fn bits(threads: &[usize]) -> Threads {
    threads.iter().filter(|&&thread| thread < 64).fold(0, |bits, &thread| bits | 1 << thread)
}

/// What is so somewhere in a component of states that lead to each other.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// Threads that take a step in it.
    stepping: Threads,
    /// Threads that can take none in some state of it.
    blocked: Threads,
    /// Threads that can take one in every state of it.
    live: Threads,
    started: Threads,
    /// A host thread calls the API again and again, or waits in a call.
    calls: bool,
}

impl ProgressGraph {
    /// Whether every execution of a program ends, as far as CUDA promises. Host threads that wait at a barrier wait in a call of the
    /// API; a step that reads the variable that [`ProgressGraph::build_with_calls`] was given is a call that returns at once.
    pub fn ends_with_host(&self, program: &HostProgram) -> bool {
        let host = bits(&program.host);
        let mut parts = vec![Part::default(); self.components()];
        for state in 0..self.states() {
            let view = self.view(state);
            if view.can == 0 && view.live != 0 && !view.stopped {
                return false;
            }
            let Some(part) = parts.get_mut(view.component) else { continue };
            part.stepping |= view.stays;
            part.blocked |= view.live & !view.can;
            (part.live, part.started) = (view.live, view.started);
            part.calls |= view.calls & view.stays & host != 0 || view.live & !view.can & host != 0;
        }
        let hangs = |part: &Part| {
            let clusters = program.clusters.iter().map(|cluster| bits(cluster));
            let begun = clusters.filter(|cluster| cluster & part.started != 0);
            let fair = part.live & begun.fold(host, |fair, cluster| fair | cluster);
            let fairly = fair & !(part.stepping | part.blocked) == 0;
            // Somebody on the device could take a step, and a call would see to it that somebody does.
            let device = part.live & !host;
            let breaks_promise = part.calls && part.stepping & device == 0 && device & !part.blocked != 0;
            part.stepping != 0 && fairly && !breaks_promise
        };
        !parts.iter().any(hangs)
    }
}
