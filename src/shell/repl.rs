//! Read, evaluate, show.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use crate::cli::{Format, ShellArgs};
use crate::config;
use crate::error::{Error, Kind, nearest_two};
use crate::render::report::error_text;
use crate::render::style::{dim, harmless, markdown};
use crate::render::transcript::Transcript;
use crate::run::answers::Answers;
use crate::run::recorder::Recorder;
use crate::run::runner::{Ended, Room, embedded_only};
use crate::run::{guard, source};
use crate::script::docs::Doc;
use crate::script::session::{Session, Sink};
use crate::shell::commands::{self, Command};
use crate::shell::editor::{Input, Language, LineReader, Lines, Question, Terminal};
use crate::shell::kubectl;

/// What follows a unit of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Stay,
    Leave,
}

/// A session with a reader in front of it.
struct Shell<'a> {
    room: &'a Room,
    seed: u64,
    session: Rc<RefCell<Session>>,
    recorder: Rc<Recorder>,
    last_hint: Option<String>,
}

/// `gpulab shell`; returns the exit code.
pub fn shell(room: &Room, args: &ShellArgs) -> u8 {
    let opened = embedded_only(args.backend).and_then(|()| guard::catch(|| open(room, args)));
    match opened {
        Ok(mut shell) if !args.expressions.is_empty() => shell.evaluate_all(&args.expressions),
        Ok(mut shell) => shell.drive(),
        Err(error) => {
            room.printer.talk(&error_text(&error));
            error.exit_code()
        }
    }
}

/// Goes on at the prompt where a script ended.
pub fn go_on(room: &Room, ended: Ended, seed: u64) -> u8 {
    match ended.session {
        Some(session) if ended.exit != 130 => {
            let session = Rc::new(RefCell::new(session));
            Shell { room, seed, session, recorder: ended.recorder, last_hint: None }.drive()
        }
        _ => ended.exit,
    }
}

fn open<'a>(room: &'a Room, args: &ShellArgs) -> Result<Shell<'a>, Error> {
    let asked = room.settings.terminal && args.expressions.is_empty();
    let answers = if asked { Answers::Asked(Box::new(Question::new(room.settings.colour_out))) } else { Answers::Skip };
    let transcript = Transcript::new(room.look());
    let recorder = Recorder::new(Rc::clone(&room.printer), transcript, Format::Text, false, answers);
    let recorder = Rc::new(recorder);
    let sink: Rc<dyn Sink> = Rc::<Recorder>::clone(&recorder);
    let session = Rc::new(RefCell::new(Session::new(room.options(args.seed), sink)?));
    Ok(Shell { room, seed: args.seed, session, recorder, last_hint: None })
}

/// The session as the editor sees it. While a statement runs nobody types, so that the session is free then.
struct Speaker(Rc<RefCell<Session>>);

impl Language for Speaker {
    fn is_incomplete(&self, text: &str) -> bool {
        let line = text.trim_start();
        let ours = line.starts_with([':', '?']) || kubectl::advice(line).is_some() || documented(line).is_some();
        !ours && self.0.borrow().is_incomplete(text)
    }

    fn complete(&self, line: &str) -> (usize, Vec<String>) {
        if line.starts_with(':') {
            return commands::complete(line);
        }
        let marks = line.len() - line.trim_start_matches('?').len();
        let (start, words) = self.0.borrow().complete(&line[marks..]);
        (start + marks, words)
    }
}

/// The name in `?name`, `??name` and `name?`; empty for a lone `?`.
fn documented(line: &str) -> Option<&str> {
    let line = line.trim();
    let name = match line.strip_prefix('?') {
        Some(rest) => rest.strip_prefix('?').unwrap_or(rest),
        None => line.strip_suffix('?').map(|rest| rest.strip_suffix('?').unwrap_or(rest))?,
    };
    let name = name.trim().trim_end_matches("()");
    name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':')).then_some(name)
}

