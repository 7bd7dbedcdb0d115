//! Does what a transcript says on the embedded cluster, in the transcript's own time, and compares at each observation.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gpulab::backend::embedded::Embedded;
use gpulab_cluster::Config;
use gpulab_cluster::plugins::NodeMessage;
use gpulab_cluster::time::{Ties, VirtualTime};
use gpulab_cluster::world::{Devices, LabNode};
use serde_json::{Value, json};

use crate::compare::compare;
use crate::evidence::{Action, Experiment, Step};
use crate::kubectl::{Kubectl, Outcome, path};

const NODE: &str = "gpulab-control-plane";
const RESOURCE: &str = "simulator.accelerator-fleet.io/gpu";

/// What the recordings list.
const OBSERVED: [(&str, &str, &str); 8] = [
    ("nodes", "v1", "Node"),
    ("pods", "v1", "Pod"),
    ("deployments", "apps/v1", "Deployment"),
    ("replicasets", "apps/v1", "ReplicaSet"),
    ("jobs", "batch/v1", "Job"),
    ("poddisruptionbudgets", "policy/v1", "PodDisruptionBudget"),
    ("priorityclasses", "scheduling.k8s.io/v1", "PriorityClass"),
    ("events", "v1", "Event"),
];

/// An experiment under way.
struct Replay {
    kubectl: Kubectl,
    /// Events that were there before.
    old: BTreeSet<String>,
    /// The last step whose time the transcript gives: that time, and the virtual one.
    mark: (Duration, VirtualTime),
    report: Vec<String>,
}

/// Replays an experiment; `except` removes from a recording what the start state here cannot bring about. The result
/// names everything that differs.
pub fn replay(number: &str, ties: Ties, except: fn(&mut Value)) -> Vec<String> {
    let experiment = Experiment::load(number);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let recordings = |file: &str| {
            let mut recordings = experiment.recordings(file);
            recordings.iter_mut().for_each(except);
            recordings
        };
        let mut replay = Replay::start(&experiment, ties, &recordings("00-start.json")).await;
        replay.observe("00-start.json", &recordings("00-start.json")).await;
        for step in &experiment.steps {
            replay.step(&experiment, step, &recordings).await;
        }
        replay.report
    })
}

impl Replay {
    /// Brings about the recorded start state: devices of a plugin, or a capacity that was patched, as the recordings
    /// show; a plugin that is gone leaves its devices behind as unhealthy ones.
    async fn start(experiment: &Experiment, ties: Ties, start: &[Value; 2]) -> Replay {
        let there = |start: &Value| !start["nodes"][0]["status"]["capacity"][RESOURCE].is_null();
        let gone = start.iter().any(|start| start["nodes"][0]["status"]["allocatable"][RESOURCE] == "0");
        let plugin = gone || plugin(experiment);
        let devices = plugin.then(|| Devices { resource: RESOURCE.into(), count: 4, prefix: "sim-gpu-".into() });
        let nodes = vec![LabNode { name: NODE.into(), devices, ..LabNode::default() }];
        let embedded = Embedded::new(&Config { nodes, ties, ..Config::default() });
        let kubectl = Kubectl { client: embedded.client(), embedded, names: BTreeMap::new() };
        let mark = (Duration::ZERO, VirtualTime::EPOCH);
        let mut replay = Replay { kubectl, old: BTreeSet::new(), mark, report: Vec::new() };
        if gone {
            let stopped = NodeMessage::Stopped { resource: RESOURCE.into() };
            let outcome = replay.kubectl.embedded.with(|world| world.tell(NODE, &stopped));
            replay.check("00", &outcome, "");
        } else if !plugin && there(&start[0]) {
            let patch = r#"[{"op":"add","path":"/status/capacity/simulator.accelerator-fleet.io~1gpu","value":"4"}]"#;
            let command = format!("patch node {NODE} --subresource=status --type=json -p {patch}");
            let outcome = replay.kubectl.run(&command, "").await;
            replay.check("00", &outcome, "");
        }
        replay.kubectl.embedded.with(|world| world.advance(Duration::from_secs(30)));
        replay.old = replay.events().await.into_iter().map(|event| uid(&event)).collect();
        replay.mark.1 = replay.kubectl.embedded.with(|world| world.now());
        replay
    }

    async fn step(&mut self, experiment: &Experiment, step: &Step, recordings: &dyn Fn(&str) -> [Value; 2]) {
        if let Some(at) = step.at {
            let until = self.mark.1 + at.saturating_sub(self.mark.0);
            self.kubectl.embedded.with(|world| {
                if until > world.now() {
                    world.advance(until.since(world.now()));
                }
            });
            self.mark = (at, self.kubectl.embedded.with(|world| world.now()));
        } else {
            // kubectl needs a moment to start.
            self.kubectl.embedded.with(|world| world.advance(Duration::from_millis(100)));
        }
        match &step.action {
            Action::Observe(file) => self.observe(file, &recordings(file)).await,
            Action::Apply(file) => {
                let outcome = self.kubectl.create(&experiment.text(file), true).await;
                self.check(&step.number, &outcome, &step.output);
            }
            Action::Kubectl(command) => {
                // What went into the standard input of `create -f -` was the manifest applied last.
                let manifests = experiment.steps.iter().take_while(|other| *other != step);
                let last = manifests.filter_map(|step| match &step.action {
                    Action::Apply(file) => Some(experiment.text(file)),
                    _ => None,
                });
                let outcome = self.kubectl.run(command, &last.last().unwrap_or_default()).await;
                self.check(&step.number, &outcome, &step.output);
            }
        }
        if let Some(reached) = &step.reached {
            self.settle();
            if !self.reached(reached).await {
                self.report.push(format!("step {}: never reached: {reached}", step.number));
            }
        }
    }

