//! The exit code of a check.

use standstill_findings::Rule;
use standstill_report::Report;

/// Nothing at or above `--fail-on`.
pub(crate) const CLEAN: u8 = 0;
/// Findings.
pub(crate) const FINDINGS: u8 = 1;
/// An input or the call is wrong.
pub(crate) const BAD_INPUT: u8 = 2;
/// Not decided.
pub(crate) const NOT_DECIDED: u8 = 3;

/// Findings win over bad inputs, and those over what was not decided.
pub(crate) fn code(report: &Report, strict: bool) -> u8 {
    let fails = report.findings.iter().any(|reported| report.fails(&reported.finding));
    let undecided = report.findings.iter().any(|reported| reported.finding.rule == Rule::Undecided);
    let nothing_seen = report.coverage.kernels == 0 && report.coverage.operations == 0;
    if fails {
        FINDINGS
    } else if !report.errors.is_empty() {
        BAD_INPUT
    } else if nothing_seen || (strict && (undecided || !report.not_understood.is_empty())) {
        NOT_DECIDED
    } else {
        CLEAN
    }
}

#[cfg(test)]
mod tests {
    use standstill_findings::{Coverage, Finding, NotUnderstood, Severity};
    use standstill_report::{InputError, Reported};

    use super::*;

    #[test]
    fn one_wins_over_two_over_three() {
        let finding = Finding::new(Rule::WaitCycle, "k", "m");
        let mut report = Report { fail_on: Some(Severity::Error), ..Report::default() };
        assert_eq!(code(&report, false), NOT_DECIDED, "zero coverage is never success");
        report.coverage = Coverage { kernels: 1, ..Coverage::default() };
        assert_eq!(code(&report, true), CLEAN);
        let what = NotUnderstood { file: String::new(), line: 1, what: "x".into(), count: 1 };
        report.not_understood.push(what);
        assert_eq!(code(&report, false), CLEAN);
        assert_eq!(code(&report, true), NOT_DECIDED);
        let error = InputError { file: String::new(), line: 0, column: 0, message: String::new() };
        report.errors.push(error);
        assert_eq!(code(&report, true), BAD_INPUT);
        report.findings.push(Reported { input: String::new(), finding, instances: Vec::new() });
        assert_eq!(code(&report, true), FINDINGS);
        report.fail_on = None;
        assert_eq!(code(&report, true), BAD_INPUT);
    }
}
