use super::*;
use crate::api::schema::{self, FieldValidation};
use crate::{list, object};

const DEFINITION: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"queues.lab.example.com"},"spec":{"group":"lab.example.com","scope":"Namespaced",
"names":{"plural":"queues","kind":"Queue","shortNames":["q"]},"versions":[
{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","required":["name"],"properties":{
 "name":{"type":"string","pattern":"^[a-z]+$","minLength":2,"maxLength":5},
 "replicas":{"type":"integer","minimum":1,"maximum":9,"default":1},
 "mode":{"type":"string","enum":["Fast","Slow"],"default":"Fast"},
 "size":{"x-kubernetes-int-or-string":true},
 "labels":{"type":"object","additionalProperties":{"type":"string"}},
 "hint":{"type":"string","nullable":true},
 "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
 "ports":{"type":"array","maxItems":2,"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
  "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"port":{"type":"integer","default":80}}}}}},
"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}}]}}"#;

fn definition() -> Value {
    let info = definition_kind();
    let object = Value::from_json(DEFINITION.as_bytes()).expect("valid JSON");
    let (mut object, unknown) = schema::decode(&info, "v1", object, FieldValidation::Warn).expect("decodes");
    assert_eq!(unknown, Vec::<String>::new());
    info.strategy.default(&mut object);
    object.set(&["metadata", "creationTimestamp"], "2026-01-01T00:00:00Z");
    info.strategy.prepare_create(&mut object);
    object
}

fn queue(spec: Value) -> Value {
    object! {
        "apiVersion" => "lab.example.com/v1", "kind" => "Queue", "metadata" => object! { "name" => "q" },
        "spec" => spec,
    }
}

/// Decodes, defaults and validates; the complaints as text.
fn create(spec: Value) -> (Value, Vec<String>, Vec<String>) {
    let info = kind_of(&definition()).expect("a right definition");
    let (mut object, unknown) = schema::decode(&info, "v1", queue(spec), FieldValidation::Warn).expect("decodes");
    info.strategy.default(&mut object);
    let errors = info.strategy.validate(&object).iter().map(ToString::to_string).collect();
    (object, unknown, errors)
}

#[test]
fn a_definition_becomes_a_kind() {
    let definition = definition();
    assert_eq!(
        definition.at(&["status", "acceptedNames"]).to_json(),
        r#"{"kind":"Queue","listKind":"QueueList","plural":"queues","shortNames":["q"],"singular":"queue"}"#
    );
    assert_eq!(definition.at(&["status", "storedVersions"]).to_json(), r#"["v1"]"#);
    assert_eq!(definition.condition("Established").at(&["status"]).str(), "True");
    let info = kind_of(&definition).expect("right");
    assert_eq!(info.versions, ["v1", "v1beta1"]);
    assert_eq!((info.singular.as_str(), info.api_version().as_str()), ("queue", "lab.example.com/v1"));
    assert!(info.namespaced && info.has("status") && info.has("scale"));
}

#[test]
fn a_wrong_definition_says_why() {
    let mut wrong = definition();
    wrong.set(&["metadata", "name"], "other");
    wrong.make(&["spec", "versions"]).as_list_mut()[0].set(&["storage"], true);
    wrong.make(&["spec", "versions"]).as_list_mut()[1].remove(&["schema", "openAPIV3Schema", "type"]);
    let texts: Vec<String> = kind_of(&wrong).expect_err("wrong").iter().map(ToString::to_string).collect();
    assert_eq!(texts[0], "metadata.name: Invalid value: \"other\": must be spec.names.plural+\".\"+spec.group");
    assert_eq!(texts[1], "spec.versions[1].schema.openAPIV3Schema.type: Required value: must not be empty at the root");
    assert!(texts[2].ends_with("must have exactly one version marked as storage version"), "{texts:?}");
}

#[test]
fn unknown_fields_go_and_defaults_come() {
    let spec = object! {
        "name" => "abc", "gpus" => 1, "hint" => Value::Null, "free" => object! { "x" => 1 },
        "replicas" => Value::Null, "labels" => object! { "a" => "b" },
        "ports" => list![object! { "name" => "p", "odd" => 1 }],
    };
    let (made, unknown, errors) = create(spec);
    assert_eq!(unknown, ["unknown field \"spec.gpus\"", "unknown field \"spec.ports[0].odd\""]);
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(
        made.at(&["spec"]).to_json(),
        r#"{"free":{"x":1},"hint":null,"labels":{"a":"b"},"mode":"Fast","name":"abc","ports":[{"name":"p","port":80}],"replicas":1}"#
    );
}

#[test]
fn values_are_refused_with_the_servers_words() {
    let (_, _, errors) = create(object! {
        "name" => "A", "replicas" => 10, "mode" => "Odd", "size" => true, "labels" => object! { "a" => 1 },
    });
    assert_eq!(
        errors,
        [
            "spec.labels.a: Invalid value: \"integer\": spec.labels.a in body must be of type string: \"integer\"",
            "spec.mode: Unsupported value: \"Odd\": supported values: \"Fast\", \"Slow\"",
            "spec.name: Invalid value: \"A\": spec.name in body should be at least 2 chars long",
            "spec.name: Invalid value: \"A\": spec.name in body should match '^[a-z]+$'",
            "spec.replicas: Invalid value: 10: spec.replicas in body should be less than or equal to 9",
            "spec.size: Invalid value: \"boolean\": spec.size in body must be of type integer,string: \"boolean\"",
        ]
    );
    let (_, _, errors) = create(object! { "replicas" => "two" });
    assert_eq!(
        errors,
        [
            "spec.name: Required value",
            "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
        ]
    );
    let port = || object! { "name" => "p" };
    let (_, _, errors) = create(object! { "name" => "abcdef", "ports" => list![port(), port(), port()] });
    assert_eq!(errors[0], "spec.name: Too long: may not be more than 5 bytes");
    assert_eq!(errors[1], "spec.ports: Too many: 3: must have at most 2 items");
    assert_eq!(errors[2], "spec.ports[1]: Duplicate value: {\"name\":\"p\"}");
}

#[test]
fn alternatives() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
        "oneOf":[{"required":["a"]},{"required":["b"]}],"not":{"properties":{"a":{"enum":[7]}},"required":["a"]}}"#;
    let schema = Structural::of(&Value::from_json(schema.as_bytes()).expect("valid JSON"));
    let complaints = |value: Value| {
        let mut errors = Errors::default();
        validate::object(&mut errors, &schema, &value);
        errors.0.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(complaints(object! { "a" => 1 }), Vec::<String>::new());
    assert_eq!(
        complaints(object! {}),
        ["<nil>: Invalid value: \"\": \"\" must validate one and only one schema (oneOf). Found none valid"]
    );
    assert_eq!(
        complaints(object! { "a" => 7 }),
        ["<nil>: Invalid value: \"\": \"\" must not validate the schema (not)"]
    );
}

#[test]
fn status_and_metadata_do_not_count_as_a_generation() {
    let info = kind_of(&definition()).expect("right");
    let old = queue(object! { "name" => "abc" });
    let changed = |path: &[&str]| {
        let mut new = old.clone();
        new.set(path, "x");
        info.strategy.bumps_generation(&new, &old)
    };
    assert!(!changed(&["metadata", "labels", "a"]) && !changed(&["status", "phase"]));
    assert!(changed(&["spec", "name"]) && changed(&["extra"]));
}
