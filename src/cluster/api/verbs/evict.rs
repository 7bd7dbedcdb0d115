//! `pods/eviction`: deletion that asks the disruption budgets first.
//!
//! Source: `pkg/registry/core/pod/storage/eviction.go`.

use super::super::registry::{Kind, Part};
use super::super::selector::Selector;
use super::super::status::{Resource, Status};
use super::super::store::ObjectKey;
use super::super::{Caller, DeleteOptions, Server};
use super::bind::set_condition;
use super::delete::check_preconditions;
use crate::value::Value;
use crate::{list, object};

const REFUSED: &str = "Cannot evict pod as it would violate the pod's disruption budget.";

impl Server {
    /// Evicts a pod.
    ///
    /// # Errors
    /// 404, 409 for a failed precondition, 429 when a budget forbids it, 500 for more than one budget.
    pub fn evict(&mut self, caller: &Caller<'_>, key: &ObjectKey, options: &DeleteOptions) -> Result<(), Status> {
        let Some(pod) = self.store.get(key).cloned() else {
            return Err(Status::not_found(self.registry.info(key.kind).resource(), &key.name));
        };
        check_preconditions(&self.registry.info(key.kind).clone(), key, &pod, options)?;
        let free = matches!(pod.at(&["status", "phase"]).str(), "Succeeded" | "Failed" | "Pending");
        if !free && !pod.is_deleting() {
            self.ask_budget(caller, &pod)?;
        }
        let mut marked = pod.clone();
        let condition = object! {
            "type" => "DisruptionTarget", "status" => "True", "reason" => "EvictionByEvictionAPI",
            "message" => "Eviction API: evicting",
        };
        set_condition(caller, &mut marked, condition);
        self.update(caller, key, Part::Status, marked)?;
        let options = DeleteOptions { resource_version: None, ..options.clone() };
        self.delete(caller, key, &options).map(drop)
    }

    fn ask_budget(&mut self, caller: &Caller<'_>, pod: &Value) -> Result<(), Status> {
        let budgets: Vec<(ObjectKey, Value)> = self
            .store
            .list(Kind::POD_DISRUPTION_BUDGET, pod.namespace())
            .filter(|(_, budget)| Selector::of_object(budget.at(&["spec", "selector"])).matches(pod.labels()))
            .map(|(key, budget)| (key.clone(), budget.clone()))
            .collect();
        let (key, budget) = match budgets.as_slice() {
            [] => return Ok(()),
            [(key, budget)] => (key, budget),
            _ => {
                let message =
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(Status::new(500, "", message));
            }
        };
        let status = |field| budget.at(&["status", field]);
        let (current, desired) = (status("currentHealthy").int(), status("desiredHealthy").int());
        if !pod.condition("Ready").at(&["status"]).str().eq("True") {
            let always = budget.at(&["spec", "unhealthyPodEvictionPolicy"]).str() == "AlwaysAllow";
            if always || (current >= desired && desired > 0) {
                return Ok(());
            }
        }
        if status("observedGeneration").int() < budget.at(&["metadata", "generation"]).int() {
            let text = format!("The disruption budget {} is still being processed by the server.", key.name);
            let mut refused = refusal(&text);
            refused.details.set(&["retryAfterSeconds"], 10);
            return Err(refused);
        }
        let allowed = status("disruptionsAllowed").int();
        if allowed < 0 {
            let resource = Resource { group: "policy", plural: "poddisruptionbudget" };
            return Err(Status::forbidden(resource, &key.name, "pdb disruptions allowed is negative"));
        }
        if allowed == 0 {
            return Err(refusal(&why_not(budget, current, desired)));
        }
        let mut spent = budget.clone();
        spent.set(&["status", "disruptionsAllowed"], allowed - 1);
        if allowed == 1 {
            forbid_more(caller, &mut spent);
        }
        spent.set(&["status", "disruptedPods", pod.name()], caller.now.rfc3339());
        self.update(caller, key, Part::Status, spent).map(drop)
    }
}

fn refusal(cause: &str) -> Status {
    let causes = list![object! { "reason" => "DisruptionBudget", "message" => cause }];
    Status::new(429, "TooManyRequests", REFUSED).with_details(object! { "causes" => causes })
}

fn why_not(budget: &Value, current: i64, desired: i64) -> String {
    let name = budget.name();
    let condition = budget.condition("DisruptionAllowed");
    let (reason, message) = (condition.at(&["reason"]).str(), condition.at(&["message"]).str());
    let explained = condition.at(&["status"]).str() == "False" && !message.is_empty();
    if explained && reason == "SyncFailed" {
        format!("The disruption budget {name} does not allow evicting pods currently because it failed sync: {message}")
    } else if current <= desired {
        format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently")
    } else if explained {
        format!("The disruption budget {name} does not allow evicting pods currently ({reason}): {message}")
    } else {
        format!("The disruption budget {name} does not allow evicting pods currently")
    }
}

/// The condition DisruptionAllowed once the last disruption is spent (`pkg/apis/policy/helper`).
fn forbid_more(caller: &Caller<'_>, budget: &mut Value) {
    let generation = budget.at(&["status", "observedGeneration"]).clone();
    let condition = object! {
        "type" => "DisruptionAllowed", "status" => "False", "reason" => "InsufficientPods", "message" => "",
        "lastTransitionTime" => caller.now.rfc3339(), "observedGeneration" => generation,
    };
    let conditions = budget.make(&["status", "conditions"]).as_list_mut();
    match conditions.iter_mut().find(|one| one.at(&["type"]).str() == "DisruptionAllowed") {
        Some(place) => *place = condition,
        None => conditions.push(condition),
    }
}
