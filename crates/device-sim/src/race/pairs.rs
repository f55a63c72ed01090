//! Which stores write back what was read from memory, by position in decoded code.

use standstill_kernel_ir::{Function, Update, Updates};

/// The reads and writes of a kernel that belong together.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    updates: Updates,
    pub(super) positions: Vec<u32>,
}

impl Pairs {
    /// Whether the operation at a position is part of a pair.
    #[inline]
    pub(super) fn is_noted(&self, position: usize) -> bool {
        self.positions.get(position).is_some_and(|id| self.updates.noted.contains(id))
    }

    /// Whether what is read at a position is only the first guess of a compare-and-swap, as in the loops of the
    /// CUDA C++ Programming Guide («Atomic Functions»): an old or torn value makes it try again.
    pub(super) fn is_guess(&self, position: usize) -> bool {
        self.positions.get(position).is_some_and(|id| self.updates.guesses.contains(id))
    }

    /// Whether somebody uses what the atomic at a position gives.
    pub(super) fn is_observed(&self, position: usize) -> bool {
        self.positions.get(position).is_none_or(|id| !self.updates.unobserved.contains(id))
    }

    /// The update that an instruction completes.
    pub(super) fn update(&self, id: u32) -> Option<&Update> {
        self.updates.updates.get(&id)
    }

    pub(super) fn build(function: &Function) -> Pairs {
        Pairs { updates: Updates::build(function), positions: Vec::new() }
    }
}
