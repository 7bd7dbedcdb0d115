//! Recorded outcomes of a real kube-scheduler 1.36.3: messages and placements.

use super::*;
use crate::list;

const REAL: &str = "gpulab-control-plane";
const TAIL: &str = "no new claims to deallocate, preemption:";

/// The node of the recording cluster that takes no part.
fn with_real_node() -> Lab {
    let mut lab = Lab::new();
    lab.node(REAL, &[], &[("cpu", "8"), ("memory", "24683652Ki"), ("simulator.accelerator-fleet.io/gpu", "0")]);
    lab
}

fn gpu_nodes(lab: &mut Lab) {
    lab.node("gpu-node-1", &[("lab", "yes")], &[(GPU, "4")]);
    lab.node("gpu-node-2", &[("lab", "yes")], &[(GPU, "2")]);
}

fn gpu_pod(lab: &mut Lab, name: &str, gpus: &str) {
    lab.pod(name, &[("cpu", "100m"), (GPU, gpus)], in_lab);
}

#[test]
fn fragmentation_20() {
    let mut lab = with_real_node();
    gpu_nodes(&mut lab);
    let order = [("training-a", "2"), ("svc-b", "1"), ("training-c", "3"), ("svc-d", "1"), ("training-e", "2")];
    for (name, gpus) in order {
        gpu_pod(&mut lab, name, gpus);
    }
    let places = order.map(|(name, _)| lab.place(name));
    assert_eq!(places, ["gpu-node-1", "gpu-node-1", "", "gpu-node-1", "gpu-node-2"]);
    assert_eq!(
        lab.why("training-c"),
        format!(
            "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 2 Insufficient nvidia.com/gpu. \
             {TAIL} 0/3 nodes are available: 1 No preemption victims found for incoming pod, \
             2 Preemption is not helpful for scheduling."
        )
    );
    let assigned = "Successfully assigned default/training-a to gpu-node-1".to_owned();
    assert_eq!(lab.events("training-a"), [("Scheduled".to_owned(), assigned)]);
    assert_eq!(lab.events("training-c").len(), 1);
}

#[test]
fn large_first_20b() {
    let mut lab = with_real_node();
    gpu_nodes(&mut lab);
    let order = [("training-c", "3"), ("training-a", "2"), ("svc-b", "1"), ("svc-d", "1"), ("training-e", "2")];
    for (name, gpus) in order {
        gpu_pod(&mut lab, name, gpus);
    }
    assert_eq!(order.map(|(name, _)| lab.place(name)), ["gpu-node-1", "gpu-node-2", "gpu-node-1", "", ""]);
    for name in ["svc-d", "training-e"] {
        assert_eq!(
            lab.why(name),
            format!(
                "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, \
                 2 Insufficient nvidia.com/gpu. {TAIL} 0/3 nodes are available: \
                 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
            )
        );
    }
}

fn mixed_nodes(lab: &mut Lab) {
    lab.node("n-full", &[("lab", "yes")], &[(GPU, "8")]);
    lab.node("n-small", &[("lab", "yes")], &[(GPU, "4")]);
    lab.node_with("n-maint", &[("lab", "yes")], &[(GPU, "8")], |node| {
        let taint = object! { "key" => "maintenance", "value" => "true", "effect" => "NoSchedule" };
        node.set(&["spec", "taints"], list![taint]);
    });
    lab.node_with("n-cordoned", &[("lab", "yes")], &[(GPU, "8")], |node| node.set(&["spec", "unschedulable"], true));
    lab.node("n-other", &[("lab", "yes"), ("zone", "b")], &[(GPU, "8")]);
}

