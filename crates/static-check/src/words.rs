//! Sentences about one or several threads and things.

use standstill_findings::ThreadRanges;

/// «thread 5 spins here», «threads 0–127 spin here»: a subject with its predicate, whose first word is a verb in
/// the plural.
pub(crate) fn sentence(noun: &str, who: &ThreadRanges, predicate: &str) -> String {
    format!("{} {}", who.with_noun(noun), agreeing(who, predicate))
}

/// A predicate, whose first word is a verb in the plural, as it fits its subject.
pub(crate) fn agreeing(who: &ThreadRanges, predicate: &str) -> String {
    if who.len() != 1 {
        return predicate.to_string();
    }
    let (verb, rest) = match predicate.split_once(' ') {
        Some((verb, rest)) => (verb, format!(" {rest}")),
        None => (predicate, String::new()),
    };
    let verb = match verb {
        "are" => "is".to_string(),
        "do" => "does".to_string(),
        "have" => "has".to_string(),
        // «never leave»
        "never" => return format!("never {}", agreeing(who, rest.trim_start())),
        other => format!("{other}s"),
    };
    verb + &rest
}

/// «1 arrival», «3 arrivals».
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// «a t4», «an h200»: a name whose letters are spoken one by one.
pub(crate) fn with_article(name: &str) -> String {
    let vowel = name.chars().next().is_some_and(|c| "aefhilmnorsx".contains(c.to_ascii_lowercase()));
    format!("{} {name}", if vowel { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_agree_with_their_subjects() {
        let cases: [(u32, &str, &str); 8] = [
            (1, "spin here", "thread 0 spins here"),
            (2, "spin here", "threads 0–1 spin here"),
            (1, "wait", "thread 0 waits"),
            (1, "never leave it", "thread 0 never leaves it"),
            (3, "never leave it", "threads 0–2 never leave it"),
            (1, "have returned", "thread 0 has returned"),
            (1, "do not", "thread 0 does not"),
            (1, "are missing", "thread 0 is missing"),
        ];
        for (threads, predicate, expected) in cases {
            let who = ThreadRanges::from_members(0..threads);
            assert_eq!(sentence("thread", &who, predicate), expected);
        }
        assert_eq!((with_article("t4"), with_article("h200")), ("a t4".into(), "an h200".into()));
        assert_eq!((count(1, "arrival"), count(2, "arrival")), ("1 arrival".into(), "2 arrivals".into()));
    }
}
