//! The parity cases of the reference that concern the scheduler, as far as they are not beside the code they test: S01 is
//! in `diagnosis`, S13 in `cycle`, S16 in `balanced_allocation`.

use super::*;
use crate::list;

const R: &str = "example.com/gpu";

fn priority(value: i64) -> impl Fn(&mut Value) {
    move |pod: &mut Value| pod.set(&["spec", "priority"], value)
}

/// The text after `preemption: `.
fn suffix<'a>(lab: &'a Lab, name: &str) -> &'a str {
    lab.why(name).split_once("preemption: ").expect("a suffix").1
}

/// Raw scores of a plugin for the last decision about a pod, by node.
fn raw(lab: &Lab, pod: &str, plugin: &str) -> Vec<i64> {
    let key = ObjectKey::new(Kind::POD, "default", pod);
    let detail = &lab.world.trace.about(&key).next().expect("a decision").detail;
    let scores = detail.at(&["scores"]).items().iter().find(|scores| scores.at(&["plugin"]).str() == plugin);
    scores.expect("its scores").at(&["raw"]).items().iter().map(Value::int).collect()
}

#[test]
fn s02_four_of_four_used_by_equals() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(R, "4")]);
    for at in 0..5 {
        lab.pod(&format!("p{at}"), &[(R, "1")], |_| {});
    }
    assert_eq!(
        lab.why("p4"),
        "0/1 nodes are available: 1 Insufficient example.com/gpu. no new claims to deallocate, preemption: \
         0/1 nodes are available: 1 No preemption victims found for incoming pod."
    );
}

#[test]
fn s03_more_than_a_node_has() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(R, "4")]);
    lab.pod("low", &[(R, "1")], |_| {});
    lab.pod("big", &[(R, "8")], priority(10));
    assert_eq!(suffix(&lab, "big"), "0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
}

#[test]
fn s04_init_containers_count_by_their_highest() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(R, "5")]);
    for (name, second) in [("six", "6"), ("five", "5")] {
        lab.pod(name, &[(R, "1")], |pod| {
            let init = |name: &str, amount: &str| {
                let amounts = object! { R => amount };
                object! { "name" => name, "image" => "i", "resources" => object! { "requests" => amounts.clone(), "limits" => amounts } }
            };
            pod.set(&["spec", "initContainers"], list![init("a", "3"), init("b", second)]);
        });
    }
    assert!(lab.why("six").contains("1 Insufficient example.com/gpu"));
    assert_eq!(lab.place("five"), "n");
}

#[test]
fn s05_an_unknown_resource_is_lacking_unless_nothing_is_asked() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[]);
    lab.pod("one", &[(R, "1")], |_| {});
    lab.pod("zero", &[(R, "0")], |_| {});
    assert!(lab.why("one").contains("1 Insufficient example.com/gpu"));
    assert_eq!(lab.place("zero"), "n");
}

#[test]
fn s06_mixed_reasons_without_a_candidate() {
    let mut lab = Lab::new();
    for (name, cpu) in [("n1", "4"), ("n2", "4"), ("n3", "4")] {
        lab.node(name, &[("at", name)], &[("cpu", cpu)]);
    }
    let on = |node: &'static str, value: i64| {
        move |pod: &mut Value| {
            pod.set(&["spec", "nodeSelector"], object! { "at" => node });
            pod.set(&["spec", "priority"], value);
        }
    };
    lab.pod("high-1", &[("cpu", "4")], on("n1", 100));
    lab.pod("high-2", &[("cpu", "3")], on("n2", 100));
    lab.pod("low-2", &[("cpu", "1")], on("n2", 0));
    lab.pod("high-3", &[("cpu", "4")], on("n3", 100));
    lab.pod("preemptor", &[("cpu", "2")], priority(100));
    assert_eq!(
        suffix(&lab, "preemptor"),
        "0/3 nodes are available: 1 Insufficient cpu, 2 No preemption victims found for incoming pod."
    );
}

#[test]
fn s07_two_too_small_and_two_beyond_help() {
    let mut lab = Lab::new();
    for (name, ready) in [("n1", "yes"), ("n2", "yes"), ("n3", "no"), ("n4", "no")] {
        lab.node(name, &[("ready", ready), ("at", name)], &[("cpu", "4")]);
    }
    for node in ["n1", "n2"] {
        for (kind, cpu, value) in [("high", "3", 100), ("low", "1", 0)] {
            lab.pod(&format!("{kind}-{node}"), &[("cpu", cpu)], |pod| {
                pod.set(&["spec", "nodeSelector"], object! { "at" => node });
                pod.set(&["spec", "priority"], value);
            });
        }
    }
    lab.pod("preemptor", &[("cpu", "2")], |pod| {
        pod.set(&["spec", "nodeSelector"], object! { "ready" => "yes" });
        pod.set(&["spec", "priority"], 100);
    });
    assert_eq!(
        suffix(&lab, "preemptor"),
        "0/4 nodes are available: 2 Insufficient cpu, 2 Preemption is not helpful for scheduling."
    );
}

#[test]
fn s08_equals_do_not_preempt() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(R, "1")]);
    lab.pod("one", &[(R, "1")], priority(5));
    lab.pod("two", &[(R, "1")], priority(5));
    assert_eq!((lab.place("one"), lab.get("one").is_deleting()), ("n", false));
    assert_eq!(suffix(&lab, "two"), "0/1 nodes are available: 1 No preemption victims found for incoming pod.");
}

fn pinned(node: &'static str, value: i64) -> impl Fn(&mut Value) {
    move |pod: &mut Value| {
        pod.set(&["spec", "nodeSelector"], object! { "kubernetes.io/hostname" => node });
        pod.set(&["spec", "priority"], value);
    }
}

