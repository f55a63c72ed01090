//! What GPU core dumps say: the findings in them, and whether anything moved between two.

use std::collections::HashSet;

use standstill_findings::{Coverage, NotUnderstood};
use standstill_report::{InputError, Kernel, Report, Reported};
use standstill_supervisor::{Dump, Judgement};

use crate::args::VerdictArgs;
use crate::disk::DiskSources;

/// What the dumps of one program say.
#[derive(Debug, Default)]
pub(crate) struct Explained {
    pub(crate) findings: Vec<Reported>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) coverage: Coverage,
    pub(crate) not_understood: Vec<NotUnderstood>,
    pub(crate) errors: Vec<InputError>,
    /// One line for each kernel that was on the GPU.
    pub(crate) states: Vec<String>,
}

impl Explained {
    /// Moves everything into a report.
    pub(crate) fn add_to(self, report: &mut Report) {
        report.findings.extend(self.findings);
        report.kernels.extend(self.kernels);
        report.coverage.add(self.coverage);
        report.not_understood.extend(self.not_understood);
        report.errors.extend(self.errors);
    }
}

/// Reads the dumps and says what is wrong in them.
pub(crate) fn explain(_dumps: &[Dump], _verdict: &VerdictArgs, _sources: &DiskSources) -> Explained {
    Explained::default()
}

/// Whether GPU work began or ended between two looks.
pub(crate) fn judge(_before: &[Dump], _after: &[Dump]) -> Judgement {
    let _ = HashSet::<u64>::new();
    Judgement::Unknown("dumps are not read yet".to_owned())
}
