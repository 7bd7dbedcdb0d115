//! What admission does to pods. What all pods have in common is built once and shared by them.
//!
//! Source: `plugin/pkg/admission/{serviceaccount,priority,defaulttolerationseconds}`.

use std::sync::OnceLock;

use crate::api::Server;
use crate::api::registry::Kind;
use crate::api::status::Status;
use crate::api::store::ObjectKey;
use crate::rng;
use crate::value::{Text, Value};
use crate::{list, object};

/// Where a pod finds its account's token.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The annotation of pods that a kubelet runs on its own.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// Taints that a pod tolerates for a while unless it says otherwise, and the seconds.
const TOLERATED: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const TOLERATION_SECONDS: i64 = 300;

/// All plugins, for a new pod.
pub(super) fn admit(server: &Server, pod: &mut Value) -> Result<(), Status> {
    service_account(server, pod)?;
    priority(server, pod)?;
    tolerations(pod);
    Ok(())
}

/// What stays as it was decided at creation.
pub(super) fn admit_update(pod: &mut Value, before: &Value) {
    for field in ["priority", "preemptionPolicy"] {
        let old = before.at(&["spec", field]);
        if pod.at(&["spec", field]).is_null() && !old.is_null() {
            pod.set(&["spec", field], old.clone());
        }
    }
    tolerations(pod);
}

fn refuse(server: &Server, pod: &Value, why: &str) -> Status {
    Status::forbidden(server.registry.info(Kind::POD).resource(), pod.name(), why)
}

/// ServiceAccount: the account's name, and its token as a projected volume in every container.
fn service_account(server: &Server, pod: &mut Value) -> Result<(), Status> {
    if pod.annotation(MIRROR).is_some() {
        return Ok(());
    }
    let mut account = pod.at(&["spec", "serviceAccountName"]).text();
    if account.is_empty() {
        account = Text::from("default");
        let spec = pod.make(&["spec"]).as_map_mut();
        spec.insert("serviceAccount", account.clone());
        spec.insert("serviceAccountName", account.clone());
    }
    let namespace = pod.at(&["metadata", "namespace"]).text();
    let found = server.store.get(&ObjectKey::new(Kind::SERVICE_ACCOUNT, namespace.clone(), account.clone()));
    // The controller that makes `default` may not have come round yet; a client would simply try again.
    if found.is_none() && account != "default" {
        let why =
            format!("error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found");
        return Err(refuse(server, pod, &why));
    }
    let account = found.unwrap_or(&Value::Null);
    let own = pod.at(&["spec", "automountServiceAccountToken"]).as_bool();
    if own.or(account.at(&["automountServiceAccountToken"]).as_bool()).unwrap_or(true) {
        mount_token(server, pod);
    }
    let secrets = account.at(&["imagePullSecrets"]);
    if !secrets.items().is_empty() && pod.at(&["spec", "imagePullSecrets"]).items().is_empty() {
        pod.set(&["spec", "imagePullSecrets"], secrets.clone());
    }
    Ok(())
}

fn mount_token(server: &Server, pod: &mut Value) {
    let is_token = |mount: &Value| mount.at(&["mountPath"]).str() == TOKEN_PATH;
    let lacks = |container: &Value| !container.at(&["volumeMounts"]).items().iter().any(is_token);
    let spec = pod.at(&["spec"]);
    let lists = ["containers", "initContainers"];
    if !lists.iter().any(|list| spec.at(&[list]).items().iter().any(lacks)) {
        return;
    }
    let suffix = rng::suffix(server.seed(), &["kube-api-access", pod.uid(), pod.name()], 5);
    let name = Text::from(format!("kube-api-access-{suffix}"));
    let mount = object! { "mountPath" => TOKEN_PATH, "name" => name.clone(), "readOnly" => true };
    let spec = pod.make(&["spec"]).as_map_mut();
    for list in lists {
        let Some(containers) = spec.get_mut(list) else { continue };
        for container in containers.as_list_mut().iter_mut().filter(|container| lacks(container)) {
            match container.as_map_mut().get_mut("volumeMounts") {
                Some(mounts) => mounts.as_list_mut().push(mount.clone()),
                None => container.set(&["volumeMounts"], list![mount.clone()]),
            }
        }
    }
    let volume = object! { "name" => name, "projected" => token_sources() };
    spec.entry("volumes", || list![]).as_list_mut().push(volume);
}

