//! gpulab: a lab shell for learning, testing and demonstrating how Kubernetes handles GPUs.
//!
//! The modules, in the order in which a command passes through them:

pub mod cli;
pub mod config;
pub mod error;

pub mod shell;

pub mod run;

pub mod script;

pub mod backend;

pub mod event;
pub mod render;

use std::ffi::OsString;
use std::rc::Rc;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::config::Settings;
use crate::error::Error;
use crate::render::printer::Printer;
use crate::render::report::error_text;
use crate::run::runner::Room;
use crate::run::{catalogue, guard, interrupt, runner};
use crate::shell::editor::Question;
use crate::shell::repl;

/// Runs the program and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    guard::install();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return say(&error),
    };
    let settings = Settings::resolve(&cli.global);
    let printer = Rc::new(Printer::new(settings.colour_out, settings.colour_err));
    let result = guard::catch(|| {
        let room = Room { settings, printer: Rc::clone(&printer), interrupt: interrupt::watch() };
        dispatch(&room, &cli.command)
    });
    match result {
        _ if printer.closed() => 0,
        Ok(code) => code,
        Err(error) => {
            printer.talk(&error_text(&error));
            error.exit_code()
        }
    }
}

fn dispatch(room: &Room, command: &Command) -> Result<u8, Error> {
    match command {
        Command::Run(args) => {
            let ended = runner::run(room, args, || Box::new(Question::new(room.settings.colour_out)));
            Ok(if args.interactive { repl::go_on(room, ended, args.seed) } else { ended.exit })
        }
        Command::Shell(args) => Ok(repl::shell(room, args)),
        Command::List { output } => room.printer.data(&catalogue::list(*output)?).map(|()| 0),
        Command::Explain { name } => room.printer.data(&catalogue::explain(room, name)?).map(|()| 0),
        Command::Version { output } => room.printer.data(&catalogue::version(*output)).map(|()| 0),
    }
}

/// What clap has to say: help and versions are data, faults are talk.
fn say(error: &clap::Error) -> u8 {
    use anstream::AutoStream;
    let coloured = |choice| choice != anstream::ColorChoice::Never;
    let printer = Printer::new(
        coloured(AutoStream::choice(&std::io::stdout())),
        coloured(AutoStream::choice(&std::io::stderr())),
    );
    let text = error.render().ansi().to_string();
    if error.use_stderr() {
        printer.talk(&text);
        return 2;
    }
    match printer.data(&text) {
        Err(error) if !printer.closed() => error.exit_code(),
        _ => 0,
    }
}
