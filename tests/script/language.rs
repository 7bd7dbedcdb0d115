//! Engine, session, input.

use std::sync::atomic::Ordering;

use gpulab::error::Kind;
use gpulab::event::Event;
use gpulab::script::session::Session;

use super::bench::{Bench, options};

#[test]
fn a_unit_shows_its_value_and_keeps_it() {
    let mut bench = Bench::new();
    assert_eq!(bench.show("40 + 2"), "42");
    assert_eq!(bench.show("it + 1"), "43");
    assert_eq!(bench.show("let x = 7;"), "");
    assert_eq!(bench.show("x;"), "");
    assert_eq!(bench.show("it"), "7");
    assert_eq!(bench.show("\"text\""), "text");
    assert_eq!(bench.show("[1, \"a\", true]"), "[1, \"a\", true]");
    assert_eq!(bench.show("#{b: 1, a: #{c: 2}}"), "a:\n  c: 2\nb: 1");
    assert_eq!(bench.show("()"), "");
}

#[test]
fn functions_closures_and_imports_stay() {
    let mut bench = Bench::new();
    bench.show("fn double(n) { n * 2 }");
    assert_eq!(bench.show("double(4)"), "8");
    bench.show("let add = |n| n + 10;");
    bench.show("let other = |n| n + 20;");
    assert_eq!(bench.show("add.call(1) + other.call(1)"), "32");
    bench.show("import \"hospital\" as hospital;");
    assert_eq!(bench.show("type_of(hospital::wings())"), "List");
}

#[test]
fn print_goes_to_the_sink() {
    let mut bench = Bench::new();
    bench.run("print(\"one\"); print(2); print([#{name: \"a\", gpus: 4}, #{name: \"bc\", gpus: 2}]);");
    assert_eq!(bench.printed(), ["one", "2", "NAME   GPUS\na      4\nbc     2"]);
    bench.run("print(\"\\x1b[31mred\")");
    assert_eq!(bench.printed()[3], "\u{fffd}[31mred");
}

#[test]
fn top_level_statements_are_announced() {
    let mut bench = Bench::with(|options| options.steps = true);
    bench.run("let x = 1;\nfn f() { print(\"in\"); }\nfor i in 0..2 {\n  f();\n}\nprint(x);\n");
    let events = bench.shown.events.borrow();
    let steps: Vec<(usize, &str)> = events
        .iter()
        .filter_map(
            |event| if let Event::Step { line, source } = event { Some((*line, source.as_str())) } else { None },
        )
        .collect();
    assert_eq!(steps, [(1, "let x = 1;"), (3, "for i in 0..2 {"), (6, "print(x);")]);
    assert!(matches!(events.last(), Some(Event::Print(text)) if text == "1"));
}

#[test]
fn exit_ends_the_script_with_its_code() {
    let mut bench = Bench::new();
    assert_eq!(bench.fails("try { exit(7); } catch { print(\"caught\"); }").kind, Kind::Exit(7));
    assert_eq!(bench.fails("exit();").exit_code(), 0);
    assert_eq!(bench.printed(), Vec::<String>::new());
    assert!(bench.fails("exit(300)").message.contains("0 to 125"));
}

#[test]
fn arguments_are_given() {
    let mut bench = Bench::with(|options| options.args = vec!["--gpus".into(), "8".into()]);
    assert_eq!(bench.show("args()"), "[\"--gpus\", \"8\"]");
}

#[test]
fn an_endless_loop_is_interrupted_and_the_session_lives() {
    for source in ["loop { }", "loop { try { loop { } } catch { } }", "while true { pods().len(); }", "wait(|| false)"]
    {
        let mut bench = Bench::new();
        let interrupt = bench.interrupt.clone();
        let source = if source.starts_with("wait") { "loop { try { wait(|| false); } catch { } }" } else { source };
        let other = std::thread::spawn(move || {
            std::thread::yield_now();
            interrupt.store(true, Ordering::Relaxed);
        });
        let error = bench.session.run("test.rhai", source, true).unwrap_err();
        other.join().unwrap();
        assert_eq!((error.kind, error.exit_code()), (Kind::Interrupted, 130), "{source}: {error}");
        assert!(error.message.contains("cancelled by Ctrl-C at 00:00:"), "{error}");
        assert_eq!(bench.show("1 + 1"), "2");
    }
}

