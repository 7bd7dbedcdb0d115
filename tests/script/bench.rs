//! A session whose output is collected.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gpulab::error::Error;
use gpulab::event::Event;
use gpulab::script::session::{Session, SessionOptions, Sink};

/// Keeps every event; answers predictions with `answer`.
#[derive(Default)]
pub struct Collected {
    pub events: RefCell<Vec<Event>>,
    pub answer: RefCell<Option<String>>,
}

impl Sink for Collected {
    fn emit(&self, event: &Event) -> Result<(), Error> {
        self.events.borrow_mut().push(event.clone());
        Ok(())
    }

    fn choose(&self, _question: &str, _choices: &[String]) -> Option<String> {
        self.answer.borrow().clone()
    }
}

/// A session and what it has shown.
pub struct Bench {
    pub session: Session,
    pub shown: Rc<Collected>,
    pub interrupt: Arc<AtomicBool>,
}

impl Bench {
    pub fn new() -> Bench {
        Bench::with(|_| ())
    }

    pub fn with(change: impl FnOnce(&mut SessionOptions)) -> Bench {
        let mut options = options();
        change(&mut options);
        let interrupt = options.interrupt.clone();
        let shown = Rc::new(Collected::default());
        let session = Session::new(options, shown.clone()).unwrap_or_else(|error| panic!("{error:?}"));
        Bench { session, shown, interrupt }
    }

    /// The text that a unit at the prompt shows.
    pub fn show(&mut self, source: &str) -> String {
        self.session.evaluate(source).unwrap_or_else(|error| panic!("{source}\n{error:?}")).text
    }

    /// The error of a script.
    pub fn fails(&mut self, source: &str) -> Error {
        match self.session.run("test.rhai", source, true) {
            Ok(()) => panic!("no error: {source}"),
            Err(error) => error,
        }
    }

    /// Runs a script.
    pub fn run(&mut self, source: &str) {
        self.session.run("test.rhai", source, true).unwrap_or_else(|error| panic!("{source}\n{error:?}"));
    }

    /// What was printed so far.
    pub fn printed(&self) -> Vec<String> {
        let events = self.shown.events.borrow();
        events
            .iter()
            .filter_map(|event| if let Event::Print(text) = event { Some(text.clone()) } else { None })
            .collect()
    }
}

/// How sessions of tests begin.
pub fn options() -> SessionOptions {
    SessionOptions {
        seed: 0,
        ties: gpulab_cluster::time::Ties::InOrder,
        plugin: true,
        namespace: "default".into(),
        args: Vec::new(),
        interrupt: Arc::default(),
        steps: false,
    }
}
