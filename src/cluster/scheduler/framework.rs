//! The scheduling framework: extension points by their upstream names, what plugins answer, and how they are listed.
//!
//! Source: kube-scheduler `framework/interface.go`. A plugin's PreFilter returns the object that filters nodes in this
//! cycle, and its PreScore the one that scores them; upstream passes the same through `CycleState`.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use super::amounts::{Resource, Resources};
use super::cache::{Cache, Slot};
use super::node::NodeInfo;
use super::pod::PodInfo;
use crate::api::store::Store;
use crate::value::Text;

/// The highest score after normalising.
pub const MAX_SCORE: i64 = 100;

/// Why a node was turned down: whether evicting pods could change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Preemption may help.
    Unschedulable,
    /// Preemption cannot help.
    Unresolvable,
}

/// One reason in the API's words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A fixed text.
    Text(&'static str),
    /// `Insufficient <resource>`.
    Insufficient(Resource),
}

impl Reason {
    /// The text.
    pub fn text(&self, resources: &Resources) -> String {
        match self {
            Reason::Text(text) => (*text).to_owned(),
            Reason::Insufficient(resource) => format!("Insufficient {}", resources.name(*resource)),
        }
    }
}

/// A node that does not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Whether preemption may help.
    pub code: Code,
    /// The reason.
    pub reason: Reason,
    /// Further ones (only NodeResourcesFit has any).
    pub more: Vec<Reason>,
}

impl Rejection {
    /// With one fixed reason.
    pub fn of(code: Code, reason: &'static str) -> Rejection {
        Rejection { code, reason: Reason::Text(reason), more: Vec::new() }
    }

    /// All reasons.
    pub fn reasons(&self) -> impl Iterator<Item = &Reason> {
        std::iter::once(&self.reason).chain(&self.more)
    }
}

/// What a cycle works on.
#[derive(Clone, Copy, Debug)]
pub struct Cycle<'a> {
    /// The pod that is scheduled.
    pub pod: &'a Arc<PodInfo>,
    /// Nodes and the pods on them.
    pub cache: &'a Cache,
    /// The order in which nodes are tried.
    pub order: &'a [Slot],
    /// For services and ReplicaSets.
    pub store: &'a Store,
}

/// What a plugin says before nodes are filtered.
#[derive(Debug)]
pub enum PreFilter {
    /// It has nothing to check for this pod.
    Skip,
    /// This checks nodes.
    Filter(Box<dyn NodeFilter>),
    /// This checks nodes, and only these can pass.
    Narrow(Box<dyn NodeFilter>, BTreeSet<Text>),
    /// No node can pass (always code [`Code::Unresolvable`] for the plugins at hand).
    Reject(String),
}

/// Checks nodes during one cycle.
pub trait NodeFilter: Debug {
    /// Whether the node can take the pod; `None` passes.
    fn filter(&self, node: &NodeInfo) -> Option<Rejection>;
    /// Takes a pod into account that would be on the node.
    fn add_pod(&mut self, _pod: &PodInfo, _node: &NodeInfo) {}
    /// Leaves a pod out of account that is on the node.
    fn remove_pod(&mut self, _pod: &PodInfo, _node: &NodeInfo) {}
    /// A copy to try changes on.
    fn boxed(&self) -> Box<dyn NodeFilter>;
}

/// Scores nodes during one cycle.
pub trait NodeScore: Debug {
    /// The raw score.
    fn score(&self, node: &NodeInfo) -> i64;
    /// Brings raw scores to 0..100.
    fn normalize(&self, _scores: &mut [i64]) {}
}

/// What a plugin thinks of an event that might help a pod it rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// No help.
    Skip,
    /// The pod is worth another try.
    Queue,
}

impl Hint {
    /// Queue if so.
    pub fn when(holds: bool) -> Hint {
        if holds { Hint::Queue } else { Hint::Skip }
    }
}

