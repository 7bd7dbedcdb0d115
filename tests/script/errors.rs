//! Every error names place, cause and way out.

use gpulab::error::{Error, Kind};

use super::bench::Bench;

/// Message, place (line, column, underline) and hints.
fn told(error: &Error) -> (String, (usize, usize, usize), String) {
    let place = error.place.as_ref().map_or((0, 0, 0), |place| (place.line, place.column, place.length));
    (error.message.clone(), place, error.hints.join(" | "))
}

#[track_caller]
fn check(source: &str, kind: Kind, message: &str, place: (usize, usize, usize), hint: &str) {
    let error = Bench::new().fails(source);
    let (said, at, hints) = told(&error);
    assert_eq!(error.kind, kind, "{source}: {said}");
    assert_eq!(said, message, "{source}");
    assert_eq!(at, place, "{source}: {said}");
    assert!(hints.contains(hint), "{source}: {hints}");
}

#[test]
fn unknown_functions_and_methods_find_the_nearest() {
    check(
        "let a = 1;\n  nodez();",
        Kind::Script,
        "there is no function `nodez`; did you mean `node` or `nodes`?",
        (2, 3, 5),
        "node(name: string) -> Node",
    );
    check(
        "node(\"kind\").gpu()",
        Kind::Script,
        "Node has no method `gpu`; did you mean `gpus`?",
        (1, 14, 3),
        "Node.gpus() -> int",
    );
    check("nodes().lenght()", Kind::Script, "List has no method `lenght`; did you mean `len`?", (1, 9, 6), "");
    check("node(\"kind\").redy", Kind::Script, "Node has no property `redy`; did you mean `ready`?", (1, 14, 4), "");
    check("sbatch(1)", Kind::Script, "there is no function `sbatch`; the word here is `submit`", (1, 1, 6), "submit(");
    check("[1].psh(2)", Kind::Script, "an array has no method `psh`; did you mean `push`?", (1, 5, 3), "");
}

#[test]
fn wrong_arguments_are_told_in_plain_words() {
    check("node(3)", Kind::Script, "node takes a name (string); got an integer", (1, 1, 4), "nodes()[n]");
    check(
        "nodes(1, 2)",
        Kind::Script,
        "`nodes` does not take an integer and an integer",
        (1, 1, 5),
        "nodes(labels: string) -> List",
    );
    check(
        "taint(\"kind\", 3)",
        Kind::Script,
        "`taint` does not take a string and an integer",
        (1, 1, 5),
        "taint(node: string or Node, taint: string)",
    );
    check(
        "pods(3)",
        Kind::Script,
        "pods takes a label selector (string); got an integer",
        (1, 1, 4),
        "pods(\"app=mri\")",
    );
    check("wait(true)", Kind::Script, "wait takes a closure; got true or false", (1, 1, 4), "wait(|| …)");
    check(
        "wait(|| 1)",
        Kind::Script,
        "the closure of wait must return true or false; it returned an integer",
        (1, 1, 4),
        "",
    );
    check("advance(\"soon\")", Kind::Script, "\"soon\" is not a span of time", (1, 1, 7), "30s");
    check("node(\"kind\") + 1", Kind::Script, "`+` does not work with a Node and an integer", (1, 14, 1), "");
    check(
        "submit(#{name: \"a\", gpus: \"x\", runs: true})",
        Kind::Script,
        "option \"runs\" of submit is a time, such as \"30s\"; got true or false",
        (1, 1, 6),
        "",
    );
    check("expect(3, \"x\")", Kind::Script, "expect takes a condition; got an integer", (1, 1, 6), "");
}

#[test]
fn unknown_option_keys_find_the_nearest() {
    check(
        "submit(#{name: \"a\", gpu: 1})",
        Kind::Script,
        "unknown option \"gpu\"; did you mean \"gpus\"?",
        (1, 1, 6),
        "options of submit: name, gpus",
    );
    check("fleet(1, #{gpuz: 1})", Kind::Script, "unknown option \"gpuz\"; did you mean \"gpus\"?", (1, 1, 5), "");
    check("submit(#{gpus: 1})", Kind::Script, "submit needs a name", (1, 1, 6), "");
    check(
        "scheduler(#{strategy: \"MostAlocated\"})",
        Kind::Script,
        "unknown strategy \"MostAlocated\"; did you mean \"MostAllocated\"?",
        (1, 1, 9),
        "",
    );
}

#[test]
fn unknown_variables_and_outer_ones() {
    check(
        "let count = 1;\nprint(cuont);",
        Kind::Usage,
        "there is no variable `cuont`; did you mean `count`?",
        (2, 7, 5),
        "",
    );
    check("let k = 1;\nfn f() { k }\nf()", Kind::Usage, "`k` cannot be seen here", (2, 10, 1), "pass k as a parameter");
    check("print(nodes)", Kind::Usage, "`nodes` is a function: write nodes()", (1, 7, 5), "");
    check("let m = #{a: 1};\nm.b", Kind::Script, "the map has no key \"b\"", (2, 3, 1), "");
    check("[1, 2][5]", Kind::Script, "there is no element 5: the array has 2 elements", (1, 8, 1), "");
}

#[test]
fn scripts_that_do_not_parse() {
    check("let x = ;", Kind::Usage, "unexpected ';'", (1, 9, 1), "");
    check("for n in nodes() {", Kind::Usage, "`}` is missing to terminate this block", (1, 19, 1), "");
    check(
        "let default = 1;",
        Kind::Usage,
        "`default` is a reserved word of the language",
        (1, 5, 7),
        "write it in quotes",
    );
    check("let x = \"abc", Kind::Usage, "open string is not terminated", (1, 9, 4), "back-ticks");
    assert_eq!(Bench::new().fails("let x = #{default: 1};").kind, Kind::Usage);
}

#[test]
fn thrown_values_and_assertions() {
    check("throw \"no more\"", Kind::Script, "no more", (1, 1, 5), "");
    check("expect(1 == 2, \"sums are right\")", Kind::Script, "expected: sums are right", (1, 1, 6), "");
    check("fn f() {\n  throw #{code: 3}\n}\nf();", Kind::Script, "{\"code\":3}", (2, 3, 5), "");
    check("1 / 0", Kind::Script, "division by zero: 1 / 0", (1, 3, 1), "");
    check("fn f(n) { f(n + 1) }\nf(1)", Kind::Script, "functions call each other too deeply", (2, 1, 1), "");
}

#[test]
fn errors_can_be_caught_and_looked_into() {
    let mut bench = Bench::new();
    bench.run("try { node(\"nobody\"); } catch (e) { print(e.reason); print(e.code); print(`${e}`); }");
    let printed = bench.printed();
    assert_eq!(printed[..2], ["NotFound", "404"]);
    assert_eq!(printed[2], "no node \"nobody\"");
}

#[test]
fn errors_in_the_prelude_point_to_the_script() {
    let error = Bench::new().fails("import \"hospital\" as h;\nh::discharge(\"nobody\");");
    assert!(error.message.contains("no pod \"nobody\""), "{error}");
    assert_eq!(error.place.unwrap().line, 2);
    let error = Bench::new().fails("import \"hospitl\" as h;");
    assert_eq!(error.message, "there is no module \"hospitl\"; did you mean \"hospital\"?");
}
