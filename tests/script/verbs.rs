//! Verbs against the embedded cluster.

use gpulab::error::Kind;
use gpulab::event::Event;

use super::bench::Bench;

#[test]
fn names_find_objects_and_suggest() {
    let mut bench = Bench::new();
    assert_eq!(bench.show("node(\"kind\").name"), "gpulab-control-plane");
    assert_eq!(bench.show("node(\"kind\").gpus()"), "4");
    let error = bench.fails("node(\"gpulab-contol-plane\")");
    assert_eq!(error.message, "no node \"gpulab-contol-plane\"; did you mean \"gpulab-control-plane\"?");
    bench.run("fleet(2, #{name: \"gpu-node\"}); print(nodes().len());");
    assert_eq!(bench.printed(), ["3"]);
}

#[test]
fn predictions_and_findings_are_recorded() {
    let mut bench = Bench::new();
    *bench.shown.answer.borrow_mut() = Some("3".into());
    bench.run(
        "predict(\"How many?\", [3, 4], || node(\"kind\").gpus()); finding(\"four\", || node(\"kind\").gpus() == 4);",
    );
    let events = bench.shown.events.borrow();
    assert!(
        matches!(&events[0], Event::Prediction { answer, given, .. } if answer == "4" && given.as_deref() == Some("3"))
    );
    let Event::Finding { held, evidence, .. } = &events[1] else { panic!("{events:?}") };
    assert!(held);
    assert_eq!(evidence[0].object, "node/gpulab-control-plane");
    assert_eq!(evidence[0].value, 4);
}

#[test]
fn a_finding_that_does_not_hold_fails_the_script_at_its_end() {
    let mut bench = Bench::new();
    let error = bench
        .fails("finding(\"five\", || node(\"kind\").gpus() == 5); finding(\"x\", || throw \"lost\"); print(\"end\");");
    assert_eq!((error.kind, error.exit_code()), (Kind::Finding, 1));
    assert_eq!(error.message, "2 of 2 findings do not hold");
    assert_eq!(bench.printed(), ["end"]);
    let events = bench.shown.events.borrow();
    let Event::Finding { held: false, evidence, .. } = &events[1] else { panic!("{events:?}") };
    assert_eq!(evidence[0].value, "lost");
}

/// The words of the scheduler about one node without enough GPUs.
const INSUFFICIENT: &str = "0/1 nodes are available: 1 Insufficient simulator.accelerator-fleet.io/gpu.";

#[test]
fn pods_run_wait_and_finish() {
    let mut bench = Bench::new();
    bench.show("for i in 0..5 { submit(#{name: `scan-${i}`, gpus: 1}); }");
    bench.show("wait_running(4);");
    let waiting = bench.show("wait_pending()");
    assert!(waiting.starts_with("NAME"), "{waiting}");
    assert!(waiting.contains(INSUFFICIENT), "{waiting}");
    assert_eq!(bench.show("running().len()"), "4");
    assert_eq!(bench.show("free_gpus()"), "0");
    assert!(bench.show("pods()").starts_with("NAME     READY   STATUS"), "{}", bench.show("pods()"));
    bench.show("let late = pending()[0].name;");
    assert_eq!(bench.show("finish(running()[0])").split(' ').next_back(), Some("finishes"));
    bench.show("wait_running(late, \"5m\");");
    assert_eq!(bench.show("pods().filter(|p| p.phase == \"Succeeded\").len()"), "1");
    assert!(bench.show("events(pod(late)).len()").parse::<i64>().unwrap_or(0) >= 3);
    assert!(bench.show("events(late)").contains("Successfully assigned"), "{}", bench.show("events(late)"));
}

