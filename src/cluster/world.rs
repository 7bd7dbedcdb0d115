//! All state of the embedded cluster, changed by one function at a time. Cloning a world is a snapshot.

use std::time::Duration;

use crate::api::Server;
use crate::api::request::{Request, Response};
use crate::api::watch::Watch;
use crate::component::{Component, Context, Entry, Planner, Work};
use crate::controllers::deployment::DeploymentController;
use crate::controllers::disruption::DisruptionController;
use crate::controllers::garbage_collector::GarbageCollector;
use crate::controllers::job::JobController;
use crate::controllers::namespace::NamespaceController;
use crate::controllers::node_lifecycle::NodeLifecycle;
use crate::controllers::pod_gc::PodGarbageCollector;
use crate::controllers::replica_set::ReplicaSetController;
use crate::events::Recorder;
use crate::kubelet::Kubelet;
use crate::plugins::{Library, NodeMessage, Plugins};
use crate::scheduler::Scheduler;
use crate::time::{Agenda, VirtualTime};
use crate::trace::Trace;
use crate::value::Value;

pub use crate::config::{Config, Devices, LabNode};

/// What one step did.
#[derive(Clone, Debug)]
pub struct Step {
    /// When it happened.
    pub at: VirtualTime,
    /// Who acted.
    pub component: &'static str,
    /// What it did.
    pub work: Work,
    /// How many objects it wrote.
    pub writes: u64,
}

/// The embedded cluster.
#[derive(Clone, Debug)]
pub struct World {
    now: VirtualTime,
    /// The API server. After writing to it directly, call [`World::react`].
    pub server: Server,
    /// Why things happened.
    pub trace: Trace,
    recorder: Recorder,
    agenda: Agenda<Entry>,
    components: Vec<Box<dyn Component>>,
    seen: u64,
}

impl World {
    /// A world at its first moment, as an established cluster: namespaces exist and nodes are ready.
    pub fn new(config: &Config) -> World {
        let mut world = World {
            now: config.epoch,
            server: Server::new(config.seed),
            trace: Trace::default(),
            recorder: Recorder::default(),
            agenda: Agenda::new(config.ties),
            components: components(config),
            seen: 0,
        };
        world.server.bootstrap(config.epoch);
        for me in 0..world.components.len() {
            let mut plan = Planner { now: world.now, me, agenda: &mut world.agenda };
            world.components[me].start(&mut plan);
        }
        for me in 0..world.components.len() {
            world.act(me, &mut Library, |component, cx| component.boot(cx));
            world.react();
        }
        while world.agenda.next().is_some_and(|at| at <= config.epoch) {
            world.step();
        }
        world
    }

