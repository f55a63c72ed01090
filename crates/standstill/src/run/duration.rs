//! Times on the command line.

use std::time::Duration;

/// Reads `5s`, `500ms`, `2m`, `1h`, `1.5s`; a bare number is seconds.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let seconds = match unit.trim() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("times are written 500ms, 5s, 2m or 1h".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "times are written 500ms, 5s, 2m or 1h".to_owned())?;
    match Duration::try_from_secs_f64(number * seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        Ok(_) => Err("the time must be longer than nothing".to_owned()),
        Err(_) => Err("the time is too long".to_owned()),
    }
}

/// A time in the reader's words.
pub(crate) fn words(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 1.0 => format!("{} ms", time.as_millis()),
        seconds if seconds < 10.0 && time.subsec_millis() > 0 => format!("{seconds:.1} s"),
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, milliseconds) in
            [("5s", 5000), ("5", 5000), ("500ms", 500), ("2m", 120_000), ("1h", 3_600_000), ("1.5s", 1500)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "0", "0ms", "-1s", "5x", "1e999", "..", "99999999999999999999999999h"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
