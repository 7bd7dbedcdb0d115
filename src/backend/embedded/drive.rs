//! Moving the embedded world: waits, steps and the clock.

use std::sync::atomic::Ordering;
use std::time::Duration;

use gpulab_cluster::{Config, Value, VirtualTime, World};

use super::Embedded;
use super::plugins::PluginHost;
use crate::backend::{Backend, Check, Control, Machines, Observer, Step, Upcoming, Waited};
use crate::event::Label;
use gpulab_cluster::api::registry::Kind;
use gpulab_cluster::api::store::ObjectKey;
use gpulab_cluster::plugins::NodeMessage;

/// More steps than this in one moment mean that components answer each other without end. A moment of ten thousand pods
/// takes some hundred thousand.
const LIVELOCK: u64 = 2_000_000;

/// How many steps without a write are taken before the interrupt is looked at.
const BATCH: usize = 256;

/// How far a drive goes.
#[derive(Clone, Copy, Debug)]
enum Goal {
    /// Until nothing is under way.
    Quiet,
    /// Until nothing is under way and no program will end by itself.
    Expected,
    /// Until the clock shows this moment.
    Moment,
}

/// What ended a batch of steps.
enum Stopped {
    Wrote,
    BatchFull,
    Nothing,
    Limit,
}

impl Embedded {
    /// Takes steps until `condition` holds or the goal is reached.
    fn drive(
        &self,
        goal: Goal,
        until: VirtualTime,
        condition: &mut dyn FnMut() -> Check,
        observer: Observer<'_>,
    ) -> Waited {
        self.with(World::react);
        let mut needed = match condition() {
            Check::Met => return Waited::Met,
            Check::Abort => return Waited::Abort,
            Check::Unmet => 1,
            Check::Needs(writes) => writes.max(1),
        };
        let (mut moment, mut in_moment) = (None, 0_u64);
        loop {
            if self.interrupt.load(Ordering::Relaxed) {
                return Waited::Interrupted;
            }
            let mut last = None;
            let mut plugins = self.plugins();
            let stopped = self.with(|world| {
                for _ in 0..BATCH {
                    match due(world, goal) {
                        None => return Stopped::Nothing,
                        Some(at) if at > until => return Stopped::Limit,
                        Some(_) => {}
                    }
                    let Some(step) = world.step_with(&mut *plugins) else { return Stopped::Nothing };
                    observer(&step);
                    in_moment = if moment == Some(step.at) { in_moment + 1 } else { 0 };
                    moment = Some(step.at);
                    needed = needed.saturating_sub(step.writes);
                    last = Some(step);
                    if needed == 0 {
                        return Stopped::Wrote;
                    }
                }
                Stopped::BatchFull
            });
            drop(plugins);
            if in_moment > LIVELOCK {
                return Waited::Livelock(last.map(|step| describe(&step)).unwrap_or_default());
            }
            match stopped {
                Stopped::Nothing => return Waited::Quiet(self.upcoming()),
                Stopped::Limit => {
                    // The time of the wait has passed; nothing is due any more.
                    self.with(|world| world.advance(until.since(world.now())));
                    return Waited::TimedOut;
                }
                Stopped::BatchFull => continue,
                Stopped::Wrote => {}
            }
            needed = match condition() {
                Check::Met => return Waited::Met,
                Check::Abort => return Waited::Abort,
                Check::Unmet => 1,
                Check::Needs(writes) => writes.max(1),
            };
        }
    }

    /// The next thing that time alone would bring to an object. Heartbeats of nodes and sweeps over everything come and go
    /// without news.
    fn upcoming(&self) -> Option<Upcoming> {
        self.with(|world| {
            let now = world.now();
            let about = |key: &ObjectKey| key.kind != Kind::NODE;
            let (at, component, work) = world.plan().find(|(_, _, work)| work.key.as_ref().is_some_and(about))?;
            Some(Upcoming { after: at.since(now), what: format!("{component}: {work}") })
        })
    }
}

fn due(world: &World, goal: Goal) -> Option<VirtualTime> {
    match goal {
        // While anything is to come, heartbeats run in their order too.
        Goal::Quiet => world.next_work().and_then(|_| world.next()),
        Goal::Expected => world.next_expected().and_then(|_| world.next()),
        Goal::Moment => world.next(),
    }
}

fn describe(step: &Step) -> String {
    format!("{}: {}", step.component, step.work)
}

