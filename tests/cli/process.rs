//! Runs of the real program.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// How a run ended.
#[derive(Debug)]
pub struct Done {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// The program, in an environment that says nothing.
pub fn gpulab() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpulab"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LC_ALL", "LC_CTYPE", "LANG", "GPULAB_HOME"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm-256color").stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub fn done(command: &mut Command) -> Done {
    let output = command.output().expect("the program starts");
    Done {
        code: output.status.code().expect("the program ends by itself"),
        out: String::from_utf8(output.stdout).expect("the output is text"),
        err: String::from_utf8(output.stderr).expect("the talk is text"),
    }
}

/// Runs it with these arguments.
pub fn run(arguments: &[&str]) -> Done {
    done(gpulab().args(arguments))
}

/// Runs it with this standard input.
pub fn run_with(arguments: &[&str], input: &str) -> Done {
    let mut command = gpulab();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("the input is a pipe");
    // A program that stops early closes its input; that is not what is tested here.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the program ends");
    Done {
        code: output.status.code().expect("the program ends by itself"),
        out: String::from_utf8(output.stdout).expect("the output is text"),
        err: String::from_utf8(output.stderr).expect("the talk is text"),
    }
}

/// Runs a script from a file `script.rhai` in a folder of its own, which is also the working directory.
pub fn script(text: &str, arguments: &[&str]) -> Done {
    let folder = tempfile::tempdir().expect("a folder for the script");
    write(folder.path(), "script.rhai", text.as_bytes());
    done(gpulab().current_dir(folder.path()).args(["run", "script.rhai"]).args(arguments))
}

/// Writes a file.
pub fn write(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(name), bytes).expect("the file can be written");
}
