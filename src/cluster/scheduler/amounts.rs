//! Amounts of resources as small arrays: a resource name is looked up once, when an object is seen, and is a number from
//! then on.

use imbl::Vector;

use crate::api::quantity::Quantity;
use crate::value::{Text, Value};

/// Index of a resource in [`Resources`].
pub type Resource = u16;

/// cpu, in thousandths.
pub const CPU: Resource = 0;
/// memory, in bytes.
pub const MEMORY: Resource = 1;
/// ephemeral-storage, in bytes.
pub const EPHEMERAL: Resource = 2;

/// What a container without a cpu request counts for in scores, in thousandths (`util/pod_resources.go`).
const DEFAULT_CPU: i64 = 100;
/// What a container without a memory request counts for in scores, in bytes.
const DEFAULT_MEMORY: i64 = 200 * 1024 * 1024;

/// The resource names seen so far.
#[derive(Clone, Debug)]
pub struct Resources {
    names: Vector<Text>,
}

impl Default for Resources {
    fn default() -> Resources {
        Resources { names: ["cpu", "memory", "ephemeral-storage"].into_iter().map(Text::from).collect() }
    }
}

impl Resources {
    /// The index of `name`, given out when it is new.
    pub fn index(&mut self, name: &Text) -> Resource {
        if let Some(at) = self.names.iter().position(|known| known == name) {
            return at as Resource;
        }
        self.names.push_back(name.clone());
        (self.names.len() - 1) as Resource
    }

    /// The index of `name`, if it has been seen.
    pub fn find(&self, name: &str) -> Option<Resource> {
        self.names.iter().position(|known| known == name).map(|at| at as Resource)
    }

    /// The name behind an index.
    pub fn name(&self, resource: Resource) -> &str {
        self.names.get(usize::from(resource)).map_or("", |name| name.as_str())
    }
}

/// How many amounts are kept without an allocation.
const INLINE: usize = 6;

/// An amount of every resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    first: [i64; INLINE],
    more: Vec<i64>,
}

impl Amounts {
    /// The amount of one resource.
    pub fn get(&self, resource: Resource) -> i64 {
        let at = usize::from(resource);
        match self.first.get(at) {
            Some(amount) => *amount,
            None => self.more.get(at - INLINE).copied().unwrap_or(0),
        }
    }

    /// The amount of one resource, for change.
    pub fn slot(&mut self, resource: Resource) -> &mut i64 {
        let at = usize::from(resource);
        if at < INLINE {
            return &mut self.first[at];
        }
        if self.more.len() <= at - INLINE {
            self.more.resize(at - INLINE + 1, 0);
        }
        &mut self.more[at - INLINE]
    }

    /// Adds `sign` times these amounts.
    pub fn add(&mut self, requests: &Requests, sign: i64) {
        for (resource, amount) in requests {
            *self.slot(*resource) += sign * amount;
        }
    }

    /// From a map of quantities (`status.allocatable`); `pods` is returned apart.
    pub fn of_allocatable(list: &Value, resources: &mut Resources) -> (Amounts, i64) {
        let (mut amounts, mut pods) = (Amounts::default(), 0);
        for (name, quantity) in list.entries() {
            if name == "pods" {
                pods = amount(name, quantity);
            } else {
                let index = resources.index(name);
                *amounts.slot(index) = amount(name, quantity);
            }
        }
        (amounts, pods)
    }
}

/// What a pod asks for: only what is above zero, by index.
pub type Requests = Box<[(Resource, i64)]>;

fn amount(name: &str, quantity: &Value) -> i64 {
    if let Value::Int(number) = quantity {
        return if name == "cpu" { number.saturating_mul(1000) } else { *number };
    }
    let text = quantity.str();
    // Most quantities are short whole numbers.
    if text.len() < 16 && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = text.bytes().fold(0, |number: i64, digit| number * 10 + i64::from(digit - b'0'));
        return if name == "cpu" { number * 1000 } else { number };
    }
    Quantity::parse(text).map_or(0, |quantity| if name == "cpu" { quantity.milli_value() } else { quantity.value() })
}

