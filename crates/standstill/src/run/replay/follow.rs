//! Following a schedule: which thread runs next, and whether each access reads and writes what it is to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use standstill_device_sim::{Choice, Device, Interleaving};

use super::file::{SavedStep, ScheduleFile};

/// Operations of all threads between two accesses of the schedule.
const MOST_BETWEEN: u64 = 500_000;

/// How far the schedule was followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Followed {
    /// Accesses that went as the schedule says.
    pub(super) steps: usize,
    /// What went otherwise.
    pub(super) other: Option<String>,
}

/// Chooses threads by a schedule.
///
/// A thread runs ahead up to its next access in the schedule, or to where it stands at the end; accesses are then made one by
/// one, each when its turn has come.
pub(super) struct Follower {
    steps: Vec<SavedStep>,
    /// The steps of each thread that are still to come, the last first.
    left: HashMap<(u32, u32), Vec<usize>>,
    stands: HashMap<(u32, u32), u32>,
    /// The step that comes next.
    next: usize,
    /// The step that is being made.
    now: Option<usize>,
    /// Operations since the last step.
    between: u64,
    device: Arc<Device>,
    followed: Arc<Mutex<Followed>>,
}

impl Follower {
    pub(super) fn new(file: &ScheduleFile, device: Arc<Device>) -> (Follower, Arc<Mutex<Followed>>) {
        let mut left: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
        for (index, step) in file.steps.iter().enumerate().rev() {
            left.entry((step.block, step.thread)).or_default().push(index);
        }
        let followed = Arc::<Mutex<Followed>>::default();
        let follower = Follower {
            steps: file.steps.clone(),
            left,
            stands: file.stands.iter().map(|stand| ((stand.block, stand.thread), stand.offset)).collect(),
            next: 0,
            now: None,
            between: 0,
            device,
            followed: Arc::clone(&followed),
        };
        (follower, followed)
    }

    /// Whether a thread is not to run before its turn.
    fn stops(&self, choice: &Choice) -> bool {
        let who = (choice.block, choice.thread);
        match self.left.get(&who).and_then(|left| left.last()).and_then(|&index| self.steps.get(index)) {
            Some(step) => step.offset == choice.offset,
            None => self.stands.get(&who) == Some(&choice.offset),
        }
    }

    /// Gives up following.
    fn differs(&self, what: String) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.other.get_or_insert(what);
    }

    /// Whether memory holds for a step what it is to.
    fn holds(&self, index: usize, after: bool) -> bool {
        let Some(step) = self.steps.get(index) else { return true };
        let Some(touches) = step.touches.filter(|touches| !touches.shared) else { return true };
        let wanted = if after { touches.after } else { touches.before };
        let length = touches.bytes.min(8) as usize;
        let mut bytes = [0u8; 8];
        let Some(place) = bytes.get_mut(..length) else { return true };
        if self.device.memory().read(touches.address, place).is_err() {
            self.differs(format!("{}, where there is no memory", self.name(index)));
            return false;
        }
        let there = u64::from_le_bytes(bytes);
        let mask = u64::MAX >> (64 - 8 * length.clamp(1, 8));
        if (there ^ wanted) & mask == 0 {
            return true;
        }
        let when = if after { "afterwards" } else { "before" };
        self.differs(format!("{}, but {when} the memory holds {there:#x}", self.name(index)));
        false
    }

    /// What a step is to do, in words.
    fn name(&self, index: usize) -> String {
        let Some(step) = self.steps.get(index) else { return String::new() };
        let line = if step.line > 0 { format!(" on line {}", step.line) } else { String::new() };
        format!(
            "step {} of {}: thread {} of block {} {}{line}",
            index + 1,
            self.steps.len(),
            step.thread,
            step.block,
            step.does
        )
    }

    /// The step that was being made is done.
    fn finish(&mut self) -> bool {
        let Some(index) = self.now.take() else { return true };
        if !self.holds(index, true) {
            return false;
        }
        self.followed.lock().unwrap_or_else(PoisonError::into_inner).steps = index + 1;
        self.between = 0;
        true
    }
}

impl Interleaving for Follower {
    fn next(&mut self, threads: &[Choice]) -> Option<(usize, u64)> {
        let of = |step: &SavedStep| {
            threads.iter().position(|choice| (choice.block, choice.thread) == (step.block, step.thread))
        };
        // An instruction may be several operations.
        if let Some(step) = self.now.and_then(|index| self.steps.get(index))
            && let Some(at) = of(step)
            && threads.get(at).is_some_and(|choice| choice.offset == step.offset)
        {
            return Some((at, 1));
        }
        if !self.finish() {
            return None;
        }
        self.between += 1;
        if self.between > MOST_BETWEEN {
            self.differs(format!("before {}, threads run on and on", self.name(self.next)));
            return None;
        }
        if let Some(ahead) = threads.iter().position(|choice| !self.stops(choice)) {
            return Some((ahead, 1));
        }
        let step = self.steps.get(self.next)?;
        let Some(at) = of(step) else {
            self.differs(format!("{}, but it has ended or waits", self.name(self.next)));
            return None;
        };
        if !self.holds(self.next, false) {
            return None;
        }
        if let Some(left) = self.left.get_mut(&(step.block, step.thread)) {
            left.pop();
        }
        self.now = Some(self.next);
        self.next += 1;
        Some((at, 1))
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // The last step ends with the launch where no thread can run behind it.
        self.finish();
        let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        if followed.other.is_none() && followed.steps < self.steps.len() {
            drop(followed);
            self.differs(format!("the launch ended before {}", self.name(self.next)));
        }
    }
}
