//! Waits: they never hang. In a quiet world an unmet condition fails at once and says why.

use std::rc::Rc;
use std::time::Duration;

use rhai::{Array, Dynamic, FnPtr, NativeCallContext};
use serde_json::Value;

use super::act::Applied;
use super::convert::{at, text};
use super::docs::Registrar;
use super::fault::{Fault, Res};
use super::kinds::KindRef;
use super::lab::Lab;
use super::listing::{Listing, truth};
use super::node::condition;
use super::object::{Object, target};
use super::options::{kind_of, span};
use super::pod::why;
use super::rows::Rows;
use crate::backend::{Check, Waited, duration};
use crate::error::Kind;

/// How long a wait lasts when nothing else is said.
pub const LIMIT: Duration = Duration::from_secs(600);

/// What a condition says, or how far it is from holding.
pub enum State {
    /// It holds.
    Holds,
    /// It does not hold, and how it stands (`2 of 4 pods are Running`); at least so many changes are needed.
    Not(String, u64),
    /// It will never hold.
    Never(String),
}

/// Registers the verbs.
pub fn register(registrar: &mut Registrar<'_>) {
    waits(registrar);
    any(registrar);
    running(registrar);
    pending(registrar);
}

impl Lab {
    /// Lets the cluster run until `condition` holds.
    ///
    /// # Errors
    /// When it cannot come true, when the limit is reached, or when the condition itself fails.
    pub fn wait(&self, what: &str, within: Duration, condition: &mut dyn FnMut() -> Res<State>) -> Res<()> {
        let mut failed = None;
        let mut stands = String::new();
        let waited = self.backend.wait_until(
            within,
            &mut || match condition() {
                Ok(State::Holds) => Check::Met,
                Ok(State::Not(now, needed)) => {
                    stands = now;
                    Check::Needs(needed)
                }
                Ok(State::Never(why)) => {
                    failed = Some(Fault::new(Kind::Wait, format!("{what} cannot come true: {why}")).into());
                    Check::Abort
                }
                Err(error) => {
                    failed = Some(error);
                    Check::Abort
                }
            },
            &mut |step| self.record_step(step),
        );
        if let Some(error) = failed {
            return Err(error);
        }
        let stands = if stands.is_empty() { String::new() } else { format!(": {stands}") };
        self.conclude(waited, what, within, &stands)
    }

    fn conclude(&self, waited: Waited, what: &str, within: Duration, stands: &str) -> Res<()> {
        let mut fault = match waited {
            Waited::Met => return Ok(()),
            Waited::Quiet(upcoming) => {
                let mut fault = Fault::new(
                    Kind::Wait,
                    format!("{what} cannot come true: the cluster is quiet and it does not hold{stands}"),
                );
                self.tell_waiting(&mut fault);
                if let Some(next) = upcoming {
                    let after = round_up(next.after);
                    fault.hints.push(format!(
                        "only time would change something (next: {} in {}): advance(\"{after}\")",
                        next.what,
                        duration::show(next.after)
                    ));
                }
                return Err(fault.into());
            }
            Waited::TimedOut => Fault::new(
                Kind::Wait,
                format!(
                    "{what} did not come true within {}{stands}; the clock shows {}",
                    duration::show(within),
                    self.clock()
                ),
            ),
            Waited::Interrupted | Waited::Abort => return Err(Fault::new(Kind::Interrupted, "cancelled").into()),
            Waited::Livelock(what) => {
                return Err(Fault::new(
                    Kind::Bug,
                    format!("the cluster never comes to rest at {}: {what}", self.clock()),
                )
                .into());
            }
        };
        self.tell_waiting(&mut fault);
        if let Some(under_way) = self.backend.under_way() {
            fault.hints.push(format!("still under way: {under_way}"));
        }
        Err(fault.into())
    }

    /// The virtual time since the start, `00:03:20`.
    pub fn clock(&self) -> String {
        duration::clock(self.backend.now().since(self.backend.epoch()))
    }

