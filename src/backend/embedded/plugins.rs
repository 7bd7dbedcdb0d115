//! The device plugins of lab nodes, for real: each serves gRPC on a Unix socket beside a registration socket of its node,
//! and its health API on loopback. They start when somebody first needs them.
//!
//! A world and its kubelets know these plugins from the first moment (see `Config::nodes`): what a plugin says when it
//! starts is what is known already, and changes nothing.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use gpulab_cluster::config::{Config, Devices};
use gpulab_cluster::plugins::{NodeMessage, PluginDevice, PluginOptions, Plugins};
use gpulab_cluster::{Text, Value, object};
use gpulab_device::Inventory;
use gpulab_plugin::control::Control;
use gpulab_plugin::v1beta1::device_plugin_client::DevicePluginClient;
use gpulab_plugin::v1beta1::registration_server::{Registration, RegistrationServer};
use gpulab_plugin::v1beta1::{self as api, Empty, RegisterRequest};
use gpulab_plugin::{KUBELET_SOCKET, Options, Plugin, SharedInventory};
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

/// How long a plugin of this process may take to say something; it takes about a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);
/// File name of the plugin's socket.
const SOCKET: &str = "gpulab.sock";

/// The plugins of all lab nodes.
#[derive(Debug, Default)]
pub struct PluginHost {
    wanted: BTreeMap<String, Devices>,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    runtime: Background,
    /// Holds the sockets; removed with the host.
    #[expect(dead_code, reason = "kept for its end")]
    directory: tempfile::TempDir,
    nodes: BTreeMap<String, NodePlugin>,
}

/// A runtime that ends without waiting, wherever it is dropped.
#[derive(Debug)]
struct Background(Option<Runtime>);

