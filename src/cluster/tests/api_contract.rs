//! Exchanges recorded from a real kube-apiserver 1.36.3, replayed in order against a world.
//!
//! Status, content type, warnings and body must be those of the recording, up to identifiers, times and generated
//! names. What cannot pass yet is listed with its reason; a listed exchange that passes fails the test as well.

#[path = "contract/compare.rs"]
mod compare;
#[path = "contract/exchange.rs"]
mod exchange;

use std::collections::BTreeMap;
use std::time::Duration;

use exchange::Exchange;
use gpulab_cluster::api::request::{Body, Request, Response};
use gpulab_cluster::{Config, Value, World};

const FILES: [(&str, &str); 7] = [
    ("01-discovery", include_str!("../../../tests/api/01-discovery.http")),
    ("02-create-read", include_str!("../../../tests/api/02-create-read.http")),
    ("03-update", include_str!("../../../tests/api/03-update.http")),
    ("04-patch", include_str!("../../../tests/api/04-patch.http")),
    ("05-list-watch", include_str!("../../../tests/api/05-list-watch.http")),
    ("06-delete", include_str!("../../../tests/api/06-delete.http")),
    ("07-subresources", include_str!("../../../tests/api/07-subresources.http")),
];

/// Exchanges that differ, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("01-discovery 1", "the version says that this is gpulab"),
    ("01-discovery 11", "OpenAPI follows with real clients"),
    ("01-discovery 15", "only what is served is listed"),
    ("04-patch 14", APPLY),
    ("04-patch 15", APPLY),
    ("04-patch 16", APPLY),
    ("04-patch 17", APPLY),
    ("04-patch 18", APPLY),
    ("04-patch 21", APPLY),
    ("04-patch 23", APPLY),
    ("05-list-watch 24", "the lab's node is another machine than the recorder's"),
    ("05-list-watch 25", "the recorder was faster than the deployment controller"),
    ("05-list-watch 26", "which replica set comes first follows from hashes"),
    ("05-list-watch 33", UNSERVED),
    ("05-list-watch 34", UNSERVED),
    ("05-list-watch 36", "the lab has one lease, the recorder's server had several"),
    ("05-list-watch 37", UNSERVED),
    ("05-list-watch 38", KUEUE),
    ("05-list-watch 39", KUEUE),
    ("05-list-watch 40", KUEUE),
    ("05-list-watch 41", KUEUE),
    ("05-list-watch 42", KUEUE),
    ("05-list-watch 43", KUEUE),
    ("05-list-watch 45", "protobuf is not spoken"),
    ("05-list-watch 46", "YAML is not spoken yet"),
];
const APPLY: &str = "server-side apply follows with real clients";
const UNSERVED: &str = "the kind is not served yet";
const KUEUE: &str = "Kueue's kinds come with Kueue";

/// After these the recorder asked again before scheduler and controllers had done anything.
const HASTY: [&str; 2] = ["02-create-read 1", "06-delete 16"];

struct Replay {
    world: World,
    /// Recorded resourceVersions and what they are here.
    versions: BTreeMap<String, String>,
    tokens: BTreeMap<String, String>,
}

impl Replay {
    fn new() -> Replay {
        let mut replay =
            Replay { world: World::new(&Config::default()), versions: BTreeMap::new(), tokens: BTreeMap::new() };
        replay.quiet();
        replay
    }

    /// Lets the controllers do what they want to do now.
    fn quiet(&mut self) {
        let until = self.world.now() + Duration::from_secs(5);
        for _ in 0..500 {
            if self.world.next_work().is_none_or(|at| at > until) {
                return;
            }
            self.world.step();
        }
    }

