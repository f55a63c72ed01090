//! Strings in `.debug_str`, which `.loc … function_name` refers to by label.

use crate::span::Span;
use crate::syntax::Module;

impl Module<'_> {
    /// The string at a label of a debug section plus an offset in bytes, or at the start of the section
    /// itself when `label` is its name. `None` where the label or the string's end is not found.
    pub fn debug_name(&self, label: Span, offset: u32) -> Option<String> {
        let label = self.str(label);
        if label.is_empty() {
            return None;
        }
        self.sections.iter().find_map(|section| {
            let content = self.str(section.content);
            let name = self.str(section.name);
            let start = match name.strip_prefix('.') == Some(label) {
                true => 0,
                false => label_end(content, label)?,
            };
            string(content.get(start..)?, offset as usize)
        })
    }
}

/// Where the label's colon ends.
fn label_end(content: &str, label: &str) -> Option<usize> {
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%');
    content.match_indices(label).find_map(|(at, _)| {
        let before = content.as_bytes().get(..at)?.last();
        let rest = content.get(at + label.len()..)?;
        (!before.is_some_and(name) && rest.starts_with(':')).then_some(at + label.len() + 1)
    })
}

/// The zero-terminated string of `.b8` values, `skip` bytes in.
fn string(content: &str, skip: usize) -> Option<String> {
    let values =
        content.split([',', ' ', '\t', '\n', '\r', ';']).filter_map(|word| match word.strip_prefix("0x") {
            Some(digits) => u8::from_str_radix(digits, 16).ok(),
            None => word.parse::<u8>().ok(),
        });
    let mut bytes = Vec::new();
    for value in values.skip(skip) {
        if value == 0 {
            return String::from_utf8(bytes).ok();
        }
        bytes.push(value);
    }
    None
}
