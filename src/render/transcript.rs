//! The text form: what a reader sees while a script runs.

use std::cell::Cell;

use crate::config;
use crate::event::{Event, Label};
use crate::render::lines::Outcome;
use crate::render::style::{Look, bold, dim, harmless, wrap};

/// Writes events as text; remembers what came last, because blank lines stand between kinds of text.
#[derive(Debug)]
pub struct Transcript {
    look: Look,
    last: Cell<Part>,
    /// Whether the last output had several lines, as a table has.
    tall: Cell<bool>,
    asked: Cell<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Nothing,
    Prose,
    Section,
    Step,
    Output,
    Prediction,
    Finding,
}

impl Transcript {
    /// An empty one.
    pub fn new(look: Look) -> Transcript {
        Transcript { look, last: Cell::new(Part::Nothing), tall: Cell::new(false), asked: Cell::new(false) }
    }

    /// The head of a lesson.
    pub fn title(&self, title: &str, question: &str) -> String {
        self.part(Part::Prose, format!("{}\n{}", bold(&harmless(title)), wrap(&harmless(question), self.look.width)))
    }

    /// The text of one event.
    pub fn event(&self, event: &Event) -> String {
        match event {
            Event::Story(text) => self.part(Part::Prose, wrap(&harmless(text), self.look.width)),
            Event::Section(title) => self.part(Part::Section, format!("{}\n", self.look.section(&harmless(title)))),
            Event::Step { source, .. } => {
                self.part(Part::Step, format!("{}\n", dim(&format!("> {}", harmless(source)))))
            }
            Event::Print(text) => self.output(ended(harmless(text))),
            Event::Pause => String::new(),
            Event::Prediction { question, choices, answer, given } => {
                let mut text = if self.asked.take() { String::new() } else { self.question(question, choices) };
                text.push_str(&verdict(answer, given.as_deref()));
                text
            }
            Event::Finding { text, held, label, evidence } => {
                let label = dim(&format!("({})", label.as_str()));
                let mut line = format!("{} {} {label}\n", self.look.verdict(*held), harmless(text));
                if !held {
                    for seen in evidence {
                        let value = harmless(&seen.value.to_string());
                        line.push_str(&format!("    {} {}: {value}\n", harmless(&seen.object), harmless(&seen.field)));
                    }
                }
                self.part(Part::Finding, line)
            }
        }
    }

    /// The question of a prediction, when somebody is about to be asked.
    pub fn ask(&self, question: &str, choices: &[String]) -> String {
        self.asked.set(true);
        self.question(question, choices)
    }

    fn question(&self, question: &str, choices: &[String]) -> String {
        let mut text = format!("{} {}\n", bold("?"), harmless(question));
        for (number, choice) in choices.iter().enumerate() {
            text.push_str(&format!("  {}. {}\n", number + 1, harmless(choice)));
        }
        self.part(Part::Prediction, text)
    }

    /// The last line of a run with findings; empty for a run without.
    pub fn summary(&self, outcome: &Outcome, label: Option<Label>) -> String {
        if outcome.findings == 0 {
            return String::new();
        }
        let findings = if outcome.findings == 1 { "finding" } else { "findings" };
        let holds = if outcome.findings == 1 { "holds" } else { "hold" };
        let counts = format!("{} of {} {findings} {holds}", outcome.held, outcome.findings);
        let label = label.map_or_else(String::new, |label| format!("{}{}", self.look.dot(), label_text(label)));
        self.part(Part::Prose, format!("{}{label}\n", bold(&counts)))
    }

    /// Output, with a blank line between two tables.
    fn output(&self, text: String) -> String {
        let tall = text.matches('\n').count() > 1;
        let tables = self.tall.replace(tall) && tall && self.last.get() == Part::Output;
        let text = self.part(Part::Output, text);
        if tables { format!("\n{text}") } else { text }
    }

    /// Puts a blank line where the kind of text changes.
    fn part(&self, part: Part, text: String) -> String {
        let last = self.last.replace(part);
        let same = last == part && !matches!(part, Part::Prose | Part::Section | Part::Prediction);
        let belongs = last == Part::Nothing || last == Part::Step && part == Part::Output;
        if same || belongs { text } else { format!("\n{text}") }
    }
}

/// `Simulated (model of Kubernetes 1.36.3, Kueue 0.19.0)`.
pub fn label_text(label: Label) -> String {
    match label {
        Label::Simulated => {
            format!("{} (model of Kubernetes {}, Kueue {})", label.as_str(), config::KUBERNETES, config::KUEUE)
        }
        other => other.as_str().to_owned(),
    }
}

fn verdict(answer: &str, given: Option<&str>) -> String {
    let answer = harmless(answer);
    match given {
        None => format!("  Answer: {answer}\n"),
        Some(given) if given == answer => format!("  Right: {answer}\n"),
        Some(given) => format!("  You said: {}. Answer: {answer}\n", harmless(given)),
    }
}

fn ended(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Evidence;
    use serde_json::json;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_run_reads_as_a_page() {
        let transcript = Transcript::new(Look { unicode: true, width: 30 });
        let mut text = transcript.title("Capacity", "Why can four devices not satisfy five requests?");
        let finding = |held| Event::Finding {
            text: "four run".into(),
            held,
            label: Label::Simulated,
            evidence: vec![Evidence { object: "pod/a".into(), field: "status.phase".into(), value: json!("Pending") }],
        };
        let prediction = Event::Prediction {
            question: "How many run?".into(),
            choices: vec!["4".into(), "5".into()],
            answer: "4".into(),
            given: None,
        };
        let events = [
            Event::Story("Four machines stand in a hospital.".into()),
            Event::Section("Five requests".into()),
            Event::Step { line: 3, source: "print(1)".into() },
            Event::Print("1".into()),
            Event::Print("2\n".into()),
            Event::Print("NAME\na".into()),
            Event::Print("NAME\nb".into()),
            prediction,
            finding(true),
            finding(false),
        ];
        events.iter().for_each(|event| text.push_str(&transcript.event(event)));
        let outcome = Outcome { exit: 1, findings: 2, held: 1, digest: String::new() };
        text.push_str(&transcript.summary(&outcome, Some(Label::Simulated)));
        insta::assert_snapshot!(plain(&text));
    }

    #[test]
    fn who_was_asked_is_not_asked_again() {
        let transcript = Transcript::new(Look { unicode: false, width: 80 });
        let choices = vec!["4".to_owned(), "5".to_owned()];
        assert_eq!(plain(&transcript.ask("How many?", &choices)), "? How many?\n  1. 4\n  2. 5\n");
        let given = Some("5".to_owned());
        let event = Event::Prediction { question: "How many?".into(), choices, answer: "4".into(), given };
        assert_eq!(plain(&transcript.event(&event)), "  You said: 5. Answer: 4\n");
    }

    #[test]
    fn without_unicode_there_are_words() {
        let transcript = Transcript::new(Look { unicode: false, width: 80 });
        let event = |held| Event::Finding { text: "x".into(), held, label: Label::NotYetValidated, evidence: vec![] };
        assert_eq!(plain(&transcript.event(&event(true))), "ok x (Not yet validated)\n");
        assert_eq!(plain(&transcript.event(&event(false))), "FAILED x (Not yet validated)\n");
    }
}
