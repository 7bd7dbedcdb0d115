//! What survives a restart of the kubelet (`kubelet_internal_checkpoint`).

use imbl::{OrdMap, OrdSet};

use super::{DeviceManager, Endpoint, Held, Holder};
use crate::plugins::PluginOptions;
use crate::time::VirtualTime;
use crate::value::Text;

/// Allocations and the names of registered resources. The health of devices is not part of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    holders: OrdMap<Holder, Held>,
    /// Healthy ids at the time of writing, by resource.
    registered: OrdMap<Text, OrdSet<Text>>,
}

impl Checkpoint {
    /// The checkpoint that the manager keeps on disk.
    pub fn of(manager: &DeviceManager) -> Checkpoint {
        Checkpoint { holders: manager.holders.clone(), registered: manager.healthy.clone() }
    }

    /// The manager after a restart at `now`: allocations are there, every resource starts empty with a stopped plugin.
    pub fn restore(&self, now: VirtualTime) -> DeviceManager {
        let mut manager = DeviceManager { holders: self.holders.clone(), ..DeviceManager::default() };
        for resource in self.registered.keys() {
            manager
                .endpoints
                .insert(resource.clone(), Endpoint { options: PluginOptions::default(), stopped: Some(now) });
            manager.healthy.insert(resource.clone(), OrdSet::new());
            manager.unhealthy.insert(resource.clone(), OrdSet::new());
        }
        manager.allocated = manager.taken();
        manager
    }

    /// Whether there is nothing in it: then the kubelet zeroes extended resources of its Node when it starts.
    pub fn is_empty(&self) -> bool {
        self.holders.is_empty() && self.registered.is_empty()
    }
}
