//! What the reader calls a place in memory.

use crate::address::{self, Window};
use crate::grid::shared::GridShared;

/// The name of an address: a variable with an offset, a parameter's target with an offset, or the number.
pub(crate) fn name(grid: &GridShared, location: u64, bytes: u32) -> String {
    if let Window::Shared { offset, .. } = address::window(location) {
        let found =
            grid.kernel.shared_names.iter().rev().find(|&&(_, start, size)| {
                offset >= start && (size == 0 || u64::from(offset - start) < size)
            });
        return match found {
            Some((name, start, size)) => with_offset(&plain(name), u64::from(offset - start), bytes, *size),
            None => format!("shared memory at {offset:#x}"),
        };
    }
    let variables = &grid.module.program().module().variables;
    for (variable, index) in variables.iter().zip(0..) {
        let Some(start) = grid.module.variable_address(index) else { continue };
        if location >= start && location - start < variable.bytes {
            return with_offset(&plain(&variable.name), location - start, bytes, variable.bytes);
        }
    }
    if grid.workspace != 0 && location >= grid.workspace && location - grid.workspace < 1024 {
        return "the grid barrier".into();
    }
    for (parameter, index) in grid.kernel.parameter_offsets.iter().zip(0..) {
        let start = parameter.offset as usize;
        let Some(value) = grid.parameters.get(start..start + 8).filter(|_| parameter.bytes == 8) else {
            continue;
        };
        let pointer = u64::from_le_bytes(value.try_into().unwrap_or_default());
        let same = grid.allocation(pointer).zip(grid.allocation(location));
        if same.is_some_and(|(one, other)| one.address == other.address) && location >= pointer {
            return match location - pointer {
                0 => format!("*p{index}"),
                offset if offset % u64::from(bytes.max(1)) == 0 => {
                    format!("p{index}[{}]", offset / u64::from(bytes.max(1)))
                }
                offset => format!("p{index} + {offset} bytes"),
            };
        }
    }
    format!("{location:#x}")
}

/// What the kernel calls the memory that starts at an address: a variable, or the parameter that points there.
pub(crate) fn start(grid: &GridShared, address: u64) -> Option<String> {
    let name = name(grid, address, 1);
    let name = name.strip_prefix('*').unwrap_or(&name);
    let name = name.strip_suffix("[0]").unwrap_or(name);
    (!name.starts_with("0x")).then(|| name.to_owned())
}

/// The last variable of a block's shared memory of this size, where it begins, and its size.
pub(crate) fn last_shared(grid: &GridShared, size: u64) -> Option<(String, u64, u64)> {
    let last = grid.kernel.shared_names.iter().max_by_key(|(_, start, _)| *start);
    let Some((name, start, _)) = last else { return Some(("shared memory".to_owned(), 0, size)) };
    Some((plain(name), (*start).into(), size.saturating_sub((*start).into())))
}

fn with_offset(name: &str, offset: u64, bytes: u32, size: u64) -> String {
    let bytes = u64::from(bytes.max(1));
    match (offset, size == bytes) {
        (0, true) => name.to_owned(),
        _ if offset.is_multiple_of(bytes) => format!("{name}[{}]", offset / bytes),
        _ => format!("{name} + {offset} bytes"),
    }
}

/// The last name of a mangled one: of `_ZZ6kernelPiE4tile` it is `tile`.
fn plain(name: &str) -> String {
    if !name.starts_with("_Z") {
        return name.to_owned();
    }
    let bytes = name.as_bytes();
    let mut found = None;
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at..).unwrap_or(&[]).iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            at += 1;
            continue;
        }
        let length: usize = name.get(at..at + digits).and_then(|text| text.parse().ok()).unwrap_or(0);
        match name.get(at + digits..at + digits + length) {
            Some(part) if length > 0 && !part.starts_with(|first: char| first.is_ascii_digit()) => {
                found = Some(part);
                at += digits + length;
            }
            _ => at += digits,
        }
    }
    found.unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_become_plain() {
        let check = |mangled, expected| assert_eq!(plain(mangled), expected);
        check("flag", "flag");
        check("_ZZ6kernelPiE4tile", "tile");
        check("_ZN1a4flagE", "flag");
        check("_ZZ3sumPKfPfE1s", "s");
        check("_Z", "_Z");
        assert_eq!(with_offset("ready", 4, 4, 8), "ready[1]");
        assert_eq!(with_offset("ready", 0, 4, 4), "ready");
    }
}
