//! The device plugin service: what the kubelet asks, answered from the shared inventory.

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::stream::BoxStream;
use gpulab_device::Inventory;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use crate::inventory::SharedInventory;
use crate::v1beta1 as api;
use crate::v1beta1::device_plugin_server::DevicePlugin;

/// The environment variable that names a container's devices. It is that of the common GPU runtimes, so that programs
/// which read it behave in the lab as they would with hardware.
pub const VISIBLE_DEVICES: &str = "NVIDIA_VISIBLE_DEVICES";

/// Serves whole devices.
#[derive(Debug)]
pub struct DevicePluginService {
    inventory: SharedInventory,
    stop: CancellationToken,
}

impl DevicePluginService {
    /// Serves `inventory` until `stop`, which ends every open ListAndWatch.
    pub fn new(inventory: SharedInventory, stop: CancellationToken) -> DevicePluginService {
        DevicePluginService { inventory, stop }
    }
}

/// The inventory as one ListAndWatch message.
fn advertised(inventory: &Inventory) -> api::ListAndWatchResponse {
    let device = |device: &gpulab_device::Device| api::Device {
        id: device.id.clone(),
        health: device.health.as_str().to_owned(),
        topology: None,
    };
    api::ListAndWatchResponse { devices: inventory.devices().iter().map(device).collect() }
}

/// What one container gets: the ids it was given, in the kubelet's order.
fn allocate(
    inventory: &Inventory,
    request: &api::ContainerAllocateRequest,
) -> Result<api::ContainerAllocateResponse, Status> {
    if let Some(id) = request.device_ids.iter().find(|id| inventory.device(id).is_none()) {
        return Err(Status::invalid_argument(format!("no device is called {id}")));
    }
    let envs = BTreeMap::from([(VISIBLE_DEVICES.to_owned(), request.device_ids.join(","))]);
    Ok(api::ContainerAllocateResponse { envs, ..Default::default() })
}

#[tonic::async_trait]
impl DevicePlugin for DevicePluginService {
    async fn get_device_plugin_options(
        &self,
        _request: Request<api::Empty>,
    ) -> Result<Response<api::DevicePluginOptions>, Status> {
        Ok(Response::new(api::DevicePluginOptions::default()))
    }

    type ListAndWatchStream = BoxStream<'static, Result<api::ListAndWatchResponse, Status>>;

    async fn list_and_watch(
        &self,
        _request: Request<api::Empty>,
    ) -> Result<Response<Self::ListAndWatchStream>, Status> {
        let inventories = UnboundedReceiverStream::new(self.inventory.subscribe());
        let messages = inventories.map(|inventory| Ok(advertised(&inventory)));
        Ok(Response::new(messages.take_until(self.stop.clone().cancelled_owned()).boxed()))
    }

    async fn get_preferred_allocation(
        &self,
        _request: Request<api::PreferredAllocationRequest>,
    ) -> Result<Response<api::PreferredAllocationResponse>, Status> {
        Err(Status::unimplemented("the options offer no preferred allocation"))
    }

    async fn allocate(
        &self,
        request: Request<api::AllocateRequest>,
    ) -> Result<Response<api::AllocateResponse>, Status> {
        let inventory = self.inventory.snapshot();
        let requests = &request.get_ref().container_requests;
        let container_responses =
            requests.iter().map(|request| allocate(&inventory, request)).collect::<Result<_, _>>()?;
        Ok(Response::new(api::AllocateResponse { container_responses }))
    }

    async fn pre_start_container(
        &self,
        _request: Request<api::PreStartContainerRequest>,
    ) -> Result<Response<api::PreStartContainerResponse>, Status> {
        Err(Status::unimplemented("the options ask for no PreStartContainer"))
    }
}
