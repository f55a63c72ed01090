//! Places, blocks and memory in the reader's words.

use standstill_findings::{ThreadRanges, is_toolchain_file};

use crate::code::{Place, SourceLine};
use crate::memory::Location;
use crate::position::{GridState, Group};

fn is_own(line: &SourceLine) -> bool {
    !line.file.is_empty() && line.line != 0 && !is_toolchain_file(&line.file)
}

/// Which frame of a place is the user's own: the innermost one outside the toolchain's headers, else the
/// outermost. Frames count from the innermost.
pub(crate) fn users_frame(place: &Place) -> usize {
    let frames = std::iter::once(&place.line).chain(&place.inlined_at);
    frames.into_iter().position(is_own).unwrap_or(place.inlined_at.len())
}

/// The user's own line of a place.
pub(crate) fn users_line(place: &Place) -> &SourceLine {
    let frames = std::iter::once(&place.line).chain(&place.inlined_at);
    frames.into_iter().find(|line| is_own(line)).unwrap_or_else(|| place.outermost())
}

/// The line from which the function of the user's own line was called, where it was inlined.
pub(crate) fn callers_line(place: &Place) -> Option<&SourceLine> {
    let frames: Vec<&SourceLine> = std::iter::once(&place.line).chain(&place.inlined_at).collect();
    frames.into_iter().skip(users_frame(place) + 1).find(|line| is_own(line))
}

/// Whether an instruction was written in one of the toolchain's headers, so that the program called it.
pub(crate) fn is_intrinsic(place: &Place) -> bool {
    !is_own(&place.line) && place.inlined_at.iter().any(is_own)
}

/// Whether a place lies in the grid barrier of cooperative groups.
pub(crate) fn in_grid_sync(place: &Place) -> bool {
    let mut frames = std::iter::once(&place.line).chain(&place.inlined_at);
    frames.any(|line| line.file.ends_with("cooperative_groups/details/sync.h"))
}

/// A verb for this many: «wait», «waits».
pub(crate) fn verb(count: usize, plural: &str) -> String {
    if count == 1 { format!("{plural}s") } else { plural.to_owned() }
}

/// «threads 0–127».
pub(crate) fn threads(threads: &[u32]) -> String {
    ThreadRanges::from_members(threads.iter().copied()).with_noun("thread")
}

/// «block 0», «blocks 0–3».
pub(crate) fn blocks(blocks: &[u64]) -> String {
    let small = |block: &u64| u32::try_from(*block).ok();
    ThreadRanges::from_members(blocks.iter().filter_map(small)).with_noun("block")
}

/// The memory that a group reads again and again, in words: a variable's name where the code has one, a
/// parameter with an offset, or an address.
pub(crate) fn location(state: &GridState, group: &Group, location: &Location) -> String {
    if let Some(name) = symbol(state, group) {
        return name;
    }
    if location.shared {
        return format!("shared memory at {:#x}", location.address);
    }
    match parameter(state, location.address) {
        Some((position, 0)) => format!("*p{position}"),
        Some((position, offset)) => format!("p{position} + {offset}"),
        None => format!("{:#x}", location.address),
    }
}

/// A function's name without its parameters.
pub(crate) fn short_name(symbol: &str) -> String {
    let readable = cpp_demangle::Symbol::new(symbol).ok().and_then(|symbol| symbol.demangle().ok());
    let readable = readable.unwrap_or_else(|| symbol.to_owned());
    readable.split('(').next().unwrap_or(&readable).to_owned()
}

/// The variable that the PTX names at the group's instruction: the last part of its name.
fn symbol(state: &GridState, group: &Group) -> Option<String> {
    let line = state.ptx.as_ref()?.text.lines().nth((group.ptx_line? as usize).checked_sub(1)?)?;
    let (_, inside) = line.split_once('[')?;
    let (inside, _) = inside.split_once(']')?;
    let inside = inside.trim();
    let (name, offset) = match inside.split_once('+') {
        Some((name, offset)) => (name, Some(offset)),
        None => (inside, None),
    };
    if name.starts_with('%') || name.is_empty() || name.contains("_param_") {
        return None;
    }
    let readable = cpp_demangle::Symbol::new(name).ok().and_then(|symbol| symbol.demangle().ok());
    let readable = readable.unwrap_or_else(|| name.to_owned());
    let last = readable.rsplit("::").next().unwrap_or(&readable);
    Some(match offset {
        Some(offset) => format!("{last}+{offset}"),
        None => last.to_owned(),
    })
}

/// The pointer parameter that an address lies behind, by position, and the bytes between. The largest
/// parameter below the address counts, when it is near.
fn parameter(state: &GridState, address: u64) -> Option<(usize, u64)> {
    const NEAR: u64 = 1 << 24;
    let pointers = state.parameters.iter().filter(|(_, value)| *value <= address && address - value < NEAR);
    pointers.max_by_key(|(_, value)| *value).map(|(position, value)| (*position, address - value))
}
