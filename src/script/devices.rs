//! Devices, and what breaks them: `devices`, `device`, `fail`, `recover`, `plugin`, `kubelet`, and nodes going down.

use std::collections::BTreeMap;
use std::rc::Rc;

use rhai::{Array, Dynamic};
use serde_json::{Value, json};

use super::cleanup::Broken;
use super::convert::{items, text};
use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::kinds::KindRef;
use super::lab::Lab;
use super::node::{find, is_over};
use super::object::NodeHandle;
use super::options::kind_of;
use super::suggest::did_you_mean;

/// A device, by node and id.
#[derive(Clone)]
pub struct DeviceHandle {
    lab: Rc<Lab>,
    node: String,
    id: String,
}

/// The device plugin of a node.
#[derive(Clone)]
pub struct PluginHandle {
    lab: Rc<Lab>,
    node: String,
}

/// The kubelet of a node.
#[derive(Clone)]
pub struct KubeletHandle {
    lab: Rc<Lab>,
    node: String,
}

/// One device as the health API lists it.
struct Listed {
    node: String,
    id: String,
    health: String,
}

impl Listed {
    /// The bare id where it is unique, else `node/id`.
    fn name(&self, all: &[Listed]) -> String {
        let twins = all.iter().filter(|other| other.id == self.id).count();
        if twins > 1 { format!("{}/{}", self.node, self.id) } else { self.id.clone() }
    }
}

/// Registers the verbs.
pub fn register(registrar: &mut Registrar<'_>) {
    lists(registrar);
    health(registrar);
    plugins(registrar);
    power(registrar);
}

impl Lab {
    /// Speaks to the health API of a node's plugin.
    fn health_api(
        &self,
        method: reqwest::Method,
        node: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, Fault> {
        let address = self.backend.machines().health_api(node).map_err(Fault::script)?;
        self.http(method, &format!("{address}{path}"), body)
    }

    fn devices(&self) -> Result<Vec<Listed>, Fault> {
        let mut all = Vec::new();
        for node in self.backend.machines().plugin_nodes() {
            let list = self.health_api(reqwest::Method::GET, &node, "/devices", None)?;
            let listed = items(&list, &["devices"]).iter().map(|device| Listed {
                node: node.clone(),
                id: text(device, &["id"]).to_owned(),
                health: text(device, &["health"]).to_owned(),
            });
            all.extend(listed);
        }
        Ok(all)
    }

    fn device(&self, name: &Dynamic, function: &str) -> Result<Listed, Fault> {
        if let Some(handle) = name.clone().try_cast::<DeviceHandle>() {
            let mut all = self.devices()?.into_iter();
            let found = all.find(|device| device.node == handle.node && device.id == handle.id);
            return found.ok_or_else(|| Fault::script(format!("device \"{}\" is gone", handle.id)));
        }
        let Ok(name) = name.clone().into_string() else {
            return Err(Fault::script(format!("{function} takes a device (its id); got {}", kind_of(name))));
        };
        let all = self.devices()?;
        let called = |device: &&Listed| device.id == name || format!("{}/{}", device.node, device.id) == name;
        let names: Vec<String> = all.iter().map(|device| device.name(&all)).collect();
        let meant: Vec<&Listed> = all.iter().filter(called).collect();
        match meant.as_slice() {
            [one] => Ok(Listed { node: one.node.clone(), id: one.id.clone(), health: one.health.clone() }),
            [] => {
                let near = did_you_mean(&name, names.iter().map(String::as_str));
                let there = if names.is_empty() {
                    "no node has a device plugin".to_owned()
                } else {
                    format!("there are: {}", names.join(", "))
                };
                Err(Fault::script(format!("no device \"{name}\"{near}")).hint(there))
            }
            several => {
                let choice: Vec<String> = several.iter().map(|device| device.name(&all)).collect();
                Err(Fault::script(format!("several devices are called \"{name}\""))
                    .hint(format!("say which: {}", choice.join(", "))))
            }
        }
    }

    /// Sets the health of a device and waits until its kubelet has heard of it.
    fn set_health(&self, name: &Dynamic, function: &str, healthy: bool) -> Result<String, Fault> {
        let device = self.device(name, function)?;
        let word = if healthy { "Healthy" } else { "Unhealthy" };
        let Listed { node, id, health } = &device;
        let before = Broken::Health { node: node.clone(), id: id.clone(), healthy: health == "Healthy" };
        self.journal.borrow_mut().touch_machine(before);
        self.put_health(node, id, word)?;
        let already = if device.health == word { " already" } else { "" };
        Ok(format!("device/{} is{already} {word}", device.id))
    }

    /// Tells the plugin, and waits until the kubelet has heard of it.
    fn put_health(&self, node: &str, id: &str, word: &str) -> Result<(), Fault> {
        let path = format!("/devices/{id}/health");
        self.health_api(reqwest::Method::PUT, node, &path, Some(&json!({"health": word})))?;
        self.backend.machines().await_health(node, id, word == "Healthy").map_err(Fault::script)
    }

    /// Puts back what happened to a node outside the API.
    ///
    /// # Errors
    /// When it cannot be put back.
    pub fn mend(&self, before: &Broken) -> Result<(), Fault> {
        let machines = self.backend.machines();
        match before {
            Broken::Health { node, id, healthy } => {
                self.put_health(node, id, if *healthy { "Healthy" } else { "Unhealthy" })
            }
            // The script may have started it again itself.
            Broken::Plugin(node) => {
                let _ = machines.run_plugin(node, true);
                Ok(())
            }
            Broken::Power(node) => machines.power(node, true).map_err(Fault::script),
        }
    }

    /// Which pod holds which device of a node, from the pods' own status.
    fn holders(&self, node: &str) -> Result<BTreeMap<String, String>, Fault> {
        let Some(pods) = KindRef::built_in("Pod") else { return Ok(BTreeMap::new()) };
        let mut holders = BTreeMap::new();
        for pod in self.list(&pods, "", "", &format!("spec.nodeName={node}"))?.iter().filter(|pod| !is_over(pod)) {
            let containers = ["initContainerStatuses", "containerStatuses"].map(|part| items(pod, &["status", part]));
            let resources =
                containers.into_iter().flatten().flat_map(|status| items(status, &["allocatedResourcesStatus"]));
            for device in resources.flat_map(|resource| items(resource, &["resources"])) {
                let id = text(device, &["resourceID"]).to_owned();
                holders.entry(id).or_insert_with(|| text(pod, &["metadata", "name"]).to_owned());
            }
        }
        Ok(holders)
    }

    /// The node that `plugin()` and `kubelet()` mean without a name.
    fn only_node(&self, function: &str) -> Result<String, Fault> {
        let nodes = self.backend.machines().plugin_nodes();
        match nodes.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(Fault::script("no node has a device plugin").hint("lab(#{}) makes a node that has one")),
            several => Err(Fault::script(format!("{function}() needs a node: several have a device plugin"))
                .hint(several.join(", "))),
        }
    }
}

