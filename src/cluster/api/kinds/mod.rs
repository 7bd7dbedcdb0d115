//! The built-in kinds, one file each: names, defaults, validation, and what may change.

mod config;
mod event;
mod job;
mod namespace;
mod node;
mod pod;
mod policy;
mod scheduling;
mod service;
mod workloads;

use std::sync::Arc;

use super::custom;
use super::registry::{Kind, KindInfo, Registry, Strategy};
use crate::value::Text;

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
    /// `batch/v1` Job.
    pub const JOB: Kind = Kind(14);
}

/// Registers all built-in kinds, in the order of their constants.
pub fn register(registry: &mut Registry) {
    for info in [
        namespace::info(),
        node::info(),
        pod::info(),
        event::info(),
        config::config_map(),
        config::secret(),
        service::info(),
        config::service_account(),
        workloads::deployment(),
        workloads::replica_set(),
        scheduling::priority_class(),
        scheduling::lease(),
        policy::info(),
        custom::definition_kind(),
        job::info(),
    ] {
        registry.add(info);
    }
}

/// A kind of version `v1` in a namespace, without generation and subresources.
pub(super) fn kind(
    group: &str,
    kind: &str,
    plural: &str,
    short: &[&str],
    strategy: impl Strategy + 'static,
) -> KindInfo {
    KindInfo {
        id: Kind(0),
        group: group.into(),
        versions: vec!["v1".into()],
        kind: kind.into(),
        plural: plural.into(),
        singular: kind.to_lowercase().into(),
        short_names: words(short),
        categories: Vec::new(),
        namespaced: true,
        generation: false,
        returns_deleted: false,
        create_on_update: false,
        subresources: Vec::new(),
        strategy: Arc::new(strategy),
    }
}

pub(super) fn words(words: &[&str]) -> Vec<Text> {
    words.iter().map(|word| Text::from(*word)).collect()
}

#[cfg(test)]
mod tests;
