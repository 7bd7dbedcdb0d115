//! What the server says to requests that are wrong before any object is looked at.

mod client;

use client::Client;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn parameters() {
    let mut client = Client::new();
    for (query, code, message) in [
        ("resourceVersion=99999", 504, "Timeout: Too large resource version: 99999, current: 14"),
        (
            "resourceVersionMatch=Exact",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=0",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        (
            "sendInitialEvents=true",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
        ),
        (
            "watch=1&resourceVersionMatch=NotOlderThan",
            422,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        ("continue=a*", 400, "invalid continue token: continue key is not valid: illegal base64 data at input byte 1"),
        (
            "fieldSelector=data.a%3Db",
            400,
            "\"data.a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        ("fieldSelector=x", 400, "invalid selector: 'x'; can't understand 'x'"),
        ("labelSelector=a%20b", 400, "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
    ] {
        let (status, answer) = client.ask("GET", &format!("{MAPS}?{query}"), "");
        assert_eq!((status, answer.at(&["message"]).str()), (code, message), "{query}");
    }
}

#[test]
fn a_lease_may_be_made_by_put_but_changed_only_with_its_version() {
    let mut client = Client::new();
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/made";
    let body = r#"{"metadata":{"name":"made"},"spec":{}}"#;
    assert_eq!(client.ask("PUT", path, body).0, 201);
    let (status, answer) = client.ask("PUT", path, body);
    let message = "Lease.coordination.k8s.io \"made\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    assert_eq!((status, answer.at(&["message"]).str()), (422, message));
}

#[test]
fn bodies_and_names() {
    let mut client = Client::new();
    let mut early = client.watch(MAPS, "watch=1&resourceVersion=99999");
    assert_eq!(early.poll(&client.server, client.now), (Vec::new(), false), "a watch may begin in the future");
    let map = |name: &str, namespace: &str| {
        format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"{namespace}"}}}}"#)
    };
    let one = format!("{MAPS}/one");
    assert_eq!(client.ask("POST", MAPS, &map("one", "default")).0, 201);
    for (method, path, body, code, message) in [
        (
            "POST",
            MAPS,
            String::new(),
            400,
            "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
        ),
        (
            "PUT",
            &one,
            map("one", "other"),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        ("PUT", &one, map("two", ""), 400, "the name of the object (two) does not match the name on the URL (one)"),
        (
            "PUT",
            &one,
            map("", ""),
            400,
            "the name of the object (one based on URL) was undeterminable: name must be provided",
        ),
        (
            "POST",
            MAPS,
            r#"{"metadata":{"name":"two","resourceVersion":"7"}}"#.to_owned(),
            500,
            "resourceVersion should not be set on objects to be created",
        ),
        (
            "POST",
            "/api/v1/namespaces/default/configmaps?dryRun=Some",
            map("two", ""),
            422,
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\"",
        ),
        (
            "POST",
            MAPS,
            r#"{"apiVersion":"v1","kind":"Nothing","metadata":{"name":"two"}}"#.to_owned(),
            400,
            "Nothing in version \"v1\" cannot be handled as a ConfigMap: no kind \"Nothing\" is registered for version \"v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
        ),
        ("PUT", &one, r#"{"metadata":{"name":"one","uid":"x"}}"#.to_owned(), 409, ""),
    ] {
        let (status, answer) = client.ask(method, path, &body);
        assert_eq!(status, code, "{method} {path} {body}: {answer:?}");
        if !message.is_empty() {
            assert_eq!(answer.at(&["message"]).str(), message);
        }
    }
}

#[test]
fn a_lease_may_be_made_by_an_update_and_needs_its_revision_afterwards() {
    let mut client = Client::new();
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/made";
    let body = r#"{"metadata":{"name":"made"},"spec":{}}"#;
    assert_eq!(client.ask("PUT", path, body).0, 201);
    let (code, answer) = client.ask("PUT", path, body);
    let message = "Lease.coordination.k8s.io \"made\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    assert_eq!((code, answer.at(&["message"]).str()), (422, message));
}
