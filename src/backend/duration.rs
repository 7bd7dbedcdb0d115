//! Spans of time as users write and read them: `90s`, `5m`, `1h30m`.

use std::time::Duration;

/// Parses `30s`, `1m30s`, `250ms`, `2h`, `1d`; a bare number is seconds.
pub fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return None,
        };
        total = total.checked_add(Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

/// Shows a span with its two largest units: `3m20s`, `1h5m`, `250ms`.
pub fn show(span: Duration) -> String {
    let seconds = span.as_secs();
    if seconds == 0 {
        return match (span.as_millis(), span.as_micros()) {
            (0, 0) => "0s".to_owned(),
            (0, micros) => format!("{micros}µs"),
            (millis, _) => format!("{millis}ms"),
        };
    }
    let parts = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let mut left = seconds;
    let mut shown = Vec::new();
    for (size, unit) in parts {
        if left >= size || !shown.is_empty() {
            shown.push(format!("{}{unit}", left / size));
            left %= size;
        }
    }
    shown.truncate(2);
    if shown.last().is_some_and(|part| part.starts_with('0')) {
        shown.pop();
    }
    shown.concat()
}

/// Writes a span without loss: `300s`, `1500ms`.
pub fn exact(span: Duration) -> String {
    if span.subsec_nanos() == 0 { format!("{}s", span.as_secs()) } else { format!("{}ms", span.as_millis()) }
}

/// Shows a clock: `00:03:20`.
pub fn clock(span: Duration) -> String {
    let seconds = span.as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_shown() {
        for (text, millis) in [("30s", 30_000), ("1m30s", 90_000), ("250ms", 250), ("1.5h", 5_400_000), ("7", 7_000)] {
            assert_eq!(parse(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "5x", "-3s", "1m2", "99999999999999999999d"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(show(Duration::from_secs(200)), "3m20s");
        assert_eq!(show(Duration::from_secs(3600)), "1h");
        assert_eq!(show(Duration::from_secs(3661)), "1h1m");
        assert_eq!(show(Duration::from_millis(20)), "20ms");
        assert_eq!(clock(Duration::from_secs(200)), "00:03:20");
    }
}
