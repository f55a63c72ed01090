//! GPU architectures as compilers name them.

use std::fmt;

/// A GPU architecture: `sm_90`, `sm_90a`, `sm_100f`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// Compute capability, major times ten plus minor.
    pub number: u32,
    /// Whether code for it is limited to that architecture (`a`) or its family (`f`).
    pub variant: ArchVariant,
}

/// Where code for an [`Arch`] may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArchVariant {
    /// On this and, as PTX, on every later architecture.
    Portable,
    /// Only on this one: suffix `a`.
    Specific,
    /// On those of the same family: suffix `f`.
    Family,
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.variant {
            ArchVariant::Portable => "",
            ArchVariant::Specific => "a",
            ArchVariant::Family => "f",
        };
        write!(f, "sm_{}{suffix}", self.number)
    }
}