/// The `projected` part of the token volume, shared by all pods.
fn token_sources() -> Value {
    static SOURCES: OnceLock<Value> = OnceLock::new();
    let build = || {
        let token = object! { "expirationSeconds" => 3607, "path" => "token" };
        let authority = object! {
            "items" => list![object! { "key" => "ca.crt", "path" => "ca.crt" }], "name" => "kube-root-ca.crt",
        };
        let namespace = object! { "apiVersion" => "v1", "fieldPath" => "metadata.namespace" };
        let downward = object! { "items" => list![object! { "fieldRef" => namespace, "path" => "namespace" }] };
        object! {
            "defaultMode" => 420,
            "sources" => list![
                object! { "serviceAccountToken" => token },
                object! { "configMap" => authority },
                object! { "downwardAPI" => downward },
            ],
        }
    };
    SOURCES.get_or_init(build).clone()
}

/// The class that pods without one get: of several marked ones the lowest.
pub(super) fn default_class(server: &Server) -> Option<&Value> {
    let classes = server.store.list(Kind::PRIORITY_CLASS, "").map(|(_, class)| class);
    classes.filter(|class| class.at(&["globalDefault"]).is_true()).min_by_key(|class| class.at(&["value"]).int())
}

/// Priority: the number and the policy that a class stands for.
fn priority(server: &Server, pod: &mut Value) -> Result<(), Status> {
    let name = pod.at(&["spec", "priorityClassName"]).text();
    let class = if name.is_empty() {
        let default = default_class(server);
        if let Some(default) = default {
            let name = default.at(&["metadata", "name"]).clone();
            pod.set(&["spec", "priorityClassName"], name);
        }
        default
    } else {
        let class = server.store.get(&ObjectKey::new(Kind::PRIORITY_CLASS, "", name.clone()));
        if class.is_none() {
            return Err(refuse(server, pod, &format!("no PriorityClass with name {name} was found")));
        }
        class
    };
    let value = class.map_or(0, |class| class.at(&["value"]).int());
    let policy = match class.map(|class| class.at(&["preemptionPolicy"])) {
        Some(Value::String(policy)) => policy.clone(),
        _ => Text::from("PreemptLowerPriority"),
    };
    let (own, own_policy) = (pod.at(&["spec", "priority"]), pod.at(&["spec", "preemptionPolicy"]));
    let computed = "must not be provided in pod spec; priority admission controller computed";
    let of = "from the given PriorityClass name";
    if own.as_i64().is_some_and(|own| own != value) {
        let why = format!("the integer value of priority ({}) {computed} {value} {of}", own.int());
        return Err(refuse(server, pod, &why));
    }
    if own_policy.as_str().is_some_and(|own| own != policy.as_str()) {
        let why = format!("the string value of PreemptionPolicy ({}) {computed} {policy} {of}", own_policy.str());
        return Err(refuse(server, pod, &why));
    }
    let spec = pod.make(&["spec"]).as_map_mut();
    spec.insert("priority", value);
    spec.insert("preemptionPolicy", policy);
    Ok(())
}

/// DefaultTolerationSeconds: nodes that are not ready or not reachable are tolerated for five minutes.
fn tolerations(pod: &mut Value) {
    static BOTH: OnceLock<Value> = OnceLock::new();
    let both = BOTH.get_or_init(|| TOLERATED.into_iter().map(toleration).collect());
    let own = pod.at(&["spec", "tolerations"]).items();
    if own.is_empty() {
        pod.set(&["spec", "tolerations"], both.clone());
        return;
    }
    let covers = |own: &Value, key: &str| {
        let (its, effect) = (own.at(&["key"]).str(), own.at(&["effect"]).str());
        (its.is_empty() || its == key) && (effect.is_empty() || effect == "NoExecute")
    };
    let missing: Vec<Value> =
        TOLERATED.into_iter().filter(|key| !own.iter().any(|one| covers(one, key))).map(toleration).collect();
    if !missing.is_empty() {
        pod.make(&["spec", "tolerations"]).as_list_mut().extend(missing);
    }
}

fn toleration(key: &str) -> Value {
    object! {
        "effect" => "NoExecute", "key" => key, "operator" => "Exists", "tolerationSeconds" => TOLERATION_SECONDS,
    }
}
