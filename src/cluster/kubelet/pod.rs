//! The life of a pod on a lab node: admitted, started, ended or stopped, removed.
//!
//! Source: `pkg/kubelet/kubelet.go` (SyncPod, SyncTerminatingPod, SyncTerminatedPod),
//! `pkg/kubelet/kuberuntime/kuberuntime_manager.go`.

use std::sync::Arc;
use std::time::Duration;

use super::program::{self, Stop};
use super::resources::{Amounts, of_pod};
use super::{EXIT_CODE, FINISH, Kubelet, NOTICE, RUNS, START, admission, event, status};
use crate::api::DeleteOptions;
use crate::api::registry::{Kind, Part};
use crate::api::store::ObjectKey;
use crate::component::{Context, Work};
use crate::object;
use crate::time::{Urgency, VirtualTime};
use crate::value::{Text, Value};

/// The first crash backoff; it doubles with every restart.
const BACKOFF: Duration = Duration::from_secs(10);
/// `crashLoopBackOff.maxContainerRestartPeriod`.
const BACKOFF_CAP: Duration = Duration::from_secs(300);
/// A container gets at least this long to stop.
const LEAST_GRACE: i64 = 2;

/// What the kubelet knows of a pod that it runs.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) uid: Text,
    pub(super) stage: Stage,
    /// When it was admitted.
    pub(super) admitted: VirtualTime,
    pub(super) host: String,
    pub(super) ip: String,
    pub(super) requests: Amounts,
    pub(super) init: Vec<Container>,
    pub(super) containers: Vec<Container>,
    /// The value of [`FINISH`] that was acted upon.
    finish: Text,
}

/// How far a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its containers start at this moment.
    Starting(VirtualTime),
    Running,
    /// It was deleted; its containers have stopped by this moment.
    Stopping(VirtualTime),
    Ended,
}

/// One container.
#[derive(Clone, Debug)]
pub(super) struct Container {
    pub(super) name: Text,
    pub(super) sidecar: bool,
    pub(super) state: State,
    pub(super) restarts: i64,
    /// How it ended the last time, `state.terminated` of the API.
    pub(super) last: Option<Value>,
    /// What a crash costs next; none when there was no crash lately.
    backoff: Option<Duration>,
}

/// What a container does.
#[derive(Clone, Debug)]
pub(super) enum State {
    Waiting,
    Running {
        id: Text,
        since: VirtualTime,
        /// When its program ends by itself.
        ends: Option<VirtualTime>,
    },
    Ended {
        /// `state.terminated` of the API.
        terminated: Value,
        code: i64,
        /// When it starts again.
        restart: Option<VirtualTime>,
        /// How long it is held back before that, when it is.
        held: Option<Duration>,
    },
}

impl Run {
    /// Whether the pod still counts against the node.
    pub(super) fn is_active(&self) -> bool {
        self.stage != Stage::Ended
    }

    /// Whether any of its containers runs.
    pub(super) fn is_running(&self) -> bool {
        self.init.iter().chain(&self.containers).any(|container| matches!(container.state, State::Running { .. }))
    }

    /// The next moment at which something happens to the pod by itself.
    fn wake(&self) -> Option<(VirtualTime, Urgency, &'static str)> {
        match self.stage {
            Stage::Starting(at) => Some((at, Urgency::Work, "start")),
            Stage::Stopping(at) => Some((at, Urgency::Work, "stop")),
            Stage::Ended => None,
            Stage::Running => {
                let next = self.containers.iter().filter_map(|container| match &container.state {
                    State::Running { ends: Some(ends), .. } => Some((*ends, Urgency::Program, "exit")),
                    State::Ended { restart: Some(at), held: None, .. } => Some((*at, Urgency::Work, "restart")),
                    State::Ended { restart: Some(at), .. } => Some((*at, Urgency::Program, "restart")),
                    _ => None,
                });
                next.min_by_key(|(at, _, _)| *at)
            }
        }
    }
}

