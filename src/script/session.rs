//! One evaluation context: an engine, a scope, a backend and where its output goes.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

pub use gpulab_cluster::time::Ties;
use gpulab_cluster::{Config, VirtualTime};
use rhai::{AST, Dynamic, EvalAltResult, Scope, Stmt};

use super::engine::Built;
use super::input;
use super::lab::Lab;
use super::report::Reporter;
use super::show;
use crate::backend::Backend;
use crate::backend::embedded::Embedded;
use crate::error::{Error, Kind};
use crate::event::{Event, Label};

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

/// Shows nothing and asks nobody: for sessions of which only the outcome counts.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Sink for Silent {
    fn emit(&self, _: &Event) -> Result<(), Error> {
        Ok(())
    }

    fn choose(&self, _: &str, _: &[String]) -> Option<String> {
        None
    }
}

/// How a session begins.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Everything random follows from this.
    pub seed: u64,
    /// Who decides among things that happen at the same moment; tests shuffle them.
    pub ties: Ties,
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
pub struct Session {
    lab: Rc<Lab>,
    built: Built,
    scope: Scope<'static>,
    /// Functions and closures of earlier input, which closures in variables need, and its `import` statements, which
    /// the engine itself forgets.
    earlier: AST,
}

impl Session {
    /// Opens the embedded backend and builds the engine.
    ///
    /// # Errors
    /// When the runtime or the prelude cannot be set up.
    pub fn new(options: SessionOptions, sink: Rc<dyn Sink>) -> Result<Session, Error> {
        let mut config = Config { seed: options.seed, ties: options.ties, ..Config::default() };
        if !options.plugin {
            config.nodes.iter_mut().for_each(|node| node.devices = None);
        }
        let backend: Rc<dyn Backend> = Rc::new(Embedded::interruptible(&config, options.interrupt.clone()));
        let lab = Rc::new(Lab::new(backend, sink, &options)?);
        lab.boot();
        let built = super::engine::build(&lab, options.steps)
            .map_err(|error| Error::new(Kind::Bug, format!("the prelude does not load: {error}")))?;
        let mut scope = Scope::new();
        scope.push("it", Dynamic::UNIT);
        Ok(Session { lab, built, scope, earlier: AST::empty() })
    }

    /// Evaluates a whole script. Variables stay. Objects that the script made are cleaned up when `cleanup` is set, also
    /// after an error. Findings that did not hold end in an error of kind [`Kind::Finding`] when nothing worse happened.
    ///
    /// # Errors
    /// The first error, with its place.
    pub fn run(&mut self, name: &str, source: &str, cleanup: bool) -> Result<(), Error> {
        *self.lab.directory.borrow_mut() = directory(name);
        self.lab.findings.set((0, 0));
        // Only what this script does is undone at its end.
        let earlier = cleanup.then(|| self.lab.journal.take());
        let result = self.evaluate_source(name, source).map(|_| ());
        // What stopped the script must not stop the cleaning.
        self.lab.clear_interrupt();
        let cleaned = if cleanup {
            self.guard(|session| {
                session
                    .lab
                    .clean_up()
                    .map_err(|fault| Error::new(fault.kind, format!("cleaning up: {}", fault.message)))
            })
        } else {
            Ok(())
        };
        if let Some(earlier) = earlier {
            self.lab.journal.replace(earlier);
        }
        result.and(cleaned)?;
        match self.lab.findings.get() {
            (_, 0) => Ok(()),
            (1, _) => Err(Error::new(Kind::Finding, "the finding does not hold")),
            (all, failed) => Err(Error::new(Kind::Finding, format!("{failed} of {all} findings do not hold"))),
        }
    }

