//! Equal nodes: an observation holds as well with their names exchanged.
//!
//! Nodes are equal when they differ only in their names and in the values of labels, and the exchange carries each
//! value of a label to one other value everywhere (so two equal racks may be exchanged as wholes). What a pod's spec
//! asks for by name stays where it is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::shape::{facts, list};

/// New names of nodes, and new values of their labels by key and value.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    names: BTreeMap<String, String>,
    labels: BTreeMap<(String, String), String>,
}

/// Every exchange that an observation allows, the one that changes nothing first.
pub fn exchanges(observation: &Value) -> Vec<Exchange> {
    let nodes = list(&observation["nodes"]);
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in nodes {
        groups.entry(anonymous(node)).or_default().push(name(node).to_owned());
    }
    let mut orders: Vec<BTreeMap<String, String>> = vec![BTreeMap::new()];
    for names in groups.values() {
        let permutations = permutations(names);
        let extended = |order: &Vec<String>| {
            let pairs: Vec<(String, String)> = names.iter().cloned().zip(order.iter().cloned()).collect();
            orders.iter().map(move |known| known.clone().into_iter().chain(pairs.clone()).collect()).collect::<Vec<_>>()
        };
        orders = permutations.iter().flat_map(extended).collect();
    }
    let mut asked = BTreeSet::new();
    for pod in list(&observation["pods"]) {
        let mut spec = pod["spec"].clone();
        spec["nodeName"] = Value::Null;
        words(&spec, &mut asked);
    }
    orders.into_iter().filter_map(|names| exchange(nodes, names, &asked)).collect()
}

fn name(node: &Value) -> &str {
    node["metadata"]["name"].as_str().expect("a name")
}

fn labels(node: &Value) -> impl Iterator<Item = (String, String)> {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    labels.map(|(key, value)| (key.clone(), value.as_str().expect("a value").to_owned()))
}

/// What a node is apart from its name and its labels' values.
fn anonymous(node: &Value) -> String {
    let mut node = node.clone();
    node["metadata"]["name"] = "<node>".into();
    node["metadata"]["labels"] = labels(&node).map(|(key, _)| key).collect();
    let all = facts(&json!({ "nodes": [node] })).into_values().flatten();
    all.map(|thing| thing.facts.to_string()).collect()
}

/// The exchange of these names, if labels can follow and no pod asks for what would move.
fn exchange(nodes: &[Value], names: BTreeMap<String, String>, asked: &BTreeSet<String>) -> Option<Exchange> {
    let mut exchange = Exchange { names, labels: BTreeMap::new() };
    for node in nodes {
        let other = nodes.iter().find(|other| name(other) == exchange.names[name(node)])?;
        for (label, (_, value)) in labels(node).zip(labels(other)) {
            let moved = label.1 != value && (asked.contains(&label.1) || asked.contains(&value));
            if moved || *exchange.labels.entry(label).or_insert_with(|| value.clone()) != value {
                return None;
            }
        }
    }
    let moves = exchange.names.iter().all(|(from, to)| from == to || !(asked.contains(from) || asked.contains(to)));
    let targets: BTreeSet<_> = exchange.labels.iter().map(|((key, _), value)| (key, value)).collect();
    (moves && targets.len() == exchange.labels.len()).then_some(exchange)
}

/// Every string in a value.
fn words(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(word) => drop(found.insert(word.clone())),
        Value::Array(list) => list.iter().for_each(|item| words(item, found)),
        Value::Object(map) => map.values().for_each(|item| words(item, found)),
        _ => {}
    }
}

fn permutations(names: &[String]) -> Vec<Vec<String>> {
    let Some((first, rest)) = names.split_first() else {
        return vec![Vec::new()];
    };
    let insert = |tail: Vec<String>| {
        (0..=tail.len()).map(move |at| {
            let mut order = tail.clone();
            order.insert(at, first.clone());
            order
        })
    };
    let mut orders: Vec<Vec<String>> = permutations(rest).into_iter().flat_map(insert).collect();
    orders.sort_by_key(|order| order != names);
    orders
}

impl Exchange {
    fn node(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// The observation with nodes renamed wherever it names them.
    pub fn apply(&self, observation: &Value) -> Value {
        let mut renamed = self.renamed(observation);
        for node in renamed.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten() {
            node["metadata"]["name"] = self.node(name(node)).into();
            for (key, value) in labels(node).collect::<Vec<_>>() {
                node["metadata"]["labels"][&key] = self.labels[&(key.clone(), value)].clone().into();
            }
        }
        renamed
    }

    fn renamed(&self, value: &Value) -> Value {
        match value {
            Value::Object(map) => map
                .iter()
                .map(|(key, item)| {
                    let item = match (key.as_str(), item) {
                        ("nodeName" | "nominatedNodeName", Value::String(name)) => self.node(name).into(),
                        ("object", Value::String(object)) => match object.strip_prefix("Node/") {
                            Some(name) => format!("Node/{}", self.node(name)).into(),
                            None => item.clone(),
                        },
                        ("message", Value::String(message)) => self.sentence(message).into(),
                        _ => self.renamed(item),
                    };
                    (key.clone(), item)
                })
                .collect(),
            Value::Array(list) => list.iter().map(|item| self.renamed(item)).collect(),
            other => other.clone(),
        }
    }

    /// Renames the nodes of `Successfully assigned default/p to n`, `Node n event: Registered Node n in Controller` and
    /// `Preempted by pod u on node n`.
    fn sentence(&self, message: &str) -> String {
        let mut before = "";
        let named = ["Node ", "Successfully assigned ", "Preempted by "].iter().any(|start| message.starts_with(start));
        let words = message.split(' ').map(|word| {
            let node = named && ["Node", "node", "to"].contains(&before);
            before = word;
            if node { self.node(word) } else { word.to_owned() }
        });
        words.collect::<Vec<_>>().join(" ")
    }
}
