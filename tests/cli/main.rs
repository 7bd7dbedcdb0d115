//! The program from outside: exit codes, forms of output, streams and signals.

mod process;
#[cfg(unix)]
mod terminal;

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use gpulab::run::lesson::{BUILTIN, Script};
use process::{Done, done, gpulab, run, run_with, script, write};
use serde_json::Value;

#[test]
fn versions() {
    assert_eq!(
        run(&["version"]).out,
        format!("gpulab {} (model of Kubernetes 1.36.3, Kueue 0.19.0)\n", env!("CARGO_PKG_VERSION"))
    );
    let versions: Value = serde_json::from_str(&run(&["version", "-o", "json"]).out).unwrap();
    assert_eq!(versions["kubernetes"], "1.36.3");
    assert_eq!(versions["kueue"], "0.19.0");
}

#[test]
fn the_list_holds_every_lesson() {
    let table = run(&["list"]);
    assert_eq!(table.out.lines().count(), BUILTIN.len() + 1);
    let list: Value = serde_json::from_str(&run(&["list", "-o", "json"]).out).unwrap();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|lesson| lesson["name"].as_str().unwrap()).collect();
    assert_eq!(names, BUILTIN.iter().map(|lesson| lesson.name).collect::<Vec<_>>());
    assert!(list[0]["question"].as_str().unwrap().ends_with('?'));
}

#[test]
fn explain_knows_lessons_and_functions() {
    let lesson = run(&["explain", "1"]);
    assert_eq!((lesson.code, lesson.out.lines().next()), (0, Some("Capacity exhaustion")));
    let function = run(&["explain", "submit"]);
    assert!(function.code == 0 && function.out.contains("submit("), "{function:?}");
    let nothing = run(&["explain", "sumbit"]);
    assert_eq!(nothing.code, 2);
    assert!(nothing.err.contains("did you mean `submit`?"), "{}", nothing.err);
}

/// One script for each exit code that a script can have.
#[test]
fn exit_codes_of_scripts() {
    let finding = |holds| format!("finding(\"x\", || {holds}); finding(\"y\", || true);");
    for (text, code, talk) in [
        ("print(1);".to_owned(), 0, ""),
        (finding(true), 0, ""),
        (finding(false), 1, ""),
        ("throw \"no\";".to_owned(), 1, "no"),
        ("node(\"nowhere\").gpus();".to_owned(), 1, "nowhere"),
        ("let x = ;".to_owned(), 2, "script.rhai:1"),
        ("submit(#{name: \"big\", gpus: 5}); wait_running(1);".to_owned(), 3, "Insufficient"),
        ("exit(0);".to_owned(), 0, ""),
        ("exit(42);".to_owned(), 42, ""),
    ] {
        let done = script(&text, &[]);
        assert_eq!(done.code, code, "{text}: {done:?}");
        assert!(done.err.contains(talk), "{text}: {done:?}");
        assert!(!talk.is_empty() || done.err.is_empty(), "{text}: {done:?}");
    }
}

#[test]
fn exit_codes_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "latin1.rhai", b"print(\"\xe9\")");
    write(folder.path(), "header.rhai", b"//! # A lesson\n//! question: What?\n");
    let here = |arguments: &[&str]| done(gpulab().current_dir(folder.path()).args(arguments));
    for (arguments, code, talk) in [
        (&["frobnicate"][..], 2, "unrecognized subcommand"),
        (&["lst"], 2, "'list'"),
        (&["run"], 2, "FILE|NUMBER|-"),
        (&["run", "--sed", "1", "01"], 2, "--seed"),
        (&["run", "missing.rhai"], 2, "there is no file and no built-in lesson `missing.rhai`"),
        (&["run", "01-capacity-exhastion"], 2, "did you mean `01-capacity-exhaustion`?"),
        (&["run", "capacity-exhaustion.rhai"], 2, "did you mean `01-capacity-exhaustion`?"),
        (&["run", "99"], 2, "there is no lesson 99"),
        (&["run", "."], 2, "`.` is a directory, not a script"),
        (&["run", "latin1.rhai"], 2, "`latin1.rhai` is not a text in UTF-8"),
        (&["run", "header.rhai"], 2, "the lesson's header has no `minutes`"),
        (&["run", "01", "--answers", "missing.txt"], 2, "cannot read the answers"),
        (&["run", "01", "--backend", "kube"], 4, "only the embedded backend"),
        (&["run", "01", "--backend", "both"], 4, "only the embedded backend"),
        (&["shell", "--backend", "kube"], 4, "only the embedded backend"),
        (&["explain", "nothing-like-it"], 2, "there is no lesson and no function"),
        (&["-n", "Not_A_Name", "list"], 2, "a namespace is at most 63"),
    ] {
        let done = here(arguments);
        assert_eq!(done.code, code, "{arguments:?}: {done:?}");
        assert!(done.err.contains(talk), "{arguments:?}: {done:?}");
        assert_eq!(done.out, "", "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"], &["help", "shell"]] {
        let done = here(arguments);
        assert!(done.code == 0 && done.err.is_empty() && !done.out.is_empty(), "{arguments:?}: {done:?}");
    }
}

