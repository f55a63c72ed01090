//! `explain` and `rules`.

use std::fmt::Write;

use standstill_findings::Rule;

use crate::exit::{BAD_INPUT, CLEAN};
use crate::output::{fail, print};

/// Prints the long text of the rules with this code or name.
pub(crate) fn explain(code_or_name: &str) -> u8 {
    let rules = Rule::find(code_or_name);
    if rules.is_empty() {
        fail(&unknown_rule(code_or_name));
        return BAD_INPUT;
    }
    let texts: Vec<&str> = rules.iter().map(|rule| rule.explanation()).collect();
    if print(&texts.join("\n\n")) { CLEAN } else { BAD_INPUT }
}

/// Prints the rule table.
pub(crate) fn rules() -> u8 {
    let mut text = String::new();
    for info in Rule::all() {
        let _ = writeln!(text, "{}  {:<23} {}", info.code, info.name, info.summary);
    }
    if print(&text) { CLEAN } else { BAD_INPUT }
}

/// The rules that one name or code stands for.
#[derive(Debug, Clone)]
pub(crate) struct NamedRules(pub(crate) Vec<Rule>);

/// Reads a rule's name or code on the command line.
pub(crate) fn parse_rules(name: &str) -> Result<NamedRules, String> {
    let rules = Rule::find(name.trim());
    if rules.is_empty() { Err(unknown_rule(name)) } else { Ok(NamedRules(rules)) }
}

/// What to say to a name that no rule has.
pub(crate) fn unknown_rule(name: &str) -> String {
    let close = Rule::all().map(|info| (distance(name, info.name), info.name)).min();
    let hint = match close {
        Some((distance, near)) if distance <= 3 => format!("; did you mean {near}?"),
        _ => "; `standstill rules` lists them".to_owned(),
    };
    format!("there is no rule `{name}`{hint}")
}

/// Edit distance.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(b.bytes()) {
            let best = (diagonal + usize::from(x != y)).min(*cell + 1).min(left + 1);
            diagonal = std::mem::replace(cell, best);
            left = best;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_slip_is_answered_with_the_name() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert!(unknown_rule("divergent-barier").contains("did you mean divergent-barrier?"));
        assert!(unknown_rule("E9999").contains("standstill rules"));
    }
}
