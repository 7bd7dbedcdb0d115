use super::*;
use crate::config::FLEET_NODE;

/// A world with one fleet node `a` of four devices, on which pods of Jobs complete after a second.
fn fleet() -> World {
    let mut world = world();
    let amounts = object! { "cpu" => "32", "memory" => "256Gi", "nvidia.com/gpu" => "4", "pods" => "110" };
    let node = object! {
        "metadata" => object! { "name" => "a", "annotations" => object! { FLEET_NODE => "fake" } },
        "status" => object! { "capacity" => amounts.clone(), "allocatable" => amounts },
    };
    create(&mut world, Kind::NODE, "", node);
    settle(&mut world);
    world
}

fn job(name: &str, spec: Value) -> Value {
    let mut job = object! {
        "apiVersion" => "batch/v1", "kind" => "Job", "metadata" => object! { "name" => name }, "spec" => spec,
    };
    let container = object! {
        "name" => "c", "image" => "registry.k8s.io/pause:3.10",
        "resources" => object! {
            "limits" => object! { "nvidia.com/gpu" => "1" }, "requests" => object! { "nvidia.com/gpu" => "1" },
        },
    };
    if job.at(&["spec", "template", "spec", "restartPolicy"]).is_null() {
        job.set(&["spec", "template", "spec", "restartPolicy"], "Never");
    }
    job.set(&["spec", "template", "spec", "containers"], list![container]);
    job
}

fn run(world: &mut World, name: &str, spec: Value) -> ObjectKey {
    let key = create(world, Kind::JOB, "default", job(name, spec));
    settle(world);
    key
}

fn jobs_events(world: &World) -> Vec<String> {
    let mut reasons: Vec<String> =
        events(world, "Job").iter().map(|line| line.split(' ').next().unwrap_or("").to_owned()).collect();
    reasons.dedup();
    reasons
}

#[test]
fn a_parallel_job_completes_as_recorded() {
    let mut world = fleet();
    let key = run(&mut world, "wide", object! { "completions" => 5, "parallelism" => 3 });
    let job = get(&world, &key);
    let recorded = ["SuccessCriteriaMet=True/CompletionsReached", "Complete=True/CompletionsReached"];
    assert_eq!(conditions(&job), recorded);
    let fields: Vec<&str> = job.at(&["status"]).entries().iter().map(|(key, _)| key.as_str()).collect();
    let status =
        ["completionTime", "conditions", "ready", "startTime", "succeeded", "terminating", "uncountedTerminatedPods"];
    assert_eq!(fields, status);
    assert_eq!(job.at(&["status", "succeeded"]).int(), 5);
    let pods = all(&world, Kind::POD);
    assert_eq!(pods.len(), 5);
    assert!(pods.iter().all(|pod| pod.at(&["metadata", "finalizers"]).is_null()));
    assert_eq!(pods[0].labels(), job.labels());
    assert_eq!(job.labels().entries().len(), 4);
    assert_eq!(jobs_events(&world), ["Completed", "SuccessfulCreate"]);
    assert_eq!(events(&world, "Job").len(), 6);
}

#[test]
fn an_indexed_job_gives_every_pod_its_index() {
    let mut world = fleet();
    let spec = object! { "completions" => 3, "parallelism" => 2, "completionMode" => "Indexed" };
    let key = run(&mut world, "indexed", spec);
    assert_eq!(get(&world, &key).at(&["status", "completedIndexes"]).str(), "0-2");
    let pods = all(&world, Kind::POD);
    let hosts: Vec<&str> = pods.iter().map(|pod| pod.at(&["spec", "hostname"]).str()).collect();
    assert_eq!(hosts, ["indexed-0", "indexed-1", "indexed-2"]);
    let variable = pods[1].at(&["spec", "containers"]).items()[0].at(&["env"]).items()[0].clone();
    assert_eq!(variable.at(&["name"]).str(), "JOB_COMPLETION_INDEX");
    assert!(pods[1].name().starts_with("indexed-1-"));
}

#[test]
fn suspension_holds_a_job_and_takes_its_pods_without_counting_them() {
    let mut world = fleet();
    let mut spec = object! { "completions" => 2, "parallelism" => 2, "suspend" => true };
    spec.set(&["template", "metadata", "annotations", "hold"], "yes");
    let key = run(&mut world, "held", spec);
    assert_eq!(counts(&get(&world, &key)), r#"{"ready":0,"terminating":0,"uncountedTerminatedPods":{}}"#);
    assert_eq!(conditions(&get(&world, &key)), ["Suspended=True/JobSuspended"]);
    change(&mut world, &key, Part::Main, |job| job.set(&["spec", "suspend"], false));
    settle(&mut world);
    assert_eq!(conditions(&get(&world, &key)), ["Suspended=False/JobResumed"]);
    let status = get(&world, &key).at(&["status"]).clone();
    assert_eq!((status.at(&["active"]).int(), status.at(&["ready"]).int()), (2, 2));
    change(&mut world, &key, Part::Main, |job| job.set(&["spec", "suspend"], true));
    settle(&mut world);
    assert_eq!(counts(&get(&world, &key)), r#"{"ready":0,"terminating":0,"uncountedTerminatedPods":{}}"#);
    assert_eq!(all(&world, Kind::POD).len(), 0);
    assert_eq!(jobs_events(&world), ["Resumed", "SuccessfulCreate", "SuccessfulDelete", "Suspended"]);
}

#[test]
fn failed_pods_are_replaced_ever_later_until_the_limit() {
    let mut world = fleet();
    let mut spec = object! { "backoffLimit" => 2 };
    let failing = object! { crate::kubelet::RUNS => "1s", crate::kubelet::EXIT_CODE => "1" };
    spec.set(&["template", "metadata", "annotations"], failing);
    let key = run(&mut world, "broken", spec);
    // Runs from 0 s to 1 s, then 10 s pause, then 20 s pause.
    world.advance(Duration::from_secs(2));
    assert_eq!(all(&world, Kind::POD).len(), 1);
    world.advance(Duration::from_secs(9));
    assert_eq!(all(&world, Kind::POD).len(), 2);
    world.advance(Duration::from_secs(30));
    let job = get(&world, &key);
    let reason = "BackoffLimitExceeded";
    assert_eq!(conditions(&job), [format!("FailureTarget=True/{reason}"), format!("Failed=True/{reason}")]);
    assert_eq!(job.at(&["status", "failed"]).int(), 3);
    assert!(events(&world, "Job").contains(&format!("{reason} Job has reached the specified backoff limit")));
}

#[test]
fn a_deleted_job_takes_its_pods_and_a_finished_one_goes_after_its_time() {
    let mut world = fleet();
    let mut spec = object! { "parallelism" => 2 };
    spec.set(&["template", "metadata", "annotations", "hold"], "yes");
    let key = run(&mut world, "long", spec);
    assert_eq!(active(&world).len(), 2);
    delete(&mut world, &key);
    settle(&mut world);
    assert_eq!(all(&world, Kind::POD).len(), 0);
    let key = run(&mut world, "short", object! { "ttlSecondsAfterFinished" => 60 });
    assert!(get(&world, &key).condition("Complete").at(&["status"]).str() == "True");
    world.advance(Duration::from_secs(62));
    settle(&mut world);
    assert!(world.server.store.get(&key).is_none());
    assert_eq!(all(&world, Kind::POD).len(), 0);
}
