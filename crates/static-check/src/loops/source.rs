//! Loop statements in source text. Compilers duplicate and shorten paths, so that a release that stands inside
//! a loop may come behind it in compiled code; only the text tells what was meant.

use standstill_kernel_ir::{InstructionId, Location};

use super::cycle::Cycle;
use super::line::chain;

/// How many lines above and below a place are read.
const LINES_ABOVE: u32 = 80;
const LINES_BELOW: u32 = 160;

/// Whether the innermost loop statement around one instruction has another one in it, too; `None` where the text
/// cannot be read or has no such loop.
pub(super) fn same_loop(cycle: &Cycle<'_>, inner: InstructionId, other: InstructionId) -> Option<bool> {
    let inner = own_chains(cycle, inner).into_iter().next()?;
    let others = own_chains(cycle, other);
    for depth in (0..inner.len()).rev() {
        let place = inner.get(depth)?;
        let Some((first, last)) = loop_around(cycle, place) else { continue };
        let same = |(a, b): (&Location, &Location)| (a.file, a.line, a.column) == (b.file, b.line, b.column);
        let within = |other: &Vec<Location>| {
            let same_calls = inner.iter().zip(other).take(depth).filter(|&pair| same(pair)).count() == depth;
            let place = other.get(depth).filter(|other| other.file == place.file);
            same_calls && place.is_some_and(|other| (first..=last).contains(&other.line))
        };
        return Some(others.iter().any(within));
    }
    None
}

/// The calls and the place of an instruction; where only a header of the toolchain is named (without
/// `inlined_at`), those of the nearest instructions in its block that have more, behind it and before it.
fn own_chains(cycle: &Cycle<'_>, id: InstructionId) -> Vec<Vec<Location>> {
    let body = cycle.body;
    let Some(block) = body.function.blocks.get(body.block_of(id).0 as usize) else { return Vec::new() };
    let is_own = |chain: &Vec<Location>| chain.iter().any(|place| file_name(cycle, place).is_some());
    let at = |index: u32| {
        let instruction = body.instruction(InstructionId(index)).filter(|_| index < block.end);
        let location = instruction.map_or(block.location, |instruction| instruction.location);
        Some(chain(cycle, location)).filter(is_own)
    };
    match at(id.0) {
        Some(chain) => vec![chain],
        None => {
            let behind = (id.0 + 1..=block.end).find_map(at);
            behind.into_iter().chain((block.first..id.0).rev().find_map(at)).collect()
        }
    }
}

/// The file of a place, unless it is known not to be the user's.
fn file_name<'a>(cycle: &Cycle<'a>, place: &Location) -> Option<&'a str> {
    let places = cycle.kernel.places;
    let file = places.module.files.get(place.file.0 as usize)?;
    let own = match places.options.main_source {
        Some(main) => main == file,
        None => !file.contains("/include/"),
    };
    own.then_some(file)
}

/// First and last line of the innermost loop statement around a place.
fn loop_around(cycle: &Cycle<'_>, place: &Location) -> Option<(u32, u32)> {
    let places = cycle.kernel.places;
    let file = file_name(cycle, place)?;
    let first = place.line.saturating_sub(LINES_ABOVE).max(1);
    let mut text = String::new();
    for line in first..place.line + LINES_BELOW {
        match (places.options.source_line)(file, line) {
            Some(line) => text.push_str(&line),
            None if line <= place.line => return None,
            None => break,
        }
        text.push('\n');
    }
    let line = place.line - first;
    let around = loops(&text).into_iter().filter(|(from, to)| (*from..=*to).contains(&line));
    around.min_by_key(|(from, to)| to - from).map(|(from, to)| (from + first, to + first))
}

/// Lines of the loop statements of a text in a language with braces, counted from 0.
fn loops(text: &str) -> Vec<(u32, u32)> {
    let code = without_comments(text);
    let is_part = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let mut found = Vec::new();
    let mut at = 0;
    let mut line = 0;
    while let Some(&c) = code.get(at) {
        if !is_part(c) {
            line += u32::from(c == b'\n');
            at += 1;
            continue;
        }
        let end = (at..code.len()).find(|&i| !code.get(i).is_some_and(|&c| is_part(c))).unwrap_or(code.len());
        let header = match code.get(at..end) {
            Some(b"for" | b"while") => Some(true),
            Some(b"do") => Some(false),
            _ => None,
        };
        if let Some(header) = header
            && let Some(last) = statement_end(&code, end, header)
        {
            let lines = code.get(at..last).unwrap_or(&[]).iter().filter(|&&c| c == b'\n').count();
            found.push((line, line + lines as u32));
        }
        at = end;
    }
    found
}

/// The end of the statement behind a loop's keyword, its header in parentheses first.
fn statement_end(code: &[u8], from: usize, header: bool) -> Option<usize> {
    let skip = |mut at: usize| {
        while code.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    };
    let mut at = skip(from);
    if header {
        if code.get(at) != Some(&b'(') {
            return None;
        }
        at = skip(matching(code, at)?);
    }
    let mut depth = 0;
    while let Some(&c) = code.get(at) {
        match c {
            b'{' if depth == 0 => return matching(code, at),
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b';' if depth <= 0 => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// One past the bracket that closes the one at `from`.
fn matching(code: &[u8], from: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, &c) in code.iter().enumerate().skip(from) {
        match c {
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// The text with comments and literals blanked; lines stay.
fn without_comments(text: &str) -> Vec<u8> {
    let mut code = text.as_bytes().to_vec();
    let mut at = 0;
    while let Some(&c) = code.get(at) {
        let end = match (c, code.get(at + 1)) {
            (b'/', Some(b'/')) => code.iter().skip(at).position(|&c| c == b'\n').map(|n| at + n),
            (b'/', Some(b'*')) => code
                .get(at + 2..)
                .and_then(|rest| rest.windows(2).position(|pair| pair == b"*/").map(|n| at + n + 4)),
            (b'"' | b'\'', _) => {
                let mut end = at + 1;
                while code.get(end).is_some_and(|&other| other != c && other != b'\n') {
                    end += 1 + usize::from(code.get(end) == Some(&b'\\'));
                }
                Some(end + 1)
            }
            _ => {
                at += 1;
                continue;
            }
        };
        let end = end.unwrap_or(code.len()).min(code.len());
        for place in code.iter_mut().take(end).skip(at) {
            if *place != b'\n' {
                *place = b' ';
            }
        }
        at = end.max(at + 1);
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loop_statements_have_extents() {
        let cases: [(&str, &[(u32, u32)]); 6] = [
            ("while (f(x)) {}\ng();", &[(0, 0)]),
            ("for (int i = 0;\n i < 3; ++i) {\n  a;\n}\nb;", &[(0, 3)]),
            ("do {\n x = f();\n} while (x);\ny;", &[(0, 2), (2, 2)]),
            ("for (;;)\n  while (a[i])\n    b;\nc;", &[(0, 2), (1, 2)]),
            ("// while (1) {\n/* for (;;) { */ s = \"do {\"; c = '{';", &[]),
            ("doing = 1; format(x); while_(y);", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(loops(text), expected, "{text}");
        }
    }
}
