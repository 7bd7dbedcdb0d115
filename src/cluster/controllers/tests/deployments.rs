use super::*;

#[test]
fn four_of_five_replicas_look_as_recorded() {
    let mut world = world();
    let key = create(&mut world, Kind::DEPLOYMENT, "default", deployment("scan", 5));
    settle(&mut world);
    bind(&mut world, 4);
    let (deployment, set) = (get(&world, &key), all(&world, Kind::REPLICA_SET).remove(0));
    assert_eq!(
        counts(&deployment),
        r#"{"availableReplicas":4,"observedGeneration":1,"readyReplicas":4,"replicas":5,"terminatingReplicas":0,"unavailableReplicas":1,"updatedReplicas":5}"#
    );
    assert_eq!(
        conditions(&deployment),
        ["Available=True/MinimumReplicasAvailable", "Progressing=True/ReplicaSetUpdated"]
    );
    let name = set.name().to_owned();
    let message = deployment.condition("Progressing").at(&["message"]).str();
    assert_eq!(message, format!("ReplicaSet \"{name}\" is progressing."));
    assert_eq!(
        counts(&set),
        r#"{"availableReplicas":4,"fullyLabeledReplicas":5,"observedGeneration":1,"readyReplicas":4,"replicas":5,"terminatingReplicas":0}"#
    );
    assert_eq!(
        set.at(&["metadata", "annotations"]).to_json(),
        r#"{"deployment.kubernetes.io/desired-replicas":"5","deployment.kubernetes.io/max-replicas":"7","deployment.kubernetes.io/revision":"1"}"#
    );
    assert_eq!(deployment.annotation("deployment.kubernetes.io/revision"), Some("1"));
    assert_eq!(events(&world, "Deployment"), [format!("ScalingReplicaSet Scaled up replica set {name} from 0 to 5")]);
    let mut created: Vec<String> =
        all(&world, Kind::POD).iter().map(|pod| format!("SuccessfulCreate Created pod: {}", pod.name())).collect();
    created.sort();
    assert_eq!(events(&world, "ReplicaSet"), created);
    let hash = set.labels().at(&["pod-template-hash"]).str();
    assert!((7..=10).contains(&hash.len()) && name == format!("scan-{hash}"), "{name}");
}

#[test]
fn a_settled_deployment_is_scaled_without_a_new_revision_and_stays_complete() {
    let mut world = world();
    let key = create(&mut world, Kind::DEPLOYMENT, "default", deployment("scan", 4));
    settle(&mut world);
    bind(&mut world, 4);
    let settled = ["Available=True/MinimumReplicasAvailable", "Progressing=True/NewReplicaSetAvailable"];
    assert_eq!(conditions(&get(&world, &key)), settled);
    change(&mut world, &key, Part::Main, |deployment| deployment.set(&["spec", "replicas"], 5));
    settle(&mut world);
    assert_eq!(conditions(&get(&world, &key)), settled);
    let set = all(&world, Kind::REPLICA_SET).remove(0);
    assert_eq!(set.annotation("deployment.kubernetes.io/max-replicas"), Some("7"));
    let name = set.name();
    let scaled = [
        format!("ScalingReplicaSet Scaled up replica set {name} from 0 to 4"),
        format!("ScalingReplicaSet Scaled up replica set {name} from 4 to 5"),
    ];
    assert_eq!(events(&world, "Deployment"), scaled);
    world.advance(Duration::from_secs(700));
    assert_eq!(conditions(&get(&world, &key)), settled);
}

#[test]
fn lost_availability_moves_the_condition_to_the_end() {
    let mut world = world();
    let key = create(&mut world, Kind::DEPLOYMENT, "default", deployment("scan", 5));
    settle(&mut world);
    bind(&mut world, 5);
    for pod in active(&world).iter().take(2) {
        delete(&mut world, &ObjectKey::of(Kind::POD, pod));
    }
    settle(&mut world);
    let deployment = get(&world, &key);
    assert_eq!(
        conditions(&deployment),
        ["Progressing=True/NewReplicaSetAvailable", "Available=False/MinimumReplicasUnavailable"]
    );
    assert_eq!(active(&world).len(), 5);
    bind(&mut world, 2);
    assert_eq!(
        conditions(&get(&world, &key)),
        ["Progressing=True/NewReplicaSetAvailable", "Available=True/MinimumReplicasAvailable"]
    );
}