    fn send(&mut self, exchange: &Exchange) -> Response {
        let (path, query) = exchange.path.split_once('?').unwrap_or((&exchange.path, ""));
        let mut query = query.to_owned();
        for (recorded, ours) in &self.tokens {
            query = query.replace(recorded, ours);
        }
        let body = self.translated(exchange, path);
        let response = self.world.request(&Request {
            method: exchange.method.clone(),
            path: path.to_owned(),
            query,
            accept: exchange.accept.clone(),
            content_type: exchange.content_type.clone(),
            user_agent: String::new(),
            body: body.into_bytes(),
        });
        if !HASTY.contains(&exchange.id.as_str()) {
            self.quiet();
        }
        response
    }

    /// The recorded body with our uids, revisions and generated names in place of the recorded ones.
    fn translated(&mut self, exchange: &Exchange, path: &str) -> String {
        let Ok(mut body) = Value::from_json(exchange.body.as_bytes()) else { return exchange.body.clone() };
        if exchange.method != "PUT" {
            return exchange.body.clone();
        }
        let stored = self.ask("GET", path, "").1;
        if !body.uid().is_empty() {
            body.set(&["metadata", "uid"], stored.uid());
        }
        let version = body.at(&["metadata", "resourceVersion"]).str().to_owned();
        if version.len() > 1 {
            let present = stored.at(&["metadata", "resourceVersion"]).str().to_owned();
            let ours = self.versions.entry(version).or_insert(present).clone();
            body.set(&["metadata", "resourceVersion"], ours);
        }
        let volume = stored.at(&["spec", "volumes"]).items().first().map_or("", |first| first.at(&["name"]).str());
        let text = body.to_json();
        match text.find("kube-api-access-") {
            Some(at) => text.replace(&text[at..at + "kube-api-access-".len() + 5], volume),
            None => text,
        }
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let response = self.world.request(&Request {
            method: method.into(),
            path: path.into(),
            content_type: media.into(),
            body: body.into(),
            ..Request::default()
        });
        match response.body {
            Body::Json(value) => (response.status, value),
            _ => (response.status, Value::Null),
        }
    }

    /// What is wrong with the answer to an exchange.
    fn check(&mut self, exchange: &Exchange) -> Vec<String> {
        self.prepare(exchange);
        let response = self.send(exchange);
        let mut found = Vec::new();
        if response.status != exchange.status {
            found.push(format!("status: wanted {}, got {}", exchange.status, response.status));
        }
        if response.content_type != exchange.answer_type {
            found.push(format!("content type: wanted {}, got {}", exchange.answer_type, response.content_type));
        }
        let warning = response.headers.iter().find(|(name, _)| *name == "Warning").map_or("", |(_, text)| text);
        if warning != exchange.warning {
            found.push(format!("warning: wanted {}, got {warning}", exchange.warning));
        }
        match response.body {
            Body::Json(answer) => self.check_json(exchange, &answer, &mut found),
            Body::Text(text) if text.trim() == exchange.answer.trim() => {}
            Body::Text(text) => found.push(format!("text: wanted {:?}, got {text:?}", exchange.answer)),
            Body::Watch(mut watch) => {
                self.disturb(exchange);
                let (events, _) = self.world.poll(&mut watch);
                check_events(exchange, &events, &mut found);
            }
        }
        found
    }

    fn check_json(&mut self, exchange: &Exchange, answer: &Value, found: &mut Vec<String>) {
        if exchange.answer.is_empty() && exchange.cut {
            return;
        }
        let Some(mut recorded) = compare::read(&exchange.answer) else {
            found.push(format!("body: wanted {:?}, got {}", exchange.answer, answer.to_json()));
            return;
        };
        if exchange.id.starts_with("01-discovery") {
            recorded = compare::served(recorded, answer);
        }
        compare::differences(&recorded, answer, "", found);
        if exchange.id.starts_with("04-patch") {
            // The recorder was faster than the deployment controller: what that had reported by then is its own affair.
            found.retain(|difference| !difference.starts_with(".status."));
        }
        if let Some(at) = exchange.answer.find("\"continue\": \"") {
            let token = exchange.answer[at + 13..].split('"').next().unwrap_or("");
            self.tokens.insert(token.to_owned(), answer.at(&["metadata", "continue"]).str().to_owned());
        }
    }

