//! What is remembered from cycle to cycle about nodes: whether a pod of a class passes, and its raw scores.
//!
//! Most pods come in crowds of one template, and between two cycles one node changes. As far as verdicts and scores
//! follow from the pod's class and the node alone, they are kept until the node changes; which node wins is not touched
//! by this. Not part of the state: a copy starts empty.

use std::sync::Arc;

use super::amounts::Requests;
use super::cache::Slot;
use super::framework::PluginSet;
use super::pod::{PodInfo, Rules};
use crate::value::{Text, Value};

/// At most this many plugins score by the node alone.
pub const COLUMNS: usize = 5;
/// How many classes of pods are remembered.
const CLASSES: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    known: bool,
    fits: bool,
    scored: bool,
    scores: [i32; COLUMNS],
}

/// One class of pods.
#[derive(Debug)]
pub struct Memo {
    rules: Arc<Rules>,
    requests: Requests,
    non_zero: [i64; 2],
    priority: i64,
    entries: Vec<Entry>,
    /// How an attempt fails as long as nothing changes.
    pub failure: Option<Failure>,
}

/// A failed attempt.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The sentence.
    pub text: Text,
    /// The plugins that turned the pod down.
    pub plugins: PluginSet,
    /// What is recorded.
    pub detail: Value,
}

impl Memo {
    /// Whether the pod passes on the node, if known.
    pub fn verdict(&self, slot: Slot) -> Option<bool> {
        self.entries.get(slot as usize).filter(|entry| entry.known).map(|entry| entry.fits)
    }

    /// Remembers a verdict.
    pub fn judge(&mut self, slot: Slot, fits: bool) {
        let at = slot as usize;
        if self.entries.len() <= at {
            self.entries.resize(at + 1, Entry::default());
        }
        self.entries[at] = Entry { known: true, fits, ..Entry::default() };
    }

    /// The raw scores of the node, made by `score` if unknown.
    pub fn scores(&mut self, slot: Slot, score: impl FnOnce() -> [i32; COLUMNS]) -> [i32; COLUMNS] {
        if self.verdict(slot).is_none() {
            self.judge(slot, true);
        }
        let entry = &mut self.entries[slot as usize];
        if !entry.scored {
            entry.scores = score();
            entry.scored = true;
        }
        entry.scores
    }
}

/// The classes of pods seen last.
#[derive(Debug, Default)]
pub struct Memos {
    known: Vec<Memo>,
    epoch: u64,
}

impl Clone for Memos {
    fn clone(&self) -> Memos {
        Memos::default()
    }
}

impl Memos {
    /// Forgets what no longer holds; `epoch` is that of the Node objects, `dirty` are the nodes whose pods changed.
    pub fn forget(&mut self, epoch: u64, dirty: &[Slot]) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.known.clear();
        }
        for memo in self.known.iter_mut().filter(|_| !dirty.is_empty()) {
            memo.failure = None;
            for slot in dirty {
                if let Some(entry) = memo.entries.get_mut(*slot as usize) {
                    entry.known = false;
                }
            }
        }
    }

    /// The memo for the class of `pod`.
    pub fn of(&mut self, pod: &PodInfo) -> &mut Memo {
        match self.position(pod) {
            Some(at) => self.known[..=at].rotate_right(1),
            None => {
                self.known.truncate(CLASSES - 1);
                let (rules, requests) = (pod.rules.clone(), pod.requests.clone());
                let (non_zero, priority) = (pod.non_zero, pod.priority);
                let memo = Memo { rules, requests, non_zero, priority, entries: Vec::new(), failure: None };
                self.known.insert(0, memo);
            }
        }
        &mut self.known[0]
    }
    /// How an attempt for a pod of this class is known to fail.
    pub fn failure(&self, pod: &PodInfo) -> Option<Failure> {
        self.known[self.position(pod)?].failure.clone()
    }

    fn position(&self, pod: &PodInfo) -> Option<usize> {
        self.known.iter().position(|memo| {
            (Arc::ptr_eq(&memo.rules, &pod.rules) || memo.rules == pod.rules)
                && memo.requests == pod.requests
                && memo.non_zero == pod.non_zero
                && memo.priority == pod.priority
        })
    }
}
