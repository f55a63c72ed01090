//! Work that is shared among threads.

use std::thread::{Builder, scope};

/// What `work` gives for each number below `count`, in their order, each on a thread of its own. Where none can be had, this one does it.
pub(crate) fn share<R: Send>(count: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    if count <= 1 {
        return (0..count).map(work).collect();
    }
    scope(|scope| {
        let work = &work;
        let start = |at| (at, Builder::new().spawn_scoped(scope, move || work(at)));
        let running: Vec<_> = (1..count).map(start).collect();
        let mut results = vec![work(0)];
        for (at, thread) in running {
            let result = thread.ok().and_then(|thread| thread.join().ok());
            results.push(result.unwrap_or_else(|| work(at)));
        }
        results
    })
}
