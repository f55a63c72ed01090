//! Formatting of device `printf` (CUDA guide, «Formatted Output»; C11 7.21.6.1).

use standstill_kernel_ir::Space;

use super::core::Core;

/// One conversion.
#[derive(Default)]
struct Specifier {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Size of an integer argument in bytes.
    bytes: u32,
}

/// Widths and precisions beyond this are cut.
const WIDEST: usize = 4096;

/// Arguments lie one after the other, each aligned to its size.
struct Arguments {
    at: u64,
    taken: u64,
}

impl Arguments {
    fn next(&mut self, core: &mut Core<'_>, lane: usize, bytes: u32) -> u64 {
        self.at = self.at.checked_next_multiple_of(bytes.into()).unwrap_or(self.at);
        let value = core.read_memory(Space::Generic, lane, self.at, bytes).unwrap_or(0);
        self.at = self.at.saturating_add(bytes.into());
        self.taken += 1;
        value
    }
}

/// Formats the arguments at an address; gives the text and how many arguments there were.
pub(super) fn format(core: &mut Core<'_>, lane: usize, format: &[u8], values: u64) -> (Vec<u8>, u64) {
    let mut out = Vec::new();
    let mut arguments = Arguments { at: values, taken: 0 };
    let mut rest = format;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            out.push(first);
            continue;
        }
        let mut specifier = Specifier { bytes: 4, ..Specifier::default() };
        rest = parse(core, lane, rest, &mut specifier, &mut arguments);
        let Some((&conversion, after)) = rest.split_first() else { break };
        rest = after;
        let text = convert(core, lane, conversion, &specifier, &mut arguments);
        pad(&mut out, &specifier, text, conversion);
    }
    (out, arguments.taken)
}

/// Reads flags, width, precision and size; gives what comes after.
fn parse<'f>(
    core: &mut Core<'_>,
    lane: usize,
    mut rest: &'f [u8],
    specifier: &mut Specifier,
    arguments: &mut Arguments,
) -> &'f [u8] {
    while let Some((&flag, after)) = rest.split_first() {
        match flag {
            b'-' => specifier.left = true,
            b'+' => specifier.plus = true,
            b' ' => specifier.space = true,
            b'#' => specifier.alternate = true,
            b'0' => specifier.zero = true,
            _ => break,
        }
        rest = after;
    }
    let mut number = |rest: &mut &'f [u8]| {
        if let Some((b'*', after)) = rest.split_first() {
            *rest = after;
            return arguments.next(core, lane, 4) as i32;
        }
        let mut number = 0i32;
        while let Some((&digit @ b'0'..=b'9', after)) = rest.split_first() {
            number = number.saturating_mul(10).saturating_add(i32::from(digit - b'0'));
            *rest = after;
        }
        number
    };
    let width = number(&mut rest);
    specifier.left |= width < 0;
    specifier.width = (width.unsigned_abs() as usize).min(WIDEST);
    if let Some((b'.', after)) = rest.split_first() {
        rest = after;
        specifier.precision = usize::try_from(number(&mut rest)).ok().map(|precision| precision.min(WIDEST));
    }
    while let Some((&size, after)) = rest.split_first() {
        match size {
            b'l' | b'j' | b'z' | b't' | b'L' => specifier.bytes = 8,
            b'h' => specifier.bytes = if specifier.bytes == 2 { 1 } else { 2 },
            _ => break,
        }
        rest = after;
    }
    rest
}