#[test]
fn why_pending_21() {
    let mut lab = with_real_node();
    mixed_nodes(&mut lab);
    let selecting = |labels: &'static [(&'static str, &'static str)]| {
        move |pod: &mut Value| pod.set(&["spec", "nodeSelector"], Value::Map(labels.iter().copied().collect()))
    };
    let cpu = ("cpu", "100m");
    lab.pod("infer-a", &[cpu, (GPU, "8")], selecting(&[("kubernetes.io/hostname", "n-full")]));
    lab.pod("too-big", &[cpu, (GPU, "16")], in_lab);
    lab.pod("wants-zone", &[cpu, (GPU, "8")], selecting(&[("zone", "b"), ("lab", "yes")]));
    lab.pod("no-zone", &[cpu, (GPU, "1")], selecting(&[("zone", "c")]));
    lab.pod("maint-tool", &[cpu, (GPU, "8")], |pod| {
        in_lab(pod);
        pod.set(&["spec", "tolerations"], list![object! { "key" => "maintenance", "operator" => "Exists" }]);
    });
    lab.pod("cpu-hog", &[("cpu", "33"), (GPU, "1")], in_lab);
    lab.pod("both", &[("cpu", "33"), (GPU, "9")], in_lab);
    lab.pod("eight", &[cpu, (GPU, "8")], in_lab);
    let placed = ["infer-a", "wants-zone", "maint-tool"].map(|name| lab.place(name));
    assert_eq!(placed, ["n-full", "n-other", "n-maint"]);
    let all = "6 Preemption is not helpful for scheduling";
    let three = "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s), \
                 1 node(s) were unschedulable,";
    let none = "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, \
                4 node(s) didn't match Pod's node affinity/selector";
    for (name, reasons, preemption) in [
        ("too-big", format!("{three} 3 Insufficient nvidia.com/gpu"), all),
        ("no-zone", none.to_owned(), all),
        ("cpu-hog", format!("{three} 2 Insufficient nvidia.com/gpu, 3 Insufficient cpu"), all),
        ("both", format!("{three} 3 Insufficient cpu, 3 Insufficient nvidia.com/gpu"), all),
        (
            "eight",
            format!("{three} 3 Insufficient nvidia.com/gpu"),
            "2 No preemption victims found for incoming pod, 4 Preemption is not helpful for scheduling",
        ),
    ] {
        let expected = format!("0/6 nodes are available: {reasons}. {TAIL} 0/6 nodes are available: {preemption}.");
        assert_eq!(lab.why(name), expected, "{name}");
    }
}

fn pdu_nodes() -> Lab {
    let mut lab = with_real_node();
    for (name, pdu) in [("n0", "pdu-0"), ("n1", "pdu-0"), ("n2", "pdu-1"), ("n3", "pdu-1")] {
        lab.node(name, &[("lab", "yes"), ("pdu", pdu)], &[(GPU, "4")]);
    }
    lab
}