#[test]
fn an_error_shows_its_place() {
    let done = script("let a = 1;\nlet b = nodez();\n", &[]);
    insta::assert_snapshot!(done.err);
}

#[test]
fn an_existing_file_wins_over_a_lesson() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "01", b"print(\"mine\");");
    assert_eq!(done(gpulab().current_dir(folder.path()).args(["run", "01"])).out, "mine\n");
}

const SMALL: &str = r#"section("A small lab");
story("One node, four devices.");
print(node("kind").gpus());
predict("How many GPUs are free?", ["0", "4"], || "" + node("kind").free()["simulator.accelerator-fleet.io/gpu"]);
finding("there are four", || node("kind").gpus() == 4);
finding("there are five", || node("kind").gpus() == 5);
"#;

#[test]
fn the_text_form() {
    let done = script(SMALL, &[]);
    assert_eq!(done.code, 1);
    insta::assert_snapshot!(done.out);
}

#[test]
fn the_text_form_in_ascii_and_with_steps() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "small.rhai", SMALL.as_bytes());
    let plain = done(gpulab().current_dir(folder.path()).env("LC_ALL", "C").args(["run", "-v", "small.rhai"]));
    assert!(plain.out.is_ascii(), "{}", plain.out);
    assert!(
        plain.out.contains("> section(\"A small lab\")") && plain.out.contains("FAILED there are five"),
        "{}",
        plain.out
    );
}

fn lines(done: &Done) -> Vec<Value> {
    done.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"))).collect()
}