fn gone(lab: &Lab, name: &str) -> bool {
    lab.world.server.store.get(&ObjectKey::new(Kind::POD, "default", name)).is_none()
}

#[test]
fn s09_the_node_with_the_least_important_victim() {
    let mut lab = Lab::new();
    for name in ["node1", "node2"] {
        lab.node(name, &[], &[(R, "1")]);
    }
    lab.pod("mid", &[(R, "1")], pinned("node1", 50));
    lab.pod("low", &[(R, "1")], pinned("node2", 10));
    lab.pod("high", &[(R, "1")], priority(100));
    lab.settle();
    assert!(gone(&lab, "low") && !gone(&lab, "mid"));
    assert_eq!(lab.place("high"), "node2");
    let failed = &lab.events("high")[0];
    assert_eq!(failed.1, "0/2 nodes are available: 2 Insufficient example.com/gpu.", "no suffix when it goes ahead");
    let uid = lab.get("high").uid();
    assert_eq!(lab.events("low")[1], ("Preempted".into(), format!("Preempted by pod {uid} on node node2")));
}

#[test]
fn s10_the_node_whose_victim_started_last() {
    let mut lab = Lab::new();
    for (at, name) in ["n1", "n2", "n3"].into_iter().enumerate() {
        lab.node(name, &[], &[(R, "1")]);
        lab.pod(&format!("v{at}"), &[(R, "1")], pinned(name, 10));
    }
    for (name, start) in
        [("v0", "2026-01-01T00:00:03Z"), ("v1", "2026-01-01T00:00:09Z"), ("v2", "2026-01-01T00:00:06Z")]
    {
        lab.update(Kind::POD, "default", name, Part::Status, |pod| pod.set(&["status", "startTime"], start));
    }
    lab.pod("high", &[(R, "1")], priority(100));
    lab.settle();
    assert!(gone(&lab, "v1") && !gone(&lab, "v0") && !gone(&lab, "v2"));
    assert_eq!(lab.place("high"), "n2");
}

#[test]
fn s11_the_small_unimportant_pod_is_spared() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(R, "4")]);
    lab.pod("large-mid", &[(R, "3")], priority(50));
    lab.pod("small-low", &[(R, "1")], priority(10));
    lab.pod("high", &[(R, "3")], priority(100));
    lab.settle();
    assert!(gone(&lab, "large-mid") && !gone(&lab, "small-low"));
    assert_eq!(lab.place("high"), "n");
}

#[test]
fn the_more_important_is_spared_first_however_young() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(R, "2")]);
    lab.pod("low-old", &[(R, "1")], priority(10));
    lab.pod("mid-young", &[(R, "1")], priority(50));
    lab.pod("high", &[(R, "1")], priority(100));
    lab.settle();
    assert!(gone(&lab, "low-old") && !gone(&lab, "mid-young"));
}

#[test]
fn s12_a_node_without_a_violated_budget_wins() {
    let mut lab = Lab::new();
    for (at, name) in ["n1", "n2", "n3"].into_iter().enumerate() {
        lab.node(name, &[], &[(R, "1")]);
        lab.pod(&format!("v{at}"), &[(R, "1")], |pod| {
            pinned(name, 10)(pod);
            pod.set(&["metadata", "labels", "guarded"], if name == "n3" { "no" } else { "yes" });
        });
    }
    let budget = object! {
        "apiVersion" => "policy/v1", "kind" => "PodDisruptionBudget", "metadata" => object! { "name" => "b" },
        "spec" => object! {
            "minAvailable" => 2, "selector" => object! { "matchLabels" => object! { "guarded" => "yes" } },
        },
    };
    lab.create(Kind::POD_DISRUPTION_BUDGET, "default", budget);
    lab.pod("high", &[(R, "1")], priority(100));
    lab.settle();
    assert_eq!(lab.place("high"), "n3");
    assert!(gone(&lab, "v2") && !gone(&lab, "v0"));
}

#[test]
fn s14_least_and_most_allocated() {
    for (strategy, scores) in [("LeastAllocated", [37, 50]), ("MostAllocated", [62, 50])] {
        let mut lab = Lab::new();
        lab.world.configure("scheduler", "profile", &object! { "strategy" => strategy }).expect("a profile");
        lab.node("n1", &[], &[("cpu", "4"), ("memory", "10000")]);
        lab.node("n2", &[], &[("cpu", "6"), ("memory", "10000")]);
        lab.pod("p", &[("cpu", "3"), ("memory", "5000")], |_| {});
        assert_eq!(raw(&lab, "p", "NodeResourcesFit"), scores, "{strategy}");
    }
}

#[test]
fn s15_most_allocated_with_an_extended_resource() {
    for (requests, scores) in
        [(&[("cpu", "3"), ("memory", "5000"), (R, "2")][..], [50, 40]), (&[("cpu", "3"), ("memory", "5000")], [50, 50])]
    {
        let mut lab = Lab::new();
        let weights = object! { "cpu" => 1, "memory" => 1, R => 1 };
        let profile = object! { "strategy" => "MostAllocated", "resources" => weights };
        lab.world.configure("scheduler", "profile", &profile).expect("a profile");
        lab.node("n1", &[], &[("cpu", "6"), ("memory", "10000"), (R, "4")]);
        lab.node("n2", &[], &[("cpu", "6"), ("memory", "10000"), (R, "10")]);
        lab.pod("p", requests, |_| {});
        assert_eq!(raw(&lab, "p", "NodeResourcesFit"), scores);
    }
}
