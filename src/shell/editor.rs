//! Reading input: a line editor on a terminal, plain lines from a pipe. The rest of the shell knows only [`LineReader`].

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hinter, HistoryHinter};
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Config, Context, Editor, Helper};

use crate::error::{Error, Kind};
use crate::render::style::{bold, dim};
use crate::run::answers::Ask;
use crate::shell::highlight::highlight;

/// What the editor must know about the language.
pub trait Language {
    /// Whether the text is the beginning of something longer.
    fn is_incomplete(&self, text: &str) -> bool;
    /// Words that fit at the end of `line`, and the byte where the word begins.
    fn complete(&self, line: &str) -> (usize, Vec<String>);
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// One unit: a line, or several that belong together.
    Unit(String),
    /// Ctrl-C; `empty` when nothing had been typed.
    Interrupted {
        /// Whether the line was empty.
        empty: bool,
    },
    /// Ctrl-D, or the end of the input.
    End,
}

/// A source of input.
pub trait LineReader {
    /// Reads one unit.
    ///
    /// # Errors
    /// When the input cannot be read.
    fn read(&mut self, prompt: &str) -> Result<Input, Error>;

    /// Adds a unit to the history.
    fn remember(&mut self, unit: &str);

    /// The remembered units, the oldest first.
    fn history(&self) -> Vec<String>;
}

/// Lines without an editor: a pipe or a file.
pub struct Lines<R> {
    input: R,
    language: Rc<dyn Language>,
}

impl<R: BufRead> Lines<R> {
    /// Reads units of this language.
    pub fn new(input: R, language: Rc<dyn Language>) -> Lines<R> {
        Lines { input, language }
    }
}

impl<R: BufRead> LineReader for Lines<R> {
    fn read(&mut self, _: &str) -> Result<Input, Error> {
        let mut unit = String::new();
        loop {
            let before = unit.len();
            let read = self.input.read_line(&mut unit);
            read.map_err(|error| Error::new(Kind::Usage, format!("cannot read the input: {error}")))?;
            if unit.len() == before {
                return Ok(if unit.is_empty() { Input::End } else { Input::Unit(unit) });
            }
            if unit.ends_with('\n') {
                unit.truncate(unit.trim_end_matches(['\n', '\r']).len());
            }
            if !self.language.is_incomplete(&unit) {
                return Ok(Input::Unit(unit));
            }
            unit.push('\n');
        }
    }

    fn remember(&mut self, _: &str) {}

    fn history(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The line editor.
pub struct Terminal {
    editor: Editor<Assistant, FileHistory>,
    file: Option<PathBuf>,
}

impl Terminal {
    /// An editor for this language, with the history in `state`.
    ///
    /// # Errors
    /// When the terminal cannot be used.
    pub fn new(language: Rc<dyn Language>, colour: bool, state: Option<&Path>) -> Result<Terminal, Error> {
        let mut editor = open(colour)?;
        editor.set_helper(Some(Assistant { language, history: HistoryHinter::new(), typed: RefCell::default() }));
        let file = state.filter(|state| std::fs::create_dir_all(state).is_ok()).map(|state| state.join("history"));
        if let Some(file) = &file {
            // No history yet is how everybody begins.
            let _ = editor.load_history(file);
        }
        Ok(Terminal { editor, file })
    }
}

fn open<H: Helper>(colour: bool) -> Result<Editor<H, FileHistory>, Error> {
    let color = if colour { ColorMode::Enabled } else { ColorMode::Disabled };
    let config = Config::builder()
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .completion_show_all_if_ambiguous(true)
        .color_mode(color)
        .build();
    let history = FileHistory::with_config(&config);
    Editor::with_history(config, history).map_err(|error| terminal_error(&error))
}

fn terminal_error(error: &ReadlineError) -> Error {
    Error::new(Kind::Usage, format!("cannot use the terminal: {error}"))
}

impl LineReader for Terminal {
    fn read(&mut self, prompt: &str) -> Result<Input, Error> {
        if let Some(assistant) = self.editor.helper() {
            assistant.typed.borrow_mut().clear();
        }
        match self.editor.readline(prompt) {
            Ok(unit) => Ok(Input::Unit(unit)),
            Err(ReadlineError::Interrupted) => {
                let empty = self.editor.helper().is_none_or(|assistant| assistant.typed.borrow().is_empty());
                Ok(Input::Interrupted { empty })
            }
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(error) => Err(terminal_error(&error)),
        }
    }

    fn remember(&mut self, unit: &str) {
        let added = self.editor.add_history_entry(unit).unwrap_or(false);
        if let (true, Some(file)) = (added, &self.file) {
            // A full disk must not end the session.
            let _ = self.editor.append_history(file);
        }
    }

    fn history(&self) -> Vec<String> {
        self.editor.history().iter().cloned().collect()
    }
}

/// A plain question on the terminal, without history and completion.
pub struct Question {
    editor: Option<Editor<(), FileHistory>>,
    colour: bool,
}

impl Question {
    /// The terminal is opened at the first question.
    pub fn new(colour: bool) -> Question {
        Question { editor: None, colour }
    }
}

impl Ask for Question {
    fn ask(&mut self, prompt: &str) -> Result<Option<String>, Error> {
        let editor = match &mut self.editor {
            Some(editor) => editor,
            none => none.insert(open(self.colour)?),
        };
        match editor.readline(prompt) {
            Ok(line) => Ok(Some(line)),
            Err(ReadlineError::Eof) => Ok(None),
            Err(ReadlineError::Interrupted) => Err(Error::new(Kind::Interrupted, "stopped by Ctrl-C")),
            Err(error) => Err(terminal_error(&error)),
        }
    }
}

/// What the editor asks while somebody types.
struct Assistant {
    language: Rc<dyn Language>,
    history: HistoryHinter,
    /// The line as it was seen last: Ctrl-C reports nothing about it.
    typed: RefCell<String>,
}

impl Helper for Assistant {}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.language.complete(&line[..pos]))
    }
}

impl Hinter for Assistant {
    type Hint = String;

    fn hint(&self, line: &str, pos: usize, context: &Context<'_>) -> Option<String> {
        line.clone_into(&mut self.typed.borrow_mut());
        if line.is_empty() || pos < line.len() {
            return None;
        }
        self.history.hint(line, pos, context).or_else(|| {
            let (start, words) = self.language.complete(line);
            let [word] = &words[..] else { return None };
            word.strip_prefix(line.get(start..)?)
                .filter(|rest| start < line.len() && !rest.is_empty())
                .map(str::to_owned)
        })
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(highlight(line))
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(bold(prompt))
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(dim(hint))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let incomplete = self.language.is_incomplete(context.input());
        Ok(if incomplete { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Braces;

    impl Language for Braces {
        fn is_incomplete(&self, text: &str) -> bool {
            text.matches('{').count() > text.matches('}').count()
        }
        fn complete(&self, line: &str) -> (usize, Vec<String>) {
            (line.len(), Vec::new())
        }
    }

    #[test]
    fn lines_that_belong_together_are_one_unit() {
        let input = "a\r\n\nif x {\n  y\n}\nlast {";
        let mut lines = Lines::new(input.as_bytes(), Rc::new(Braces));
        let mut units = Vec::new();
        while let Ok(Input::Unit(unit)) = lines.read("> ") {
            units.push(unit);
        }
        assert_eq!(units, ["a", "", "if x {\n  y\n}", "last {\n"]);
        assert_eq!(lines.read("> "), Ok(Input::End));
    }
}
