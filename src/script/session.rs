//! One evaluation context: an engine, a scope, a backend and where its output goes.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::Error;
use crate::event::Event;

/// Where a session's output goes.
pub trait Sink {
    /// Shows one event.
    ///
    /// # Errors
    /// When the output is gone (a closed pipe); the script then ends.
    fn emit(&self, event: &Event) -> Result<(), Error>;

    /// Asks for one of the choices of a prediction; `None` when nobody is there to ask.
    fn choose(&self, question: &str, choices: &[String]) -> Option<String>;
}

/// How a session begins.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Everything random follows from this.
    pub seed: u64,
    /// Whether the default world's node has the device plugin (lessons that say `plugin: none` do without).
    pub plugin: bool,
    /// The namespace that lists and new objects use.
    pub namespace: String,
    /// What `args()` returns.
    pub args: Vec<String>,
    /// Set by Ctrl-C; the session stops the running statement and clears it.
    pub interrupt: Arc<AtomicBool>,
    /// Whether every top-level statement emits [`Event::Step`].
    pub steps: bool,
}

/// What a statement at the prompt returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The text to show; empty for `()` and after a trailing `;`.
    pub text: String,
}

/// One evaluation context.
pub struct Session {}

impl Session {
    /// Opens the embedded backend and builds the engine.
    ///
    /// # Errors
    /// When the runtime or the prelude cannot be set up.
    pub fn new(_options: SessionOptions, _sink: Rc<dyn Sink>) -> Result<Session, Error> {
        Ok(Session {})
    }

    /// Evaluates a whole script. Variables stay. Objects that the script made are cleaned up when `cleanup` is set, also
    /// after an error.
    ///
    /// # Errors
    /// The first error, with its place.
    pub fn run(&mut self, _name: &str, _source: &str, _cleanup: bool) -> Result<(), Error> {
        Ok(())
    }

    /// Evaluates one unit at the prompt; `it` holds the result afterwards.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn evaluate(&mut self, _source: &str) -> Result<Shown, Error> {
        Ok(Shown { text: String::new() })
    }

    /// Whether `source` is the beginning of something longer (the prompt then asks for another line).
    pub fn is_incomplete(&self, _source: &str) -> bool {
        false
    }

    /// Words that can be completed at the end of `line`, and where the word begins (byte offset).
    pub fn complete(&self, line: &str) -> (usize, Vec<String>) {
        (line.len(), Vec::new())
    }

    /// The prompt: backend and virtual time, `lab 00:03:20> `.
    pub fn prompt(&self) -> String {
        "lab> ".to_owned()
    }

    /// What is under way, for a quiet hint after a statement; `None` when the world is quiet.
    pub fn under_way(&self) -> Option<String> {
        None
    }

    /// Documentation of a function, or of every function when `name` is empty, as Markdown; `None` if there is none.
    pub fn documentation(&self, _name: &str) -> Option<String> {
        None
    }

    /// Digest of everything that happened in the world and was shown so far, in hexadecimal.
    pub fn digest(&self) -> String {
        String::new()
    }
}
