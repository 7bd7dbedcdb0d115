//! Objects through the whole create and update, as clients meet them.

use proptest::prelude::{Strategy as Generator, any, prop, prop_assert_eq, prop_oneof, proptest};

use crate::api::registry::{Kind, Part};
use crate::api::schema::{self, FieldValidation};
use crate::api::status::Status;
use crate::api::store::ObjectKey;
use crate::api::{Caller, Server};
use crate::time::VirtualTime;
use crate::value::{Map, Value};

const CALLER: Caller<'static> = Caller { now: VirtualTime::EPOCH, manager: "test" };

fn server() -> Server {
    let mut server = Server::new(0);
    server.bootstrap(VirtualTime::EPOCH);
    server
}

fn create(server: &mut Server, kind: Kind, json: &str) -> Result<Value, Status> {
    let info = server.registry.info(kind).clone();
    let object = Value::from_json(json.as_bytes()).expect("valid JSON");
    let (object, _) = schema::decode(&info, &info.versions[0], object, FieldValidation::Strict)?;
    server.create(&CALLER, kind, if info.namespaced { "default" } else { "" }, object)
}

fn update(server: &mut Server, kind: Kind, part: Part, object: Value) -> Result<Value, Status> {
    server.update(&CALLER, &ObjectKey::of(kind, &object), part, object)
}

fn deployment(labels: &str) -> String {
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d"}},"spec":{{"replicas":1,"selector":{{"matchLabels":{labels}}},"template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"nodeSelector":{{"never":"x"}},"containers":[{{"name":"c","image":"pause"}}]}}}}}}}}"#
    )
}

