use crate::api::kinds;
use crate::api::names;
use crate::api::registry::{Kind, KindInfo, Registry};
use crate::api::schema::{self, FieldValidation};
use crate::api::status::Status;
use crate::value::Value;
use std::sync::Arc;

fn info(kind: Kind) -> Arc<KindInfo> {
    let mut registry = Registry::default();
    kinds::register(&mut registry);
    registry.info(kind).clone()
}

/// Decodes, defaults and validates as a create does.
fn create(json: &str) -> Result<Value, Status> {
    let object = Value::from_json(json.as_bytes()).expect("valid JSON");
    let info = info(Kind::POD);
    let (mut object, _) = schema::decode(&info, "v1", object, FieldValidation::Strict)?;
    info.strategy.default(&mut object);
    info.strategy.prepare_create(&mut object);
    let mut errors = names::validate_metadata(&info, &object);
    errors.extend(info.strategy.validate(&object));
    if errors.is_empty() { Ok(object) } else { Err(Status::invalid("", "Pod", object.name(), &errors)) }
}

fn pod(name: &str, spec: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"default"}},"spec":{spec}}}"#)
}

fn refused(name: &str, resources: &str) -> String {
    let spec = format!(r#"{{"containers":[{{"name":"c","image":"pause","resources":{resources}}}]}}"#);
    create(&pod(name, &spec)).expect_err("refused").message
}

#[test]
fn a_gpu_is_whole_and_not_overcommitted() {
    let twice = |what: &str, value: &str, why: &str| {
        format!(
            "[spec.containers[0].resources.limits[{what}]: Invalid value: \"{value}\": {why}, \
             spec.containers[0].resources.requests[{what}]: Invalid value: \"{value}\": {why}]"
        )
    };
    assert_eq!(
        refused("fraction", r#"{"limits":{"nvidia.com/gpu":"0.5"}}"#),
        format!("Pod \"fraction\" is invalid: {}", twice("nvidia.com/gpu", "500m", "must be an integer"))
    );
    assert_eq!(
        refused("milli", r#"{"limits":{"nvidia.com/gpu":"1500m"}}"#),
        format!("Pod \"milli\" is invalid: {}", twice("nvidia.com/gpu", "1500m", "must be an integer"))
    );
    assert_eq!(
        refused("negative", r#"{"limits":{"nvidia.com/gpu":-1}}"#),
        format!("Pod \"negative\" is invalid: {}", twice("nvidia.com/gpu", "-1", "must be greater than or equal to 0"))
    );
    assert_eq!(
        refused("req-ne-limit", r#"{"requests":{"nvidia.com/gpu":1},"limits":{"nvidia.com/gpu":2}}"#),
        "Pod \"req-ne-limit\" is invalid: spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to \
         nvidia.com/gpu limit of 2"
    );
    assert_eq!(
        refused("req-only", r#"{"requests":{"nvidia.com/gpu":1}}"#),
        "Pod \"req-only\" is invalid: spec.containers[0].resources.limits: Required value: Limit must be set for non \
         overcommitable resources"
    );
    let list = |list: &str| {
        ["must be a standard resource type or fully qualified", "must be a standard resource for containers"]
            .map(|why| format!("spec.containers[0].resources.{list}[gpu]: Invalid value: \"gpu\": {why}"))
            .join(", ")
    };
    assert_eq!(
        refused("badname", r#"{"limits":{"gpu":1}}"#),
        format!("Pod \"badname\" is invalid: [{}, {}]", list("limits"), list("requests"))
    );
}

#[test]
fn names_come_before_specs_and_unknown_fields_before_both() {
    assert_eq!(
        create(&pod("Bad_Name", r#"{"containers":[]}"#)).expect_err("refused").message,
        "Pod \"Bad_Name\" is invalid: [metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must \
         consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character \
         (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), spec.containers: Required value]"
    );
    let error = create(&pod("unknown-field", r#"{"containers":[{"name":"c","image":"pause","gpus":1}]}"#));
    assert_eq!(
        error.expect_err("refused"),
        Status::bad_request(
            "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \
             \"spec.containers[0].gpus\""
        )
    );
}

#[test]
fn defaults_as_recorded() {
    let spec = r#"{"nodeSelector":{"never":"x"},"containers":[{"name":"c","image":"pause","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}"#;
    let made = create(&pod("one", spec)).expect("accepted");
    assert_eq!(
        made.at(&["spec"]).to_json(),
        r#"{"containers":[{"image":"pause","imagePullPolicy":"Always","name":"c","resources":{"limits":{"nvidia.com/gpu":"1"},"requests":{"nvidia.com/gpu":"1"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","enableServiceLinks":true,"nodeSelector":{"never":"x"},"restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}"#
    );
    assert_eq!(made.at(&["status"]).to_json(), r#"{"phase":"Pending","qosClass":"BestEffort"}"#);
}

const CHANGE: &str = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n";

#[test]
fn little_of_a_pod_may_change() {
    let info = info(Kind::POD);
    let spec = r#"{"terminationGracePeriodSeconds":0,"nodeSelector":{"lab":"yes"},"containers":[{"name":"c","image":"registry.k8s.io/pause:3.10","resources":{"requests":{"cpu":"100m"},"limits":{"nvidia.com/gpu":1}}}]}"#;
    let old = create(&pod("ok", spec)).expect("accepted");
    let changed = |path: &[&str], value: Value| {
        let mut new = old.clone();
        new.set(path, value);
        let errors = info.strategy.validate_update(&new, &old);
        errors.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let errors = changed(&["spec", "nodeSelector", "x"], "y".into());
    assert!(errors.len() == 1 && errors[0].starts_with(CHANGE), "{errors:?}");
    let mut containers = old.at(&["spec", "containers"]).clone();
    containers.as_list_mut()[0].set(&["resources", "limits", "nvidia.com/gpu"], "2");
    let errors = changed(&["spec", "containers"], containers.clone());
    assert_eq!(
        errors[0],
        "spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to nvidia.com/gpu limit of 2"
    );
    assert!(errors.len() == 2 && errors[1].starts_with(CHANGE), "{errors:?}");
    containers = old.at(&["spec", "containers"]).clone();
    containers.as_list_mut()[0].set(&["image"], "pause:4");
    assert!(changed(&["spec", "containers"], containers).is_empty());
    assert!(changed(&["spec", "activeDeadlineSeconds"], 5.into()).is_empty());
    assert!(changed(&["metadata", "labels", "a"], "b".into()).is_empty());
    assert_eq!(changed(&["spec", "containers"], crate::list![]).len(), 2);
}

#[test]
fn classes_of_service() {
    let class = |resources: &str| {
        let spec = format!(r#"{{"containers":[{{"name":"c","image":"pause","resources":{resources}}}]}}"#);
        create(&pod("q", &spec)).expect("accepted").at(&["status", "qosClass"]).str().to_owned()
    };
    assert_eq!(class("{}"), "BestEffort");
    assert_eq!(class(r#"{"limits":{"nvidia.com/gpu":1}}"#), "BestEffort");
    assert_eq!(class(r#"{"requests":{"cpu":"100m"}}"#), "Burstable");
    assert_eq!(class(r#"{"limits":{"cpu":"1","memory":"1Gi"}}"#), "Guaranteed");
    assert_eq!(class(r#"{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}}"#), "Burstable");
}

#[test]
fn label_keys_become_requirements_and_gates_a_condition() {
    let spec = r#"{"schedulingGates":[{"name":"a/b"}],"schedulingGroup":{"podGroupName":"x"},
        "containers":[{"name":"c","image":"pause"}],
        "topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule",
        "matchLabelKeys":["app","other"],"labelSelector":{"matchLabels":{"a":"b"}}}]}"#;
    let text = pod("p", spec).replace("\"namespace\"", "\"labels\":{\"app\":\"one\"},\"namespace\"");
    let made = create(&text).expect("accepted");
    assert_eq!(
        made.at(&["spec", "topologySpreadConstraints"]).items()[0].at(&["labelSelector"]).to_json(),
        r#"{"matchExpressions":[{"key":"app","operator":"In","values":["one"]}],"matchLabels":{"a":"b"}}"#
    );
    assert_eq!(made.condition("PodScheduled").at(&["reason"]).str(), "SchedulingGated");
    assert!(made.at(&["spec"]).get("schedulingGroup").is_none());
}