#[test]
fn the_json_lines_form() {
    let done = script(SMALL, &["--format", "jsonl", "--seed", "7"]);
    assert_eq!(done.code, 1);
    let digest = lines(&done).last().unwrap()["digest"].as_str().unwrap().to_owned();
    assert!(digest.len() >= 16 && digest.bytes().all(|b| b.is_ascii_hexdigit()), "{digest}");
    insta::assert_snapshot!(done.out.replace(&digest, "DIGEST").replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn json_lines_also_when_the_run_fails() {
    for (done, kind) in [
        (script("print(1);\nnodez();", &["--format", "jsonl"]), "script"),
        (script("let x = ;", &["--format", "jsonl"]), "usage"),
        (run(&["run", "missing.rhai", "--format", "jsonl"]), "usage"),
        (run(&["run", "01", "--backend", "kube", "--format", "jsonl"]), "backend"),
    ] {
        let lines = lines(&done);
        assert_eq!(lines[0]["type"], "run", "{done:?}");
        assert_eq!(lines[0]["schema"], 1, "{done:?}");
        let [.., error, outcome] = &lines[..] else { panic!("{done:?}") };
        assert_eq!((&error["type"], &error["kind"]), (&"error".into(), &kind.into()), "{done:?}");
        assert_eq!(
            (&outcome["type"], &outcome["ok"], &outcome["exit"]),
            (&"outcome".into(), &false.into(), &done.code.into())
        );
        assert!(!done.err.is_empty());
    }
}

#[test]
fn lessons_hold_and_repeat_byte_for_byte() {
    for lesson in BUILTIN {
        let once = run(&["run", lesson.name, "--format", "jsonl"]);
        assert_eq!(once.code, 0, "{}: {}", lesson.name, once.err);
        assert_eq!(once.out, run(&["run", lesson.number(), "--format", "jsonl"]).out, "{}", lesson.name);
        let lines = lines(&once);
        let findings = lines.iter().filter(|line| line["type"] == "finding");
        assert!(
            findings.clone().all(|finding| finding["held"] == true && finding["label"] == "Simulated"),
            "{}",
            lesson.name
        );
        let outcome = lines.last().unwrap();
        assert_eq!(outcome["findings"], findings.count(), "{}", lesson.name);
        assert!(outcome["held"].as_u64().unwrap() >= 2, "{}", lesson.name);
    }
    assert_eq!(run(&["run", "01"]).out, run(&["run", "01"]).out);
}

#[test]
fn a_closed_pipe_is_a_silent_end() {
    for arguments in [&["run", "-"][..], &["run", "-", "--format", "jsonl"]] {
        let mut command = gpulab();
        let child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, b"for i in 0..100000 { print(i); } throw \"unreached\";").unwrap();
        drop(input);
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        drop(output);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(
            (ended.status.code(), String::from_utf8_lossy(&ended.stderr).as_ref()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}

#[test]
fn colours_are_for_terminals() {
    let escape = '\u{1b}';
    let run =
        |name: &str, value: &str, flag: &str| done(gpulab().env(name, value).args(["run", "01", "--color", flag])).out;
    assert!(!run("TERM", "xterm", "auto").contains(escape), "a pipe");
    assert!(run("CLICOLOR_FORCE", "1", "auto").contains(escape), "forced by the environment");
    assert!(run("TERM", "xterm", "always").contains(escape), "forced by the flag");
    assert!(!run("CLICOLOR_FORCE", "1", "never").contains(escape), "the flag wins");
    let both = done(gpulab().env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").args(["run", "01"]));
    assert!(!both.out.contains(escape), "NO_COLOR wins over CLICOLOR_FORCE");
}

#[test]
fn scripts_cannot_steer_the_terminal() {
    let done = script("print(\"a\\u001b[31mb\");", &["--color", "always"]);
    assert!(done.out.contains("[31mb") && !done.out.contains("\u{1b}[31m"), "{:?}", done.out);
}

#[test]
fn answers_come_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "small.rhai", SMALL.as_bytes());
    let given = |answers: &str| {
        write(folder.path(), "answers", answers.as_bytes());
        let arguments = ["run", "small.rhai", "--format", "jsonl", "--answers", "answers"];
        let done = done(gpulab().current_dir(folder.path()).args(arguments));
        let prediction = lines(&done).into_iter().find(|line| line["type"] == "prediction").unwrap();
        (prediction["given"].clone(), done.err)
    };
    assert_eq!(given("# the first\n\n1\n"), ("0".into(), String::new()));
    assert_eq!(given("4\n").0, "4");
    assert_eq!(given("").0, Value::Null);
    let (nothing, talk) = given("seven\n");
    assert!(nothing.is_null() && talk.contains("`seven` is none of the choices"), "{talk}");
}

#[test]
fn arguments_reach_the_script() {
    assert_eq!(script("print(args());", &["--", "--gpus", "8"]).out, "[\"--gpus\", \"8\"]\n");
}

#[test]
fn a_script_from_standard_input() {
    let done = run_with(&["run", "-"], "#!/usr/bin/env gpulab\nprint(1);\nnodez();");
    assert_eq!((done.code, done.out.as_str()), (1, "1\n"));
    assert!(done.err.contains("--> <stdin>:3:1"), "{}", done.err);
}

#[test]
fn the_shell_reads_a_pipe() {
    let done = run_with(&["shell"], "let x = 3;\nif x > 2 {\n  print(\"big\")\n}\nx + 1\nit * 2\n(); // nothing\n7;\n");
    assert_eq!((done.code, done.out.as_str(), done.err.as_str()), (0, "big\n4\n8\n", ""));
}

#[test]
fn the_piped_shell_stops_at_the_first_error() {
    let done = run_with(&["shell"], "print(1)\nnodez()\nprint(2)\n");
    assert_eq!((done.code, done.out.as_str()), (1, "1\n"));
    assert!(done.err.contains("no function `nodez`"), "{}", done.err);
    assert_eq!(run_with(&["shell"], "if true {\n").code, 2, "an unfinished unit");
    assert_eq!(run_with(&["shell"], "finding(\"no\", || false)\n").code, 1);
    assert_eq!(run_with(&["shell"], "exit(9)\nprint(1)\n").code, 9);
    assert_eq!(run_with(&["shell"], ":quit\nprint(1)\n").out, "");
}

#[test]
fn the_shell_evaluates_expressions() {
    let done = run(&["shell", "-e", "let a = 2", "-e", "a * 21", "-e", "a;"]);
    assert_eq!((done.code, done.out.as_str()), (0, "42\n"));
    let done = run(&["shell", "-e", "kubectl get pods -l app=mri"]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("write `pods(\"app=mri\")`"), "{}", done.err);
    let done = run(&["shell", "-e", "submit?", "-e", ":he"]);
    assert!(done.code == 0 && done.out.contains("submit(") && done.out.contains(":quit"), "{done:?}");
}

#[test]
fn every_script_form_of_kubectl_exists() {
    for words in [
        "get pods",
        "get node a",
        "get rs a",
        "get pod a -o yaml",
        "get nodes -o json",
        "get events",
        "describe pod a",
        "delete pod a",
        "scale deploy a --replicas 1",
        "cordon a",
        "uncordon a",
        "label node a b=c",
        "taint node a b=c:NoSchedule",
        "taint node a b-",
        "explain pod",
        "apply -f x",
        "patch pod a",
        "wait pod a",
    ] {
        let done = run(&["shell", "-e", &format!("kubectl {words}")]);
        let form = done.err.split('`').nth(1).unwrap_or_default();
        for function in
            form.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| form.contains(&format!("{word}(")))
        {
            assert!(function.is_empty() || run(&["explain", function]).code == 0, "{words}: {form}");
        }
        assert!(form.contains('('), "{words}: {}", done.err);
    }
}

#[test]
fn a_run_goes_on_in_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x.rhai", b"let x = 41; submit(#{name: \"a\", gpus: 1}); wait_running(1);");
    let script = folder.path().join("x.rhai");
    let done = run_with(&["run", "-i", script.to_str().unwrap()], "x + 1\npods().len()\n");
    assert_eq!((done.code, done.out.as_str()), (0, "42\n1\n"), "{}", done.err);
}

#[test]
fn another_namespace() {
    let done = run(&[
        "-n",
        "team-a",
        "shell",
        "-e",
        "apply(\"{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}\");",
        "-e",
        "submit(#{name: \"a\", gpus: 1});",
        "-e",
        "pod(\"a\").obj().metadata.namespace",
    ]);
    assert_eq!((done.code, done.out.as_str()), (0, "team-a\n"), "{}", done.err);
}

/// What the first page shows at the prompt is what the prompt shows.
#[test]
fn the_first_page_tells_the_truth() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let block = page.split("```console\n").find(|block| block.starts_with("lab> ")).unwrap();
    let shown = block.split("```").next().unwrap();
    let mut command = gpulab();
    command.arg("shell");
    for line in shown.lines().filter_map(|line| line.strip_prefix("lab> ")) {
        command.args(["-e", line]);
    }
    let results: String =
        shown.lines().filter(|line| !line.starts_with("lab> ")).map(|line| format!("{line}\n")).collect();
    let done = done(&mut command);
    assert_eq!((done.out, done.err.as_str()), (results, ""));
}

/// The list of lessons on the first page. With `INSTA_UPDATE=always` the page is written instead.
#[test]
fn the_first_page_lists_the_lessons() {
    const BEGIN: &str = "<!-- lessons: begin (kept true by tests/cli) -->\n";
    const END: &str = "<!-- lessons: end -->";
    let mut table = String::from("| | lesson | the question | minutes |\n|---|---|---|---|\n");
    for lesson in BUILTIN {
        let header = Script::parse(lesson.name, lesson.source).unwrap().header.unwrap();
        let (number, name) = (lesson.number(), lesson.name);
        writeln!(
            table,
            "| {number} | [{}](scripts/{name}.rhai) | {} | {} |",
            header.title, header.question, header.minutes
        )
        .unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (found, tail) = rest.split_once(END).unwrap();
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(path, format!("{head}{BEGIN}{table}{END}{tail}")).unwrap();
    } else {
        assert_eq!(found, table, "run this test with INSTA_UPDATE=always to write the page");
    }
}
