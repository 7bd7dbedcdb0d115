//! Pods that wait for a node: active, backing off, or set aside until something happens that may help them.
//!
//! Source: `backend/queue/`. Upstream records what happens while a pod is being tried, to replay it if the attempt
//! fails. Here a cycle is one step in which nothing else happens, so that record would always be empty.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use imbl::OrdMap;

use super::framework::{ClusterEvent, Framework, PluginSet};
use super::pod::PodInfo;
use crate::api::store::ObjectKey;
use crate::time::VirtualTime;
use crate::value::Text;

/// `podInitialBackoffSeconds`.
const FIRST_BACKOFF: u64 = 1;
/// `podMaxBackoffSeconds`.
const LONGEST_BACKOFF: u64 = 10;
/// How long a pod is set aside before it is tried again without a reason.
pub const SET_ASIDE: Duration = Duration::from_secs(5 * 60);

/// Order of the active queue: priority, then since when the pod waits, then arrival.
type Rank = (Reverse<i64>, VirtualTime, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Active(Rank),
    Backoff(VirtualTime, Rank),
    ErrorBackoff(VirtualTime, u64),
    Aside,
    Taken,
}

/// A waiting pod.
#[derive(Clone, Debug)]
pub struct Queued {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// The plugins that turned it down last.
    pub rejecting: PluginSet,
    gated: bool,
    unschedulable: u32,
    errors: u32,
    since: VirtualTime,
    arrival: u64,
    place: Place,
}

impl Queued {
    fn rank(&self) -> Rank {
        (Reverse(self.pod.priority), self.since, self.arrival)
    }

    /// When its backoff ends: 1, 2, 4, 8, 10, 10 … seconds after the last attempt.
    fn expiry(&self) -> VirtualTime {
        let attempts = if self.errors > 0 { self.errors } else { self.unschedulable };
        if attempts == 0 {
            return self.since;
        }
        let seconds = FIRST_BACKOFF.checked_shl(attempts - 1).unwrap_or(LONGEST_BACKOFF).min(LONGEST_BACKOFF);
        self.since + Duration::from_secs(seconds)
    }

    /// Backoff counts in whole seconds.
    fn backs_off(&self, now: VirtualTime) -> bool {
        (self.unschedulable > 0 || self.errors > 0) && self.expiry() >= whole(now)
    }
}

fn whole(at: VirtualTime) -> VirtualTime {
    VirtualTime::from_micros(at.seconds() * 1_000_000)
}

/// Pods that hold a claim on a node without being there.
#[derive(Clone, Debug, Default)]
pub struct Nominator {
    by_node: OrdMap<Text, Vec<Arc<PodInfo>>>,
}

impl Nominator {
    /// Other pods nominated to `node` whose priority is not below that of `pod`.
    pub fn above(&self, node: &str, pod: &PodInfo) -> Vec<Arc<PodInfo>> {
        if self.by_node.is_empty() {
            return Vec::new();
        }
        let nominated = self.by_node.get(node).into_iter().flatten();
        nominated.filter(|other| other.priority >= pod.priority && other.uid != pod.uid).cloned().collect()
    }

    /// Whether no pod is nominated.
    pub fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    /// All pods nominated to `node`.
    pub fn on(&self, node: &str) -> &[Arc<PodInfo>] {
        self.by_node.get(node).map_or(&[], Vec::as_slice)
    }

    fn set(&mut self, pod: &Arc<PodInfo>) {
        if !pod.nominated.is_empty() {
            self.by_node.entry(pod.nominated.clone()).or_default().push(pod.clone());
        }
    }

    fn unset(&mut self, pod: &PodInfo) {
        if let Some(pods) = self.by_node.get_mut(&pod.nominated) {
            pods.retain(|known| known.uid != pod.uid);
            if pods.is_empty() {
                self.by_node.remove(&pod.nominated);
            }
        }
    }
}