impl Background {
    fn block_on<F: Future>(&self, future: F) -> Result<F::Output, String> {
        let runtime = self.0.as_ref().ok_or_else(|| "the device plugins have ended".to_owned())?;
        Ok(runtime.block_on(future))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// One node's plugin.
#[derive(Debug)]
struct NodePlugin {
    node: String,
    resource: String,
    inventory: SharedInventory,
    control: SocketAddr,
    plugin: Option<Plugin>,
    client: DevicePluginClient<Channel>,
    kubelet: Kubelet,
    heard: Receiver<NodeMessage>,
    /// Health by id, as the kubelet heard it last.
    known: BTreeMap<Text, bool>,
}

impl PluginHost {
    /// The plugins that the world of `config` has.
    pub fn new(config: &Config) -> PluginHost {
        let wanted = config.nodes.iter().filter_map(|node| Some((node.name.clone(), node.devices.clone()?)));
        PluginHost { wanted: wanted.collect(), running: None }
    }

    /// Nodes that have a plugin.
    pub fn nodes(&self) -> Vec<String> {
        self.wanted.keys().cloned().collect()
    }

    /// The plugins, started if nobody has needed them yet.
    ///
    /// # Errors
    /// When the node has no plugin, or they cannot start.
    fn running(&mut self, node: &str) -> Result<&mut Running, String> {
        if !self.wanted.contains_key(node) {
            return Err(format!("node '{node}' has no device plugin"));
        }
        if self.running.is_none() {
            self.running = Some(Running::start(&self.wanted)?);
        }
        self.running.as_mut().ok_or_else(|| "the device plugins did not start".to_owned())
    }

    /// Where the health API of a node's plugin listens.
    ///
    /// # Errors
    /// When the node has no plugin, or it cannot start.
    pub fn health_api(&mut self, node: &str) -> Result<SocketAddr, String> {
        let running = self.running(node)?;
        Ok(running.plugin(node)?.0.control)
    }

    /// Waits for what the node's kubelet hears next, unless it knows already that device `id` is `healthy`. A stopped
    /// plugin says nothing.
    ///
    /// # Errors
    /// When nothing is heard.
    pub fn heard(&mut self, node: &str, id: &str, healthy: bool) -> Result<Vec<NodeMessage>, String> {
        let (plugin, _) = self.running(node)?.plugin(node)?;
        let mut messages = Vec::new();
        while plugin.plugin.is_some() && plugin.known.get(id) != Some(&healthy) {
            messages.push(plugin.hear()?);
        }
        Ok(messages)
    }

    /// Stops a node's plugin, as a killed process stops.
    ///
    /// # Errors
    /// When it does not run.
    pub fn stop(&mut self, node: &str) -> Result<Vec<NodeMessage>, String> {
        let (plugin, runtime) = self.running(node)?.plugin(node)?;
        let Some(mut running) = plugin.plugin.take() else {
            return Err(format!("the plugin of node '{node}' is stopped already"));
        };
        runtime.block_on(running.stop())?;
        Ok(vec![plugin.hear()?])
    }

    /// Starts a node's plugin again.
    ///
    /// # Errors
    /// When it runs already, or cannot register.
    pub fn start(&mut self, node: &str) -> Result<Vec<NodeMessage>, String> {
        let (plugin, runtime) = self.running(node)?.plugin(node)?;
        if plugin.plugin.is_some() {
            return Err(format!("the plugin of node '{node}' runs already"));
        }
        runtime.block_on(plugin.serve())??;
        Ok(vec![plugin.hear()?, plugin.hear()?])
    }

    /// A node's kubelet has restarted: its socket is another one, and the plugin, if it runs, registers again.
    ///
    /// # Errors
    /// When the plugin cannot register.
    pub fn restarted(&mut self, node: &str) -> Result<Vec<NodeMessage>, String> {
        if !self.wanted.contains_key(node) {
            return Ok(Vec::new());
        }
        let (plugin, runtime) = self.running(node)?.plugin(node)?;
        let Some(mut running) = plugin.plugin.take() else { return Ok(Vec::new()) };
        runtime.block_on(async {
            running.stop().await;
            plugin.kubelet.restart().await?;
            plugin.serve().await
        })??;
        // The old stream's end belongs to the kubelet that is gone.
        plugin.hear()?;
        Ok(vec![plugin.hear()?, plugin.hear()?])
    }
}

impl Running {
    fn start(wanted: &BTreeMap<String, Devices>) -> Result<Running, String> {
        let failed =
            |what: &str, error: &dyn std::fmt::Display| format!("cannot start the device plugins: {what}: {error}");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| failed("no runtime", &error))?;
        let runtime = Background(Some(runtime));
        let directory = tempfile::Builder::new()
            .prefix("gpulab-")
            .tempdir()
            .map_err(|error| failed("no directory for their sockets (TMPDIR names another place)", &error))?;
        let mut nodes = BTreeMap::new();
        for (name, devices) in wanted {
            let mut plugin = runtime.block_on(NodePlugin::start(name, devices, directory.path()))??;
            // What it says first, registration and list, is what the world begins with.
            plugin.hear()?;
            plugin.hear()?;
            nodes.insert(name.clone(), plugin);
        }
        Ok(Running { runtime, directory, nodes })
    }

    fn plugin(&mut self, node: &str) -> Result<(&mut NodePlugin, &Background), String> {
        let plugin = self.nodes.get_mut(node).ok_or_else(|| format!("node '{node}' has no device plugin"))?;
        Ok((plugin, &self.runtime))
    }
}

impl NodePlugin {
    async fn start(name: &str, devices: &Devices, parent: &Path) -> Result<NodePlugin, String> {
        let failed =
            |error: &dyn std::fmt::Display| format!("cannot start the device plugin of node '{name}': {error}");
        let directory = parent.join(name);
        std::fs::create_dir(&directory).map_err(|error| failed(&error))?;
        let ids = (0..devices.count).map(|number| format!("{}{number}", devices.prefix));
        let inventory = SharedInventory::new(Inventory::new(ids).map_err(|error| failed(&error))?);
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let control =
            Control::bind(loopback, &devices.resource, inventory.clone()).await.map_err(|error| failed(&error))?;
        let address = control.address().map_err(|error| failed(&error))?;
        tokio::spawn(control.serve(CancellationToken::new()));
        let (speak, heard) = std::sync::mpsc::channel();
        let mut kubelet = Kubelet { directory: directory.clone(), speak, stop: CancellationToken::new() };
        kubelet.restart().await?;
        let endpoint = format!("unix://{}", directory.join(SOCKET).display());
        let channel = Endpoint::try_from(endpoint).map_err(|error| failed(&error))?.connect_lazy();
        let mut plugin = NodePlugin {
            node: name.to_owned(),
            resource: devices.resource.clone(),
            inventory,
            control: address,
            plugin: None,
            client: DevicePluginClient::new(channel),
            kubelet,
            heard,
            known: BTreeMap::new(),
        };
        plugin.serve().await?;
        Ok(plugin)
    }

    /// Serves and registers.
    async fn serve(&mut self) -> Result<(), String> {
        let options = Options {
            directory: self.kubelet.directory.clone(),
            endpoint: SOCKET.to_owned(),
            resource: self.resource.clone(),
            look_every: PATIENCE,
        };
        let plugin = Plugin::start(options, self.inventory.clone()).await.map_err(|error| error.to_string())?;
        self.plugin = Some(plugin);
        Ok(())
    }

