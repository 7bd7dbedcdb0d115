//! What stands behind `kube::Client`.

pub mod duration;
pub mod embedded;

use std::time::Duration;

use crate::event::Label;
pub use gpulab_cluster::world::Step;
use gpulab_cluster::{Config, VirtualTime};

/// What a condition said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// It holds: the wait is over.
    Met,
    /// Not yet.
    Unmet,
    /// Not before so many more changes.
    Needs(u64),
    /// It cannot be asked any more (the closure threw): the wait is over as well.
    Abort,
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The condition holds.
    Met,
    /// The condition could not be asked.
    Abort,
    /// Nothing is under way any more and the condition does not hold. With the next thing that time alone would bring.
    Quiet(Option<Upcoming>),
    /// The limit is reached and things are still under way.
    TimedOut,
    /// Ctrl-C.
    Interrupted,
    /// Too much happened in one moment: the last thing that did.
    Livelock(String),
}

/// A heartbeat, sweep or deadline ahead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upcoming {
    /// How long from now.
    pub after: Duration,
    /// Whose, and what.
    pub what: String,
}

/// Sees every step that a backend takes.
pub type Observer<'a> = &'a mut dyn FnMut(&Step);

/// What a session needs from whatever runs the cluster. Everything else goes through the client.
pub trait Backend {
    /// `embedded`.
    fn name(&self) -> &'static str;

    /// The client. It must be called inside a tokio runtime.
    fn client(&self) -> kube::Client;

    /// What the backend's word is worth.
    fn label(&self) -> Label;

    /// Names and versions of what is modelled, for the label *Simulated*.
    fn versions(&self) -> Vec<(&'static str, &'static str)>;

    /// The cluster's clock.
    fn now(&self) -> VirtualTime;

    /// When the cluster's clock started.
    fn epoch(&self) -> VirtualTime;

    /// Lets the cluster run until `condition` holds, at most `within`. The condition is asked at once and after every
    /// change.
    fn wait_until(&self, within: Duration, condition: &mut dyn FnMut() -> Check, observer: Observer<'_>) -> Waited;

    /// What is under way; none when the cluster is quiet or does not tell.
    fn under_way(&self) -> Option<String>;

    /// Control of time and of the world as a whole, if the backend has it.
    fn control(&self) -> Option<&dyn Control>;

    /// The nodes beneath the API: their plugins, kubelets and power.
    fn machines(&self) -> &dyn Machines;
}

/// What happens to nodes outside the API. Every method names the node; errors are sentences for the user.
pub trait Machines {
    /// Nodes that have a device plugin.
    fn plugin_nodes(&self) -> Vec<String>;

    /// The address of the health API of a node's plugin, `http://127.0.0.1:40001`.
    ///
    /// # Errors
    /// When the node has no plugin that can be reached.
    fn health_api(&self, node: &str) -> Result<String, String>;

    /// Waits until the node's kubelet has heard from its plugin that device `id` is `healthy` or not. It is there at once
    /// when the kubelet knows it already: the plugin then says nothing.
    ///
    /// # Errors
    /// When the plugin says nothing in time.
    fn await_health(&self, node: &str, id: &str, healthy: bool) -> Result<(), String>;

    /// Starts or stops the plugin of a node.
    ///
    /// # Errors
    /// When it is so already, or cannot be done.
    fn run_plugin(&self, node: &str, runs: bool) -> Result<(), String>;

    /// Restarts the kubelet of a node; pods go on, plugins register again.
    ///
    /// # Errors
    /// When the node has none.
    fn restart_kubelet(&self, node: &str) -> Result<(), String>;

    /// Cuts a node off, or lets it come back.
    ///
    /// # Errors
    /// When there is no such node.
    fn power(&self, node: &str, on: bool) -> Result<(), String>;
}

/// What only a model can do.
pub trait Control {
    /// Runs everything that is due within `duration` and moves the clock there.
    fn advance(&self, duration: Duration, observer: Observer<'_>) -> Waited;

    /// Does the next thing, or the next thing of one component. None when nothing is planned.
    fn step(&self, component: Option<&str>, observer: Observer<'_>) -> Option<Step>;

    /// Names of the components that [`Control::step`] knows.
    fn components(&self) -> Vec<&'static str>;

    /// Runs until nothing is under way, at most `within`: [`Waited::Quiet`] or [`Waited::TimedOut`].
    fn settle(&self, within: Duration, observer: Observer<'_>) -> Waited;

    /// Gives a setting to a component.
    ///
    /// # Errors
    /// A sentence for the user.
    fn configure(&self, component: &str, setting: &str, value: &serde_json::Value) -> Result<(), String>;

    /// Replaces the whole world.
    fn replace(&self, config: &Config);

    /// What the present world was made from.
    fn config(&self) -> Config;
}
