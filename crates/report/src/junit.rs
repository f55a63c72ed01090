//! JUnit: one suite per input, one test case per kernel.

use quick_junit::{
    NonSuccessKind, Report as JunitReport, SerializeError, TestCase, TestCaseStatus, TestSuite,
};

use crate::text::plain_finding;
use crate::{Report, Reported, Sources, display_name};

/// The report as JUnit XML.
///
/// # Errors
/// When the XML writer fails.
pub fn to_junit(report: &Report, sources: &dyn Sources) -> Result<String, SerializeError> {
    let mut junit = JunitReport::new("standstill");
    for input in inputs(report) {
        let mut suite = TestSuite::new(input);
        for error in report.errors.iter().filter(|error| error.file == input) {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(&error.message);
            suite.add_test_case(TestCase::new("input", status));
        }
        for symbol in kernels(report, input) {
            suite.add_test_case(test_case(report, sources, input, symbol));
        }
        junit.add_test_suite(suite);
    }
    junit.to_string()
}

/// The inputs in the order of the call.
fn inputs(report: &Report) -> Vec<&str> {
    let named = report.evidence.inputs.iter().map(|input| input.path.as_str());
    let failed = report.errors.iter().map(|error| error.file.as_str());
    let found = report.findings.iter().map(|reported| reported.input.as_str());
    unique(named.chain(failed).chain(found))
}

/// The kernels of one input, and those that only a finding names.
fn kernels<'a>(report: &'a Report, input: &str) -> Vec<&'a str> {
    let analysed = report.kernels.iter().filter(|k| k.input == input).map(|k| k.symbol.as_str());
    let found = report.findings.iter().filter(|r| r.input == input).map(|r| r.finding.kernel.as_str());
    unique(analysed.chain(found))
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = std::collections::HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

fn test_case(report: &Report, sources: &dyn Sources, input: &str, symbol: &str) -> TestCase {
    let concerns = |reported: &&Reported| {
        reported.input == input
            && (reported.finding.kernel == symbol || reported.instances.iter().any(|other| other == symbol))
    };
    let (fatal, other): (Vec<&Reported>, Vec<&Reported>) =
        report.findings.iter().filter(concerns).partition(|reported| report.fails(&reported.finding));
    let texts = |list: &[&Reported]| {
        list.iter().map(|reported| plain_finding(reported, sources)).collect::<Vec<_>>().join("\n\n")
    };
    let status = match fatal.first() {
        None => TestCaseStatus::success(),
        Some(first) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(&first.finding.message);
            status.set_type(format!("{} {}", first.finding.rule.code(), first.finding.rule.name()));
            status.set_description(texts(&fatal));
            status
        }
    };
    let mut case = TestCase::new(display_name(symbol), status);
    case.set_classname(input);
    if !other.is_empty() {
        case.set_system_out(texts(&other));
    }
    case
}
