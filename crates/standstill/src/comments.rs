//! Comments that speak to the checker: `// standstill: allow(rule, …)` and
//! `// standstill: launch(block = 256, grid = 4, p2 = 1000)`.

use standstill_findings::Rule;
use standstill_kernel_ir::launch::LaunchShape;
use standstill_report::SourceText;

use crate::assume::parse_position;
use crate::headers::next_kernel;
use crate::launch::{parse_block, parse_cluster, parse_grid, parse_integer};

/// A launch that a comment beside a kernel describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaunchComment {
    /// The kernel's name in the source.
    pub(crate) kernel: String,
    /// What the comment says.
    pub(crate) shape: LaunchShape,
}

/// A comment that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommentError {
    /// Line, from 1.
    pub(crate) line: u32,
    /// What is wrong.
    pub(crate) message: String,
}

const MARK: &str = "standstill:";

/// The content of `word(…)` of each checker comment in `line`.
fn calls<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let comment = line.find("//").or_else(|| line.find("/*")).and_then(|at| line.get(at..)).unwrap_or("");
    comment.split(MARK).skip(1).filter_map(move |text| {
        let inner = text.trim_start().strip_prefix(word)?.trim_start().strip_prefix('(')?;
        Some(inner.split_once(')').map_or(inner, |(inner, _)| inner))
    })
}

/// Whether `text` silences `rule` on `line` (from 1): by a comment on the line, or by one that stands
/// alone on the line above.
pub(crate) fn allows(text: &SourceText, line: u32, rule: Rule) -> bool {
    let Some(own) = text.line(line) else { return false };
    let above = text.line(line.saturating_sub(1)).filter(|line| line.trim_start().starts_with("//"));
    [Some(own), above].into_iter().flatten().any(|line| allows_on(line, rule))
}

fn allows_on(line: &str, rule: Rule) -> bool {
    calls(line, "allow").flat_map(|list| list.split(',')).any(|name| Rule::find(name.trim()).contains(&rule))
}

/// The launch comments of a CUDA source or PTX text. A comment belongs to the kernel whose header is
/// on its line or comes next.
pub(crate) fn launches(text: &str) -> (Vec<LaunchComment>, Vec<CommentError>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    let mut done = 0;
    // Nearly all of many megabytes is no such comment.
    for at in memchr::memmem::find_iter(text.as_bytes(), MARK) {
        if at < done {
            continue;
        }
        let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        let end = text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| end + at);
        done = end;
        let line = text.get(start..end).unwrap_or_default();
        for inner in calls(line, "launch") {
            let number = || text.get(..start).map_or(0, |before| before.matches('\n').count() as u32) + 1;
            let parsed = parse_launch(inner).and_then(|shape| {
                let kernel = next_kernel(text.get(start..).unwrap_or_default());
                let kernel = kernel.ok_or_else(|| "no kernel follows this launch comment".to_owned())?;
                Ok(LaunchComment { kernel: kernel.to_owned(), shape })
            });
            match parsed {
                Ok(launch) => found.push(launch),
                Err(message) => errors.push(CommentError { line: number(), message }),
            }
        }
    }
    (found, errors)
}

fn parse_launch(inner: &str) -> Result<LaunchShape, String> {
    let mut shape = LaunchShape::default();
    for part in inner.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let form = || format!("`{part}` in a launch comment is not of the form key = value");
        let (key, value) = part.split_once('=').ok_or_else(form)?;
        let (key, value) = (key.trim(), value.trim());
        match key {
            "block" => shape.block = Some(parse_block(value)?),
            "grid" => shape.grid = Some(parse_grid(value)?),
            "cluster" => shape.cluster = Some(parse_cluster(value)?),
            _ => {
                let unknown =
                    || format!("`{key}` in a launch comment is none of block, grid, cluster, p0, p1, …");
                let position = parse_position(key).ok_or_else(unknown)?;
                let value = parse_integer(value).ok_or_else(|| format!("`{value}` is not an integer"))?;
                shape.parameters.insert(position, value);
            }
        }
    }
    Ok(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_silences_its_line() {
        let text =
            "a;\nb; // standstill: allow(divergent-barrier, E0105)\nc;\n  // standstill: allow(aba)\nd;\n";
        let text = SourceText::from(text);
        let quoted = |end| SourceText::from(format!("x = \"standstill: allow(aba)\"{end}"));
        assert!(allows(&text, 2, Rule::DivergentBarrier));
        assert!(allows(&text, 2, Rule::WaitCycle));
        assert!(!allows(&text, 2, Rule::Aba));
        assert!(!allows(&text, 3, Rule::WaitCycle), "a comment behind code is for its own line");
        assert!(allows(&text, 5, Rule::Aba));
        assert!(!allows(&text, 1, Rule::WaitCycle));
        assert!(!allows(&text, 0, Rule::WaitCycle));
        assert!(!allows(&text, 99, Rule::WaitCycle));
        assert!(allows(&quoted("; // standstill:allow( aba )"), 1, Rule::Aba));
        assert!(!allows(&quoted(";"), 1, Rule::Aba));
    }

    /// Kernel, block and parameters of each launch comment.
    type Expected<'a> = (&'a str, Option<[u32; 3]>, &'a [(usize, i64)]);

    fn check_launches(text: &str, expected: &[Expected<'_>]) {
        let (found, errors) = launches(text);
        assert_eq!(errors, []);
        let found: Vec<_> = found
            .iter()
            .map(|l| {
                (l.kernel.as_str(), l.shape.block, l.shape.parameters.clone().into_iter().collect::<Vec<_>>())
            })
            .collect();
        let expected: Vec<_> = expected.iter().map(|(name, block, p)| (*name, *block, p.to_vec())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_launch_belongs_to_the_next_kernel() {
        check_launches(
            "// standstill: launch(block = 256, grid = 4, p2 = 1000)\ntemplate <class T>\n\
             __global__ void __launch_bounds__(256, 2) scan(T *p) { f(); }\n\
             __global__ void other(int n); // standstill: launch(block = 32x8)\n",
            &[("scan", Some([256, 1, 1]), &[(2, 1000)]), ("other", Some([32, 8, 1]), &[])],
        );
        check_launches(
            "// standstill: launch(p0=-1)\n.visible .entry _Z1kPi(\n",
            &[("_Z1kPi", None, &[(0, -1)])],
        );
        check_launches(
            "// standstill: launch(grid = 2)\ntemplate<> __global__ void k<int>(int)",
            &[("k", None, &[])],
        );
    }

    #[test]
    fn a_wrong_launch_comment_names_its_line() {
        let check = |text: &str, line, part: &str| {
            let (found, errors) = launches(text);
            assert_eq!(found, []);
            assert_eq!(errors.first().map(|e| e.line), Some(line));
            assert!(errors.iter().all(|e| e.message.contains(part)), "{errors:?}");
        };
        check("\n// standstill: launch(block = 0)\n__global__ void k() {}", 2, "at least 1");
        check("// standstill: launch(n = 4)\n__global__ void k() {}", 1, "none of block");
        check("// standstill: launch(block)\n__global__ void k() {}", 1, "key = value");
        check("int x;\n\n// standstill: launch(block = 4)\n", 3, "no kernel follows");
    }
}
