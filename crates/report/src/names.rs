//! Names of kernels as a reader knows them.

use std::collections::HashMap;

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};

/// Names longer than this lose the inside of their template arguments in text.
const COMFORTABLE: usize = 72;

/// A mangled name (C++ or Rust) in readable form, without parameter list and return type. Names that
/// are not mangled stay as they are.
pub fn display_name(symbol: &str) -> String {
    // Deep nesting in hostile input must not exhaust the stack.
    const RECURSION: u32 = 128;
    if symbol.starts_with("_Z") {
        let parsed = Symbol::new_with_options(symbol, &ParseOptions::default().recursion_limit(RECURSION));
        let options = DemangleOptions::new().no_params().no_return_type().recursion_limit(RECURSION);
        // `_ZN…17h<hash>E` is Rust's older scheme; its own demangler takes the hash off.
        if let Ok(name) = rustc_demangle::try_demangle(symbol)
            && symbol.contains("17h")
        {
            return format!("{name:#}");
        }
        if let Ok(name) =
            parsed.map_err(drop).and_then(|symbol| symbol.demangle_with_options(&options).map_err(drop))
        {
            return name;
        }
    } else if symbol.starts_with("_R")
        && let Ok(name) = rustc_demangle::try_demangle(symbol)
    {
        return format!("{name:#}");
    }
    symbol.to_owned()
}

/// A readable name short enough for a line of text: template arguments of long names are replaced by
/// `…`, the innermost first.
pub fn shorten(name: &str) -> String {
    for depth in [2, 1] {
        if name.chars().count() <= COMFORTABLE {
            break;
        }
        let shorter = without_arguments(name, depth);
        if depth == 1 || shorter.chars().count() <= COMFORTABLE {
            return shorter;
        }
    }
    name.to_owned()
}

/// The name without any template arguments and namespaces: `scan` for `ns::scan<int, 256>`.
pub fn base_name(symbol: &str) -> String {
    let name = display_name(symbol).replace("(anonymous namespace)", "");
    let plain = without_arguments(&name, 1).replace("<…>", "");
    plain.rsplit("::").next().unwrap_or(&plain).trim().to_owned()
}

/// Base names by symbol: many findings lie in one kernel, and template libraries have long names.
#[derive(Debug, Default)]
pub(crate) struct BaseNames {
    known: HashMap<String, String>,
}

impl BaseNames {
    /// The same as [`base_name`].
    pub(crate) fn of(&mut self, symbol: &str) -> &str {
        if !self.known.contains_key(symbol) {
            self.known.insert(symbol.to_owned(), base_name(symbol));
        }
        self.known.get(symbol).map_or("", String::as_str)
    }
}

/// Replaces what stands inside angle brackets from nesting level `depth` on. The brackets of
/// operators (`operator<`) and of comparisons in arguments (inside parentheses) are no brackets.
fn without_arguments(name: &str, depth: usize) -> String {
    let mut out = String::with_capacity(name.len());
    let (mut level, mut parentheses) = (0usize, 0usize);
    for (at, letter) in name.char_indices() {
        let opens = letter == '<' && parentheses == 0 && !name[..at].ends_with("operator");
        let closes = letter == '>' && parentheses == 0 && level > 0;
        if closes {
            level -= 1;
        }
        if level < depth {
            out.push(letter);
        }
        match letter {
            '(' if level > 0 => parentheses += 1,
            ')' if level > 0 => parentheses = parentheses.saturating_sub(1),
            _ => {}
        }
        if opens {
            level += 1;
            if level == depth {
                out.push('…');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(symbol: &str, display: &str, base: &str) {
        assert_eq!(display_name(symbol), display);
        assert_eq!(base_name(symbol), base);
    }

    #[test]
    fn names_are_readable() {
        check("_Z7handoffPiS_", "handoff", "handoff");
        check("handoff", "handoff", "handoff");
        check("_ZN2ns4scanIiLi256EEEvPT_i", "ns::scan<int, 256>", "scan");
        check("_RNvCs1234_7mycrate3foo", "mycrate::foo", "foo");
        check("_ZN4demo4main17h0123456789abcdefE", "demo::main", "main");
        check("_Z", "_Z", "_Z");
        check("_ZN", "_ZN", "_ZN");
    }

    #[test]
    fn long_names_lose_their_arguments_from_the_inside() {
        let long = "cub::kernel<policy<Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, Bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb>, int>";
        assert_eq!(shorten(long), "cub::kernel<policy<…>, int>");
        assert_eq!(shorten("short<a<b>>"), "short<a<b>>");
        let wide = format!("kernel<{}>", ["argument"; 20].join(", "));
        assert_eq!(shorten(&wide), "kernel<…>");
    }
}
