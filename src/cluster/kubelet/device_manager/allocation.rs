//! Which devices a container gets.
//!
//! Source: `devicesToAllocate`, `filterByAffinity` and `allocateContainerResources` of the device manager.

use imbl::OrdSet;
use rand_chacha::rand_core::Rng as _;

use super::{DeviceManager, Held, Holder};
use crate::rng;
use crate::value::{Text, Value};

/// Why a container gets no devices; prints as the kubelet's sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The container asked for another number before.
    #[error("pod \"{pod}\" container \"{container}\" changed request for resource \"{resource}\" from {from} to {to}")]
    Changed {
        /// The pod's uid.
        pod: Text,
        /// The container.
        container: Text,
        /// The resource.
        resource: Text,
        /// What it holds.
        from: usize,
        /// What it wants now.
        to: usize,
    },
    /// No plugin serves the resource any more.
    #[error("cannot allocate unregistered device {0}")]
    Unregistered(Text),
    /// Every device is sick.
    #[error("no healthy devices present; cannot allocate unhealthy devices {0}")]
    NoneHealthy(Text),
    /// A device that the container held before is sick.
    #[error("previously allocated devices are no longer healthy; cannot allocate unhealthy devices {0}")]
    HeldUnhealthy(Text),
    /// Too few devices are free.
    #[error("requested number of devices unavailable for {resource}. Requested: {requested}, Available: {available}")]
    TooFew {
        /// The resource.
        resource: Text,
        /// How many are still needed.
        requested: usize,
        /// How many are free.
        available: usize,
    },
}

/// What has to happen for one resource of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: the manager does not know the resource, or the container has its devices already.
    Nothing,
    /// Devices have to be chosen among these.
    Choose(Candidates),
}

/// The devices a choice is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// For whom.
    pub holder: Holder,
    /// How many in all.
    pub size: usize,
    /// Devices of finished init containers, which are used first.
    pub reused: OrdSet<Text>,
    /// Free devices on the NUMA nodes of the hint, on other NUMA nodes, and without NUMA information.
    pub aligned: Vec<Text>,
    /// See `aligned`.
    pub unaligned: Vec<Text>,
    /// See `aligned`.
    pub unknown: Vec<Text>,
}

impl Candidates {
    /// Everything that could be taken, for `GetPreferredAllocation`: aligned devices alone when they are enough.
    pub fn available(&self) -> Vec<Text> {
        let enough = self.aligned.len() > self.size - self.reused.len();
        let others = self.unaligned.iter().chain(&self.unknown).filter(|_| !enough);
        self.reused.iter().chain(&self.aligned).chain(others).cloned().collect()
    }

    /// The choice: reused devices, then preferred ones, then aligned, unaligned and those without NUMA information.
    /// Without a preference the kubelet takes them in the random order of a Go map; here `seed` decides.
    pub fn choose(&self, preferred: &[Text], seed: u64) -> Vec<Text> {
        let purpose = ["devices", &*self.holder.pod, &*self.holder.container, &*self.holder.resource];
        let mut random = rng::stream(seed, &purpose);
        let mut shuffled = |ids: &[Text]| {
            let mut ids = ids.to_vec();
            for last in (1..ids.len()).rev() {
                ids.swap(last, random.next_u32() as usize % (last + 1));
            }
            ids
        };
        let mut chosen: Vec<Text> = self.reused.iter().cloned().collect();
        let aligned = shuffled(&self.aligned);
        let (unaligned, unknown) = (shuffled(&self.unaligned), shuffled(&self.unknown));
        let enough = aligned.len() > self.size - self.reused.len();
        let wanted = |id: &&Text| preferred.contains(id) && (!enough || aligned.contains(id));
        let order: Vec<&Text> = if enough {
            preferred.iter().filter(wanted).chain(&aligned).collect()
        } else {
            aligned.iter().chain(preferred.iter()).chain(&unaligned).chain(&unknown).collect()
        };
        for id in order {
            if chosen.len() < self.size && !chosen.contains(id) && self.offers(id) {
                chosen.push(id.clone());
            }
        }
        chosen
    }

    fn offers(&self, id: &Text) -> bool {
        self.aligned.contains(id) || self.unaligned.contains(id) || self.unknown.contains(id)
    }
}

