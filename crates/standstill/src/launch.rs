//! Launch shapes from flags and source comments, and which kernel they are for.

use standstill_kernel_ir::launch::{Device, LaunchShape};
use standstill_report::{base_name, display_name};

use crate::args::LaunchArgs;
use crate::assume::{parse_number, parse_position};
use crate::comments::LaunchComment;

/// `--param [KERNEL:]POSITION=VALUE`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParameterValue {
    /// The kernel it is for; `None` for all.
    pub(crate) kernel: Option<String>,
    /// Position from 0.
    pub(crate) position: usize,
    /// The value.
    pub(crate) value: i64,
}

/// `256`, `32x8`, `8x8x4`: extents of at least 1.
pub(crate) fn parse_shape(text: &str) -> Result<[u32; 3], String> {
    let mut shape = [1u32; 3];
    let parts: Vec<&str> = text.split('x').collect();
    if parts.len() > 3 {
        return Err("a shape has at most three extents, as in 8x8x4".to_owned());
    }
    for (extent, part) in shape.iter_mut().zip(parts) {
        *extent = match part.trim().parse() {
            Ok(0) => return Err("an extent must be at least 1".to_owned()),
            Ok(number) => number,
            Err(_) => {
                return Err(format!("`{part}` is not a number; shapes are written as 256, 32x8 or 8x8x4"));
            }
        };
    }
    Ok(shape)
}

/// A block's shape, within what every card allows (CUDA C++ Programming Guide, «Technical Specifications per
/// Compute Capability»).
pub(crate) fn parse_block(text: &str) -> Result<[u32; 3], String> {
    let shape = parse_shape(text)?;
    let threads = volume(shape);
    if threads > 1024 {
        return Err(format!("a block has at most 1024 threads; this one has {threads}"));
    }
    let [_, _, z] = shape;
    if z > 64 {
        return Err(format!("a block has at most 64 threads in z; this one has {z}"));
    }
    Ok(shape)
}

/// A grid's shape, within what every card allows.
pub(crate) fn parse_grid(text: &str) -> Result<[u32; 3], String> {
    let shape = parse_shape(text)?;
    let [x, y, z] = shape;
    if x > i32::MAX as u32 || y > 65_535 || z > 65_535 {
        return Err("a grid has at most 2147483647 blocks in x, and 65535 in y and z".to_owned());
    }
    Ok(shape)
}

/// A cluster's shape, within what a card can be asked for.
pub(crate) fn parse_cluster(text: &str) -> Result<[u32; 3], String> {
    let shape = parse_shape(text)?;
    match volume(shape) {
        ..=16 => Ok(shape),
        blocks => Err(format!("a cluster has at most 16 blocks; this one has {blocks}")),
    }
}

/// The product of three extents.
pub(crate) fn volume(shape: [u32; 3]) -> u128 {
    shape.iter().map(|&extent| u128::from(extent)).product()
}

/// A shape as it is written on the command line.
pub(crate) fn show_shape(shape: [u32; 3]) -> String {
    match shape {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x}x{y}"),
        [x, y, z] => format!("{x}x{y}x{z}"),
    }
}

/// How many files are analysed at the same time.
pub(crate) fn parse_jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => {
            Err("at least 1 file is analysed at a time; without -j, as many as there are cores".to_owned())
        }
        Ok(number) => Ok(number),
        Err(_) => Err("not a number".to_owned()),
    }
}

/// `2=1000`, `scan:2=1000`, `p2=1000`.
pub(crate) fn parse_parameter(text: &str) -> Result<ParameterValue, String> {
    let form = || "it is written as POSITION=VALUE or KERNEL:POSITION=VALUE, as in 2=1000".to_owned();
    let (place, value) = text.split_once('=').ok_or_else(form)?;
    let (kernel, position) = match place.rsplit_once(':') {
        Some((kernel, position)) => (Some(kernel.trim().to_owned()), position),
        None => (None, place),
    };
    if kernel.as_deref() == Some("") {
        return Err(form());
    }
    let position = position.trim();
    let position = parse_position(position).or_else(|| position.parse().ok()).ok_or_else(form)?;
    let value = parse_integer(value).ok_or_else(|| format!("`{value}` is not an integer of 64 bits"))?;
    Ok(ParameterValue { kernel, position, value })
}

