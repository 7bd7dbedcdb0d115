//! How long scheduling takes: one-GPU pods onto fleet nodes of eight, created, scheduled and started.
//!
//! `cargo bench -p gpulab-cluster --bench schedule` prints, for growing clusters, the CPU time and what one pod costs.
//! `-- 10000 5000` runs one size only (pods, nodes).

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a benchmark measures the machine")]

mod shared;

use std::time::{Duration, Instant};

use gpulab_cluster::api::Caller;
use gpulab_cluster::api::registry::Kind;
use gpulab_cluster::value::Value;
use gpulab_cluster::{Config, World, object};
use shared::{cpu, pod};

/// Resident memory in bytes, 0 where the system does not tell it.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_ascii_whitespace().nth(1).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn node(at: usize) -> Value {
    let amounts = object! { "cpu" => "96", "memory" => "1Ti", "pods" => "110", "nvidia.com/gpu" => "8" };
    let name = format!("node-{at}");
    object! {
        "apiVersion" => "v1", "kind" => "Node",
        "metadata" => object! {
            "name" => name.as_str(), "labels" => object! { "kubernetes.io/hostname" => name.as_str() },
            "annotations" => object! { "kwok.x-k8s.io/node" => "fake" },
        },
        "spec" => Value::object(),
        "status" => object! { "capacity" => amounts.clone(), "allocatable" => amounts },
    }
}

fn create(world: &mut World, kind: Kind, namespace: &str, object: Value) {
    let caller = Caller { now: world.now(), manager: "bench" };
    if let Err(status) = world.server.create(&caller, kind, namespace, object) {
        println!("refused: {status}");
    }
    world.react();
}

struct Figures {
    created: Duration,
    settled: Duration,
    bytes: u64,
    object: u64,
    placed: usize,
    running: usize,
}

fn run(start: Instant, pods: usize, nodes: usize) -> Figures {
    let mut world = World::new(&Config { nodes: Vec::new(), ..Config::default() });
    let namespace = object! { "metadata" => object! { "name" => "default" } };
    let key = gpulab_cluster::api::store::ObjectKey::new(Kind::NAMESPACE, "", "default");
    if world.server.store.get(&key).is_none() {
        create(&mut world, Kind::NAMESPACE, "", namespace);
    }
    for at in 0..nodes {
        create(&mut world, Kind::NODE, "", node(at));
    }
    world.settle(Duration::from_secs(600));
    let (begin, memory) = (cpu(start), resident());
    for at in 0..pods {
        create(&mut world, Kind::POD, "default", pod(at));
    }
    let created = cpu(start);
    world.settle(Duration::from_secs(600));
    let settled = cpu(start);
    let all = || world.server.store.list(Kind::POD, "default").map(|(_, pod)| pod);
    let placed = all().filter(|pod| !pod.at(&["spec", "nodeName"]).is_null()).count();
    let running = all().filter(|pod| pod.at(&["status", "phase"]).str() == "Running").count();
    let full = resident();
    let per_pod = |bytes: u64| bytes / pods.max(1) as u64;
    // What the objects alone take, as they are in the end.
    let copies: Vec<Value> = all().filter_map(|pod| Value::from_json(pod.to_json().as_bytes()).ok()).collect();
    let object = per_pod(resident().saturating_sub(full));
    drop(copies);
    let bytes = per_pod(full.saturating_sub(memory));
    Figures { created: created - begin, settled: settled - created, bytes, object, placed, running }
}

fn main() {
    let start = Instant::now();
    let given: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let sizes = match given[..] {
        [pods, nodes] => vec![(pods, nodes)],
        _ => vec![(1_000, 125), (10_000, 1_250), (10_000, 5_000), (100_000, 12_500)],
    };
    let mut first = 0.0;
    for (pods, nodes) in sizes {
        let figures = run(start, pods, nodes);
        let each = (figures.created + figures.settled).as_secs_f64() * 1e6 / pods as f64;
        if first == 0.0 {
            first = each;
        }
        println!(
            "{pods} pods, {nodes} nodes: created {:?}, settled {:?} CPU; {each:.1} us per pod, {:.2} of the first; \
             {} placed, {} running; {} bytes per pod, {} of them the object",
            figures.created,
            figures.settled,
            each / first,
            figures.placed,
            figures.running,
            figures.bytes,
            figures.object
        );
    }
}
