use super::*;
use crate::plugins::NodeMessage;

fn node(name: &str, annotations: Value) -> Value {
    object! {
        "apiVersion" => "v1", "kind" => "Node", "metadata" => object! { "name" => name, "annotations" => annotations },
    }
}

fn taints(world: &World, key: &ObjectKey) -> Vec<String> {
    let node = get(world, key);
    let taints = node.at(&["spec", "taints"]).items().iter();
    taints.map(|taint| format!("{}:{}", taint.at(&["key"]).str(), taint.at(&["effect"]).str())).collect()
}

#[test]
fn a_cordoned_node_is_tainted_with_a_time_and_an_uncordoned_one_is_not() {
    let mut world = world();
    let key = ObjectKey::new(Kind::NODE, "", NODE);
    change(&mut world, &key, Part::Main, |node| node.set(&["spec", "unschedulable"], true));
    settle(&mut world);
    let taint = get(&world, &key).at(&["spec", "taints"]).items()[0].clone();
    let fields: Vec<&str> = taint.entries().iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(fields, ["effect", "key", "timeAdded"]);
    assert_eq!(taints(&world, &key), ["node.kubernetes.io/unschedulable:NoSchedule"]);
    change(&mut world, &key, Part::Main, |node| drop(node.remove(&["spec", "unschedulable"])));
    settle(&mut world);
    assert_eq!(get(&world, &key).at(&["spec"]).to_json(), "{}");
    // The kubelet tells at its next look at the node.
    change(&mut world, &key, Part::Main, |node| node.set(&["spec", "unschedulable"], true));
    world.advance(Duration::from_secs(10));
    assert_eq!(events(&world, "Node"), [format!("NodeNotSchedulable Node {NODE} status is now: NodeNotSchedulable")]);
}

#[test]
fn a_fleet_node_is_registered_free_of_taints_and_carries_the_recorded_annotation() {
    let mut world = world();
    let fake = object! { crate::kubelet::FLEET_NODE => "fake" };
    let key = create(&mut world, Kind::NODE, "", node("a", fake));
    settle(&mut world);
    assert_eq!(taints(&world, &key), [""; 0]);
    assert_eq!(get(&world, &key).annotation("node.alpha.kubernetes.io/ttl"), Some("0"));
    assert_eq!(events(&world, "Node"), ["RegisteredNode Node a event: Registered Node a in Controller"]);
    delete(&mut world, &key);
    settle(&mut world);
    assert!(events(&world, "Node").contains(&"RemovingNode Node a event: Removing Node a from Controller".to_owned()));
}

#[test]
fn a_node_that_never_tells_its_status_becomes_unknown_after_the_startup_grace() {
    let mut world = world();
    let key = create(&mut world, Kind::NODE, "", node("bare", object! {}));
    settle(&mut world);
    world.advance(Duration::from_secs(60));
    assert!(get(&world, &key).condition("Ready").is_null());
    world.advance(Duration::from_secs(5));
    let ready = get(&world, &key).condition("Ready").clone();
    assert_eq!((ready.at(&["status"]).str(), ready.at(&["reason"]).str()), ("Unknown", "NodeStatusNeverUpdated"));
    assert_eq!(ready.at(&["message"]).str(), "Kubelet never posted node status.");
    settle(&mut world);
    assert_eq!(taints(&world, &key), ["node.kubernetes.io/unreachable:NoSchedule"]);
}

#[test]
fn a_kubelet_that_stops_leaves_its_node_unknown_and_its_pods_unready_until_it_returns() {
    let mut world = world();
    let key = ObjectKey::new(Kind::NODE, "", NODE);
    let mut pod = template("scan", "registry.k8s.io/pause:3.10");
    pod.set(&["metadata", "name"], "one");
    pod.set(&["spec", "nodeName"], NODE);
    let pod = create(&mut world, Kind::POD, "default", pod);
    settle(&mut world);
    let stop = |world: &mut World, stopped: bool| {
        world.tell(NODE, if stopped { &NodeMessage::Down } else { &NodeMessage::Up }).unwrap();
    };
    stop(&mut world, true);
    world.advance(Duration::from_secs(49));
    assert_eq!(get(&world, &key).condition("Ready").at(&["status"]).str(), "True");
    world.advance(Duration::from_secs(10));
    let ready = get(&world, &key).condition("Ready").clone();
    assert_eq!((ready.at(&["status"]).str(), ready.at(&["reason"]).str()), ("Unknown", "NodeStatusUnknown"));
    assert_eq!(ready.at(&["message"]).str(), "Kubelet stopped posting node status.");
    settle(&mut world);
    assert_eq!(taints(&world, &key), ["node.kubernetes.io/unreachable:NoSchedule"]);
    assert_eq!(get(&world, &pod).condition("Ready").at(&["status"]).str(), "False");
    assert!(events(&world, "Pod").contains(&"NodeNotReady Node is not ready".to_owned()));
    assert_eq!(events(&world, "Node"), [format!("NodeNotReady Node {NODE} status is now: NodeNotReady")]);
    // A deletion has to wait for the kubelet.
    delete(&mut world, &pod);
    world.advance(Duration::from_secs(60));
    assert!(get(&world, &pod).is_deleting());
    stop(&mut world, false);
    world.advance(Duration::from_secs(20));
    assert!(world.server.store.get(&pod).is_none());
    assert_eq!(get(&world, &key).condition("Ready").at(&["status"]).str(), "True");
    assert_eq!(taints(&world, &key), [""; 0]);
}

#[test]
fn pods_of_a_removed_node_are_collected_after_the_quarantine() {
    let mut world = world();
    let fake = object! { crate::kubelet::FLEET_NODE => "fake" };
    let key = create(&mut world, Kind::NODE, "", node("a", fake));
    let mut pod = template("scan", "registry.k8s.io/pause:3.10");
    pod.set(&["metadata", "name"], "one");
    pod.set(&["spec", "nodeName"], "a");
    let pod = create(&mut world, Kind::POD, "default", pod);
    settle(&mut world);
    assert_eq!(get(&world, &pod).at(&["status", "phase"]).str(), "Running");
    delete(&mut world, &key);
    world.advance(Duration::from_secs(59));
    assert!(world.server.store.get(&pod).is_some());
    world.advance(Duration::from_secs(1));
    assert!(world.server.store.get(&pod).is_none());
}
