//! What the core recorder remembers to keep events few.
//!
//! Source: client-go `tools/record/events_cache.go`.

use std::time::Duration;

use imbl::{OrdMap, OrdSet, Vector};

use crate::rng;
use crate::time::VirtualTime;

/// How much each memory holds (`maxLruCacheEntries`).
const REMEMBERED: usize = 4096;
/// From this many different texts on, similar events are combined.
const SIMILAR: usize = 10;
/// Similar events further apart than this are not.
const INTERVAL: Duration = Duration::from_secs(600);
/// Events that one source may send about one object at once, and how long it takes to earn another one.
const BURST: f64 = 25.0;
const REFILL: f64 = 300.0;

/// The last things put into it, by hash.
#[derive(Clone, Debug)]
pub(super) struct Recent<T: Clone> {
    entries: OrdMap<u64, T>,
    order: Vector<u64>,
}

impl<T: Clone> Default for Recent<T> {
    fn default() -> Recent<T> {
        Recent { entries: OrdMap::new(), order: Vector::new() }
    }
}

impl<T: Clone> Recent<T> {
    pub(super) fn get(&self, key: u64) -> Option<&T> {
        self.entries.get(&key)
    }

    pub(super) fn put(&mut self, key: u64, value: T) {
        if self.entries.insert(key, value).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }
}

/// Decides which events are combined and which are held back.
#[derive(Clone, Debug, Default)]
pub(super) struct Correlator {
    similar: Recent<Similar>,
    allowances: Recent<Allowance>,
}

#[derive(Clone, Debug)]
struct Similar {
    texts: OrdSet<u64>,
    last: VirtualTime,
}

#[derive(Clone, Copy, Debug)]
struct Allowance {
    left: f64,
    at: VirtualTime,
}

impl Correlator {
    /// Whether an event is one of many that differ in their text only.
    pub(super) fn combines(&mut self, similar: u64, text: &str, now: VirtualTime) -> bool {
        let known = self.similar.get(similar).filter(|known| now.since(known.last) <= INTERVAL);
        let mut texts = known.map(|known| known.texts.clone()).unwrap_or_default();
        let text = rng::hash(5, &[text]);
        texts.insert(text);
        let many = texts.len() >= SIMILAR;
        if many {
            texts.remove(&text);
        }
        self.similar.put(similar, Similar { texts, last: now });
        many
    }

    /// Whether a source may tell one more thing about an object.
    pub(super) fn passes(&mut self, source: u64, now: VirtualTime) -> bool {
        let full = Allowance { left: BURST, at: now };
        let mut allowance = self.allowances.get(source).copied().unwrap_or(full);
        allowance.left = (allowance.left + now.since(allowance.at).as_secs_f64() / REFILL).min(BURST);
        allowance.at = now;
        let passes = allowance.left >= 1.0;
        if passes {
            allowance.left -= 1.0;
        }
        self.allowances.put(source, allowance);
        passes
    }
}
