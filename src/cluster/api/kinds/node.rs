//! `v1` Node.
//!
//! Source: `pkg/registry/core/node/strategy.go`, `ValidateNode` in `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeSet;

use super::super::names;
use super::super::path::{Errors, Path};
use super::super::quantity::Quantity;
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::schema::types::TypeId;
use super::super::status::FieldError;
use super::pod::resource_quantity;
use super::words;
use crate::value::Value;

/// The kind.
pub(super) fn info() -> KindInfo {
    KindInfo { namespaced: false, subresources: words(&["status"]), ..super::kind("", "Node", "nodes", &["no"], Node) }
}

#[derive(Debug)]
struct Node;

impl Strategy for Node {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("Node")
    }

    /// Allocatable that is not given is the capacity.
    fn default(&self, object: &mut Value) {
        let capacity = object.at(&["status", "capacity"]).clone();
        if object.at(&["status", "allocatable"]).is_null() && !capacity.entries().is_empty() {
            object.set(&["status", "allocatable"], capacity);
        }
    }

    /// Unlike other kinds a node keeps the status it is created with.
    fn prepare_create(&self, object: &mut Value) {
        if object.get("status").is_none() {
            let zero = TypeId::named("NodeStatus").map(|id| id.get().zero().clone());
            object.set(&["status"], zero.unwrap_or_default());
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (spec, at) = (object.at(&["spec"]), Path::new("spec"));
        taints(&mut errors, &at.field("taints"), spec.at(&["taints"]).items());
        status(&mut errors, object);
        let cidrs = spec.at(&["podCIDRs"]).items();
        for (index, cidr) in cidrs.iter().enumerate() {
            if !is_cidr(cidr.str()) {
                let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
                errors.invalid(&at.field("podCIDRs").index(index), cidr.str(), why);
            }
        }
        errors.0
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (spec, before, at) = (object.at(&["spec"]), old.at(&["spec"]), Path::new("spec"));
        if spec == before {
            return errors.0;
        }
        let (new_ranges, ranges) = (spec.at(&["podCIDRs"]), before.at(&["podCIDRs"]));
        if !ranges.items().is_empty() && new_ranges != ranges {
            errors.forbidden(&at.field("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid");
        }
        let (new, provider) = (spec.at(&["providerID"]).str(), before.at(&["providerID"]).str());
        if !provider.is_empty() && new != provider {
            errors
                .forbidden(&at.field("providerID"), "node updates may not change providerID except from \"\" to valid");
        }
        taints(&mut errors, &at.field("taints"), spec.at(&["taints"]).items());
        errors.0
    }

    fn validate_status(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        if object.get("status") != old.get("status") {
            status(&mut errors, object);
        }
        errors.0
    }
}

/// Resources of the status: names and whole numbers, and no more allocatable than there is.
fn status(errors: &mut Errors, node: &Value) {
    let at = Path::new("status");
    for list in ["capacity", "allocatable"] {
        let at = at.field(list);
        for (name, quantity) in node.at(&["status", list]).entries() {
            errors.each(&at.key(name), name, names::qualified_name(name));
            resource_quantity(errors, &at.key(name), name, quantity);
            let huge = name.starts_with("hugepages-");
            let whole = ["cpu", "memory", "ephemeral-storage"].contains(&name.as_str()) || huge;
            if whole && Quantity::parse(quantity.str()).is_ok_and(Quantity::is_negative) {
                continue;
            }
        }
    }
    let mut seen = BTreeSet::new();
    for (index, address) in node.at(&["status", "addresses"]).items().iter().enumerate() {
        let pair = (address.at(&["type"]).str(), address.at(&["address"]).str());
        if !seen.insert(pair) {
            errors.duplicate(&at.field("addresses").index(index), address.clone());
        }
    }
}

/// Taints: qualified keys, label values, a known effect, no pair of key and effect twice.
pub(super) fn taints(errors: &mut Errors, at: &Path<'_>, taints: &[Value]) {
    let mut seen = BTreeSet::new();
    for (index, taint) in taints.iter().enumerate() {
        let at = at.index(index);
        let (key, value, effect) = (taint.at(&["key"]).str(), taint.at(&["value"]).str(), taint.at(&["effect"]));
        errors.each(&at.field("key"), key, names::qualified_name(key));
        errors.each(&at.field("value"), value, names::label_value(value));
        let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        match effect.str() {
            "" => errors.required(&at.field("effect"), ""),
            text if known.contains(&text) => {}
            _ => errors.not_supported(&at.field("effect"), effect, &known),
        }
        if !seen.insert((key, effect.str())) {
            errors.duplicate(&at, taint.clone());
            if let Some(last) = errors.0.last_mut() {
                last.detail = "taints must be unique by key and effect pair".to_owned();
            }
        }
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}