impl DeviceManager {
    /// What a container that limits `resource` to `count` needs. `is_active` says of a pod uid whether the pod still
    /// counts (not terminal, or containers still running); devices of others are swept first. `numa` is the topology
    /// manager's hint, none for no preference.
    ///
    /// # Errors
    /// The kubelet's refusal.
    pub fn need(
        &mut self,
        holder: &Holder,
        count: usize,
        numa: Option<&[i64]>,
        is_active: impl Fn(&str) -> bool,
    ) -> Result<Need, Refusal> {
        let resource = &holder.resource;
        let registered = self.healthy.contains_key(resource);
        // A resource whose plugin is gone is still known while the table of allocations, swept only after this test,
        // has its key: then the first pod is refused below, and the next one passes without devices.
        if !registered && !self.allocated.contains_key(resource) {
            return Ok(Need::Nothing);
        }
        self.sweep(is_active);
        let held = self.holders.get(holder).map(|held| held.ids.clone());
        if let Some(held) = held.as_ref().filter(|held| held.len() != count) {
            return Err(Refusal::Changed {
                pod: holder.pod.clone(),
                container: holder.container.clone(),
                resource: resource.clone(),
                from: held.len(),
                to: count,
            });
        }
        let Some(healthy) = self.healthy.get(resource) else { return Err(Refusal::Unregistered(resource.clone())) };
        if healthy.is_empty() {
            return Err(Refusal::NoneHealthy(resource.clone()));
        }
        if let Some(held) = held {
            let sick = !held.is_subset(healthy);
            return if sick { Err(Refusal::HeldUnhealthy(resource.clone())) } else { Ok(Need::Nothing) };
        }
        let candidates = self.candidates(holder, count, numa, healthy)?;
        Ok(Need::Choose(candidates))
    }

    fn candidates(
        &self,
        holder: &Holder,
        count: usize,
        numa: Option<&[i64]>,
        healthy: &OrdSet<Text>,
    ) -> Result<Candidates, Refusal> {
        let key = (holder.pod.clone(), holder.resource.clone());
        let reusable = self.reusable.get(&key).cloned().unwrap_or_default();
        let reused: OrdSet<Text> = reusable.into_iter().filter(|id| healthy.contains(id)).take(count).collect();
        let allocated = self.allocated.get(&holder.resource).cloned().unwrap_or_default();
        let free: Vec<&Text> = healthy.iter().filter(|id| !allocated.contains(*id)).collect();
        let needed = count - reused.len();
        if free.len() < needed {
            let resource = holder.resource.clone();
            return Err(Refusal::TooFew { resource, requested: needed, available: free.len() });
        }
        let mut candidates = Candidates {
            holder: holder.clone(),
            size: count,
            reused,
            aligned: Vec::new(),
            unaligned: Vec::new(),
            unknown: Vec::new(),
        };
        let known = self.known.get(&holder.resource);
        for id in free {
            let nodes = known.and_then(|known| known.get(id)).map_or(&[][..], |device| &device.numa);
            let list = match numa {
                Some(hint) if nodes.iter().any(|node| hint.contains(node)) => &mut candidates.aligned,
                Some(_) if !nodes.is_empty() => &mut candidates.unaligned,
                // Without a hint every device is as good as another.
                None => &mut candidates.aligned,
                Some(_) => &mut candidates.unknown,
            };
            list.push(id.clone());
        }
        Ok(candidates)
    }

    /// Marks chosen devices as taken, before the plugin is asked; [`DeviceManager::grant`] or
    /// [`DeviceManager::release`] follows.
    pub fn reserve(&mut self, holder: &Holder, ids: &[Text]) {
        self.allocated.entry(holder.resource.clone()).or_default().extend(ids.iter().cloned());
    }

    /// The plugin answered: the container holds the devices. Those of an init container (that is not a sidecar) may be
    /// used again by later containers of the pod; an app container takes them out of reach.
    pub fn grant(&mut self, holder: &Holder, ids: &[Text], response: Value, is_init: bool) {
        self.reserve(holder, ids);
        let key = (holder.pod.clone(), holder.resource.clone());
        let reusable = self.reusable.entry(key).or_default();
        for id in ids {
            if is_init {
                reusable.insert(id.clone());
            } else {
                reusable.remove(id);
            }
        }
        self.holders.insert(holder.clone(), Held { ids: ids.iter().cloned().collect(), response });
    }

