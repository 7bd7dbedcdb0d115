//! Delete: grace, finalizers, preconditions.

use std::time::Duration;

use super::super::admission;
use super::super::registry::{Kind, KindInfo};
use super::super::status::Status;
use super::super::store::ObjectKey;
use super::super::{Caller, DeleteOptions, Propagation, Server};
use crate::time::VirtualTime;
use crate::value::Value;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// What a DELETE left.
#[derive(Clone, Debug)]
pub struct Deleted {
    /// The object, or its last state.
    pub object: Value,
    /// Whether it is gone.
    pub gone: bool,
}

/// What grace makes of a deletion (apiserver `rest.BeforeDelete`).
#[derive(PartialEq, Eq)]
enum Grace {
    /// The kind knows no grace.
    None,
    /// The object is already on its way, and this request does not shorten it.
    Pending,
    /// The object now has this many seconds.
    Set(i64),
}

impl Server {
    /// Deletes an object, or begins to: grace and finalizers may hold it. Returns the object or its last state.
    ///
    /// # Errors
    /// 404, 403 from admission, 409 for a failed precondition.
    pub fn delete(&mut self, caller: &Caller<'_>, key: &ObjectKey, options: &DeleteOptions) -> Result<Value, Status> {
        self.delete_object(caller, key, options).map(|deleted| deleted.object)
    }

    /// As [`Server::delete`], and says whether the object is gone.
    pub(in crate::api) fn delete_object(
        &mut self,
        caller: &Caller<'_>,
        key: &ObjectKey,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let info = self.registry.info(key.kind).clone();
        let Some(before) = self.store.get(key).cloned() else {
            return Err(Status::not_found(info.resource(), &key.name));
        };
        check_preconditions(&info, key, &before, options)?;
        admission::admit_delete(self, caller, key)?;
        let mut object = before.clone();
        if key.kind == Kind::NAMESPACE && !before.at(&["spec", "finalizers"]).items().is_empty() {
            return Ok(self.terminate_namespace(caller, key, object, options));
        }
        let grace = if key.kind == Kind::POD { pod_grace(caller.now, &mut object, options) } else { Grace::None };
        if grace == Grace::Pending {
            return Ok(Deleted { object: before, gone: false });
        }
        set_finalizers(&mut object, options);
        let held = !object.at(&["metadata", "finalizers"]).items().is_empty();
        if held && grace == Grace::None {
            mark(caller.now, &mut object);
        }
        if object != before {
            object = self.keep(key, object);
        }
        if held || matches!(grace, Grace::Set(1..)) {
            return Ok(Deleted { object, gone: false });
        }
        Ok(Deleted { object: self.drop_object(key, object), gone: true })
    }

    /// A namespace with finalizers turns Terminating and waits for its controller
    /// (`pkg/registry/core/namespace/storage`).
    fn terminate_namespace(
        &mut self,
        caller: &Caller<'_>,
        key: &ObjectKey,
        mut object: Value,
        options: &DeleteOptions,
    ) -> Deleted {
        if !object.is_deleting() {
            object.set(&["metadata", "deletionTimestamp"], caller.now.rfc3339());
            object.set(&["status", "phase"], "Terminating");
            if options.propagation.is_some() {
                set_finalizers(&mut object, options);
            }
            object = self.keep(key, object);
        }
        Deleted { object, gone: false }
    }
}

pub(super) fn check_preconditions(
    info: &KindInfo,
    key: &ObjectKey,
    before: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    // Upstream names the kind here, where other conflicts name the resource.
    let resource = super::super::status::Resource { group: &info.group, plural: &info.kind };
    if let Some(uid) = options.uid.as_ref().filter(|uid| **uid != before.uid()) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            before.uid()
        );
        return Err(Status::conflict(resource, &key.name, &why));
    }
    let kept = before.at(&["metadata", "resourceVersion"]).str();
    if let Some(version) = options.resource_version.as_ref().filter(|version| **version != kept) {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record \
             ({kept}). The object might have been modified"
        );
        return Err(Status::conflict(resource, &key.name, &why));
    }
    Ok(())
}

/// Grace of a pod: the option, else its own; none when it is not bound or has ended. A pod that is already being
/// deleted may only have it shortened.
fn pod_grace(now: VirtualTime, pod: &mut Value, options: &DeleteOptions) -> Grace {
    let asked = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if pod.is_deleting() {
        let present = pod.at(&["metadata", "deletionGracePeriodSeconds"]).as_i64();
        let (Some(asked), Some(present)) = (asked, present) else { return Grace::Pending };
        if asked >= present {
            return Grace::Pending;
        }
        if let Some(ends) = VirtualTime::parse(pod.at(&["metadata", "deletionTimestamp"]).str()) {
            let earlier = VirtualTime::from_micros(ends.micros() - (present - asked) * 1_000_000);
            pod.set(&["metadata", "deletionTimestamp"], earlier.rfc3339());
        }
        pod.set(&["metadata", "deletionGracePeriodSeconds"], asked);
        return Grace::Set(asked);
    }
    let own = pod.at(&["spec", "terminationGracePeriodSeconds"]).int();
    let ended = pod.has_ended();
    let unbound = pod.at(&["spec", "nodeName"]).str().is_empty();
    let seconds = if ended || unbound { 0 } else { asked.unwrap_or(if own < 0 { 1 } else { own }) };
    let ends = now + Duration::from_secs(seconds.unsigned_abs());
    pod.set(&["metadata", "deletionTimestamp"], ends.rfc3339());
    pod.set(&["metadata", "deletionGracePeriodSeconds"], seconds);
    raise_generation(pod);
    Grace::Set(seconds)
}

/// Sets or takes away the garbage collector's finalizers as the policy says; without a policy they stay.
fn set_finalizers(object: &mut Value, options: &DeleteOptions) {
    let Some(propagation) = options.propagation else { return };
    let finalizers = object.at(&["metadata", "finalizers"]);
    let mut kept: Vec<Value> =
        finalizers.items().iter().filter(|one| !matches!(one.str(), ORPHAN | FOREGROUND)).cloned().collect();
    match propagation {
        Propagation::Background => {}
        Propagation::Orphan => kept.push(ORPHAN.into()),
        Propagation::Foreground => kept.push(FOREGROUND.into()),
    }
    if kept == finalizers.items() {
        return;
    }
    if kept.is_empty() {
        object.remove(&["metadata", "finalizers"]);
    } else {
        object.set(&["metadata", "finalizers"], kept);
    }
}

/// Marks an object of a kind without grace as being deleted.
fn mark(now: VirtualTime, object: &mut Value) {
    if object.is_deleting() {
        return;
    }
    object.set(&["metadata", "deletionTimestamp"], now.rfc3339());
    object.set(&["metadata", "deletionGracePeriodSeconds"], 0);
    raise_generation(object);
}

fn raise_generation(object: &mut Value) {
    if let Some(generation) = object.at(&["metadata", "generation"]).as_i64() {
        object.set(&["metadata", "generation"], generation + 1);
    }
}