impl Backend for Embedded {
    fn name(&self) -> &'static str {
        "embedded"
    }

    fn client(&self) -> kube::Client {
        Embedded::client(self)
    }

    fn label(&self) -> Label {
        Label::Simulated
    }

    fn versions(&self) -> Vec<(&'static str, &'static str)> {
        vec![("kubernetes", "1.36.3")]
    }

    fn now(&self) -> VirtualTime {
        self.with(|world| world.now())
    }

    fn epoch(&self) -> VirtualTime {
        self.config().epoch
    }

    fn wait_until(&self, within: Duration, condition: &mut dyn FnMut() -> Check, observer: Observer<'_>) -> Waited {
        let until = self.now() + within;
        self.drive(Goal::Expected, until, condition, observer)
    }

    fn under_way(&self) -> Option<String> {
        self.with(|world| {
            let at = world.next_work()?;
            let count = world.plan().take_while(|(when, ..)| *when <= at).count();
            let (_, component, work) = world.plan().find(|(when, ..)| *when == at)?;
            let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
            let wait = at.since(world.now());
            let when =
                if wait.is_zero() { String::new() } else { format!(" in {}", crate::backend::duration::show(wait)) };
            Some(format!("{component}: {work}{more}{when}"))
        })
    }

    fn control(&self) -> Option<&dyn Control> {
        Some(self)
    }

    fn machines(&self) -> &dyn Machines {
        self
    }
}

impl Embedded {
    /// Lets the kubelet of `node` hear what its plugin said.
    fn tell(&self, node: &str, messages: Result<Vec<NodeMessage>, String>) -> Result<(), String> {
        for message in messages? {
            self.with(|world| world.tell(node, &message))?;
        }
        Ok(())
    }
}

impl Machines for Embedded {
    fn plugin_nodes(&self) -> Vec<String> {
        self.plugins().nodes()
    }

    fn health_api(&self, node: &str) -> Result<String, String> {
        let address = self.plugins().health_api(node)?;
        Ok(format!("http://{address}"))
    }

    fn await_health(&self, node: &str, id: &str, healthy: bool) -> Result<(), String> {
        let heard = self.plugins().heard(node, id, healthy);
        self.tell(node, heard)
    }

    fn run_plugin(&self, node: &str, runs: bool) -> Result<(), String> {
        let said = if runs { self.plugins().start(node) } else { self.plugins().stop(node) };
        self.tell(node, said)
    }

    fn restart_kubelet(&self, node: &str) -> Result<(), String> {
        self.with(|world| world.tell(node, &NodeMessage::KubeletRestart))?;
        let said = self.plugins().restarted(node);
        self.tell(node, said)
    }

    fn power(&self, node: &str, on: bool) -> Result<(), String> {
        let message = if on { NodeMessage::Up } else { NodeMessage::Down };
        self.with(|world| world.tell(node, &message))
    }
}

impl Control for Embedded {
    fn advance(&self, duration: Duration, observer: Observer<'_>) -> Waited {
        let until = self.now() + duration;
        let waited = self.drive(Goal::Moment, until, &mut || Check::Needs(u64::MAX), observer);
        if matches!(waited, Waited::Quiet(_) | Waited::TimedOut) {
            // Nothing is due any more; this only sets the clock.
            self.with(|world| world.advance(until.since(world.now())));
        }
        waited
    }

    fn components(&self) -> Vec<&'static str> {
        self.with(|world| world.component_names())
    }

    fn step(&self, component: Option<&str>, observer: Observer<'_>) -> Option<Step> {
        for _ in 0..LIVELOCK {
            // In a quiet world only what is already planned can make a component act; heartbeats would go on for ever.
            let idle = |world: &mut World| {
                let planned = |wanted| world.plan().any(|(_, name, _)| name == wanted);
                world.next_work().is_none() && component.is_some_and(|wanted| !planned(wanted))
            };
            if self.with(idle) {
                return None;
            }
            // Plugins before world, here as everywhere: two locks in one order.
            let mut plugins = self.plugins();
            let step = self.with(|world| world.step_with(&mut *plugins))?;
            drop(plugins);
            observer(&step);
            if component.is_none_or(|wanted| wanted == step.component) {
                return Some(step);
            }
            if component.is_some() && self.interrupt.load(Ordering::Relaxed) {
                return None;
            }
        }
        None
    }

    fn settle(&self, within: Duration, observer: Observer<'_>) -> Waited {
        let until = self.now() + within;
        self.drive(Goal::Quiet, until, &mut || Check::Needs(u64::MAX), observer)
    }

    fn configure(&self, component: &str, setting: &str, value: &serde_json::Value) -> Result<(), String> {
        let value = Value::from_json(value.to_string().as_bytes()).map_err(|error| error.to_string())?;
        self.with(|world| world.configure(component, setting, &value))
    }

    fn replace(&self, config: &Config) {
        *self.world() = World::new(config);
        *self.config() = config.clone();
        *self.plugins() = PluginHost::new(config);
        // Their past is gone; clients list anew.
        self.watchers().clear();
    }

    fn config(&self) -> Config {
        Embedded::config(self).clone()
    }
}
