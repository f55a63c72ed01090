//! Kernel headers in source text: the names of kernels and of their parameters.

/// The header of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KernelHeader {
    /// The kernel's name, without namespaces and template arguments.
    pub(crate) name: String,
    /// The names of its parameters; empty for one without a name.
    pub(crate) parameters: Vec<String>,
}

/// The headers of all kernels of a CUDA C++ source.
pub(crate) fn kernels(text: &str) -> Vec<KernelHeader> {
    let text = without_comments(text);
    let mut found = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(KERNEL) {
        rest = rest.get(at + KERNEL.len()..).unwrap_or_default();
        let Some((name, list)) = name_and_list(rest) else { continue };
        let Some(parameters) = matching(list).and_then(|end| list.get(1..end)) else { continue };
        found.push(KernelHeader { name: name.to_owned(), parameters: parameter_names(parameters) });
    }
    found
}

/// The name of the first kernel whose header begins in `text`: the identifier before the first
/// parenthesis after `__global__`, the name after `.entry`, or that of the function after `#[kernel]`.
pub(crate) fn next_kernel(text: &str) -> Option<&str> {
    let cuda = text.find(KERNEL).map(|at| at + KERNEL.len());
    let ptx = text.find(".entry").map(|at| at + ".entry".len());
    if let Some(at) = text.find(RUST_KERNEL).filter(|at| cuda.or(ptx).is_none_or(|other| *at < other)) {
        let (_, header) = text.get(at..)?.split_once("fn ")?;
        return header.split(|c: char| !is_part(c)).next();
    }
    if let Some(at) = ptx.filter(|ptx| cuda.is_none_or(|cuda| *ptx < cuda)) {
        return text.get(at..)?.trim_start().split(|c: char| c.is_whitespace() || c == '(').next();
    }
    name_and_list(text.get(cuda?..)?).map(|(name, _)| name)
}

const KERNEL: &str = "__global__";
const RUST_KERNEL: &str = "#[kernel]";

/// A kernel's name and the text from the parenthesis that opens its parameters, behind `__global__`.
fn name_and_list(text: &str) -> Option<(&str, &str)> {
    let mut rest = text;
    loop {
        let open = rest.find(['(', '{', ';'])?;
        let name = identifier_at_end(rest.get(..open)?);
        rest = rest.get(open..)?;
        // Attributes such as `__launch_bounds__(256)` and `__align__(8)` stand before the name.
        if !rest.starts_with('(') || !name.starts_with("__") {
            return (rest.starts_with('(') && !name.is_empty()).then_some((name, rest));
        }
        rest = rest.get(rest.find(')')? + 1..)?;
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The identifier at the end of a header's text: `f` in `void f`, and `f` in the explicit
/// specialisation `void f<int>`.
fn identifier_at_end(text: &str) -> &str {
    let mut text = text.trim_end();
    if text.ends_with('>') {
        text = text.get(..text.find('<').unwrap_or(text.len())).unwrap_or_default().trim_end();
    }
    let start =
        text.char_indices().rev().take_while(|(_, c)| is_part(*c)).last().map_or(text.len(), |(at, _)| at);
    text.get(start..).unwrap_or_default()
}

/// Where the parenthesis at the start of `text` is closed.
fn matching(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The names in a parameter list.
fn parameter_names(list: &str) -> Vec<String> {
    if list.trim().is_empty() || list.trim() == "void" {
        return Vec::new();
    }
    let mut names = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth <= 0 || at == list.len() => {
                names.push(parameter_name(list.get(start..at).unwrap_or_default()));
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

/// Last words of declarations that name a type and no parameter.
const TYPE_WORDS: [&str; 13] = [
    "bool", "char", "const", "double", "float", "int", "long", "restrict", "short", "signed", "unsigned",
    "void", "volatile",
];

/// The name that a parameter's declaration gives it; empty without one, and for a pack of parameters.
fn parameter_name(declaration: &str) -> String {
    let declared = declaration.split('=').next().unwrap_or_default();
    let declared = declared.split('[').next().unwrap_or_default().trim_end();
    let name = identifier_at_end(declared);
    let before = declared.get(..declared.len() - name.len()).unwrap_or_default().trim();
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !TYPE_WORDS.contains(&name)
        && !name.starts_with("__")
        && !before.is_empty()
        && !before.ends_with("::")
        && !declared.ends_with('>')
        && !["const", "volatile", "struct", "class", "enum", "typename"].contains(&before)
        && !declared.contains("...");
    if is_name { name.to_owned() } else { String::new() }
}

/// The text with comments and literals blanked; lines stay where they are.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"', '\'']) {
        let (before, found) = rest.split_at(at);
        code.push_str(before);
        let end = match found.as_bytes() {
            [b'/', b'/', ..] => found.find('\n').unwrap_or(found.len()),
            [b'/', b'*', ..] => found.find("*/").map_or(found.len(), |end| end + 2),
            [quote @ (b'"' | b'\''), ..] => literal_end(found, char::from(*quote)),
            _ => {
                code.push('/');
                rest = found.get(1..).unwrap_or_default();
                continue;
            }
        };
        let (blanked, after) = found.split_at(end);
        code.extend(blanked.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = after;
    }
    code.push_str(rest);
    code
}

/// One past the end of the literal at the start of `text`, or of its line.
fn literal_end(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return at,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &[&str])]) {
        let found = kernels(text);
        let found: Vec<(&str, Vec<&str>)> = found
            .iter()
            .map(|k| (k.name.as_str(), k.parameters.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<(&str, Vec<&str>)> = expected.iter().map(|(n, p)| (*n, p.to_vec())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn parameters_have_the_names_of_the_header() {
        check(
            "__global__ void handoff(const int *__restrict__ in, int* out, volatile unsigned &flag) {}",
            &[("handoff", &["in", "out", "flag"])],
        );
        check(
            "extern \"C\" __global__ void __launch_bounds__(256, 2) scan(std::array<int, 4> a, int n = f(1, 2));",
            &[("scan", &["a", "n"])],
        );
        check(
            "/* __global__ void old(int a) */\ntemplate <typename T, int N>\n__global__ // (the fast one)\nvoid k(\n  \
             T *data, // (in, out)\n  int sizes[4],\n  cuda::atomic<int> *done)\n{}\n__global__ void none() {}",
            &[("k", &["data", "sizes", "done"]), ("none", &[])],
        );
    }

    #[test]
    fn what_has_no_name_gets_none() {
        check(
            "__global__ void k(int, unsigned int, float *, size_t, const Point, ns::Box, V<int> , Args... more, \
             void (*call)(int x), int last)",
            &[("k", &["", "", "", "", "", "", "", "", "", "last"])],
        );
        check("__global__ void k(void)", &[("k", &[])]);
        check("__global__ void k(int a", &[]);
        check("#define KERNEL __global__ void\nint x; \"__global__ void s(int a)\"", &[]);
    }

    #[test]
    fn every_text_has_an_end() {
        for text in ["__global__", "__global__ f(", "\"", "'\\", "/*", "__global__ void f((((", "/", "'é"] {
            kernels(text);
            next_kernel(text);
        }
    }
}
