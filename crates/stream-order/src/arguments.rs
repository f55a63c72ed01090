//! What the arguments of a launch say of the bytes that it touches, where nobody has the kernel's code.
//!
//! A pointer says where a kernel may touch memory, and by its type whether it may write there. How far from there is not
//! known: at most up to where another pointer of the program points, because allocators hand out one allocation in
//! pieces.

use std::collections::BTreeSet;
use std::ops::Range;

use cpp_demangle::{DemangleOptions, ParseOptions, Symbol};
use standstill_trace::{Access, LaunchShape, Mode, Parameter};

use crate::launches::Extents;
use crate::library_kernels::{Library, Piece};

/// Bytes of a pointer.
pub(crate) const POINTER: u32 = 8;
/// Structures up to this size are taken to hold nothing that was never set; longer ones are arrays of a fixed length,
/// of which calls fill a part.
const STRUCTURE: u32 = 1536;

/// What a parameter is by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    /// A pointer to constant data.
    Constant,
    /// A pointer to data that the kernel may change.
    Variable,
    /// No pointer.
    Value,
    /// Words of which each may be a pointer.
    Words,
    /// Perhaps with pointers, but also with what was never set.
    Arrays,
}

/// A kernel's name and parameters.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    parameters: Vec<Parameter>,
    types: Vec<Type>,
    known: Option<Library>,
}

impl Kernel {
    pub(crate) fn new(name: String, parameters: Vec<Parameter>) -> Kernel {
        let types = types(&name, &parameters);
        let known = Library::of(&name, &parameters);
        Kernel { name, parameters, types, known }
    }

    /// Addresses in a launch's arguments, each with how it is handed over.
    pub(crate) fn pointers(&self, shape: &LaunchShape, memory: &Extents) -> Vec<(u64, Mode)> {
        // A kernel whose pointers are all to variable data was not written with the difference in mind.
        let distinguishes = self.types.contains(&Type::Constant);
        let mut found = Vec::new();
        for (Parameter { offset, bytes }, kind) in self.parameters.iter().zip(&self.types) {
            let mode = match kind {
                Type::Constant => Mode::MayRead,
                Type::Variable if distinguishes => Mode::MayWrite,
                Type::Variable | Type::Words => Mode::May,
                Type::Value | Type::Arrays => continue,
            };
            let words = (0..bytes / POINTER).map(|number| offset + number * POINTER);
            let words = words.filter_map(|place| word(&shape.arguments, place));
            found.extend(words.filter(|word| memory.find(*word).is_some()).map(|word| (word, mode)));
        }
        found
    }

    /// What a launch may touch.
    pub(crate) fn accesses(&self, shape: &LaunchShape, memory: &Extents, borders: &Borders) -> Vec<Access> {
        let mut accesses: Vec<Access> = Vec::new();
        let mut add = |access: Access| {
            if access.width > 0 && !accesses.contains(&access) {
                accesses.push(access);
            }
        };
        let known = self.known.map(|known| known.pieces(shape, &self.parameters)).unwrap_or_default();
        for Piece { address, mode, least, most } in &known {
            let Some(Range { end, .. }) = memory.find(*address) else { continue };
            let least = (*least).min(end - address);
            let most = borders.reach(*address, end).min(*most).max(least);
            let wide = if *mode == Mode::Read { Mode::MayRead } else { Mode::MayWrite };
            add(Access::bytes(*mode, *address, least));
            add(Access { exact: false, ..Access::bytes(wide, address + least, most - least) });
        }
        for (address, mode) in self.pointers(shape, memory) {
            let Some(Range { end, .. }) = memory.find(address) else { continue };
            if known.iter().any(|piece| piece.address == address) {
                continue;
            }
            add(Access::bytes(mode, address, 1));
            let rest = borders.reach(address, end) - 1;
            add(Access { exact: false, ..Access::bytes(mode, address + 1, rest) });
        }
        accesses
    }
}

/// A word of the arguments.
pub(crate) fn word(arguments: &[u8], place: u32) -> Option<u64> {
    let word = arguments.get(place as usize..)?.first_chunk()?;
    Some(u64::from_le_bytes(*word))
}

/// Every address that any call of the program was given.
#[derive(Debug, Default)]
pub(crate) struct Borders(BTreeSet<u64>);

impl Borders {
    pub(crate) fn add(&mut self, address: u64) {
        self.0.insert(address);
    }