/// Waiting pods.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    pods: OrdMap<ObjectKey, Queued>,
    active: OrdMap<Rank, ObjectKey>,
    backoff: OrdMap<(VirtualTime, Rank), ObjectKey>,
    errors: OrdMap<(VirtualTime, u64), ObjectKey>,
    aside: OrdMap<ObjectKey, ()>,
    rejected_by: OrdMap<usize, usize>,
    arrivals: u64,
    /// Claims of waiting pods on nodes.
    pub nominator: Nominator,
}

impl Queue {
    /// A pod appears.
    pub fn add(&mut self, pod: PodInfo, framework: &Framework, now: VirtualTime) {
        self.remove(&pod.key);
        self.arrivals += 1;
        let pod = Arc::new(pod);
        self.nominator.set(&pod);
        let gated = !framework.may_enqueue(&pod);
        let key = pod.key.clone();
        let arrival = self.arrivals;
        let (rejecting, place) = (0, Place::Taken);
        let queued = Queued { pod, rejecting, gated, unschedulable: 0, errors: 0, since: now, arrival, place };
        self.pods.insert(key.clone(), queued);
        if gated { self.set_aside(&key) } else { self.activate(&key) }
    }

    /// A waiting pod changed; `events` are the changes that matter.
    pub fn update(&mut self, pod: PodInfo, framework: &Framework, now: VirtualTime, events: &[ClusterEvent<'_>]) {
        let key = pod.key.clone();
        let Some(queued) = self.pods.get_mut(&key) else { return self.add(pod, framework, now) };
        self.nominator.unset(&queued.pod);
        queued.pod = Arc::new(pod);
        self.nominator.set(&queued.pod);
        if queued.place != Place::Aside {
            return;
        }
        let gated = queued.gated;
        queued.gated = !framework.may_enqueue(&queued.pod);
        let free = gated && !queued.gated;
        let helped = events.iter().any(|event| framework.worth(queued.rejecting, &queued.pod, event));
        if free || (!queued.gated && helped) {
            self.requeue(&key, now);
        }
    }

    /// A pod is gone or has a node. Returns it.
    pub fn remove(&mut self, key: &ObjectKey) -> Option<Queued> {
        self.leave(key);
        let queued = self.pods.remove(key)?;
        self.nominator.unset(&queued.pod);
        Some(queued)
    }

    /// The waiting pod under `key`.
    pub fn get(&self, key: &ObjectKey) -> Option<&Queued> {
        self.pods.get(key)
    }

    /// Takes the next pod: the first active one, or, when none is active, the first that is backing off (gate
    /// SchedulerPopFromBackoffQ). Pods after an error serve their time.
    pub fn pop(&mut self) -> Option<Arc<PodInfo>> {
        let first = self.active.get_min().map(|(_, key)| key.clone());
        let key = first.or_else(|| self.backoff.get_min().map(|(_, key)| key.clone()))?;
        self.leave(&key);
        self.pods.get(&key).map(|queued| queued.pod.clone())
    }

    /// Whether [`Queue::pop`] has something.
    pub fn ready(&self) -> bool {
        !self.active.is_empty() || !self.backoff.is_empty()
    }

    /// The attempt for a popped pod failed because plugins rejected it.
    pub fn reject(&mut self, key: &ObjectKey, rejecting: PluginSet, now: VirtualTime) {
        let Some(queued) = self.pods.get_mut(key) else { return };
        queued.rejecting = rejecting;
        queued.unschedulable += 1;
        queued.errors = 0;
        queued.since = now;
        self.arrivals += 1;
        queued.arrival = self.arrivals;
        self.set_aside(key);
    }

    /// The attempt for a popped pod failed for another reason; it is tried again after a while.
    pub fn fail(&mut self, key: &ObjectKey, now: VirtualTime) {
        let Some(queued) = self.pods.get_mut(key) else { return };
        queued.rejecting = 0;
        queued.errors += 1;
        queued.since = now;
        self.arrivals += 1;
        queued.arrival = self.arrivals;
        let place = (queued.expiry(), queued.arrival);
        queued.place = Place::ErrorBackoff(place.0, place.1);
        self.errors.insert(place, key.clone());
    }

    /// When the first pod comes back after an error: the flush runs on whole seconds and takes what expired before.
    pub fn next_retry(&self) -> Option<VirtualTime> {
        let (place, _) = self.errors.get_min()?;
        Some(VirtualTime::from_micros((place.0.seconds() + 1) * 1_000_000))
    }

    /// Moves pods whose backoff has ended to the active queue.
    pub fn flush(&mut self, now: VirtualTime) {
        while let Some((place, key)) = self.errors.get_min().map(|(place, key)| (*place, key.clone()))
            && place.0 < whole(now)
        {
            self.leave(&key);
            self.activate(&key);
        }
        while let Some((place, key)) = self.backoff.get_min().map(|(place, key)| (*place, key.clone()))
            && place.0 < whole(now)
        {
            self.leave(&key);
            self.activate(&key);
        }
    }

    /// Moves pods that were set aside for more than five minutes.
    pub fn flush_aside(&mut self, framework: &Framework, now: VirtualTime) {
        let old = |key: &ObjectKey| {
            let queued = self.pods.get(key)?;
            (now.since(queued.since) > SET_ASIDE && framework.may_enqueue(&queued.pod)).then(|| key.clone())
        };
        let keys: Vec<ObjectKey> = self.aside.keys().filter_map(old).collect();
        for key in keys {
            self.requeue(&key, now);
        }
    }

    /// Whether pods are set aside.
    pub fn any_aside(&self) -> bool {
        !self.aside.is_empty()
    }

    /// Something happened: pods up to a priority that it may help are tried again.
    pub fn happened(&mut self, framework: &Framework, now: VirtualTime, event: &ClusterEvent<'_>, highest: i64) {
        let interested = framework.interested(event.kind());
        let waiting = self.rejected_by.keys().fold(0, |set: PluginSet, plugin| set | 1 << plugin);
        if interested & waiting == 0 {
            return;
        }
        let helped = |key: &ObjectKey| {
            let queued = self.pods.get(key)?;
            let worth = queued.rejecting & interested != 0 && framework.worth(queued.rejecting, &queued.pod, event);
            (worth && !queued.gated && queued.pod.priority <= highest).then(|| key.clone())
        };
        let keys: Vec<ObjectKey> = self.aside.keys().filter_map(helped).collect();
        for key in keys {
            self.requeue(&key, now);
        }
    }

    fn requeue(&mut self, key: &ObjectKey, now: VirtualTime) {
        self.leave(key);
        let Some(queued) = self.pods.get_mut(key) else { return };
        if queued.backs_off(now) {
            let place = (whole(queued.expiry()), queued.rank());
            queued.place = Place::Backoff(place.0, place.1);
            self.backoff.insert(place, key.clone());
        } else {
            self.activate(key);
        }
    }

    fn activate(&mut self, key: &ObjectKey) {
        let Some(queued) = self.pods.get_mut(key) else { return };
        let rank = queued.rank();
        queued.place = Place::Active(rank);
        self.active.insert(rank, key.clone());
    }

    fn set_aside(&mut self, key: &ObjectKey) {
        let Some(queued) = self.pods.get_mut(key) else { return };
        queued.place = Place::Aside;
        self.aside.insert(key.clone(), ());
        for plugin in bits(queued.rejecting) {
            *self.rejected_by.entry(plugin).or_insert(0) += 1;
        }
    }

    fn leave(&mut self, key: &ObjectKey) {
        let Some(queued) = self.pods.get_mut(key) else { return };
        match std::mem::replace(&mut queued.place, Place::Taken) {
            Place::Active(rank) => drop(self.active.remove(&rank)),
            Place::Backoff(window, rank) => drop(self.backoff.remove(&(window, rank))),
            Place::ErrorBackoff(expiry, arrival) => drop(self.errors.remove(&(expiry, arrival))),
            Place::Taken => {}
            Place::Aside => {
                self.aside.remove(key);
                for plugin in bits(queued.rejecting) {
                    let count = self.rejected_by.entry(plugin).or_insert(1);
                    *count -= 1;
                    if *count == 0 {
                        self.rejected_by.remove(&plugin);
                    }
                }
            }
        }
    }
}

fn bits(set: PluginSet) -> impl Iterator<Item = usize> {
    (0..32).filter(move |bit| set & (1 << bit) != 0)
}
