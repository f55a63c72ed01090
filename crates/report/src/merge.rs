//! Sorting findings, and showing what is the same only once.

use std::collections::HashMap;

use standstill_findings::{Finding, Rule};

use crate::Reported;
use crate::names::BaseNames;

/// Sorts the findings of one input by place and merges those of one rule at one primary place in
/// instantiations of one template. The worst of them is the one that is shown.
pub fn merge(input: &str, mut findings: Vec<Finding>) -> Vec<Reported> {
    findings.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    let mut groups: HashMap<GroupKey, usize> = HashMap::new();
    let mut names = BaseNames::default();
    let mut merged: Vec<Reported> = Vec::new();
    for finding in findings {
        let known = *groups.entry(group_key(&finding, &mut names)).or_insert(merged.len());
        match merged.get_mut(known) {
            None => merged.push(Reported { input: input.to_owned(), finding, instances: Vec::new() }),
            Some(first) => {
                let same_kernel = finding.kernel == first.finding.kernel;
                if !same_kernel && !first.instances.contains(&finding.kernel) {
                    first.instances.push(finding.kernel);
                }
            }
        }
    }
    merged
}

type GroupKey = (Rule, String, u32, u32, String);

fn group_key(finding: &Finding, names: &mut BaseNames) -> GroupKey {
    let (file, line, column) = place(finding);
    (finding.rule, file.to_owned(), line, column, names.of(&finding.kernel).to_owned())
}

fn place(finding: &Finding) -> (&str, u32, u32) {
    finding.primary_span().map_or(("", 0, 0), |span| (span.file.as_str(), span.line, span.column))
}

/// By place, then rule, the worst first, then by kernel and words so that the order never changes.
fn sort_key(finding: &Finding) -> impl Ord + '_ {
    let worst_first = std::cmp::Reverse(finding.severity);
    (place(finding), finding.rule, worst_first, finding.kernel.as_str(), finding.message.as_str())
}

#[cfg(test)]
mod tests {
    use standstill_findings::{Severity, Span};

    use super::*;

    #[test]
    fn instantiations_are_one_finding() {
        let finding = |kernel: &str, line| {
            let mut finding = Finding::new(Rule::DivergentBarrier, kernel, "m");
            finding.spans.push(Span::primary("a.cu", line, 5, ""));
            finding
        };
        let mut minor = finding("_Z4scanIdEvPT_", 9);
        minor.severity = Severity::Warning;
        let all = vec![
            minor,
            finding("_Z4scanIiEvPT_", 9),
            finding("_Z4scanIfEvPT_", 9),
            finding("_Z4scanIfEvPT_", 9),
            finding("_Z5otherPi", 9),
            finding("_Z4scanIiEvPT_", 3),
        ];
        let merged = merge("a.cu", all);
        let shown: Vec<(u32, &str, usize)> = merged
            .iter()
            .map(|r| (place(&r.finding).1, r.finding.kernel.as_str(), r.instances.len()))
            .collect();
        assert_eq!(shown, [(3, "_Z4scanIiEvPT_", 0), (9, "_Z4scanIfEvPT_", 2), (9, "_Z5otherPi", 0)]);
        assert!(merged.iter().all(|r| r.finding.severity == Severity::Error));
    }
}
