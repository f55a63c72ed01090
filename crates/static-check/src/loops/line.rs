//! The line of a loop as its author wrote it. Compiled code has no loop statement: where the exit test was
//! folded away, not even a test is left.

use standstill_findings::Span;
use standstill_kernel_ir::{Location, LocationId};

use super::cycle::Cycle;

/// How far above the first line of a loop's code its statement is looked for.
const MAXIMUM_DISTANCE: u32 = 8;

/// The loop's statement as the span that a finding points at.
pub(super) fn primary(cycle: &Cycle<'_>, label: impl Into<String>) -> Span {
    let latch = cycle.body.loops.latches(cycle.id).last().copied().unwrap_or(cycle.header);
    let fallback = cycle.kernel.places.primary_branch(latch, label);
    match statement(cycle) {
        Some((file, line, column)) => Span { file, line, column, inlined_at: Vec::new(), ..fallback },
        None => fallback,
    }
}

/// File, line and column of the loop's statement.
fn statement(cycle: &Cycle<'_>) -> Option<(String, u32, u32)> {
    let body = cycle.body;
    let block_end = |block: &standstill_kernel_ir::BlockId| {
        body.function.blocks.get(block.0 as usize).map(|block| chain(cycle, block.location))
    };
    let mut chains: Vec<Vec<Location>> =
        cycle.instructions().map(|(_, instruction)| chain(cycle, instruction.location)).collect();
    chains.extend(cycle.blocks().iter().filter_map(block_end));
    chains.retain(|chain| !chain.is_empty());
    let depth = common_calls(&chains);
    let place = |chain: &Vec<Location>| chain.get(depth).copied();
    let mut places: Vec<Location> = chains.iter().filter_map(place).collect();
    places.sort_unstable_by_key(|place| (place.line, place.column));
    let file = file_of(cycle, &places)?;
    places.retain(|place| place.file == file);
    let name = cycle.kernel.places.module.files.get(file.0 as usize)?;
    let text = |line: u32| (cycle.kernel.options.source_line)(name, line);
    let found = |place: Location| Some((name.clone(), place.line, place.column));

    // The jump back, then the tests: compilers give them the statement's own line.
    let ends = body.loops.latches(cycle.id).iter().copied().chain(cycle.exits.iter().map(|exit| exit.from));
    for end in ends {
        if let Some(place) = block_end(&end).as_ref().and_then(place)
            && place.file == file
            && text(place.line).is_some_and(|text| begins_loop(&text))
        {
            return found(place);
        }
    }
    let first = *places.first()?;
    for place in &places {
        if text(place.line).is_some_and(|text| begins_loop(&text)) {
            return found(*place);
        }
    }
    for line in (first.line.saturating_sub(MAXIMUM_DISTANCE).max(1)..first.line).rev() {
        match text(line) {
            Some(text) if begins_loop(&text) => return Some((name.clone(), line, 0)),
            Some(_) => {}
            None => break,
        }
    }
    found(first)
}

/// The calls that a place was inlined through, outermost first, and the place itself; empty where the
/// compiler gave no line.
pub(super) fn chain(cycle: &Cycle<'_>, location: LocationId) -> Vec<Location> {
    let mut chain = Vec::new();
    let mut id = location;
    while id.0 != 0 && chain.len() < 64 {
        let place = cycle.body.location(id);
        if place.line == 0 {
            if chain.is_empty() {
                return chain;
            }
        } else {
            chain.push(place);
        }
        id = place.inlined_at;
    }
    chain.reverse();
    chain
}

/// How many calls all places share: the loop was written in the function that the last of them calls.
fn common_calls(chains: &[Vec<Location>]) -> usize {
    let Some((first, rest)) = chains.split_first() else { return 0 };
    let same = |a: &Location, b: &Location| (a.file, a.line, a.column) == (b.file, b.line, b.column);
    let mut depth = first.len() - 1;
    for chain in rest {
        let shared = first.iter().zip(chain).take_while(|(a, b)| same(a, b)).count();
        depth = depth.min(shared).min(chain.len() - 1);
    }
    depth
}

/// The file that most places are in.
fn file_of(cycle: &Cycle<'_>, places: &[Location]) -> Option<standstill_kernel_ir::FileId> {
    let main = cycle.kernel.options.main_source;
    let name = |place: &Location| cycle.kernel.places.module.files.get(place.file.0 as usize);
    let is_main = |place: &&Location| main.is_some_and(|main| name(place).is_some_and(|name| name == main));
    let count = |file| places.iter().filter(|place| place.file == file).count();
    match places.iter().find(is_main) {
        Some(place) => Some(place.file),
        None => places.iter().map(|place| place.file).max_by_key(|&file| count(file)),
    }
}

/// Whether a line of C++, Rust or Python begins or ends a loop.
fn begins_loop(text: &str) -> bool {
    let code = text.split("//").next().unwrap_or("");
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.split(|c: char| !is_part(c)).any(|word| matches!(word, "for" | "while" | "do" | "loop"))
}