    /// Bytes from an address to the next one that was given, or to the end of the allocation; at least one.
    fn reach(&self, address: u64, end: u64) -> u64 {
        let next = self.0.range(address.saturating_add(1)..).next().copied().unwrap_or(u64::MAX);
        next.min(end).saturating_sub(address).max(1)
    }
}

/// What each parameter is: by the types in a mangled name, else by its size.
fn types(name: &str, parameters: &[Parameter]) -> Vec<Type> {
    let named = written_types(name).filter(|types| types.len() == parameters.len());
    let by_size =
        |parameter: &Parameter| if parameter.bytes > STRUCTURE { Type::Arrays } else { Type::Words };
    let Some(named) = named else { return parameters.iter().map(by_size).collect() };
    let by_name = |(name, parameter): (&String, &Parameter)| {
        if name.ends_with('*') || name.ends_with('&') {
            let pointed = name.trim_end_matches(['*', '&']);
            // The first star from the right is the pointer's own.
            let constant = name.len() - pointed.len() == 1 && pointed.trim_end().ends_with("const");
            if constant { Type::Constant } else { Type::Variable }
        } else if NUMBERS.contains(&name.as_str()) {
            Type::Value
        } else if name.contains("Metadata") {
            Type::Arrays
        } else {
            by_size(parameter)
        }
    };
    named.iter().zip(parameters).map(by_name).collect()
}

/// Types of eight bytes that hold no address.
const NUMBERS: &[&str] = &["long", "unsigned long", "long long", "unsigned long long", "double"];

/// The types of a function's parameters as its mangled name has them.
fn written_types(symbol: &str) -> Option<Vec<String>> {
    // Deep nesting in hostile input must not exhaust the stack.
    const RECURSION: u32 = 128;
    let options = ParseOptions::default().recursion_limit(RECURSION);
    let parsed = Symbol::new_with_options(symbol, &options).ok()?;
    let text = parsed.demangle_with_options(&DemangleOptions::new().recursion_limit(RECURSION)).ok()?;
    let list = last_parentheses(&text)?;
    Some(split(list))
}

/// What stands in the last pair of parentheses that is not inside of another.
fn last_parentheses(text: &str) -> Option<&str> {
    let inner = text.strip_suffix(')')?;
    let mut depth = 1;
    let open = inner.char_indices().rev().find(|(_, letter)| {
        match letter {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    inner.get(open?.0 + 1..)
}

/// A list's entries: what commas part that stand in no brackets.
fn split(list: &str) -> Vec<String> {
    let (mut depth, mut entries, mut entry) = (0, Vec::new(), String::new());
    for letter in list.chars() {
        match letter {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                entries.push(std::mem::take(&mut entry).trim().to_owned());
                continue;
            }
            _ => {}
        }
        entry.push(letter);
    }
    if !entry.trim().is_empty() {
        entries.push(entry.trim().to_owned());
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_in_the_name() {
        use Type::{Arrays, Constant, Value, Variable, Words};
        let check = |symbol: &str, sizes: &[u32], expected: &[Type]| {
            let parameters: Vec<Parameter> =
                sizes.iter().map(|bytes| Parameter { offset: 0, bytes: *bytes }).collect();
            assert_eq!(types(symbol, &parameters), expected, "{symbol}");
        };
        check("_Z4plusPfPKfi", &[8, 8, 4], &[Variable, Constant, Words]);
        check("_Z4plusPfPKflPPKf", &[8, 8, 8, 8], &[Variable, Constant, Value, Variable]);
        check("_ZN2at4fillISt5arrayIPcLm2EEEEviT_", &[4, 16], &[Words, Words]);
        let metadata = "_ZN2at18multi_tensor_applyINS_18TensorListMetadataILi2EEEEEvT_";
        check(metadata, &[1000], &[Arrays]);
        check("add_kernel", &[8, 8, 2000], &[Words, Words, Arrays]);
        // Another number of parameters than the name has.
        check("_Z4plusPfPKfi", &[8], &[Words]);
    }

    #[test]
    fn lists_are_split_at_their_own_commas() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(split(last_parentheses(text).unwrap()), expected, "{text}");
        };
        check("void f<g(int, int)>(int, std::array<char*, 2ul>)", &["int", "std::array<char*, 2ul>"]);
        check("f()", &[]);
        check("f(float (*)(int, int), long)", &["float (*)(int, int)", "long"]);
    }
}