/// A card's name.
pub(crate) fn parse_device(text: &str) -> Result<Device, String> {
    Device::find(text).ok_or_else(|| {
        let names: Vec<&str> = Device::all().iter().map(|device| device.name).collect();
        format!("known cards are {}", names.join(", "))
    })
}

/// A number with an optional sign.
pub(crate) fn parse_integer(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.strip_prefix("-0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok()?.checked_neg(),
        None => parse_number(text),
    }
}

/// Whether `wanted` names this kernel: mangled, readable, or without namespace and template arguments.
pub(crate) fn names_kernel(wanted: &str, symbol: &str) -> bool {
    wanted == symbol || wanted == base_name(symbol) || wanted == display_name(symbol)
}

/// The launches to analyse a kernel for: one per launch comment beside it, or one from the flags
/// alone. Flags win over comments.
/// `registers` is what compiled code beside the PTX says.
pub(crate) fn shapes(
    flags: &LaunchArgs,
    comments: &[LaunchComment],
    registers: Option<u32>,
    symbol: &str,
) -> Vec<LaunchShape> {
    let mut shapes: Vec<LaunchShape> =
        comments.iter().filter(|c| names_kernel(&c.kernel, symbol)).map(|c| c.shape.clone()).collect();
    if shapes.is_empty() {
        shapes.push(LaunchShape::default());
    }
    for shape in &mut shapes {
        shape.block = flags.block.or(shape.block);
        shape.grid = flags.grid.or(shape.grid);
        shape.cluster = flags.cluster.or(shape.cluster);
        shape.device = flags.gpu;
        shape.registers = registers.or(flags.regs);
        // Values for one kernel come after those for all, and replace them.
        for only_one in [false, true] {
            for parameter in flags.param.iter().filter(|p| p.kernel.is_some() == only_one) {
                if parameter.kernel.as_ref().is_none_or(|kernel| names_kernel(kernel, symbol)) {
                    shape.parameters.insert(parameter.position, parameter.value);
                }
            }
        }
        shape.assumptions.extend(flags.assume.iter().flat_map(|conjunction| conjunction.0.iter().cloned()));
    }
    shapes.dedup();
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_one_to_three_extents() {
        assert_eq!(parse_shape("256"), Ok([256, 1, 1]));
        assert_eq!(parse_shape("32x8"), Ok([32, 8, 1]));
        assert_eq!(parse_shape("4x2x1"), Ok([4, 2, 1]));
        for wrong in ["", "0", "1x2x3x4", "a", "-1", "4294967296", "32x"] {
            assert!(parse_shape(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shapes_that_no_card_can_launch_are_refused() {
        assert_eq!(parse_block("32x8x4"), Ok([32, 8, 4]));
        assert_eq!(parse_block("1x1x64"), Ok([1, 1, 64]));
        for wrong in
            ["2000", "4096", "1025", "32x33", "1x1x65", "1024x1024x64", "4294967295x4294967295x4294967295"]
        {
            assert!(parse_block(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse_grid("2147483647x65535x65535"), Ok([2_147_483_647, 65_535, 65_535]));
        assert!(parse_grid("1x65536").is_err() && parse_grid("2147483648").is_err());
        assert_eq!(parse_cluster("4x2x2"), Ok([4, 2, 2]));
        assert!(parse_cluster("17").is_err() && parse_cluster("8x4").is_err());
        assert!(parse_jobs("0").is_err() && parse_jobs("x").is_err() && parse_jobs("3") == Ok(3));
    }

    #[test]
    fn parameters_have_a_position() {
        let value = |kernel: Option<&str>, position, value| {
            Ok(ParameterValue { kernel: kernel.map(str::to_owned), position, value })
        };
        assert_eq!(parse_parameter("2=1000"), value(None, 2, 1000));
        assert_eq!(parse_parameter("p2=-0x10"), value(None, 2, -16));
        assert_eq!(parse_parameter("ns::scan:2=-1"), value(Some("ns::scan"), 2, -1));
        for wrong in ["2", "=1", "n=1", "2=x", ":2=1", "2=1.5"] {
            assert!(parse_parameter(wrong).is_err(), "{wrong}");
        }
    }
}
