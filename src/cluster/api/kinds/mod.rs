//! The built-in kinds, one file each.

use std::sync::Arc;

use super::registry::{Kind, KindInfo, Registry, Strategy};

impl Kind {
    /// `v1` Namespace.
    pub const NAMESPACE: Kind = Kind(0);
    /// `v1` Node.
    pub const NODE: Kind = Kind(1);
    /// `v1` Pod.
    pub const POD: Kind = Kind(2);
    /// `v1` Event (also served as `events.k8s.io/v1`).
    pub const EVENT: Kind = Kind(3);
    /// `v1` ConfigMap.
    pub const CONFIG_MAP: Kind = Kind(4);
    /// `v1` Secret.
    pub const SECRET: Kind = Kind(5);
    /// `v1` Service.
    pub const SERVICE: Kind = Kind(6);
    /// `v1` ServiceAccount.
    pub const SERVICE_ACCOUNT: Kind = Kind(7);
    /// `apps/v1` Deployment.
    pub const DEPLOYMENT: Kind = Kind(8);
    /// `apps/v1` ReplicaSet.
    pub const REPLICA_SET: Kind = Kind(9);
    /// `scheduling.k8s.io/v1` PriorityClass.
    pub const PRIORITY_CLASS: Kind = Kind(10);
    /// `coordination.k8s.io/v1` Lease.
    pub const LEASE: Kind = Kind(11);
    /// `policy/v1` PodDisruptionBudget.
    pub const POD_DISRUPTION_BUDGET: Kind = Kind(12);
    /// `apiextensions.k8s.io/v1` CustomResourceDefinition.
    pub const CUSTOM_RESOURCE_DEFINITION: Kind = Kind(13);
}

#[derive(Debug)]
struct Plain;

impl Strategy for Plain {
    fn prepare_create(&self, _object: &mut crate::value::Value) {}
}

/// Registers all built-in kinds, in the order of their constants.
pub fn register(registry: &mut Registry) {
    for (group, kind, plural, short, namespaced, generation, subresources) in [
        ("", "Namespace", "namespaces", "ns", false, false, &["status", "finalize"][..]),
        ("", "Node", "nodes", "no", false, false, &["status"]),
        ("", "Pod", "pods", "po", true, true, &["status", "binding", "eviction", "log"]),
        ("", "Event", "events", "ev", true, false, &[]),
        ("", "ConfigMap", "configmaps", "cm", true, false, &[]),
        ("", "Secret", "secrets", "", true, false, &[]),
        ("", "Service", "services", "svc", true, false, &["status"]),
        ("", "ServiceAccount", "serviceaccounts", "sa", true, false, &[]),
        ("apps", "Deployment", "deployments", "deploy", true, true, &["status", "scale"]),
        ("apps", "ReplicaSet", "replicasets", "rs", true, true, &["status", "scale"]),
        ("scheduling.k8s.io", "PriorityClass", "priorityclasses", "pc", false, true, &[]),
        ("coordination.k8s.io", "Lease", "leases", "", true, false, &[]),
        ("policy", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", true, true, &["status"]),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            "crd",
            false,
            true,
            &["status"],
        ),
    ] {
        registry.add(KindInfo {
            id: Kind(0),
            group: group.into(),
            versions: vec!["v1".into()],
            kind: kind.into(),
            plural: plural.into(),
            singular: kind.to_lowercase().into(),
            short_names: if short.is_empty() { Vec::new() } else { vec![short.into()] },
            categories: Vec::new(),
            namespaced,
            generation,
            returns_deleted: kind == "Pod",
            create_on_update: false,
            subresources: subresources.iter().map(|one| (*one).into()).collect(),
            strategy: Arc::new(Plain),
        });
    }
}
