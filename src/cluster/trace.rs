//! Why things happened: the record of decisions.

use imbl::Vector;

use crate::VirtualTime;
use crate::api::store::ObjectKey;
use crate::value::Value;

/// One decision of one component.
#[derive(Clone, Debug)]
pub struct Decision {
    /// When.
    pub at: VirtualTime,
    /// Which component decided.
    pub actor: &'static str,
    /// About what.
    pub object: ObjectKey,
    /// A registered reason code such as `Scheduled` or `FailedScheduling`.
    pub reason: &'static str,
    /// One sentence.
    pub because: String,
    /// The numbers behind it (per-node reasons and scores of the scheduler), null when there are none.
    pub detail: Value,
}

/// The most recent decisions.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    decisions: Vector<Decision>,
}

/// How many decisions are kept.
const KEPT: usize = 2_000;

impl Trace {
    /// Adds a decision, forgetting the oldest beyond the limit.
    pub fn record(&mut self, decision: Decision) {
        self.decisions.push_back(decision);
        if self.decisions.len() > KEPT {
            self.decisions.pop_front();
        }
    }

    /// Decisions about `object`, newest first.
    pub fn about<'a>(&'a self, object: &'a ObjectKey) -> impl Iterator<Item = &'a Decision> {
        self.decisions.iter().rev().filter(move |decision| decision.object == *object)
    }

    /// All kept decisions, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Decision> {
        self.decisions.iter()
    }
}
