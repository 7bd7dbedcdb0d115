//! Devices, plugins, kubelets and power, over the real plugin's gRPC and health API.

use gpulab::error::Error;

use super::bench::Bench;

fn prints(script: &str) -> Vec<String> {
    let mut bench = Bench::new();
    bench.run(script);
    bench.printed()
}

fn fails(script: &str) -> Error {
    Bench::new().fails(script)
}

#[test]
fn a_sick_device_leaves_allocatable_and_comes_back() {
    let script = r#"
        print(node("kind").gpus());
        print(fail("sim-gpu-0"));
        print(node("kind").gpus());
        settle();
        print(`${node("kind").gpus()} of ${node("kind").capacity()["simulator.accelerator-fleet.io/gpu"]}`);
        print(device("sim-gpu-0").health());
        print(fail("sim-gpu-0"));
        print(recover(device("sim-gpu-0")));
        settle();
        print(node("kind").gpus());
    "#;
    let shown = [
        "4",
        "device/sim-gpu-0 is Unhealthy",
        "4",
        "3 of 4",
        "Unhealthy",
        "device/sim-gpu-0 is already Unhealthy",
        "device/sim-gpu-0 is Healthy",
        "4",
    ];
    assert_eq!(prints(script), shown);
}

#[test]
fn a_pod_holds_the_device_that_its_status_names() {
    let script = r#"
        submit(#{name: "a", gpus: 1});
        wait_running(1);
        let held = devices().filter(|device| device.holder == "a");
        print(held.len());
        fail(held[0].id);
        settle();
        print(pod("a").phase);
        print(device(held[0].id).holder());
        print(node("kind").gpus());
    "#;
    assert_eq!(prints(script), ["1", "Running", "a", "3"]);
}

#[test]
fn a_plugin_that_dies_takes_its_devices_along_and_brings_them_back() {
    let script = r#"
        submit(#{name: "holder", gpus: 1});
        wait_running(1);
        plugin().stop();
        settle();
        print(node("kind").gpus());
        submit(#{name: "waits", gpus: 1});
        settle();
        print(pod("waits").phase);
        plugin().start();
        settle();
        print(`${node("kind").gpus()} ${pod("holder").phase} ${pod("waits").phase}`);
        kubelet("kind").restart();
        settle();
        print(`${node("kind").gpus()} ${pod("holder").phase} ${pod("waits").phase}`);
    "#;
    assert_eq!(prints(script), ["0", "Pending", "4 Running Running", "4 Running Running"]);
}

#[test]
fn wrong_names_and_wrong_moments_say_so() {
    for (script, message) in [
        (r#"fail("sim-gpu-9")"#, "no device \"sim-gpu-9\""),
        ("fail(1)", "fail takes a device (its id); got an integer"),
        ("plugin().start()", "the plugin of node 'gpulab-control-plane' runs already"),
        ("plugin().stop(); plugin().stop()", "the plugin of node 'gpulab-control-plane' is stopped already"),
        (r#"lab(#{nodes: 2}); fail("sim-gpu-0")"#, "several devices are called \"sim-gpu-0\""),
        ("lab(#{nodes: 2}); plugin()", "plugin() needs a node"),
        ("lab(#{plugin: false}); plugin()", "no node has a device plugin"),
        (r#"fleet(1); node("gpu-node-1").down()"#, "node 'gpu-node-1' has no kubelet"),
    ] {
        let error = fails(script);
        assert!(error.message.starts_with(message), "{script}: {}", error.message);
    }
}

#[test]
fn devices_of_several_nodes_are_told_apart() {
    let script = r#"
        lab(#{nodes: 2, gpus: 1});
        print(devices().map(|device| device.id));
        fail("gpulab-worker/sim-gpu-0");
        settle();
        print(`${node("gpulab-control-plane").gpus()} ${node("gpulab-worker").gpus()}`);
    "#;
    assert_eq!(prints(script), [r#"["gpulab-control-plane/sim-gpu-0", "gpulab-worker/sim-gpu-0"]"#, "1 0"]);
}