fn convert(
    core: &mut Core<'_>,
    lane: usize,
    conversion: u8,
    specifier: &Specifier,
    arguments: &mut Arguments,
) -> Vec<u8> {
    // Small integers are passed as `int`.
    let stored = specifier.bytes.max(4);
    let unused = 64 - 8 * specifier.bytes;
    let sign = |negative: bool| match (negative, specifier.plus, specifier.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (.., true) => " ",
        _ => "",
    };
    let digits = |text: String| match specifier.precision {
        Some(precision) => format!("{text:0>precision$}"),
        None => text,
    };
    match conversion {
        b'd' | b'i' => {
            let value = (arguments.next(core, lane, stored) << unused) as i64 >> unused;
            format!("{}{}", sign(value < 0), digits(value.unsigned_abs().to_string())).into_bytes()
        }
        b'u' | b'x' | b'X' | b'o' => {
            let value = arguments.next(core, lane, stored) << unused >> unused;
            let (text, prefix) = match conversion {
                b'x' => (format!("{value:x}"), "0x"),
                b'X' => (format!("{value:X}"), "0X"),
                b'o' => (format!("{value:o}"), "0"),
                _ => (value.to_string(), ""),
            };
            let prefix = if specifier.alternate && value != 0 { prefix } else { "" };
            format!("{prefix}{}", digits(text)).into_bytes()
        }
        b'c' => vec![arguments.next(core, lane, 4) as u8],
        b'p' => format!("{:#x}", arguments.next(core, lane, 8)).into_bytes(),
        b's' => {
            let address = arguments.next(core, lane, 8);
            let mut text = if address == 0 { b"(null)".to_vec() } else { core.read_text(lane, address) };
            text.truncate(specifier.precision.unwrap_or(usize::MAX));
            text
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(arguments.next(core, lane, 8));
            let text = float(value.abs(), conversion, specifier);
            let text = format!("{}{text}", sign(value.is_sign_negative() && !value.is_nan()));
            if conversion.is_ascii_uppercase() { text.to_uppercase() } else { text }.into_bytes()
        }
        b'%' => vec![b'%'],
        other => vec![b'%', other],
    }
}

fn float(value: f64, conversion: u8, specifier: &Specifier) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return "inf".into();
    }
    let precision = specifier.precision.unwrap_or(6);
    match conversion.to_ascii_lowercase() {
        b'e' => exponent(&format!("{value:.precision$e}")),
        b'g' => {
            let precision = precision.max(1);
            let scientific = format!("{value:.*e}", precision - 1);
            let power: i32 =
                scientific.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
            if power < -4 || power >= precision as i32 {
                let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
                exponent(&format!("{}e{power}", trim(mantissa, specifier.alternate)))
            } else {
                let after = (precision as i32 - 1 - power).max(0) as usize;
                trim(&format!("{value:.after$}"), specifier.alternate)
            }
        }
        _ => format!("{value:.precision$}"),
    }
}

/// Takes zeros off the end of a fraction.
fn trim(text: &str, keep: bool) -> String {
    match text.contains('.') && !keep {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    }
}

/// C writes a sign and at least two digits.
fn exponent(text: &str) -> String {
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let (sign, digits) = match power.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', power),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

fn pad(out: &mut Vec<u8>, specifier: &Specifier, text: Vec<u8>, conversion: u8) {
    let missing = specifier.width.saturating_sub(text.len());
    let integer = matches!(conversion, b'd' | b'i' | b'u' | b'x' | b'X' | b'o');
    let text_like = matches!(conversion, b's' | b'c' | b'p' | b'%');
    let exact = integer && specifier.precision.is_some();
    let zeros = specifier.zero && !(specifier.left || exact || text_like);
    if zeros {
        let sign = text.iter().take_while(|byte| b"+- ".contains(byte)).count();
        let prefix = sign + if text.get(sign..).is_some_and(|rest| rest.starts_with(b"0x")) { 2 } else { 0 };
        out.extend_from_slice(text.get(..prefix).unwrap_or(&[]));
        out.extend(std::iter::repeat_n(b'0', missing));
        out.extend_from_slice(text.get(prefix..).unwrap_or(&[]));
        return;
    }
    if !specifier.left {
        out.extend(std::iter::repeat_n(b' ', missing));
    }
    out.extend_from_slice(&text);
    if specifier.left {
        out.extend(std::iter::repeat_n(b' ', missing));
    }
}