    /// What the recording server had, and we do not have by then.
    fn prepare(&mut self, exchange: &Exchange) {
        const MAPS: &str = "/api/v1/namespaces/default/configmaps";
        match exchange.title.as_str() {
            // Made by server-side apply there.
            "page one" => {
                let map = r#"{"metadata":{"name":"ssa"},"data":{"a":"1"}}"#;
                let (code, made) = self.ask("POST", MAPS, map);
                assert_eq!(code, 201, "{made:?}");
            }
            "scale through the subresource" => {
                let (code, made) = self.ask("POST", "/apis/apps/v1/namespaces/default/deployments", DEPLOYMENT);
                assert_eq!(code, 201, "{made:?}");
                self.quiet();
            }
            // The recorder's server had forgotten its first revisions.
            "watch from a compacted resourceVersion (etcd may still hold it)" => {
                for round in 0..10_100 {
                    let body = format!(r#"{{"data":{{"round":"{round}"}}}}"#);
                    self.ask("PATCH", &format!("{MAPS}/ssa"), &body);
                }
                self.ask("PATCH", &format!("{MAPS}/ssa"), r#"{"data":{"round":null}}"#);
            }
            "watch with a selector: leaving the selection is DELETED, entering is ADDED" => {
                let revision = self.ask("GET", MAPS, "").1.at(&["metadata", "resourceVersion"]).str().to_owned();
                self.tokens.insert("168601".into(), revision);
            }
            _ => {}
        }
    }

    /// What happened in the recording while a watch was open.
    fn disturb(&mut self, exchange: &Exchange) {
        if !exchange.title.starts_with("watch with a selector") {
            return;
        }
        for (name, body) in [
            ("l0", r#"{"data":{"x":"1"}}"#),
            ("l0", r#"{"metadata":{"labels":{"p":"odd"}}}"#),
            ("l1", r#"{"metadata":{"labels":{"p":"even"}}}"#),
        ] {
            self.ask("PATCH", &format!("/api/v1/namespaces/default/configmaps/{name}"), body);
        }
        self.ask("DELETE", "/api/v1/namespaces/default/configmaps/l2", "");
    }
}

const DEPLOYMENT: &str = r#"{"metadata":{"name":"ssad"},"spec":{"selector":{"matchLabels":{"a":"b"}},
  "template":{"metadata":{"labels":{"a":"b"}},"spec":{"nodeSelector":{"never":"x"},"containers":[
  {"name":"c","image":"pause"},{"name":"side","image":"pause"}]}}}}"#;

fn check_events(exchange: &Exchange, events: &[Value], found: &mut Vec<String>) {
    let lines: Vec<&str> = exchange.answer.lines().filter(|line| !line.is_empty()).collect();
    if lines.len() != events.len() {
        let told: Vec<String> = events.iter().map(Value::to_json).collect();
        found.push(format!("wanted {} events, got {}: {}", lines.len(), events.len(), told.join("\n")));
    }
    for (at, (line, event)) in lines.iter().zip(events).enumerate() {
        // The recording keeps only a part of each object.
        let recorded = compare::opened(compare::read(line).expect("JSON"));
        compare::differences(&recorded, event, &format!("event {at}"), found);
    }
}

#[test]
fn the_recorded_exchanges() {
    let mut replay = Replay::new();
    let mut wrong = Vec::new();
    for (file, text) in FILES {
        for exchange in exchange::read(file, text) {
            let found = replay.check(&exchange);
            let excuse = DIFFERENT.iter().find(|(id, _)| *id == exchange.id);
            let head = format!("{} {} {} ({})", exchange.id, exchange.method, exchange.path, exchange.title);
            match (found.is_empty(), excuse) {
                (false, None) => wrong.push(format!("{head}\n    {}", found.join("\n    "))),
                (true, Some((_, reason))) => wrong.push(format!("{head}\n    passes, but is listed: {reason}")),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{} exchanges differ:\n{}", wrong.len(), wrong.join("\n"));
}
