//! Errors as users meet them: place, cause in plain words, way out.

use rhai::{Dynamic, Engine, EvalAltResult, ParseErrorType, Position};

use super::docs::{Book, Registrar};
use super::fault::{Fault, Stop};
use super::options::{kind_of, plain_type};
use super::suggest::{did_you_mean, nearest, synonym};
use crate::error::{Error, Kind, Place};

/// Lets scripts look into caught errors.
pub fn register(registrar: &mut Registrar<'_>) {
    registrar.engine.register_type_with_name::<Fault>("Error");
    registrar.engine.register_fn("to_string", |fault: &mut Fault| fault.message.clone());
    registrar.engine.register_fn("to_debug", |fault: &mut Fault| fault.message.clone());
    registrar.engine.register_get("message", |fault: &mut Fault| fault.message.clone());
    registrar.engine.register_get("reason", |fault: &mut Fault| fault.reason.clone());
    registrar.engine.register_get("code", |fault: &mut Fault| fault.code);
    registrar.engine.register_fn("contains", |fault: &mut Fault, part: &str| fault.message.contains(part));
    registrar.describe("Error.message -> string", "What happened and why.");
    registrar.describe("Error.reason -> string", "The API's reason, such as NotFound; empty for other errors.");
    registrar.describe("Error.code -> int", "The API's code, such as 404; 0 for other errors.");
}

/// The sentence of an error without its place.
pub fn sentence(error: &EvalAltResult) -> String {
    match error {
        EvalAltResult::ErrorInFunctionCall(_, _, inner, _) | EvalAltResult::ErrorInModule(_, inner, _) => {
            sentence(inner)
        }
        EvalAltResult::ErrorRuntime(value, _) => match value.read_lock::<Fault>() {
            Some(fault) => fault.message.clone(),
            None => value.to_string(),
        },
        other => {
            let text = other.to_string();
            text.split(" (line ").next().unwrap_or(&text).to_owned()
        }
    }
}

/// What a report needs to know.
pub struct Reporter<'a> {
    /// Name of the script.
    pub script: &'a str,
    /// Its text.
    pub source: &'a str,
    /// The vocabulary.
    pub book: &'a Book,
    /// The engine, for the functions of the language.
    pub engine: &'a Engine,
    /// Names of variables and functions of the script.
    pub names: Vec<String>,
    /// The clock, for cancelled scripts.
    pub clock: String,
}

