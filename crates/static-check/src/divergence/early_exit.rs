//! An early return told from a condition around the rest.

use super::*;

/// Whether the threads that a branch keeps from `block` leave the kernel without coming back to the others.
///
/// In machine form an early `return` and an `if` around all the rest look alike; the user's own line tells
/// them apart where it can be read.
pub(super) fn leaves_early(kernel: &Kernel<'_>, branch: BlockId, block: BlockId) -> bool {
    let body = kernel.body;
    let mut reach = Reachability::new(&body.flow);
    let mut straight = false;
    let leaves = body.flow.successors(branch).iter().any(|&to| {
        if to == block || reach.block_reaches(to, block) {
            return false;
        }
        straight |= ends_at_once(body, to);
        body.flow.reverse_postorder().iter().all(|&at| {
            let on_the_way = at == to || reach.block_reaches(to, at);
            let barrier =
                body.function.instructions_of(at).iter().any(|i| matches!(i.op, Op::Barrier { .. }));
            !on_the_way || !barrier && (!reach.block_reaches(block, at) || ends_at_once(body, at))
        })
    });
    if !leaves {
        return false;
    }
    let span = kernel.places.branch(branch, "");
    let lines: Vec<String> =
        (0..40).map_while(|more| (kernel.options.source_line)(&span.file, span.line + more)).collect();
    let around = body.loops.innermost(block);
    match controlled_statement(&lines) {
        Some(statement) => has_word(&statement, "return") || has_word(&statement, "exit"),
        None if lines.is_empty() => straight && around.is_none_or(|id| !body.loops.contains(id, branch)),
        None => false,
    }
}

/// The statement under the `if` or `switch` that the first line begins; `None` when it begins none.
fn controlled_statement(lines: &[String]) -> Option<String> {
    if let Some(block) = python_block(lines) {
        return Some(block);
    }
    let code: Vec<&str> = lines.iter().map(|line| line.split("//").next().unwrap_or("")).collect();
    let first = code.first()?;
    let keyword = ["if", "switch"].into_iter().find(|keyword| has_word(first, keyword))?;
    let text = code.join("\n");
    let mut depth = 0i32;
    let mut braces = 0i32;
    let mut statement = String::new();
    let mut in_condition = true;
    for c in text.get(text.find(keyword)? + keyword.len()..)?.chars() {
        if in_condition {
            depth += i32::from(c == '(') - i32::from(c == ')');
            in_condition = depth > 0 || c != ')';
            continue;
        }
        statement.push(c);
        braces += i32::from(c == '{') - i32::from(c == '}');
        if braces == 0 && (c == ';' || c == '}') {
            break;
        }
    }
    Some(statement)
}

/// The statements under the `if` of a Python source (Numba, Triton) that the first line begins.
fn python_block(lines: &[String]) -> Option<String> {
    let code = |line: &String| line.split('#').next().unwrap_or("").trim_end().to_owned();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let first = code(lines.first()?);
    let condition = first.trim_start().strip_prefix("if ")?;
    if let Some((_, rest)) = condition.split_once(": ") {
        return Some(rest.to_owned());
    }
    condition.strip_suffix(':')?;
    let block = lines.iter().skip(1).map(code).take_while(|l| l.is_empty() || depth(l) > depth(&first));
    Some(block.collect::<Vec<_>>().join("\n"))
}

fn has_word(code: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code.get(..at).and_then(|s| s.chars().next_back());
        let after = code.get(at + word.len()..).and_then(|s| s.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Whether nothing happens from a block on but the end of the kernel.
pub(super) fn ends_at_once(body: &Body, from: BlockId) -> bool {
    let mut block = from;
    for _ in 0..8 {
        let Some(code) = body.function.blocks.get(block.0 as usize) else { return false };
        let idle =
            body.function.instructions_of(block).iter().all(|i| matches!(i.op, Op::Arithmetic(_) | Op::Hint));
        match code.terminator {
            Terminator::Return | Terminator::Exit => return idle,
            Terminator::Jump(to) if idle => block = to,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_under_an_if() {
        let cases: [(&[&str], Option<&str>); 6] = [
            (&["  if (i >= n) return;", "  x = 1;"], Some(" return;")),
            (&["    if i >= x.size:", "        return", "    s[t] = x[i]"], Some("        return")),
            (&["    if i >= x.size: return", "    s[t] = x[i]"], Some("return")),
            (&["    if t == 0:  # one", "", "        acc = 0", "    return"], Some("\n        acc = 0")),
            (&["    x = 1"], None),
            (&[], None),
        ];
        for (lines, expected) in cases {
            let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
            assert_eq!(controlled_statement(&lines).as_deref(), expected, "{lines:?}");
        }
    }
}
