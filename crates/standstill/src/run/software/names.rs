//! Parameters in findings by their names in the source, where it has them: the software GPU knows `p2` only.

use standstill_findings::{Finding, Node};
use standstill_report::display_name;

/// Gives the parameters that a finding names by position (`p2`, `*p2`, `p2[1]`, in quotes or as a location) their
/// names.
pub(super) fn rename(finding: &mut Finding, name: &dyn Fn(u32) -> Option<String>) {
    let quoted = |text: &mut String| {
        if text.contains("`p") || text.contains("`*p") {
            *text = in_quotes(text, name);
        }
    };
    quoted(&mut finding.message);
    quoted(&mut finding.help);
    finding.notes.iter_mut().for_each(quoted);
    finding.spans.iter_mut().for_each(|span| quoted(&mut span.label));
    if let Some(graph) = &mut finding.waits {
        quoted(&mut graph.sentence);
        graph.edges.iter_mut().for_each(|edge| quoted(&mut edge.reason));
        for node in &mut graph.nodes {
            match node {
                Node::Location(place) => *place = location(place, name),
                Node::Barrier { name: text, .. } | Node::Named(text) => quoted(text),
                _ => {}
            }
        }
    }
}

/// A sentence with the names in it that the compiler mangled as a reader knows them.
pub(super) fn readable(sentence: &str) -> String {
    let mut text = String::new();
    let mut rest = sentence;
    while !rest.is_empty() {
        let of_name = |c: char| c.is_ascii_alphanumeric() || "_$.".contains(c);
        let end = rest.find(|c| !of_name(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let name = word.trim_end_matches('.');
        text += &display_name(name);
        text += word.get(name.len()..).unwrap_or_default();
        let gap = behind.find(of_name).unwrap_or(behind.len());
        let (between, after) = behind.split_at(gap);
        text += between;
        rest = after;
    }
    text
}

/// Replaces within each pair of quotes.
fn in_quotes(text: &str, name: &dyn Fn(u32) -> Option<String>) -> String {
    let mut inside = true;
    let parts: Vec<String> = text
        .split('`')
        .map(|part| {
            inside = !inside;
            if inside { location(part, name) } else { part.to_owned() }
        })
        .collect();
    parts.join("`")
}

/// `*p2`, `p2[1]`, `p2 + 3 bytes` with the name of the parameter; anything else as it is.
fn location(place: &str, name: &dyn Fn(u32) -> Option<String>) -> String {
    let (star, rest) = place.strip_prefix('*').map_or(("", place), |rest| ("*", rest));
    let named = || {
        let digits = rest.strip_prefix('p')?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (number, after) = digits.split_at_checked(end)?;
        let ends = after.is_empty() || after.starts_with(['[', ' ']);
        let name = name(number.parse().ok().filter(|_| ends)?)?;
        Some(format!("{star}{name}{after}"))
    };
    named().unwrap_or_else(|| place.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positions_are_renamed() {
        let name = |position: u32| (position == 2).then(|| "flag".to_owned());
        let check = |text: &str, expected: &str| assert_eq!(in_quotes(text, &name), expected);
        check("spins on `*p2` (line 4), p2 and `p3`", "spins on `*flag` (line 4), p2 and `p3`");
        check("`p2[7]` `p2 + 3 bytes` `p2x` `p` `*`", "`flag[7]` `flag + 3 bytes` `p2x` `p` `*`");
        check("`p2", "`flag");
    }

    #[test]
    fn mangled_names_in_sentences_become_readable() {
        let check = |text: &str, expected: &str| assert_eq!(readable(text), expected);
        check("kernel _Z4scanIiEvPKT_ was stopped: trap.", "kernel scan<int> was stopped: trap.");
        check("the launch of _ZN2ns1kEv.", "the launch of ns::k.");
        check("k: out of memory, _Z", "k: out of memory, _Z");
    }
}
