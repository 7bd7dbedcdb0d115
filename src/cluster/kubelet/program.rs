//! What runs in the containers of the lab, as far as the cluster can tell: how long, and how it ends.

use std::time::Duration;

use crate::value::Value;

/// Parses a Go duration: `300ms`, `90s`, `1h30m`, `1.5h`. `None` for anything else and for negative ones.
pub(super) fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let unit = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let seconds = match &after[..unit] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        let part = Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()?;
        total = total.checked_add(part)?;
        rest = &after[unit..];
    }
    (!text.is_empty()).then_some(total)
}

/// Whole seconds as Go prints a duration: `10s`, `1m20s`, `5m0s`.
pub(super) fn text(duration: Duration) -> String {
    let (minutes, seconds) = (duration.as_secs() / 60, duration.as_secs() % 60);
    if minutes == 0 { format!("{seconds}s") } else { format!("{minutes}m{seconds}s") }
}

/// The exit code in an annotation; 0 when there is none.
pub(super) fn exit_code(annotation: Option<&str>) -> i64 {
    annotation.and_then(|code| code.trim().parse().ok()).unwrap_or(0)
}

/// Whether a container that ended with `code` is started again.
pub(super) fn restarts(policy: &str, code: i64) -> bool {
    match policy {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}

/// What a container does when it is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It ends at once with this exit code.
    Exits(i64),
    /// It goes on until it is killed.
    Ignores,
}

/// What SIGTERM does to a container. A shell or a tool such as `sleep` runs as process 1, which the kernel spares signals
/// that it has no handler for; a `trap` in the command line is such a handler.
pub(super) fn on_sigterm(container: &Value) -> Stop {
    let words = || {
        let command = container.at(&["command"]).items().iter();
        command.chain(container.at(&["args"]).items()).map(Value::str)
    };
    let Some(trap) = words().find_map(|word| word.split_once("trap ").map(|(_, rest)| rest)) else {
        let program = words().next().map(|word| word.rsplit('/').next().unwrap_or(word));
        let deaf =
            program.is_some_and(|program| ["sh", "bash", "ash", "sleep", "tail", "cat", "yes"].contains(&program));
        return if deaf { Stop::Ignores } else { Stop::Exits(0) };
    };
    if trap.starts_with("''") || trap.starts_with("\"\"") {
        return Stop::Ignores;
    }
    let code =
        trap.split_once("exit ").map(|(_, code)| code.chars().take_while(char::is_ascii_digit).collect::<String>());
    Stop::Exits(code.and_then(|code| code.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{list, object};

    #[test]
    fn durations_are_those_of_go() {
        let millis = |text| duration(text).map(|duration| duration.as_millis());
        assert_eq!(millis("5m"), Some(300_000));
        assert_eq!(millis("1h30m"), Some(5_400_000));
        assert_eq!(millis("1.5s"), Some(1_500));
        assert_eq!(millis("300ms"), Some(300));
        assert_eq!(millis("0"), Some(0));
        for wrong in ["", "5", "m", "-5m", "5 m", "1d"] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_trap_decides_what_sigterm_does() {
        let shell = |script: &str| object! { "command" => list!["/bin/sh", "-c", script] };
        assert_eq!(on_sigterm(&object! { "image" => "registry.k8s.io/pause:3.10" }), Stop::Exits(0));
        assert_eq!(on_sigterm(&shell("trap 'exit 0' TERM; while true; do sleep 1; done")), Stop::Exits(0));
        assert_eq!(on_sigterm(&shell("trap 'exit 3' TERM; sleep 9")), Stop::Exits(3));
        assert_eq!(on_sigterm(&shell("trap '' TERM; while true; do sleep 1; done")), Stop::Ignores);
        assert_eq!(on_sigterm(&object! { "command" => list!["sleep", "3600"] }), Stop::Ignores);
        assert_eq!(on_sigterm(&object! { "command" => list!["/app/server"] }), Stop::Exits(0));
    }
}
