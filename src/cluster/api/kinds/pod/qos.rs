//! The quality-of-service class of a pod.
//!
//! Source: `pkg/apis/core/helper/qos/qos.go`.

use crate::api::quantity::Quantity;
use crate::value::Value;

/// `Guaranteed`, `Burstable` or `BestEffort`; only cpu and memory count.
pub fn class(pod: &Value) -> &'static str {
    let spec = pod.at(&["spec"]);
    let own = spec.at(&["resources"]);
    if !own.at(&["requests"]).entries().is_empty() || !own.at(&["limits"]).entries().is_empty() {
        return of([own].into_iter());
    }
    let containers = spec.at(&["containers"]).items().iter().chain(spec.at(&["initContainers"]).items());
    of(containers.map(|container| container.at(&["resources"])))
}

fn of<'a>(all: impl Iterator<Item = &'a Value>) -> &'static str {
    let mut any = false;
    let mut guaranteed = true;
    for resources in all {
        for name in ["cpu", "memory"] {
            let limit = amount(resources.at(&["limits", name]));
            let request = amount(resources.at(&["requests", name])).or(limit);
            any |= limit.is_some() || request.is_some();
            guaranteed &= limit.is_some() && limit == request;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// A positive quantity; zero counts as none.
fn amount(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok().filter(|quantity| !quantity.is_zero() && !quantity.is_negative())
}