    /// Evaluates one unit at the prompt; `it` holds the result afterwards.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn evaluate(&mut self, source: &str) -> Result<Shown, Error> {
        let result = self.evaluate_source("input", source);
        self.lab.clear_interrupt();
        let value = result?;
        if value.is_unit() {
            return Ok(Shown { text: String::new() });
        }
        self.scope.set_or_push("it", value.clone());
        if source.trim_end().ends_with(';') {
            return Ok(Shown { text: String::new() });
        }
        let text = self.guard(|_| show::value_text(&value).map_err(|fault| self_error(&fault)))?;
        Ok(Shown { text })
    }

    fn evaluate_source(&mut self, name: &str, source: &str) -> Result<Dynamic, Error> {
        let text = input::without_shebang(source);
        let compiled = self.built.engine.compile_with_scope(&self.scope, text.as_ref());
        let mut ast = match compiled {
            Ok(ast) => ast,
            Err(error) => return Err(self.explain(name, source, EvalAltResult::ErrorParsing(*error.0, error.1))),
        };
        ast.set_source(name);
        self.watch_steps(&ast, source);
        let mut all = self.earlier.merge(&ast);
        all.set_source(name);
        let result = self.guard(|session| {
            let Session { built, scope, .. } = session;
            Ok(built.engine.eval_ast_with_scope::<Dynamic>(scope, &all))
        })?;
        self.keep(&all);
        if let Some(error) = self.lab.take_broken() {
            return Err(error);
        }
        result.map(Dynamic::flatten).map_err(|error| self.explain(name, source, *error))
    }

    fn keep(&mut self, all: &AST) {
        let imports: Vec<_> = all.statements().iter().filter(|one| matches!(one, Stmt::Import(..))).cloned().collect();
        // Strict names would not know the modules that earlier input imported.
        self.built.engine.set_strict_variables(imports.is_empty());
        self.earlier = AST::new(imports, all.clone_functions_only().shared_lib().clone());
    }

    fn watch_steps(&self, ast: &AST, source: &str) {
        let mut steps = self.built.steps.borrow_mut();
        steps.source = source.to_owned();
        steps.starts = ast
            .statements()
            .iter()
            .filter_map(|statement| Some((statement.position().line()?, statement.position().position()?)))
            .collect();
    }

    /// Runs host code; a panic becomes an error and the session lives on.
    fn guard<T>(&mut self, act: impl FnOnce(&mut Session) -> Result<T, Error>) -> Result<T, Error> {
        quiet_panics();
        GUARDED.set(true);
        let result = catch_unwind(AssertUnwindSafe(|| act(self)));
        GUARDED.set(false);
        result.unwrap_or_else(|_| {
            let what = PANIC.take();
            Err(Error::new(Kind::Bug, format!("gpulab has a defect here: {what}"))
                .hint("the session goes on; please report this with the script"))
        })
    }

    fn explain(&self, name: &str, source: &str, error: EvalAltResult) -> Error {
        let Some(book) = self.built.book.get() else { return Error::new(Kind::Bug, error.to_string()) };
        let mut names: Vec<String> = self.scope.iter_raw().map(|(name, ..)| name.to_owned()).collect();
        names.extend(self.earlier.iter_functions().map(|function| function.name.to_owned()));
        names.extend(input::definitions(source));
        names.retain(|name| !name.starts_with("anon$"));
        let clock = self.lab.clock();
        Reporter { script: name, source, book, engine: &self.built.engine, names, clock }.error(error)
    }

    /// Whether `source` is the beginning of something longer (the prompt then asks for another line).
    pub fn is_incomplete(&self, source: &str) -> bool {
        input::is_incomplete(&self.built.engine, &self.scope, source)
    }

    /// Words that can be completed at the end of `line`, and where the word begins (byte offset).
    pub fn complete(&self, line: &str) -> (usize, Vec<String>) {
        match self.built.book.get() {
            Some(book) => super::complete::complete(&self.lab, book, &self.scope, line),
            None => (line.len(), Vec::new()),
        }
    }

    /// The prompt: backend and virtual time, `lab 00:03:20> `.
    pub fn prompt(&self) -> String {
        format!("lab {}> ", self.lab.clock())
    }

    /// What is under way, for a quiet hint after a statement; `None` when the world is quiet.
    pub fn under_way(&self) -> Option<String> {
        self.lab.backend.under_way()
    }

    /// Documentation of a function, or of every function when `name` is empty, as Markdown; `None` if there is none.
    pub fn documentation(&self, name: &str) -> Option<String> {
        self.built.book.get()?.markdown(name)
    }

    /// The functions that scripts can call, with their examples, for tests and the reference.
    pub fn docs(&self) -> &[super::docs::Doc] {
        self.built.book.get().map_or(&[], |book| book.docs())
    }

    /// Digest of everything that happened in the world and was shown so far, in hexadecimal.
    pub fn digest(&self) -> String {
        self.lab.digest()
    }

    /// `embedded`.
    pub fn backend(&self) -> &'static str {
        self.lab.backend.name()
    }

    /// What a finding is worth on this backend.
    pub fn label(&self) -> Label {
        self.lab.backend.label()
    }

    /// What is modelled, with versions: the `model` of a simulated finding.
    pub fn versions(&self) -> Vec<(&'static str, &'static str)> {
        self.lab.backend.versions()
    }

    /// The cluster's time.
    pub fn now(&self) -> VirtualTime {
        self.lab.backend.now()
    }
}

fn self_error(fault: &super::fault::Fault) -> Error {
    Error { kind: fault.kind, message: fault.message.clone(), place: None, hints: fault.hints.clone() }
}

/// The directory of a script that is a file.
fn directory(name: &str) -> Option<std::path::PathBuf> {
    let path = Path::new(name);
    if !path.is_file() {
        return None;
    }
    let parent = path.parent()?;
    Some(if parent.as_os_str().is_empty() { Path::new(".").to_owned() } else { parent.to_owned() })
}

thread_local! {
    /// Whether a panic on this thread is caught.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// What the last caught panic said.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps what a caught panic says instead of printing it; others are printed as always.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if GUARDED.get() {
                PANIC.set(info.to_string().replace('\n', " "));
            } else {
                before(info);
            }
        }));
    });
}
