//! A kubelet of the size that the plugin's tests need: it listens, dials back before it answers a registration, and
//! follows ListAndWatch.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gpulab_plugin::v1beta1::device_plugin_client::DevicePluginClient;
use gpulab_plugin::v1beta1::registration_server::{Registration, RegistrationServer};
use gpulab_plugin::v1beta1::{DevicePluginOptions, Empty, RegisterRequest};
use tokio::net::UnixListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

/// What the mock kubelet heard.
#[derive(Debug)]
pub enum Heard {
    /// A registration, with the options that the plugin gave when it was dialled.
    Registered(RegisterRequest, DevicePluginOptions),
    /// One ListAndWatch message, as `id health` pairs.
    Devices(Vec<(String, String)>),
    /// ListAndWatch ended.
    Gone,
}

/// The mock kubelet.
pub struct Kubelet {
    pub heard: UnboundedReceiver<Heard>,
    stop: CancellationToken,
    directory: PathBuf,
}

struct Service {
    directory: PathBuf,
    heard: UnboundedSender<Heard>,
    refuse: Arc<Mutex<Option<String>>>,
}

/// A client of the plugin's own socket.
pub async fn dial(socket: &Path) -> DevicePluginClient<Channel> {
    let endpoint = Endpoint::try_from(format!("unix://{}", socket.display())).unwrap();
    DevicePluginClient::new(endpoint.connect().await.unwrap())
}

#[tonic::async_trait]
impl Registration for Service {
    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<Empty>, Status> {
        if let Some(refusal) = self.refuse.lock().unwrap().clone() {
            return Err(Status::unknown(refusal));
        }
        let request = request.into_inner();
        let mut plugin = dial(&self.directory.join(&request.endpoint)).await;
        let options = plugin.get_device_plugin_options(Empty {}).await?.into_inner();
        self.heard.send(Heard::Registered(request, options)).unwrap();
        let heard = self.heard.clone();
        tokio::spawn(async move {
            let mut messages = plugin.list_and_watch(Empty {}).await.unwrap().into_inner();
            while let Ok(Some(message)) = messages.message().await {
                let devices = message.devices.into_iter().map(|device| (device.id, device.health)).collect();
                let _ = heard.send(Heard::Devices(devices));
            }
            let _ = heard.send(Heard::Gone);
        });
        Ok(Response::new(Empty {}))
    }
}

impl Kubelet {
    /// Listens in `directory`; registrations are refused with `refusal` if there is one.
    pub fn start(directory: &Path, refusal: Option<&str>) -> Kubelet {
        let (sender, heard) = unbounded_channel();
        let service = Service {
            directory: directory.to_owned(),
            heard: sender,
            refuse: Arc::new(Mutex::new(refusal.map(str::to_owned))),
        };
        let listener = UnixListener::bind(directory.join("kubelet.sock")).unwrap();
        let stop = CancellationToken::new();
        let server = Server::builder()
            .add_service(RegistrationServer::new(service))
            .serve_with_incoming_shutdown(UnixListenerStream::new(listener), stop.clone().cancelled_owned());
        tokio::spawn(server);
        Kubelet { heard, stop, directory: directory.to_owned() }
    }

    /// Ends, and removes every socket in the directory, as a kubelet that starts again does.
    pub fn end(self) {
        self.stop.cancel();
        for entry in std::fs::read_dir(&self.directory).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
    }

    /// The next registration.
    pub async fn registration(&mut self) -> (RegisterRequest, DevicePluginOptions) {
        match self.heard.recv().await {
            Some(Heard::Registered(request, options)) => (request, options),
            other => panic!("expected a registration, heard {other:?}"),
        }
    }

    /// The next list of devices, each as the first letter of its health.
    pub async fn health(&mut self) -> String {
        match self.heard.recv().await {
            Some(Heard::Devices(devices)) => devices.iter().map(|(_, health)| &health[..1]).collect(),
            other => panic!("expected devices, heard {other:?}"),
        }
    }
}