impl Kubelet {
    /// Brings what the kubelet does in line with the pod object.
    pub(super) fn sync_pod(&mut self, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(pod) = cx.get(key).cloned() else { return };
        let node = pod.at(&["spec", "nodeName"]).text();
        let Some(state) = self.nodes.get_mut(&node).filter(|state| !state.stopped) else { return };
        let run = state.runs.get(key).filter(|run| run.uid == pod.uid()).cloned();
        let Some(mut run) = run else {
            state.runs.remove(key);
            self.take_up(&node, &pod, key, cx);
            return;
        };
        let known = Arc::make_mut(&mut run);
        let finish = pod.at(&["metadata", "annotations", FINISH]).text();
        if pod.is_deleting() {
            if matches!(known.stage, Stage::Starting(_) | Stage::Running) {
                // Before it stops anything the kubelet reports that it has seen the deletion.
                self.write(key, known, &pod, cx);
            }
            stop(known, &node, &pod, cx);
        } else if known.stage == Stage::Running && !finish.is_empty() && finish != known.finish {
            known.finish = finish;
            let code = program::exit_code(Some(&known.finish));
            for index in 0..known.containers.len() {
                end(known, index, code, &node, &pod, cx);
            }
            self.write(key, known, &pod, cx);
        } else {
            return;
        }
        self.keep(&node, key, run, cx);
    }

    /// Does what was planned for this moment.
    pub(super) fn act_pod(&mut self, what: &str, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(pod) = cx.get(key).cloned() else { return };
        let node = pod.at(&["spec", "nodeName"]).text();
        let Some(state) = self.nodes.get(&node).filter(|state| !state.stopped) else { return };
        let Some(mut run) = state.runs.get(key).filter(|run| run.uid == pod.uid()).cloned() else { return };
        let known = Arc::make_mut(&mut run);
        // Entries may be older than the present plan; they then find nothing due.
        match (what, known.stage) {
            ("start", Stage::Starting(at)) if at <= cx.now => start(known, &node, &pod, cx),
            ("exit" | "restart", Stage::Running) => {
                if !turn(known, &node, &pod, cx) {
                    return;
                }
            }
            ("stop", Stage::Stopping(at)) if at <= cx.now => {
                known.stage = Stage::Ended;
                cx.plan().soon(Work::on("remove", key.clone()));
            }
            ("remove", Stage::Ended) if pod.is_deleting() => {
                remove(&pod, key, cx);
                return;
            }
            _ => return,
        }
        self.write(key, known, &pod, cx);
        self.keep(&node, key, run, cx);
    }

    /// A pod that this kubelet sees for the first time.
    fn take_up(&mut self, node: &Text, pod: &Value, key: &ObjectKey, cx: &mut Context<'_>) {
        if pod.is_deleting() {
            remove(pod, key, cx);
            return;
        }
        if pod.has_ended() {
            return;
        }
        let Some(object) = cx.get(&ObjectKey::new(Kind::NODE, "", node)).cloned() else { return };
        let Some(state) = self.nodes.get_mut(node) else { return };
        if let Err(rejection) = admission::admit(state, &object, pod, cx) {
            event(cx, node, pod, "", true, &rejection.reason, &rejection.message);
            let status = status::rejected(pod, &rejection, cx.now);
            let _ = cx.update(key, Part::Status, |pod| pod.set(&["status"], status));
            return;
        }
        self.addresses += 1;
        let run = begin(state.index, self.addresses, pod, cx.now);
        self.write(key, &run, pod, cx);
        self.keep(node, key, Arc::new(run), cx);
    }

    /// Writes a pod's status again because of something outside it.
    pub(super) fn rewrite(&self, node: &str, key: &ObjectKey, cx: &mut Context<'_>) {
        let Some(pod) = cx.get(key).cloned() else { return };
        if let Some(run) = self.nodes.get(node).and_then(|state| state.runs.get(key)) {
            self.write(key, run, &pod, cx);
        }
    }

    fn write(&self, key: &ObjectKey, run: &Run, pod: &Value, cx: &mut Context<'_>) {
        let Some(node) = self.nodes.get(pod.at(&["spec", "nodeName"]).str()) else { return };
        let status = status::of(run, pod, &node.manager, cx.now);
        // A pod that is gone in the meantime needs no status.
        let _ = cx.update(key, Part::Status, |pod| pod.set(&["status"], status));
    }

    fn keep(&mut self, node: &Text, key: &ObjectKey, run: Arc<Run>, cx: &mut Context<'_>) {
        if let Some((at, urgency, what)) = run.wake() {
            cx.plan().at(at, urgency, Work::on(what, key.clone()));
        }
        if let Some(state) = self.nodes.get_mut(node) {
            state.runs.insert(key.clone(), run);
        }
    }