    fn act<T>(
        &mut self,
        me: usize,
        plugins: &mut dyn Plugins,
        what: impl FnOnce(&mut dyn Component, &mut Context<'_>) -> T,
    ) -> T {
        let component = &mut self.components[me];
        let name = component.name();
        let mut context = Context {
            now: self.now,
            server: &mut self.server,
            trace: &mut self.trace,
            plugins,
            recorder: &mut self.recorder,
            name,
            me,
            agenda: &mut self.agenda,
        };
        what(&mut **component, &mut context)
    }

    /// The present moment.
    pub fn now(&self) -> VirtualTime {
        self.now
    }

    /// When something happens next that somebody waits for; none means that the world is quiet.
    pub fn next_work(&self) -> Option<VirtualTime> {
        self.agenda.next_work()
    }

    /// When something happens next that can change anything by itself: work, or the end of a running program. A wait may
    /// go on to it although the world is quiet.
    pub fn next_expected(&self) -> Option<VirtualTime> {
        self.agenda.next_expected()
    }

    /// When anything happens next, heartbeats included.
    pub fn next(&self) -> Option<VirtualTime> {
        self.agenda.next()
    }

    /// What is planned, in order, with the component's name.
    pub fn plan(&self) -> impl Iterator<Item = (VirtualTime, &'static str, &Work)> {
        self.agenda.iter().map(|(at, _, entry)| (at, self.components[entry.component].name(), &entry.work))
    }

    /// Lets every component see what was written since the last call.
    pub fn react(&mut self) {
        while let Some(change) = self.server.store.next(self.seen).cloned() {
            self.seen = change.revision;
            for (me, component) in self.components.iter_mut().enumerate() {
                let watches = component.watches();
                if watches.is_empty() || watches.contains(&change.key.kind) {
                    component.observe(&change, &mut Planner { now: self.now, me, agenda: &mut self.agenda });
                }
            }
        }
        self.server.store.trim();
    }

    /// Answers one request of a client. Components see what it wrote; nothing else moves.
    pub fn request(&mut self, request: &Request) -> Response {
        let response = self.server.answer(self.now, request);
        self.react();
        response
    }

    /// What a watch has to see next; the flag says that its stream ends after this.
    pub fn poll(&self, watch: &mut Watch) -> (Vec<Value>, bool) {
        watch.poll(&self.server, self.now)
    }

    /// Does the next thing on the agenda, moving time to it. `None` when nothing is planned.
    pub fn step(&mut self) -> Option<Step> {
        self.step_with(&mut Library)
    }

    /// As [`World::step`], with `plugins` answering what kubelets ask.
    pub fn step_with(&mut self, plugins: &mut dyn Plugins) -> Option<Step> {
        self.react();
        let (at, _, entry) = self.agenda.pop()?;
        self.now = self.now.max(at);
        let before = self.server.store.revision();
        let name = self.components[entry.component].name();
        self.act(entry.component, plugins, |component, cx| component.act(&entry.work, cx));
        let writes = self.server.store.revision() - before;
        self.react();
        Some(Step { at: self.now, component: name, work: entry.work, writes })
    }

    /// Runs everything that is due within `duration` and moves time there.
    pub fn advance(&mut self, duration: Duration) {
        let until = self.now + duration;
        self.react();
        while self.agenda.next().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = self.now.max(until);
    }

    /// Runs until the world is quiet or `limit` of virtual time has passed; says whether it is quiet.
    pub fn settle(&mut self, limit: Duration) -> bool {
        let until = self.now + limit;
        self.react();
        while let Some(at) = self.agenda.next_work() {
            if at > until {
                return false;
            }
            self.step();
        }
        true
    }

    /// Tells the kubelet of `node` what happened outside the API. Its plugins' answers come from [`Library`].
    ///
    /// # Errors
    /// A sentence for the user when there is no such node or it cannot be done.
    pub fn tell(&mut self, node: &str, message: &NodeMessage) -> Result<(), String> {
        let kubelet = self.components.iter().position(|component| component.name() == "kubelet").unwrap_or(0);
        let told = self.act(kubelet, &mut Library, |component, cx| component.receive(node, message, cx));
        self.react();
        told
    }

    /// Names of the components.
    pub fn component_names(&self) -> Vec<&'static str> {
        self.components.iter().map(|component| component.name()).collect()
    }

    /// Gives a setting to the component of this name.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn configure(&mut self, component: &str, setting: &str, value: &Value) -> Result<(), String> {
        match self.components.iter_mut().find(|known| known.name() == component) {
            Some(found) => found.configure(setting, value),
            None => Err(format!("no component '{component}'")),
        }
    }
}

/// All components, in the order in which they see a change.
fn components(config: &Config) -> Vec<Box<dyn Component>> {
    vec![
        Box::new(Kubelet::new(config)),
        Box::new(DeploymentController::default()),
        Box::new(ReplicaSetController::default()),
        Box::new(JobController::default()),
        Box::new(GarbageCollector::default()),
        Box::new(NamespaceController::default()),
        Box::new(NodeLifecycle::default()),
        Box::new(PodGarbageCollector::default()),
        Box::new(DisruptionController::default()),
        Box::new(Scheduler::new(config.ties)),
    ]
}
