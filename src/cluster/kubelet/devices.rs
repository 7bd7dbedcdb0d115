//! Between the device manager and the rest of the kubelet: what plugins say, what containers get, what a restart keeps.
//!
//! Source: `pkg/kubelet/cm/devicemanager`, `pkg/kubelet/cm/topologymanager/scope*.go`.

use imbl::OrdSet;

use super::admission::{self, Rejection};
use super::device_manager::{Checkpoint, DeviceManager, Holder, Need};
use super::topology::{Hint, NumaSet};
use super::{Kubelet, Node, event, node, pod, status};
use crate::api::quantity::Quantity;
use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::component::{Context, Work};
use crate::config::{LabNode, TopologyPolicy};
use crate::plugins::{NodeMessage, PluginDevice, PluginOptions};
use crate::time::Urgency;
use crate::value::{Text, Value};

/// The manager of a node whose plugin, if it has one, registered long ago.
pub(super) fn manager(config: &LabNode) -> DeviceManager {
    let mut manager = DeviceManager::default();
    if let Some(devices) = &config.devices {
        let numa_nodes = i64::from(config.topology.numa_nodes);
        let device = |number: u32| PluginDevice {
            id: Text::from(format!("{}{number}", devices.prefix)),
            healthy: true,
            numa: if numa_nodes > 1 { vec![i64::from(number) * numa_nodes / i64::from(devices.count)] } else { vec![] },
        };
        manager.register(&devices.resource, PluginOptions::default());
        manager.list(&devices.resource, &(0..devices.count).map(device).collect::<Vec<_>>());
    }
    manager
}

/// What one container asks of device plugins, as far as the names say: extended resources and their numbers.
fn wishes(container: &Value) -> Vec<(Text, usize)> {
    let limits = container.at(&["resources", "limits"]).entries().iter();
    let extended = limits.filter(|(resource, _)| resource.contains('/'));
    let counted = extended.map(|(resource, amount)| {
        (
            resource.clone(),
            Quantity::parse(amount.str()).map_or(0, |amount| usize::try_from(amount.value()).unwrap_or(0)),
        )
    });
    counted.filter(|(_, count)| *count > 0).collect()
}

/// Gives every container of the pod its devices, init containers first.
pub(super) fn allocate(state: &mut Node, name: &str, pod: &Value, cx: &mut Context<'_>) -> Result<(), Rejection> {
    let spec = pod.at(&["spec"]);
    let (inits, apps) = (spec.at(&["initContainers"]).items(), spec.at(&["containers"]).items());
    let aligns = state.topology.policy != TopologyPolicy::None;
    let whole = (aligns && state.topology.pod_scope).then(|| totals(inits, apps));
    let mut hint = match &whole {
        Some(wishes) => align(state, pod, "", wishes)?,
        None => None,
    };
    for (position, container) in inits.iter().chain(apps).enumerate() {
        let wishes = wishes(container);
        let container_name = container.at(&["name"]).str();
        if aligns && whole.is_none() {
            hint = align(state, pod, container_name, &wishes)?;
        }
        // A sidecar keeps its devices; a finished init container leaves them to the containers after it.
        let passes_on = position < inits.len() && container.at(&["restartPolicy"]).str() != "Always";
        for (resource, count) in wishes {
            let holder = Holder { pod: pod.uid().into(), container: container_name.into(), resource };
            give(state, name, &holder, count, hint.map(NumaSet::nodes), passes_on, cx).map_err(|why| Rejection {
                reason: "UnexpectedAdmissionError".to_owned(),
                message: format!("Allocate failed due to {why}, which is unexpected"),
            })?;
        }
    }
    Ok(())
}

fn give(
    state: &mut Node,
    name: &str,
    holder: &Holder,
    count: usize,
    hint: Option<Vec<i64>>,
    passes_on: bool,
    cx: &mut Context<'_>,
) -> Result<(), String> {
    let Node { manager, runs, .. } = state;
    let is_active = |uid: &str| uid == &*holder.pod || runs.values().any(|run| run.uid == uid && run.is_active());
    let need = manager.need(holder, count, hint.as_deref(), is_active).map_err(|refusal| refusal.to_string())?;
    let Need::Choose(candidates) = need else { return Ok(()) };
    let resource = &holder.resource;
    let preferred = if manager.options(resource).preferred_allocation {
        let reused: Vec<Text> = candidates.reused.iter().cloned().collect();
        // A plugin that fails to advise is only not listened to.
        cx.plugins.prefer(name, resource, &candidates.available(), &reused, count).unwrap_or_default()
    } else {
        Vec::new()
    };
    let ids = candidates.choose(&preferred, cx.server.seed());
    manager.reserve(holder, &ids);
    match cx.plugins.allocate(name, resource, &ids) {
        Ok(response) => {
            manager.grant(holder, &ids, response, passes_on);
            Ok(())
        }
        Err(why) => {
            manager.release(holder, &ids);
            Err(why)
        }
    }
}