/// A sink whose output is closed.
struct Closed;

impl gpulab::script::session::Sink for Closed {
    fn emit(&self, _event: &Event) -> Result<(), gpulab::error::Error> {
        Err(gpulab::error::Error::new(Kind::Exit(0), "the output is closed"))
    }

    fn choose(&self, _question: &str, _choices: &[String]) -> Option<String> {
        None
    }
}

#[test]
fn a_closed_output_ends_the_script() {
    for source in ["print(1)", "loop { try { print(1); } catch { } }", "loop { try { story(\"x\"); } catch { } }"] {
        let mut session = Session::new(options(), std::rc::Rc::new(Closed)).unwrap_or_else(|error| panic!("{error:?}"));
        let error = session.run("test.rhai", source, true).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (Kind::Exit(0), "the output is closed"), "{source}");
    }
}

#[test]
fn a_shebang_line_is_allowed() {
    let error = Bench::new().fails("#!/usr/bin/env gpulab run\nnodez();");
    assert_eq!(error.place.map(|place| place.line), Some(2), "{}", error.message);
}

#[test]
fn completion_knows_names_methods_keys_and_objects() {
    let mut bench = Bench::new();
    let words = |bench: &Bench, line: &str| bench.session.complete(line).1;
    assert!(words(&bench, "wait_").contains(&"wait_running".to_owned()));
    assert_eq!(words(&bench, "submit(#{gp"), ["gpus"]);
    assert_eq!(words(&bench, "node(\"kind\").gp"), ["gpus"]);
    bench.show("let list = nodes();");
    assert_eq!(words(&bench, "list.nam"), ["names"]);
    assert_eq!(words(&bench, "li"), ["list"]);
    assert!(words(&bench, "node(\"gpulab").contains(&"gpulab-control-plane".to_owned()));
}

#[test]
fn incomplete_input_is_known() {
    let bench = Bench::new();
    assert!(bench.session.is_incomplete("for n in nodes() {"));
    assert!(!bench.session.is_incomplete("nodes()"));
}

#[test]
fn the_same_script_gives_the_same_digest() {
    let source = "submit(#{name: \"a\", gpus: 1}); settle(); print(pods()); advance(\"1m\");";
    let digest = |seed: u64| {
        let mut bench = Bench::with(|options| options.seed = seed);
        bench.run(source);
        bench.session.digest()
    };
    assert_eq!(digest(0), digest(0));
    assert_eq!(digest(0).len(), 64);
    assert_ne!(digest(0), digest(1));
}

#[test]
fn every_function_is_documented() {
    let bench = Bench::new();
    let text = bench.session.documentation("pods").unwrap();
    assert!(text.contains("- `pods(labels: string) -> List`"), "{text}");
    assert!(text.contains("```rhai"), "{text}");
    assert!(bench.session.documentation("").unwrap().contains("## Node.gpus"));
    assert_eq!(bench.session.documentation("nothing_of_that_name"), None);
    let mut names: Vec<&str> = bench.session.docs().iter().map(|doc| doc.name()).collect();
    names.sort_unstable();
    let first_light = "nodes node pods pod deployment get events apply patch delete scale label taint untaint cordon \
        uncordon capacity submit finish wait_pending wait_running wait wait_any settle now advance step lab fleet \
        scheduler predict finding expect story section pause print table yaml json explain list";
    for name in first_light.split_whitespace() {
        assert!(names.binary_search(&name).is_ok(), "{name}");
    }
    for doc in bench.session.docs() {
        let first = |other: &&gpulab::script::docs::Doc| other.name() == doc.name() && !other.text.is_empty();
        assert!(bench.session.docs().iter().any(|other| first(&other)), "{} has no text", doc.signature);
    }
}

#[test]
fn every_example_runs() {
    let bench = Bench::new();
    let examples: Vec<(String, String)> =
        bench.session.docs().iter().map(|doc| (doc.signature.to_owned(), doc.example())).collect();
    assert!(examples.iter().filter(|(_, example)| !example.is_empty()).count() > 40);
    for (signature, example) in examples.into_iter().filter(|(_, example)| !example.is_empty()) {
        let mut bench = Bench::new();
        if let Err(error) = bench.session.run(&signature, &example, true) {
            panic!("{signature}\n{example}\n{error:?}");
        }
    }
}
