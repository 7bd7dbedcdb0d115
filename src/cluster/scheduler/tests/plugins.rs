//! Plugins through the world: affinity, spread, images, taints that only discourage.

use super::*;
use crate::list;

fn labelled(pod: &mut Value, key: &str, value: &str) {
    pod.set(&["metadata", "labels", key], value);
}

fn pod_term(value: &str, topology: &str) -> Value {
    let selector = object! { "matchLabels" => object! { "group" => value } };
    object! { "labelSelector" => selector, "topologyKey" => topology }
}

fn spread(policy: &str, topology: &str) -> Value {
    object! {
        "maxSkew" => 1, "topologyKey" => topology, "whenUnsatisfiable" => policy,
        "labelSelector" => object! { "matchLabels" => object! { "group" => "g" } },
    }
}

#[test]
fn existing_pods_keep_others_out() {
    let mut lab = Lab::new();
    lab.node("a", &[("rack", "1")], &[]);
    lab.node("b", &[("rack", "1")], &[]);
    lab.pod("loner", &[], |pod| {
        let path = &["spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
        pod.set(path, list![pod_term("g", "rack")]);
    });
    lab.pod("other", &[], |pod| labelled(pod, "group", "g"));
    assert!(
        lab.why("other")
            .starts_with("0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules.")
    );
    lab.delete(Kind::POD, "default", "loner");
    lab.settle();
    assert_eq!(lab.place("other"), "a");
}

#[test]
fn company_is_needed_and_may_be_started_by_the_first_of_a_group() {
    let mut lab = Lab::new();
    lab.node("bare", &[], &[]);
    lab.node("a", &[("rack", "1")], &[]);
    lab.node("b", &[("rack", "2")], &[]);
    let near = |group: &'static str| {
        move |pod: &mut Value| {
            let path = &["spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
            pod.set(path, list![pod_term(group, "rack")]);
        }
    };
    lab.pod("follower", &[], near("g"));
    assert!(lab.why("follower").starts_with("0/3 nodes are available: 3 node(s) didn't match pod affinity rules."));
    lab.pod("leader", &[], |pod| {
        labelled(pod, "group", "g");
        near("g")(pod);
        pod.set(&["spec", "nodeSelector"], object! { "rack" => "2" });
    });
    assert_eq!(lab.place("leader"), "b");
    assert_eq!(lab.place("follower"), "b", "the leader on its node wakes who waits for company");
}

#[test]
fn namespaces_are_chosen_by_their_labels() {
    let mut lab = Lab::new();
    for (name, team) in [("red", "r"), ("blue", "b")] {
        let labels = object! { "team" => team };
        let namespace = object! {
            "apiVersion" => "v1", "kind" => "Namespace", "metadata" => object! { "name" => name, "labels" => labels },
        };
        lab.create(Kind::NAMESPACE, "", namespace);
    }
    lab.node("a", &[], &[]);
    lab.node("b", &[], &[]);
    let mut there = pod("there", &[]);
    labelled(&mut there, "group", "g");
    there.set(&["spec", "nodeName"], "a");
    lab.create(Kind::POD, "red", there);
    let avoid = |team: &'static str| {
        move |pod: &mut Value| {
            let mut term = pod_term("g", "kubernetes.io/hostname");
            term.set(&["namespaceSelector"], object! { "matchLabels" => object! { "team" => team } });
            let path = &["spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
            pod.set(path, list![term]);
        }
    };
    lab.pod("avoids-red", &[], avoid("r"));
    lab.pod("avoids-blue", &[], avoid("b"));
    assert_eq!([lab.place("avoids-red"), lab.place("avoids-blue")], ["b", "a"]);
}

#[test]
fn few_domains_count_as_empty_and_missing_labels_are_beyond_help() {
    let mut lab = Lab::new();
    lab.node("a", &[("rack", "1")], &[]);
    lab.node("bare", &[], &[]);
    let grouped = |constraint: Value| {
        move |pod: &mut Value| {
            labelled(pod, "group", "g");
            pod.set(&["spec", "topologySpreadConstraints"], list![constraint]);
        }
    };
    let mut three = spread("DoNotSchedule", "rack");
    three.set(&["minDomains"], 3);
    lab.pod("one", &[], grouped(three.clone()));
    lab.pod("two", &[], grouped(three));
    assert_eq!(lab.place("one"), "a");
    assert_eq!(
        lab.why("two"),
        "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, \
         1 node(s) didn't match pod topology spread constraints (missing required label). \
         no new claims to deallocate, preemption: 0/2 nodes are available: \
         1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    );
}

#[test]
fn taint_policy_decides_which_domains_count() {
    for (policy, place) in [("Ignore", ""), ("Honor", "a")] {
        let mut lab = Lab::new();
        lab.node("a", &[("rack", "1")], &[]);
        lab.node_with("b", &[("rack", "2")], &[], |node| {
            let taint = object! { "key" => "k", "value" => "", "effect" => "NoSchedule" };
            node.set(&["spec", "taints"], list![taint]);
        });
        for name in ["one", "two"] {
            lab.pod(name, &[], |pod| {
                labelled(pod, "group", "g");
                let mut constraint = spread("DoNotSchedule", "rack");
                constraint.set(&["nodeTaintsPolicy"], policy);
                pod.set(&["spec", "topologySpreadConstraints"], list![constraint]);
            });
        }
        assert_eq!([lab.place("one"), lab.place("two")], ["a", place], "{policy}");
    }
}

/// Pods of a Service spread over hosts although bare ones with the same requests would pack.
#[test]
fn the_system_spreads_what_a_service_selects() {
    for (service, places) in [(false, ["a", "a"]), (true, ["a", "b"])] {
        let mut lab = Lab::new();
        lab.node("a", &[], &[]);
        lab.node("b", &[], &[]);
        if service {
            let spec = object! {
                "selector" => object! { "group" => "g" }, "ports" => list![object! { "port" => 80 }],
            };
            let service = object! {
                "apiVersion" => "v1", "kind" => "Service", "metadata" => object! { "name" => "s" }, "spec" => spec,
            };
            lab.create(Kind::SERVICE, "default", service);
        }
        for name in ["one", "two"] {
            lab.pod(name, &[("cpu", "100m")], |pod| labelled(pod, "group", "g"));
        }
        assert_eq!(["one", "two"].map(|name| lab.place(name)), places);
    }
}

#[test]
fn soft_taints_and_wishes_for_company_decide_between_nodes() {
    let mut lab = Lab::new();
    lab.node_with("a", &[], &[], |node| {
        let taint = object! { "key" => "k", "value" => "", "effect" => "PreferNoSchedule" };
        node.set(&["spec", "taints"], list![taint]);
    });
    lab.node("b", &[], &[]);
    lab.pod("plain", &[], |pod| labelled(pod, "group", "g"));
    assert_eq!(lab.place("plain"), "b");
    // Three points for the taint against two for the wish, each times 100.
    let wish = |pod: &mut Value| {
        let wish = object! { "weight" => 10, "podAffinityTerm" => pod_term("g", "kubernetes.io/hostname") };
        let path = &["spec", "affinity", "podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution"];
        pod.set(path, list![wish]);
    };
    lab.pod("shy", &[], wish);
    assert_eq!(lab.place("shy"), "b");
    lab.pod("tolerant", &[], |pod| {
        wish(pod);
        pod.set(&["spec", "tolerations"], list![object! { "key" => "k", "operator" => "Exists" }]);
    });
    assert_eq!(lab.place("tolerant"), "a");
}

#[test]
fn nodes_with_the_image_are_better() {
    let mut lab = Lab::new();
    lab.node("a", &[], &[]);
    lab.node_with("b", &[], &[], |node| {
        let image = object! { "names" => list!["registry.k8s.io/big:latest"], "sizeBytes" => 900 * 1024 * 1024_i64 };
        node.set(&["status", "images"], list![image]);
    });
    lab.pod("p", &[], |pod| {
        let container = object! { "name" => "c", "image" => "registry.k8s.io/big" };
        pod.set(&["spec", "containers"], list![container]);
    });
    assert_eq!(lab.place("p"), "b");
}

/// Filling up nodes of a resource needs a profile that scores it.
#[test]
fn a_profile_packs_gpus() {
    for (profile, place) in [
        (Value::Null, "empty"),
        (object! { "strategy" => "MostAllocated", "resources" => object! { GPU => 1 } }, "used"),
    ] {
        let mut lab = Lab::new();
        lab.world.configure("scheduler", "profile", &profile).expect("a profile");
        lab.node("empty", &[], &[(GPU, "8")]);
        lab.node("used", &[], &[(GPU, "8")]);
        lab.pod("first", &[("cpu", "4"), ("memory", "32Gi"), (GPU, "1")], |pod| {
            pod.set(&["spec", "nodeSelector"], object! { "kubernetes.io/hostname" => "used" });
        });
        lab.pod("second", &[("cpu", "4"), ("memory", "32Gi"), (GPU, "1")], |_| {});
        assert_eq!(lab.place("second"), place);
    }
}

#[test]
fn zones_take_turns() {
    let mut lab = Lab::new();
    for (name, zone) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("c1", "c")] {
        lab.node(name, &[("topology.kubernetes.io/zone", zone)], &[(GPU, "1")]);
    }
    for at in 0..4 {
        lab.pod(&format!("p{at}"), &[(GPU, "1")], |_| {});
    }
    assert_eq!(["p0", "p1", "p2", "p3"].map(|name| lab.place(name)), ["a1", "b1", "c1", "a2"]);
}
