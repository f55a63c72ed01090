//! From a span to the piece of source that it stands for.

use std::ops::Range;

use standstill_findings::Span;

use crate::SourceText;

/// Spans further apart than this many lines are shown in separate pieces of source.
const NEIGHBOURHOOD: u32 = 200;

/// A piece of one source file with the spans that fall into it.
pub(crate) struct Piece<'a> {
    /// Line number of the first line, from 1.
    pub(crate) first_line: u32,
    /// The lines from there on.
    pub(crate) text: &'a str,
    /// Byte ranges in `text`, with the spans that they stand for.
    pub(crate) spans: Vec<(Range<usize>, &'a Span)>,
}

/// Cuts the pieces of `text` that show `spans` (all of one file), in the order of lines, the one
/// with the primary span first. `None` when a span names a line that the text does not have.
pub(crate) fn pieces<'a>(text: &'a SourceText, spans: &[&'a Span]) -> Option<Vec<Piece<'a>>> {
    let mut sorted: Vec<&Span> = spans.to_vec();
    sorted.sort_by_key(|span| (span.line, span.column));
    let mut groups: Vec<Vec<&Span>> = Vec::new();
    for span in sorted {
        match groups.last_mut() {
            Some(group)
                if group.last().is_some_and(|last| span.line.abs_diff(last.line) <= NEIGHBOURHOOD) =>
            {
                group.push(span);
            }
            _ => groups.push(vec![span]),
        }
    }
    let mut pieces = groups.into_iter().map(|group| piece(text, &group)).collect::<Option<Vec<_>>>()?;
    pieces.sort_by_key(|piece| !piece.spans.iter().any(|(_, span)| span.primary));
    Some(pieces)
}

fn piece<'a>(source: &'a SourceText, spans: &[&'a Span]) -> Option<Piece<'a>> {
    let (first, last) = (spans.first()?.line, spans.last()?.line);
    let (text, start) = (&**source, source.line_start(first)?);
    let mut at = start;
    let mut ranges = Vec::new();
    let mut spans = spans.iter().peekable();
    for number in first..=last {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = rest.get(..end)?;
        while let Some(span) = spans.next_if(|span| span.line == number) {
            let Range { start: from, end: to } = covered(line, span);
            ranges.push((at - start + from..at - start + to, *span));
        }
        at += end;
    }
    Some(Piece { first_line: first, text: text.get(start..at)?, spans: ranges })
}

/// The bytes of `line` that a span covers.
fn covered(line: &str, span: &Span) -> Range<usize> {
    let begin = (span.column as usize).saturating_sub(1);
    let end = begin + span.width as usize;
    match span.width > 0 && span.column > 0 && line.get(begin..end).is_some() {
        true => begin..end,
        false => extent(line, span.column),
    }
}

/// The bytes of `line` that a column (from 1, in bytes; 0 for the whole line) stands for: the name
/// that starts there with its members, and the parentheses behind it.
fn extent(line: &str, column: u32) -> Range<usize> {
    let code = without_comment(line);
    let whole = {
        let begin = code.len() - code.trim_start().len();
        begin..code.trim_end().len().max(begin)
    };
    let begin = match (column as usize).checked_sub(1) {
        None => return whole,
        Some(begin) if begin >= code.trim_end().len() || !code.is_char_boundary(begin) => return whole,
        Some(begin) => begin,
    };
    let bytes = code.as_bytes();
    let word = |at: usize| {
        bytes
            .get(at)
            .is_some_and(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%') || *b >= 0x80)
    };
    let mut end = begin;
    loop {
        while word(end) {
            end += 1;
        }
        let link = match bytes.get(end..) {
            Some([b'.', ..]) => 1,
            Some([b'-', b'>', ..]) | Some([b':', b':', ..]) => 2,
            _ => break,
        };
        if end == begin || !word(end + link) {
            break;
        }
        end += link;
    }
    if end == begin {
        let letter = code.get(begin..).and_then(|rest| rest.chars().next());
        return begin..begin + letter.map_or(1, char::len_utf8);
    }
    let spaces = bytes.get(end..).map_or(0, |rest| rest.iter().take_while(|b| **b == b' ').count());
    match closing(bytes, end + spaces) {
        Some(close) => begin..close + 1,
        None => begin..end,
    }
}

/// The index of the parenthesis that closes the one at `open` on the same line.
fn closing(bytes: &[u8], open: usize) -> Option<usize> {
    if bytes.get(open) != Some(&b'(') {
        return None;
    }
    let mut depth = 0usize;
    for (index, byte) in bytes.iter().enumerate().skip(open) {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

fn without_comment(line: &str) -> &str {
    let line = line.trim_end_matches(['\n', '\r']);
    line.find("//").filter(|at| !line[..*at].trim().is_empty()).map_or(line, |at| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_stands_for_what_starts_there() {
        let check = |line: &str, column, expected: &str| assert_eq!(&line[extent(line, column)], expected);
        check("    __syncthreads(); // all\n", 5, "__syncthreads()");
        check("    if (threadIdx.x < f(2)) {\n", 5, "if (threadIdx.x < f(2))");
        check("    if (threadIdx.x < 128) {\n", 9, "threadIdx.x");
        check("    cg::this_grid().sync();\n", 5, "cg::this_grid()");
        check("    tile[i] = x;\n", 5, "tile");
        check("    tile[i] = x;\n", 9, "[");
        check("    a += b; // why\n", 0, "a += b;");
        check("    bar.sync 0;\n", 5, "bar.sync");
        check("    a;\n", 400, "a;");
        check("    ü(1);\n", 6, "ü(1);");
        check("", 3, "");
    }

    #[test]
    fn a_width_says_how_far() {
        let line = "    if space.cell_x < 128 {\n";
        let span = |column, width| Span { width, ..Span::cause("f", 1, column, "") };
        assert_eq!(&line[covered(line, &span(8, 18))], "space.cell_x < 128");
        assert_eq!(&line[covered(line, &span(8, 0))], "space.cell_x");
        assert_eq!(&line[covered(line, &span(8, 900))], "space.cell_x");
    }

    #[test]
    fn far_apart_spans_are_separate_pieces() {
        let text = SourceText::from("x\n".repeat(1000));
        let spans =
            [Span::cause("f", 5, 1, "a"), Span::primary("f", 900, 1, "b"), Span::cause("f", 7, 1, "c")];
        let pieces = pieces(&text, &spans.iter().collect::<Vec<_>>()).unwrap();
        let starts: Vec<(u32, usize)> = pieces.iter().map(|p| (p.first_line, p.spans.len())).collect();
        assert_eq!(starts, [(900, 1), (5, 2)]);
        let beyond = Span::primary("f", 1001, 1, "b");
        assert!(super::pieces(&text, &[&beyond]).is_none());
    }
}
