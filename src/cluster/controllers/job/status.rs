//! Counting and judging a Job.

use std::time::Duration;

use super::Round;
use crate::object;
use crate::time::VirtualTime;
use crate::value::Value;

/// How many pods should run.
pub(super) fn wanted(round: &Round) -> i64 {
    let parallelism = round.spec("parallelism").as_i64().unwrap_or(1);
    let succeeded = round.count("succeeded");
    match round.spec("completions").as_i64() {
        Some(completions) => parallelism.min(completions - succeeded).max(0),
        // A work queue: after the first success the rest only finishes.
        None if succeeded > 0 => i64::try_from(round.active.len()).unwrap_or(i64::MAX).min(parallelism),
        None => parallelism,
    }
}

pub(super) fn is_complete(round: &Round) -> bool {
    if round.spec("suspend").is_true() && round.count("succeeded") == 0 {
        return false;
    }
    match round.spec("completions").as_i64() {
        Some(completions) => round.count("succeeded") >= completions,
        None => round.count("succeeded") > 0 && round.active.is_empty(),
    }
}

/// Why the Job has failed, if it has.
pub(super) fn failure(round: &Round, now: VirtualTime) -> Option<(&'static str, &'static str)> {
    let limit = round.spec("backoffLimit").as_i64().unwrap_or(6);
    let exceeded = ("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    if round.count("failed") > limit {
        return Some(exceeded);
    }
    if round.job.at(&["spec", "template", "spec", "restartPolicy"]).str() == "OnFailure" {
        let restarts = |pod: &Value| {
            let statuses =
                ["initContainerStatuses", "containerStatuses"].map(|field| pod.at(&["status", field]).items());
            statuses.into_iter().flatten().map(|status| status.at(&["restartCount"]).int()).sum::<i64>()
        };
        let total: i64 = round.active.iter().map(restarts).sum();
        if total > 0 && total >= limit {
            return Some(exceeded);
        }
    }
    let deadline = round.spec("activeDeadlineSeconds").as_i64()?;
    let started = VirtualTime::parse(round.status.at(&["startTime"]).str())?;
    let over = !round.spec("suspend").is_true() && now.since(started) >= Duration::from_secs(deadline.unsigned_abs());
    over.then_some(("DeadlineExceeded", "Job was active longer than specified deadline"))
}

/// Sets a condition; a new one comes last, a known one keeps its place.
pub(super) fn put(status: &mut Value, kind: &str, truth: &str, reason: &str, message: &str, now: VirtualTime) {
    let conditions = status.make(&["conditions"]).as_list_mut();
    let known = conditions.iter_mut().find(|one| one.at(&["type"]).str() == kind);
    if known.as_ref().is_some_and(|known| known.at(&["status"]).str() == truth) {
        return;
    }
    let condition = object! {
        "type" => kind, "status" => truth, "reason" => reason, "message" => message,
        "lastProbeTime" => now.rfc3339(), "lastTransitionTime" => now.rfc3339(),
    };
    match known {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}

/// `0-2,5` as numbers.
pub(super) fn indexes(text: &str) -> Vec<i64> {
    let number = |text: &str| text.parse::<i64>().ok();
    let ranges = text.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(number(first)?..=number(last)?)
    });
    ranges.flatten().collect()
}

/// Sorted numbers as `0-2,5,7,8`: a range has three at least.
pub(super) fn ranges(numbers: &[i64]) -> String {
    let mut parts: Vec<(i64, i64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *number == *last + 1 => *last = *number,
            Some((_, last)) if *number == *last => {}
            _ => parts.push((*number, *number)),
        }
    }
    let text = |(first, last): &(i64, i64)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7,8");
        assert_eq!(ranges(&[]), "");
        assert_eq!(indexes("0-2,5,7,8"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(indexes(""), [0; 0]);
    }
}