#[test]
fn a_deployment_has_the_recorded_defaults() {
    let made = create(&mut server(), Kind::DEPLOYMENT, &deployment(r#"{"a":"b"}"#)).expect("accepted");
    assert_eq!(
        made.at(&["spec"]).to_json(),
        r#"{"progressDeadlineSeconds":600,"replicas":1,"revisionHistoryLimit":10,"selector":{"matchLabels":{"a":"b"}},"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"image":"pause","imagePullPolicy":"Always","name":"c","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","nodeSelector":{"never":"x"},"restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}"#
    );
    assert_eq!(made.at(&["status"]), &Value::object());
    assert_eq!(made.at(&["metadata", "generation"]).int(), 1);
}

#[test]
fn a_selector_matches_its_template_and_stays() {
    let mut server = server();
    let refused = create(&mut server, Kind::DEPLOYMENT, &deployment(r#"{"a":"c"}"#)).expect_err("refused");
    assert_eq!(
        refused.message,
        "Deployment.apps \"d\" is invalid: spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does \
         not match template `labels`"
    );
    let mut made = create(&mut server, Kind::DEPLOYMENT, &deployment(r#"{"a":"b"}"#)).expect("accepted");
    made.set(&["spec", "template", "metadata", "labels", "x"], "y");
    made.set(&["spec", "selector", "matchLabels", "x"], "y");
    let refused = update(&mut server, Kind::DEPLOYMENT, Part::Main, made).expect_err("refused");
    assert_eq!(
        refused.message,
        "Deployment.apps \"d\" is invalid: spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"x\":\"y\"}}: \
         field is immutable"
    );
}

#[test]
fn templates_restart_always_and_are_checked_like_pods() {
    let text = deployment(r#"{"a":"b"}"#).replace("\"nodeSelector\"", "\"restartPolicy\":\"Never\",\"nodeSelector\"");
    let text =
        text.replace("\"image\":\"pause\"", "\"image\":\"pause\",\"resources\":{\"limits\":{\"x.y/gpu\":\"0.5\"}}");
    let refused = create(&mut server(), Kind::DEPLOYMENT, &text).expect_err("refused");
    assert_eq!(
        refused.message,
        "Deployment.apps \"d\" is invalid: [spec.template.spec.containers[0].resources.limits[x.y/gpu]: Invalid value: \
         \"500m\": must be an integer, spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \
         \"Always\"]"
    );
}

#[test]
fn a_node_keeps_its_status_on_create_alone() {
    let mut server = server();
    let json = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"spec":{},"status":{"capacity":{"cpu":32,"nvidia.com/gpu":"4"}}}"#;
    let mut made = create(&mut server, Kind::NODE, json).expect("accepted");
    assert_eq!(made.at(&["status", "allocatable"]).to_json(), r#"{"cpu":"32","nvidia.com/gpu":"4"}"#);
    assert_eq!(made.at(&["metadata"]).get("generation"), None);
    made.set(&["status", "capacity", "nvidia.com/gpu"], "8");
    let kept = update(&mut server, Kind::NODE, Part::Main, made.clone()).expect("accepted");
    assert_eq!(kept.at(&["status", "capacity", "nvidia.com/gpu"]).str(), "4");
    let kept = update(&mut server, Kind::NODE, Part::Status, made.clone()).expect("accepted");
    assert_eq!(kept.at(&["status", "capacity", "nvidia.com/gpu"]).str(), "8");
    made = kept;
    made.set(&["status", "capacity", "nvidia.com/gpu"], "500m");
    let refused = update(&mut server, Kind::NODE, Part::Status, made.clone()).expect_err("refused");
    assert_eq!(
        refused.message,
        "Node \"a\" is invalid: status.capacity[nvidia.com/gpu]: Invalid value: \"500m\": must be an integer"
    );
    made.set(&["metadata", "labels", "bad key"], "x");
    let refused = update(&mut server, Kind::NODE, Part::Main, made).expect_err("refused");
    assert!(
        refused
            .message
            .starts_with("Node \"a\" is invalid: metadata.labels: Invalid value: \"bad key\": name part must")
    );
}

#[test]
fn a_job_selects_its_own_pods() {
    let mut server = server();
    let json = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"wide"},"spec":{"parallelism":3,"completions":5,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"registry.k8s.io/pause:3.10"}]}}}}"#;
    let mut made = create(&mut server, Kind::JOB, json).expect("accepted");
    let labels = r#"{"batch.kubernetes.io/controller-uid":"UID","batch.kubernetes.io/job-name":"wide","controller-uid":"UID","job-name":"wide"}"#
        .replace("UID", made.uid());
    assert_eq!(made.labels().to_json(), labels);
    assert_eq!(made.at(&["spec", "template"]).labels().to_json(), labels);
    let mut spec = made.at(&["spec"]).clone();
    spec.remove(&["template"]);
    assert_eq!(
        spec.to_json().replace(made.uid(), "UID"),
        r#"{"backoffLimit":6,"completionMode":"NonIndexed","completions":5,"manualSelector":false,"parallelism":3,"podReplacementPolicy":"TerminatingOrFailed","selector":{"matchLabels":{"batch.kubernetes.io/controller-uid":"UID"}},"suspend":false}"#
    );
    made.set(&["spec", "completions"], 6);
    made.set(&["spec", "parallelism"], 1);
    let refused = update(&mut server, Kind::JOB, Part::Main, made.clone()).expect_err("refused");
    assert_eq!(
        refused.message,
        "Job.batch \"wide\" is invalid: spec.completions: Invalid value: 6: field is immutable"
    );
    made.set(&["spec", "completions"], 5);
    made.set(&["spec", "suspend"], true);
    let mut made = update(&mut server, Kind::JOB, Part::Main, made).expect("accepted");
    made.set(&["spec", "template", "spec", "nodeSelector"], crate::object! { "a" => "b" });
    let made = update(&mut server, Kind::JOB, Part::Main, made).expect("where a suspended job runs may change");
    assert_eq!(made.at(&["metadata", "generation"]).int(), 3);
    let refused =
        create(&mut server, Kind::JOB, &json.replace("\"restartPolicy\":\"Never\",", "").replace("wide", "w"));
    assert_eq!(
        refused.expect_err("refused").message,
        "Job.batch \"w\" is invalid: spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""
    );
}

#[test]
fn the_wrong_kind_is_refused() {
    let mut server = server();
    for (json, message) in [
        (
            r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"}}"#,
            "Service in version \"v1\" cannot be handled as a Pod: converting (v1.Service) to (core.Pod): unknown conversion",
        ),
        (
            r#"{"metadata":{"name":5}}"#,
            "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field \
             ObjectMeta.metadata.name of type string",
        ),
        (
            r#"{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"x"}}}]}}"#,
            "Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular expression \
             '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            r#"{"metadata":{"name":"a"},"spec":{"x":1,"containers":[{"y":2}]}}"#,
            "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \
             \"spec.containers[0].y\", unknown field \"spec.x\"",
        ),
    ] {
        assert_eq!(create(&mut server, Kind::POD, json).expect_err("refused"), Status::bad_request(message));
    }
}

/// Trees that share some keys with a pod's spec.
fn tree() -> impl Generator<Value = Value> {
    let leaf = prop_oneof![
        prop::strategy::Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (0..3_i64).prop_map(Value::Int),
        prop_oneof!["", "1", "1024Mi", "0.5", "x"].prop_map(Value::from),
    ];
    let key = prop_oneof![
        "containers",
        "volumes",
        "env",
        "resources",
        "limits",
        "cpu",
        "securityContext",
        "hostNetwork",
        "name",
        "odd",
        "terminationGracePeriodSeconds",
        "tolerations",
        "emptyDir"
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..5)
                .prop_map(|map| Value::Map(map.into_iter().collect::<Map>())),
        ]
    })
}

proptest! {
    #[test]
    fn decoding_twice_is_decoding_once(spec in tree()) {
        let info = server().registry.info(Kind::POD).clone();
        let pod = crate::object! { "apiVersion" => "v1", "kind" => "Pod", "spec" => spec };
        if let Ok((once, _)) = schema::decode(&info, "v1", pod, FieldValidation::Ignore) {
            let (twice, warnings) = schema::decode(&info, "v1", once.clone(), FieldValidation::Strict)?;
            prop_assert_eq!(once.to_json(), twice.to_json());
            prop_assert_eq!(warnings.len(), 0);
        }
    }
}
