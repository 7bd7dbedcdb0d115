//! What kubelets and device plugins say to each other (device plugin API `v1beta1`), as plain values.
//!
//! A kubelet asks while it acts and gets its answer at once: virtual time stands still meanwhile. Whoever moves the world
//! decides who answers: a real plugin over gRPC, or [`Library`].

use std::fmt;

use crate::object;
use crate::value::{Text, Value};

/// A device as a plugin's message lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginDevice {
    /// The id.
    pub id: Text,
    /// Whether the health word is exactly `Healthy`.
    pub healthy: bool,
    /// NUMA nodes it is close to; empty when the plugin does not say.
    pub numa: Vec<i64>,
}

/// `DevicePluginOptions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginOptions {
    /// `PreStartContainer` is called before a container starts.
    pub pre_start_required: bool,
    /// `GetPreferredAllocation` is offered.
    pub preferred_allocation: bool,
}

/// What reaches a node's kubelet from outside the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeMessage {
    /// A plugin registered a resource.
    Registered {
        /// Extended resource name.
        resource: Text,
        /// What it offers.
        options: PluginOptions,
    },
    /// A `ListAndWatch` message: the full list.
    Listed {
        /// Extended resource name.
        resource: Text,
        /// All devices.
        devices: Vec<PluginDevice>,
    },
    /// The plugin's stream ended.
    Stopped {
        /// Extended resource name.
        resource: Text,
    },
    /// The kubelet restarts; pods go on, plugins have to register again.
    KubeletRestart,
    /// The node loses power or network: nothing is heard of it.
    Down,
    /// The node comes back.
    Up,
}

/// The plugins of all nodes, as kubelets call them.
pub trait Plugins: fmt::Debug {
    /// `Allocate` for one container. The answer is the `ContainerAllocateResponse` as JSON (`envs`, `mounts`, `devices`,
    /// `annotations`, `cdi_devices`).
    ///
    /// # Errors
    /// The plugin's words.
    fn allocate(&mut self, node: &str, resource: &str, ids: &[Text]) -> Result<Value, String>;

    /// `GetPreferredAllocation`: which `size` of `available`, among them all of `must_include`.
    ///
    /// # Errors
    /// The plugin's words.
    fn prefer(
        &mut self,
        node: &str,
        resource: &str,
        available: &[Text],
        must_include: &[Text],
        size: usize,
    ) -> Result<Vec<Text>, String>;

    /// `PreStartContainer`.
    ///
    /// # Errors
    /// The plugin's words.
    fn pre_start(&mut self, node: &str, resource: &str, ids: &[Text]) -> Result<(), String>;
}

/// Answers as the bundled plugin does in its default mode (whole devices).
#[derive(Clone, Copy, Debug, Default)]
pub struct Library;

impl Plugins for Library {
    fn allocate(&mut self, _node: &str, _resource: &str, ids: &[Text]) -> Result<Value, String> {
        let visible: Vec<&str> = ids.iter().map(Text::as_str).collect();
        Ok(object! { "envs" => object! { "NVIDIA_VISIBLE_DEVICES" => visible.join(",") } })
    }

    fn prefer(
        &mut self,
        _node: &str,
        _resource: &str,
        available: &[Text],
        must_include: &[Text],
        size: usize,
    ) -> Result<Vec<Text>, String> {
        let others = available.iter().filter(|id| !must_include.contains(id));
        Ok(must_include.iter().chain(others).take(size).cloned().collect())
    }

    fn pre_start(&mut self, _node: &str, _resource: &str, _ids: &[Text]) -> Result<(), String> {
        Ok(())
    }
}