#[test]
fn a_wait_that_cannot_come_true_fails_at_once_and_says_why() {
    let mut bench = Bench::new();
    let error = bench.fails("submit(#{name: \"big\", gpus: 9});\nwait_running(\"big\");");
    assert_eq!((error.kind, error.exit_code()), (Kind::Wait, 3), "{error}");
    let wanted = "pod/big Running cannot come true: the cluster is quiet and it does not hold: pod/big is Pending";
    assert_eq!(error.message, wanted);
    assert!(error.hints[0].starts_with(&format!("pod/big is waiting: {INSUFFICIENT}")), "{:?}", error.hints);
    assert!(!error.hints.iter().any(|hint| hint.contains("advance(")), "heartbeats help nobody: {:?}", error.hints);
    assert_eq!(error.place.map(|place| (place.line, place.column)), Some((2, 1)));
    for (source, wanted) in [
        ("wait(|| nodes().len() == 9)", "the condition cannot come true"),
        ("wait_running(1)", "at least 1 Running pod cannot come true"),
        ("wait_any([|| false, || false])", "none of the conditions"),
        ("wait_pending()", "nothing is pending: there are no pods in namespace default"),
        (
            "submit(#{name: \"a\", gpus: 1, runs: \"1s\", exit: 3}); wait(|| pod(\"a\").phase == \"Failed\"); wait_running(\"a\");",
            "pod/a has Failed",
        ),
    ] {
        let error = Bench::new().fails(source);
        assert_eq!(error.exit_code(), 3, "{source}: {error}");
        assert!(error.message.contains(wanted), "{source}: {error}");
    }
}

