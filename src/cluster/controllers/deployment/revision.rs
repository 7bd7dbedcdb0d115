//! The ReplicaSet of the present template: found, or made.

use super::super::{controller_reference, event};
use super::scale::{max_replicas, new_size};
use super::{NAME, Rollout, status};
use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::component::Context;
use crate::rng::ALPHABET;
use crate::value::{Text, Value};
use crate::{list, object};

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MAXIMUM: &str = "deployment.kubernetes.io/max-replicas";
const HASH: &str = "pod-template-hash";
/// Annotations that a ReplicaSet does not take over from its Deployment.
const OWN: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    "deployment.kubernetes.io/revision-history",
    DESIRED,
    MAXIMUM,
    "deprecated.deployment.rollback.to",
];

/// The revision number of a ReplicaSet or Deployment; 0 when it has none.
pub(super) fn of(object: &Value) -> i64 {
    object.annotation(REVISION).and_then(|revision| revision.parse().ok()).unwrap_or(0)
}

/// The oldest ReplicaSet whose template is the Deployment's, the hash label apart. `sets` are oldest first.
pub(super) fn find_new(deployment: &Value, sets: &[Value]) -> Option<Value> {
    let plain = |object: &Value| {
        let mut template = object.at(&["spec", "template"]).clone();
        template.remove(&["metadata", "labels", HASH]);
        template
    };
    let wanted = plain(deployment);
    sets.iter().find(|set| plain(set) == wanted).cloned()
}

/// Brings revision and annotations of the new ReplicaSet up to date and makes it when it is missing and `make` is set.
/// Says whether the rollout may go on.
pub(super) fn sync(rollout: &mut Rollout, make: bool, cx: &mut Context<'_>) -> bool {
    let revision = rollout.old.iter().map(of).max().unwrap_or(0) + 1;
    match rollout.new.take() {
        Some(new) => {
            let key = ObjectKey::of(Kind::REPLICA_SET, &new);
            let deployment = &rollout.deployment;
            let updated = cx.update(&key, Part::Main, |set| {
                annotate(set, deployment, revision);
                let least = deployment.at(&["spec", "minReadySeconds"]);
                if set.at(&["spec", "minReadySeconds"]).int() != least.int() {
                    set.set(&["spec", "minReadySeconds"], least.clone());
                }
            });
            let new = updated.unwrap_or(new);
            set_revision(rollout, of(&new), cx);
            status::progressing_once(
                rollout,
                "FoundNewReplicaSet",
                &format!("Found new replica set \"{}\"", new.name()),
                cx,
            );
            rollout.new = Some(new);
            true
        }
        None if make => create(rollout, revision, cx),
        None => true,
    }
}

/// Copies the Deployment's annotations and raises the revision.
fn annotate(set: &mut Value, deployment: &Value, revision: i64) {
    for (key, value) in deployment.at(&["metadata", "annotations"]).entries() {
        if !OWN.contains(&key.as_str()) {
            set.set(&["metadata", "annotations", key], value.clone());
        }
    }
    if of(set) < revision {
        set.set(&["metadata", "annotations", REVISION], revision.to_string());
    }
}

fn set_revision(rollout: &mut Rollout, revision: i64, cx: &mut Context<'_>) {
    if of(&rollout.deployment) == revision {
        return;
    }
    // A write of the status, which may carry annotations: the generation stays.
    let updated = cx.update(&rollout.key, Part::Status, |deployment| {
        deployment.set(&["metadata", "annotations", REVISION], revision.to_string());
    });
    if let Ok(updated) = updated {
        rollout.deployment = updated;
    }
}

fn create(rollout: &mut Rollout, revision: i64, cx: &mut Context<'_>) -> bool {
    let set = make(rollout, revision);
    let name = set.name().to_owned();
    let (namespace, count) = (rollout.key.namespace.clone(), set.at(&["spec", "replicas"]).int());
    match cx.create(Kind::REPLICA_SET, &namespace, set) {
        Ok(made) => {
            if count > 0 {
                let text = format!("Scaled up replica set {name} from 0 to {count}");
                event(cx, NAME, &rollout.key, false, "ScalingReplicaSet", &text);
            }
            set_revision(rollout, of(&made), cx);
            let text = format!("Created new replica set \"{name}\"");
            status::set_progressing(rollout, "True", "NewReplicaSetCreated", &text, cx);
            rollout.new = Some(made);
            true
        }
        Err(error) if error.reason == "AlreadyExists" => {
            // Somebody else's ReplicaSet has this hash: another hash with the next look.
            let collisions = rollout.deployment.at(&["status", "collisionCount"]).int();
            let _ = cx.update(&rollout.key, Part::Status, |deployment| {
                deployment.set(&["status", "collisionCount"], collisions + 1);
            });
            false
        }
        Err(error) => {
            let text = format!("Failed to create new replica set \"{name}\": {}", error.message);
            status::set_progressing(rollout, "False", "ReplicaSetCreateError", &text, cx);
            event(cx, NAME, &rollout.key, true, "ReplicaSetCreateError", &text);
            false
        }
    }
}

fn make(rollout: &Rollout, revision: i64) -> Value {
    let deployment = &rollout.deployment;
    let hash = template_hash(deployment);
    let mut template = deployment.at(&["spec", "template"]).clone();
    template.set(&["metadata", "labels", HASH], hash.as_str());
    let mut selector = deployment.at(&["spec", "selector"]).clone();
    selector.set(&["matchLabels", HASH], hash.as_str());
    let mut set = object! {
        "apiVersion" => "apps/v1", "kind" => "ReplicaSet",
        "metadata" => object! {
            "name" => format!("{}-{hash}", deployment.name()), "namespace" => deployment.namespace(),
            "labels" => template.at(&["metadata", "labels"]).clone(),
            "ownerReferences" => list![controller_reference("apps/v1", "Deployment", deployment)],
        },
        "spec" => object! { "selector" => selector, "template" => template },
    };
    let least = deployment.at(&["spec", "minReadySeconds"]);
    if least.int() > 0 {
        set.set(&["spec", "minReadySeconds"], least.clone());
    }
    set.set(&["spec", "replicas"], new_size(rollout, 0));
    annotate(&mut set, deployment, revision);
    set.set(&["metadata", "annotations", DESIRED], rollout.wanted().to_string());
    set.set(&["metadata", "annotations", MAXIMUM], max_replicas(rollout).to_string());
    set
}

/// A name part that is the same for the same template. Real hashes are made of the memory layout of Go types and cannot
/// be had; these have their form.
fn template_hash(deployment: &Value) -> Text {
    let mut text = deployment.at(&["spec", "template"]).to_json();
    if let Some(collisions) = deployment.at(&["status", "collisionCount"]).as_i64() {
        text.push_str(&collisions.to_string());
    }
    let hash = text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let digits = hash.to_string();
    let letters = digits.bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()]));
    Text::from(letters.collect::<String>())
}
