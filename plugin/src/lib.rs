//! The lab's kubelet device plugin: it advertises simulated devices over the device plugin protocol (v1beta1), tells a
//! container which ones it got, and changes their health over a small HTTP API on loopback.
//!
//! One [`SharedInventory`] stands behind both servers, so that a health change made over HTTP is what the kubelet hears
//! next. The plugin works against a real kubelet and against the lab's own.

pub mod control;
pub mod grpc;
pub mod inventory;
pub mod plugin;

#[expect(missing_docs, clippy::allow_attributes_without_reason, reason = "generated from proto/deviceplugin.proto")]
pub mod v1beta1;

pub use inventory::SharedInventory;
pub use plugin::{Options, Plugin, PluginError};

/// The protocol version that the plugin speaks and registers with.
pub const VERSION: &str = "v1beta1";

/// The resource of the lab's devices.
pub const RESOURCE: &str = "simulator.accelerator-fleet.io/gpu";

/// Where kubelets look for device plugins.
pub const PLUGIN_DIRECTORY: &str = "/var/lib/kubelet/device-plugins";

/// The kubelet's own socket in that directory.
pub const KUBELET_SOCKET: &str = "kubelet.sock";
