//! The plugin beside a kubelet, over real Unix sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod common;

use std::path::Path;
use std::time::Duration;

use common::{Heard, Kubelet, dial};
use gpulab_device::{Health, Inventory};
use gpulab_plugin::v1beta1::{AllocateRequest, ContainerAllocateRequest, Empty, PreferredAllocationRequest};
use gpulab_plugin::{Options, Plugin, PluginError, RESOURCE, SharedInventory};
use tokio_util::sync::CancellationToken;

fn options(directory: &Path) -> Options {
    Options {
        directory: directory.to_owned(),
        endpoint: "gpulab.sock".to_owned(),
        resource: RESOURCE.to_owned(),
        look_every: Duration::from_millis(5),
    }
}

fn four() -> SharedInventory {
    SharedInventory::new(Inventory::lab(4))
}

#[tokio::test]
async fn registers_and_lists_its_devices() {
    let directory = tempfile::tempdir().unwrap();
    let mut kubelet = Kubelet::start(directory.path(), None);
    let mut plugin = Plugin::start(options(directory.path()), four()).await.unwrap();
    let (request, options) = kubelet.registration().await;
    assert_eq!((request.version.as_str(), request.endpoint.as_str()), ("v1beta1", "gpulab.sock"));
    assert_eq!(request.resource_name, "simulator.accelerator-fleet.io/gpu");
    assert_eq!(request.options, Some(options));
    assert!(!options.pre_start_required && !options.get_preferred_allocation_available);
    match kubelet.heard.recv().await {
        Some(Heard::Devices(devices)) => {
            let expected = (0..4).map(|index| (format!("sim-gpu-{index}"), "Healthy".to_owned()));
            assert_eq!(devices, expected.collect::<Vec<_>>());
        }
        other => panic!("expected devices, heard {other:?}"),
    }
    plugin.stop().await;
    assert!(matches!(kubelet.heard.recv().await, Some(Heard::Gone)));
    assert!(!directory.path().join("gpulab.sock").exists());
}

#[tokio::test]
async fn every_change_of_health_is_one_message_and_none_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut kubelet = Kubelet::start(directory.path(), None);
    let inventory = four();
    let mut plugin = Plugin::start(options(directory.path()), inventory.clone()).await.unwrap();
    kubelet.registration().await;
    assert_eq!(kubelet.health().await, "HHHH");
    // Back and forth at once: the kubelet hears of each state, and of no other.
    assert_eq!(inventory.set_health("sim-gpu-1", Health::Unhealthy), Ok(true));
    assert_eq!(inventory.set_health("sim-gpu-1", Health::Unhealthy), Ok(false));
    assert_eq!(inventory.set_health("sim-gpu-1", Health::Healthy), Ok(true));
    assert_eq!(inventory.set_health("sim-gpu-3", Health::Unhealthy), Ok(true));
    assert!(inventory.set_health("sim-gpu-4", Health::Unhealthy).is_err());
    for expected in ["HUHH", "HHHH", "HHHU"] {
        assert_eq!(kubelet.health().await, expected);
    }
    plugin.stop().await;
    assert!(matches!(kubelet.heard.recv().await, Some(Heard::Gone)));
}

#[tokio::test]
async fn allocate_names_the_devices_in_the_order_of_the_request() {
    let directory = tempfile::tempdir().unwrap();
    let _kubelet = Kubelet::start(directory.path(), None);
    let mut plugin = Plugin::start(options(directory.path()), four()).await.unwrap();
    let mut client = dial(&directory.path().join("gpulab.sock")).await;
    let container = |ids: &[&str]| ContainerAllocateRequest { device_ids: ids.iter().map(|id| (*id).into()).collect() };
    let request = AllocateRequest {
        container_requests: vec![container(&["sim-gpu-3", "sim-gpu-1", "sim-gpu-2"]), container(&["sim-gpu-0"])],
    };
    let answer = client.allocate(request).await.unwrap().into_inner();
    let visible = |index: usize| answer.container_responses[index].envs["NVIDIA_VISIBLE_DEVICES"].as_str();
    assert_eq!(answer.container_responses.len(), 2);
    assert_eq!((visible(0), visible(1)), ("sim-gpu-3,sim-gpu-1,sim-gpu-2", "sim-gpu-0"));
    let unknown = client.allocate(AllocateRequest { container_requests: vec![container(&["sim-gpu-9"])] }).await;
    assert_eq!(unknown.unwrap_err().message(), "no device is called sim-gpu-9");
    let preferred = client.get_preferred_allocation(PreferredAllocationRequest::default()).await;
    assert_eq!(preferred.unwrap_err().code(), tonic::Code::Unimplemented);
    assert!(client.get_device_plugin_options(Empty {}).await.is_ok());
    plugin.stop().await;
}

#[tokio::test]
async fn registers_again_when_the_kubelet_starts_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut kubelet = Kubelet::start(directory.path(), None);
    let inventory = four();
    let mut plugin = Plugin::start(options(directory.path()), inventory.clone()).await.unwrap();
    kubelet.registration().await;
    assert_eq!(kubelet.health().await, "HHHH");
    let stop = CancellationToken::new();
    let keeping = tokio::spawn({
        let stop = stop.clone();
        async move {
            plugin.keep(&stop).await;
            plugin
        }
    });
    // What changed while no kubelet listened is told with the first message.
    kubelet.end();
    inventory.set_health("sim-gpu-0", Health::Unhealthy).unwrap();
    let mut kubelet = Kubelet::start(directory.path(), None);
    let (request, _) = kubelet.registration().await;
    assert_eq!(request.endpoint, "gpulab.sock");
    assert_eq!(kubelet.health().await, "UHHH");
    stop.cancel();
    keeping.await.unwrap().stop().await;
    assert!(matches!(kubelet.heard.recv().await, Some(Heard::Gone)));
}

#[tokio::test]
async fn says_why_it_cannot_serve_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let error = Plugin::start(options(directory.path()), four()).await.unwrap_err();
    assert!(matches!(error, PluginError::NoKubelet { .. }));
    assert!(error.to_string().ends_with("/kubelet.sock"), "{error}");
    let _kubelet = Kubelet::start(directory.path(), Some("the ResourceName \"x\" is invalid"));
    let error = Plugin::start(options(directory.path()), four()).await.unwrap_err();
    let expected = format!("the kubelet refused {RESOURCE}: the ResourceName \"x\" is invalid");
    assert_eq!(error.to_string(), expected);
    assert!(!directory.path().join("gpulab.sock").exists());
}