/// A growing list of amounts; pods name few resources.
#[derive(Clone, Debug, Default)]
struct Sum(Vec<(Resource, i64)>);

impl Sum {
    fn slot(&mut self, resource: Resource) -> &mut i64 {
        let at = match self.0.iter().position(|(known, _)| *known == resource) {
            Some(at) => at,
            None => {
                self.0.push((resource, 0));
                self.0.len() - 1
            }
        };
        &mut self.0[at].1
    }

    fn plus(&mut self, other: &Sum) {
        for (resource, amount) in &other.0 {
            *self.slot(*resource) += amount;
        }
    }

    fn max(&mut self, other: &Sum) {
        for (resource, amount) in &other.0 {
            let slot = self.slot(*resource);
            *slot = (*slot).max(*amount);
        }
    }

    fn finish(mut self) -> Requests {
        self.0.retain(|(_, amount)| *amount > 0);
        self.0.sort_unstable();
        self.0.into_boxed_slice()
    }
}

/// What a pod asks for, and what its cpu and memory count for in scores, where a container without a request counts as
/// 100m and 200 MiB (component-helpers `resource.PodRequests`).
pub fn pod_requests(spec: &Value, resources: &mut Resources) -> (Requests, [i64; 2]) {
    let real = total(spec, resources, false);
    let plain = spec.at(&["initContainers"]).items().is_empty() && spec.get("resources").is_none();
    let counted = if plain && spec.at(&["containers"]).items().iter().all(asks_both) {
        real.clone()
    } else {
        total(spec, resources, true)
    };
    let of = |resource| counted.0.iter().find(|(known, _)| *known == resource).map_or(0, |(_, amount)| *amount);
    let non_zero = [of(CPU), of(MEMORY)];
    (real.finish(), non_zero)
}

fn asks_both(container: &Value) -> bool {
    let requests = container.at(&["resources", "requests"]);
    requests.get("cpu").is_some() && requests.get("memory").is_some()
}

fn total(spec: &Value, resources: &mut Resources, defaults: bool) -> Sum {
    let mut sum = Sum::default();
    for container in spec.at(&["containers"]).items() {
        sum.plus(&container_requests(container, resources, defaults));
    }
    let (mut sidecars, mut highest) = (Sum::default(), Sum::default());
    for container in spec.at(&["initContainers"]).items() {
        let mut asked = container_requests(container, resources, defaults);
        if container.at(&["restartPolicy"]).str() == "Always" {
            sum.plus(&asked);
            sidecars.plus(&asked);
            asked = sidecars.clone();
        } else {
            asked.plus(&sidecars);
        }
        highest.max(&asked);
    }
    sum.max(&highest);
    for (name, quantity) in spec.at(&["resources", "requests"]).entries() {
        if name == "cpu" || name == "memory" || name.starts_with("hugepages-") {
            let index = resources.index(name);
            *sum.slot(index) = amount(name, quantity);
        }
    }
    for (name, quantity) in spec.at(&["overhead"]).entries() {
        let index = resources.index(name);
        *sum.slot(index) += amount(name, quantity);
    }
    sum
}

fn container_requests(container: &Value, resources: &mut Resources, defaults: bool) -> Sum {
    let requests = container.at(&["resources", "requests"]);
    let limits = container.at(&["resources", "limits"]);
    let mut sum = Sum::default();
    for (name, quantity) in requests.entries() {
        let index = resources.index(name);
        *sum.slot(index) = amount(name, quantity);
    }
    // The API server copies limits into absent requests; objects that never passed it get the same here.
    for (name, quantity) in limits.entries() {
        if requests.get(name).is_none() {
            let index = resources.index(name);
            *sum.slot(index) = amount(name, quantity);
        }
    }
    if defaults {
        for (name, index, amount) in [("cpu", CPU, DEFAULT_CPU), ("memory", MEMORY, DEFAULT_MEMORY)] {
            if requests.get(name).is_none() && limits.get(name).is_none() {
                *sum.slot(index) = amount;
            }
        }
    }
    sum
}
