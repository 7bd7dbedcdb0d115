//! What scheduler, kubelets and controllers have in common: they see changes, keep small projections of what they saw,
//! and act when their agenda entries come up. They meet only in the store, as the real components do.

use std::fmt;
use std::time::Duration;

use imbl::OrdSet;

use crate::api::registry::{Kind, Part};
use crate::api::status::Status;
use crate::api::store::{Change, ObjectKey};
use crate::api::{Caller, DeleteOptions, Server};
use crate::events::{EventSpec, Recorder};
use crate::plugins::{NodeMessage, Plugins};
use crate::time::{Agenda, Urgency, VirtualTime};
use crate::trace::{Decision, Trace};
use crate::value::{Text, Value};

/// A piece of work of one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// What to do, in the component's own words (`sync`, `schedule`, `status`).
    pub what: &'static str,
    /// About which object, if about one.
    pub key: Option<ObjectKey>,
}

impl Work {
    /// Work about one object.
    pub fn on(what: &'static str, key: ObjectKey) -> Work {
        Work { what, key: Some(key) }
    }

    /// Work about nothing in particular.
    pub fn tick(what: &'static str) -> Work {
        Work { what, key: None }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{} {key}", self.what),
            None => f.write_str(self.what),
        }
    }
}

/// An agenda entry: which component (by index in the world), and what.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Index of the component.
    pub component: usize,
    /// What it shall do.
    pub work: Work,
}

/// A part of the control plane.
pub trait Component: fmt::Debug + Send + Sync + CloneComponent {
    /// The name users know: `scheduler`, `kubelet`, `deployment-controller`.
    fn name(&self) -> &'static str;
    /// The kinds whose changes it sees; none means all.
    fn watches(&self) -> &'static [Kind];
    /// Called once when the world is made.
    fn start(&mut self, _plan: &mut Planner<'_>) {}
    /// Called once after that: puts in place what an established cluster has. What it writes is seen by all.
    fn boot(&mut self, _cx: &mut Context<'_>) {}
    /// Sees one change: updates projections and plans work. It cannot write here.
    fn observe(&mut self, change: &Change, plan: &mut Planner<'_>);
    /// Does a planned piece of work.
    fn act(&mut self, work: &Work, cx: &mut Context<'_>);
    /// Hears what reaches a node from outside the API.
    ///
    /// # Errors
    /// A sentence for the user when there is no such node or it cannot be done.
    fn receive(&mut self, _node: &str, _message: &NodeMessage, _cx: &mut Context<'_>) -> Result<(), String> {
        Err(format!("{} has no nodes", self.name()))
    }
    /// Takes a setting of this component (a scheduler profile, …).
    ///
    /// # Errors
    /// A sentence for the user when the component has no such setting or the value does not fit.
    fn configure(&mut self, setting: &str, _value: &Value) -> Result<(), String> {
        Err(format!("{} has no setting '{setting}'", self.name()))
    }
}

/// Cloning behind a box; implemented for every `Clone` component.
pub trait CloneComponent {
    /// A copy of the component.
    fn boxed(&self) -> Box<dyn Component>;
}

impl<C: Component + Clone + 'static> CloneComponent for C {
    fn boxed(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Component> {
    fn clone(&self) -> Box<dyn Component> {
        // Through the trait object, or the box itself would be taken for the component.
        (**self).boxed()
    }
}

/// Puts work on the agenda.
#[derive(Debug)]
pub struct Planner<'a> {
    /// The present moment.
    pub now: VirtualTime,
    pub(crate) me: usize,
    pub(crate) agenda: &'a mut Agenda<Entry>,
}

impl Planner<'_> {
    /// At once, after what is already planned for this moment.
    pub fn soon(&mut self, work: Work) {
        self.at(self.now, Urgency::Work, work);
    }

    /// After a while.
    pub fn after(&mut self, delay: Duration, urgency: Urgency, work: Work) {
        self.at(self.now + delay, urgency, work);
    }

    /// At a moment; a past one means now.
    pub fn at(&mut self, at: VirtualTime, urgency: Urgency, work: Work) {
        self.agenda.add(at.max(self.now), urgency, Entry { component: self.me, work });
    }
}

/// What a component may do while it acts.
#[derive(Debug)]
pub struct Context<'a> {
    /// The present moment.
    pub now: VirtualTime,
    /// The API server, for reads; writes go through the methods below.
    pub server: &'a mut Server,
    /// The record of decisions.
    pub trace: &'a mut Trace,
    /// The device plugins.
    pub plugins: &'a mut dyn Plugins,
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) name: &'static str,
    pub(crate) me: usize,
    pub(crate) agenda: &'a mut Agenda<Entry>,
}

impl Context<'_> {
    /// The planner, for [`WorkQueue`] and later work.
    pub fn plan(&mut self) -> Planner<'_> {
        Planner { now: self.now, me: self.me, agenda: self.agenda }
    }

    fn caller(&self) -> Caller<'static> {
        Caller { now: self.now, manager: self.name }
    }

    /// The object under `key`.
    pub fn get(&self, key: &ObjectKey) -> Option<&Value> {
        self.server.store.get(key)
    }

    /// Creates an object.
    ///
    /// # Errors
    /// What the API server answers.
    pub fn create(&mut self, kind: Kind, namespace: &str, object: Value) -> Result<Value, Status> {
        self.server.create(&self.caller(), kind, namespace, object)
    }

    /// Changes a part of an object: `change` gets the present state; nothing is written when it changes nothing.
    ///
    /// # Errors
    /// What the API server answers; `NotFound` when the object is gone.
    pub fn update(&mut self, key: &ObjectKey, part: Part, change: impl FnOnce(&mut Value)) -> Result<Value, Status> {
        let Some(before) = self.server.store.get(key) else {
            return Err(Status::not_found(self.server.registry.info(key.kind).resource(), &key.name));
        };
        let mut object = before.clone();
        change(&mut object);
        if object == *before {
            return Ok(object);
        }
        self.server.update(&self.caller(), key, part, object)
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// What the API server answers.
    pub fn delete(&mut self, key: &ObjectKey, options: &DeleteOptions) -> Result<Value, Status> {
        self.server.delete(&self.caller(), key, options)
    }

    /// Binds a pod to a node.
    ///
    /// # Errors
    /// What the API server answers (409 when bound, deleted or gated).
    pub fn bind(&mut self, pod: &ObjectKey, node: &str) -> Result<(), Status> {
        self.server.bind(&self.caller(), pod, node)
    }

    /// Records an event; repeated ones are folded as the real recorders fold them.
    pub fn event(&mut self, event: &EventSpec<'_>) {
        self.recorder.record(self.server, self.now, event);
    }

    /// Records a decision.
    pub fn decide(&mut self, object: &ObjectKey, reason: &'static str, because: impl Into<String>, detail: Value) {
        self.trace.record(Decision {
            at: self.now,
            actor: self.name,
            object: object.clone(),
            reason,
            because: because.into(),
            detail,
        });
    }
}

