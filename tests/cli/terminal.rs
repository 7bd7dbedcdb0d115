//! The program at a terminal, and signals.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nix::pty::{Winsize, openpty};

use crate::process::gpulab;

/// A program that waits for what never comes is ended, so that the test fails and does not hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program on a terminal of its own.
struct Screen {
    child: Child,
    master: File,
    /// Gone when the test is over.
    _alive: Sender<()>,
    /// What was shown and not yet waited for, without colours.
    seen: String,
}

impl Screen {
    fn start(command: &mut Command) -> Screen {
        let size = Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).expect("a terminal");
        let slave = || Stdio::from(pty.slave.try_clone().expect("a second handle"));
        let child = command.stdin(slave()).stdout(slave()).stderr(slave()).spawn().expect("the program starts");
        // The command would keep the terminal open behind the program's end.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        drop(pty.slave);
        let (alive, over) = channel::<()>();
        let id = child.id();
        std::thread::spawn(move || {
            if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                signal("-KILL", id);
            }
        });
        Screen { child, master: File::from(pty.master), _alive: alive, seen: String::new() }
    }

    fn type_keys(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Reads until the text is shown; fails when the program ends before.
    fn wait_for(&mut self, text: &str) {
        let mut raw = String::new();
        loop {
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return;
            }
            let mut buffer = [0; 4096];
            match self.master.read(&mut buffer) {
                Ok(read) if read > 0 => raw = String::from_utf8_lossy(&buffer[..read]).into_owned(),
                _ => panic!("the program ended without {text:?}; last: {:?} {raw:?}", self.seen),
            }
            self.seen.push_str(&anstream::adapter::strip_str(&raw).to_string());
        }
    }

    /// Types a line at the prompt. Keys that come while a statement runs belong to nobody.
    fn enter(&mut self, line: &str) {
        self.wait_for("lab 00:");
        self.type_keys(&format!("{line}\r"));
    }

    fn interrupt(&self) {
        signal("-INT", self.child.id());
    }

    /// Reads to the end; returns the exit code.
    fn end(mut self) -> Option<i32> {
        let mut buffer = [0; 4096];
        // A terminal whose program is gone reports an error instead of an end.
        while self.master.read(&mut buffer).is_ok_and(|read| read > 0) {}
        self.child.wait().expect("the program ends").code()
    }
}

fn signal(name: &str, process: u32) {
    let done = Command::new("kill").args([name, &process.to_string()]).status();
    assert!(done.expect("kill runs").success());
}

fn shell(home: &tempfile::TempDir) -> Screen {
    Screen::start(gpulab().env("GPULAB_HOME", home.path()).arg("shell"))
}

#[test]
fn ctrl_c_keeps_the_session_and_ctrl_d_ends_it() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = shell(&home);
    screen.wait_for("lab 00:");
    screen.type_keys("\u{3}");
    screen.wait_for("Ctrl-D or :quit leaves");
    screen.enter("let kept = 6; print(\"start\" + \"ed\"); loop {}");
    screen.wait_for("started");
    screen.interrupt();
    screen.wait_for("interrupted");
    screen.enter("\"\" + kept * 7 + \"!\"");
    screen.wait_for("42!");
    screen.wait_for("lab 00:");
    screen.type_keys("\u{4}");
    assert_eq!(screen.end(), Some(0));
}

#[test]
fn history_completion_and_lines_that_belong_together() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = shell(&home);
    screen.enter("if true {\r\"in\" + \"side\"\r}");
    screen.wait_for("inside");
    screen.enter(":qui\t");
    assert_eq!(screen.end(), Some(0));

    let mut screen = shell(&home);
    screen.wait_for("lab 00:");
    // The line before the last one comes back from the file.
    screen.type_keys("\u{10}\u{10}\r");
    screen.wait_for("inside");
    screen.enter("exit(5)");
    assert_eq!(screen.end(), Some(5));
}

#[test]
fn a_script_error_keeps_the_session() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = shell(&home);
    screen.enter("nodez()");
    screen.wait_for("no function `nodez`");
    screen.enter(":frob");
    screen.wait_for("no command `:frob`");
    screen.enter("20 + 1 + 1");
    screen.wait_for("22");
    screen.enter(":q");
    assert_eq!(screen.end(), Some(0));
}

#[test]
fn predictions_are_asked_at_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("ask.rhai");
    std::fs::write(&script, "predict(\"Which?\", [\"one\", \"two\"], || \"two\"); print(\"after\" + \"wards\");")
        .unwrap();
    let mut screen = Screen::start(gpulab().arg("run").arg(&script));
    screen.wait_for("2. two");
    screen.wait_for("your answer>");
    screen.type_keys("three\r");
    screen.wait_for("a number or a choice, please");
    screen.wait_for("your answer>");
    screen.type_keys("2\r");
    screen.wait_for("Right: two");
    screen.wait_for("afterwards");
    assert_eq!(screen.end(), Some(0));

    let mut screen = Screen::start(gpulab().arg("run").arg(&script));
    screen.wait_for("your answer>");
    screen.type_keys("\u{3}");
    assert_eq!(screen.end(), Some(130));
}

#[test]
fn ctrl_c_ends_a_run_with_130() {
    let mut screen = Screen::start(gpulab().args(["run", "--answers", "skip", "/dev/stdin"]));
    screen.type_keys("print(\"start\" + \"ed\"); loop {}\n\u{4}");
    screen.wait_for("started");
    screen.interrupt();
    screen.wait_for("interrupted");
    assert_eq!(screen.end(), Some(130));
}