/// What happened in the cluster (`framework/events.go`), with the object before and after.
#[derive(Clone, Copy, Debug)]
pub enum ClusterEvent<'a> {
    /// A node came.
    NodeAdd(&'a NodeInfo),
    /// A node went.
    NodeDelete(&'a NodeInfo),
    /// Labels of a node changed.
    NodeLabel(&'a NodeInfo, &'a NodeInfo),
    /// Taints of a node changed, or it became schedulable.
    NodeTaint(&'a NodeInfo, &'a NodeInfo),
    /// Allocatable of a node changed.
    NodeAllocatable(&'a NodeInfo, &'a NodeInfo),
    /// A pod appeared on a node.
    PodAdd(&'a PodInfo),
    /// A pod went from its node (or gave up its nomination).
    PodDelete(&'a PodInfo),
    /// Labels of a pod changed.
    PodLabel(&'a PodInfo, &'a PodInfo),
    /// A pod (as it is now) got a toleration.
    PodToleration(&'a PodInfo),
    /// A pod asks for less.
    PodScaleDown(&'a PodInfo, &'a PodInfo),
}

/// The kind of a [`ClusterEvent`], for registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    NodeAdd,
    NodeDelete,
    NodeLabel,
    NodeTaint,
    NodeAllocatable,
    PodAdd,
    PodDelete,
    PodLabel,
    PodToleration,
    PodScaleDown,
}

impl ClusterEvent<'_> {
    /// Its kind.
    pub fn kind(&self) -> EventKind {
        match self {
            ClusterEvent::NodeAdd(_) => EventKind::NodeAdd,
            ClusterEvent::NodeDelete(_) => EventKind::NodeDelete,
            ClusterEvent::NodeLabel(..) => EventKind::NodeLabel,
            ClusterEvent::NodeTaint(..) => EventKind::NodeTaint,
            ClusterEvent::NodeAllocatable(..) => EventKind::NodeAllocatable,
            ClusterEvent::PodAdd(_) => EventKind::PodAdd,
            ClusterEvent::PodDelete(_) => EventKind::PodDelete,
            ClusterEvent::PodLabel(..) => EventKind::PodLabel,
            ClusterEvent::PodToleration(_) => EventKind::PodToleration,
            ClusterEvent::PodScaleDown(..) => EventKind::PodScaleDown,
        }
    }
}

/// A scheduling plugin.
pub trait Plugin: Debug + Send + Sync {
    /// The upstream name.
    fn name(&self) -> &'static str;
    /// The weight of its score.
    fn weight(&self) -> i64 {
        0
    }
    /// Whether its verdict and score follow from the pod's own rules and requests and the node alone, and not from other
    /// nodes or the pod's labels.
    fn local(&self) -> bool {
        true
    }
    /// PreEnqueue: whether the pod may enter the active queue.
    fn may_enqueue(&self, _pod: &PodInfo) -> bool {
        true
    }
    /// PreFilter.
    fn pre_filter(&self, _cycle: &Cycle<'_>) -> PreFilter {
        PreFilter::Skip
    }
    /// PreScore over the nodes that passed; `None` is Skip.
    fn pre_score(&self, _cycle: &Cycle<'_>, _nodes: &[Slot]) -> Option<Box<dyn NodeScore>> {
        None
    }
    /// EventsToRegister.
    fn events(&self) -> &'static [EventKind] {
        &[]
    }
    /// The queueing hint for a registered event.
    fn hint(&self, _pod: &PodInfo, _event: &ClusterEvent<'_>) -> Hint {
        Hint::Queue
    }
}

/// A set of plugins, as bits in the order of the profile.
pub type PluginSet = u32;

/// The plugins of a profile, in order.
#[derive(Clone, Debug)]
pub struct Framework {
    /// The plugins.
    pub plugins: Arc<[Box<dyn Plugin>]>,
}

impl Framework {
    /// From plugins in order.
    pub fn new(plugins: Vec<Box<dyn Plugin>>) -> Framework {
        Framework { plugins: plugins.into() }
    }

    /// The name of the plugin at `index`.
    pub fn name(&self, index: usize) -> &'static str {
        self.plugins[index].name()
    }

    /// Plugins that want to hear of an event.
    ///
    /// Every plugin that registers new nodes without registering taints hears of every taint change and always answers
    /// Queue: a compatibility entry of `scheduler.go` (buildQueueingHintMap), which makes a taint or a cordon re-try
    /// nearly everybody.
    pub fn interested(&self, kind: EventKind) -> PluginSet {
        let interested = |plugin: &dyn Plugin| {
            plugin.events().contains(&kind) || (kind == EventKind::NodeTaint && Self::any_taint(plugin))
        };
        self.plugins
            .iter()
            .enumerate()
            .filter(|(_, plugin)| interested(plugin.as_ref()))
            .fold(0, |set, (at, _)| set | 1 << at)
    }

    fn any_taint(plugin: &dyn Plugin) -> bool {
        plugin.events().contains(&EventKind::NodeAdd) && !plugin.events().contains(&EventKind::NodeTaint)
    }

    /// Whether an event makes a pod that these plugins rejected worth another try.
    pub fn worth(&self, rejecting: PluginSet, pod: &PodInfo, event: &ClusterEvent<'_>) -> bool {
        self.plugins.iter().enumerate().filter(|(at, _)| rejecting & (1 << at) != 0).any(|(_, plugin)| {
            if plugin.events().contains(&event.kind()) {
                plugin.hint(pod, event) == Hint::Queue
            } else {
                event.kind() == EventKind::NodeTaint && Self::any_taint(plugin.as_ref())
            }
        })
    }

    /// PreEnqueue of all plugins.
    pub fn may_enqueue(&self, pod: &PodInfo) -> bool {
        self.plugins.iter().all(|plugin| plugin.may_enqueue(pod))
    }
}
