//! Splitting a string of compiler flags as a shell does.

use thiserror::Error;

/// Why a string of flags cannot be split.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FlagsError {
    /// A quote is opened and not closed.
    #[error("the quote {quote} opened at character {at} is not closed")]
    OpenQuote {
        /// The quote.
        quote: char,
        /// Its place, in characters from 0.
        at: usize,
    },
    /// The string ends with a backslash.
    #[error("nothing follows the backslash at the end")]
    TrailingBackslash,
}

/// Splits `text` at white space, with the quoting rules of POSIX shells: nothing is special between single
/// quotes; between double quotes a backslash takes away the meaning of `"`, `\`, `$` and a backquote; elsewhere
/// of any character. Variables and patterns are not expanded.
///
/// # Errors
/// When a quote or a backslash is left open.
pub fn split_flags(text: &str) -> Result<Vec<String>, FlagsError> {
    let mut flags = Vec::new();
    let mut current: Option<String> = None;
    let mut characters = text.chars().enumerate().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            c if c.is_ascii_whitespace() => flags.extend(current.take()),
            '\\' => {
                let (_, next) = characters.next().ok_or(FlagsError::TrailingBackslash)?;
                current.get_or_insert_default().push(next);
            }
            quote @ ('\'' | '"') => {
                let word = current.get_or_insert_default();
                loop {
                    let (_, next) = characters.next().ok_or(FlagsError::OpenQuote { quote, at })?;
                    if next == quote {
                        break;
                    }
                    let escapes = quote == '"' && next == '\\';
                    match characters.peek() {
                        Some(&(_, escaped)) if escapes && matches!(escaped, '"' | '\\' | '$' | '`') => {
                            word.push(escaped);
                            characters.next();
                        }
                        _ => word.push(next),
                    }
                }
            }
            other => current.get_or_insert_default().push(other),
        }
    }
    flags.extend(current);
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::{FlagsError, split_flags};
    use crate::process::quoted;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quoting_and_splitting_gives_the_same(flags in proptest::collection::vec(any::<String>(), 0..6)) {
            let text: Vec<String> = flags.iter().map(|flag| quoted(flag.as_ref())).collect();
            prop_assert_eq!(split_flags(&text.join(" ")).unwrap(), flags);
        }

        #[test]
        fn any_text(text in any::<String>()) {
            let _ = split_flags(&text);
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(split_flags(text).unwrap(), expected);
    }

    #[test]
    fn as_a_shell_splits() {
        check("", &[]);
        check("  -O3\t-DN=4\n", &["-O3", "-DN=4"]);
        check(r#"-DS="a b" '-I/x y' ''"#, &["-DS=a b", "-I/x y", ""]);
        check(r#"-DQ=\"a\" -D'T="b c"'"#, &["-DQ=\"a\"", "-DT=\"b c\""]);
        check(r#""a\"b\\c\d$""#, &["a\"b\\c\\d$"]);
        check(r"a\ b", &["a b"]);
        check("'a\\'", &["a\\"]);
    }

    #[test]
    fn left_open() {
        assert_eq!(split_flags("-O3 'a"), Err(FlagsError::OpenQuote { quote: '\'', at: 4 }));
        assert_eq!(split_flags("\"a\\\""), Err(FlagsError::OpenQuote { quote: '"', at: 0 }));
        assert_eq!(split_flags("a\\"), Err(FlagsError::TrailingBackslash));
    }
}
