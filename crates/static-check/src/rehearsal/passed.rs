//! Whether a wait that does not end would have ended for a thread that looked in time.

use super::machine::{Machine, Status};
use super::memory::Place;
use super::value::Value;

/// Most steps in which a thread must be out of its loop.
const MAXIMUM_STEPS: u32 = 2000;

impl Machine<'_> {
    /// Whether a spinning thread would have gone on, had it looked while one of the places that it polls held what it
    /// held before.
    pub(crate) fn came_too_late(&self, thread: usize) -> bool {
        let Some(t) = self.threads.get(thread) else { return false };
        let places = t.reads.iter().map(|&(place, _)| place);
        places
            .flat_map(|place| self.memory.earlier(place).into_iter().map(move |value| (place, value)))
            .any(|(place, value)| self.goes_on_with(thread, place, value))
    }

    fn goes_on_with(&self, thread: usize, place: Place, value: Value) -> bool {
        let mut other = self.clone();
        other.memory.pretend(place, value);
        let Some(t) = other.threads.get_mut(thread) else { return false };
        let Some((header, _)) = t.lap else { return false };
        let Some(spin) = other.body.loops.innermost(header) else { return false };
        t.status = Status::Ready;
        for _ in 0..MAXIMUM_STEPS {
            if other.step(thread).is_err() {
                return true;
            }
            let Some(t) = other.threads.get(thread) else { return false };
            match t.status {
                Status::Spinning { .. } => return false,
                Status::Ready if !t.changed && other.body.loops.contains(spin, t.at) => {}
                _ => return true,
            }
        }
        true
    }
}
