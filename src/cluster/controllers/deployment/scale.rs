//! How many pods each ReplicaSet of a Deployment has.

use super::super::event;
use super::revision::{DESIRED, MAXIMUM};
use super::{NAME, Rollout, count, size};
use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::component::Context;
use crate::value::Value;

/// A number or a percentage of `total`, rounded up or down.
fn scaled(value: &Value, total: i64, up: bool) -> i64 {
    match value {
        Value::Int(number) => *number,
        _ => {
            let percent: i64 = value.str().trim_end_matches('%').parse().unwrap_or(0);
            let product = percent * total;
            if up { (product + 99).div_euclid(100) } else { product.div_euclid(100) }
        }
    }
}

/// Surge and unavailability of a rolling update (`ResolveFenceposts`).
pub(super) fn fenceposts(surge: &Value, unavailable: &Value, wanted: i64) -> (i64, i64) {
    let surge = scaled(surge, wanted, true);
    let unavailable = scaled(unavailable, wanted, false);
    // Both zero would never get anywhere.
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

fn posts(rollout: &Rollout) -> (i64, i64) {
    let rolling = rollout.deployment.at(&["spec", "strategy", "rollingUpdate"]);
    fenceposts(rolling.at(&["maxSurge"]), rolling.at(&["maxUnavailable"]), rollout.wanted())
}

fn max_surge(rollout: &Rollout) -> i64 {
    if rollout.is_rolling() { posts(rollout).0 } else { 0 }
}

/// How many pods may be missing.
pub(super) fn max_unavailable(rollout: &Rollout) -> i64 {
    if !rollout.is_rolling() || rollout.wanted() == 0 {
        return 0;
    }
    posts(rollout).1.min(rollout.wanted())
}

/// The annotation `max-replicas`.
pub(super) fn max_replicas(rollout: &Rollout) -> i64 {
    rollout.wanted() + max_surge(rollout)
}

/// What the new ReplicaSet may grow to from `present`.
pub(super) fn new_size(rollout: &Rollout, present: i64) -> i64 {
    let wanted = rollout.wanted();
    if !rollout.is_rolling() {
        return wanted;
    }
    let total: i64 = rollout.all().map(size).sum();
    let most = max_replicas(rollout);
    if total >= most { present } else { present + (most - total).min(wanted - present) }
}

/// Whether `spec.replicas` was changed since the ReplicaSets were last sized.
pub(super) fn is_scaling(rollout: &Rollout) -> bool {
    let wanted = rollout.wanted();
    rollout.all().filter(|set| size(set) > 0).any(|set| desired(set).is_some_and(|known| known != wanted))
}

fn desired(set: &Value) -> Option<i64> {
    set.annotation(DESIRED)?.parse().ok()
}

fn resize(rollout: &Rollout, set: &Value, to: i64, cx: &mut Context<'_>) -> Option<Value> {
    let from = size(set);
    let key = ObjectKey::of(Kind::REPLICA_SET, set);
    let (wanted, most) = (rollout.wanted().to_string(), max_replicas(rollout).to_string());
    let updated = cx.update(&key, Part::Main, |set| {
        set.set(&["spec", "replicas"], to);
        set.set(&["metadata", "annotations", DESIRED], wanted);
        set.set(&["metadata", "annotations", MAXIMUM], most);
    });
    if from != to && updated.is_ok() {
        let direction = if to > from { "up" } else { "down" };
        let text = format!("Scaled {direction} replica set {} from {from} to {to}", set.name());
        event(cx, NAME, &rollout.key, false, "ScalingReplicaSet", &text);
    }
    updated.ok()
}

/// Gives the new ReplicaSet another size; says whether that was a change.
pub(super) fn resize_new(rollout: &mut Rollout, to: i64, cx: &mut Context<'_>) -> bool {
    let Some(set) = rollout.new.take() else { return false };
    let changes = size(&set) != to;
    let updated = if changes { resize(rollout, &set, to, cx) } else { None };
    rollout.new = Some(updated.unwrap_or(set));
    changes
}

/// Gives an old ReplicaSet another size; says whether that was a change.
pub(super) fn resize_old(rollout: &mut Rollout, index: usize, to: i64, cx: &mut Context<'_>) -> bool {
    if size(&rollout.old[index]) == to {
        return false;
    }
    if let Some(updated) = resize(rollout, &rollout.old[index], to, cx) {
        rollout.old[index] = updated;
    }
    true
}

/// Brings the new ReplicaSet towards its full size.
pub(super) fn grow_new(rollout: &mut Rollout, cx: &mut Context<'_>) -> bool {
    let Some(present) = rollout.new.as_ref().map(size) else { return false };
    let wanted = rollout.wanted();
    let to = if present >= wanted { wanted } else { new_size(rollout, present) };
    resize_new(rollout, to, cx)
}

/// Takes pods from old ReplicaSets: sick ones first, then as many as may be missing.
pub(super) fn shrink_old(rollout: &mut Rollout, cx: &mut Context<'_>) -> bool {
    if rollout.old.iter().map(size).sum::<i64>() == 0 {
        return false;
    }
    let least = rollout.wanted() - max_unavailable(rollout);
    let total: i64 = rollout.all().map(size).sum();
    let new_missing = rollout.new.as_ref().map_or(0, |set| size(set) - count(set, "availableReplicas"));
    let budget = total - least - new_missing;
    if budget <= 0 {
        return false;
    }
    let mut changed = false;
    let mut cleaned = 0;
    for index in 0..rollout.old.len() {
        let (present, available) = (size(&rollout.old[index]), count(&rollout.old[index], "availableReplicas"));
        let sick = (budget - cleaned).min(present - available);
        if cleaned < budget && sick > 0 {
            cleaned += sick;
            changed |= resize_old(rollout, index, present - sick, cx);
        }
    }
    let available: i64 = rollout.all().map(|set| count(set, "availableReplicas")).sum();
    let mut left = (available - least).max(0);
    for index in 0..rollout.old.len() {
        let present = size(&rollout.old[index]);
        let taken = present.min(left);
        if taken > 0 {
            left -= taken;
            changed |= resize_old(rollout, index, present - taken, cx);
        }
    }
    changed
}

/// Follows a change of `spec.replicas`, in the middle of a rollout in proportion.
pub(super) fn scale(rollout: &mut Rollout, cx: &mut Context<'_>) {
    let wanted = rollout.wanted();
    let active: Vec<usize> = (0..rollout.old.len()).filter(|index| size(&rollout.old[*index]) > 0).collect();
    let new_active = rollout.new.as_ref().is_some_and(|set| size(set) > 0);
    match (active.as_slice(), new_active) {
        ([], _) if rollout.new.is_some() => drop(resize_new(rollout, wanted, cx)),
        ([], _) => {
            if let Some(newest) = rollout.old.len().checked_sub(1) {
                resize_old(rollout, newest, wanted, cx);
            }
        }
        ([only], false) => drop(resize_old(rollout, *only, wanted, cx)),
        _ if is_saturated(rollout) => {
            for index in active {
                resize_old(rollout, index, 0, cx);
            }
        }
        _ if rollout.is_rolling() => proportionally(rollout, cx),
        _ => {}
    }
}

fn is_saturated(rollout: &Rollout) -> bool {
    rollout.new.as_ref().is_some_and(|set| {
        let wanted = rollout.wanted();
        size(set) == wanted && desired(set) == Some(wanted) && count(set, "availableReplicas") == wanted
    })
}

fn proportionally(rollout: &mut Rollout, cx: &mut Context<'_>) {
    // `None` stands for the new ReplicaSet.
    let mut sets: Vec<Option<usize>> = (0..rollout.old.len()).map(Some).chain([None]).collect();
    let at = |rollout: &Rollout, slot: Option<usize>| match slot {
        Some(index) => Some(rollout.old[index].clone()),
        None => rollout.new.clone(),
    };
    sets.retain(|slot| at(rollout, *slot).is_some_and(|set| size(&set) > 0));
    let total: i64 = rollout.all().map(size).sum();
    let allowed = if rollout.wanted() > 0 { max_replicas(rollout) } else { 0 };
    let missing = allowed - total;
    // Largest first; among equals the newer one grows first and the older one shrinks first.
    let sizes = |slot: &Option<usize>| at(rollout, *slot).map_or(0, |set| size(&set));
    let mut ordered = sets.clone();
    if missing > 0 {
        ordered.reverse();
    }
    ordered.sort_by_key(|slot| std::cmp::Reverse(sizes(slot)));
    let mut added = 0;
    let mut targets = Vec::new();
    for slot in ordered {
        let Some(set) = at(rollout, slot) else { continue };
        let mut to = size(&set);
        if missing != 0 && missing != added {
            let share = share(rollout, &set);
            let share = if missing > 0 { share.min(missing - added) } else { share.max(missing - added) };
            to += share;
            added += share;
        }
        targets.push((slot, to));
    }
    if let Some((_, first)) = targets.first_mut().filter(|_| missing != 0) {
        *first = (*first + missing - added).max(0);
    }
    for (slot, to) in targets {
        let Some(set) = at(rollout, slot) else { continue };
        let updated = resize(rollout, &set, to, cx).unwrap_or(set);
        match slot {
            Some(index) => rollout.old[index] = updated,
            None => rollout.new = Some(updated),
        }
    }
}

/// What a ReplicaSet gains or loses in proportion to its size (`getReplicaSetFraction`).
fn share(rollout: &Rollout, set: &Value) -> i64 {
    let present = size(set);
    if rollout.wanted() == 0 {
        return -present;
    }
    let before = set.annotation(MAXIMUM).and_then(|most| most.parse::<i64>().ok());
    let before = before.unwrap_or_else(|| rollout.deployment.at(&["status", "replicas"]).int()).max(1);
    let grown = (present * max_replicas(rollout)) as f64 / before as f64;
    grown.round() as i64 - present
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surge_rounds_up_and_unavailability_down() {
        let percent = |surge: &str, unavailable: &str, wanted| fenceposts(&surge.into(), &unavailable.into(), wanted);
        assert_eq!(percent("39%", "39%", 10), (4, 3));
        assert_eq!(percent("0%", "0%", 10), (0, 1));
        assert_eq!(percent("25%", "25%", 5), (2, 1));
        assert_eq!(fenceposts(&Value::Int(1), &Value::Int(0), 4), (1, 0));
    }
}