    fn settle(&self) {
        self.kubectl.embedded.with(|world| world.settle(Duration::from_secs(60)));
    }

    /// Compares with what was printed: texts of the server word for word, texts that only kubectl prints not at all.
    fn check(&mut self, step: &str, outcome: &Outcome, printed: &str) {
        // A generated difference follows the sentence.
        let sentence = |text: &str| {
            let lines = text.lines().take_while(|line| !line.starts_with("@@")).map(str::trim_end);
            lines.collect::<Vec<_>>().join("\n")
        };
        let printed = sentence(printed);
        let refused = ["The ", "Error from server"].iter().any(|start| printed.starts_with(start));
        let alone = printed.lines().any(|line| line.starts_with("error: "));
        let got = outcome.as_ref().err().map(|error| sentence(error));
        let same = match &got {
            Some(got) => alone || (refused && *got == printed),
            None => !alone && !refused,
        };
        if !same {
            let got = got.unwrap_or_else(|| "success".into());
            self.report.push(format!("step {step}: printed\n    expected  {printed}\n    got       {got}"));
        }
    }

    async fn observe(&mut self, file: &str, recordings: &[Value; 2]) {
        let mut observation = serde_json::Map::new();
        for (plural, version, kind) in OBSERVED {
            let mut items = if plural == "events" {
                self.new_events().await
            } else {
                self.kubectl.list(&path(plural, None).expect("a known kind")).await
            };
            if plural != "events" {
                items.retain(|item| !item["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("system-")));
                for item in &mut items {
                    item["apiVersion"] = version.into();
                    item["kind"] = kind.into();
                }
            }
            if !items.is_empty() {
                observation.insert(plural.to_owned(), items.into());
            }
        }
        let verdict = compare(&observation.into(), recordings);
        self.kubectl.names = verdict.names;
        self.report.extend(verdict.differences.iter().map(|difference| format!("{file}: {difference}")));
    }

    async fn events(&self) -> Vec<Value> {
        self.kubectl.list("/api/v1/events").await
    }

    /// Events since the start as the recorder wrote them down, in the order in which they were written.
    async fn new_events(&self) -> Vec<Value> {
        let mut events = self.events().await;
        events.retain(|event| !self.old.contains(&uid(event)));
        events.sort_by_key(|event| {
            event["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse::<u64>().ok())
        });
        let plain = |event: &Value| {
            let object = &event["involvedObject"];
            let name = |part: &str| object[part].as_str().unwrap_or("").to_owned();
            let source = [&event["source"]["component"], &event["reportingComponent"]];
            let source = source.into_iter().find(|source| source.as_str().is_some_and(|source| !source.is_empty()));
            let count = [&event["count"], &event["series"]["count"]].into_iter().filter_map(Value::as_u64).max();
            json!({
                "type": event["type"], "reason": event["reason"], "message": event["message"], "source": source,
                "object": format!("{}/{}", name("kind"), name("name")), "count": count.unwrap_or(0).max(1),
            })
        };
        events.iter().map(plain).collect()
    }

    /// Whether what the transcript waited for is so.
    async fn reached(&self, words: &str) -> bool {
        let pods = self.kubectl.list("/api/v1/namespaces/default/pods").await;
        let running = pods.iter().filter(|pod| pod["status"]["phase"] == "Running").count();
        let named = |name: &str| pods.iter().find(|pod| pod["metadata"]["name"] == name);
        if let Some(rest) = words.strip_prefix("allocatable=") {
            let node = &self.kubectl.list("/api/v1/nodes").await[0];
            return node["status"]["allocatable"][RESOURCE].as_str() == rest.split(' ').next();
        }
        match words.split(' ').collect::<Vec<_>>().as_slice() {
            ["no", "pods"] => pods.is_empty(),
            ["all", "running"] => running == pods.len(),
            [count, word] if word.eq_ignore_ascii_case("running") && count.parse::<usize>().is_ok() => {
                running.to_string() == **count
            }
            [name, "running"] => named(name).is_none_or(|pod| pod["status"]["phase"] == "Running"),
            [name, "bound"] => named(name).is_none_or(|pod| pod["spec"]["nodeName"].is_string()),
            _ => true,
        }
    }
}

fn uid(event: &Value) -> String {
    event["metadata"]["uid"].as_str().unwrap_or("").to_owned()
}

/// Whether a device plugin ran: only then a pod's status names the devices it holds.
fn plugin(experiment: &Experiment) -> bool {
    let files = experiment.observations();
    files
        .iter()
        .flat_map(|file| experiment.recordings(file))
        .any(|seen| seen.to_string().contains("allocatedResourcesStatus"))
}
