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
