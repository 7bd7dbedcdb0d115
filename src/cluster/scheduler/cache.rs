//! The scheduler's picture of nodes and the pods on them, kept up to date change by change.
//!
//! Upstream copies its cache into a snapshot before every cycle because cache and cycle run side by side. Here nothing
//! changes during a cycle, so the cache itself is the snapshot; cloning it (for a snapshot of the world) shares
//! everything.

use std::sync::Arc;

use imbl::shared_ptr::DefaultSharedPtr;
use imbl::vector::Focus;
use imbl::{OrdMap, Vector};

use super::amounts::Resources;
use super::node::NodeInfo;
use super::pod::{PodInfo, Rules};
use crate::api::store::ObjectKey;
use crate::value::{Text, Value};

/// Index of a node in the table.
pub type Slot = u32;

/// Nodes, pods on nodes, and namespaces.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// Resource names seen so far.
    pub resources: Resources,
    nodes: Vector<NodeInfo>,
    free: Vector<Slot>,
    by_name: OrdMap<Text, Slot>,
    zones: Vec<(Text, Arc<Vec<Slot>>)>,
    order: Option<Arc<Vec<Slot>>>,
    pods: OrdMap<ObjectKey, (Slot, Arc<PodInfo>)>,
    assumed: OrdMap<ObjectKey, ()>,
    namespaces: OrdMap<Text, Value>,
    images: OrdMap<Text, u32>,
    priorities: OrdMap<i64, usize>,
    rules: Arc<Rules>,
    present: usize,
    unschedulable: usize,
    tainted: usize,
    with_affinity: usize,
    with_anti: usize,
    epoch: u64,
    dirty: Vec<Slot>,
}

/// With more changed nodes than this all of them count as changed.
const DIRTY: usize = 1024;

impl Cache {
    /// Reads a pod.
    pub fn read(&mut self, key: &ObjectKey, pod: &Value) -> PodInfo {
        PodInfo::of(key, pod, &mut self.resources, &mut self.rules)
    }

    /// Number of Node objects.
    pub fn len(&self) -> usize {
        self.present
    }

    /// The node at `slot`.
    pub fn node(&self, slot: Slot) -> &NodeInfo {
        &self.nodes[slot as usize]
    }

    /// Where the Node object of this name is kept.
    pub fn slot(&self, name: &str) -> Option<Slot> {
        self.by_name.get(name).copied().filter(|slot| self.node(*slot).present)
    }

    /// Node objects in the order in which they are tried: round robin over zones in order of first appearance, within a
    /// zone in order of arrival (`backend/cache/node_tree.go`).
    pub fn order(&mut self) -> Arc<Vec<Slot>> {
        if let Some(order) = &self.order {
            return order.clone();
        }
        let mut order = Vec::with_capacity(self.present);
        let longest = self.zones.iter().map(|(_, slots)| slots.len()).max().unwrap_or(0);
        for at in 0..longest {
            order.extend(self.zones.iter().filter_map(|(_, slots)| slots.get(at)));
        }
        let order = Arc::new(order);
        self.order = Some(order.clone());
        order
    }