    /// Plans again what a kubelet that was down has missed.
    pub(super) fn resume(&mut self, node: &Text, cx: &mut Context<'_>) {
        let Some(state) = self.nodes.get(node) else { return };
        for (key, run) in &state.runs {
            if let Some((at, urgency, what)) = run.wake() {
                cx.plan().at(at, urgency, Work::on(what, key.clone()));
            }
        }
        let bound = |pod: &Value| pod.at(&["spec", "nodeName"]).str() == node.as_str();
        let pods = cx.server.store.list(Kind::POD, "").filter(|(_, pod)| bound(pod));
        let keys: Vec<ObjectKey> = pods.map(|(key, _)| key.clone()).chain(state.runs.keys().cloned()).collect();
        for key in keys {
            self.queue.add(key, &mut cx.plan());
        }
    }
}

fn begin(index: usize, number: u32, pod: &Value, now: VirtualTime) -> Run {
    let container = |spec: &Value| Container {
        name: spec.at(&["name"]).text(),
        sidecar: spec.at(&["restartPolicy"]).str() == "Always",
        state: State::Waiting,
        restarts: 0,
        last: None,
        backoff: None,
    };
    Run {
        uid: Text::from(pod.uid()),
        stage: Stage::Starting(now + START),
        admitted: now,
        host: super::node::address(index),
        ip: format!("10.88.{}.{}", 1 + (number >> 8), number & 255),
        requests: of_pod(pod, "requests"),
        init: pod.at(&["spec", "initContainers"]).items().iter().map(container).collect(),
        containers: pod.at(&["spec", "containers"]).items().iter().map(container).collect(),
        finish: Text::default(),
    }
}

fn start(run: &mut Run, node: &str, pod: &Value, cx: &mut Context<'_>) {
    run.stage = Stage::Running;
    let specs = pod.at(&["spec", "initContainers"]).items();
    for (container, spec) in run.init.iter_mut().zip(specs) {
        let field = format!("spec.initContainers{{{}}}", container.name);
        launch(container, spec, &field, node, pod, cx);
        if !container.sidecar {
            close(container, 0, cx.now);
        }
    }
    let specs = pod.at(&["spec", "containers"]).items();
    for (container, spec) in run.containers.iter_mut().zip(specs) {
        let field = format!("spec.containers{{{}}}", container.name);
        launch(container, spec, &field, node, pod, cx);
    }
}

fn launch(container: &mut Container, spec: &Value, field: &str, node: &str, pod: &Value, cx: &mut Context<'_>) {
    let image = spec.at(&["image"]).str();
    if spec.at(&["imagePullPolicy"]).str() == "Always" {
        event(cx, node, pod, field, false, "Pulling", &format!("Pulling image \"{image}\""));
        let text = "in 1s (1s including waiting). Image size: 3223 bytes.";
        event(cx, node, pod, field, false, "Pulled", &format!("Successfully pulled image \"{image}\" {text}"));
    } else {
        let text = "already present on machine and can be accessed by the pod";
        event(cx, node, pod, field, false, "Pulled", &format!("Container image \"{image}\" {text}"));
    }
    event(cx, node, pod, field, false, "Created", "Container created");
    event(cx, node, pod, field, false, "Started", "Container started");
    let ends = pod.annotation(RUNS).and_then(program::duration).map(|length| cx.now + length);
    let parts = ["container", pod.uid(), &container.name, &container.restarts.to_string()];
    let id = Text::from(status::hex(cx.server.seed(), &parts));
    container.state = State::Running { id, since: cx.now, ends: ends.filter(|_| !container.sidecar) };
}

/// A running container has ended.
fn close(container: &mut Container, code: i64, at: VirtualTime) {
    let State::Running { id, since, .. } = &container.state else { return };
    let reason = if code == 0 { "Completed" } else { "Error" };
    let terminated = object! {
        "containerID" => format!("containerd://{id}"), "exitCode" => code, "reason" => reason,
        "startedAt" => since.rfc3339(), "finishedAt" => at.rfc3339(),
    };
    container.state = State::Ended { terminated, code, restart: None, held: None };
}

