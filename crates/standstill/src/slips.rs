//! Comments that nearly speak to the checker: what a person meant by them is said, and that it was not done.

use memchr::memchr;
use standstill_findings::Rule;

use crate::comments::CommentError;
use crate::explain::{distance, unknown_rule};

/// What a comment can ask for.
const WORDS: [&str; 2] = ["allow", "launch"];

const NAME: &str = "standstill";

/// The comments of a text that ask for something unknown, or in a form that is not read.
pub(crate) fn slips(text: &str) -> Vec<CommentError> {
    let mut found = Vec::new();
    // Nearly all of many megabytes has no such word.
    if memchr::memmem::find(text.as_bytes(), b"tandstill").is_none() {
        return found;
    }
    for (line, number) in text.lines().zip(1u32..) {
        let Some(comment) = comment(line) else { continue };
        // Lower case keeps the places of all bytes.
        let lower = comment.to_ascii_lowercase();
        for (at, _) in lower.match_indices(NAME) {
            let behind = comment.get(at + NAME.len()..).unwrap_or_default();
            let exact = comment.get(at..).is_some_and(|text| text.starts_with(NAME));
            found.extend(
                slips_of(behind, exact).into_iter().map(|message| CommentError { line: number, message }),
            );
        }
    }
    found
}

/// The comment of a line.
fn comment(line: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(at) = memchr(b'/', line.as_bytes().get(from..)?) {
        let rest = line.get(from + at..)?;
        if rest.starts_with("//") || rest.starts_with("/*") {
            return Some(rest);
        }
        from += at + 1;
    }
    None
}

/// What is wrong with one request, by what stands behind the name. `exact`: the name is in lower case.
fn slips_of(behind: &str, exact: bool) -> Vec<String> {
    let unspaced = behind.trim_start();
    let (colon, rest) = match unspaced.strip_prefix(':') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, unspaced),
    };
    let length =
        rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(rest.len());
    let (word, arguments) = rest.split_at(length);
    let inner = arguments.trim_start().strip_prefix('(');
    let lower = word.to_ascii_lowercase();
    let near = WORDS
        .into_iter()
        .min_by_key(|known| distance(known, &lower))
        .filter(|known| distance(known, &lower) <= 2);
    // A sentence about the checker is no request.
    let Some(inner) = inner else {
        return match near {
            Some(near) if colon && near == word => {
                vec![format!("`{word}` in a comment needs parentheses, as in `{}`", example(near))]
            }
            _ => Vec::new(),
        };
    };
    let Some(near) = near else {
        let known = WORDS.join(" and ");
        return match colon && !word.is_empty() {
            true => vec![format!("a comment cannot ask for `{word}`; {known} are known")],
            false => Vec::new(),
        };
    };
    if near != word {
        return vec![format!("a comment cannot ask for `{word}`; did you mean `{near}`?")];
    }
    if !exact || !colon || !behind.starts_with(':') {
        return vec![format!("this comment is not read; did you mean `// standstill: {near}(…)`?")];
    }
    let mut found = Vec::new();
    let inner = match inner.split_once(')') {
        Some((inner, _)) => inner,
        None => {
            found.push(format!("`)` is missing in this comment; did you mean `{}`?", example(near)));
            inner
        }
    };
    if near == "allow" {
        let names = inner.trim_end_matches("*/").split(',').map(str::trim);
        found.extend(names.filter(|name| Rule::find(name).is_empty()).map(unknown_rule));
    }
    found
}

fn example(word: &str) -> &'static str {
    match word {
        "allow" => "// standstill: allow(divergent-barrier)",
        _ => "// standstill: launch(block = 256, grid = 4)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        let text = format!("int x; / 2;\n{line}\n");
        let found = slips(&text);
        assert_eq!(found.len(), expected.len(), "{line}: {found:?}");
        for (slip, part) in found.iter().zip(expected) {
            assert_eq!(slip.line, 2);
            assert!(slip.message.contains(part), "{line}: {found:?}");
        }
    }

    #[test]
    fn slips_are_named() {
        check("// standstill: alow(E0009)", &["did you mean `allow`?"]);
        check("x; // standstill: lunch(block = 256)", &["did you mean `launch`?"]);
        check("// standstill: ignore(E0009)", &["allow and launch are known"]);
        check("// standstill: allow(E9999, no-such)", &["no rule `E9999`", "no rule `no-such`"]);
        check("// standstill: allow(divergent-barier)", &["did you mean divergent-barrier?"]);
        check("// standstill: launch(block = 256", &["`)` is missing"]);
        check("// standstill launch(block = 256)", &["did you mean `// standstill: launch(…)`?"]);
        check("// Standstill: allow(E0009)", &["did you mean `// standstill: allow(…)`?"]);
        check("/* standstill : allow(E0009) */", &["did you mean `// standstill: allow(…)`?"]);
        check("// standstill: allow E0009", &["needs parentheses"]);
    }

    #[test]
    fn what_is_right_or_no_request_is_left_alone() {
        for line in [
            "// standstill: allow(E0009, divergent-barrier)",
            "/* standstill: launch(block = 256) */",
            "// standstill is a checker (see there)",
            "// standstill: this kernel waits (for a flag)",
            "\"standstill: alow(E0009)\"",
            "// a standstill of all threads",
        ] {
            check(line, &[]);
        }
    }
}
