use crate::api::registry::{Kind, Part};
use crate::api::status::Status;
use crate::api::store::ObjectKey;
use crate::api::{Caller, DeleteOptions, Server};
use crate::time::VirtualTime;
use crate::value::Value;
use crate::{list, object};

const CALLER: Caller<'static> = Caller { now: VirtualTime::EPOCH, manager: "test" };

fn server() -> Server {
    let mut server = Server::new(0);
    server.bootstrap(VirtualTime::EPOCH);
    server
}

fn pod(name: &str, more: &[(&str, Value)]) -> Value {
    let mut pod = object! {
        "metadata" => object! { "name" => name },
        "spec" => object! { "containers" => list![object! { "name" => "c", "image" => "pause" }] },
    };
    for (field, value) in more {
        pod.set(&["spec", field], value.clone());
    }
    pod
}

fn create(server: &mut Server, namespace: &str, pod: Value) -> Result<Value, Status> {
    server.create(&CALLER, Kind::POD, namespace, pod)
}

#[test]
fn a_pod_gets_account_token_priority_and_tolerations() {
    let mut server = server();
    let made = create(&mut server, "default", pod("one", &[])).expect("accepted");
    let spec = made.at(&["spec"]);
    let name = spec.at(&["volumes"]).items()[0].name_of().to_owned();
    assert!(name.starts_with("kube-api-access-") && name.len() == 21, "{name}");
    assert_eq!(
        spec.at(&["volumes"]).to_json(),
        format!(
            r#"[{{"name":"{name}","projected":{{"defaultMode":420,"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"items":[{{"key":"ca.crt","path":"ca.crt"}}],"name":"kube-root-ca.crt"}}}},{{"downwardAPI":{{"items":[{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}},"path":"namespace"}}]}}}}]}}}}]"#
        )
    );
    assert_eq!(
        spec.at(&["containers"]).items()[0].at(&["volumeMounts"]).to_json(),
        format!(r#"[{{"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"{name}","readOnly":true}}]"#)
    );
    assert_eq!(
        spec.at(&["tolerations"]).to_json(),
        r#"[{"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300},{"effect":"NoExecute","key":"node.kubernetes.io/unreachable","operator":"Exists","tolerationSeconds":300}]"#
    );
    for (field, value) in [
        ("serviceAccount", Value::from("default")),
        ("serviceAccountName", "default".into()),
        ("priority", 0.into()),
        ("preemptionPolicy", "PreemptLowerPriority".into()),
    ] {
        assert_eq!(spec.at(&[field]), &value);
    }
}

trait NameOf {
    fn name_of(&self) -> &str;
}

impl NameOf for Value {
    fn name_of(&self) -> &str {
        self.at(&["name"]).str()
    }
}

#[test]
fn missing_things_are_named() {
    let mut server = server();
    let refused = create(&mut server, "nowhere", pod("one", &[])).expect_err("no namespace");
    assert_eq!((refused.code, refused.message.as_str()), (404, "namespaces \"nowhere\" not found"));
    let refused = create(&mut server, "default", pod("no-pc", &[("priorityClassName", "nope".into())]));
    assert_eq!(
        refused.expect_err("no class").message,
        "pods \"no-pc\" is forbidden: no PriorityClass with name nope was found"
    );
    let refused = create(&mut server, "default", pod("x", &[("serviceAccountName", "nobody".into())]));
    assert_eq!(
        refused.expect_err("no account").message,
        "pods \"x\" is forbidden: error looking up service account default/nobody: serviceaccount \"nobody\" not found"
    );
}

#[test]
fn classes_decide_the_priority() {
    let mut server = server();
    let class = |name: &str, value: i64, default: bool| {
        object! {
            "metadata" => object! { "name" => name }, "value" => value, "globalDefault" => default,
            "preemptionPolicy" => "Never",
        }
    };
    server.create(&CALLER, Kind::PRIORITY_CLASS, "", class("high", 1000, false)).expect("accepted");
    let made = create(&mut server, "default", pod("a", &[("priorityClassName", "high".into())])).expect("accepted");
    assert_eq!((made.at(&["spec", "priority"]).int(), made.at(&["spec", "preemptionPolicy"]).str()), (1000, "Never"));
    let wrong = pod("b", &[("priorityClassName", "high".into()), ("priority", 5.into())]);
    assert_eq!(
        create(&mut server, "default", wrong).expect_err("refused").message,
        "pods \"b\" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission \
         controller computed 1000 from the given PriorityClass name"
    );
    server.create(&CALLER, Kind::PRIORITY_CLASS, "", class("usual", 7, true)).expect("accepted");
    let made = create(&mut server, "default", pod("c", &[])).expect("accepted");
    let spec = made.at(&["spec"]);
    assert_eq!((spec.at(&["priority"]).int(), spec.at(&["priorityClassName"]).str()), (7, "usual"));
    assert_eq!(
        server.create(&CALLER, Kind::PRIORITY_CLASS, "", class("other", 8, true)).expect_err("refused").message,
        "priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass usual is already marked as default. Only \
         one default can exist"
    );
    let refused = server.create(&CALLER, Kind::PRIORITY_CLASS, "", class("huge", 1_000_000_001, false));
    assert_eq!(
        refused.expect_err("refused").message,
        "PriorityClass.scheduling.k8s.io \"huge\" is invalid: value: Forbidden: maximum allowed value of a user defined \
         priority is 1000000000"
    );
}

#[test]
fn own_tolerations_come_first_and_are_not_doubled() {
    let mut server = server();
    let own = object! { "key" => "node.kubernetes.io/not-ready", "operator" => "Exists", "effect" => "NoExecute" };
    let other = object! { "key" => "a", "operator" => "Exists" };
    let made = create(&mut server, "default", pod("a", &[("tolerations", list![own, other])])).expect("accepted");
    let keys: Vec<&str> = made.at(&["spec", "tolerations"]).items().iter().map(|one| one.at(&["key"]).str()).collect();
    assert_eq!(keys, ["node.kubernetes.io/not-ready", "a", "node.kubernetes.io/unreachable"]);
    let all = list![object! { "operator" => "Exists" }];
    let made = create(&mut server, "default", pod("b", &[("tolerations", all)])).expect("accepted");
    assert_eq!(made.at(&["spec", "tolerations"]).items().len(), 1);
}

#[test]
fn nothing_new_comes_into_a_namespace_that_goes() {
    let mut server = server();
    server.create(&CALLER, Kind::NAMESPACE, "", object! { "metadata" => object! { "name" => "a" } }).expect("accepted");
    let key = ObjectKey::new(Kind::NAMESPACE, "", "a");
    let namespace = server.store.get(&key).expect("there").clone();
    assert_eq!(
        namespace.to_json().replace(namespace.uid(), "UID"),
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"kubernetes.io/metadata.name":"a"},"name":"a","resourceVersion":"RV","uid":"UID"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}"#
            .replace("RV", namespace.at(&["metadata", "resourceVersion"]).str())
    );
    server.delete(&CALLER, &key, &DeleteOptions::default()).expect("accepted");
    let refused = create(&mut server, "a", pod("late", &[])).expect_err("refused");
    assert_eq!(
        refused.message,
        "pods \"late\" is forbidden: unable to create new content in namespace a because it is being terminated"
    );
    assert_eq!(
        refused.details.at(&["causes"]).to_json(),
        r#"[{"field":"metadata.namespace","message":"namespace a is being terminated","reason":"NamespaceTerminating"}]"#
    );
}

