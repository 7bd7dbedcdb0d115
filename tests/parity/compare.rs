//! Compares an observation with two recordings of the same moment.
//!
//! The objects must equal one of the recordings as a whole (a mixture of two outcomes of a race is no outcome); a list
//! of events of one source about one thing may equal either. Things of one class are paired with the recorded ones
//! that they resemble most; equal nodes may be exchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::exchange::exchanges;
use crate::shape::{Facts, Thing, facts};

/// One fact that no recording shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The thing, by its name in the observation, or in the recording when it is missing.
    pub thing: String,
    /// Where in its facts, as a JSON pointer.
    pub path: String,
    /// What the recordings show.
    pub expected: Vec<String>,
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.thing, self.path)?;
        for expected in &self.expected {
            writeln!(f, "    expected  {expected}")?;
        }
        write!(f, "    got       {}", self.got)
    }
}

/// The outcome of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Empty when the observation equals a recording.
    pub differences: Vec<Difference>,
    /// Names in the first recording and what they are called in the observation.
    pub names: BTreeMap<String, String>,
}

/// Compares with both recordings.
pub fn compare(observation: &Value, recordings: &[Value]) -> Verdict {
    let recorded: Vec<Facts> = recordings.iter().map(facts).collect();
    let mut best: Option<Verdict> = None;
    for exchange in exchanges(observation) {
        let verdict = judge(&facts(&exchange.apply(observation)), &recorded);
        if best.as_ref().is_none_or(|best| verdict.differences.len() < best.differences.len()) {
            best = Some(verdict);
        }
        if best.as_ref().is_some_and(|best| best.differences.is_empty()) {
            break;
        }
    }
    best.expect("the exchange that changes nothing")
}

fn judge(observed: &Facts, recorded: &[Facts]) -> Verdict {
    let sides: Vec<Side> = recorded.iter().map(|recorded| Side::new(observed, recorded)).collect();
    let mut best: Option<Vec<Difference>> = None;
    for side in &sides {
        let open: Vec<Difference> = side
            .differences
            .iter()
            .filter(|(difference, section)| {
                !is_events(section) || sides.iter().all(|other| other.differs(difference, section))
            })
            .map(|(difference, _)| difference.clone())
            .collect();
        if best.as_ref().is_none_or(|best| open.len() < best.len()) {
            best = Some(open);
        }
    }
    let mut differences = best.unwrap_or_default();
    for difference in &mut differences {
        let elsewhere = sides.iter().flat_map(|side| &side.differences);
        let same = elsewhere.filter(|(other, _)| other.thing == difference.thing && other.path == difference.path);
        difference.expected = same.flat_map(|(other, _)| other.expected.clone()).collect();
        difference.expected.dedup();
    }
    Verdict { differences, names: sides.into_iter().next().map(|side| side.names).unwrap_or_default() }
}

/// Comparison with one recording: each difference with the section of facts in which it lies.
struct Side {
    differences: Vec<(Difference, String)>,
    names: BTreeMap<String, String>,
}

fn is_events(section: &str) -> bool {
    section.starts_with("/events/")
}

impl Side {
    fn new(observed: &Facts, recorded: &Facts) -> Side {
        let mut side = Side { differences: Vec::new(), names: BTreeMap::new() };
        let classes: BTreeSet<&String> = observed.keys().chain(recorded.keys()).collect();
        for class in classes {
            let none = Vec::new();
            side.pair(recorded.get(class).unwrap_or(&none), observed.get(class).unwrap_or(&none));
        }
        side
    }

    /// Pairs things of one class, the most alike first.
    fn pair(&mut self, recorded: &[Thing], observed: &[Thing]) {
        let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
        for (there, thing) in recorded.iter().enumerate() {
            for (here, other) in observed.iter().enumerate() {
                let mut found = Vec::new();
                differ(&thing.facts, &other.facts, String::new(), &mut found);
                pairs.push((found.len(), there, here));
            }
        }
        pairs.sort_unstable();
        let (mut theirs, mut ours) = (vec![false; recorded.len()], vec![false; observed.len()]);
        for (_, there, here) in pairs {
            if !theirs[there] && !ours[here] {
                (theirs[there], ours[here]) = (true, true);
                self.names.insert(recorded[there].name.clone(), observed[here].name.clone());
                self.add(&observed[here].name, &recorded[there].facts, &observed[here].facts);
            }
        }
        for (thing, _) in recorded.iter().zip(&theirs).filter(|(_, paired)| !**paired) {
            self.add(&thing.name, &thing.facts, &Value::Null);
        }
        for (thing, _) in observed.iter().zip(&ours).filter(|(_, paired)| !**paired) {
            self.add(&thing.name, &Value::Null, &thing.facts);
        }
    }

    fn add(&mut self, name: &str, recorded: &Value, observed: &Value) {
        let mut found = Vec::new();
        differ(recorded, observed, String::new(), &mut found);
        for (path, expected, got) in found {
            let section: String = path.split('/').take(3).collect::<Vec<_>>().join("/");
            let difference =
                Difference { thing: name.to_owned(), path, expected: vec![print(&expected)], got: print(&got) };
            self.differences.push((difference, section));
        }
    }

    /// Whether this side, too, has a difference in that section of that thing.
    fn differs(&self, difference: &Difference, section: &str) -> bool {
        let whole = |other: &Difference| other.path.is_empty() || other.path == "/events";
        self.differences.iter().any(|(other, at)| other.thing == difference.thing && (at == section || whole(other)))
    }
}

fn print(value: &Value) -> String {
    if value.is_null() { "nothing".into() } else { value.to_string() }
}

/// Every place where two values differ: pointer, left, right.
fn differ(left: &Value, right: &Value, path: String, found: &mut Vec<(String, Value, Value)>) {
    match (left, right) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                let pair = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                if a.contains_key(key) && b.contains_key(key) {
                    differ(pair.0, pair.1, format!("{path}/{}", key.replace('/', "~1")), found);
                } else {
                    found.push((format!("{path}/{}", key.replace('/', "~1")), pair.0.clone(), pair.1.clone()));
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for at in 0..a.len().max(b.len()) {
                match (a.get(at), b.get(at)) {
                    (Some(a), Some(b)) => differ(a, b, format!("{path}/{at}"), found),
                    (a, b) => {
                        let [a, b] = [a, b].map(|side| side.cloned().unwrap_or(Value::Null));
                        found.push((format!("{path}/{at}"), a, b));
                    }
                }
            }
        }
        _ if left != right => found.push((path, left.clone(), right.clone())),
        _ => {}
    }
}
