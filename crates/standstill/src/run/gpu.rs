//! What GPU core dumps say.

use standstill_findings::{Coverage, NotUnderstood, Rule};
use standstill_report::{InputError, Kernel, Report, Reported, base_name, merge};
use standstill_supervisor::{Dump, OnGpu, Programs};

use crate::args::VerdictArgs;
use crate::check::is_allowed;
use crate::core::explain_file;
use crate::disk::DiskSources;

/// What the dumps of one program say.
#[derive(Debug, Default)]
pub(crate) struct Explained {
    pub(crate) findings: Vec<Reported>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) coverage: Coverage,
    pub(crate) not_understood: Vec<NotUnderstood>,
    pub(crate) errors: Vec<InputError>,
    /// The kernels that were on the GPU, with where they are launched.
    pub(crate) on_gpu: Vec<OnGpu>,
    /// Findings that a flag silenced.
    pub(crate) allowed: u64,
    /// The driver and the card, by the dumps.
    pub(crate) driver: String,
    pub(crate) device: String,
}

impl Explained {
    /// Moves everything into a report.
    pub(crate) fn add_to(self, report: &mut Report) {
        report.findings.extend(self.findings);
        report.kernels.extend(self.kernels);
        report.coverage.add(self.coverage);
        report.not_understood.extend(self.not_understood);
        report.errors.extend(self.errors);
        report.allowed += self.allowed;
        if !self.driver.is_empty() {
            report.evidence.driver = self.driver;
        }
        if !self.device.is_empty() {
            report.evidence.device = self.device;
        }
    }

    /// Whether something is known that hangs, or may.
    pub(crate) fn hangs(&self) -> bool {
        self.findings.iter().any(|reported| reported.finding.rule != Rule::Undecided)
    }
}

/// Reads the dumps and says what is wrong in them. `programs` are the files of the processes.
pub(crate) fn explain(
    dumps: &[Dump],
    programs: &[(i32, Programs)],
    verdict: &VerdictArgs,
    sources: &DiskSources,
) -> Explained {
    let mut all = Explained::default();
    let rules = verdict.allowed();
    for dump in dumps.iter().filter(|dump| dump.bytes > 0) {
        let input = format!("process {}", dump.pid);
        let one = explain_file(&dump.core, verdict.platform.platform(), sources, false);
        let before = one.findings.len();
        let mut findings = one.findings;
        findings.retain(|finding| !is_allowed(finding, &rules, &input, sources));
        all.allowed += (before - findings.len()) as u64;
        for symbol in &one.kernels {
            let kernel = base_name(symbol);
            if all.on_gpu.iter().any(|known| known.pid == dump.pid && known.kernel == kernel) {
                continue;
            }
            let program = programs.iter().find(|(pid, _)| *pid == dump.pid);
            let launches = program.map(|(_, program)| program.launches(symbol)).unwrap_or_default();
            all.on_gpu.push(OnGpu { pid: dump.pid, kernel, launches });
        }
        all.findings.extend(merge(&input, findings));
        all.kernels.extend(one.kernels.into_iter().map(|symbol| Kernel { input: input.clone(), symbol }));
        all.coverage.add(one.coverage);
        // The file is gone when the report is read.
        let renamed =
            |error: InputError| InputError { file: format!("the GPU core dump of {input}"), ..error };
        all.errors.extend(one.errors.into_iter().map(renamed));
        all.driver = one.driver;
        all.device = one.device;
    }
    all
}
