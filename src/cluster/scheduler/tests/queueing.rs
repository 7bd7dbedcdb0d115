//! Queue, backoff, hints, and pods that never get as far as a node.

use super::*;
use crate::list;

#[test]
fn gated_pods_wait_in_silence() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(GPU, "1")]);
    lab.pod("p", &[(GPU, "1")], |pod| {
        pod.set(&["spec", "schedulingGates"], list![object! { "name" => "example.com/wait" }]);
    });
    assert_eq!((lab.place("p"), lab.events("p").len(), lab.failures("p")), ("", 0, 0));
    lab.update(Kind::POD, "default", "p", Part::Main, |pod| drop(pod.remove(&["spec", "schedulingGates"])));
    lab.settle();
    assert_eq!(lab.place("p"), "n");
}

#[test]
fn other_schedulers_pods_are_left_alone() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(GPU, "1")]);
    lab.pod("p", &[(GPU, "1")], |pod| pod.set(&["spec", "schedulerName"], "custom"));
    assert_eq!((lab.place("p"), lab.events("p").len()), ("", 0));
    // On a node it counts nevertheless.
    lab.pod("placed", &[(GPU, "1")], |pod| {
        pod.set(&["spec", "schedulerName"], "custom");
        pod.set(&["spec", "nodeName"], "n");
    });
    lab.pod("q", &[(GPU, "1")], |_| {});
    assert!(lab.why("q").contains("1 Insufficient nvidia.com/gpu"));
}

#[test]
fn without_nodes_it_says_so_and_tries_again() {
    let mut lab = Lab::new();
    lab.pod("p", &[], |_| {});
    assert_eq!(lab.why("p"), "no nodes available to schedule pods");
    assert_eq!(lab.get("p").condition("PodScheduled").at(&["reason"]).str(), "Unschedulable");
    assert_eq!(lab.world.now(), Config::default().epoch, "nobody waits for a node that nobody makes");
    lab.world.advance(Duration::from_secs(60));
    let key = ObjectKey::new(Kind::POD, "default", "p");
    let tries: Vec<u64> =
        lab.world.trace.about(&key).map(|one| one.at.since(Config::default().epoch).as_secs()).collect();
    assert_eq!(tries, [52, 41, 30, 19, 10, 5, 2, 0], "1, 2, 4, 8, 10, 10 … seconds, on whole seconds");
    // No plugin rejected it, so no event helps: it comes back by its backoff.
    lab.node("n", &[], &[]);
    assert_eq!(lab.place("p"), "n");
    assert!(lab.world.now().since(Config::default().epoch).as_secs() > 60);
}

#[test]
fn a_missing_volume_claim_ends_the_attempt_early() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[]);
    lab.pod("p", &[], |pod| {
        let volume = object! { "name" => "v", "persistentVolumeClaim" => object! { "claimName" => "data" } };
        pod.set(&["spec", "volumes"], list![volume]);
    });
    assert_eq!(lab.why("p"), "0/1 nodes are available: persistentvolumeclaim \"data\" not found. not found");
}

#[test]
fn the_more_important_pod_goes_first() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(GPU, "1")]);
    for (name, priority) in [("low", 1), ("high", 2)] {
        let mut pod = pod(name, &[(GPU, "1")]);
        pod.set(&["spec", "priority"], priority);
        lab.submit(pod);
    }
    lab.settle();
    assert_eq!([lab.place("high"), lab.place("low")], ["n", ""]);
}

#[test]
fn terminal_pods_give_their_room_back_while_they_still_exist() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(GPU, "1")]);
    lab.pod("one", &[(GPU, "1")], |_| {});
    lab.pod("two", &[(GPU, "1")], |_| {});
    assert_eq!(lab.place("two"), "");
    lab.update(Kind::POD, "default", "one", Part::Status, |pod| pod.set(&["status", "phase"], "Succeeded"));
    lab.settle();
    assert_eq!(lab.place("two"), "n");
}

#[test]
fn capacity_alone_wakes_nobody_and_a_new_node_must_be_big_enough() {
    let mut lab = Lab::new();
    lab.node("small", &[], &[(GPU, "1")]);
    lab.pod("p", &[(GPU, "4")], |_| {});
    lab.update(Kind::NODE, "", "small", Part::Status, |node| node.set(&["status", "capacity", GPU], "4"));
    lab.settle();
    assert_eq!(lab.failures("p"), 1);
    // A new node alone would not wake it either; that its not-ready taint goes does.
    lab.node("other", &[], &[(GPU, "2")]);
    assert_eq!(lab.failures("p"), 2);
    lab.node("big", &[], &[(GPU, "4")]);
    assert_eq!(lab.place("p"), "big");
}

