//! `gpulab run`: one script from its text to its exit code.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::cli::{Backend, Format, RunArgs};
use crate::config::Settings;
use crate::error::{Error, Kind};
use crate::render::printer::Printer;
use crate::render::style::Look;
use crate::render::transcript::Transcript;
use crate::run::answers::{Answers, Ask};
use crate::run::lesson::Script;
use crate::run::recorder::Recorder;
use crate::run::{guard, source};
use crate::script::session::{Session, SessionOptions, Sink, Ties};

/// What every command works with.
pub struct Room {
    /// Flags, environment and terminal.
    pub settings: Settings,
    /// Both outputs.
    pub printer: Rc<Printer>,
    /// Set by Ctrl-C.
    pub interrupt: Arc<AtomicBool>,
}

impl Room {
    /// What the terminal can show.
    pub fn look(&self) -> Look {
        Look { unicode: self.settings.unicode, width: self.settings.width }
    }

    /// How a session begins here.
    pub fn options(&self, seed: u64) -> SessionOptions {
        SessionOptions {
            seed,
            ties: Ties::InOrder,
            plugin: true,
            namespace: self.settings.namespace.clone(),
            args: Vec::new(),
            interrupt: Arc::clone(&self.interrupt),
            steps: self.settings.verbose > 0,
        }
    }
}

/// How a run ended: its exit code, and the session where it goes on.
pub struct Ended {
    /// The exit code.
    pub exit: u8,
    /// What the script left behind.
    pub session: Option<Session>,
    /// Where the session's output goes.
    pub recorder: Rc<Recorder>,
}

/// Runs a script.
pub fn run(room: &Room, args: &RunArgs, ask: impl FnOnce() -> Box<dyn Ask>) -> Ended {
    let answers = answers(room, args, ask);
    let (answers, refused) = match answers {
        Ok(answers) => (answers, None),
        Err(error) => (Answers::Skip, Some(error)),
    };
    let transcript = Transcript::new(room.look());
    let verbose = room.settings.verbose > 0;
    let recorder = Rc::new(Recorder::new(Rc::clone(&room.printer), transcript, args.format, verbose, answers));
    let mut session = None;
    let result =
        refused.map_or(Ok(()), Err).and_then(|()| guard::catch(|| evaluate(room, args, &recorder, &mut session)));
    let error = result.err();
    if let Some(error) = &error {
        recorder.fail(error);
    }
    let digest = session.as_ref().map_or_else(String::new, Session::digest);
    let exit = recorder.end(error.as_ref(), digest);
    Ended { exit, session, recorder }
}

fn evaluate(room: &Room, args: &RunArgs, recorder: &Rc<Recorder>, session: &mut Option<Session>) -> Result<(), Error> {
    let loaded = source::load(&args.script);
    let name = loaded.as_ref().map_or(args.script.as_str(), |script| script.name.as_str());
    recorder.begin(name, args.seed, backend_name(args.backend))?;
    let script = loaded?;
    embedded_only(args.backend)?;
    suits(&script)?;
    let mut options = room.options(args.seed);
    options.args.clone_from(&args.args);
    options.steps |= args.format == Format::Jsonl;
    if let Some(header) = &script.header {
        options.plugin = header.plugin;
        recorder.title(&header.title, &header.question)?;
    }
    let sink: Rc<dyn Sink> = Rc::<Recorder>::clone(recorder);
    let session = session.insert(Session::new(options, sink)?);
    session.run(&script.name, &script.source, !args.interactive)
}

fn backend_name(backend: Backend) -> &'static str {
    match backend {
        Backend::Embedded => "embedded",
        Backend::Kube => "kube",
        Backend::Both => "both",
    }
}

/// This version has one backend.
///
/// # Errors
/// `Backend` for the others.
pub fn embedded_only(backend: Backend) -> Result<(), Error> {
    if backend == Backend::Embedded {
        return Ok(());
    }
    let message = format!(
        "this version of gpulab has only the embedded backend, so `{}` cannot be reached",
        backend_name(backend)
    );
    Err(Error::new(Kind::Backend, message).hint("leave `--backend` out: the embedded cluster needs nothing else"))
}

fn suits(script: &Script) -> Result<(), Error> {
    match &script.header {
        Some(header) if !header.backends.iter().any(|backend| backend == "embedded") => {
            let backends = header.backends.join(", ");
            Err(Error::new(Kind::Backend, format!("`{}` runs on {backends} only", script.name)))
        }
        _ => Ok(()),
    }
}

fn answers(room: &Room, args: &RunArgs, ask: impl FnOnce() -> Box<dyn Ask>) -> Result<Answers, Error> {
    match args.answers.as_deref() {
        Some("skip") => Ok(Answers::Skip),
        Some(path) => Answers::from_file(path),
        None if room.settings.terminal && args.format == Format::Text && args.script != "-" => {
            Ok(Answers::Asked(ask()))
        }
        None => Ok(Answers::Skip),
    }
}
