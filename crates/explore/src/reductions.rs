//! Which states are not looked at because others stand for them, and for which questions that is right.

/// A way of looking at fewer states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Accesses of memory that no other thread touches, or that nobody writes, belong to the step before them. That nobody does
    /// is not assumed: the search begins again when somebody turns out to.
    MergeOwnAccesses,
    /// Loads and stores that are neither atomic nor volatile belong to the step before them. Right only where no execution has a
    /// race: then nobody can see when they happen. The search for races says whether that is so.
    MergePlainAccesses,
    /// The end of a thread belongs to its last step, and states do not tell who has taken a step.
    MergeEnds,
    /// States that differ by an exchange of threads that do the same are one.
    Symmetry,
}

/// A question about all executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Property {
    /// Whether a trap, a failed assertion or a wrong access can be reached.
    Errors,
    /// What memory can hold at the end.
    Results,
    /// Whether there is a state from which no execution ends.
    Hopelessness,
    /// Whether every execution ends under a scheduler that treats all threads alike.
    Fairness,
    /// The same under one that asks who has taken a step, or who has the lowest number.
    Schedulers,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Reduction; 4] = [
        Reduction::MergeOwnAccesses,
        Reduction::MergePlainAccesses,
        Reduction::MergeEnds,
        Reduction::Symmetry,
    ];

    /// Whether the answer stays the same under this reduction.
    ///
    /// Steps that nobody else can see commute with everything, so merging them keeps what can be reached. It may merge a
    /// thread's first step with a later one and change who has to be treated fairly, so schedulers are not asked on merged
    /// states. A cycle of exchanged threads need not be a cycle of any one thread: fairness needs to know who is who.
    pub const fn keeps(self, property: Property) -> bool {
        match (self, property) {
            (_, Property::Errors | Property::Results | Property::Hopelessness) => true,
            (
                Reduction::MergeOwnAccesses | Reduction::MergePlainAccesses | Reduction::MergeEnds,
                Property::Fairness,
            ) => true,
            (Reduction::Symmetry, Property::Fairness) | (_, Property::Schedulers) => false,
        }
    }
}

/// The reductions that a search uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reductions {
    /// [`Reduction::MergeOwnAccesses`].
    pub merge_own_accesses: bool,
    /// [`Reduction::MergePlainAccesses`]; off unless the search for races has found none.
    pub merge_plain_accesses: bool,
    /// [`Reduction::MergeEnds`].
    pub merge_ends: bool,
    /// [`Reduction::Symmetry`].
    pub symmetry: bool,
}

impl Reductions {
    /// None.
    pub const NONE: Reductions = Reductions {
        merge_own_accesses: false,
        merge_plain_accesses: false,
        merge_ends: false,
        symmetry: false,
    };

    /// All that keep these properties in every program.
    pub fn for_properties(properties: &[Property]) -> Reductions {
        let keeps = |reduction: Reduction| properties.iter().all(|&property| reduction.keeps(property));
        Reductions {
            merge_own_accesses: keeps(Reduction::MergeOwnAccesses),
            merge_plain_accesses: false,
            merge_ends: keeps(Reduction::MergeEnds),
            symmetry: keeps(Reduction::Symmetry),
        }
    }

    /// Those of a search for faults.
    pub fn for_faults() -> Reductions {
        Reductions::for_properties(&[Property::Errors, Property::Results, Property::Hopelessness])
    }
}

impl Default for Reductions {
    fn default() -> Reductions {
        Reductions::for_faults()
    }
}