    /// Adds what waits, and why, to a failed wait.
    fn tell_waiting(&self, fault: &mut Fault) {
        const SHOWN: usize = 3;
        let waiting = self.waiting("").unwrap_or_default();
        for (pod, reason, message) in waiting.iter().take(SHOWN) {
            fault.hints.push(if message.is_empty() {
                format!("pod/{pod} is waiting: {reason}")
            } else {
                format!("pod/{pod} is waiting: {message}")
            });
        }
        if waiting.len() > SHOWN {
            fault.hints.push(format!("and {} more pods are waiting", waiting.len() - SHOWN));
        }
    }

    /// Pods that wait, with reason and sentence, in a namespace or everywhere.
    fn waiting(&self, namespace: &str) -> Result<Vec<(String, String, String)>, Fault> {
        let Some(kind) = KindRef::built_in("Pod") else { return Ok(Vec::new()) };
        let pods = self.list(&kind, namespace, "", "")?;
        let waiting = pods.iter().filter(|pod| {
            text(pod, &["status", "phase"]) == "Pending" && at(pod, &["metadata", "deletionTimestamp"]).is_null()
        });
        Ok(waiting
            .map(|pod| {
                let (reason, message) = why(pod);
                let reason = if reason.is_empty() { "Pending".to_owned() } else { reason };
                (text(pod, &["metadata", "name"]).to_owned(), reason, message)
            })
            .collect())
    }
}

/// A span that is easy to write and not shorter.
fn round_up(span: Duration) -> String {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    let rounded = if seconds > 60 { seconds.div_ceil(60) * 60 } else { seconds.max(1) };
    duration::show(Duration::from_secs(rounded))
}

fn within(value: Option<Dynamic>) -> Result<Duration, Fault> {
    value.map_or(Ok(LIMIT), span)
}

/// The closure of an argument.
fn closure(value: &Dynamic, function: &str) -> Result<FnPtr, Fault> {
    value.flatten_clone().try_cast::<FnPtr>().ok_or_else(|| {
        Fault::script(format!("{function} takes a closure; got {}", kind_of(value)))
            .hint(format!("write the condition as a closure, so that it can be asked again: {function}(|| …)"))
    })
}

fn waits(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    let wait = move |context: &NativeCallContext<'_>, holds: Dynamic, limit: Option<Dynamic>| -> Res<()> {
        let limit = within(limit)?;
        let holds = closure(&holds, "wait")?;
        lab.wait("the condition", limit, &mut || {
            let holds = truth(&holds.call_within_context::<Dynamic>(context, ())?, "wait")?;
            Ok(if holds { State::Holds } else { State::Not(String::new(), 1) })
        })
    };
    registrar.function(
        "wait(holds: || bool) -> ()",
        "Lets the cluster run until the closure holds.\nWaits: at most 10 minutes of the cluster's time, or the given span.\nFails: at once when the cluster is quiet and the closure does not hold, with what waits and why.\nExample: submit(#{name: \"mri\", gpus: 1});\n  wait(|| pod(\"mri\").phase == \"Running\", \"30s\");\nSee: wait_running, wait_pending, wait_any, settle",
        {
            let wait = wait.clone();
            move |context: NativeCallContext, holds: Dynamic| wait(&context, holds, None)
        },
    );
    registrar.function(
        "wait(holds: || bool, within: string) -> ()",
        "",
        move |context: NativeCallContext, holds: Dynamic, limit: Dynamic| wait(&context, holds, Some(limit)),
    );
}

