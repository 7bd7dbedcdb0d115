//! What a script shows while it runs: one value for the terminal, for JSON lines and for tests.

use serde_json::Value;

/// The label of a finding: what stands behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// A model said so: the embedded backend, or a server that identifies itself as gpulab.
    Simulated,
    /// A real API server, scheduler and controllers said so.
    ControlPlaneValidated,
    /// A real GPU, seen through its driver, said so.
    HardwareValidated,
    /// Nothing has shown it yet.
    NotYetValidated,
}

impl Label {
    /// The exact words.
    pub fn as_str(self) -> &'static str {
        match self {
            Label::Simulated => "Simulated",
            Label::ControlPlaneValidated => "Control-plane validated",
            Label::HardwareValidated => "Hardware validated",
            Label::NotYetValidated => "Not yet validated",
        }
    }
}

/// One observed field that a finding rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// `pod/a`, `node/gpulab-control-plane`.
    pub object: String,
    /// `status.phase`.
    pub field: String,
    /// What was seen.
    pub value: Value,
}

/// One thing a script shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// `story(text)`.
    Story(String),
    /// `section(title)`.
    Section(String),
    /// A top-level statement starts: its line and its source text.
    Step {
        /// Line in the script, from 1.
        line: usize,
        /// The statement's first line.
        source: String,
    },
    /// `print(x)`, tables and other output, without a line end.
    Print(String),
    /// `pause()`.
    Pause,
    /// `predict(…)`.
    Prediction {
        /// The question.
        question: String,
        /// What could be chosen.
        choices: Vec<String>,
        /// The right answer, computed from the cluster; the text of one of the choices.
        answer: String,
        /// What was chosen; `None` when nobody was asked.
        given: Option<String>,
    },
    /// `finding(text, || holds)`.
    Finding {
        /// The checked statement.
        text: String,
        /// Whether it holds.
        held: bool,
        /// What stands behind it.
        label: Label,
        /// What was read while it was checked.
        evidence: Vec<Evidence>,
    },
}