fn lists(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "devices() -> array",
        "Lists the devices of all device plugins, as maps of id, node, health and holder (the pod that has it, or ()).\nExample: for device in devices() { print(device.id + \" \" + device.health); }\nSee: device, fail",
        {
            let lab = lab.clone();
            move || -> Res<Array> {
                let all = lab.devices()?;
                let mut holders = BTreeMap::new();
                for node in lab.backend.machines().plugin_nodes() {
                    holders.insert(node.clone(), lab.holders(&node)?);
                }
                let mut rows = Array::new();
                for device in &all {
                    let holder = holders.get(&device.node).and_then(|held| held.get(&device.id)).cloned();
                    let name = format!("device/{}", device.name(&all));
                    lab.note(&name, "health", || device.health.clone().into());
                    lab.note(&name, "holder", || json!(holder));
                    let mut row = rhai::Map::new();
                    row.insert("id".into(), device.name(&all).into());
                    row.insert("node".into(), device.node.clone().into());
                    row.insert("health".into(), device.health.clone().into());
                    row.insert("holder".into(), holder.map_or(Dynamic::UNIT, Dynamic::from));
                    rows.push(row.into());
                }
                Ok(rows)
            }
        },
    );
    registrar.function(
        "device(id: string) -> Device",
        "Finds a device by its id, or by node/id where several nodes have one of that id.\nFails: when there is none or the id is ambiguous.\nExample: print(device(\"sim-gpu-0\").health());\nSee: devices, fail",
        move |id: Dynamic| -> Res<DeviceHandle> {
            let found = lab.device(&id, "device")?;
            Ok(DeviceHandle { lab: lab.clone(), node: found.node, id: found.id })
        },
    );
    registrar.engine.register_type_with_name::<DeviceHandle>("Device");
    registrar.engine.register_fn("to_string", |device: &mut DeviceHandle| format!("device/{}", device.id));
    registrar.function(
        "Device.health() -> string",
        "Healthy or Unhealthy, as the device plugin has it.\nExample: print(device(\"sim-gpu-0\").health());",
        |device: &mut DeviceHandle| -> Res<String> {
            let name = Dynamic::from(device.clone());
            let health = device.lab.device(&name, "device")?.health;
            device.lab.note(&format!("device/{}", device.id), "health", || health.clone().into());
            Ok(health)
        },
    );
    registrar.function(
        "Device.holder() -> string",
        "Name of the pod that holds the device, or () when nobody does.\nExample: print(device(\"sim-gpu-0\").holder());",
        |device: &mut DeviceHandle| -> Res<Dynamic> {
            let holder = device.lab.holders(&device.node)?.remove(&device.id);
            device.lab.note(&format!("device/{}", device.id), "holder", || json!(holder));
            Ok(holder.map_or(Dynamic::UNIT, Dynamic::from))
        },
    );
    registrar.function(
        "Device.node() -> string",
        "Name of the node that has the device.\nExample: print(device(\"sim-gpu-0\").node());",
        |device: &mut DeviceHandle| -> String { device.node.clone() },
    );
}

