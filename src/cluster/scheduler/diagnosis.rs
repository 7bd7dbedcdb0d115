//! Why a pod fits nowhere, and the sentence that says so.
//!
//! Source: `framework/types.go` (Diagnosis, FitError).

use std::collections::BTreeMap;

use super::amounts::Resources;
use super::cache::Slot;
use super::framework::{Code, PluginSet, Reason, Rejection};

/// Why nodes were turned down.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Number of all nodes.
    pub nodes: usize,
    /// Nodes that were turned down: where, by which plugin, why.
    pub rejected: Vec<(Slot, usize, Rejection)>,
    /// How many nodes were turned down; more than `rejected` when nobody will ask why.
    pub turned_down: usize,
    /// Said of nodes that were not looked at.
    pub absent: Option<String>,
    /// What PreFilter said; then no node was looked at.
    pub pre_filter: Option<String>,
    /// The plugins that turned the pod down.
    pub plugins: PluginSet,
    /// Whether another pod of the same class would fare the same.
    pub local: bool,
    /// What PostFilter said; empty when preemption goes ahead.
    pub post_filter: String,
}

impl Diagnosis {
    /// A node does not pass.
    pub fn reject(&mut self, slot: Slot, plugin: usize, rejection: Rejection) {
        self.plugins |= 1 << plugin;
        self.turned_down += 1;
        self.rejected.push((slot, plugin, rejection));
    }

    /// How often each reason holds.
    pub fn histogram(&self, resources: &Resources) -> BTreeMap<String, usize> {
        let mut counts: BTreeMap<&Reason, usize> = BTreeMap::new();
        for (_, _, rejection) in &self.rejected {
            for reason in rejection.reasons() {
                *counts.entry(reason).or_insert(0) += 1;
            }
        }
        let mut texts = BTreeMap::new();
        for (reason, count) in counts {
            *texts.entry(reason.text(resources)).or_insert(0) += count;
        }
        if let Some(absent) = &self.absent
            && self.rejected.len() < self.nodes
        {
            *texts.entry(absent.clone()).or_insert(0) += self.nodes - self.rejected.len();
        }
        texts
    }

    /// The whole FailedScheduling sentence.
    pub fn sentence(&self, resources: &Resources) -> String {
        let mut sentence = match &self.pre_filter {
            Some(text) => format!("0/{} nodes are available: {text}.", self.nodes),
            None => available(self.nodes, self.histogram(resources)),
        };
        if !self.post_filter.is_empty() {
            sentence.push(' ');
            sentence.push_str(&self.post_filter);
        }
        sentence
    }

    /// Nodes on which preemption may help.
    pub fn preemptable(&self) -> impl Iterator<Item = Slot> {
        self.rejected.iter().filter(|(_, _, rejection)| rejection.code == Code::Unschedulable).map(|(slot, _, _)| *slot)
    }
}

/// `0/N nodes are available: 1 a, 2 b.`; the entries are sorted as texts, counts included.
pub fn available(nodes: usize, reasons: BTreeMap<String, usize>) -> String {
    let mut entries: Vec<String> = reasons.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    entries.sort();
    if entries.is_empty() {
        return format!("0/{nodes} nodes are available:");
    }
    format!("0/{nodes} nodes are available: {}.", entries.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_as_texts() {
        // The parity table's case S01.
        let reject = |slot, reason| (slot, 0, Rejection::of(Code::Unschedulable, reason));
        let rejected = vec![reject(0, "A"), reject(1, "A"), reject(2, "B")];
        let diagnosis = Diagnosis { nodes: 3, rejected, ..Diagnosis::default() };
        assert_eq!(diagnosis.sentence(&Resources::default()), "0/3 nodes are available: 1 B, 2 A.");
        let many = [("x".to_owned(), 10), ("y".to_owned(), 2), ("z".to_owned(), 1)];
        assert_eq!(available(13, many.into()), "0/13 nodes are available: 1 z, 10 x, 2 y.");
    }
}
