//! What a shape does on which platform: the platforms disagree, so a finding says where it bites.

use crate::Severity;

/// A family of devices, or the specification that the code was written against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Platform {
    /// NVIDIA, compute capability 7.0 and later (independent thread scheduling).
    Nvidia,
    /// NVIDIA before compute capability 7.0.
    NvidiaOld,
    /// AMD.
    Amd,
    /// Intel, Vulkan, WebGPU.
    Others,
    /// The wording of the specification.
    Specification,
}

impl Platform {
    /// All platforms, in the order of a report's row.
    pub const ALL: [Platform; 5] =
        [Platform::Nvidia, Platform::NvidiaOld, Platform::Amd, Platform::Others, Platform::Specification];

    /// The key in the JSON contract.
    pub fn key(self) -> &'static str {
        match self {
            Platform::Nvidia => "nvidia",
            Platform::NvidiaOld => "nvidia-before-7.0",
            Platform::Amd => "amd",
            Platform::Others => "others",
            Platform::Specification => "spec",
        }
    }
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Outcome {
    /// It never ends.
    Hangs,
    /// It may never end, depending on compiler, schedule or wave size.
    MayHang,
    /// It ends, but the order that the code seems to ask for is not there.
    CompletesUnordered,
    /// It ends with a wrong result.
    WrongResult,
    /// It may end with a wrong result.
    MayBeWrong,
    /// It ends as intended.
    Completes,
    /// The specification gives it no meaning.
    Undefined,
}

impl Outcome {
    /// The words of reports and the JSON contract.
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Hangs => "hangs",
            Outcome::MayHang => "may hang",
            Outcome::CompletesUnordered => "completes, unordered",
            Outcome::WrongResult => "wrong result",
            Outcome::MayBeWrong => "may give a wrong result",
            Outcome::Completes => "completes",
            Outcome::Undefined => "undefined",
        }
    }

    /// How bad this outcome is where it happens.
    fn severity(self) -> Severity {
        match self {
            Outcome::Hangs | Outcome::MayHang | Outcome::WrongResult | Outcome::MayBeWrong => Severity::Error,
            Outcome::CompletesUnordered | Outcome::Undefined => Severity::Warning,
            Outcome::Completes => Severity::Note,
        }
    }
}

/// What happens on each platform; platforms without an entry are unknown or not concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PlatformRow {
    /// Platform and outcome, in the order of [`Platform::ALL`].
    pub outcomes: Vec<(Platform, Outcome)>,
}

impl PlatformRow {
    /// A row from its entries.
    pub fn new(outcomes: &[(Platform, Outcome)]) -> PlatformRow {
        PlatformRow { outcomes: outcomes.to_vec() }
    }

    /// The same outcome on every platform.
    pub fn everywhere(outcome: Outcome) -> PlatformRow {
        PlatformRow { outcomes: Platform::ALL.iter().map(|&platform| (platform, outcome)).collect() }
    }

    /// What happens on one platform.
    pub fn outcome(&self, platform: Platform) -> Option<Outcome> {
        self.outcomes.iter().find(|(p, _)| *p == platform).map(|(_, outcome)| *outcome)
    }

    /// The same where it depends on who is faster.
    pub fn in_some_order(mut self) -> PlatformRow {
        for (_, outcome) in &mut self.outcomes {
            *outcome = match *outcome {
                Outcome::Hangs => Outcome::MayHang,
                Outcome::WrongResult => Outcome::MayBeWrong,
                other => other,
            };
        }
        self
    }

    /// The severity for the platform asked for; `None` asks for the worst of all platforms.
    ///
    /// A fault elsewhere only is a warning: the code is not portable, and the specification gives it
    /// no meaning. An empty row leaves the finding an error.
    pub fn severity(&self, platform: Option<Platform>) -> Severity {
        if self.outcomes.is_empty() {
            return Severity::Error;
        }
        let worst = self.outcomes.iter().map(|(_, outcome)| outcome.severity()).max();
        let worst = worst.unwrap_or(Severity::Error);
        match platform {
            None => worst,
            Some(platform) => match self.outcome(platform) {
                Some(outcome) if outcome.severity() == Severity::Error => Severity::Error,
                _ => worst.min(Severity::Warning),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_elsewhere_is_a_warning_here() {
        let row = PlatformRow::new(&[
            (Platform::Nvidia, Outcome::CompletesUnordered),
            (Platform::Others, Outcome::MayHang),
        ]);
        assert_eq!(row.severity(Some(Platform::Nvidia)), Severity::Warning);
        assert_eq!(row.severity(Some(Platform::Others)), Severity::Error);
        assert_eq!(row.severity(None), Severity::Error);
        assert_eq!(PlatformRow::default().severity(Some(Platform::Nvidia)), Severity::Error);
    }
}