/// Keys waiting for a `sync`, each at most once (client-go's workqueue).
#[derive(Clone, Debug, Default)]
pub struct WorkQueue {
    waiting: OrdSet<ObjectKey>,
}

impl WorkQueue {
    /// Plans a `sync` of `key` unless one is already planned.
    pub fn add(&mut self, key: ObjectKey, plan: &mut Planner<'_>) {
        if self.waiting.insert(key.clone()).is_none() {
            plan.soon(Work::on("sync", key));
        }
    }

    /// Plans a `sync` of `key` after a while unless one is already planned, to take several changes together.
    pub fn add_after(&mut self, key: ObjectKey, delay: Duration, plan: &mut Planner<'_>) {
        if self.waiting.insert(key.clone()).is_none() {
            plan.after(delay, Urgency::Work, Work::on("sync", key));
        }
    }

    /// To be called at the start of the `sync` of `key`.
    pub fn take(&mut self, key: &ObjectKey) {
        self.waiting.remove(key);
    }
}

/// The key of the controlling owner, if it is of this kind.
pub fn controller_key(object: &Value, kind: Kind, kind_name: &str) -> Option<(ObjectKey, Text)> {
    let owner = object.controller().filter(|owner| owner.at(&["kind"]).str() == kind_name)?;
    let namespace = object.at(&["metadata", "namespace"]).text();
    Some((ObjectKey::new(kind, namespace, owner.at(&["name"]).text()), owner.at(&["uid"]).text()))
}