    /// The next message of this plugin.
    fn hear(&mut self) -> Result<NodeMessage, String> {
        let silent = |_: RecvTimeoutError| format!("the device plugin of node '{}' says nothing", self.node);
        let message = self.heard.recv_timeout(PATIENCE).map_err(silent)?;
        if let NodeMessage::Listed { devices, .. } = &message {
            self.known = devices.iter().map(|device| (device.id.clone(), device.healthy)).collect();
        }
        Ok(message)
    }
}

/// The side of a node's kubelet that plugins speak to.
#[derive(Debug)]
struct Kubelet {
    directory: PathBuf,
    speak: Sender<NodeMessage>,
    stop: CancellationToken,
}

impl Kubelet {
    /// Listens for registrations on a new socket.
    async fn restart(&mut self) -> Result<(), String> {
        self.stop.cancel();
        self.stop = CancellationToken::new();
        let path = self.directory.join(KUBELET_SOCKET);
        // Left by the kubelet before.
        let _ = std::fs::remove_file(&path);
        let listener =
            UnixListener::bind(&path).map_err(|error| format!("cannot listen at {}: {error}", path.display()))?;
        let registrar = Registrar { directory: self.directory.clone(), speak: self.speak.clone() };
        let server = Server::builder().add_service(RegistrationServer::new(registrar)).serve_with_incoming_shutdown(
            tokio_stream::wrappers::UnixListenerStream::new(listener),
            self.stop.clone().cancelled_owned(),
        );
        tokio::spawn(async move {
            // The listener is bound; what can fail is one connection, and the plugin sees that.
            let _ = server.await;
        });
        Ok(())
    }
}

/// Answers registrations: dials back, asks for the options, then listens to the plugin until it ends.
#[derive(Debug)]
struct Registrar {
    directory: PathBuf,
    speak: Sender<NodeMessage>,
}

#[tonic::async_trait]
impl Registration for Registrar {
    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<Empty>, Status> {
        let request = request.into_inner();
        let failed =
            |error: &dyn std::fmt::Display| Status::unavailable(format!("failed to dial device plugin: {error}"));
        let socket = format!("unix://{}", self.directory.join(&request.endpoint).display());
        let channel = Endpoint::try_from(socket).map_err(|error| failed(&error))?.connect().await;
        let mut client = DevicePluginClient::new(channel.map_err(|error| failed(&error))?);
        let options = client.get_device_plugin_options(Empty {}).await?.into_inner();
        let resource = Text::from(&request.resource_name);
        let options = PluginOptions {
            pre_start_required: options.pre_start_required,
            preferred_allocation: options.get_preferred_allocation_available,
        };
        let speak = self.speak.clone();
        // Nobody listens any more when the session has ended.
        let _ = speak.send(NodeMessage::Registered { resource: resource.clone(), options });
        tokio::spawn(async move {
            if let Ok(stream) = client.list_and_watch(Empty {}).await {
                let mut stream = stream.into_inner();
                while let Ok(Some(list)) = stream.message().await {
                    let devices = list.devices.iter().map(device).collect();
                    let _ = speak.send(NodeMessage::Listed { resource: resource.clone(), devices });
                }
            }
            let _ = speak.send(NodeMessage::Stopped { resource });
        });
        Ok(Response::new(Empty {}))
    }
}

fn device(device: &api::Device) -> PluginDevice {
    let nodes = device.topology.iter().flat_map(|topology| &topology.nodes);
    PluginDevice {
        id: Text::from(&device.id),
        healthy: device.health == gpulab_device::Health::Healthy.as_str(),
        numa: nodes.map(|node| node.id).collect(),
    }
}

impl Plugins for PluginHost {
    fn allocate(&mut self, node: &str, resource: &str, ids: &[Text]) -> Result<Value, String> {
        let (plugin, runtime) = self.running(node)?.plugin(node)?;
        if plugin.plugin.is_none() || plugin.resource != resource {
            return Err(format!("no device plugin serves {resource}"));
        }
        let request = api::ContainerAllocateRequest { device_ids: ids.iter().map(ToString::to_string).collect() };
        let request = api::AllocateRequest { container_requests: vec![request] };
        let answer =
            runtime.block_on(plugin.client.allocate(request))?.map_err(|status| status.message().to_owned())?;
        let Some(response) = answer.into_inner().container_responses.into_iter().next() else {
            return Err(format!("no containers return in allocation response for {resource}"));
        };
        let envs = response.envs.iter().map(|(name, value)| (Text::from(name), Value::from(value)));
        Ok(object! { "envs" => Value::Map(envs.collect()) })
    }

    fn prefer(
        &mut self,
        node: &str,
        _resource: &str,
        available: &[Text],
        must_include: &[Text],
        size: usize,
    ) -> Result<Vec<Text>, String> {
        let (plugin, runtime) = self.running(node)?.plugin(node)?;
        let texts = |ids: &[Text]| ids.iter().map(ToString::to_string).collect();
        let request = api::ContainerPreferredAllocationRequest {
            available_device_ids: texts(available),
            must_include_device_ids: texts(must_include),
            allocation_size: i32::try_from(size).unwrap_or(i32::MAX),
        };
        let request = api::PreferredAllocationRequest { container_requests: vec![request] };
        let answer = runtime.block_on(plugin.client.get_preferred_allocation(request))?;
        let answer = answer.map_err(|status| status.message().to_owned())?.into_inner();
        Ok(answer.container_responses.iter().flat_map(|one| &one.device_ids).map(Text::from).collect())
    }

    fn pre_start(&mut self, node: &str, _resource: &str, ids: &[Text]) -> Result<(), String> {
        let (plugin, runtime) = self.running(node)?.plugin(node)?;
        let request = api::PreStartContainerRequest { device_ids: ids.iter().map(ToString::to_string).collect() };
        let answer = runtime.block_on(plugin.client.pre_start_container(request))?;
        answer.map(drop).map_err(|status| status.message().to_owned())
    }
}