#[test]
fn a_change_keeps_what_admission_decided() {
    let mut server = server();
    let made = create(&mut server, "default", pod("a", &[])).expect("accepted");
    let mut changed = made.clone();
    changed.remove(&["spec", "priority"]);
    changed.remove(&["spec", "tolerations"]);
    changed.set(&["metadata", "labels", "x"], "y");
    let key = ObjectKey::new(Kind::POD, "default", "a");
    let kept = server.update(&CALLER, &key, Part::Main, changed).expect("accepted");
    assert_eq!(kept.at(&["spec"]), made.at(&["spec"]));
    assert_eq!(kept.at(&["metadata", "generation"]).int(), 1);
}

#[test]
fn a_new_node_is_tainted_until_it_is_ready() {
    let mut server = server();
    let node = object! { "metadata" => object! { "name" => "n" } };
    let made = server.create(&CALLER, Kind::NODE, "", node).expect("accepted");
    assert_eq!(
        made.at(&["spec", "taints"]).to_json(),
        r#"[{"effect":"NoSchedule","key":"node.kubernetes.io/not-ready"}]"#
    );
    let known = made.at(&["spec"]).clone();
    let node = object! { "metadata" => object! { "name" => "m" }, "spec" => known.clone() };
    let made = server.create(&CALLER, Kind::NODE, "", node).expect("accepted");
    assert_eq!(made.at(&["spec"]), &known);
}
