//! The engine: packages, limits, vocabulary, prelude.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;

use rhai::debugger::DebuggerCommand;
use rhai::packages::{
    ArithmeticPackage, BasicArrayPackage, BasicFnPackage, BasicIteratorPackage, BasicMapPackage, BasicMathPackage,
    BasicStringPackage, LanguageCorePackage, LogicPackage, MoreStringPackage, Package as _,
};
use rhai::{ASTNode, Dynamic, Engine, EvalAltResult, Module, ModuleResolver, Position, Scope, Shared};

use super::docs::{Book, Registrar};
use super::fault::Stop;
use super::lab::Lab;
use super::{act, build, devices, gpus, learn, listing, node, nodes, object, pod, rows, show, submit, time, wait};
use crate::event::Event;

/// The prelude that is always loaded.
const CORE: &str = include_str!("../../prelude/core.rhai");
/// Preludes that are imported by name.
const IMPORTED: &[(&str, &str)] = &[("hospital", include_str!("../../prelude/hospital.rhai"))];

/// What the debugger needs to know to tell top-level statements.
#[derive(Debug, Default)]
pub struct Steps {
    /// Positions of the statements of the running script.
    pub starts: BTreeSet<(usize, usize)>,
    /// The running script.
    pub source: String,
}

/// An engine with everything that scripts can say.
pub struct Built {
    /// The engine.
    pub engine: Engine,
    /// Its documentation.
    pub book: Rc<OnceCell<Book>>,
    /// Top-level statements, for step events.
    pub steps: Rc<RefCell<Steps>>,
}

/// Builds the engine of a lab.
///
/// # Errors
/// When the prelude does not parse.
pub fn build(lab: &Rc<Lab>, steps: bool) -> Result<Built, Box<EvalAltResult>> {
    let mut engine = Engine::new_raw();
    packages(&mut engine);
    limits(&mut engine);
    let book = Rc::new(OnceCell::new());
    let mut registrar = Registrar { engine: &mut engine, lab: lab.clone(), book: Book::default() };
    vocabulary(&mut registrar);
    show::register_explain(&mut registrar, book.clone());
    let mut written = registrar.book;
    output(&mut engine, lab);
    engine.set_module_resolver(Resolver { directory: lab.directory.clone() });
    let prelude = engine.compile(CORE).map_err(|error| EvalAltResult::ErrorParsing(*error.0, error.1))?;
    let module = Module::eval_ast_as_new(Scope::new(), &prelude, &engine)?;
    engine.register_global_module(module.into());
    written.read_prelude(CORE);
    // The book is set once, here.
    let _ = book.set(written);
    let watched = Rc::new(RefCell::new(Steps::default()));
    if steps {
        step_events(&mut engine, lab, &watched);
    }
    Ok(Built { engine, book, steps: watched })
}

fn packages(engine: &mut Engine) {
    LanguageCorePackage::new().register_into_engine(engine);
    ArithmeticPackage::new().register_into_engine(engine);
    LogicPackage::new().register_into_engine(engine);
    BasicMathPackage::new().register_into_engine(engine);
    BasicStringPackage::new().register_into_engine(engine);
    MoreStringPackage::new().register_into_engine(engine);
    BasicArrayPackage::new().register_into_engine(engine);
    BasicMapPackage::new().register_into_engine(engine);
    BasicIteratorPackage::new().register_into_engine(engine);
    BasicFnPackage::new().register_into_engine(engine);
}

/// The same in debug and release builds. Operations and sizes are not limited: the learner has Ctrl-C.
fn limits(engine: &mut Engine) {
    engine
        .set_max_call_levels(64)
        .set_max_expr_depths(64, 48)
        .set_max_operations(0)
        .set_max_variables(10_000)
        .set_max_functions(10_000)
        .set_max_modules(100)
        .set_max_string_size(0)
        .set_max_array_size(0)
        .set_max_map_size(0)
        .set_fail_on_invalid_map_property(true)
        .set_strict_variables(true);
}

