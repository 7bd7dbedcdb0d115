//! What is kept of a decision, for those who ask why.
//!
//! A pod that fits: `nodes` (how many there are), `node` (the chosen one), `feasible` (how many passed), and, when there
//! are few nodes, `names` of those that passed with their `totals`, `scores` (one entry for each plugin: `plugin`,
//! `weight`, `raw` and `normalized` in the order of `names`) and `rejected`. With many nodes `best` holds the first few.
//! A pod that does not fit: `nodes`, `reasons` (text and count) and, when there are few nodes, `rejected` (one entry for
//! each node: `node`, `plugin`, `reasons`).

use super::cache::{Cache, Slot};
use super::cycle::{Choice, DETAILED};
use super::diagnosis::Diagnosis;
use super::framework::{Framework, Rejection};
use crate::object;
use crate::value::{Map, Value};

/// How many of many nodes are kept.
const BEST: usize = 3;

/// A pod that fits.
pub fn fit(cache: &Cache, framework: &Framework, choice: &Choice) -> Value {
    let name = |slot: &Slot| Value::from(&cache.node(*slot).name);
    let numbers = |numbers: &[i64]| numbers.iter().map(|number| Value::Int(*number)).collect::<Value>();
    let mut detail = object! {
        "nodes" => cache.len(), "node" => name(&choice.slot), "feasible" => choice.feasible.len(),
    };
    if cache.len() <= DETAILED {
        detail.set(&["names"], choice.feasible.iter().map(name).collect::<Value>());
        detail.set(&["totals"], numbers(&choice.totals));
        let scores = choice.scores.iter().map(|scores| {
            let plugin = &framework.plugins[scores.plugin];
            object! {
                "plugin" => plugin.name(), "weight" => plugin.weight(),
                "raw" => numbers(&scores.raw), "normalized" => numbers(&scores.normalized),
            }
        });
        detail.set(&["scores"], scores.collect::<Value>());
        detail.set(&["rejected"], rejected(cache, framework, &choice.rejected));
        return detail;
    }
    let mut best: Vec<(i64, usize)> = Vec::with_capacity(BEST + 1);
    for (at, total) in choice.totals.iter().enumerate() {
        if best.len() == BEST && best[BEST - 1].0 >= *total {
            continue;
        }
        let place = best.iter().position(|(known, _)| known < total).unwrap_or(best.len());
        best.insert(place, (*total, at));
        best.truncate(BEST);
    }
    let best = best.iter().map(|(total, at)| object! { "node" => name(&choice.feasible[*at]), "total" => *total });
    detail.set(&["best"], best.collect::<Value>());
    detail
}

/// A pod that does not fit.
pub fn unfit(cache: &Cache, framework: &Framework, diagnosis: &Diagnosis) -> Value {
    let reasons: Map = diagnosis.histogram(&cache.resources).into_iter().collect();
    let mut detail = object! { "nodes" => diagnosis.nodes, "reasons" => reasons };
    if diagnosis.nodes <= DETAILED {
        detail.set(&["rejected"], rejected(cache, framework, &diagnosis.rejected));
    }
    detail
}

fn rejected(cache: &Cache, framework: &Framework, rejected: &[(Slot, usize, Rejection)]) -> Value {
    let entry = |(slot, plugin, rejection): &(Slot, usize, Rejection)| {
        let reasons = rejection.reasons().map(|reason| Value::from(reason.text(&cache.resources)));
        object! {
            "node" => &cache.node(*slot).name, "plugin" => framework.name(*plugin), "reasons" => reasons.collect::<Value>(),
        }
    };
    rejected.iter().map(entry).collect()
}
