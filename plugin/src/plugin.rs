//! The plugin's life beside a kubelet: serve, register, and begin again whenever the kubelet does.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnixListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Endpoint, Server};

use crate::grpc::DevicePluginService;
use crate::inventory::SharedInventory;
use crate::v1beta1::RegisterRequest;
use crate::v1beta1::device_plugin_server::DevicePluginServer;
use crate::v1beta1::registration_client::RegistrationClient;
use crate::{KUBELET_SOCKET, VERSION};

/// How long the kubelet may take over a registration; it dials back within it, for up to ten seconds.
const REGISTRATION_LIMIT: Duration = Duration::from_secs(15);

/// How a plugin meets its kubelet.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kubelet's plugin directory; the plugin's socket is made beside `kubelet.sock`.
    pub directory: PathBuf,
    /// File name of the plugin's socket.
    pub endpoint: String,
    /// The extended resource to register.
    pub resource: String,
    /// How often the two sockets are looked at. A kubelet that restarts deletes every socket in the directory and forgets
    /// its plugins, so the plugin has to notice and register again.
    pub look_every: Duration,
}

/// Why the plugin cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// No kubelet listens.
    #[error("no kubelet listens at {}", path.display())]
    NoKubelet {
        /// The socket that was tried.
        path: PathBuf,
        /// What the system or the connection said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The kubelet refused the registration, in its own words.
    #[error("the kubelet refused {resource}: {message}")]
    Refused {
        /// What was registered.
        resource: String,
        /// The kubelet's answer.
        message: String,
    },
    /// The plugin's own socket cannot be made.
    #[error("cannot serve at {}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A plugin that serves and is registered.
#[derive(Debug)]
pub struct Plugin {
    options: Options,
    inventory: SharedInventory,
    serving: Option<Serving>,
}

#[derive(Debug)]
struct Serving {
    stop: CancellationToken,
    task: JoinHandle<()>,
    sockets: (Option<Identity>, Option<Identity>),
}

/// What tells one socket file from its successor of the same name.
type Identity = (u64, u64, i64, i64);

fn identity(path: &Path) -> Option<Identity> {
    let data = path.symlink_metadata().ok()?;
    Some((data.dev(), data.ino(), data.ctime(), data.ctime_nsec()))
}

impl Plugin {
    /// Serves `inventory` and registers it.
    ///
    /// # Errors
    /// See [`PluginError`]. Nothing is left behind.
    pub async fn start(options: Options, inventory: SharedInventory) -> Result<Plugin, PluginError> {
        let mut plugin = Plugin { options, inventory, serving: None };
        plugin.serve().await?;
        Ok(plugin)
    }

    /// Stays registered until `stop`: after a kubelet restart, when its socket or the plugin's own has gone or is another,
    /// serves and registers again as soon as a kubelet listens.
    pub async fn keep(&mut self, stop: &CancellationToken) {
        let mut looks = tokio::time::interval(self.options.look_every);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = looks.tick() => {}
            }
            let known = self.serving.as_ref().map(|serving| serving.sockets);
            if known == Some(self.sockets()) {
                continue;
            }
            // A kubelet that is not there yet, or not ready, is tried again at the next look.
            tokio::select! {
                () = stop.cancelled() => return,
                _ = self.serve() => {}
            }
        }
    }

    /// Ends the service: open ListAndWatch streams end, by which the kubelet learns of it, and the socket is removed.
    pub async fn stop(&mut self) {
        let Some(serving) = self.serving.take() else { return };
        serving.stop.cancel();
        // A panic of the server task is as good an end as any.
        let _ = serving.task.await;
        // A socket that took its place belongs to somebody else.
        if serving.sockets.1 == identity(&self.socket()) {
            let _ = std::fs::remove_file(self.socket());
        }
    }

    async fn serve(&mut self) -> Result<(), PluginError> {
        self.stop().await;
        let kubelet = self.options.directory.join(KUBELET_SOCKET);
        if let Err(source) = kubelet.symlink_metadata() {
            return Err(PluginError::NoKubelet { path: kubelet, source: source.into() });
        }
        let path = self.socket();
        // Left by a plugin that did not end in order.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).map_err(|source| PluginError::Socket { path, source })?;
        let stop = CancellationToken::new();
        let service = DevicePluginService::new(self.inventory.clone(), stop.clone());
        let server = Server::builder()
            .add_service(DevicePluginServer::new(service))
            .serve_with_incoming_shutdown(UnixListenerStream::new(listener), stop.clone().cancelled_owned());
        let task = tokio::spawn(async move {
            // The listener is already bound; what can fail is one connection, and the kubelet sees that.
            let _ = server.await;
        });
        self.serving = Some(Serving { stop, task, sockets: self.sockets() });
        // The kubelet dials back before it answers, so the service has to be there first.
        let registered = self.register(&kubelet).await;
        if registered.is_err() {
            self.stop().await;
        }
        registered
    }

    async fn register(&self, kubelet: &Path) -> Result<(), PluginError> {
        let absent = |source| PluginError::NoKubelet { path: kubelet.to_owned(), source };
        let endpoint = Endpoint::try_from(format!("unix://{}", kubelet.display()))
            .map_err(|error| absent(error.into()))?
            .timeout(REGISTRATION_LIMIT);
        let channel = endpoint.connect().await.map_err(|error| absent(error.into()))?;
        let request = RegisterRequest {
            version: VERSION.to_owned(),
            endpoint: self.options.endpoint.clone(),
            resource_name: self.options.resource.clone(),
            options: Some(Default::default()),
        };
        match RegistrationClient::new(channel).register(request).await {
            Ok(_) => Ok(()),
            Err(status) => Err(PluginError::Refused {
                resource: self.options.resource.clone(),
                message: status.message().to_owned(),
            }),
        }
    }

    fn socket(&self) -> PathBuf {
        self.options.directory.join(&self.options.endpoint)
    }

    /// The kubelet's socket and the plugin's own, as they are now.
    fn sockets(&self) -> (Option<Identity>, Option<Identity>) {
        (identity(&self.options.directory.join(KUBELET_SOCKET)), identity(&self.socket()))
    }
}