#[test]
fn a_wait_in_a_quiet_world_tells_of_the_deadline_ahead() {
    let error = Bench::new().fails(
        r#"apply(`
            apiVersion: apps/v1
            kind: Deployment
            metadata: {name: scan}
            spec:
              replicas: 5
              selector: {matchLabels: {app: scan}}
              template:
                metadata: {labels: {app: scan}}
                spec:
                  containers:
                  - {name: c, image: pause, resources: {limits: {simulator.accelerator-fleet.io/gpu: 1}}}
        `);
        wait_running(5);"#,
    );
    assert_eq!(error.exit_code(), 3, "{error}");
    let deadline = |hint: &String| hint.contains("deployment-controller") && hint.contains("advance(\"10m");
    assert!(error.hints.iter().any(deadline), "{:?}", error.hints);
}

#[test]
fn a_wait_that_takes_too_long_tells_the_time_and_the_state() {
    let error = Bench::new()
        .fails("submit(#{name: \"a\", gpus: 1, runs: \"2h\"});\nwait(|| pod(\"a\").phase == \"Succeeded\", \"1m\");");
    assert_eq!(error.kind, Kind::Wait, "{error}");
    assert!(error.message.starts_with("the condition did not come true within 1m"), "{error}");
    assert!(error.message.contains("; the clock shows 00:01:00"), "{error}");
}

#[test]
fn the_api_refuses_with_its_own_words() {
    for (source, wanted) in [
        ("submit(#{name: \"a\", gpus: \"500m\"})", "must be an integer"),
        ("submit(#{name: \"A_B\", gpus: 1})", "Pod \"A_B\" is invalid: metadata.name: Invalid value: \"A_B\""),
        ("submit(#{name: \"a\"}); submit(#{name: \"a\"});", "pods \"a\" already exists"),
        (
            "apply(`{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {contaners: []}}`)",
            "unknown field \"spec.contaners\"",
        ),
        (
            "apply(`{apiVersion: v1, kind: Podd, metadata: {name: a}}`)",
            "no matches for kind \"Podd\" in version \"v1\"",
        ),
        ("apply(`{apiVersion: v1, kind: Deployment, metadata: {name: a}}`)", "no matches for kind \"Deployment\""),
        ("apply(\"kind: [\")", "not valid YAML"),
        ("apply(\"nowhere.yaml\")", "cannot read the manifest nowhere.yaml: there is no such file"),
        ("delete(\"pod/nobody\")", "no pod \"nobody\" in namespace default"),
        ("get(\"gadget\", \"x\")", "the server has no resource \"gadget\""),
        ("submit(#{name: \"a\"}, \"team-a\")", "cannot submit to queue \"team-a\": Kueue is not installed"),
        ("submit(#{name: \"a\", priority: 100})", "is the name of a PriorityClass"),
        ("namespace(\"nowhere\")", "no namespace \"nowhere\""),
        ("untaint(\"kind\", \"team\")", "taint \"team\" not found"),
        ("taint(\"kind\", \"team=a:NoShedule\")", "unknown taint effect \"NoShedule\"; did you mean \"NoSchedule\"?"),
    ] {
        let error = Bench::new().fails(source);
        assert_eq!(error.exit_code(), 1, "{source}: {error}");
        assert!(error.message.contains(wanted), "{source}: {error}");
    }
}

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, \
    selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: \
    [{name: c, image: registry.k8s.io/pause:3.10}]}}}}";

#[test]
fn apply_creates_changes_and_knows_when_nothing_changes() {
    let mut bench = Bench::new();
    bench.show(&format!("let web = `{WEB}`;"));
    assert_eq!(bench.show("apply(web)"), "deployment.apps/web created");
    assert_eq!(bench.show("apply(web)"), "deployment.apps/web unchanged");
    bench.show("wait_running(\"web\");");
    assert_eq!(bench.show("apply(web)"), "deployment.apps/web unchanged");
    assert_eq!(
        bench.show("web.replace(\"replicas: 2\", \"replicas: 3\"); apply(web)"),
        "deployment.apps/web configured"
    );
    bench.show("wait_running(\"deployment/web\");");
    assert_eq!(bench.show("deployment(\"web\").pods().len()"), "3");
    assert_eq!(bench.show("scale(\"web\", 1)"), "deployment.apps/web scaled");
    bench.show("settle(); advance(\"1m\"); settle();");
    assert_eq!(bench.show("deployment(\"web\").ready"), "1");
    assert_eq!(bench.show("delete(deployments())"), "deployment.apps/web deleted");
    bench.show("settle();");
    assert_eq!(bench.show("pods()"), "No resources found in default namespace.");
    let two = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: \\\"1\\\", y: \\\"2\\\"}}";
    let one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: \\\"1\\\"}}";
    bench.show(&format!("apply(\"{two}\"); apply(\"{one}\");"));
    assert_eq!(bench.show("get(\"configmap\", \"a\").obj().data"), "x: \"1\"");
}

#[test]
fn a_script_leaves_the_cluster_as_it_found_it_even_half_way() {
    let mut bench = Bench::with(|options| options.plugin = false);
    bench.show("label(\"node/gpulab-control-plane\", #{wing: \"north\"});");
    let before = bench.show(
        "let n = node(\"kind\"); [n.labels(), n.taints().len(), n.cordoned, n.capacity(), nodes().len(), pods().len()]",
    );
    for end in ["", "throw \"half-way\"", "exit(3)", "wait_running(99)"] {
        let source = format!(
            "capacity(\"kind\", 4); label(\"node/gpulab-control-plane\", #{{wing: \"south\", extra: \"1\"}}); taint(\"kind\", \
             \"team=mri:NoSchedule\"); cordon(\"kind\"); fleet(1, #{{gpus: 2}}); submit(#{{name: \"a\", gpus: 1}}); \
             apply(`{WEB}`); settle(); uncordon(\"kind\"); {end}"
        );
        let result = bench.session.run("test.rhai", &source, true);
        assert_eq!(result.is_ok(), end.is_empty(), "{result:?}");
        let after = bench.show("let n = node(\"kind\"); [n.labels(), n.taints().len(), n.cordoned, n.capacity(), nodes().len(), pods().len()]");
        assert_eq!(after, before, "{end}");
        assert_eq!(bench.show("deployments().len()"), "0");
    }
}

#[test]
fn a_scheduler_profile_ends_with_the_script() {
    let place = "fleet(2, #{gpus: 4, name: \"n\"}); submit(#{name: \"a\", cpu: 8, node_selector: #{lab: \"x\"}}); \
        label(\"node/n-1\", #{lab: \"x\"}); label(\"node/n-2\", #{lab: \"x\"}); settle(); submit(#{name: \"b\", cpu: 8, \
        node_selector: #{lab: \"x\"}}); settle(); print(pod(\"a\").node == pod(\"b\").node);";
    let mut bench = Bench::new();
    let packing = "scheduler(#{strategy: \"MostAllocated\", resources: #{cpu: 1}});";
    bench.run(&format!("{packing} {place}"));
    bench.run(place);
    assert_eq!(bench.printed(), ["true", "false"]);
}

#[test]
fn nodes_are_changed_by_verbs() {
    let mut bench = Bench::with(|options| options.plugin = false);
    assert_eq!(bench.show("node(\"kind\").gpus()"), "0");
    assert_eq!(bench.show("capacity(node(\"kind\"), 4)"), "node/gpulab-control-plane patched");
    bench.show("settle();");
    assert_eq!(bench.show("node(\"kind\").gpus()"), "4");
    assert_eq!(bench.show("node(\"kind\").free()[gpu_resource()]"), "4");
    assert_eq!(bench.show("taint(\"kind\", \"team=mri:NoSchedule\")"), "node/gpulab-control-plane tainted");
    assert_eq!(bench.show("node(\"kind\").taints()"), "KEY    VALUE   EFFECT\nteam   mri     NoSchedule");
    assert_eq!(bench.show("untaint(\"kind\", \"team\")"), "node/gpulab-control-plane untainted");
    assert_eq!(bench.show("cordon(\"kind\")"), "node/gpulab-control-plane cordoned");
    assert_eq!(bench.show("node(\"kind\").cordoned"), "true");
    assert!(bench.show("node(\"kind\")").contains("Ready,SchedulingDisabled"));
    bench.show("uncordon(\"kind\"); patch(node(\"kind\"), #{metadata: #{annotations: #{a: \"b\"}}});");
    assert_eq!(bench.show("node(\"kind\").annotations().a"), "b");
}

#[test]
fn submit_takes_every_option() {
    let mut bench = Bench::new();
    bench.show(
        "apply(`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}`);
         submit(#{name: \"a\", gpus: 2, cpu: \"500m\", memory: \"1Gi\", priority: \"urgent\", runs: \"5m\", exit: 0,
            labels: #{app: \"mri\"}, annotations: #{note: \"x\"}, node_selector: #{\"kubernetes.io/os\": \"linux\"},
            tolerations: [\"team=mri:NoSchedule\", \"other\"], command: [\"scan\"], grace: \"5s\", restart: \"OnFailure\"});",
    );
    let spec = bench.show("yaml(pod(\"a\").obj().spec)");
    for wanted in [
        "simulator.accelerator-fleet.io/gpu: \"2\"",
        "cpu: 500m",
        "memory: 1Gi",
        "priority: 1000",
        "restartPolicy: OnFailure",
        "kubernetes.io/os: linux",
        "operator: Exists",
        "value: mri",
        "- scan",
        "terminationGracePeriodSeconds: 5",
    ] {
        assert!(spec.contains(wanted), "{wanted}\n{spec}");
    }
    assert_eq!(bench.show("pod(\"a\").annotations()[\"gpulab.dev/runs\"]"), "300s");
    assert_eq!(bench.show("pods(\"app=mri\").names()"), "[\"a\"]");
    assert_eq!(bench.show("pods(\"app=mri\")[0].gpus()"), "2");
    assert_eq!(bench.show("pods().map(|p| p.name).len()"), "1");
    assert_eq!(bench.show("\"a\" in pods()"), "true");
}

#[test]
fn time_is_moved_and_read() {
    let mut bench = Bench::new();
    bench.show("let start = now(); advance(\"1m30s\");");
    assert_eq!(bench.show("now() - start"), "90.0");
    bench.show("sleep(1); sleep(\"500ms\");");
    assert_eq!(bench.show("now() - start"), "91.5");
    assert!(bench.session.prompt().starts_with("lab 00:01:3"), "{}", bench.session.prompt());
    bench.show("submit(#{name: \"a\", gpus: 1});");
    assert!(bench.session.under_way().is_some());
    assert!(bench.show("step(\"scheduler\")").contains("scheduler"));
    bench.show("settle();");
    assert_eq!(bench.session.under_way(), None);
    assert!(bench.fails("step(\"sheduler\")").message.contains("did you mean \"scheduler\"?"));
}

#[test]
fn the_world_can_be_rebuilt() {
    let mut bench = Bench::new();
    bench.show("lab(#{nodes: 3, gpus: 8});");
    assert_eq!(bench.show("nodes().names()"), "[\"gpulab-control-plane\", \"gpulab-worker\", \"gpulab-worker2\"]");
    assert_eq!(bench.show("total_gpus()"), "24");
    assert_eq!(
        bench.show("fleet(2, #{gpus: [4, 2], labels: #{lab: \"yes\"}, taints: [\"a=b:NoSchedule\"]})"),
        "node/gpu-node-1 created\nnode/gpu-node-2 created"
    );
    assert_eq!(bench.show("nodes(\"lab=yes\").map(|n| n.gpus())"), "[4, 2]");
    bench.show("scheduler(#{strategy: \"MostAllocated\", resources: #{cpu: 1}});");
}

#[test]
fn several_pods_are_a_job_that_completes() {
    let mut bench = Bench::new();
    bench.run(
        r#"submit(#{name: "train", gpus: 1, pods: 3, runs: "2m"});
        wait_running(3);
        wait(|| get("job", "train").obj().status.get("succeeded") == 3, "5m");
        print(pods().filter(|pod| pod.phase == "Succeeded").len());"#,
    );
    assert_eq!(bench.printed(), ["3"]);
}
