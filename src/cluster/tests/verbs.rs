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