    /// The table of nodes, for walks.
    pub fn walk(&self) -> Focus<'_, NodeInfo, DefaultSharedPtr> {
        self.nodes.focus()
    }

    /// Changes with every Node object, and the nodes whose pods have changed since the last call.
    pub fn changes(&mut self) -> (u64, Vec<Slot>) {
        (self.epoch, std::mem::take(&mut self.dirty))
    }

    /// Whether any node is cordoned.
    pub fn any_unschedulable(&self) -> bool {
        self.unschedulable > 0
    }

    /// Whether any node has a taint.
    pub fn any_tainted(&self) -> bool {
        self.tainted > 0
    }

    /// Whether any pod on a node has affinity to pods.
    pub fn any_affinity(&self) -> bool {
        self.with_affinity > 0
    }

    /// Whether any pod on a node rules company out.
    pub fn any_anti_affinity(&self) -> bool {
        self.with_anti > 0
    }

    /// Whether any pod on a node has a priority below this.
    pub fn any_below(&self, priority: i64) -> bool {
        self.priorities.get_min().is_some_and(|(lowest, _)| *lowest < priority)
    }

    /// On how many nodes an image is.
    pub fn image_nodes(&self, image: &str) -> Option<u32> {
        self.images.get(image).copied()
    }

    /// The labels of a namespace.
    pub fn namespace(&self, name: &str) -> &Value {
        static NULL: Value = Value::Null;
        self.namespaces.get(name).unwrap_or(&NULL)
    }

    /// The labels of all namespaces.
    pub fn all_namespaces(&self) -> OrdMap<Text, Value> {
        self.namespaces.clone()
    }

    /// Sees a namespace come, change or go.
    pub fn set_namespace(&mut self, name: &Text, labels: Option<Value>) {
        match labels {
            Some(labels) => self.namespaces.insert(name.clone(), labels),
            None => self.namespaces.remove(name),
        };
    }

    /// Sees a new or changed Node object; returns its state before, if it was there.
    pub fn set_node(&mut self, mut new: NodeInfo) -> Option<NodeInfo> {
        self.epoch += 1;
        let slot = self.slot_for(&new.name);
        let old = self.nodes[slot as usize].clone();
        if !old.present || old.zone() != new.zone() {
            if old.present {
                self.leave_zone(slot, &old.zone());
            }
            self.join_zone(slot, new.zone());
        }
        self.count_node(&old, -1);
        self.count_node(&new, 1);
        (new.requested, new.non_zero) = (old.requested.clone(), old.non_zero);
        (new.with_affinity, new.with_anti) = (old.with_affinity, old.with_anti);
        new.pods = old.pods.clone();
        self.nodes[slot as usize] = new;
        old.present.then_some(old)
    }

    /// Sees a Node object go; returns its last state.
    pub fn remove_node(&mut self, name: &str) -> Option<NodeInfo> {
        let slot = self.slot(name)?;
        let old = self.nodes[slot as usize].clone();
        self.leave_zone(slot, &old.zone());
        self.count_node(&old, -1);
        self.epoch += 1;
        self.nodes[slot as usize].present = false;
        self.release(slot);
        Some(old)
    }

    /// Counts a pod on its node. A pod that was assumed there is confirmed.
    pub fn add_pod(&mut self, pod: PodInfo) -> Arc<PodInfo> {
        let confirmed = self.assumed.remove(&pod.key).is_some();
        if let Some((slot, known)) = self.pods.get(&pod.key) {
            let same = known.uid == pod.uid && self.node(*slot).name == pod.node && known.labels == pod.labels;
            if confirmed && same && known.requests == pod.requests {
                return known.clone();
            }
            self.remove_pod(&pod.key);
        }
        let pod = Arc::new(pod);
        self.place(pod.clone());
        pod
    }

    /// Counts a pod on a node before the API server has confirmed it.
    pub fn assume(&mut self, pod: &PodInfo, node: &Text) {
        let mut pod = pod.clone();
        pod.node = node.clone();
        pod.nominated = Text::default();
        self.assumed.insert(pod.key.clone(), ());
        self.place(Arc::new(pod));
    }

    /// Whether a pod is assumed, with this uid, on this node.
    pub fn is_assumed(&self, key: &ObjectKey, uid: &str, node: &str, labels: &Value) -> bool {
        self.assumed.contains_key(key)
            && self
                .pods
                .get(key)
                .is_some_and(|(slot, pod)| pod.uid == uid && self.node(*slot).name == node && pod.labels == *labels)
    }

    /// The assumption came true.
    pub fn confirm(&mut self, key: &ObjectKey) {
        self.assumed.remove(key);
    }

    /// No longer counts a pod.
    pub fn remove_pod(&mut self, key: &ObjectKey) -> Option<Arc<PodInfo>> {
        self.assumed.remove(key);
        let (slot, pod) = self.pods.remove(key)?;
        self.count_pod(&pod, -1);
        self.touch(slot);
        self.nodes[slot as usize].remove(&pod);
        self.release(slot);
        Some(pod)
    }

    /// The pod that is counted under `key`.
    pub fn pod(&self, key: &ObjectKey) -> Option<&Arc<PodInfo>> {
        self.pods.get(key).map(|(_, pod)| pod)
    }

    fn place(&mut self, pod: Arc<PodInfo>) {
        let slot = self.slot_for(&pod.node);
        self.count_pod(&pod, 1);
        self.pods.insert(pod.key.clone(), (slot, pod.clone()));
        self.touch(slot);
        self.nodes[slot as usize].add(pod);
    }

    fn touch(&mut self, slot: Slot) {
        if self.dirty.len() == DIRTY {
            self.dirty.clear();
            self.epoch += 1;
        }
        self.dirty.push(slot);
    }

    fn slot_for(&mut self, name: &Text) -> Slot {
        if let Some(slot) = self.by_name.get(name) {
            return *slot;
        }
        let empty = NodeInfo { name: name.clone(), ..NodeInfo::default() };
        let slot = match self.free.pop_back() {
            Some(slot) => {
                self.nodes[slot as usize] = empty;
                slot
            }
            None => {
                self.nodes.push_back(empty);
                (self.nodes.len() - 1) as Slot
            }
        };
        self.by_name.insert(name.clone(), slot);
        slot
    }

    fn release(&mut self, slot: Slot) {
        let node = &self.nodes[slot as usize];
        if !node.present && node.pods.is_empty() {
            self.by_name.remove(&node.name);
            self.nodes[slot as usize] = NodeInfo::default();
            self.free.push_back(slot);
        }
    }

    fn join_zone(&mut self, slot: Slot, zone: Text) {
        self.order = None;
        match self.zones.iter_mut().find(|(known, _)| *known == zone) {
            Some((_, slots)) => Arc::make_mut(slots).push(slot),
            None => self.zones.push((zone, Arc::new(vec![slot]))),
        }
    }

    fn leave_zone(&mut self, slot: Slot, zone: &Text) {
        self.order = None;
        if let Some((_, slots)) = self.zones.iter_mut().find(|(known, _)| known == zone) {
            Arc::make_mut(slots).retain(|known| *known != slot);
        }
        self.zones.retain(|(_, slots)| !slots.is_empty());
    }

    fn count_node(&mut self, node: &NodeInfo, sign: isize) {
        if !node.present {
            return;
        }
        let add = |count: &mut usize, holds: bool| *count = count.wrapping_add_signed(sign * isize::from(holds));
        add(&mut self.present, true);
        add(&mut self.unschedulable, node.unschedulable);
        add(&mut self.tainted, !node.taints.is_empty());
        for (image, _) in node.images.iter() {
            let count = self.images.entry(image.clone()).or_insert(0);
            *count = count.wrapping_add_signed(sign as i32);
            if *count == 0 {
                self.images.remove(image);
            }
        }
    }

    fn count_pod(&mut self, pod: &PodInfo, sign: isize) {
        if let Some(affinity) = &pod.rules.affinity {
            self.with_affinity = self.with_affinity.wrapping_add_signed(sign);
            self.with_anti = self.with_anti.wrapping_add_signed(sign * isize::from(!affinity.anti.is_empty()));
        }
        let count = self.priorities.entry(pod.priority).or_insert(0);
        *count = count.wrapping_add_signed(sign);
        if *count == 0 {
            self.priorities.remove(&pod.priority);
        }
    }
}
