//! The laws of the shared tree.

use super::*;

#[test]
fn json_keeps_its_meaning_and_sorts_keys() {
    let text = br#"{"b":[1,-2.5,"x",null,true],"a":{"z":{},"y":18446744073709551615}}"#;
    let value = Value::from_json(text).expect("valid JSON");
    assert_eq!(value.to_json(), r#"{"a":{"y":1.8446744073709552e+19,"z":{}},"b":[1,-2.5,"x",null,true]}"#);
}

#[test]
fn copies_are_shared_until_one_is_written() {
    let one = object! { "metadata" => object! { "name" => "a" }, "spec" => object! { "x" => 1 } };
    let mut two = one.clone();
    two.set(&["metadata", "name"], "b");
    assert_eq!((one.name(), two.name()), ("a", "b"));
    assert!(one.at(&["spec"]).as_map().expect("map").same(two.at(&["spec"]).as_map().expect("map")));
}

#[test]
fn the_last_of_equal_keys_wins() {
    assert_eq!(Value::from_json(br#"{"a":1,"b":2,"a":3}"#).expect("valid").to_json(), r#"{"a":3,"b":2}"#);
}

#[test]
fn removing_what_is_absent_changes_nothing() {
    let mut value = object! { "a" => object! {} };
    assert_eq!(value.remove(&["a", "b"]), None);
    assert_eq!(value.remove(&["c", "b"]), None);
    assert_eq!(value.to_json(), r#"{"a":{}}"#);
}

#[test]
fn defaults_fill_what_is_absent_or_null() {
    let defaults: Map = [("a", 1), ("c", 3), ("e", 5)].into_iter().collect();
    let mut map = Map::new();
    map.insert("b", 20);
    map.insert("c", Value::Null);
    map.insert("e", 50);
    let before = map.clone();
    map.fill(&defaults);
    assert_eq!(Value::Map(map.clone()).to_json(), r#"{"a":1,"b":20,"c":3,"e":50}"#);
    assert_eq!(Value::Map(before).to_json(), r#"{"b":20,"c":null,"e":50}"#);
    let filled = map.clone();
    map.fill(&defaults);
    assert!(map.same(&filled));
}
