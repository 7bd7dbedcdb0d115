//! What pods ask for.

use std::collections::BTreeMap;

use crate::api::quantity::Quantity;
use crate::value::{Text, Value};

/// Amounts by resource.
pub(super) type Amounts = BTreeMap<Text, Quantity>;

fn amounts(map: &Value) -> Amounts {
    let parsed =
        map.entries().iter().filter_map(|(name, text)| Some((name.clone(), Quantity::parse(text.str()).ok()?)));
    parsed.collect()
}

fn add(total: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = total.get(name).map_or(*amount, |known| known.plus(*amount));
        total.insert(name.clone(), sum);
    }
}

fn raise(total: &mut Amounts, least: &Amounts) {
    for (name, amount) in least {
        let missing = total.get(name).is_none_or(|known| amount.minus(*known).milli_value() > 0);
        if missing {
            total.insert(name.clone(), *amount);
        }
    }
}

/// The sum over a pod's containers of `resources.<part>`: app containers and sidecars add up, an init container counts
/// where it needs more than that.
///
/// Source: `component-helpers` `resource.PodRequests` and `PodLimits`.
pub(super) fn of_pod(pod: &Value, part: &str) -> Amounts {
    let spec = pod.at(&["spec"]);
    let mut total = Amounts::new();
    for container in spec.at(&["containers"]).items() {
        add(&mut total, &amounts(container.at(&["resources", part])));
    }
    let (mut sidecars, mut peak) = (Amounts::new(), Amounts::new());
    for container in spec.at(&["initContainers"]).items() {
        let mut wants = amounts(container.at(&["resources", part]));
        if container.at(&["restartPolicy"]).str() == "Always" {
            add(&mut total, &wants);
            add(&mut sidecars, &wants);
            wants.clone_from(&sidecars);
        } else {
            add(&mut wants, &sidecars);
        }
        raise(&mut peak, &wants);
    }
    raise(&mut total, &peak);
    let level = amounts(spec.at(&["resources", part]));
    total.extend(level);
    if part == "requests" {
        add(&mut total, &amounts(spec.at(&["overhead"])));
    }
    total
}

/// Amounts as an API map.
pub(super) fn to_value(amounts: &Amounts) -> Value {
    Value::Map(amounts.iter().map(|(name, amount)| (name.clone(), Value::from(amount.to_string()))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{list, object};

    #[test]
    fn init_containers_count_by_their_peak_and_sidecars_add_up() {
        let wants = |gpus: &str| object! { "resources" => object! { "requests" => object! { "g" => gpus } } };
        let mut sidecar = wants("1");
        sidecar.set(&["restartPolicy"], "Always");
        let pod = object! { "spec" => object! {
            "containers" => list![wants("1"), wants("2")],
            "initContainers" => list![sidecar, wants("4")],
        } };
        assert_eq!(to_value(&of_pod(&pod, "requests")).to_json(), r#"{"g":"5"}"#);
        let small =
            object! { "spec" => object! { "containers" => list![wants("3")], "initContainers" => list![wants("2")] } };
        assert_eq!(to_value(&of_pod(&small, "requests")).to_json(), r#"{"g":"3"}"#);
    }
}