/// Container number `index` ends by itself: decides whether and when it starts again.
fn end(run: &mut Run, index: usize, code: i64, node: &str, pod: &Value, cx: &mut Context<'_>) {
    let container = &mut run.containers[index];
    let State::Running { since, .. } = container.state else { return };
    close(container, code, cx.now);
    if cx.now.since(since) >= 2 * BACKOFF_CAP {
        container.backoff = None;
    }
    if program::restarts(pod.at(&["spec", "restartPolicy"]).str(), code) {
        let held = container.backoff;
        container.backoff = Some(held.map_or(BACKOFF, |held| (2 * held).min(BACKOFF_CAP)));
        if let State::Ended { restart, held: waits, .. } = &mut container.state {
            *restart = Some(cx.now + held.unwrap_or(NOTICE));
            *waits = held;
        }
        if held.is_some() {
            let name = &container.name;
            let text = format!("Back-off restarting failed container {name} in pod {}", full_name(pod));
            event(cx, node, pod, &format!("spec.containers{{{name}}}"), true, "BackOff", &text);
        }
    }
    let over = |container: &Container| matches!(container.state, State::Ended { restart: None, .. });
    if run.containers.iter().all(over) {
        run.stage = Stage::Ended;
        for sidecar in run.init.iter_mut().rev() {
            close(sidecar, 0, cx.now);
        }
    }
}

/// `name_namespace(uid)`, as the kubelet names pods.
pub(super) fn full_name(pod: &Value) -> String {
    format!("{}_{}({})", pod.name(), pod.namespace(), pod.uid())
}

/// Ends and restarts containers whose time has come; says whether there was one.
fn turn(run: &mut Run, node: &str, pod: &Value, cx: &mut Context<'_>) -> bool {
    let mut turned = false;
    let specs = pod.at(&["spec", "containers"]).items();
    for (index, spec) in specs.iter().enumerate().take(run.containers.len()) {
        match &run.containers[index].state {
            State::Running { ends: Some(ends), .. } if *ends <= cx.now => {
                let code = program::exit_code(pod.annotation(EXIT_CODE));
                end(run, index, code, node, pod, cx);
                turned = true;
            }
            State::Ended { restart: Some(at), terminated, .. } if *at <= cx.now => {
                let last = terminated.clone();
                let container = &mut run.containers[index];
                container.last = Some(last);
                container.restarts += 1;
                let field = format!("spec.containers{{{}}}", container.name);
                launch(container, spec, &field, node, pod, cx);
                turned = true;
            }
            _ => {}
        }
    }
    turned
}

/// The pod was deleted: its containers are told to stop, or their time is shortened.
fn stop(run: &mut Run, node: &str, pod: &Value, cx: &mut Context<'_>) {
    let grace = pod.at(&["metadata", "deletionGracePeriodSeconds"]).int().max(LEAST_GRACE);
    let killed = cx.now + Duration::from_secs(grace.unsigned_abs());
    match run.stage {
        Stage::Ended => {
            let key = ObjectKey::of(Kind::POD, pod);
            cx.plan().soon(Work::on("remove", key));
            return;
        }
        Stage::Stopping(at) => {
            run.stage = Stage::Stopping(at.min(killed));
            return;
        }
        Stage::Starting(_) | Stage::Running => {}
    }
    let mut stopped = cx.now + NOTICE;
    let specs = pod.at(&["spec", "initContainers"]).items().iter().chain(pod.at(&["spec", "containers"]).items());
    let (inits, now) = (run.init.len(), cx.now);
    for (index, (container, spec)) in run.init.iter_mut().chain(&mut run.containers).zip(specs).enumerate() {
        match &mut container.state {
            State::Running { .. } => {
                let part = if index < inits { "initContainers" } else { "containers" };
                let field = format!("spec.{part}{{{}}}", container.name);
                event(cx, node, pod, &field, false, "Killing", &format!("Stopping container {}", container.name));
                match program::on_sigterm(spec) {
                    Stop::Exits(code) => close(container, code, now),
                    Stop::Ignores => {
                        close(container, 137, killed);
                        stopped = stopped.max(killed);
                    }
                }
            }
            State::Ended { restart, held, .. } => (*restart, *held) = (None, None),
            State::Waiting => {
                let terminated = object! {
                    "exitCode" => 137, "reason" => "ContainerStatusUnknown", "startedAt" => Value::Null,
                    "finishedAt" => Value::Null,
                    "message" => "The container could not be located when the pod was terminated",
                };
                container.state = State::Ended { terminated, code: 137, restart: None, held: None };
            }
        }
    }
    run.stage = Stage::Stopping(stopped);
}

fn remove(pod: &Value, key: &ObjectKey, cx: &mut Context<'_>) {
    let options =
        DeleteOptions { grace_period_seconds: Some(0), uid: Some(Text::from(pod.uid())), ..DeleteOptions::default() };
    // Gone already, or another pod of the same name: both are fine.
    let _ = cx.delete(key, &options);
}
