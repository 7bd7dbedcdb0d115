//! Recorded outcomes of preemption by a real kube-scheduler 1.36.3.

use super::*;

fn low(node: &'static str) -> impl Fn(&mut Value) {
    move |pod: &mut Value| {
        pod.set(&["spec", "nodeSelector"], object! { "kubernetes.io/hostname" => node });
        pod.set(&["spec", "priority"], 100);
    }
}

fn high(pod: &mut Value) {
    in_lab(pod);
    pod.set(&["spec", "priority"], 1000);
}

fn is_gone(lab: &Lab, name: &str) -> bool {
    lab.world.server.store.get(&ObjectKey::new(Kind::POD, "default", name)).is_none()
}

const LACKING: &str =
    "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 2 Insufficient nvidia.com/gpu.";

#[test]
fn pod_preemption_23() {
    let mut lab = Lab::new();
    lab.node("gpulab-control-plane", &[], &[]);
    for name in ["a", "b"] {
        lab.node(name, &[("lab", "yes")], &[(GPU, "4")]);
    }
    for (name, node, gpus) in [("low-a1", "a", "2"), ("low-a2", "a", "2"), ("low-b1", "b", "1"), ("low-b2", "b", "3")] {
        lab.pod(name, &[("cpu", "100m"), (GPU, gpus)], low(node));
        lab.world.advance(Duration::from_secs(1));
    }
    // One victim of equal priority on either node: the one that started last goes.
    lab.pod("high-1", &[("cpu", "100m"), (GPU, "1")], high);
    assert_eq!(lab.place("high-1"), "b");
    assert!(is_gone(&lab, "low-b2"));
    assert_eq!(lab.events("high-1")[0], ("FailedScheduling".into(), LACKING.into()));
    assert_eq!(lab.get("high-1").at(&["status", "nominatedNodeName"]), &Value::Null);

    // It was too big a victim: another pod fits without eviction.
    lab.pod("high-never", &[("cpu", "100m"), (GPU, "1")], |pod| {
        in_lab(pod);
        pod.set(&["spec", "priority"], 900);
        pod.set(&["spec", "preemptionPolicy"], "Never");
    });
    assert_eq!((lab.place("high-never"), lab.failures("high-never")), ("b", 0));

    // A whole node: only where everybody is less important.
    lab.pod("high-4", &[("cpu", "100m"), (GPU, "4")], high);
    assert_eq!(lab.place("high-4"), "a");
    assert!(is_gone(&lab, "low-a1") && is_gone(&lab, "low-a2") && !is_gone(&lab, "low-b1"));
    let text = format!("Preempted by pod {} on node a", lab.get("high-4").uid());
    for victim in ["low-a1", "low-a2"] {
        assert_eq!(lab.events(victim).last(), Some(&("Preempted".into(), text.clone())));
    }
}

/// Nobody runs the node, so the victim stays until it is removed by hand.
#[test]
fn nominated_node_23b() {
    let mut lab = Lab::new();
    lab.node("gpulab-control-plane", &[], &[]);
    lab.node("other", &[("lab", "yes")], &[(GPU, "0")]);
    lab.node_with("n", &[("lab", "yes")], &[(GPU, "4")], |node| drop(node.remove(&["metadata", "annotations"])));
    for (name, gpus) in [("low-1", "1"), ("low-2", "1"), ("low-3", "2")] {
        lab.pod(name, &[("cpu", "100m"), (GPU, gpus)], |pod| {
            low("n")(pod);
            pod.remove(&["spec", "terminationGracePeriodSeconds"]);
        });
        lab.update(Kind::POD, "default", name, Part::Status, |pod| {
            pod.set(&["status", "phase"], "Running");
            let start = format!("2026-01-01T00:00:0{}Z", &name[4..]);
            pod.set(&["status", "startTime"], start);
        });
    }
    lab.pod("high", &[("cpu", "100m"), (GPU, "2")], high);
    let victim = lab.get("low-3");
    assert!(victim.is_deleting() && !lab.get("low-1").is_deleting() && !lab.get("low-2").is_deleting());
    let condition = victim.at(&["status", "conditions"]).items()[0].clone();
    assert_eq!(condition.at(&["type"]).str(), "DisruptionTarget");
    assert_eq!(condition.at(&["reason"]).str(), "PreemptionByScheduler");
    let message = "default-scheduler: preempting to accommodate a higher priority pod";
    assert_eq!(condition.at(&["message"]).str(), message);
    assert_eq!(lab.get("high").at(&["status", "nominatedNodeName"]).str(), "n");
    assert_eq!(lab.why("high"), LACKING);

    // Its place is held: a pod of lower priority does not get it, and the preemptor evicts nobody else.
    lab.pod("mid", &[("cpu", "100m"), (GPU, "1")], |pod| {
        in_lab(pod);
        pod.set(&["spec", "priority"], 50);
    });
    assert_eq!(lab.place("mid"), "");
    assert_eq!(lab.failures("high"), 1);

    lab.delete(Kind::POD, "default", "low-3");
    lab.settle();
    assert_eq!((lab.place("high"), lab.place("mid"), lab.failures("high")), ("n", "", 1));
}