impl Reporter<'_> {
    /// The error as users meet it.
    pub fn error(&self, error: EvalAltResult) -> Error {
        let (error, position) = self.innermost(error, Position::NONE);
        let (mut told, position) = self.tell(error, position);
        told.place = self.place(position);
        told
    }

    /// The innermost error, and the innermost place that is in this script.
    fn innermost(&self, error: EvalAltResult, outer: Position) -> (EvalAltResult, Position) {
        let here = error.position();
        match error {
            EvalAltResult::ErrorInFunctionCall(_, source, inner, position) => {
                let position = if position.is_none() { outer } else { position };
                if source.is_empty() || source == self.script {
                    self.innermost(*inner, position)
                } else {
                    // Inside a module: the call is what this script can change.
                    let (inner, _) = self.innermost(*inner, Position::NONE);
                    (inner, position)
                }
            }
            EvalAltResult::ErrorInModule(path, inner, position) => {
                let (inner, inside) = self.innermost(*inner, Position::NONE);
                let line = inside.line().map(|line| format!(", line {line}")).unwrap_or_default();
                let (told, _) = self.tell(inner, Position::NONE);
                let fault = Fault {
                    hints: told.hints,
                    ..Fault::new(told.kind, format!("in module \"{path}\"{line}: {}", told.message))
                };
                (EvalAltResult::ErrorRuntime(Dynamic::from(fault), position), position)
            }
            other => (other, if here.is_none() { outer } else { here }),
        }
    }

    fn place(&self, position: Position) -> Option<Box<Place>> {
        let line = position.line()?;
        let source = self.source.lines().nth(line - 1).unwrap_or("").to_owned();
        let column = position.position().unwrap_or(0);
        let length = word_length(&source, column);
        Some(Box::new(Place { script: self.script.to_owned(), line, column, source, length }))
    }

    fn tell(&self, error: EvalAltResult, position: Position) -> (Error, Position) {
        let script = |message: String| Error::new(Kind::Script, message);
        let told = match error {
            EvalAltResult::ErrorRuntime(value, _) => thrown(&value),
            EvalAltResult::ErrorTerminated(value, _) => return (self.stopped(value), Position::NONE),
            EvalAltResult::ErrorFunctionNotFound(signature, _) => self.function(&signature, position),
            EvalAltResult::ErrorVariableNotFound(name, _) => self.variable(&name),
            EvalAltResult::ErrorDotExpr(text, _) => self.property(&text),
            EvalAltResult::ErrorPropertyNotFound(name, _) => script(format!("the map has no key \"{name}\"")).hint(
                format!("`\"{name}\" in map` asks whether it is there; map.get(\"{name}\") gives () when it is not"),
            ),
            EvalAltResult::ErrorIndexNotFound(index, _) => script(format!("there is nothing at index {index}")),
            EvalAltResult::ErrorArrayBounds(length, index, _) => {
                script(format!("there is no element {index}: the array has {length} {}", plural(length, "element")))
            }
            EvalAltResult::ErrorStringBounds(length, index, _) => script(format!(
                "there is no character {index}: the string has {length} {}",
                plural(length, "character")
            )),
            EvalAltResult::ErrorIndexingType(text, _) => script(format!("this cannot be indexed: {}", indexed(&text))),
            EvalAltResult::ErrorFor(_) => script("`for` needs a list, an array, a range or a string".into()),
            EvalAltResult::ErrorMismatchDataType(wanted, got, _) => mismatch(&wanted, &got),
            EvalAltResult::ErrorMismatchOutputType(wanted, got, _) => mismatch(&wanted, &got),
            EvalAltResult::ErrorAssignmentToConstant(name, _) => {
                script(format!("\"{name}\" is a constant and cannot be changed"))
            }
            EvalAltResult::ErrorArithmetic(text, _) => script(text.to_lowercase()),
            EvalAltResult::ErrorStackOverflow(_) => script("functions call each other too deeply".into())
                .hint("a recursion needs an end; a function of the script's own also answers to x.name()"),
            EvalAltResult::ErrorDataRace(..) => {
                script("a closure uses the variable whose method is just being called".into())
                    .hint("give the value in between a name: let keys = map.keys(); keys.map(|key| map[key])")
            }
            EvalAltResult::ErrorTooManyVariables(_) => script("too many variables".into()),
            EvalAltResult::ErrorUnboundThis(_) => script("`this` means something only inside a method call".into()),
            EvalAltResult::ErrorModuleNotFound(name, _) => script(format!("there is no module \"{name}\"")),
            EvalAltResult::ErrorParsing(parse, _) => self.parse(&parse),
            EvalAltResult::ErrorSystem(text, inner) => Error::new(Kind::Bug, format!("{text}: {inner}")),
            other => script(sentence(&other)),
        };
        (told, position)
    }

    fn stopped(&self, value: Dynamic) -> Error {
        match value.try_cast::<Stop>() {
            Some(Stop::Exit(code)) => Error::new(Kind::Exit(code), format!("exit({code})")),
            Some(Stop::Error(error)) => *error,
            _ => Error::new(Kind::Interrupted, format!("cancelled by Ctrl-C at {}", self.clock)),
        }
    }

    /// An unknown function, or one that does not take these arguments: `gpu (Node)`.
    fn function(&self, signature: &str, position: Position) -> Error {
        let (name, rest) = signature.split_once(" (").unwrap_or((signature, ")"));
        let name = name.rsplit("::").next().unwrap_or(name).trim();
        let types: Vec<&str> =
            rest.trim_end_matches(')').split(", ").filter(|one| !one.is_empty()).map(shorten).collect();
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return operator(name, &types);
        }
        if self.is_method(position) && !types.is_empty() {
            return self.method(types[0], name, &types[1..]);
        }
        let forms = self.book.signatures("", name);
        if !forms.is_empty() {
            return arguments(name, &forms, &types);
        }
        if let Some(receiver) = types.first().filter(|one| !self.book.signatures(one, name).is_empty()) {
            return Error::new(Kind::Script, format!("`{name}` is a method of {receiver}"))
                .hint(format!("write x.{name}({})", if types.len() > 1 { "…" } else { "" }));
        }
        self.no_function(name, &types)
    }

    fn no_function(&self, name: &str, types: &[&str]) -> Error {
        let mut known: Vec<&str> = self.book.functions();
        known.extend(self.names.iter().map(String::as_str));
        let standard = self.standard();
        if standard.iter().any(|one| one == name) {
            let given: Vec<String> = types.iter().map(|one| plain_type(one)).collect();
            return Error::new(Kind::Script, format!("`{name}` does not take {}", spoken(&given)));
        }
        let ours = synonym(name).map(|ours| format!("; the word here is `{ours}`"));
        let near = ours.unwrap_or_else(|| did_you_mean(name, known.iter().copied()).replace('"', "`"));
        let error = Error::new(Kind::Script, format!("there is no function `{name}`{near}"));
        let best = synonym(name).or_else(|| nearest(name, known).first().copied());
        match best.and_then(|best| self.book.signatures("", best).first().copied()) {
            Some(form) => error.hint(form),
            None => error.hint("explain(\"pods\") explains a function"),
        }
    }

    fn method(&self, receiver: &str, name: &str, rest: &[&str]) -> Error {
        let forms = self.book.signatures(receiver, name);
        if !forms.is_empty() {
            return arguments(name, &forms, rest);
        }
        if let Some(form) = self.book.signatures("", name).first() {
            let call = if rest.is_empty() { format!("{name}(x)") } else { format!("{name}(x, …)") };
            return Error::new(Kind::Script, format!("{receiver} has no method `{name}`; it is a function: {call}"))
                .hint(*form);
        }
        let methods = self.methods(receiver);
        let near = synonym(name)
            .filter(|ours| methods.iter().any(|known| known == ours))
            .map(|ours| format!("; the word here is `{ours}`"))
            .unwrap_or_else(|| did_you_mean(name, methods.iter().map(String::as_str)).replace('"', "`"));
        let error = Error::new(Kind::Script, format!("{} has no method `{name}`{near}", subject(receiver)));
        let best = nearest(name, methods.iter().map(String::as_str));
        match best.first().and_then(|best| self.book.signatures(receiver, best).first().copied()) {
            Some(form) => error.hint(form),
            None if methods.is_empty() => error,
            None => error.hint(format!("it has: {}", methods.join(", "))),
        }
    }

    /// Methods of a type: of the book, or of the language.
    fn methods(&self, receiver: &str) -> Vec<String> {
        let ours = self.book.methods(receiver);
        if !ours.is_empty() {
            return ours.into_iter().map(str::to_owned).collect();
        }
        let mut names = self.engine.collect_fn_metadata(
            None,
            |info| {
                let first = info.metadata.params_info.first()?;
                let known = first.contains(receiver) || (receiver == "map" && first.contains("Map"));
                let word =
                    info.metadata.name.starts_with(|c: char| c.is_alphabetic()) && !info.metadata.name.contains('$');
                (known && word).then(|| info.metadata.name.to_string())
            },
            true,
        );
        names.sort();
        names.dedup();
        names
    }

    /// Names of the functions of the language.
    fn standard(&self) -> Vec<String> {
        self.engine.collect_fn_metadata(None, |info| Some(info.metadata.name.to_string()), false)
    }

    fn property(&self, text: &str) -> Error {
        // "Unknown property 'x' - a getter is not registered for type 'Node'"
        let mut quoted = text.split('\'').skip(1).step_by(2);
        let (Some(name), Some(receiver)) = (quoted.next(), quoted.next()) else {
            return Error::new(Kind::Script, text.to_owned());
        };
        let receiver = shorten(receiver);
        if receiver == "Fn" {
            return Error::new(Kind::Script, format!("a function has no property `{name}`"))
                .hint("a variable that a closure uses must not have the name of a function of the script");
        }
        let names = self.methods(receiver);
        if text.contains("setter") && names.iter().any(|known| known == name) {
            return Error::new(Kind::Script, format!("`{name}` of {} can be read, not set", plain_type(receiver)))
                .hint("objects are changed by verbs: label, taint, capacity, patch, scale");
        }
        let near = synonym(name)
            .filter(|ours| names.iter().any(|known| known == ours))
            .map(|ours| format!("; the word here is `{ours}`"))
            .unwrap_or_else(|| did_you_mean(name, names.iter().map(String::as_str)).replace('"', "`"));
        let error = Error::new(Kind::Script, format!("{} has no property `{name}`{near}", subject(receiver)));
        if names.is_empty() || !near.is_empty() { error } else { error.hint(format!("it has: {}", names.join(", "))) }
    }

    fn variable(&self, name: &str) -> Error {
        if !self.book.signatures("", name).is_empty() {
            return Error::new(Kind::Script, format!("`{name}` is a function: write {name}()"));
        }
        let defined = ["let", "const"].iter().any(|word| {
            self.source.match_indices(&format!("{word} {name}")).any(|(at, found)| {
                !self.source[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        });
        if defined || self.names.iter().any(|known| known == name) {
            return Error::new(Kind::Script, format!("`{name}` cannot be seen here"))
                .hint(format!(
                    "functions do not see outer variables: pass {name} as a parameter, or use a closure |x| …"
                ))
                .hint("a variable can be used after its definition, inside its block");
        }
        let functions = self.book.functions();
        let known = self.names.iter().map(String::as_str).chain(functions.iter().copied());
        let near = did_you_mean(name, known).replace('"', "`");
        Error::new(Kind::Script, format!("there is no variable `{name}`{near}"))
            .hint(format!("a text is written in quotes: \"{name}\""))
    }

    fn parse(&self, parse: &ParseErrorType) -> Error {
        let usage = |message: String| Error::new(Kind::Usage, message);
        match parse {
            ParseErrorType::VariableUndefined(name) => Error { kind: Kind::Usage, ..self.variable(name) },
            ParseErrorType::ModuleUndefined(name) => {
                usage(format!("there is no module `{name}`")).hint(format!("import \"{name}\" as {name}; brings it"))
            }
            ParseErrorType::Reserved(word) => usage(format!("`{word}` is a reserved word of the language"))
                .hint(format!("as a key or a text write it in quotes: \"{word}\", m[\"{word}\"]")),
            ParseErrorType::UnexpectedEOF => usage("the script ends in the middle of something".into())
                .hint("a bracket, a brace or a string is not closed"),
            ParseErrorType::MissingToken(token, why) => usage(format!("`{token}` is missing {why}")),
            ParseErrorType::ExprTooDeep => {
                usage("the expression is nested too deeply".into()).hint("split it: give parts of it names with let")
            }
            ParseErrorType::LoopBreak => usage("`break` and `continue` belong inside a loop".into()),
            ParseErrorType::AssignmentToConstant(name) => {
                usage(format!("`{name}` is a constant and cannot be changed"))
            }
            ParseErrorType::BadInput(lexical) => {
                let text = lexical.to_string();
                let error = usage(lower(&text));
                if text.contains("not terminated") {
                    error.hint("a text over several lines is written in back-ticks: `…`")
                } else {
                    error
                }
            }
            other => usage(lower(&other.to_string())),
        }
    }

    /// Whether the word at a position follows a dot.
    fn is_method(&self, position: Position) -> bool {
        let (Some(line), Some(column)) = (position.line(), position.position()) else { return false };
        let before: String =
            self.source.lines().nth(line - 1).unwrap_or("").chars().take(column.saturating_sub(1)).collect();
        before.trim_end().ends_with('.')
    }
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// Type names as the engine gives them, without paths and alternatives.
fn shorten(name: &str) -> &str {
    let name = name.split(" | ").next().unwrap_or(name);
    let name = name.rsplit("::").next().unwrap_or(name);
    match name {
        "&str" | "ImmutableString" | "String" => "string",
        "NodeHandle" => "Node",
        "PodHandle" => "Pod",
        "DeploymentHandle" => "Deployment",
        "ObjectHandle" => "Object",
        "Listing" => "List",
        other => other,
    }
}

fn subject(receiver: &str) -> String {
    match receiver {
        "Node" | "Pod" | "Deployment" | "Object" | "List" | "Rows" | "Applied" | "Moment" | "Error" => {
            receiver.to_owned()
        }
        other => lower(&plain_type(other)),
    }
}

fn spoken(words: &[String]) -> String {
    match words {
        [] => "no argument".into(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// A known function with other arguments than it takes.
fn arguments(name: &str, forms: &[&str], types: &[&str]) -> Error {
    let given: Vec<String> = types.iter().map(|one| plain_type(one)).collect();
    let mut error = Error::new(Kind::Script, format!("`{name}` does not take {}", spoken(&given)));
    for form in forms {
        error = error.hint(*form);
    }
    error
}

fn operator(sign: &str, types: &[&str]) -> Error {
    let given: Vec<String> = types.iter().map(|one| plain_type(one)).collect();
    let error = Error::new(Kind::Script, format!("`{sign}` does not work with {}", spoken(&given)));
    match sign {
        "+" if types.contains(&"string") => error.hint("texts are joined with + or written as `a ${x} b`"),
        "==" | "!=" => error.hint("compare properties, such as a.name == b.name"),
        _ => error,
    }
}

fn mismatch(wanted: &str, got: &str) -> Error {
    if wanted.is_empty() {
        return Error::new(Kind::Script, format!("{} does not fit here", plain_type(shorten(got))));
    }
    Error::new(
        Kind::Script,
        format!("{} is needed here; got {}", plain_type(shorten(wanted)), plain_type(shorten(got))),
    )
}

/// `Node [string]` as words.
fn indexed(text: &str) -> String {
    let (receiver, index) = text.split_once(" [").unwrap_or((text, ""));
    format!("{} by {}", plain_type(shorten(receiver.trim())), plain_type(shorten(index.trim_end_matches(']').trim())))
}

fn thrown(value: &Dynamic) -> Error {
    if let Some(fault) = value.read_lock::<Fault>() {
        return Error { kind: fault.kind, message: fault.message.clone(), place: None, hints: fault.hints.clone() };
    }
    let message = if value.is_string() {
        value.to_string()
    } else if value.is_unit() {
        "the script threw an error".into()
    } else if value.is_map() || value.is_array() {
        super::convert::to_json(value).to_string()
    } else {
        format!("{} ({})", value, kind_of(value))
    };
    Error::new(Kind::Script, super::show::clean(&message))
}

/// Length of the word, string or sign at a column (from 1).
fn word_length(line: &str, column: usize) -> usize {
    let rest: Vec<char> = line.chars().skip(column.saturating_sub(1)).collect();
    let word = |c: &char| c.is_alphanumeric() || *c == '_';
    match rest.first() {
        Some(first) if word(first) => rest.iter().take_while(|c| word(c)).count(),
        Some(quote @ ('"' | '`' | '\'')) => {
            rest.iter().skip(1).position(|c| c == quote).map_or(rest.len(), |end| end + 2)
        }
        _ => 1,
    }
}