fn vocabulary(registrar: &mut Registrar<'_>) {
    object::register(registrar);
    listing::register(registrar);
    rows::register(registrar);
    node::register(registrar);
    gpus::register(registrar);
    devices::register(registrar);
    pod::register(registrar);
    act::register(registrar);
    nodes::register(registrar);
    submit::register(registrar);
    wait::register(registrar);
    time::register(registrar);
    build::register(registrar);
    learn::register(registrar);
    show::register(registrar);
    super::report::register(registrar);
}

fn output(engine: &mut Engine, lab: &Rc<Lab>) {
    let shown = lab.clone();
    engine.on_print(move |text| shown.emit_later(&Event::Print(text.to_owned())));
    let shown = lab.clone();
    engine.on_debug(move |text, _, _| shown.emit_later(&Event::Print(show::clean(text))));
    let watched = lab.clone();
    engine.on_progress(move |_| {
        if watched.interrupted() {
            return Some(Dynamic::from(Stop::Interrupted));
        }
        watched.take_broken().map(|error| Dynamic::from(Stop::Error(Box::new(error))))
    });
}

/// Emits [`Event::Step`] whenever a top-level statement of the running script starts.
fn step_events(engine: &mut Engine, lab: &Rc<Lab>, steps: &Rc<RefCell<Steps>>) {
    let (lab, steps) = (lab.clone(), steps.clone());
    #[expect(deprecated, reason = "the debugger interface is marked volatile, not deprecated; the version is pinned")]
    engine.register_debugger(
        |_, debugger| debugger,
        move |context, _, node, _, position| {
            let steps = steps.borrow();
            let at = (position.line().unwrap_or(0), position.position().unwrap_or(0));
            if matches!(node, ASTNode::Stmt(_)) && context.call_level() == 0 && steps.starts.contains(&at) {
                let line = steps.source.lines().nth(at.0.saturating_sub(1)).unwrap_or("").trim().to_owned();
                lab.emit(&Event::Step { line: at.0, source: line })?;
            }
            Ok(DebuggerCommand::StepInto)
        },
    );
}

/// Finds modules: preludes by name, then files beside the running script, never outside its directory.
struct Resolver {
    directory: Rc<RefCell<Option<PathBuf>>>,
}

impl Resolver {
    fn source(&self, path: &str) -> Result<String, String> {
        if let Some((_, source)) = IMPORTED.iter().find(|(name, _)| *name == path) {
            return Ok((*source).to_owned());
        }
        let known: Vec<&str> = IMPORTED.iter().map(|(name, _)| *name).collect();
        let near = super::suggest::did_you_mean(path, known.iter().copied());
        let Some(directory) = self.directory.borrow().clone() else {
            return Err(format!("there is no module \"{path}\"{near}"));
        };
        let file = directory.join(format!("{}.rhai", path.trim_end_matches(".rhai")));
        let missing = || format!("there is no module \"{path}\" and no file {}{near}", file.display());
        let real = file.canonicalize().map_err(|_| missing())?;
        let root = directory.canonicalize().map_err(|_| missing())?;
        if !real.starts_with(&root) {
            return Err(format!("module \"{path}\" lies outside the script's directory"));
        }
        std::fs::read_to_string(&real).map_err(|error| format!("cannot read {}: {error}", real.display()))
    }
}

impl ModuleResolver for Resolver {
    fn resolve(
        &self,
        engine: &Engine,
        _source: Option<&str>,
        path: &str,
        position: Position,
    ) -> Result<Shared<Module>, Box<EvalAltResult>> {
        let source = self.source(path).map_err(|why| {
            Box::new(EvalAltResult::ErrorRuntime(Dynamic::from(super::fault::Fault::script(why)), position))
        })?;
        let inside =
            |error: Box<EvalAltResult>| Box::new(EvalAltResult::ErrorInModule(path.to_owned(), error, position));
        let mut ast = engine
            .compile(super::input::without_shebang(&source).as_ref())
            .map_err(|error| inside(Box::new(EvalAltResult::ErrorParsing(*error.0, error.1))))?;
        ast.set_source(path);
        let module = Module::eval_ast_as_new(Scope::new(), &ast, engine).map_err(inside)?;
        Ok(module.into())
    }
}