fn any(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    let wait = move |context: &NativeCallContext<'_>, conditions: Dynamic, limit: Option<Dynamic>| -> Res<i64> {
        let limit = within(limit)?;
        let Some(conditions) = conditions.flatten_clone().try_cast::<Array>() else {
            return Err(
                Fault::script(format!("wait_any takes an array of closures; got {}", kind_of(&conditions))).into()
            );
        };
        let closures = conditions.iter().map(|one| closure(one, "wait_any")).collect::<Result<Vec<_>, _>>()?;
        let mut which = 0;
        lab.wait("none of the conditions", limit, &mut || {
            for (index, holds) in closures.iter().enumerate() {
                if truth(&holds.call_within_context::<Dynamic>(context, ())?, "wait_any")? {
                    which = index as i64;
                    return Ok(State::Holds);
                }
            }
            Ok(State::Not(String::new(), 1))
        })?;
        Ok(which)
    };
    registrar.function(
        "wait_any(conditions: array) -> int",
        "Lets the cluster run until one of several closures holds, and returns its index.\nWaits: at most 10 minutes of the cluster's time, or the given span.\nFails: as wait does.\nExample: submit(#{name: \"mri\", gpus: 1});\n  let which = wait_any([|| pod(\"mri\").phase == \"Running\", || pod(\"mri\").reason == \"Unschedulable\"]);\nSee: wait",
        {
            let wait = wait.clone();
            move |context: NativeCallContext, conditions: Dynamic| wait(&context, conditions, None)
        },
    );
    registrar.function(
        "wait_any(conditions: array, within: string) -> int",
        "",
        move |context: NativeCallContext, conditions: Dynamic, limit: Dynamic| wait(&context, conditions, Some(limit)),
    );
}

fn running(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    let wait = move |what: Dynamic, limit: Option<Dynamic>| -> Res<()> {
        let limit = within(limit)?;
        if let Ok(wanted) = what.as_int() {
            let goal = format!("at least {wanted} Running {}", if wanted == 1 { "pod" } else { "pods" });
            return lab.wait(&goal, limit, &mut || count(&lab, wanted));
        }
        let objects = several(&lab, &what)?;
        let goal = match objects.as_slice() {
            [one] => format!("{} Running", one.id()),
            many => format!("{} objects Running", many.len()),
        };
        lab.wait(&goal, limit, &mut || {
            for object in &objects {
                match is_running(object)? {
                    State::Holds => {}
                    other => return Ok(other),
                }
            }
            Ok(State::Holds)
        })
    };
    registrar.function(
        "wait_running(n or x: int, string, handle or list) -> ()",
        "Lets the cluster run until at least n pods of the current namespace are Running, or until an object (or every object of a list) is: a pod Running, a deployment with all replicas ready, a node Ready.\nWaits: at most 10 minutes of the cluster's time, or the given span.\nFails: at once when it cannot come true, with what waits and why.\nExample: submit(#{name: \"mri\", gpus: 1});\n  wait_running(1);\n  wait_running(\"mri\", \"30s\");\nSee: wait, wait_pending",
        {
            let wait = wait.clone();
            move |what: Dynamic| wait(what, None)
        },
    );
    registrar.function(
        "wait_running(n or x: int, string, handle or list, within: string) -> ()",
        "",
        move |what: Dynamic, limit: Dynamic| wait(what, Some(limit)),
    );
}

/// The objects of an argument.
fn several(lab: &Rc<Lab>, what: &Dynamic) -> Result<Vec<Object>, Fault> {
    let value = what.flatten_clone();
    if let Some(list) = value.read_lock::<Listing>() {
        return Ok(list.values()?.iter().map(|one| Object::of(lab, list.kind().clone(), one)).collect());
    }
    if let Some(applied) = value.read_lock::<Applied>() {
        return Ok(applied.objects().to_vec());
    }
    if let Some(items) = value.read_lock::<Array>() {
        return items.iter().map(|one| target(lab, one, None, "wait_running")).collect();
    }
    Ok(vec![target(lab, &value, None, "wait_running")?])
}