    /// The plugin refused or was gone: the devices are free again.
    pub fn release(&mut self, holder: &Holder, ids: &[Text]) {
        if let Some(allocated) = self.allocated.get_mut(&holder.resource) {
            for id in ids {
                allocated.remove(id);
            }
        }
    }

    /// Drops what pods hold that are no longer active, and counts anew what is taken (`UpdateAllocatedDevices`).
    pub fn sweep(&mut self, is_active: impl Fn(&str) -> bool) {
        let ended: Vec<Holder> = self.holders.keys().filter(|holder| !is_active(&holder.pod)).cloned().collect();
        if ended.is_empty() {
            return;
        }
        for holder in ended {
            self.reusable.remove(&(holder.pod.clone(), holder.resource.clone()));
            self.holders.remove(&holder);
        }
        self.allocated = self.taken();
    }

    pub(super) fn taken(&self) -> imbl::OrdMap<Text, OrdSet<Text>> {
        let mut taken: imbl::OrdMap<Text, OrdSet<Text>> = imbl::OrdMap::new();
        for (holder, held) in &self.holders {
            taken.entry(holder.resource.clone()).or_default().extend(held.ids.iter().cloned());
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::devices;
    use super::super::{Checkpoint, STOP_GRACE};
    use super::*;
    use crate::plugins::{PluginDevice, PluginOptions};
    use crate::time::VirtualTime;
    use std::time::Duration;

    const GPU: &str = "example.com/gpu";

    fn holder(pod: &str, container: &str) -> Holder {
        Holder { pod: pod.into(), container: container.into(), resource: GPU.into() }
    }

    fn manager(count: usize) -> DeviceManager {
        let mut manager = DeviceManager::default();
        manager.register(GPU, PluginOptions::default());
        let ids: Vec<String> = (0..count).map(|index| format!("d{index}")).collect();
        manager.list(GPU, &devices(&ids.iter().map(|id| (id.as_str(), true)).collect::<Vec<_>>()));
        manager
    }

    /// Allocates as the kubelet does and returns the ids.
    fn take(manager: &mut DeviceManager, holder: &Holder, count: usize, is_init: bool) -> Result<Vec<Text>, Refusal> {
        match manager.need(holder, count, None, |_| true)? {
            Need::Nothing => Ok(Vec::new()),
            Need::Choose(candidates) => {
                let ids = candidates.choose(&[], 0);
                manager.grant(holder, &ids, Value::Null, is_init);
                Ok(ids)
            }
        }
    }

    #[test]
    fn no_device_is_given_out_twice_and_too_few_is_refused() {
        let mut manager = manager(4);
        let mut all = take(&mut manager, &holder("one", "c"), 1, false).expect("free");
        all.extend(take(&mut manager, &holder("two", "c"), 1, false).expect("free"));
        let refused = take(&mut manager, &holder("direct", "c"), 3, false).expect_err("two are free");
        let sentence = "requested number of devices unavailable for example.com/gpu. Requested: 3, Available: 2";
        assert_eq!(refused.to_string(), sentence);
        all.extend(take(&mut manager, &holder("three", "c"), 2, false).expect("free"));
        all.sort();
        assert_eq!(all, ["d0", "d1", "d2", "d3"]);
    }

    #[test]
    fn devices_come_free_at_the_next_request_and_not_before() {
        let mut manager = manager(1);
        take(&mut manager, &holder("old", "c"), 1, false).expect("free");
        assert_eq!(manager.holder(GPU, "d0").map(|holder| &*holder.pod), Some("old"));
        let need = manager.need(&holder("new", "c"), 1, None, |pod| pod != "old").expect("swept");
        assert!(matches!(need, Need::Choose(_)));
        assert_eq!(manager.holder(GPU, "d0"), None);
    }

    #[test]
    fn s19_a_sick_device_is_refused_only_on_a_new_admission() {
        let mut manager = manager(2);
        let ids = take(&mut manager, &holder("p", "c"), 1, false).expect("free");
        let list: Vec<PluginDevice> =
            ["d0", "d1"].map(|id| PluginDevice { id: id.into(), healthy: ids[0] != id, numa: vec![] }).to_vec();
        assert_eq!(manager.list(GPU, &list), [holder("p", "c")]);
        assert!(!manager.health_of("p", "c")[GPU][0].1);
        let refused = take(&mut manager, &holder("p", "c"), 1, false).expect_err("sick");
        let sentence =
            "previously allocated devices are no longer healthy; cannot allocate unhealthy devices example.com/gpu";
        assert_eq!(refused.to_string(), sentence);
    }

    #[test]
    fn s20_init_containers_pass_their_devices_on_and_sidecars_do_not() {
        let mut manager = manager(1);
        let first = take(&mut manager, &holder("p", "init"), 1, true).expect("free");
        assert_eq!(take(&mut manager, &holder("p", "app"), 1, false).expect("reused"), first);
        assert!(take(&mut manager, &holder("p", "app2"), 1, false).is_err());
        let mut manager = self::manager(1);
        take(&mut manager, &holder("p", "sidecar"), 1, false).expect("free");
        assert!(take(&mut manager, &holder("p", "app"), 1, false).is_err());
    }

    #[test]
    fn a_vanished_resource_refuses_once_and_is_then_unknown() {
        let mut manager = manager(1);
        take(&mut manager, &holder("old", "c"), 1, false).expect("free");
        manager.stopped(GPU, VirtualTime::EPOCH);
        let refused = manager.need(&holder("p", "c"), 1, None, |_| true).expect_err("all sick");
        let sentence = "no healthy devices present; cannot allocate unhealthy devices example.com/gpu";
        assert_eq!(refused.to_string(), sentence);
        manager.counts(VirtualTime::EPOCH + STOP_GRACE + Duration::from_secs(1));
        let refused = manager.need(&holder("p", "c"), 1, None, |pod| pod != "old").expect_err("first");
        assert_eq!(refused.to_string(), "cannot allocate unregistered device example.com/gpu");
        assert_eq!(manager.need(&holder("q", "c"), 1, None, |_| true), Ok(Need::Nothing));
    }

    #[test]
    fn a_changed_request_is_refused() {
        let mut manager = manager(4);
        take(&mut manager, &holder("u1", "c"), 1, false).expect("free");
        let refused = take(&mut manager, &holder("u1", "c"), 2, false).expect_err("changed");
        let sentence = "pod \"u1\" container \"c\" changed request for resource \"example.com/gpu\" from 1 to 2";
        assert_eq!(refused.to_string(), sentence);
    }

    #[test]
    fn the_hint_and_the_preference_decide_in_this_order() {
        let mut manager = DeviceManager::default();
        manager.register(GPU, PluginOptions::default());
        let on = |id: &str, node| PluginDevice { id: id.into(), healthy: true, numa: vec![node] };
        manager.list(GPU, &[on("a", 0), on("b", 0), on("c", 1), on("d", 1), on("e", 1)]);
        let choose = |manager: &mut DeviceManager, count, hint: &[i64], preferred: &[Text]| match manager.need(
            &holder("p", "c"),
            count,
            Some(hint),
            |_| true,
        ) {
            Ok(Need::Choose(candidates)) => candidates.choose(preferred, 0),
            other => panic!("{other:?}"),
        };
        let mut both = choose(&mut manager, 2, &[1], &["e".into(), "a".into(), "d".into()]);
        both.sort();
        assert_eq!(both, ["d", "e"], "preferred ones among the aligned");
        let three = choose(&mut manager, 3, &[0], &["e".into()]);
        assert!(three.contains(&"a".into()) && three.contains(&"b".into()) && three.contains(&"e".into()), "{three:?}");
    }

    #[test]
    fn a_restart_keeps_allocations_and_forgets_devices() {
        let mut manager = manager(2);
        take(&mut manager, &holder("p", "c"), 1, false).expect("free");
        let checkpoint = Checkpoint::of(&manager);
        let now = VirtualTime::EPOCH;
        let mut restarted = checkpoint.restore(now);
        let counts = restarted.counts(now);
        assert_eq!((counts.capacity.get(GPU), counts.removed.len()), (Some(&0), 0));
        restarted.register(GPU, PluginOptions::default());
        restarted.list(GPU, &devices(&[("d0", true), ("d1", true)]));
        assert_eq!(take(&mut restarted, &holder("p", "c"), 1, false), Ok(vec![]), "still its own");
        assert_eq!(
            take(&mut restarted, &holder("q", "c"), 2, false).map_err(|error| error.to_string()),
            Err("requested number of devices unavailable for example.com/gpu. Requested: 2, Available: 1".to_owned())
        );
    }
}
