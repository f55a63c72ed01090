//! Several PTX texts as one, as a linker does it for relocatable device code (`-rdc=true`).
//!
//! What is visible has one name in all of them. What is a text's own gets a name that no other has, and so do the
//! files and strings of its line table. A declaration goes where another text has the definition.

use std::collections::HashSet;
use std::fmt::Write;

use standstill_ptx::syntax::variable::Linkage;

/// What separates a text's own names from its number.
const OWN: &str = "$unit";

/// How the labels of the line table's strings begin.
const LINE_TABLE_LABEL: &str = "$L__info_string";

/// What one text has of its own and for the others.
struct Unit<'a> {
    text: &'a str,
    own: HashSet<String>,
    defined: HashSet<String>,
    /// One more than its highest file number.
    files: u32,
}

impl<'a> Unit<'a> {
    fn new(text: &'a str) -> Unit<'a> {
        let module = standstill_ptx::parse(text);
        let mut unit = Unit { text, own: HashSet::new(), defined: HashSet::new(), files: 0 };
        for variable in module.globals.iter().filter_map(|index| module.variables.get(*index as usize)) {
            let name = module.str(variable.name).to_owned();
            match variable.linkage {
                Linkage::Internal => unit.own.insert(name),
                Linkage::Extern => false,
                _ => unit.defined.insert(name),
            };
        }
        for function in module.functions.iter().filter(|function| function.defined) {
            if function.linkage == Linkage::Internal {
                unit.own.insert(module.str(function.name).to_owned());
            }
        }
        unit.files = module.files.iter().map(|file| file.index.saturating_add(1)).max().unwrap_or(0);
        unit
    }
}

/// One PTX text with the contents of all.
#[must_use]
pub fn link(texts: &[String]) -> String {
    let units: Vec<Unit<'_>> = texts.iter().map(|text| Unit::new(text)).collect();
    let defined: HashSet<&str> = units.iter().flat_map(|unit| &unit.defined).map(String::as_str).collect();
    let mut out = String::new();
    let mut first_file = 0;
    for (number, unit) in units.iter().enumerate() {
        for line in unit.text.split_inclusive('\n') {
            add_line(&mut out, line, unit, number, first_file, &defined);
        }
        out.push('\n');
        first_file += unit.files;
    }
    out
}

fn add_line(
    out: &mut String,
    line: &str,
    unit: &Unit<'_>,
    number: usize,
    first_file: u32,
    defined: &HashSet<&str>,
) {
    let start = line.trim_start();
    let begins = |words: &[&str]| words.iter().any(|word| start.starts_with(word));
    if number > 0 && begins(&[".version", ".target", ".address_size"]) {
        return;
    }
    if begins(&[".extern .global", ".extern .const"]) && names(start).any(|name| defined.contains(name)) {
        return;
    }
    if first_file > 0 && begins(&[".file", ".loc"]) {
        add_place(out, line, first_file, number);
        return;
    }
    let mut last = 0;
    for name in names(line) {
        // The name is a piece of the line.
        let at = name.as_ptr() as usize - line.as_ptr() as usize;
        if unit.own.contains(name) || name.starts_with(LINE_TABLE_LABEL) {
            out.push_str(line.get(last..at + name.len()).unwrap_or_default());
            let _ = write!(out, "{OWN}{number}");
            last = at + name.len();
        }
    }
    out.push_str(line.get(last..).unwrap_or_default());
}

/// `.file N …`, `.loc N line column, function_name label, inlined_at N line column`.
fn add_place(out: &mut String, line: &str, first_file: u32, number: usize) {
    let mut is_file = false;
    for word in line.split_inclusive([' ', '\t', '\n']) {
        let bare = word.trim_end();
        let after = word.get(bare.len()..).unwrap_or_default();
        match bare.parse::<u32>() {
            Ok(file) if is_file => {
                let _ = write!(out, "{}{after}", file.saturating_add(first_file));
                is_file = false;
            }
            _ if bare.starts_with(LINE_TABLE_LABEL) => {
                let label = bare.trim_end_matches(',');
                let comma = bare.get(label.len()..).unwrap_or_default();
                let _ = write!(out, "{label}{OWN}{number}{comma}{after}");
            }
            _ => {
                out.push_str(word);
                if !bare.is_empty() {
                    is_file = matches!(bare, ".file" | ".loc" | "inlined_at");
                }
            }
        }
    }
}

/// The identifiers of a line (PTX ISA, «Identifiers»), outside of its comment.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or(line);
    code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '%'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_names_are_told_apart_and_declarations_give_way() {
        let head = ".version 8.0\n.target sm_90\n.address_size 64\n";
        let first = format!(
            "{head}.extern .func twice();\n.extern .global .align 4 .u32 both;\n.global .u32 mine = 1;\n\
             .visible .entry k() {{\n.loc 1 5 0\nld.global.u32 %r1, [mine];\ncall twice;\nret;\n}}\n\
             .file 1 \"a.cu\"\n"
        );
        let second = format!(
            "{head}.visible .global .align 4 .u32 both = 7;\n.global .u32 mine = 2;\n\
             .visible .func twice() {{\n.loc 1 9 3, function_name $L__info_string0, inlined_at 1 2 3\nret;\n}}\n\
             .file 1 \"b.cu\"\n"
        );
        let text = link(&[first, second]);
        let image = crate::Image::from_text(text.clone(), 0, std::collections::HashMap::new());
        assert_eq!(image.syntax_error(), None, "{text}");
        assert_eq!(image.program().module().files, ["", "a.cu", "", "b.cu"]);
        let variables: Vec<_> = image.program().module().variables.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(variables, ["mine$unit0", "both", "mine$unit1"]);
        assert!(
            text.contains(".loc 3 9 3, function_name $L__info_string0$unit1, inlined_at 3 2 3"),
            "{text}"
        );
        assert!(image.kernel("k").is_some());
    }
}
