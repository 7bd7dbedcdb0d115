//! What the API server's verbs cost, without any component that reacts.
//!
//! `cargo bench -p gpulab-cluster --bench api` prints microseconds of CPU per write, and for lists and watches per
//! object. `-- 100000` sets the number of pods.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a benchmark measures the machine")]

mod shared;

use std::time::Instant;

use gpulab_cluster::VirtualTime;
use gpulab_cluster::api::registry::{Kind, Part};
use gpulab_cluster::api::request::{Body, Request};
use gpulab_cluster::api::store::ObjectKey;
use gpulab_cluster::api::watch::Watch;
use gpulab_cluster::api::{Caller, DeleteOptions, Server};
use gpulab_cluster::value::Value;
use shared::{cpu, pod};

fn measure(what: &str, count: usize, mut act: impl FnMut(usize)) {
    let start = Instant::now();
    let before = cpu(start);
    (0..count).for_each(&mut act);
    let spent = cpu(start).saturating_sub(before);
    println!("{what:24} {:8.2} us", spent.as_secs_f64() * 1e6 / count as f64);
}

fn get(server: &mut Server, query: &str) -> Body {
    let request = Request {
        method: "GET".into(),
        path: "/api/v1/namespaces/default/pods".into(),
        query: query.into(),
        ..Request::default()
    };
    server.answer(VirtualTime::EPOCH, &request).body
}

fn watch(server: &mut Server) -> Watch {
    match get(server, "watch=1") {
        Body::Watch(watch) => watch,
        other => unreachable!("a watch was asked for: {other:?}"),
    }
}

fn main() {
    let count = std::env::args().skip(1).find_map(|text| text.parse().ok()).unwrap_or(10_000);
    let mut server = Server::new(0);
    server.bootstrap(VirtualTime::EPOCH);
    let caller = Caller { now: VirtualTime::EPOCH, manager: "bench" };
    let key = |at: usize| ObjectKey::new(Kind::POD, "default", format!("pod-{at}"));
    let pods: Vec<Value> = (0..count).map(pod).collect();
    let mut watching = watch(&mut server);
    watching.poll(&server, VirtualTime::EPOCH);
    measure("create", count, |at| {
        let made = server.create(&caller, Kind::POD, "default", pods[at].clone());
        assert!(made.is_ok(), "{made:?}");
        server.store.trim();
    });
    measure("bind", count, |at| {
        assert!(server.bind(&caller, &key(at), "node").is_ok());
        server.store.trim();
    });
    measure("status", count, |at| {
        let Some(mut pod) = server.store.get(&key(at)).cloned() else { return };
        pod.set(&["status", "phase"], "Running");
        assert!(server.update(&caller, &key(at), Part::Status, pod).is_ok());
        server.store.trim();
    });
    measure("patch over HTTP", count, |at| {
        let request = Request {
            method: "PATCH".into(),
            path: format!("/api/v1/namespaces/default/pods/pod-{at}"),
            content_type: "application/merge-patch+json".into(),
            body: br#"{"metadata":{"labels":{"a":"b"}}}"#.to_vec(),
            ..Request::default()
        };
        assert_eq!(server.answer(VirtualTime::EPOCH, &request).status, 200);
        server.store.trim();
    });
    let mut watching = watch(&mut server);
    measure("watch, first events", 1, |_| println!("{} events", watching.poll(&server, VirtualTime::EPOCH).0.len()));
    let rounds = 10;
    measure("list, all", rounds, |_| assert!(matches!(get(&mut server, ""), Body::Json(_))));
    measure("list, one label", rounds, |_| assert!(matches!(get(&mut server, "labelSelector=app%3Dx"), Body::Json(_))));
    measure("delete", count, |at| {
        let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        assert!(server.delete(&caller, &key(at), &options).is_ok());
        server.store.trim();
    });
}