fn health(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "fail(device: string or Device) -> string",
        "Makes a device sick, through the health API of its plugin. The pod that holds it goes on; the node's allocatable falls with the kubelet's next look.\nFails: when there is no such device.\nExample: fail(\"sim-gpu-0\");\n  settle();\n  print(node(\"kind\").gpus());\nSee: recover, devices",
        {
            let lab = lab.clone();
            move |device: Dynamic| -> Res<String> { Ok(lab.set_health(&device, "fail", false)?) }
        },
    );
    registrar.function(
        "recover(device: string or Device) -> string",
        "Makes a sick device healthy again.\nFails: when there is no such device.\nExample: fail(\"sim-gpu-0\");\n  recover(\"sim-gpu-0\");\nSee: fail",
        move |device: Dynamic| -> Res<String> { Ok(lab.set_health(&device, "recover", true)?) },
    );
}

fn plugins(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "plugin() -> Plugin",
        "The device plugin of the lab's only node that has one.\nExample: plugin().stop();\n  settle();\n  print(node(\"kind\").gpus());\nSee: kubelet",
        {
            let lab = lab.clone();
            move || -> Res<PluginHandle> { Ok(PluginHandle { lab: lab.clone(), node: lab.only_node("plugin")? }) }
        },
    );
    registrar.function("plugin(node: string or Node) -> Plugin", "", {
        let lab = lab.clone();
        move |node: Dynamic| -> Res<PluginHandle> {
            Ok(PluginHandle { lab: lab.clone(), node: find(&lab, "Node", "plugin", &node)?.name })
        }
    });
    registrar.engine.register_type_with_name::<PluginHandle>("Plugin");
    registrar.engine.register_fn("to_string", |plugin: &mut PluginHandle| format!("plugin/{}", plugin.node));
    registrar.function(
        "Plugin.stop() -> ()",
        "Kills the device plugin. Pods keep their devices; the node's allocatable falls to 0 with the kubelet's next look, capacity after five minutes.\nFails: when it is stopped already.\nExample: plugin().stop();\nSee: plugin",
        |plugin: &mut PluginHandle| -> Res<()> {
            plugin.lab.journal.borrow_mut().touch_machine(Broken::Plugin(plugin.node.clone()));
            Ok(plugin.lab.backend.machines().run_plugin(&plugin.node, false).map_err(Fault::script)?)
        },
    );
    registrar.function(
        "Plugin.start() -> ()",
        "Starts the device plugin again; it registers with the kubelet.\nFails: when it runs already.\nExample: plugin().stop();\n  plugin().start();\nSee: plugin",
        |plugin: &mut PluginHandle| -> Res<()> {
            Ok(plugin.lab.backend.machines().run_plugin(&plugin.node, true).map_err(Fault::script)?)
        },
    );
}

fn power(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    registrar.function(
        "kubelet(node: string or Node) -> Kubelet",
        "The kubelet of a node.\nExample: kubelet(\"kind\").restart();\nSee: plugin",
        move |node: Dynamic| -> Res<KubeletHandle> {
            Ok(KubeletHandle { lab: lab.clone(), node: find(&lab, "Node", "kubelet", &node)?.name })
        },
    );
    registrar.engine.register_type_with_name::<KubeletHandle>("Kubelet");
    registrar.engine.register_fn("to_string", |kubelet: &mut KubeletHandle| format!("kubelet/{}", kubelet.node));
    registrar.function(
        "Kubelet.restart() -> ()",
        "Restarts the kubelet. Running containers go on; device plugins have to register again.\nFails: when the node has no kubelet.\nExample: kubelet(\"kind\").restart();\n  settle();",
        |kubelet: &mut KubeletHandle| -> Res<()> {
            Ok(kubelet.lab.backend.machines().restart_kubelet(&kubelet.node).map_err(Fault::script)?)
        },
    );
    registrar.function(
        "Node.down() -> ()",
        "Cuts the node off: its kubelet is not heard of any more. It counts as NotReady 50 seconds later.\nFails: when the node has no kubelet.\nExample: node(\"kind\").down();\n  advance(\"1m\");\n  node(\"kind\").up();\nSee: Node.up",
        |node: &mut NodeHandle| -> Res<()> {
            node.0.lab.journal.borrow_mut().touch_machine(Broken::Power(node.0.name.clone()));
            Ok(node.0.lab.backend.machines().power(&node.0.name, false).map_err(Fault::script)?)
        },
    );
    registrar.function(
        "Node.up() -> ()",
        "Lets a node come back that was down.\nExample: node(\"kind\").down();\n  node(\"kind\").up();\nSee: Node.down",
        |node: &mut NodeHandle| -> Res<()> {
            Ok(node.0.lab.backend.machines().power(&node.0.name, true).map_err(Fault::script)?)
        },
    );
}