impl Shell<'_> {
    /// Reads until the input ends.
    fn drive(&mut self) -> u8 {
        let interactive = self.room.settings.terminal;
        let language: Rc<dyn Language> = Rc::new(Speaker(Rc::clone(&self.session)));
        let reader = if interactive {
            let colour = self.room.settings.colour_out;
            Terminal::new(language, colour, self.room.settings.state.as_deref())
                .map(|t| Box::new(t) as Box<dyn LineReader>)
        } else {
            Ok(Box::new(Lines::new(std::io::stdin().lock(), language)) as Box<dyn LineReader>)
        };
        let mut reader = match reader {
            Ok(reader) => reader,
            Err(error) => return self.fail(&error),
        };
        if interactive {
            self.greet();
        }
        loop {
            let prompt = self.session.borrow().prompt();
            let unit = match reader.read(&prompt) {
                Ok(Input::Unit(unit)) => unit,
                Ok(Input::Interrupted { empty }) => {
                    if empty {
                        self.room.printer.talk(&dim("Ctrl-D or :quit leaves\n"));
                    }
                    continue;
                }
                Ok(Input::End) => return self.leave(interactive),
                Err(error) => return self.fail(&error),
            };
            if unit.trim().is_empty() {
                continue;
            }
            reader.remember(&unit);
            match self.handle(&unit, reader.as_ref()) {
                Ok(Flow::Stay) => self.hint(),
                Ok(Flow::Leave) => return self.leave(interactive),
                Err(_) if self.room.printer.closed() => return 0,
                Err(Error { kind: Kind::Exit(code), .. }) => return code,
                Err(error) => {
                    let code = self.fail(&error);
                    if !interactive {
                        return code;
                    }
                }
            }
        }
    }

    fn evaluate_all(&mut self, expressions: &[String]) -> u8 {
        let none = Lines::new(std::io::empty(), Rc::new(Speaker(Rc::clone(&self.session))));
        for expression in expressions {
            match self.handle(expression, &none) {
                Ok(Flow::Stay) => {}
                Ok(Flow::Leave) => break,
                Err(_) if self.room.printer.closed() => return 0,
                Err(Error { kind: Kind::Exit(code), .. }) => return code,
                Err(error) => return self.fail(&error),
            }
        }
        self.leave(false)
    }

    /// At a prompt a failed finding was seen; anywhere else the exit code tells.
    fn leave(&self, interactive: bool) -> u8 {
        if interactive { 0 } else { self.recorder.exit_of_findings() }
    }

    fn fail(&self, error: &Error) -> u8 {
        self.room.printer.talk(&error_text(error));
        error.exit_code()
    }

    fn greet(&self) {
        let dot = self.room.look().dot();
        self.room.printer.talk(&dim(&format!(
            "gpulab {}{dot}embedded model of Kubernetes {}{dot}seed {}{dot}:help, Ctrl-D leaves\n",
            config::GPULAB,
            config::KUBERNETES,
            self.seed,
        )));
    }

    /// Says once what is under way: at the prompt time stands still, which newcomers do not expect.
    fn hint(&mut self) {
        if !self.room.settings.terminal {
            return;
        }
        let hint = self.session.borrow().under_way();
        if hint != self.last_hint
            && let Some(hint) = &hint
        {
            self.room.printer.talk(&dim(&format!("under way: {} (settle() lets it happen)\n", harmless(hint))));
        }
        self.last_hint = hint;
    }

    fn handle(&mut self, unit: &str, reader: &dyn LineReader) -> Result<Flow, Error> {
        let line = unit.trim();
        if let Some(command) = line.strip_prefix(':') {
            return self.command(&commands::parse(command)?, reader);
        }
        if let Some(name) = documented(line) {
            self.document(name)?;
            return Ok(Flow::Stay);
        }
        if let Some(error) = kubectl::advice(line) {
            return Err(error);
        }
        self.room.interrupt.store(false, Ordering::SeqCst);
        let shown = guard::catch(|| self.session.borrow_mut().evaluate(unit))?;
        if !shown.text.is_empty() {
            let text = harmless(&shown.text);
            let end = if text.ends_with('\n') { "" } else { "\n" };
            self.room.printer.data(&format!("{text}{end}"))?;
        }
        Ok(Flow::Stay)
    }

    fn document(&self, name: &str) -> Result<(), Error> {
        let session = self.session.borrow();
        if name.is_empty() {
            return self.room.printer.data(&commands::functions(session.docs(), self.room.settings.width));
        }
        if let Some(text) = session.documentation(name) {
            return self.room.printer.data(&markdown(&text));
        }
        let mut error = Error::new(Kind::Usage, format!("there is no function `{name}`"));
        for near in nearest_two(name, session.docs().iter().map(Doc::name)) {
            error = error.hint(format!("did you mean `{near}`?"));
        }
        Err(error.hint("`?` lists the functions"))
    }

    fn command(&mut self, command: &Command, reader: &dyn LineReader) -> Result<Flow, Error> {
        match command {
            Command::Quit => return Ok(Flow::Leave),
            Command::Help => self.room.printer.data(&commands::help())?,
            Command::Functions => self.document("")?,
            Command::History => {
                let lines: String = reader.history().iter().map(|unit| format!("{unit}\n")).collect();
                self.room.printer.data(&lines)?;
            }
            Command::Load(named) => {
                let script = source::load(named)?;
                self.room.interrupt.store(false, Ordering::SeqCst);
                guard::catch(|| self.session.borrow_mut().run(&script.name, &script.source, false))?;
            }
            Command::Reset => {
                let sink: Rc<dyn Sink> = Rc::<Recorder>::clone(&self.recorder);
                let fresh = guard::catch(|| Session::new(self.room.options(self.seed), sink))?;
                self.session.replace(fresh);
            }
        }
        Ok(Flow::Stay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_about_a_name() {
        for (line, name) in
            [("?", ""), ("?node", "node"), ("??node", "node"), ("node?", "node"), (" ? nodes() ", "nodes")]
        {
            assert_eq!(documented(line), Some(name), "{line}");
        }
        for line in ["node", "a ?? b?", "f(x)?", "\"a\" ?"] {
            assert_eq!(documented(line), None, "{line}");
        }
    }
}