fn count(lab: &Rc<Lab>, wanted: i64) -> Res<State> {
    let kind = lab.kind("pods")?;
    let pods = lab.list(&kind, &lab.namespace.borrow(), "", "")?;
    let running = pods.iter().filter(|pod| text(pod, &["status", "phase"]) == "Running").count() as i64;
    lab.note("pods", "status.phase=Running", || running.into());
    if running >= wanted {
        return Ok(State::Holds);
    }
    // Each pod takes at least one write of its own to become Running.
    let needed = u64::try_from(wanted - running).unwrap_or(1);
    Ok(State::Not(format!("{running} of {} pods are Running", pods.len()), needed))
}

fn is_running(object: &Object) -> Res<State> {
    let value = object.read()?;
    let id = object.id();
    Ok(match object.kind.kind.as_str() {
        "Pod" => match text(&value, &["status", "phase"]) {
            "Running" => State::Holds,
            phase @ ("Succeeded" | "Failed") => {
                let (reason, message) = why(&value);
                let why: Vec<String> = [reason, message].into_iter().filter(|one| !one.is_empty()).collect();
                let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join(": ")) };
                State::Never(format!("{id} has {phase}{why}"))
            }
            phase => State::Not(format!("{id} is {phase}"), 1),
        },
        "Deployment" | "ReplicaSet" | "StatefulSet" => {
            let wanted = at(&value, &["spec", "replicas"]).as_i64().unwrap_or(1);
            let ready = at(&value, &["status", "readyReplicas"]).as_i64().unwrap_or(0);
            let seen = at(&value, &["status", "observedGeneration"]) == at(&value, &["metadata", "generation"]);
            if seen && ready == wanted {
                State::Holds
            } else {
                State::Not(format!("{id} has {ready} of {wanted} ready"), 1)
            }
        }
        "Job" => active(&value, &id),
        "Node" => match condition(&value, "Ready") {
            "True" => State::Holds,
            _ => State::Not(format!("{id} is not Ready"), 1),
        },
        kind => return Err(Fault::script(format!("a {kind} does not run; wait(|| …) waits for any condition")).into()),
    })
}

fn active(job: &Value, id: &str) -> State {
    let count = |path: &[&str]| at(job, path).as_i64().unwrap_or(0);
    let (ready, wanted) = (count(&["status", "ready"]), count(&["spec", "parallelism"]));
    if ready >= wanted { State::Holds } else { State::Not(format!("{id} has {ready} of {wanted} ready"), 1) }
}

fn pending(registrar: &mut Registrar<'_>) {
    let lab = registrar.lab.clone();
    let wait = move |limit: Option<Dynamic>| -> Res<Rows> {
        let limit = within(limit)?;
        super::time::settle(&lab, limit)?;
        let namespace = lab.namespace.borrow().clone();
        let waiting = lab.waiting(&namespace)?;
        if waiting.is_empty() {
            let kind = lab.kind("pods")?;
            let pods = lab.list(&kind, &namespace, "", "")?;
            let state = match pods.len() {
                0 => format!("there are no pods in namespace {namespace}"),
                1 => "the only pod does not wait".to_owned(),
                many => format!("none of the {many} pods waits"),
            };
            return Err(Fault::new(Kind::Wait, format!("nothing is pending: {state}")).into());
        }
        for (pod, _, message) in &waiting {
            lab.note(&format!("pod/{pod}"), "status.conditions[PodScheduled].message", || message.as_str().into());
        }
        let rows = waiting.into_iter().map(|(pod, reason, message)| {
            vec![("name", pod.into()), ("reason", reason.into()), ("message", message.into())]
        });
        Ok(Rows::new(&["name", "reason", "message"], rows))
    };
    registrar.function(
        "wait_pending() -> Rows",
        "Lets the cluster come to rest and returns what waits and why: a table of name, reason and message.\nWaits: until nothing is under way, at most 10 minutes of the cluster's time, or the given span.\nFails: when nothing waits.\nExample: submit(#{name: \"big\", gpus: 9});\n  print(wait_pending());\nSee: wait_running, settle",
        {
            let wait = wait.clone();
            move || wait(None)
        },
    );
    registrar.function("wait_pending(within: string) -> Rows", "", move |limit: Dynamic| wait(Some(limit)));
}
