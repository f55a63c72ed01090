//! The line table of a code object. (CPython, `Objects/locations.md`: entries of one byte with the form and the
//! number of code units, then what the form needs.)

/// The line of a code unit; `None` when the table has none for it.
pub(super) fn line(table: &[u8], first_line: i32, unit: u64) -> Option<i32> {
    let mut bytes = table.iter().copied();
    let mut line = i64::from(first_line);
    let mut at = 0u64;
    while let Some(head) = bytes.next() {
        let form = head >> 3 & 15;
        let mut has_line = true;
        match form {
            15 => has_line = false,
            14 => {
                line = line.checked_add(signed(&mut bytes)?)?;
                for _ in 0..3 {
                    variable(&mut bytes)?;
                }
            }
            13 => line = line.checked_add(signed(&mut bytes)?)?,
            10..=12 => {
                line = line.checked_add(i64::from(form - 10))?;
                bytes.next()?;
                bytes.next()?;
            }
            _ => {
                bytes.next()?;
            }
        }
        at += u64::from(head & 7) + 1;
        if at > unit {
            return if has_line { i32::try_from(line).ok() } else { None };
        }
    }
    None
}

/// The same for 3.10 (CPython, `Objects/lnotab_notes.txt`): pairs of a number of bytes and of what is added to the line
/// before them; -128 says that they have none.
pub(super) fn line_of_pairs(table: &[u8], first_line: i32, unit: u64) -> Option<i32> {
    const NO_LINE: i8 = -128;
    let (mut line, mut end) = (first_line, 0u64);
    for [bytes, step] in table.as_chunks::<2>().0 {
        let step = step.cast_signed();
        if step != NO_LINE {
            line = line.checked_add(step.into())?;
        }
        end += u64::from(*bytes);
        if unit.checked_mul(2)? < end {
            return (step != NO_LINE).then_some(line);
        }
    }
    None
}

/// A number in pieces of six bits, the lowest first; bit 6 says that another follows.
fn variable(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut value = 0u64;
    for piece in 0..10 {
        let byte = bytes.next()?;
        value |= u64::from(byte & 63) << (6 * piece);
        if byte & 64 == 0 {
            return Some(value);
        }
    }
    None
}

/// The sign is the lowest bit.
fn signed(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let value = variable(bytes)?;
    let size = i64::try_from(value >> 1).ok()?;
    Some(if value & 1 == 1 { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::{line, line_of_pairs};

    #[test]
    fn every_form() {
        // Short (same line, 2 units), one line (+1, 1 unit), no columns (+5, 1 unit), long (-3, 1 unit), none.
        let table =
            [0x81, 0x00, 0x80 | 11 << 3, 1, 2, 0x80 | 13 << 3, 10, 0x80 | 14 << 3, 7, 64, 1, 2, 3, 0xf8];
        let lines: Vec<Option<i32>> = (0..7).map(|unit| line(&table, 10, unit)).collect();
        assert_eq!(lines, [Some(10), Some(10), Some(11), Some(16), Some(13), None, None]);
    }

    #[test]
    fn pairs() {
        // Two units on the first line, one that has none, one three lines on, one a line back.
        let table = [4, 0, 2, 0x80, 2, 3, 0, 200, 2, 55];
        let lines: Vec<Option<i32>> = (0..6).map(|unit| line_of_pairs(&table, 10, unit)).collect();
        assert_eq!(lines, [Some(10), Some(10), None, Some(13), Some(12), None]);
    }

    #[test]
    fn any_bytes() {
        for seed in 0u32..5000 {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            let table: Vec<u8> = (0..40).map(|_| next()).collect();
            let _ = line(&table, i32::MAX, u64::from(next()));
            let _ = line_of_pairs(&table, i32::MAX, u64::from(next()));
        }
    }
}
