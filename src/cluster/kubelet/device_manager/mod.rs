//! The kubelet's device manager of one node: registered plugins, their devices and health, and who holds which id.
//!
//! Source: `pkg/kubelet/cm/devicemanager` of Kubernetes 1.36. Speaking to a plugin (gRPC, or a library call on fleet
//! nodes) is somebody else's business: this is the state between the messages.

mod allocation;
mod checkpoint;

use std::collections::BTreeMap;
use std::time::Duration;

use imbl::{OrdMap, OrdSet};

use crate::plugins::{PluginDevice, PluginOptions};
use crate::time::VirtualTime;
use crate::value::{Text, Value};

pub use allocation::Need;
pub use checkpoint::Checkpoint;

/// How long a resource stays after its plugin went away (`endpointStopGracePeriod`).
pub const STOP_GRACE: Duration = Duration::from_secs(5 * 60);

/// A resource's plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Endpoint {
    options: PluginOptions,
    /// When its stream ended; none while it runs.
    stopped: Option<VirtualTime>,
}

/// What one container holds of one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The ids.
    pub ids: OrdSet<Text>,
    /// The plugin's answer: the checkpoint keeps it, the container gets it.
    pub response: Value,
}

/// Whose devices: pod uid, container name, resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// `metadata.uid` of the pod.
    pub pod: Text,
    /// Name of the container.
    pub container: Text,
    /// Extended resource name.
    pub resource: Text,
}

/// Capacity and allocatable of all plugin resources, and the resources that are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Healthy and unhealthy devices.
    pub capacity: BTreeMap<Text, usize>,
    /// Healthy devices; held ones are among them.
    pub allocatable: BTreeMap<Text, usize>,
    /// Resources that the node status shall show as 0 from now on.
    pub removed: Vec<Text>,
}

/// The device manager of one node.
#[derive(Clone, Debug, Default)]
pub struct DeviceManager {
    endpoints: OrdMap<Text, Endpoint>,
    healthy: OrdMap<Text, OrdSet<Text>>,
    unhealthy: OrdMap<Text, OrdSet<Text>>,
    /// The last message's devices. A dead plugin leaves it as it was, which is why pods keep showing `Healthy`.
    known: OrdMap<Text, OrdMap<Text, PluginDevice>>,
    holders: OrdMap<Holder, Held>,
    /// Recomputed from `holders` only when somebody asks for devices, never when a pod ends.
    allocated: OrdMap<Text, OrdSet<Text>>,
    /// Devices of finished init containers, for the later containers of the same pod: pod and resource.
    reusable: OrdMap<(Text, Text), OrdSet<Text>>,
}

impl DeviceManager {
    /// A plugin registered a resource; a former plugin of it is replaced. Devices come with its first message.
    pub fn register(&mut self, resource: &str, options: PluginOptions) {
        self.endpoints.insert(resource.into(), Endpoint { options, stopped: None });
    }

    /// What the resource's plugin offers.
    pub fn options(&self, resource: &str) -> PluginOptions {
        self.endpoints.get(resource).map_or_else(PluginOptions::default, |endpoint| endpoint.options)
    }

    /// A `ListAndWatch` message: a full list that replaces the former one. Returns the holders for which the health of a
    /// device changed: their pods' status has to be written.
    pub fn list(&mut self, resource: &str, devices: &[PluginDevice]) -> Vec<Holder> {
        let resource = Text::from(resource);
        let before = self.known.get(&resource).cloned().unwrap_or_default();
        let (healthy, unhealthy): (Vec<&PluginDevice>, Vec<_>) = devices.iter().partition(|device| device.healthy);
        let ids = |list: Vec<&PluginDevice>| list.into_iter().map(|device| device.id.clone()).collect::<OrdSet<_>>();
        self.healthy.insert(resource.clone(), ids(healthy));
        self.unhealthy.insert(resource.clone(), ids(unhealthy));
        let known: OrdMap<Text, PluginDevice> =
            devices.iter().map(|device| (device.id.clone(), device.clone())).collect();
        let health = |table: &OrdMap<Text, PluginDevice>, id: &Text| table.get(id).is_none_or(|device| device.healthy);
        let changed = self.holders.iter().filter(|(holder, held)| {
            holder.resource == resource && held.ids.iter().any(|id| health(&before, id) != health(&known, id))
        });
        let changed = changed.map(|(holder, _)| holder.clone()).collect();
        self.known.insert(resource, known);
        changed
    }

    /// The plugin's stream ended: all its devices count as unhealthy from now on.
    pub fn stopped(&mut self, resource: &str, now: VirtualTime) {
        let Some(endpoint) = self.endpoints.get_mut(resource) else { return };
        endpoint.stopped = Some(now);
        let healthy = self.healthy.insert(resource.into(), OrdSet::new()).unwrap_or_default();
        let unhealthy = self.unhealthy.entry(resource.into()).or_default();
        *unhealthy = unhealthy.clone().union(healthy);
    }