#[test]
fn anti_affinity_24() {
    let mut lab = pdu_nodes();
    for at in 0..3 {
        lab.pod(&format!("replica-{at}"), &[("cpu", "100m"), (GPU, "1")], |pod| {
            in_lab(pod);
            pod.set(&["metadata", "labels", "tenant"], "t1");
            let term = object! {
                "labelSelector" => object! { "matchLabels" => object! { "tenant" => "t1" } }, "topologyKey" => "pdu",
            };
            let path = &["spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
            pod.set(path, list![term]);
        });
    }
    assert_eq!(["replica-0", "replica-1", "replica-2"].map(|name| lab.place(name)), ["n0", "n2", ""]);
    assert_eq!(
        lab.why("replica-2"),
        format!(
            "0/5 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, \
             4 node(s) didn't match pod anti-affinity rules. {TAIL} 0/5 nodes are available: \
             1 Preemption is not helpful for scheduling, 4 No preemption victims found for incoming pod."
        )
    );
}

#[test]
fn topology_spread_24b() {
    let mut lab = pdu_nodes();
    let names: Vec<String> = (0..5).map(|at| format!("spread-{at}")).collect();
    for name in &names {
        lab.pod(name, &[("cpu", "100m"), (GPU, "4")], |pod| {
            in_lab(pod);
            pod.set(&["metadata", "labels", "tenant"], "t2");
            let constraint = object! {
                "maxSkew" => 1, "topologyKey" => "pdu", "whenUnsatisfiable" => "DoNotSchedule",
                "labelSelector" => object! { "matchLabels" => object! { "tenant" => "t2" } },
            };
            pod.set(&["spec", "topologySpreadConstraints"], list![constraint]);
        });
    }
    let places: Vec<&str> = names.iter().map(|name| lab.place(name)).collect();
    assert_eq!(places, ["n0", "n2", "n1", "n3", ""]);
    assert_eq!(
        lab.why("spread-4"),
        format!(
            "0/5 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 4 Insufficient nvidia.com/gpu. \
             {TAIL} 0/5 nodes are available: 1 Preemption is not helpful for scheduling, \
             4 No preemption victims found for incoming pod."
        )
    );
}

#[test]
fn preferred_affinity_24c() {
    let mut lab = pdu_nodes();
    let names: Vec<String> = (0..5).map(|at| format!("prefers-n2-{at}")).collect();
    for name in &names {
        lab.pod(name, &[("cpu", "100m"), (GPU, "1")], |pod| {
            in_lab(pod);
            let expression = object! {
                "key" => "kubernetes.io/hostname", "operator" => "In", "values" => list!["n2"],
            };
            let wish = object! {
                "weight" => 100, "preference" => object! { "matchExpressions" => list![expression] },
            };
            let path = &["spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"];
            pod.set(path, list![wish]);
        });
    }
    let places: Vec<&str> = names.iter().map(|name| lab.place(name)).collect();
    assert_eq!(places, ["n2", "n2", "n2", "n2", "n0"]);
}

/// Selector, taint, label, toleration and cordon on one node, with what each wakes.
#[test]
fn placement_controls_05() {
    let mut lab = Lab::new();
    let gpu = "simulator.accelerator-fleet.io/gpu";
    lab.node(REAL, &[], &[(gpu, "4")]);
    let wing = |pod: &mut Value| pod.set(&["spec", "nodeSelector"], object! { "wing" => "west" });
    lab.pod("selector-only", &[(gpu, "1")], wing);
    let hopeless = format!("{TAIL} 0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
    let selector = format!("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. {hopeless}");
    let tainted = format!("0/1 nodes are available: 1 node(s) had untolerated taint(s). {hopeless}");
    assert_eq!(lab.why("selector-only"), selector);
    let since = lab.get("selector-only").condition("PodScheduled").at(&["lastTransitionTime"]).clone();
    lab.world.advance(Duration::from_secs(3));

    let taint = object! { "key" => "restricted", "value" => "true", "effect" => "NoSchedule" };
    lab.update(Kind::NODE, "", REAL, Part::Main, |node| node.set(&["spec", "taints"], list![taint]));
    lab.settle();
    lab.pod("plain", &[(gpu, "1")], |_| {});
    assert_eq!(lab.why("selector-only"), tainted);
    assert_eq!(lab.why("plain"), tainted);
    let condition = lab.get("selector-only").condition("PodScheduled");
    assert_eq!(condition.at(&["lastTransitionTime"]), &since);
    let messages: Vec<String> = lab.events("selector-only").into_iter().map(|(_, message)| message).collect();
    assert_eq!(messages, [selector, tainted.clone()]);

    // Only TaintToleration rejected it last, so the label that it wants does not wake it.
    lab.update(Kind::NODE, "", REAL, Part::Main, |node| node.set(&["metadata", "labels", "wing"], "west"));
    lab.settle();
    assert_eq!(lab.failures("selector-only"), 2);

    lab.update(Kind::NODE, "", REAL, Part::Main, |node| drop(node.remove(&["spec", "taints"])));
    lab.settle();
    assert_eq!([lab.place("selector-only"), lab.place("plain")], [REAL, REAL]);

    lab.update(Kind::NODE, "", REAL, Part::Main, |node| node.set(&["spec", "unschedulable"], true));
    lab.pod("after-cordon", &[(gpu, "1")], |_| {});
    let cordoned = format!("0/1 nodes are available: 1 node(s) were unschedulable. {hopeless}");
    assert_eq!(lab.why("after-cordon"), cordoned);
    assert_eq!(lab.place("plain"), REAL);
}

/// Allocatable below use turns nobody away; a deleted pod wakes the waiting ones in vain; more allocatable helps.
#[test]
fn capacity_loss_02() {
    let mut lab = Lab::new();
    let gpu = "simulator.accelerator-fleet.io/gpu";
    lab.node(REAL, &[], &[(gpu, "4")]);
    for at in 0..5 {
        lab.pod(&format!("p{at}"), &[(gpu, "1")], |_| {});
    }
    let full = format!(
        "0/1 nodes are available: 1 Insufficient {gpu}. {TAIL} 0/1 nodes are available: \
         1 No preemption victims found for incoming pod."
    );
    assert_eq!(lab.why("p4"), full);
    let allocatable = |lab: &mut Lab, count: &str| {
        lab.update(Kind::NODE, "", REAL, Part::Status, |node| node.set(&["status", "allocatable", gpu], count));
        lab.settle();
    };
    allocatable(&mut lab, "2");
    assert_eq!(lab.failures("p4"), 1, "less allocatable wakes nobody");
    lab.delete(Kind::POD, "default", "p0");
    lab.settle();
    assert_eq!(lab.failures("p4"), 2);
    assert_eq!(lab.why("p4"), full);
    assert_eq!(lab.events("p4").len(), 2, "the condition gave the pod a new version, so the event is a new one");
    allocatable(&mut lab, "5");
    assert_eq!(lab.place("p4"), REAL);
}
