//! Laws of lists and watches under random writes.

mod client;

use std::collections::BTreeMap;

use client::Client;
use gpulab_cluster::api::request::{Body, Request};
use gpulab_cluster::{Value, VirtualTime};
use proptest::prelude::*;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// One write of one of few objects.
#[derive(Clone, Debug)]
enum Write {
    Create(u8, u8),
    Label(u8, u8),
    Data(u8, u8),
    Delete(u8),
}

fn writes() -> impl Strategy<Value = Vec<Write>> {
    let name = 0_u8..6;
    let value = 0_u8..3;
    let write = prop_oneof![
        3 => (name.clone(), value.clone()).prop_map(|(name, label)| Write::Create(name, label)),
        2 => (name.clone(), value.clone()).prop_map(|(name, label)| Write::Label(name, label)),
        2 => (name.clone(), value).prop_map(|(name, data)| Write::Data(name, data)),
        1 => name.prop_map(Write::Delete),
    ];
    prop::collection::vec(write, 1..40)
}

fn perform(client: &mut Client, write: &Write) {
    let at = |name: &u8| format!("{MAPS}/m{name}");
    match write {
        Write::Create(name, label) => {
            let body = format!(r#"{{"metadata":{{"name":"m{name}","labels":{{"l":"{label}"}}}}}}"#);
            client.send("POST", MAPS, "", &body)
        }
        Write::Label(name, label) => {
            client.send("PATCH", &at(name), "", &format!(r#"{{"metadata":{{"labels":{{"l":"{label}"}}}}}}"#))
        }
        Write::Data(name, data) => client.send("PATCH", &at(name), "", &format!(r#"{{"data":{{"d":"{data}"}}}}"#)),
        Write::Delete(name) => client.send("DELETE", &at(name), "", ""),
    };
}

fn listed(client: &mut Client, query: &str) -> Value {
    client.ask("GET", &format!("{MAPS}?{query}"), "").1
}

/// Objects by name, without kind and version, as lists show them.
fn by_name(list: &Value) -> BTreeMap<String, Value> {
    list.at(&["items"]).items().iter().map(|item| (item.name().to_owned(), bare(item))).collect()
}

fn bare(object: &Value) -> Value {
    let mut bare = object.clone();
    bare.remove(&["kind"]);
    bare.remove(&["apiVersion"]);
    bare
}

fn revision(object: &Value) -> u64 {
    object.at(&["metadata", "resourceVersion"]).str().parse().expect("a revision")
}

/// Applies events to what was seen; they must fit it, and revisions must grow.
fn apply(seen: &mut BTreeMap<String, Value>, events: &[Value], mut last: u64) {
    for event in events {
        let object = event.at(&["object"]);
        assert!(revision(object) > last, "revisions grow: {event:?}");
        last = revision(object);
        let name = object.name().to_owned();
        let before = match event.at(&["type"]).str() {
            "DELETED" => seen.remove(&name),
            _ => seen.insert(name, bare(object)),
        };
        assert_eq!(before.is_some(), event.at(&["type"]).str() != "ADDED", "{event:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// What a list showed and a watch told afterwards is what a later list shows, with and without selectors.
    #[test]
    fn a_watch_is_a_list_and_events(before in writes(), after in writes(), selector in 0_usize..4) {
        let query = ["", "labelSelector=l%3D1", "labelSelector=l%20notin%20(0)", "fieldSelector=metadata.name%3Dm2"][selector];
        let mut client = Client::new();
        before.iter().for_each(|write| perform(&mut client, write));
        let list = listed(&mut client, query);
        let mut seen = by_name(&list);
        let start = revision(&list);
        let mut watch = client.watch(MAPS, &format!("watch=1&resourceVersion={start}&{query}"));
        let mut told = Vec::new();
        for write in &after {
            perform(&mut client, write);
            told.extend(watch.poll(&client.server, VirtualTime::EPOCH).0);
        }
        apply(&mut seen, &told, start);
        prop_assert_eq!(seen, by_name(&listed(&mut client, query)));
        // One that is opened late and polled once is told the same.
        let mut late = client.watch(MAPS, &format!("watch=1&resourceVersion={start}&{query}"));
        prop_assert_eq!(late.poll(&client.server, VirtualTime::EPOCH).0, told);
    }

    /// Pages of any size, with writes between them, add up to the list at the time of the first page.
    #[test]
    fn pages_are_the_list(before in writes(), between in writes(), limit in 1_usize..5) {
        let mut client = Client::new();
        before.iter().for_each(|write| perform(&mut client, write));
        let whole = listed(&mut client, "");
        let mut items = Vec::new();
        let mut token = String::new();
        let mut between = between.iter();
        loop {
            let page = listed(&mut client, &format!("limit={limit}&continue={token}"));
            prop_assert_eq!(revision(&page), revision(&whole));
            items.extend(page.at(&["items"]).items().iter().cloned());
            let rest = whole.at(&["items"]).items().len() - items.len();
            prop_assert_eq!(page.at(&["metadata", "remainingItemCount"]).int(), rest as i64);
            token = page.at(&["metadata", "continue"]).str().to_owned();
            if token.is_empty() {
                break;
            }
            between.by_ref().take(3).for_each(|write| perform(&mut client, write));
        }
        prop_assert_eq!(Value::from(items), whole.at(&["items"]).clone());
        // The same past, asked for by its revision.
        let exact = format!("resourceVersion={}&resourceVersionMatch=Exact", revision(&whole));
        prop_assert_eq!(listed(&mut client, &exact), whole);
    }

    /// Whatever is asked, there is an answer, and an error has a Status.
    #[test]
    fn every_request_is_answered(requests in prop::collection::vec(requests(), 1..20)) {
        let mut client = Client::new();
        for (method, path, query, body, accept) in requests {
            let request = Request {
                method: method.into(),
                path: path.into(),
                query: query.into(),
                accept: accept.into(),
                content_type: if method == "PATCH" { "application/json-patch+json" } else { "application/json" }.into(),
                body: body.into(),
                ..Request::default()
            };
            let response = client.server.answer(VirtualTime::EPOCH, &request);
            if let Body::Json(answer) = &response.body
                && response.status >= 400
            {
                prop_assert_eq!(answer.at(&["kind"]).str(), "Status", "{:?}", request);
                prop_assert_eq!(answer.at(&["code"]).int(), i64::from(response.status));
            }
        }
    }
}

type Asked = (&'static str, &'static str, &'static str, &'static str, &'static str);

fn requests() -> impl Strategy<Value = Asked> {
    (
        prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"]),
        prop::sample::select(vec![
            "/",
            "/api/v1/pods",
            "/api/v1/namespaces/default",
            "/api/v1/namespaces/default/finalize",
            "/api/v1/namespaces/default/pods",
            "/api/v1/namespaces/default/pods/p",
            "/api/v1/namespaces/default/pods/p/binding",
            "/api/v1/namespaces/default/pods/p/eviction",
            "/api/v1/namespaces/default/pods/p/log",
            "/api/v1/namespaces/default/pods/p/status",
            "/api/v1/namespaces/default/configmaps",
            "/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
            "/api/v1/nodes/%zz",
            "/apis/apps/v1/namespaces/default/deployments/d/scale",
            "/apis/events.k8s.io/v1/events",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "/apis//v1",
            "/apis/apps/v1/namespaces/a/b/c/d/e",
        ]),
        prop::sample::select(vec![
            "",
            "dryRun=All",
            "dryRun=Some",
            "fieldValidation=Strict",
            "watch=1&resourceVersion=9999999",
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            "limit=1&continue=AAAA",
            "limit=-1&resourceVersion=x",
            "labelSelector=(&fieldSelector=a%3Db",
            "gracePeriodSeconds=-9223372036854775808&propagationPolicy=Foreground",
        ]),
        prop::sample::select(vec![
            "",
            "null",
            "[]",
            "{",
            "{}",
            r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#,
            r#"{"metadata":{"name":"p"},"target":{"name":"n"}}"#,
            r#"{"metadata":null,"spec":7,"data":{"a":[]}}"#,
            r#"{"kind":"DeleteOptions","gracePeriodSeconds":9223372036854775807,"preconditions":{"uid":"x"}}"#,
            r#"[{"op":"remove","path":"/metadata"}]"#,
            r#"[{"op":"add","path":"/metadata/finalizers","value":["a/b"]}]"#,
        ]),
        prop::sample::select(vec![
            "",
            "application/json",
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
            "text/html",
        ]),
    )
}
