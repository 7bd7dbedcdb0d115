//! The verbs through requests, as a client sees them.

use gpulab_cluster::api::request::{Body, Request, Response};
use gpulab_cluster::{Config, Value, World};

fn world() -> World {
    World::new(&Config::default())
}

fn ask(world: &mut World, method: &str, path: &str, body: &str) -> (u16, Value) {
    let response = send(world, method, path, body);
    match response.body {
        Body::Json(value) => (response.status, value),
        other => panic!("{method} {path} answered {other:?}"),
    }
}

fn send(world: &mut World, method: &str, path: &str, body: &str) -> Response {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    world.request(&Request {
        method: method.into(),
        path: path.into(),
        query: query.into(),
        content_type: media.into(),
        body: body.into(),
        ..Request::default()
    })
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str, value: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"a":"{value}"}}}}"#)
}

#[test]
fn a_life() {
    let mut world = world();
    let (code, made) = ask(&mut world, "POST", MAPS, &map("one", "1"));
    assert_eq!((code, made.name(), made.namespace()), (201, "one", "default"), "{made:?}");
    assert_eq!(ask(&mut world, "POST", MAPS, &map("one", "1")).0, 409);
    let (code, same) = ask(&mut world, "PUT", &format!("{MAPS}/one"), &map("one", "1"));
    assert_eq!((code, &same), (200, &made), "an update that changes nothing keeps the revision");
    let (code, changed) = ask(&mut world, "PUT", &format!("{MAPS}/one"), &map("one", "2"));
    assert_eq!((code, changed.at(&["data", "a"]).str()), (200, "2"));
    assert_ne!(changed.at(&["metadata", "resourceVersion"]), made.at(&["metadata", "resourceVersion"]));
    assert_eq!(ask(&mut world, "PUT", &format!("{MAPS}/one"), &made.to_json()).0, 409);
    assert_eq!(ask(&mut world, "DELETE", &format!("{MAPS}/one"), "").1.at(&["status"]).str(), "Success");
    assert_eq!(ask(&mut world, "GET", &format!("{MAPS}/one"), "").0, 404);
    let again = ask(&mut world, "POST", MAPS, &map("one", "1")).1;
    assert_ne!(again.uid(), made.uid(), "another object of the same name has another uid");
}

#[test]
fn a_watch_sees_what_happens() {
    let mut world = world();
    let response = send(&mut world, "GET", &format!("{MAPS}?watch=1"), "");
    let Body::Watch(mut watch) = response.body else { panic!("no watch: {response:?}") };
    ask(&mut world, "POST", MAPS, &map("one", "1"));
    ask(&mut world, "PUT", &format!("{MAPS}/one"), &map("one", "2"));
    ask(&mut world, "DELETE", &format!("{MAPS}/one"), "");
    let (events, ends) = world.poll(&mut watch);
    let told: Vec<(&str, &str)> =
        events.iter().map(|event| (event.at(&["type"]).str(), event.at(&["object"]).name())).collect();
    assert_eq!(told, [("ADDED", "kube-root-ca.crt"), ("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]);
    assert!(!ends);
    assert_eq!(world.poll(&mut watch).0.len(), 0);
}

#[test]
fn a_watch_of_a_past_that_was_taken_back_ends() {
    let mut world = world();
    let earlier = world.clone();
    ask(&mut world, "POST", MAPS, &map("one", "1"));
    let Body::Watch(mut watch) = send(&mut world, "GET", &format!("{MAPS}?watch=1"), "").body else {
        panic!("no watch")
    };
    assert!(!world.poll(&mut watch).1);
    let (events, ends) = earlier.poll(&mut watch);
    assert_eq!((events[0].at(&["object", "code"]).int(), ends), (410, true));
}

const CRD: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boards.lab.example"},
  "spec":{"group":"lab.example","scope":"Namespaced","names":{"kind":"Board","plural":"boards"},"versions":[{"name":"v1","served":true,"storage":true,
  "additionalPrinterColumns":[{"name":"Slots","type":"integer","jsonPath":".spec.slots"}],"subresources":{"status":{}},
  "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"slots":{"type":"integer","default":8}}},
  "status":{"type":"object","properties":{"free":{"type":"integer"}}}}}}}]}}"#;