    /// Counts for the node status. A resource whose plugin is away longer than [`STOP_GRACE`] is dropped here.
    pub fn counts(&mut self, now: VirtualTime) -> Counts {
        let gone = |endpoint: Option<&Endpoint>| match endpoint {
            Some(endpoint) => endpoint.stopped.is_some_and(|since| now.since(since) > STOP_GRACE),
            None => true,
        };
        let resources: OrdSet<Text> = self.healthy.keys().chain(self.unhealthy.keys()).cloned().collect();
        let mut counts = Counts::default();
        for resource in resources {
            if gone(self.endpoints.get(&resource)) {
                self.endpoints.remove(&resource);
                self.healthy.remove(&resource);
                self.unhealthy.remove(&resource);
                counts.removed.push(resource);
                continue;
            }
            let size = |sets: &OrdMap<Text, OrdSet<Text>>| sets.get(&resource).map_or(0, OrdSet::len);
            counts.capacity.insert(resource.clone(), size(&self.healthy) + size(&self.unhealthy));
            counts.allocatable.insert(resource.clone(), size(&self.healthy));
        }
        counts
    }

    /// The health of the devices that a container holds, by resource and id, as `allocatedResourcesStatus` lists them. A
    /// device that the plugin no longer lists counts as healthy.
    pub fn health_of(&self, pod: &str, container: &str) -> BTreeMap<Text, Vec<(Text, bool)>> {
        let mut health = BTreeMap::new();
        for (holder, held) in self.held_by(pod).filter(|(holder, _)| holder.container == container) {
            let known = self.known.get(&holder.resource);
            let healthy = |id: &Text| known.and_then(|known| known.get(id)).is_none_or(|device| device.healthy);
            let devices = held.ids.iter().map(|id| (id.clone(), healthy(id))).collect();
            health.insert(holder.resource.clone(), devices);
        }
        health
    }

    /// What a pod's containers hold.
    pub fn held_by(&self, pod: &str) -> impl Iterator<Item = (&Holder, &Held)> {
        let first = Holder { pod: pod.into(), container: Text::default(), resource: Text::default() };
        let pod = first.pod.clone();
        self.holders.range(first..).take_while(move |(holder, _)| holder.pod == pod)
    }

    /// All ids of a resource, healthy or not.
    pub fn ids(&self, resource: &str) -> OrdSet<Text> {
        let set = |sets: &OrdMap<Text, OrdSet<Text>>| sets.get(resource).cloned().unwrap_or_default();
        set(&self.healthy).union(set(&self.unhealthy))
    }

    /// Healthy ids that nobody holds, as of the last sweep.
    pub fn free(&self, resource: &str) -> OrdSet<Text> {
        let taken = self.allocated.get(resource).cloned().unwrap_or_default();
        self.healthy.get(resource).cloned().unwrap_or_default().relative_complement(taken)
    }

    /// The NUMA nodes of a device.
    pub fn numa_of(&self, resource: &str, id: &str) -> &[i64] {
        self.known.get(resource).and_then(|known| known.get(id)).map_or(&[], |device| &device.numa)
    }

    /// Whether any device of the resource says where it is.
    pub fn has_topology(&self, resource: &str) -> bool {
        self.known.get(resource).is_some_and(|known| known.values().any(|device| !device.numa.is_empty()))
    }

    /// Who holds a device, as the checkpoint has it.
    #[cfg(test)]
    pub fn holder(&self, resource: &str, id: &str) -> Option<&Holder> {
        let holds = |(holder, held): &(&Holder, &Held)| holder.resource == resource && held.ids.contains(id);
        self.holders.iter().find(holds).map(|(holder, _)| holder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: &str = "example.com/gpu";

    pub(super) fn devices(list: &[(&str, bool)]) -> Vec<PluginDevice> {
        let device = |(id, healthy): &(&str, bool)| PluginDevice { id: (*id).into(), healthy: *healthy, numa: vec![] };
        list.iter().map(device).collect()
    }

    fn counts(manager: &mut DeviceManager, now: VirtualTime) -> (Option<usize>, Option<usize>, usize) {
        let counts = manager.counts(now);
        (counts.capacity.get(GPU).copied(), counts.allocatable.get(GPU).copied(), counts.removed.len())
    }

    #[test]
    fn s17_every_message_replaces_the_former_one() {
        let mut manager = DeviceManager::default();
        manager.register(GPU, PluginOptions::default());
        let now = VirtualTime::EPOCH;
        for (list, expected) in [
            (&[("dev1", true), ("dev2", true), ("dev3", false)][..], (Some(3), Some(2), 0)),
            (&[("dev1", true), ("dev2", true)], (Some(2), Some(2), 0)),
            (&[("dev1", true), ("dev2", false), ("dev3", false)], (Some(3), Some(1), 0)),
            (&[("dev2", false), ("dev3", false)], (Some(2), Some(0), 0)),
        ] {
            manager.list(GPU, &devices(list));
            assert_eq!(counts(&mut manager, now), expected);
        }
    }

    #[test]
    fn s18_a_dead_plugin_keeps_capacity_for_five_minutes() {
        let mut manager = DeviceManager::default();
        manager.register(GPU, PluginOptions::default());
        manager.list(GPU, &devices(&[("a", true), ("b", false)]));
        let died = VirtualTime::EPOCH;
        manager.stopped(GPU, died);
        assert_eq!(counts(&mut manager, died), (Some(2), Some(0), 0));
        assert_eq!(counts(&mut manager, died + STOP_GRACE), (Some(2), Some(0), 0));
        assert_eq!(counts(&mut manager, died + STOP_GRACE + Duration::from_secs(1)), (None, None, 1));
        assert_eq!(counts(&mut manager, died + STOP_GRACE * 2), (None, None, 0));
        manager.register(GPU, PluginOptions::default());
        manager.list(GPU, &devices(&[("a", true)]));
        assert_eq!(counts(&mut manager, died + STOP_GRACE * 3), (Some(1), Some(1), 0));
    }
}
