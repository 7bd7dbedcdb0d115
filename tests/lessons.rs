//! Every lesson, as a learner meets it: whole, line by line, stopped half-way, with another seed.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gpulab::error::Error;
use gpulab::event::Event;
use gpulab::run::lesson::{Header, Script};
use gpulab::script::session::{Session, SessionOptions, Sink, Ties};
use serde_json::Value;

struct Lesson {
    path: PathBuf,
    name: String,
    source: String,
    header: Header,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All lessons, in order.
fn lessons() -> Vec<Lesson> {
    let entries = fs::read_dir(root().join("scripts")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|ext| ext == "rhai")).collect();
    paths.sort();
    let lesson = |path: PathBuf| {
        let source = fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let header = Script::parse(&name, &source).unwrap().header.unwrap();
        Lesson { path, name, source, header }
    };
    paths.into_iter().map(lesson).collect()
}

fn gpulab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpulab"))
        .args(arguments)
        .current_dir(root())
        .env_remove("CLICOLOR_FORCE")
        .env("NO_COLOR", "1")
        .env("LANG", "C.UTF-8")
        .env_remove("LC_ALL")
        .output()
        .unwrap()
}

fn whole(lesson: &Lesson, more: &[&str]) -> Output {
    let path = lesson.path.to_string_lossy().into_owned();
    gpulab(&[&["run", &path, "--answers", "skip"], more].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn succeeded(lesson: &Lesson, output: &Output) {
    let said = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{}:\n{said}", lesson.name);
}

/// Compares with a kept text; `UPDATE_SNAPSHOTS=1` keeps the new one instead.
fn assert_kept(path: &Path, found: &str) {
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(path, found).unwrap();
        return;
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    if kept == found {
        return;
    }
    let differs = kept.lines().zip(found.lines()).position(|(kept, found)| kept != found);
    let line = differs.unwrap_or_else(|| kept.lines().count().min(found.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("(end)").to_owned();
    panic!(
        "{} differs at line {}\n  kept:  {}\n  found: {}\nUPDATE_SNAPSHOTS=1 keeps what was found",
        path.display(),
        line + 1,
        at(&kept),
        at(found)
    );
}

#[test]
fn transcripts_are_kept_and_the_second_run_prints_the_same() {
    for lesson in lessons() {
        let first = whole(&lesson, &[]);
        succeeded(&lesson, &first);
        assert_kept(&lesson.path.with_extension("snap"), &text(&first.stdout));
        assert_eq!(whole(&lesson, &[]).stdout, first.stdout, "{}", lesson.name);
    }
}

#[test]
fn findings_hold_and_rest_on_evidence() {
    for lesson in lessons() {
        let output = whole(&lesson, &["--format", "jsonl"]);
        succeeded(&lesson, &output);
        let lines: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |kind: &str| lines.iter().filter(move |line| line["type"] == kind).collect::<Vec<_>>();
        let findings = of("finding");
        assert!(findings.len() >= 2, "{} has {} findings", lesson.name, findings.len());
        for finding in &findings {
            assert_eq!(finding["held"], true, "{}: {finding}", lesson.name);
            assert_eq!(finding["label"], "Simulated", "{}: {finding}", lesson.name);
            let evidence = finding["evidence"].as_array().unwrap();
            assert!(!evidence.is_empty(), "{}: nothing was read for {finding}", lesson.name);
        }
        let predictions = of("prediction");
        assert!(!predictions.is_empty(), "{} asks no prediction", lesson.name);
        for prediction in &predictions {
            let choices = prediction["choices"].as_array().unwrap();
            assert!(choices.len() > 1 && choices.contains(&prediction["answer"]), "{}: {prediction}", lesson.name);
        }
        let outcome = lines.last().unwrap();
        assert_eq!((&outcome["type"], &outcome["ok"]), (&"outcome".into(), &true.into()), "{}", lesson.name);
    }
}

#[test]
fn findings_hold_with_other_seeds() {
    for lesson in lessons() {
        for seed in ["1", "2", "3", "4", "5", "6"] {
            succeeded(&lesson, &whole(&lesson, &["--seed", seed]));
        }
    }
}

/// Collects what a session shows.
#[derive(Default)]
struct Seen(RefCell<Vec<Event>>);

impl Sink for Seen {
    fn emit(&self, event: &Event) -> Result<(), Error> {
        self.0.borrow_mut().push(event.clone());
        Ok(())
    }

    fn choose(&self, _question: &str, _choices: &[String]) -> Option<String> {
        None
    }
}

impl Seen {
    fn findings(&self) -> Vec<(String, bool)> {
        let events = self.0.borrow();
        let finding = |event: &Event| match event {
            Event::Finding { text, held, .. } => Some((text.clone(), *held)),
            _ => None,
        };
        events.iter().filter_map(finding).collect()
    }
}

fn options(lesson: &Lesson) -> SessionOptions {
    SessionOptions {
        seed: 0,
        ties: Ties::InOrder,
        plugin: lesson.header.plugin,
        namespace: "default".to_owned(),
        args: Vec::new(),
        interrupt: Arc::new(AtomicBool::new(false)),
        steps: false,
    }
}

fn session(lesson: &Lesson) -> (Session, Rc<Seen>) {
    let seen = Rc::new(Seen::default());
    (Session::new(options(lesson), Rc::<Seen>::clone(&seen)).unwrap(), seen)
}

#[test]
fn findings_hold_when_ties_are_shuffled() {
    for lesson in lessons() {
        for ties in 1..=6 {
            let seen = Rc::new(Seen::default());
            let options = SessionOptions { ties: Ties::Shuffled(ties), ..options(&lesson) };
            let mut session = Session::new(options, Rc::<Seen>::clone(&seen)).unwrap();
            let result = session.run(&lesson.name, &lesson.source, true);
            assert!(result.is_ok(), "{} with ties {ties}: {result:?} {:?}", lesson.name, seen.findings());
        }
    }
}

/// What a learner could find changed: everything but times, versions and events.
fn state(session: &mut Session) -> String {
    let questions = [
        "json(nodes().map(|n| [n.name, n.labels(), n.annotations(), n.obj().spec, n.capacity(), n.allocatable()]))",
        "json(pods().names() + deployments().names() + list(\"replicasets\").names() + list(\"namespaces\").names())",
    ];
    questions.map(|question| session.evaluate(question).unwrap().text).join("\n")
}

fn assert_same(found: &str, before: &str, when: &str) {
    let differs = before.lines().zip(found.lines()).find(|(before, found)| before != found);
    assert!(found == before, "{when}: before and after: {differs:?}");
}

/// Lines behind which a top-level statement ends.
fn ends(source: &str) -> Vec<usize> {
    let lines: Vec<&str> = source.lines().collect();
    let ends =
        |line: &str| line == "});" || line == "`);" || (line.ends_with(';') && !line.starts_with([' ', '/', '}', '`']));
    (0..lines.len()).filter(|&index| ends(lines[index])).collect()
}

#[test]
fn the_cluster_is_left_as_it_was_found() {
    for lesson in lessons() {
        let (mut session, _) = session(&lesson);
        let before = state(&mut session);
        session.run(&lesson.name, &lesson.source, true).unwrap();
        assert_same(&state(&mut session), &before, &lesson.name);
        session.run(&lesson.name, &lesson.source, true).unwrap();
        assert_same(&state(&mut session), &before, &format!("{} the second time", lesson.name));
    }
}

#[test]
fn also_when_the_lesson_fails_half_way() {
    for lesson in lessons() {
        let lines: Vec<&str> = lesson.source.lines().collect();
        let ends = ends(&lesson.source);
        assert!(ends.len() > 5, "{}: {ends:?}", lesson.name);
        // One session for all: what one broken run leaves behind shows in the next as well.
        let (mut session, _) = session(&lesson);
        let before = state(&mut session);
        for end in ends {
            let (first, rest) = lines.split_at(end + 1);
            let broken = format!("{}\nthrow \"half-way\";\n{}", first.join("\n"), rest.join("\n"));
            let error = session.run(&lesson.name, &broken, true).unwrap_err();
            assert!(error.message.contains("half-way"), "{} line {}: {error:?}", lesson.name, end + 1);
            assert_same(&state(&mut session), &before, &format!("{} stopped at line {}", lesson.name, end + 1));
        }
    }
}

#[test]
fn line_by_line_in_the_shell_the_findings_are_the_same() {
    for lesson in lessons() {
        let (mut by_line, seen_by_line) = session(&lesson);
        let mut unit = String::new();
        for line in lesson.source.lines() {
            unit.push_str(line);
            unit.push('\n');
            if !by_line.is_incomplete(&unit) {
                let result = by_line.evaluate(&unit);
                result.unwrap_or_else(|error| panic!("{}: {error:?} in\n{unit}", lesson.name));
                unit.clear();
            }
        }
        assert_eq!(unit, "", "{}", lesson.name);
        let (mut at_once, seen_at_once) = session(&lesson);
        at_once.run(&lesson.name, &lesson.source, true).unwrap();
        assert_eq!(seen_by_line.findings(), seen_at_once.findings(), "{}", lesson.name);
    }
}

const BEGIN: &str = "<!-- lessons: begin (kept true by tests/lessons.rs) -->\n";
const END: &str = "<!-- lessons: end -->\n";

#[test]
fn the_catalogue_lists_what_exists() {
    let mut table = String::from("| no. | lesson | the question | minutes | needs | runs on | status |\n");
    table.push_str("|---|---|---|---|---|---|---|\n");
    for lesson in lessons() {
        let Lesson { name, header, .. } = &lesson;
        let held = gpulab(&["run", &lesson.path.to_string_lossy(), "--answers", "skip"]).status.success();
        let status = if held { "findings hold on the embedded model" } else { "broken" };
        let plugin = if header.plugin { "" } else { " without plugin" };
        table.push_str(&format!(
            "| {} | [{}]({name}.rhai) | {} | {} | {}{plugin} | {} | {status} |\n",
            &name[..2],
            header.title,
            header.question,
            header.minutes,
            header.needs.join(", "),
            header.backends.join(", "),
        ));
    }
    let path = root().join("scripts/README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    assert_kept(&path, &format!("{before}{BEGIN}{table}{END}{after}"));
}
