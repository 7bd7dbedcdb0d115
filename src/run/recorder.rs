//! Where the output of a session goes: to the printer in the wanted form, and into the outcome.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::cli::Format;
use crate::error::{Error, Kind};
use crate::event::{Event, Label};
use crate::render::lines::{self, Outcome};
use crate::render::printer::Printer;
use crate::render::report::error_text;
use crate::render::transcript::Transcript;
use crate::run::answers::{Answers, choice};
use crate::script::session::Sink;

/// Shows what a session shows, and counts its findings.
pub struct Recorder {
    printer: Rc<Printer>,
    transcript: Transcript,
    format: Format,
    verbose: bool,
    answers: RefCell<Answers>,
    findings: Cell<usize>,
    held: Cell<usize>,
    label: Cell<Option<Label>>,
    stopped: Cell<bool>,
}

impl Recorder {
    /// A recorder with nothing recorded. `verbose` shows each statement in the text form.
    pub fn new(
        printer: Rc<Printer>,
        transcript: Transcript,
        format: Format,
        verbose: bool,
        answers: Answers,
    ) -> Recorder {
        Recorder {
            printer,
            transcript,
            format,
            verbose,
            answers: RefCell::new(answers),
            findings: Cell::new(0),
            held: Cell::new(0),
            label: Cell::new(None),
            stopped: Cell::new(false),
        }
    }

    /// Writes the head of a run.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn begin(&self, script: &str, seed: u64, backend: &str) -> Result<(), Error> {
        match self.format {
            Format::Jsonl => self.printer.data(&lines::run_line(script, seed, backend)),
            Format::Text => Ok(()),
        }
    }

    /// Writes the head of a lesson.
    ///
    /// # Errors
    /// When the output is gone.
    pub fn title(&self, title: &str, question: &str) -> Result<(), Error> {
        match self.format {
            Format::Jsonl => Ok(()),
            Format::Text => self.printer.data(&self.transcript.title(title, question)),
        }
    }

    /// Reports why the run ended early: always as talk, and as a line of its own for machines.
    pub fn fail(&self, error: &Error) {
        // Findings that failed have been shown, and are counted in the outcome.
        let shown = error.kind == Kind::Finding && error.place.is_none();
        if self.printer.closed() || shown {
            return;
        }
        if self.format == Format::Jsonl && !matches!(error.kind, Kind::Exit(_)) {
            let _ = self.printer.data(&lines::error_line(error));
        }
        self.printer.talk(&error_text(error));
    }

    /// Writes the end of a run and returns its exit code.
    pub fn end(&self, error: Option<&Error>, digest: String) -> u8 {
        let mut outcome = Outcome { exit: 0, findings: self.findings.get(), held: self.held.get(), digest };
        outcome.exit = match error {
            Some(error) => error.exit_code(),
            None => self.exit_of_findings(),
        };
        let text = match self.format {
            Format::Jsonl => lines::outcome_line(&outcome),
            Format::Text => self.transcript.summary(&outcome, self.label.get()),
        };
        let written = if text.is_empty() { Ok(()) } else { self.printer.data(&text) };
        match written {
            Ok(()) => outcome.exit,
            Err(_) if self.printer.closed() => 0,
            Err(error) => {
                self.printer.talk(&error_text(&error));
                error.exit_code()
            }
        }
    }

    /// 1 when a finding failed.
    pub fn exit_of_findings(&self) -> u8 {
        if self.held == self.findings { 0 } else { Error::new(Kind::Finding, "").exit_code() }
    }

    /// Whether Ctrl-C was pressed while somebody was asked; the mark is then gone.
    pub fn take_stopped(&self) -> bool {
        self.stopped.take()
    }

    fn ask_until_clear(&self, question: &str, choices: &[String]) -> Option<String> {
        let mut answers = self.answers.borrow_mut();
        let Answers::Asked(asked) = &mut *answers else { return None };
        self.printer.data(&self.transcript.ask(question, choices)).ok()?;
        loop {
            match asked.ask("  your answer> ") {
                Ok(Some(line)) if line.trim().is_empty() => return None,
                Ok(Some(line)) => match choice(&line, choices) {
                    Some(chosen) => return Some(chosen.clone()),
                    None => self.printer.talk("  a number or a choice, please; an empty line skips\n"),
                },
                Ok(None) => return None,
                Err(_) => {
                    self.stopped.set(true);
                    return None;
                }
            }
        }
    }

    fn pause(&self) -> Result<(), Error> {
        let mut answers = self.answers.borrow_mut();
        match &mut *answers {
            Answers::Asked(asked) => asked.ask("  Enter goes on> ").map(|_| ()),
            _ => Ok(()),
        }
    }
}

impl Sink for Recorder {
    fn emit(&self, event: &Event) -> Result<(), Error> {
        if let Event::Finding { held, label, .. } = event {
            self.findings.set(self.findings.get() + 1);
            self.held.set(self.held.get() + usize::from(*held));
            self.label.set(Some(*label));
        }
        if self.take_stopped() {
            return Err(Error::new(Kind::Interrupted, "stopped by Ctrl-C"));
        }
        match (self.format, event) {
            (Format::Jsonl, event) => self.printer.data(&lines::event_line(event)),
            (Format::Text, Event::Step { .. }) if !self.verbose => Ok(()),
            (Format::Text, Event::Pause) => self.pause(),
            (Format::Text, event) => self.printer.data(&self.transcript.event(event)),
        }
    }

    fn choose(&self, question: &str, choices: &[String]) -> Option<String> {
        let listed = match &mut *self.answers.borrow_mut() {
            Answers::Skip => return None,
            Answers::Listed(lines) => Some(lines.pop_front()?),
            Answers::Asked(_) => None,
        };
        let Some(answer) = listed else { return self.ask_until_clear(question, choices) };
        let chosen = choice(&answer, choices);
        if chosen.is_none() {
            self.printer.talk(&format!("note: the answer `{answer}` is none of the choices of `{question}`\n"));
        }
        chosen.cloned()
    }
}
