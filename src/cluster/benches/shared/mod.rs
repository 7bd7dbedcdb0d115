//! What the benchmarks have in common: the clock and the pod.

use std::time::{Duration, Instant};

use gpulab_cluster::value::Value;
use gpulab_cluster::{list, object};

/// CPU time of this process so far, where the system tells it, else wall time.
pub fn cpu(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = text.split_ascii_whitespace().next().and_then(|field| field.parse().ok());
    nanos.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// A pod of one GPU.
pub fn pod(at: usize) -> Value {
    let requests = object! { "cpu" => "100m", "memory" => "1Gi", "nvidia.com/gpu" => "1" };
    object! {
        "apiVersion" => "v1", "kind" => "Pod",
        "metadata" => object! { "name" => format!("pod-{at}"), "labels" => object! { "app" => "bench" } },
        "spec" => object! {
            "containers" => list![object! {
                "name" => "main", "image" => "registry.k8s.io/pause:3.10",
                "resources" => object! { "requests" => requests, "limits" => object! { "nvidia.com/gpu" => "1" } },
            }],
        },
    }
}