#[test]
fn a_rollout_that_does_not_move_times_out_in_the_background() {
    let mut world = world();
    let key = create(&mut world, Kind::DEPLOYMENT, "default", deployment("scan", 2));
    settle(&mut world);
    world.advance(Duration::from_secs(599));
    assert_eq!(get(&world, &key).condition("Progressing").at(&["reason"]).str(), "ReplicaSetUpdated");
    world.advance(Duration::from_secs(3));
    let deployment = get(&world, &key);
    let progress = deployment.condition("Progressing");
    assert_eq!((progress.at(&["status"]).str(), progress.at(&["reason"]).str()), ("False", "ProgressDeadlineExceeded"));
    assert!(progress.at(&["message"]).str().ends_with("has timed out progressing."));
}

#[test]
fn a_new_template_replaces_the_pods_within_surge_and_unavailability() {
    let mut world = world();
    let key = create(&mut world, Kind::DEPLOYMENT, "default", deployment("scan", 4));
    settle(&mut world);
    bind(&mut world, 4);
    change(&mut world, &key, Part::Main, |deployment| {
        deployment.set(&["spec", "template"], template("scan", "registry.k8s.io/pause:3.11"));
    });
    settle(&mut world);
    // 25% of 4: one more and one less.
    assert_eq!(active(&world).len(), 5);
    for _ in 0..6 {
        bind(&mut world, 8);
    }
    let mut sets = all(&world, Kind::REPLICA_SET);
    sets.sort_by_key(|set| set.annotation("deployment.kubernetes.io/revision").map(str::to_owned));
    let sizes: Vec<i64> = sets.iter().map(|set| set.at(&["spec", "replicas"]).int()).collect();
    assert_eq!(sizes, [0, 4]);
    assert_eq!(get(&world, &key).annotation("deployment.kubernetes.io/revision"), Some("2"));
    assert!(
        active(&world)
            .iter()
            .all(|pod| pod.at(&["spec", "containers"]).items()[0].at(&["image"]).str().ends_with("3.11"))
    );
    assert_eq!(active(&world).len(), 4);
}

#[test]
fn recreate_waits_for_the_last_old_pod() {
    let mut world = world();
    let mut wanted = deployment("scan", 3);
    wanted.set(&["spec", "strategy"], object! { "type" => "Recreate" });
    let key = create(&mut world, Kind::DEPLOYMENT, "default", wanted);
    settle(&mut world);
    bind(&mut world, 3);
    change(&mut world, &key, Part::Main, |deployment| {
        deployment.set(&["spec", "template"], template("scan", "registry.k8s.io/pause:3.11"));
    });
    settle(&mut world);
    bind(&mut world, 3);
    let images: Vec<String> = active(&world)
        .iter()
        .map(|pod| pod.at(&["spec", "containers"]).items()[0].at(&["image"]).str().to_owned())
        .collect();
    assert_eq!(images, ["registry.k8s.io/pause:3.11"; 3]);
    assert_eq!(conditions(&get(&world, &key))[1..], ["Progressing=True/NewReplicaSetAvailable"]);
}

#[test]
fn a_replica_set_adopts_matching_pods_and_lets_go_of_others() {
    let mut world = world();
    let mut pod = template("scan", "registry.k8s.io/pause:3.10");
    pod.set(&["metadata", "name"], "found");
    let found = create(&mut world, Kind::POD, "default", pod);
    let set = object! {
        "apiVersion" => "apps/v1", "kind" => "ReplicaSet", "metadata" => object! { "name" => "scan" },
        "spec" => object! {
            "replicas" => 2, "selector" => object! { "matchLabels" => object! { "app" => "scan" } },
            "template" => template("scan", "registry.k8s.io/pause:3.10"),
        },
    };
    create(&mut world, Kind::REPLICA_SET, "default", set);
    settle(&mut world);
    assert_eq!(get(&world, &found).controller().unwrap().at(&["name"]).str(), "scan");
    assert_eq!(all(&world, Kind::POD).len(), 2);
    change(&mut world, &found, Part::Main, |pod| pod.set(&["metadata", "labels", "app"], "other"));
    settle(&mut world);
    assert!(get(&world, &found).controller().is_none());
    assert_eq!(all(&world, Kind::POD).len(), 3);
}
