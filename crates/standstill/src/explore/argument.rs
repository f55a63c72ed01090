//! `--param POSITION=ARGUMENT`: a number, or a buffer with its first values.

use standstill_explore::Argument;

/// What one parameter gets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParameterArgument {
    /// Position from 0.
    pub(crate) position: usize,
    /// What is passed.
    pub(crate) argument: Argument,
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) usize);

/// Most elements of a buffer: what is explored is small.
const MOST_ELEMENTS: usize = 1 << 20;

/// `512M`, `4G`, `1000000`.
pub(crate) fn parse_size(text: &str) -> Result<Size, String> {
    let (digits, shift) = match text.trim().trim_end_matches(['b', 'B']) {
        text if text.ends_with(['k', 'K']) => (text.trim_end_matches(['k', 'K']), 10),
        text if text.ends_with(['m', 'M']) => (text.trim_end_matches(['m', 'M']), 20),
        text if text.ends_with(['g', 'G']) => (text.trim_end_matches(['g', 'G']), 30),
        text => (text, 0),
    };
    let number: usize = digits.trim().parse().map_err(|_| "sizes are written as 512M or 4G".to_owned())?;
    number.checked_mul(1 << shift).map(Size).ok_or_else(|| "that is more than 64 bits can count".to_owned())
}

/// `2=1000`, `0=1.5`, `0=i32[5,3,1]`, `0=u64[16]`.
pub(crate) fn parse(text: &str) -> Result<ParameterArgument, String> {
    let form =
        "it is written as POSITION=NUMBER or POSITION=TYPE[VALUES], as in 2=1000, 0=i32[5,3,1] or 0=u64[16]";
    let (position, value) = text.split_once('=').ok_or(form)?;
    let position = position.trim().trim_start_matches('p').parse().map_err(|_| form)?;
    let value = value.trim();
    let argument = match value.split_once('[') {
        Some((ty, values)) => buffer(ty.trim(), values.trim().strip_suffix(']').ok_or(form)?)?,
        None => Argument::Value(number(value).ok_or_else(|| format!("`{value}` is not a number; {form}"))?),
    };
    Ok(ParameterArgument { position, argument })
}

/// A number as its bits: integers of 64 bits, and what has a point as single precision.
fn number(text: &str) -> Option<u64> {
    let integer = crate::launch::parse_integer(text).map(|value| value as u64);
    let float = || text.parse::<f32>().ok().map(|value| value.to_bits().into());
    integer.or_else(|| text.parse().ok()).or_else(float)
}

fn buffer(ty: &str, values: &str) -> Result<Argument, String> {
    let element = match ty {
        "i8" | "u8" => 1,
        "i16" | "u16" => 2,
        "i32" | "u32" | "f32" | "int" | "unsigned" | "float" => 4,
        "i64" | "u64" | "f64" | "double" => 8,
        _ => {
            return Err(format!(
                "`{ty}` is no type of elements; there are i8 to i64, u8 to u64, f32 and f64"
            ));
        }
    };
    let list: Vec<&str> = values.split(',').map(str::trim).filter(|value| !value.is_empty()).collect();
    // One number alone is how many zeros there are, as in a declaration.
    if let ([count], false) = (&list[..], values.contains(',')) {
        let count: usize = count.parse().map_err(|_| format!("`{count}` is no number of elements"))?;
        if count > MOST_ELEMENTS {
            return Err(format!("a buffer has at most {MOST_ELEMENTS} elements"));
        }
        return Ok(Argument::Buffer { bytes: vec![0; count * element], element: element as u32 });
    }
    let mut bytes = Vec::new();
    for value in list {
        let bits = match ty {
            "f32" | "float" => value.parse::<f32>().ok().map(|value| u64::from(value.to_bits())),
            "f64" | "double" => value.parse::<f64>().ok().map(f64::to_bits),
            _ => number(value),
        };
        let bits = bits.ok_or_else(|| format!("`{value}` is not a number"))?;
        bytes.extend(bits.to_le_bytes().into_iter().take(element));
    }
    Ok(Argument::Buffer { bytes, element: element as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_a_number_or_a_buffer() {
        let value = |position, value| Ok(ParameterArgument { position, argument: Argument::Value(value) });
        assert_eq!(parse("2=1000"), value(2, 1000));
        assert_eq!(parse("p1=-1"), value(1, u64::MAX));
        assert_eq!(parse("0=1.5"), value(0, 1.5f32.to_bits().into()));
        let buffer = |bytes: &[u8], element| {
            Ok(ParameterArgument {
                position: 0,
                argument: Argument::Buffer { bytes: bytes.to_vec(), element },
            })
        };
        assert_eq!(parse("0=i32[5,-1]"), buffer(&[5, 0, 0, 0, 255, 255, 255, 255], 4));
        assert_eq!(parse("0=i16[7,]"), buffer(&[7, 0], 2));
        assert_eq!(parse("0=u64[2]"), buffer(&[0; 16], 8));
        for wrong in ["", "x", "0", "0=", "0=i32[1,2", "0=i33[1]", "0=i32[a,b]", "0=i32[99999999999]", "-1=2"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("4G"), Ok(Size(4 << 30)));
        assert_eq!(parse_size("512MB"), Ok(Size(512 << 20)));
        assert_eq!(parse_size("1000"), Ok(Size(1000)));
        assert!(parse_size("x").is_err() && parse_size("99999999999999G").is_err());
    }
}