#[test]
fn a_definition_serves_its_kind_until_it_goes() {
    let mut world = world();
    let boards = "/apis/lab.example/v1/namespaces/default/boards";
    assert_eq!(send(&mut world, "GET", boards, "").status, 404);
    let (code, made) = ask(&mut world, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD);
    assert_eq!(code, 201, "{made:?}");
    let body = r#"{"apiVersion":"lab.example/v1","kind":"Board","metadata":{"name":"one"},"spec":{"colour":"red"}}"#;
    let (code, board) = ask(&mut world, "POST", boards, body);
    assert_eq!(
        (code, board.at(&["spec"]).to_json().as_str()),
        (201, r#"{"slots":8}"#),
        "defaults and pruning: {board:?}"
    );
    let (_, patched) =
        ask(&mut world, "PATCH", &format!("{boards}/one/status"), r#"{"status":{"free":3},"spec":{"slots":1}}"#);
    assert_eq!((patched.at(&["spec", "slots"]).int(), patched.at(&["status", "free"]).int()), (8, 3));
    assert_eq!(patched.at(&["metadata", "generation"]).int(), 1);
    let Body::Watch(mut watch) = send(&mut world, "GET", &format!("{boards}?watch=1"), "").body else {
        panic!("no watch")
    };
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boards.lab.example";
    assert_eq!(ask(&mut world, "DELETE", definition, "").0, 200);
    let (events, ends) = world.poll(&mut watch);
    let told: Vec<&str> = events.iter().map(|event| event.at(&["type"]).str()).collect();
    assert_eq!((told.as_slice(), ends), (&["ADDED", "DELETED"][..], true));
    assert_eq!(send(&mut world, "GET", boards, "").status, 404);
}

#[test]
fn events_have_two_forms_and_an_end() {
    let mut world = world();
    let event = r#"{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z",
      "action":"Test","reason":"Tested","regarding":{"kind":"Pod","name":"p","namespace":"default"},"note":"hello","type":"Normal",
      "reportingController":"lab.example/test","reportingInstance":"one"}"#;
    let (code, made) = ask(&mut world, "POST", "/apis/events.k8s.io/v1/namespaces/default/events", event);
    assert_eq!((code, made.at(&["note"]).str()), (201, "hello"), "{made:?}");
    let old = ask(&mut world, "GET", "/api/v1/namespaces/default/events/e", "").1;
    assert_eq!((old.at(&["message"]).str(), old.at(&["involvedObject", "name"]).str()), ("hello", "p"));
    let selected = "/apis/events.k8s.io/v1/events?fieldSelector=regarding.name=p";
    assert_eq!(ask(&mut world, "GET", selected, "").1.at(&["items"]).items().len(), 1);
    world.advance(std::time::Duration::from_secs(3600));
    assert_eq!(ask(&mut world, "GET", "/api/v1/namespaces/default/events/e", "").0, 404);
}

#[test]
fn a_custom_kind_is_discovered_and_printed() {
    let mut world = world();
    ask(&mut world, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD);
    let boards = "/apis/lab.example/v1/namespaces/default/boards";
    let (code, made) = ask(
        &mut world,
        "POST",
        boards,
        r#"{"apiVersion":"lab.example/v1","kind":"Board","metadata":{"name":"one"},"spec":{"slots":4}}"#,
    );
    assert_eq!(code, 201, "{made:?}");
    let list = ask(&mut world, "GET", "/apis/lab.example/v1", "").1;
    let names: Vec<&str> = list.at(&["resources"]).items().iter().map(|one| one.at(&["name"]).str()).collect();
    assert_eq!(names, ["boards", "boards/status"]);
    let groups = ask(&mut world, "GET", "/apis", "").1;
    let last = groups.at(&["groups"]).items().last().cloned().unwrap_or_default();
    assert_eq!(last.at(&["preferredVersion", "groupVersion"]).str(), "lab.example/v1");
    let response = world.request(&Request {
        method: "GET".into(),
        path: boards.into(),
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json".into(),
        ..Request::default()
    });
    let Body::Json(table) = response.body else { panic!("no table") };
    let columns: Vec<&str> =
        table.at(&["columnDefinitions"]).items().iter().map(|one| one.at(&["name"]).str()).collect();
    assert_eq!(columns, ["Name", "Slots"]);
    assert_eq!(table.at(&["rows"]).items()[0].at(&["cells"]).to_json(), r#"["one",4]"#);
    let plain = ask(&mut world, "GET", boards, "").1;
    assert_eq!(
        (plain.at(&["kind"]).str(), plain.at(&["items"]).items()[0].at(&["kind"]).str()),
        ("BoardList", "Board")
    );
}
