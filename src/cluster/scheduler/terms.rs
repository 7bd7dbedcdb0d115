//! The parts of a pod's specification that decide where it may go, compiled once.

use crate::api::placement::NodeTerm;
use crate::api::selector::{Operator, Requirement, Selector};
use crate::value::{Text, Value};

/// A weighted wish about nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreferredNode {
    /// 1 to 100.
    pub weight: i64,
    /// What is wished for.
    pub term: NodeTerm,
    /// An empty wish is met by every node.
    pub empty: bool,
}

impl PreferredNode {
    /// All wishes of a pod's specification; those of weight 0 are left out.
    pub fn all(spec: &Value) -> Vec<PreferredNode> {
        let list = spec.at(&["affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"]);
        let wishes = list.items().iter().map(|wish| {
            let term = NodeTerm::of(wish.at(&["preference"]));
            let empty = term.is_empty();
            PreferredNode { weight: wish.at(&["weight"]).int(), term, empty }
        });
        wishes.filter(|wish| wish.weight != 0 && !wish.empty).collect()
    }
}

/// A term of an affinity between pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodTerm {
    /// Which pods.
    pub selector: Selector,
    namespaces: Vec<Text>,
    namespace_selector: Selector,
    /// The node label whose values are the domains.
    pub topology_key: Text,
    /// 1 for required terms, ±weight for wishes.
    pub weight: i64,
}

impl PodTerm {
    fn of(term: &Value, namespace: &Text, weight: i64) -> PodTerm {
        let namespaces: Vec<Text> = term.at(&["namespaces"]).items().iter().map(Value::text).collect();
        let selector = term.at(&["namespaceSelector"]);
        let own = namespaces.is_empty() && selector.is_null();
        PodTerm {
            selector: Selector::of_object(term.at(&["labelSelector"])),
            namespaces: if own { vec![namespace.clone()] } else { namespaces },
            namespace_selector: Selector::of_object(selector),
            topology_key: term.at(&["topologyKey"]).text(),
            weight,
        }
    }

    /// Whether a pod with these labels in this namespace (whose labels are the last argument) is meant.
    pub fn matches(&self, labels: &Value, namespace: &str, namespace_labels: &Value) -> bool {
        (self.namespaces.iter().any(|known| known == namespace) || self.namespace_selector.matches(namespace_labels))
            && self.selector.matches(labels)
    }
}

/// All affinity between pods of one pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodAffinity {
    /// Required company.
    pub required: Vec<PodTerm>,
    /// Company that is ruled out.
    pub anti: Vec<PodTerm>,
    /// Wishes; those against company have a negative weight.
    pub preferred: Vec<PodTerm>,
}

impl PodAffinity {
    /// From a pod's specification; none when it has no such affinity.
    pub fn of(spec: &Value, namespace: &Text) -> Option<PodAffinity> {
        let affinity = spec.at(&["affinity"]);
        let (with, without) = (affinity.at(&["podAffinity"]), affinity.at(&["podAntiAffinity"]));
        if with.is_null() && without.is_null() {
            return None;
        }
        let required = |side: &Value| -> Vec<PodTerm> {
            let terms = side.at(&["requiredDuringSchedulingIgnoredDuringExecution"]).items();
            terms.iter().map(|term| PodTerm::of(term, namespace, 1)).collect()
        };
        let preferred = |side: &Value, sign: i64| -> Vec<PodTerm> {
            let wishes = side.at(&["preferredDuringSchedulingIgnoredDuringExecution"]).items();
            let term =
                |wish: &Value| PodTerm::of(wish.at(&["podAffinityTerm"]), namespace, sign * wish.at(&["weight"]).int());
            wishes.iter().map(term).collect()
        };
        let mut wishes = preferred(with, 1);
        wishes.extend(preferred(without, -1));
        Some(PodAffinity { required: required(with), anti: required(without), preferred: wishes })
    }
}

/// One `topologySpreadConstraints` entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spread {
    /// How uneven domains may be.
    pub max_skew: i64,
    /// The node label whose values are the domains.
    pub topology_key: Text,
    /// `DoNotSchedule` rather than `ScheduleAnyway`.
    pub hard: bool,
    /// Which pods are counted.
    pub selector: Selector,
    /// With fewer domains the smallest count is taken as 0.
    pub min_domains: usize,
    /// Whether nodes that the pod's node affinity rules out are left out.
    pub honor_affinity: bool,
    /// Whether nodes with taints that the pod does not tolerate are left out.
    pub honor_taints: bool,
}

impl Spread {
    /// All constraints of a pod.
    pub fn all(spec: &Value, labels: &Value) -> Vec<Spread> {
        spec.at(&["topologySpreadConstraints"]).items().iter().map(|entry| Spread::of(entry, labels)).collect()
    }

    fn of(entry: &Value, labels: &Value) -> Spread {
        let mut selector = Selector::of_object(entry.at(&["labelSelector"]));
        for key in entry.at(&["matchLabelKeys"]).items() {
            if let Some(value) = labels.get(key.str()) {
                let values = vec![value.text()];
                selector.requirements.push(Requirement { key: key.text(), operator: Operator::In, values });
            }
        }
        Spread {
            max_skew: entry.at(&["maxSkew"]).int(),
            topology_key: entry.at(&["topologyKey"]).text(),
            hard: entry.at(&["whenUnsatisfiable"]).str() == "DoNotSchedule",
            selector,
            min_domains: usize::try_from(entry.at(&["minDomains"]).as_i64().unwrap_or(1)).unwrap_or(1),
            honor_affinity: entry.at(&["nodeAffinityPolicy"]).str() != "Ignore",
            honor_taints: entry.at(&["nodeTaintsPolicy"]).str() == "Honor",
        }
    }
}

/// A port of the node that a pod takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    ip: Text,
    protocol: Text,
    port: i64,
}

impl HostPort {
    /// All host ports of a pod's specification (sidecars included).
    pub fn all(spec: &Value) -> Vec<HostPort> {
        let sidecars = spec.at(&["initContainers"]).items().iter();
        let sidecars = sidecars.filter(|container| container.at(&["restartPolicy"]).str() == "Always");
        let containers = spec.at(&["containers"]).items().iter().chain(sidecars);
        let ports = containers.flat_map(|container| container.at(&["ports"]).items());
        let or = |value: &Value, default: &str| if value.str().is_empty() { Text::from(default) } else { value.text() };
        let taken = ports.filter(|port| port.at(&["hostPort"]).int() > 0).map(|port| HostPort {
            ip: or(port.at(&["hostIP"]), "0.0.0.0"),
            protocol: or(port.at(&["protocol"]), "TCP"),
            port: port.at(&["hostPort"]).int(),
        });
        taken.collect()
    }

    /// Whether both cannot be on one node; `0.0.0.0` stands for every address.
    pub fn conflicts(&self, other: &HostPort) -> bool {
        self.port == other.port
            && self.protocol == other.protocol
            && (self.ip == other.ip || self.ip == "0.0.0.0" || other.ip == "0.0.0.0")
    }
}
