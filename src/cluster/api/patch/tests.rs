use proptest::prelude::{Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

use super::*;
use crate::api::kinds;
use crate::api::registry::{Kind, Registry};
use crate::api::schema::{self, FieldValidation};
use crate::{list, object};
use std::sync::Arc;

fn info(kind: Kind) -> Arc<KindInfo> {
    let mut registry = Registry::default();
    kinds::register(&mut registry);
    registry.info(kind).clone()
}

fn patched(content_type: &str, current: &Value, patch: &str) -> Result<Value, Status> {
    apply(&info(Kind::DEPLOYMENT), "v1", content_type, current, patch.as_bytes())
}

fn deployment() -> Value {
    let container = |name: &str| object! { "image" => "pause", "name" => name };
    let mut side = container("side");
    side.set(&["env"], list![object! { "name" => "A", "value" => "1" }, object! { "name" => "B", "value" => "2" }]);
    let pod = object! {
        "containers" => list![container("c"), side], "nodeSelector" => object! { "never" => "x" },
        "tolerations" => list![object! { "key" => "a" }],
    };
    let mut made = object! { "apiVersion" => "apps/v1", "kind" => "Deployment" };
    made.set(&["metadata", "name"], "d");
    made.set(&["metadata", "finalizers"], list!["a/b", "a/c"]);
    made.set(&["spec", "replicas"], 1);
    made.set(
        &["spec", "strategy"],
        object! { "type" => "RollingUpdate", "rollingUpdate" => object! { "maxSurge" => 1 } },
    );
    made.set(&["spec", "template", "spec"], pod);
    made
}

/// What a strategic patch of the template's spec makes of a part of it.
fn strategic(current: &Value, patch: &str, part: &str) -> (Value, String) {
    let patch = format!(r#"{{"spec":{{"template":{{"spec":{patch}}}}}}}"#);
    let made = patched(STRATEGIC, current, &patch).expect("a patch");
    let text = made.at(&["spec", "template", "spec", part]).to_json();
    (made, text)
}

#[test]
fn strategic_patches_as_recorded() {
    let (made, _) = strategic(&deployment(), r#"{"containers":[{"name":"side","image":"pause:9"}]}"#, "containers");
    let (made, text) = strategic(
        &made,
        r#"{"containers":[{"name":"side","env":[{"name":"A","$patch":"delete"},{"name":"C","value":"3"}]}]}"#,
        "containers",
    );
    let side = r#"{"env":[{"name":"C","value":"3"},{"name":"B","value":"2"}],"image":"pause:9","name":"side"}"#;
    assert_eq!(text, format!(r#"[{{"image":"pause","name":"c"}},{side}]"#));
    let order =
        r#"{"containers":[{"name":"c","image":"only"}],"$setElementOrder/containers":[{"name":"side"},{"name":"c"}]}"#;
    let (made, text) = strategic(&made, order, "containers");
    assert_eq!(text, format!(r#"[{side},{{"image":"only","name":"c"}}]"#));
    let (_, text) = strategic(&made, r#"{"nodeSelector":{"$patch":"replace","z":"1"}}"#, "nodeSelector");
    assert_eq!(text, r#"{"z":"1"}"#);
}

#[test]
fn a_list_element_without_its_key_is_an_error_without_a_reason() {
    let error = patched(STRATEGIC, &deployment(), r#"{"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}"#);
    let error = error.expect_err("no key");
    assert_eq!((error.code, error.reason), (500, ""));
    assert_eq!(error.message, "map: map[image:x] does not contain declared merge key: name");
}

#[test]
fn directives() {
    let current = deployment();
    let (_, text) = strategic(&current, r#"{"tolerations":[{"key":"b"}]}"#, "tolerations");
    assert_eq!(text, r#"[{"key":"b"}]"#, "atomic lists are replaced");
    let (_, text) =
        strategic(&current, r#"{"containers":[{"$patch":"replace"},{"name":"n","image":"i"}]}"#, "containers");
    assert_eq!(text, r#"[{"image":"i","name":"n"}]"#);
    let (_, text) = strategic(&current, r#"{"containers":[{"name":"new","image":"i"}]}"#, "containers");
    assert!(text.starts_with(r#"[{"image":"i","name":"new"},{"image":"pause","name":"c"}"#), "{text}");
    let (_, text) = strategic(&current, r#"{"nodeSelector":null}"#, "nodeSelector");
    assert_eq!(text, "null");
    let retained = patched(STRATEGIC, &current, r#"{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}"#);
    assert_eq!(retained.expect("a patch").at(&["spec", "strategy"]).to_json(), r#"{"type":"Recreate"}"#);
    let one = r#"{"metadata":{"$deleteFromPrimitiveList/finalizers":["a/b"]}}"#;
    let made = patched(STRATEGIC, &current, one).expect("a patch");
    assert_eq!(made.at(&["metadata", "finalizers"]).to_json(), r#"["a/c"]"#);
    let made = patched(STRATEGIC, &current, r#"{"metadata":{"finalizers":["a/c","a/d"]}}"#).expect("a patch");
    assert_eq!(made.at(&["metadata", "finalizers"]).to_json(), r#"["a/b","a/c","a/d"]"#);
    let error = patched(STRATEGIC, &current, r#"{"spec":{"strategy":{"$retainKeys":["type"],"rollingUpdate":{}}}}"#);
    assert_eq!(error.expect_err("not retained").message, "Invalid patch format of retainKeys");
}

#[test]
fn other_patches() {
    let current = deployment();
    let made =
        patched(MERGE, &current, r#"{"spec":{"template":{"spec":{"containers":[{"name":"c"}]}},"replicas":null}}"#);
    let made = made.expect("a patch");
    assert_eq!(made.at(&["spec", "template", "spec", "containers"]).to_json(), r#"[{"name":"c"}]"#);
    assert!(made.at(&["spec"]).get("replicas").is_none());
    for failing in [
        r#"[{"op":"test","path":"/spec/replicas","value":5},{"op":"replace","path":"/spec/replicas","value":2}]"#,
        r#"[{"op":"remove","path":"/spec/nope"}]"#,
    ] {
        let error = patched(JSON, &current, failing).expect_err("fails");
        assert_eq!((error.code, error.reason), (422, "Invalid"));
        assert_eq!(error.message, "the server rejected our request due to an error in our request");
        assert_eq!(error.details, Value::object());
    }
    let made = patched(JSON, &current, r#"[{"op":"replace","path":"/spec/replicas","value":2}]"#).expect("a patch");
    assert_eq!(made.at(&["spec", "replicas"]).int(), 2);
    let error = patched("application/xml", &current, "{}").expect_err("unknown");
    assert_eq!((error.code, error.message.as_str()), (415, "415: Unsupported Media Type"));
    assert_eq!(patched(MERGE, &current, "[]").expect_err("no object").code, 400);
}

#[test]
fn a_result_that_does_not_decode_is_invalid() {
    let made = patched(JSON, &deployment(), r#"[{"op":"replace","path":"/spec/replicas","value":"two"}]"#);
    let made = made.expect("a patch");
    let info = info(Kind::DEPLOYMENT);
    let refusal = schema::decode(&info, "v1", made.clone(), FieldValidation::Warn).expect_err("wrong type");
    let error = undecodable(&info, &made, refusal);
    assert!(error.message.starts_with(" \"\" is invalid: patch: Invalid value: \"{\\\"apiVersion\\\""), "{error}");
    let why = "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32";
    assert!(error.message.ends_with(why), "{error}");
    assert_eq!(error.details.entries().len(), 1);
}

/// A small JSON tree without nulls.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        (0..5_i64).prop_map(Value::Int),
        "[a-c]{0,2}".prop_map(Value::from),
        prop::collection::vec(0..3_i64, 0..3).prop_map(|items| items.into_iter().map(Value::Int).collect()),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|map| Value::Map(map.into_iter().collect()))
    })
}

/// The merge patch that makes `to` of `from`.
fn difference(from: &Value, to: &Value) -> Value {
    let (Value::Map(one), Value::Map(two)) = (from, to) else { return to.clone() };
    let mut patch = Map::new();
    for (key, _) in one.iter().filter(|(key, _)| !two.contains_key(key)) {
        patch.insert(key, Value::Null);
    }
    for (key, value) in two {
        match one.get(key) {
            Some(before) if before == value => {}
            // A scalar that becomes an object needs the whole object.
            Some(before) => drop(patch.insert(key, difference(before, value))),
            None => drop(patch.insert(key, value)),
        }
    }
    Value::Map(patch)
}

proptest! {
    #[test]
    fn a_merge_patch_leads_where_it_was_made_for(from in tree(), to in tree()) {
        prop_assert_eq!(merge(&from, &difference(&from, &to)), to);
    }

    #[test]
    fn merging_twice_is_merging_once(from in tree(), patch in tree()) {
        let once = merge(&from, &patch);
        prop_assert_eq!(merge(&once, &patch), once);
    }
}
