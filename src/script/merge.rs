//! `kubectl apply`: three-way merge of what was applied last, what is there and what is wanted.
//!
//! Source of the rules: apimachinery `pkg/util/strategicpatch` and `pkg/util/jsonmergepatch`. The result is worked out
//! here and sent as a JSON merge patch, which has the same effect as kubectl's strategic patch.

use serde_json::{Map, Value, json};

/// The annotation that keeps what was applied last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Lists whose elements are merged by a key, by field name (core/v1 and apps/v1 `patchMergeKey`).
const MERGE_KEYS: &[(&str, &[&str])] = &[
    ("containers", &["name"]),
    ("initContainers", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("env", &["name"]),
    ("ports", &["containerPort", "port"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    ("volumes", &["name"]),
    ("imagePullSecrets", &["name"]),
    ("secrets", &["name"]),
    ("hostAliases", &["ip"]),
    ("topologySpreadConstraints", &["topologyKey"]),
    ("resourceClaims", &["name"]),
    ("schedulingGates", &["name"]),
    ("conditions", &["type"]),
    ("addresses", &["type"]),
    ("taints", &["key"]),
    ("ownerReferences", &["uid"]),
];

/// Lists of plain values that are merged as sets.
const SETS: &[&str] = &["finalizers", "podCIDRs"];

/// What the object shall be: fields of `wanted` win, fields that were applied last and are not wanted any more go, all
/// others stay. `strategic` merges lists by their keys as built-in kinds do.
pub fn three_way(last: &Value, live: &Value, wanted: &Value, strategic: bool) -> Value {
    merge("", last, live, wanted, strategic)
}

fn merge(field: &str, last: &Value, live: &Value, wanted: &Value, strategic: bool) -> Value {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            let mut merged = live.clone();
            for (key, _) in last.as_object().into_iter().flatten() {
                if !wanted.contains_key(key) {
                    merged.remove(key);
                }
            }
            for (key, wanted) in wanted {
                if wanted.is_null() {
                    merged.remove(key);
                    continue;
                }
                let last = last.get(key).unwrap_or(&Value::Null);
                let now = live.get(key).unwrap_or(&Value::Null);
                merged.insert(key.clone(), merge(key, last, now, wanted, strategic));
            }
            Value::Object(merged)
        }
        (Value::Array(now), Value::Array(next)) if strategic => merge_lists(field, last, now, next),
        _ => wanted.clone(),
    }
}

fn merge_lists(field: &str, last: &Value, live: &[Value], wanted: &[Value]) -> Value {
    let last = last.as_array().map_or(&[][..], Vec::as_slice);
    if SETS.contains(&field) {
        let gone = |value: &Value| last.contains(value) && !wanted.contains(value);
        let mut merged: Vec<Value> = wanted.to_vec();
        merged.extend(live.iter().filter(|value| !gone(value) && !wanted.contains(value)).cloned());
        return Value::Array(merged);
    }
    let keys = MERGE_KEYS.iter().find(|(name, _)| *name == field).map(|(_, keys)| *keys).unwrap_or_default();
    let all = |key: &str| live.iter().chain(wanted).all(|item| item.get(key).is_some());
    let Some(key) = keys.iter().find(|key| all(key)) else { return Value::Array(wanted.to_vec()) };
    let find = |list: &[Value], item: &Value| list.iter().find(|other| other.get(key) == item.get(key)).cloned();
    let mut merged: Vec<Value> = wanted
        .iter()
        .map(|item| {
            let (last, live) = (find(last, item).unwrap_or_default(), find(live, item).unwrap_or_default());
            if live.is_null() { item.clone() } else { merge("", &last, &live, item, true) }
        })
        .collect();
    let kept = |item: &&Value| find(wanted, item).is_none() && find(last, item).is_none();
    merged.extend(live.iter().filter(kept).cloned());
    Value::Array(merged)
}

/// The JSON merge patch (RFC 7386) that makes `now` into `wanted`; `None` when they are equal.
pub fn difference(now: &Value, wanted: &Value) -> Option<Value> {
    if now == wanted {
        return None;
    }
    let (Value::Object(now), Value::Object(wanted)) = (now, wanted) else { return Some(wanted.clone()) };
    let mut patch = Map::new();
    for (key, value) in wanted {
        let part = difference(now.get(key).unwrap_or(&Value::Null), value);
        if let Some(part) = part {
            patch.insert(key.clone(), part);
        }
    }
    for key in now.keys().filter(|key| !wanted.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    Some(Value::Object(patch))
}

/// The manifest as the annotation keeps it: compact, without the annotation itself, ended by a line feed.
pub fn with_last_applied(mut manifest: Value) -> Value {
    if let Some(annotations) = manifest.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    } else {
        manifest["metadata"]["annotations"] = json!({});
    }
    let text = format!("{manifest}\n");
    manifest["metadata"]["annotations"][LAST_APPLIED] = text.into();
    manifest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_not_wanted_any_more_go_and_foreign_ones_stay() {
        let last = json!({"spec": {"replicas": 1, "paused": true}});
        let live = json!({"spec": {"replicas": 3, "paused": true, "progressDeadlineSeconds": 600}, "status": {}});
        let wanted = json!({"spec": {"replicas": 5}});
        let merged = three_way(&last, &live, &wanted, true);
        assert_eq!(merged, json!({"spec": {"replicas": 5, "progressDeadlineSeconds": 600}, "status": {}}));
        assert_eq!(difference(&live, &merged), Some(json!({"spec": {"replicas": 5, "paused": null}})));
        assert_eq!(difference(&merged, &merged), None);
    }

    #[test]
    fn lists_merge_by_their_key() {
        let last = json!({"containers": [{"name": "a", "image": "one"}, {"name": "old"}]});
        let live = json!({"containers": [{"name": "a", "image": "one", "tty": true}, {"name": "old"}, {"name": "x"}]});
        let wanted = json!({"containers": [{"name": "b"}, {"name": "a", "image": "two"}]});
        let merged = three_way(&last, &live, &wanted, true);
        let names = json!([{"name": "b"}, {"name": "a", "image": "two", "tty": true}, {"name": "x"}]);
        assert_eq!(merged["containers"], names);
        assert_eq!(three_way(&last, &live, &wanted, false), wanted);
    }

    #[test]
    fn the_annotation_does_not_hold_itself() {
        let once = with_last_applied(json!({"kind": "Pod", "metadata": {"name": "a"}}));
        let kept = once["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap();
        assert_eq!(kept, "{\"kind\":\"Pod\",\"metadata\":{\"annotations\":{},\"name\":\"a\"}}\n");
        assert_eq!(with_last_applied(once.clone()), once);
    }
}
