use super::*;

fn record(recorder: &mut Recorder, server: &mut Server, second: u64, message: &str) {
    let regarding = object! { "metadata" => object! { "name" => "p", "namespace" => "default", "uid" => "u" } };
    let event = EventSpec {
        kind: Kind::POD,
        regarding: &regarding,
        field_path: "",
        warning: false,
        reason: "SuccessfulCreate",
        message,
        source: Source::Core { component: "replicaset-controller", host: "" },
    };
    recorder.record(server, VirtualTime::EPOCH + Duration::from_secs(second), &event);
}

fn server() -> Server {
    let mut server = Server::new(0);
    server.bootstrap(VirtualTime::EPOCH);
    server
}

fn lines(server: &Server) -> Vec<String> {
    let events = server.store.list(Kind::EVENT, "default").map(|(_, event)| event);
    let mut lines: Vec<String> =
        events.map(|event| format!("{} x{}", event.at(&["message"]).str(), event.at(&["count"]).int())).collect();
    lines.sort();
    lines
}

#[test]
fn repeats_raise_the_count() {
    let (mut recorder, mut server) = (Recorder::default(), server());
    for second in 0..3 {
        record(&mut recorder, &mut server, second, "again");
    }
    assert_eq!(lines(&server), ["again x3"]);
    let event = server.store.list(Kind::EVENT, "default").next().unwrap().1.clone();
    assert_eq!(event.at(&["firstTimestamp"]).str(), "2026-01-01T00:00:00Z");
    assert_eq!(event.at(&["lastTimestamp"]).str(), "2026-01-01T00:00:02Z");
}

#[test]
fn from_the_tenth_text_on_similar_events_are_combined() {
    let (mut recorder, mut server) = (Recorder::default(), server());
    for number in 0..12 {
        record(&mut recorder, &mut server, 0, &format!("Created pod: p-{number:02}"));
    }
    let lines = lines(&server);
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[0], "(combined from similar events): Created pod: p-11 x3");
    assert_eq!(lines[9], "Created pod: p-08 x1");
}

#[test]
fn a_source_falls_silent_about_an_object_after_a_burst_and_counts_on() {
    let (mut recorder, mut server) = (Recorder::default(), server());
    for number in 0..40 {
        record(&mut recorder, &mut server, 0, &format!("Created pod: p-{number:02}"));
    }
    assert_eq!(lines(&server)[0], "(combined from similar events): Created pod: p-24 x16");
    record(&mut recorder, &mut server, 300, "Created pod: p-40");
    assert_eq!(lines(&server)[0], "(combined from similar events): Created pod: p-40 x32");
}
