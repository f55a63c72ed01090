//! Decoded operations' places in the user's source.

use standstill_kernel_ir::{Function, Location, LocationId, Op};

use crate::decode::code::{Code, Kind, Origin};
use crate::fault::Place;
use crate::grid::shared::GridShared;

/// The place of an operation.
pub(crate) fn place(grid: &GridShared, function: u32, position: u32) -> Place {
    let module = grid.module.program().module();
    let name = module.functions.get(function as usize).map(|header| header.name.clone()).unwrap_or_default();
    let code = grid.kernel.functions.get(function as usize).and_then(Option::as_ref);
    let Some(code) = code else { return Place { function: name, ..Place::default() } };
    let (location, offset) = location(code, position);
    let file = |location: Location| module.files.get(location.file.0 as usize).cloned().unwrap_or_default();
    let (chain, own) = chain(&code.function, &module.files, location);
    let Some(&shown) = chain.get(own) else { return Place::default() };
    let inlined = chain.get(own + 1..).unwrap_or(&[]);
    Place {
        function: name,
        file: file(shown),
        line: shown.line,
        column: shown.column,
        inlined_at: inlined.iter().map(|&location| format!("{}:{}", file(location), location.line)).collect(),
        offset,
    }
}

/// The line of an operation in the user's source; 0 when unknown.
pub(crate) fn line(files: &[String], code: &Code, position: u32) -> u32 {
    let (chain, own) = chain(&code.function, files, location(code, position).0);
    chain.get(own).map_or(0, |location| location.line)
}

/// A location with the calls through which it came there, and the index of the one to show: code from the inside of a
/// toolkit's header is shown at the line of the user's that called it.
pub(crate) fn chain(function: &Function, files: &[String], location: Location) -> (Vec<Location>, usize) {
    let mut chain = vec![location];
    let mut next = location.inlined_at;
    while next != LocationId(0) && chain.len() < 64 {
        let around = function.location(next);
        chain.push(around);
        next = around.inlined_at;
    }
    let foreign =
        |location: &Location| files.get(location.file.0 as usize).is_some_and(|file| is_foreign(file));
    let own = chain.iter().position(|location| location.line > 0 && !foreign(location)).unwrap_or(0);
    (chain, own)
}

/// Whether a file is the compiler's or the toolkit's own.
fn is_foreign(file: &str) -> bool {
    ["/include/", "/cuda_", "crt/", "cooperative_groups", "/cccl/", "/cub/", "/thrust/", "/cuda/"]
        .iter()
        .any(|part| file.contains(part))
}

/// The location of an operation; where a terminator has none, that of the instruction before it.
pub(crate) fn location(code: &Code, position: u32) -> (Location, u32) {
    match code.origins.get(position as usize) {
        Some(Origin::Instruction(id)) => match code.function.instructions.get(id.0 as usize) {
            Some(instruction) => (code.function.location(instruction.location), instruction.offset),
            None => Default::default(),
        },
        Some(Origin::Terminator(block)) => match code.function.blocks.get(block.0 as usize) {
            Some(block) => (code.function.location(block.location), block.offset),
            None => Default::default(),
        },
        None => Default::default(),
    }
}

/// Whether others can notice an operation.
pub(crate) fn is_visible(code: &Code, position: u32) -> bool {
    let Some(op) = code.ops.get(position as usize) else { return false };
    match (op.kind, code.origins.get(position as usize)) {
        (Kind::Run, Some(Origin::Instruction(id))) => {
            let op = code.function.instructions.get(id.0 as usize).map(|instruction| instruction.op);
            !matches!(op, None | Some(Op::Arithmetic(_) | Op::Hint | Op::ActiveMask))
        }
        _ => false,
    }
}
