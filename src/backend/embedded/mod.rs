//! The embedded cluster behind a real `kube::Client`.

mod drive;
mod plugins;
mod service;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpulab_cluster::api::watch::Watch;
use gpulab_cluster::{Config, World};
use plugins::PluginHost;
use tokio::sync::mpsc::UnboundedSender;

/// A world that requests, scripts and watches share.
#[derive(Clone, Debug)]
pub struct Embedded {
    shared: Arc<Shared>,
    /// Set by Ctrl-C.
    interrupt: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Shared {
    world: Mutex<World>,
    config: Mutex<Config>,
    watchers: Mutex<Vec<Watcher>>,
    plugins: Mutex<PluginHost>,
}

#[derive(Debug)]
struct Watcher {
    watch: Watch,
    lines: UnboundedSender<bytes::Bytes>,
}

impl Embedded {
    /// A new world.
    pub fn new(config: &Config) -> Embedded {
        Embedded::interruptible(config, Arc::default())
    }

    /// A new world whose waits look at `interrupt` between two steps.
    pub fn interruptible(config: &Config, interrupt: Arc<AtomicBool>) -> Embedded {
        let world = Mutex::new(World::new(config));
        let plugins = Mutex::new(PluginHost::new(config));
        let config = Mutex::new(config.clone());
        Embedded { shared: Arc::new(Shared { world, config, watchers: Mutex::default(), plugins }), interrupt }
    }

    /// A client of this world. It must be called inside a tokio runtime.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(service::Service::new(self.clone()), "default")
    }

    /// Reads the world, or moves it: open watches then see what changed.
    pub fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> T {
        let mut world = self.world();
        let result = act(&mut world);
        self.pump(&world);
        result
    }

    fn world(&self) -> MutexGuard<'_, World> {
        // A panic inside a request must not lose the session; the world is only ever replaced by whole values.
        self.shared.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn config(&self) -> MutexGuard<'_, Config> {
        self.shared.config.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plugins(&self) -> MutexGuard<'_, PluginHost> {
        self.shared.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watchers(&self) -> MutexGuard<'_, Vec<Watcher>> {
        self.shared.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, watch: Watch, lines: UnboundedSender<bytes::Bytes>) {
        self.watchers().push(Watcher { watch, lines });
    }

    /// Sends every open watch what it has not seen; forgets those that ended or whose client went away.
    fn pump(&self, world: &World) {
        let mut watchers = self.watchers();
        watchers.retain_mut(|watcher| {
            let (events, ends) = world.poll(&mut watcher.watch);
            let sent = events.iter().all(|event| watcher.lines.send(format!("{}\n", event.to_json()).into()).is_ok());
            sent && !ends && !watcher.lines.is_closed()
        });
    }
}