#[test]
fn any_taint_change_wakes_whom_fit_or_affinity_rejected() {
    let mut lab = Lab::new();
    for name in ["one", "two"] {
        lab.node(name, &[], &[(GPU, "1")]);
    }
    lab.pod("big", &[(GPU, "4")], |_| {});
    lab.pod("elsewhere", &[], |pod| pod.set(&["spec", "nodeSelector"], object! { "no" => "where" }));
    let taint = object! { "key" => "k", "value" => "", "effect" => "NoSchedule" };
    lab.update(Kind::NODE, "", "two", Part::Main, |node| node.set(&["spec", "taints"], list![taint]));
    lab.settle();
    assert_eq!([lab.failures("big"), lab.failures("elsewhere")], [2, 2]);
    // A label that does not match wakes neither.
    lab.update(Kind::NODE, "", "one", Part::Main, |node| node.set(&["metadata", "labels", "x"], "y"));
    lab.settle();
    assert_eq!([lab.failures("big"), lab.failures("elsewhere")], [2, 2]);
    // Cordoning is no event, uncordoning counts as a taint change.
    lab.update(Kind::NODE, "", "one", Part::Main, |node| node.set(&["spec", "unschedulable"], true));
    lab.settle();
    let before = lab.failures("elsewhere");
    lab.update(Kind::NODE, "", "one", Part::Main, |node| drop(node.remove(&["spec", "unschedulable"])));
    lab.settle();
    assert!(lab.failures("elsewhere") > before);
}

#[test]
fn set_aside_pods_are_tried_again_after_five_minutes() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(GPU, "1")]);
    lab.pod("p", &[(GPU, "4")], |_| {});
    lab.world.advance(Duration::from_secs(299));
    assert_eq!(lab.failures("p"), 1);
    lab.world.advance(Duration::from_secs(60));
    assert_eq!(lab.failures("p"), 2);
}

#[test]
fn a_port_is_free_again_when_its_pod_goes() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[]);
    let port = |number: i64| {
        move |pod: &mut Value| {
            let ports = list![object! { "containerPort" => number, "hostPort" => number, "protocol" => "TCP" }];
            let mut container = pod.at(&["spec", "containers"]).items()[0].clone();
            container.set(&["ports"], ports);
            pod.set(&["spec", "containers"], list![container]);
        }
    };
    lab.pod("one", &[], port(80));
    lab.pod("unrelated", &[], port(81));
    lab.pod("two", &[], port(80));
    assert!(lab.why("two").contains("1 node(s) didn't have free ports for the requested pod ports"));
    lab.delete(Kind::POD, "default", "unrelated");
    lab.settle();
    assert_eq!(lab.failures("two"), 1);
    lab.delete(Kind::POD, "default", "one");
    lab.settle();
    assert_eq!(lab.place("two"), "n");
}

#[test]
fn a_pod_bound_to_named_nodes_only_looks_at_those() {
    let mut lab = Lab::new();
    for name in ["a", "b", "c"] {
        lab.node(name, &[], &[(GPU, "1")]);
    }
    let named = |pod: &mut Value| {
        let field = object! { "key" => "metadata.name", "operator" => "In", "values" => list!["b"] };
        let path = &[
            "spec",
            "affinity",
            "nodeAffinity",
            "requiredDuringSchedulingIgnoredDuringExecution",
            "nodeSelectorTerms",
        ];
        pod.set(path, list![object! { "matchFields" => list![field] }]);
    };
    lab.pod("one", &[(GPU, "1")], named);
    assert_eq!(lab.place("one"), "b");
    lab.pod("two", &[(GPU, "1")], named);
    assert_eq!(
        lab.why("two"),
        "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. \
         no new claims to deallocate, preemption: 0/3 nodes are available: \
         1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
    );
}

#[test]
fn never_preempting_pods_say_so() {
    let mut lab = Lab::new();
    lab.node("n", &[], &[(GPU, "1")]);
    lab.pod("low", &[(GPU, "1")], |_| {});
    lab.pod("high", &[(GPU, "1")], |pod| {
        pod.set(&["spec", "priority"], 9);
        pod.set(&["spec", "preemptionPolicy"], "Never");
    });
    assert_eq!(
        lab.why("high"),
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate, \
         preemption: not eligible due to preemptionPolicy=Never."
    );
    assert_eq!(lab.place("low"), "n");
}

#[test]
fn settings_have_strict_keys() {
    let mut lab = Lab::new();
    let error = lab.world.configure("scheduler", "speed", &Value::Null).expect_err("unknown");
    assert_eq!(error, "the scheduler has no setting 'speed'; it has profile");
}
