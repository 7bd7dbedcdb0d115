//! What exists before anybody asks, and what vanishes without anybody asking.

use std::time::Duration;

use super::registry::Kind;
use super::store::ObjectKey;
use super::{Caller, Server};
use crate::object;
use crate::time::VirtualTime;
use crate::value::{Text, Value};

/// How long events are kept (kube-apiserver `--event-ttl`).
const EVENT_TTL: Duration = Duration::from_secs(3600);

/// When an event of a certain revision vanishes.
#[derive(Clone, Debug)]
pub(super) struct Expiry {
    at: VirtualTime,
    key: ObjectKey,
    version: Text,
}

/// The description that kube-controller-manager puts on every `kube-root-ca.crt`.
const CA_DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the \
                              internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// A stand-in for the cluster's certificate authority; nothing here checks certificates.
const CA: &str = "-----BEGIN CERTIFICATE-----\nZ3B1bGFiOiBhIG1vZGVsIG9mIGEgY2x1c3RlciBoYXMgbm8gY2VydGlmaWNhdGUgYXV0aG9yaXR5\n-----END CERTIFICATE-----\n";

impl Server {
    /// Makes the objects that a new cluster has: namespaces with their ServiceAccount and CA, and the two system
    /// priority classes.
    pub fn bootstrap(&mut self, now: VirtualTime) {
        let caller = Caller { now, manager: "kube-apiserver" };
        for (name, value, description) in [
            (
                "system-node-critical",
                2_000_001_000_i64,
                "Used for system critical pods that must not be moved from their current node.",
            ),
            (
                "system-cluster-critical",
                2_000_000_000,
                "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
            ),
        ] {
            let class = object! {
                "metadata" => object! { "name" => name }, "value" => value, "description" => description,
            };
            self.found(&caller, Kind::PRIORITY_CLASS, "", class);
        }
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            self.found(&caller, Kind::NAMESPACE, "", object! { "metadata" => object! { "name" => name } });
            self.found(&caller, Kind::SERVICE_ACCOUNT, name, object! { "metadata" => object! { "name" => "default" } });
            self.found(&caller, Kind::CONFIG_MAP, name, root_ca());
        }
    }

    fn found(&mut self, caller: &Caller<'_>, kind: Kind, namespace: &str, object: Value) {
        let made = self.create(caller, kind, namespace, object);
        debug_assert!(made.is_ok(), "the first objects must be valid: {made:?}");
    }

    /// Notes that an event was written, so that it vanishes after its time to live.
    pub(super) fn expire_later(&mut self, now: VirtualTime, key: ObjectKey) {
        self.expire_events(now);
        let version = self.store.get(&key).map(|event| event.at(&["metadata", "resourceVersion"]).text());
        if let Some(version) = version {
            self.expiring.push_back(Expiry { at: now + EVENT_TTL, key, version });
        }
    }

    /// Removes events whose time is over. It looks only at those that are due.
    pub(super) fn expire_events(&mut self, now: VirtualTime) {
        while self.expiring.front().is_some_and(|first| first.at <= now) {
            let Some(due) = self.expiring.pop_front() else { return };
            let Some(event) = self.store.get(&due.key).cloned() else { continue };
            // An event that was written again lives on; its later entry follows in the queue.
            if event.at(&["metadata", "resourceVersion"]).str() == due.version.as_str() {
                self.store.remove(&due.key, event);
            }
        }
    }
}

/// The ConfigMap `kube-root-ca.crt` that every namespace has.
pub fn root_ca() -> Value {
    object! {
        "metadata" => object! {
            "name" => "kube-root-ca.crt",
            "annotations" => object! { "kubernetes.io/description" => CA_DESCRIPTION },
        },
        "data" => object! { "ca.crt" => CA },
    }
}
