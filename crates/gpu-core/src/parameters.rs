//! The parameters that a grid was launched with.

use crate::bytes::{u32_at, u64_at};
use crate::dump::Grid;
use crate::position::Ptx;
use crate::source::Source;

/// The parameters of a grid that are known by value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Parameters {
    /// Those of eight bytes, by position: most are addresses. Without PTX every eight bytes count as one.
    pub(crate) addresses: Vec<(usize, u64)>,
    /// Those of four bytes, by position.
    pub(crate) numbers: Vec<(usize, i64)>,
}

/// Reads the parameters of a grid.
pub(crate) fn read(source: &dyn Source, grid: &Grid, kernel: Option<&str>, ptx: Option<&Ptx>) -> Parameters {
    /// Parameters are at most 32,764 bytes (CUDA programming guide).
    const MOST: u64 = 32 << 10;
    let Some(extent) = grid.parameters else { return Parameters::default() };
    let Ok(bytes) = source.read(extent.offset, extent.size.min(MOST) as usize) else {
        return Parameters::default();
    };
    let known = ptx.zip(kernel).and_then(|(ptx, kernel)| layout(&ptx.text, kernel));
    let places = known.unwrap_or_else(|| (0..bytes.len() / 8).map(|n| (n, n * 8, 8)).collect());
    let mut parameters = Parameters::default();
    for (position, at, size) in places {
        match size {
            8 => parameters.addresses.extend(u64_at(&bytes, at).map(|value| (position, value))),
            4 => {
                parameters.numbers.extend(u32_at(&bytes, at).map(|value| (position, i64::from(value as i32))))
            }
            _ => {}
        }
    }
    parameters
}

/// Position, offset and size of the parameters.
fn layout(ptx: &str, kernel: &str) -> Option<Vec<(usize, usize, usize)>> {
    let start = ptx.find(&format!(".entry {kernel}("))?;
    let (list, _) = ptx.get(start..)?.split_once('(')?.1.split_once(')')?;
    let mut places = Vec::new();
    let mut offset = 0usize;
    for (position, parameter) in list.split(',').enumerate() {
        let (size, align) = size(parameter)?;
        offset = offset.checked_next_multiple_of(align)?;
        places.push((position, offset, size));
        offset = offset.checked_add(size)?;
    }
    Some(places)
}

/// Size and alignment of one parameter's declaration.
fn size(declaration: &str) -> Option<(usize, usize)> {
    let mut align = None;
    let mut size = None;
    let mut words = declaration.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            ".align" => align = words.next().and_then(|word| word.parse().ok()),
            ".u8" | ".s8" | ".b8" => size = Some(1),
            ".u16" | ".s16" | ".b16" | ".f16" => size = Some(2),
            ".u32" | ".s32" | ".b32" | ".f32" => size = Some(4),
            ".u64" | ".s64" | ".b64" | ".f64" => size = Some(8),
            _ => {}
        }
    }
    let size: usize = size?;
    let count = match declaration.split_once('[') {
        Some((_, rest)) => rest.split_once(']')?.0.trim().parse().ok()?,
        None => 1,
    };
    let align: usize = align.unwrap_or(size);
    Some((size.checked_mul(count)?, align.clamp(1, 128)))
}
