//! `v1` Service, as far as discovery of workloads needs it: no addresses are handed out to nodes.
//!
//! Source: `pkg/registry/core/service`, `ValidateService` in `pkg/apis/core/validation/validation.go`.

use std::collections::BTreeSet;

use super::super::names::{self, NameRule};
use super::super::path::{Errors, Path};
use super::super::registry::{KindInfo, Strategy};
use super::super::schema::Schema;
use super::super::status::FieldError;
use super::pod::defaults::fill;
use super::words;
use crate::value::Value;
use crate::{list, object};

/// The kind.
pub(super) fn info() -> KindInfo {
    KindInfo {
        returns_deleted: true,
        create_on_update: true,
        categories: words(&["all"]),
        subresources: words(&["status"]),
        ..super::kind("", "Service", "services", &["svc"], Service)
    }
}

#[derive(Debug)]
struct Service;

impl Strategy for Service {
    fn schema(&self, _version: &str) -> Schema {
        Schema::named("Service")
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Dns1035
    }

    fn default(&self, object: &mut Value) {
        let external = object.at(&["spec", "type"]).str() == "ExternalName";
        let kind = object.at(&["spec", "type"]).text();
        let spec = object.make(&["spec"]).as_map_mut();
        fill(spec, "sessionAffinity", "None");
        fill(spec, "type", "ClusterIP");
        if !external {
            fill(spec, "internalTrafficPolicy", "Cluster");
            fill(spec, "ipFamilies", list!["IPv4"]);
            fill(spec, "ipFamilyPolicy", "SingleStack");
        }
        if kind == "NodePort" || kind == "LoadBalancer" {
            fill(spec, "externalTrafficPolicy", "Cluster");
        }
        if kind == "LoadBalancer" {
            fill(spec, "allocateLoadBalancerNodePorts", true);
        }
        if let Some(ports) = spec.get_mut("ports") {
            for port in ports.as_list_mut() {
                let number = port.at(&["port"]).clone();
                let port = port.as_map_mut();
                fill(port, "protocol", "TCP");
                if matches!(port.get("targetPort"), None | Some(Value::Int(0))) {
                    port.insert("targetPort", number);
                }
            }
        }
        addresses(object);
    }

    fn prepare_create(&self, object: &mut Value) {
        object.set(&["status"], object! { "loadBalancer" => Value::object() });
    }

    fn prepare_update(&self, object: &mut Value, old: &Value) {
        for field in ["clusterIP", "clusterIPs"] {
            if object.at(&["spec", field]).is_null() && !old.at(&["spec", field]).is_null() {
                object.set(&["spec", field], old.at(&["spec", field]).clone());
            }
        }
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (spec, at) = (object.at(&["spec"]), Path::new("spec"));
        let list = spec.at(&["ports"]).items();
        let headless = spec.at(&["clusterIP"]).str() == "None";
        if list.is_empty() && !headless && spec.at(&["type"]).str() != "ExternalName" {
            errors.required(&at.field("ports"), "");
        }
        ports(&mut errors, &at.field("ports"), list);
        names::labels(&mut errors, &at.field("selector"), spec.at(&["selector"]));
        let affinity = spec.at(&["sessionAffinity"]);
        errors.one_of(&at.field("sessionAffinity"), affinity, &["ClientIP", "None"]);
        let kind = spec.at(&["type"]);
        errors.one_of(&at.field("type"), kind, &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
        errors.0
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = Errors::default();
        let (kind, address) = (["spec", "type"], ["spec", "clusterIP"]);
        if object.at(&kind) == old.at(&kind)
            && !old.at(&address).str().is_empty()
            && object.at(&address) != old.at(&address)
        {
            let at = Path::new("spec");
            errors.invalid(&at.field("clusterIPs").index(0), object.at(&address).clone(), "may not change once set");
        }
        errors.0.extend(self.validate(object));
        errors.0
    }
}

/// A cluster address of its own for every service that wants one, derived from its name.
fn addresses(service: &mut Value) {
    let spec = service.at(&["spec"]);
    if spec.at(&["type"]).str() == "ExternalName" {
        return;
    }
    let address = match spec.at(&["clusterIP"]).as_str() {
        Some(given) if !given.is_empty() => given.to_owned(),
        _ => {
            let name = format!("{}/{}", service.namespace(), service.name());
            let hash =
                name.bytes().fold(2_166_136_261_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
            format!("10.96.{}.{}", (hash >> 8) & 0xff, (hash & 0xff).clamp(2, 254))
        }
    };
    service.set(&["spec", "clusterIPs"], list![address.as_str()]);
    service.set(&["spec", "clusterIP"], address);
}

fn ports(errors: &mut Errors, at: &Path<'_>, ports: &[Value]) {
    let (mut seen, mut claims) = (BTreeSet::new(), BTreeSet::new());
    for (index, port) in ports.iter().enumerate() {
        let at = at.index(index);
        let (name, number, protocol) = (port.at(&["name"]).str(), port.at(&["port"]).int(), port.at(&["protocol"]));
        if name.is_empty() && ports.len() > 1 {
            errors.required(&at.field("name"), "");
        } else if !name.is_empty() {
            errors.each(&at.field("name"), name, names::dns_label(name));
            if !seen.insert(name) {
                errors.duplicate(&at.field("name"), name);
            }
        }
        if !(1..=65535).contains(&number) {
            errors.invalid(&at.field("port"), number, names::between(1, 65535));
        }
        errors.one_of(&at.field("protocol"), protocol, &["SCTP", "TCP", "UDP"]);
        match port.at(&["targetPort"]) {
            Value::String(name) => errors.each(&at.field("targetPort"), name, names::port_name(name)),
            target if !(1..=65535).contains(&target.int()) => {
                errors.invalid(&at.field("targetPort"), target.int(), names::between(1, 65535));
            }
            _ => {}
        }
        if !claims.insert((protocol.str(), number)) {
            let pair = object! { "protocol" => protocol.str(), "port" => number };
            errors.duplicate(&at, pair);
        }
    }
}
