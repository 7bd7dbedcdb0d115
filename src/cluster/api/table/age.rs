//! Durations as `kubectl get` prints them.
//!
//! Source: apimachinery `pkg/util/duration`.

use crate::time::VirtualTime;

/// `5s`, `3m20s`, `109m`, `5h2m`, `3d4h`, `2y10d`.
pub fn human(micros: i64) -> String {
    let seconds = micros / 1_000_000;
    let pair = |whole: i64, unit: &str, rest: i64, small: &str| {
        if rest == 0 { format!("{whole}{unit}") } else { format!("{whole}{unit}{rest}{small}") }
    };
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    if seconds < -1 {
        "<invalid>".to_owned()
    } else if seconds < 0 {
        "0s".to_owned()
    } else if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        pair(minutes, "m", seconds % 60, "s")
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        pair(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if hours < 24 * 8 {
        pair(hours / 24, "d", hours % 24, "h")
    } else if hours < 24 * 365 * 2 {
        format!("{}d", hours / 24)
    } else if hours < 24 * 365 * 8 {
        pair(hours / 24 / 365, "y", hours / 24 % 365, "d")
    } else {
        format!("{}y", hours / 24 / 365)
    }
}

/// The time since `text`, `<unknown>` when there is none.
pub fn since(now: VirtualTime, text: &str) -> String {
    match VirtualTime::parse(text) {
        Some(then) => human(now.micros() - then.micros()),
        None => "<unknown>".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_kubectl_does() {
        for (seconds, text) in [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
            (6560, "109m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 120, "3h2m"),
            (9 * 3600 + 120, "9h"),
            (48 * 3600, "2d"),
            (49 * 3600, "2d1h"),
            (9 * 86400, "9d"),
            (730 * 86400, "2y"),
            (731 * 86400, "2y1d"),
            (3000 * 86400, "8y"),
        ] {
            assert_eq!(human(seconds * 1_000_000), text);
        }
    }
}
