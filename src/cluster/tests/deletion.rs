//! Grace, finalizers, preconditions and budgets.

mod client;

use std::time::Duration;

use client::Client;
use gpulab_cluster::Value;

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(client: &mut Client, name: &str, node: Option<&str>) -> Value {
    let body = format!(
        r#"{{"metadata":{{"name":"{name}","labels":{{"k":"v"}}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}"#
    );
    let (code, made) = client.ask("POST", PODS, &body);
    assert_eq!(code, 201, "{made:?}");
    if let Some(node) = node {
        let binding = format!(r#"{{"metadata":{{"name":"{name}"}},"target":{{"name":"{node}"}}}}"#);
        assert_eq!(client.ask("POST", &format!("{PODS}/{name}/binding"), &binding).0, 201);
    }
    made
}

fn told(client: &Client, watch: &mut gpulab_cluster::api::watch::Watch) -> Vec<String> {
    let events = watch.poll(&client.server, client.now).0;
    events.iter().map(|event| event.at(&["type"]).str().to_owned()).collect()
}

#[test]
fn a_bound_pod_gets_its_grace_and_may_have_it_shortened() {
    let mut client = Client::new();
    pod(&mut client, "p", Some("n"));
    let mut watch = client.watch(PODS, "watch=1");
    told(&client, &mut watch);
    let (code, deleting) = client.ask("DELETE", &format!("{PODS}/p"), "");
    let grace = |pod: &Value| pod.at(&["metadata", "deletionGracePeriodSeconds"]).int();
    let ends = |pod: &Value| pod.at(&["metadata", "deletionTimestamp"]).str().to_owned();
    assert_eq!((code, grace(&deleting), ends(&deleting).as_str()), (200, 30, "2026-01-01T00:00:30Z"));
    assert_eq!(deleting.at(&["metadata", "generation"]).int(), 2);
    client.now = client.now + Duration::from_secs(5);
    assert_eq!(client.ask("DELETE", &format!("{PODS}/p?gracePeriodSeconds=60"), "").1, deleting, "it is not prolonged");
    let shortened = client.ask("DELETE", &format!("{PODS}/p?gracePeriodSeconds=10"), "").1;
    assert_eq!((grace(&shortened), ends(&shortened).as_str()), (10, "2026-01-01T00:00:10Z"));
    let wrong = r#"{"gracePeriodSeconds":0,"preconditions":{"uid":"x"}}"#;
    assert_eq!(client.ask("DELETE", &format!("{PODS}/p"), wrong).0, 409);
    let right = format!(r#"{{"gracePeriodSeconds":0,"preconditions":{{"uid":"{}"}}}}"#, deleting.uid());
    assert_eq!(grace(&client.ask("DELETE", &format!("{PODS}/p"), &right).1), 0);
    assert_eq!(client.ask("GET", &format!("{PODS}/p"), "").0, 404);
    assert_eq!(told(&client, &mut watch), ["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]);
}

#[test]
fn a_dry_run_leaves_nothing() {
    let mut client = Client::new();
    let before = pod(&mut client, "p", None);
    let gone = client.ask("DELETE", &format!("{PODS}/p?dryRun=All"), "").1;
    assert_eq!(gone.uid(), before.uid());
    let labelled = client.ask("PATCH", &format!("{PODS}/p?dryRun=All"), r#"{"metadata":{"labels":{"a":"b"}}}"#).1;
    assert_eq!(labelled.labels().to_json(), r#"{"a":"b","k":"v"}"#);
    assert_eq!(labelled.at(&["metadata", "resourceVersion"]), before.at(&["metadata", "resourceVersion"]));
    assert_eq!(client.ask("GET", &format!("{PODS}/p"), "").1, before);
}

#[test]
fn a_finalizer_holds_a_pod_without_grace() {
    let mut client = Client::new();
    pod(&mut client, "p", None);
    client.ask("PATCH", &format!("{PODS}/p"), r#"{"metadata":{"finalizers":["lab.example/hold"]}}"#);
    let held = client.ask("DELETE", &format!("{PODS}/p"), "").1;
    assert!(held.is_deleting());
    let again = client.ask("DELETE", &format!("{PODS}/p"), "").1;
    assert_eq!(held, again);
    assert_eq!(client.ask("PATCH", &format!("{PODS}/p"), r#"{"metadata":{"finalizers":null}}"#).0, 200);
    assert_eq!(client.ask("GET", &format!("{PODS}/p"), "").0, 404);
}

#[test]
fn an_eviction_asks_the_budget() {
    let mut client = Client::new();
    for name in ["a", "b"] {
        pod(&mut client, name, Some("n"));
        let running = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#;
        assert_eq!(client.ask("PATCH", &format!("{PODS}/{name}/status"), running).0, 200);
    }
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let budget = r#"{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"k":"v"}}}}"#;
    assert_eq!(client.ask("POST", budgets, budget).0, 201);
    let evict = |client: &mut Client, name: &str| {
        client.ask("POST", &format!("{PODS}/{name}/eviction"), &format!(r#"{{"metadata":{{"name":"{name}"}}}}"#))
    };
    let (code, refused) = evict(&mut client, "a");
    assert_eq!((code, refused.at(&["details", "retryAfterSeconds"]).int()), (429, 10), "{refused:?}");
    let status = r#"{"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2}}"#;
    assert_eq!(client.ask("PATCH", &format!("{budgets}/b/status"), status).0, 200);
    assert_eq!(evict(&mut client, "a").0, 201);
    let pod = client.ask("GET", &format!("{PODS}/a"), "").1;
    assert_eq!(pod.condition("DisruptionTarget").at(&["reason"]).str(), "EvictionByEvictionAPI");
    assert!(pod.is_deleting());
    let (code, refused) = evict(&mut client, "b");
    assert_eq!(code, 429);
    assert_eq!(
        refused.at(&["details", "causes"]).items()[0].at(&["message"]).str(),
        "The disruption budget b does not allow evicting pods currently",
    );
}
