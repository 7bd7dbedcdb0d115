//! The JSON-lines form: one object a line, `type` first.

use serde::Serialize;
use serde_json::Value;

use crate::config;
use crate::error::{Error, Kind};
use crate::event::{Event, Label};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Run { schema: u32, script: &'a str, seed: u64, backend: &'a str, versions: Versions },
    Story { text: &'a str },
    Section { title: &'a str },
    Step { line: usize, source: &'a str },
    Print { text: &'a str },
    Pause {},
    Prediction { question: &'a str, choices: &'a [String], answer: &'a str, given: Option<&'a str> },
    Finding { text: &'a str, held: bool, label: &'a str, model: Option<Model>, evidence: Vec<Observed<'a>> },
    Error { kind: &'a str, message: &'a str, place: Option<Place<'a>>, hints: &'a [String] },
    Outcome { ok: bool, exit: u8, findings: usize, held: usize, digest: &'a str },
}

/// The versions that stand behind a run.
#[derive(Serialize)]
pub struct Versions {
    gpulab: &'static str,
    kubernetes: &'static str,
    kueue: &'static str,
}

impl Versions {
    /// This program's.
    pub const OURS: Versions =
        Versions { gpulab: config::GPULAB, kubernetes: config::KUBERNETES, kueue: config::KUEUE };
}

#[derive(Serialize)]
struct Model {
    kubernetes: &'static str,
    kueue: &'static str,
}

#[derive(Serialize)]
struct Observed<'a> {
    object: &'a str,
    field: &'a str,
    value: &'a Value,
}

#[derive(Serialize)]
struct Place<'a> {
    script: &'a str,
    line: usize,
    column: usize,
    source: &'a str,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The exit code of the process.
    pub exit: u8,
    /// How many findings were checked.
    pub findings: usize,
    /// How many of them hold.
    pub held: usize,
    /// Digest of everything that happened.
    pub digest: String,
}

/// The first line.
pub fn run_line(script: &str, seed: u64, backend: &str) -> String {
    text(&Line::Run { schema: 1, script, seed, backend, versions: Versions::OURS })
}

/// What a script shows.
pub fn event_line(event: &Event) -> String {
    text(&match event {
        Event::Story(story) => Line::Story { text: story },
        Event::Section(title) => Line::Section { title },
        Event::Step { line, source } => Line::Step { line: *line, source },
        Event::Print(printed) => Line::Print { text: printed },
        Event::Pause => Line::Pause {},
        Event::Prediction { question, choices, answer, given } => {
            Line::Prediction { question, choices, answer, given: given.as_deref() }
        }
        Event::Finding { text, held, label, evidence } => Line::Finding {
            text,
            held: *held,
            label: label.as_str(),
            model: (*label == Label::Simulated)
                .then_some(Model { kubernetes: config::KUBERNETES, kueue: config::KUEUE }),
            evidence: evidence
                .iter()
                .map(|seen| Observed { object: &seen.object, field: &seen.field, value: &seen.value })
                .collect(),
        },
    })
}

/// Why a run ended early; stands before the outcome.
pub fn error_line(error: &Error) -> String {
    let kind = match error.kind {
        Kind::Script => "script",
        Kind::Finding => "finding",
        Kind::Usage => "usage",
        Kind::Wait => "wait",
        Kind::Backend => "backend",
        Kind::Untrusted => "untrusted",
        Kind::Bug => "bug",
        Kind::Interrupted => "interrupted",
        Kind::Exit(_) => "exit",
    };
    let place = error.place.as_ref().map(|place| Place {
        script: &place.script,
        line: place.line,
        column: place.column,
        source: &place.source,
    });
    text(&Line::Error { kind, message: &error.message, place, hints: &error.hints })
}

/// The last line.
pub fn outcome_line(outcome: &Outcome) -> String {
    text(&Line::Outcome {
        ok: outcome.exit == 0,
        exit: outcome.exit,
        findings: outcome.findings,
        held: outcome.held,
        digest: &outcome.digest,
    })
}

fn text(line: &Line<'_>) -> String {
    // Every key is a string, so that this cannot fail.
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Evidence;
    use serde_json::json;

    #[test]
    fn type_comes_first() {
        let want = format!(
            r#"{{"type":"run","schema":1,"script":"01","seed":7,"backend":"embedded","versions":{{"gpulab":"{}","kubernetes":"1.36.3","kueue":"0.19.0"}}}}"#,
            config::GPULAB
        );
        assert_eq!(run_line("01", 7, "embedded"), format!("{want}\n"));
        assert_eq!(event_line(&Event::Pause), "{\"type\":\"pause\"}\n");
    }

    #[test]
    fn a_finding_carries_label_model_and_evidence() {
        let evidence = vec![Evidence { object: "pod/a".into(), field: "status.phase".into(), value: json!("Running") }];
        let event = Event::Finding { text: "runs".into(), held: true, label: Label::Simulated, evidence };
        assert_eq!(
            event_line(&event),
            "{\"type\":\"finding\",\"text\":\"runs\",\"held\":true,\"label\":\"Simulated\",\
             \"model\":{\"kubernetes\":\"1.36.3\",\"kueue\":\"0.19.0\"},\
             \"evidence\":[{\"object\":\"pod/a\",\"field\":\"status.phase\",\"value\":\"Running\"}]}\n"
        );
        let event = Event::Finding { text: "x".into(), held: false, label: Label::NotYetValidated, evidence: vec![] };
        assert!(event_line(&event).contains("\"label\":\"Not yet validated\",\"model\":null"));
    }
}