/// The NUMA nodes for these wishes, none for no preference.
fn align(state: &Node, pod: &Value, container: &str, wishes: &[(Text, usize)]) -> Result<Option<NumaSet>, Rejection> {
    let numa_nodes = state.topology.numa_nodes.max(1) as usize;
    let hints = |(resource, count): &(Text, usize)| -> Option<Vec<Hint>> {
        let holds = |(holder, _): &(&Holder, _)| holder.container == container && holder.resource == *resource;
        let held = state.manager.held_by(pod.uid()).find(holds).map(|(_, held)| &held.ids);
        state.manager.hints(resource, *count, numa_nodes, held, &OrdSet::new())
    };
    let (hint, admitted) = state.topology.policy.merge(numa_nodes, &wishes.iter().map(hints).collect::<Vec<_>>());
    if admitted {
        return Ok(hint.affinity);
    }
    Err(Rejection {
        reason: "TopologyAffinityError".to_owned(),
        message: "Resources cannot be allocated with Topology locality".to_owned(),
    })
}

/// What a whole pod needs at once: the sum of its containers, or its largest init container.
fn totals(inits: &[Value], apps: &[Value]) -> Vec<(Text, usize)> {
    let mut sums: std::collections::BTreeMap<Text, usize> = std::collections::BTreeMap::new();
    for (resource, count) in apps.iter().flat_map(wishes) {
        *sums.entry(resource).or_default() += count;
    }
    for (resource, count) in inits.iter().flat_map(wishes) {
        let sum = sums.entry(resource).or_default();
        *sum = (*sum).max(count);
    }
    sums.into_iter().collect()
}

impl Kubelet {
    /// Acts on what reached a node from outside the API.
    pub(super) fn hear(&mut self, name: &str, message: &NodeMessage, cx: &mut Context<'_>) -> Result<(), String> {
        let Some(state) = self.nodes.get_mut(name) else { return Err(format!("node '{name}' has no kubelet")) };
        match message {
            NodeMessage::Registered { resource, options } => state.manager.register(resource, *options),
            NodeMessage::Listed { resource, devices } => {
                let changed = state.manager.list(resource, devices);
                self.show_health(name, &changed, cx);
            }
            NodeMessage::Stopped { resource } => state.manager.stopped(resource, cx.now),
            NodeMessage::Down => state.stopped = true,
            NodeMessage::Up => (state.stopped, state.resuming) = (false, true),
            NodeMessage::KubeletRestart => self.restart(name, cx),
        }
        self.publish(name, cx);
        Ok(())
    }

    /// A change of devices shows in the node's status at the next look, not before.
    fn publish(&mut self, name: &str, cx: &mut Context<'_>) {
        let key = ObjectKey::new(Kind::NODE, "", name);
        let Some(object) = cx.get(&key).cloned() else { return };
        let Some(state) = self.nodes.get_mut(name).filter(|state| !state.stopped && !state.copying) else { return };
        if state.resuming || node::needs_sync(state, &object, cx.now) {
            state.copying = true;
            let at = state.next_status;
            cx.plan().at(at, Urgency::Work, Work::on("status", key));
        }
    }

    /// Writes the status of pods that hold a device whose health changed.
    fn show_health(&mut self, name: &str, holders: &[Holder], cx: &mut Context<'_>) {
        let Some(state) = self.nodes.get(name) else { return };
        let holds = |run: &pod::Run| holders.iter().any(|holder| holder.pod == run.uid);
        let keys: Vec<ObjectKey> =
            state.runs.iter().filter(|(_, run)| holds(run)).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.rewrite(name, &key, cx);
        }
    }

    /// The kubelet process starts anew. Containers go on; pods are admitted again, oldest first, those that run keep the
    /// devices that the checkpoint knows.
    fn restart(&mut self, name: &str, cx: &mut Context<'_>) {
        let key = ObjectKey::new(Kind::NODE, "", name);
        let (Some(object), Some(state)) = (cx.get(&key).cloned(), self.nodes.get_mut(name)) else { return };
        let checkpoint = Checkpoint::of(&state.manager);
        state.manager = checkpoint.restore(cx.now);
        if checkpoint.is_empty() {
            // Extended resources of a machine that never had a plugin are not believed any more.
            let capacity = object.at(&["status", "capacity"]).entries().iter();
            state.removed = capacity.filter(|(name, _)| name.contains('/')).map(|(name, _)| name.clone()).collect();
        }
        node::started(&object, cx);
        let mut runs: Vec<(ObjectKey, Text)> = Vec::new();
        for (key, run) in state.runs.iter().filter(|(_, run)| run.is_active()) {
            let created = cx.get(key).map(|pod| pod.at(&["metadata", "creationTimestamp"]).text()).unwrap_or_default();
            runs.push((key.clone(), Text::from(format!("{created} {}", run.uid))));
        }
        runs.sort_by(|one, two| one.1.cmp(&two.1));
        let before = std::mem::take(&mut state.runs);
        for (key, _) in runs {
            let (Some(run), Some(pod)) = (before.get(&key).cloned(), cx.get(&key).cloned()) else { continue };
            let Some(state) = self.nodes.get_mut(name) else { return };
            let admitted = if run.is_running() {
                admission::check(state, &object, &pod)
            } else {
                admission::admit(state, &object, &pod, cx)
            };
            match admitted {
                Ok(()) => {
                    state.runs.insert(key, run);
                }
                Err(rejection) => {
                    event(cx, name, &pod, "", true, &rejection.reason, &rejection.message);
                    let status = status::rejected(&pod, &rejection, cx.now);
                    let _ = cx.update(&key, Part::Status, |pod| pod.set(&["status"], status));
                }
            }
        }
    }
}
