//! `:commands`, which begin where no script can.

use crate::error::{Error, Kind, nearest_two};
use crate::render::style::wrap;
use crate::run::lesson::BUILTIN;
use crate::script::docs::Doc;

/// What a `:command` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Says what can be typed.
    Help,
    /// Lists the functions.
    Functions,
    /// Lists what was typed.
    History,
    /// Runs a script or a lesson in this lab.
    Load(String),
    /// Begins again with a new lab.
    Reset,
    /// Leaves.
    Quit,
}

const NAMES: [(&str, &str); 6] = [
    ("help", "what can be typed here"),
    ("functions", "the functions of the script language"),
    ("history", "what was typed before"),
    ("load", "FILE or NUMBER: runs a script or a lesson in this lab"),
    ("reset", "begins again with a new lab"),
    ("quit", "leaves, as Ctrl-D does"),
];

/// Reads a line behind its colon.
///
/// # Errors
/// `Usage` for an unknown or ambiguous command, or a missing argument.
pub fn parse(line: &str) -> Result<Command, Error> {
    let (word, argument) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    let argument = argument.trim();
    let fits: Vec<&str> = NAMES.iter().map(|(name, _)| *name).filter(|name| name.starts_with(word)).collect();
    let name = match fits[..] {
        _ if word.is_empty() => "help",
        [name] => name,
        [] => return Err(unknown(word)),
        _ => {
            let all = fits.iter().map(|name| format!(":{name}")).collect::<Vec<_>>().join(" and ");
            return Err(Error::new(Kind::Usage, format!("`:{word}` may mean {all}")));
        }
    };
    match name {
        "load" if argument.is_empty() => Err(Error::new(Kind::Usage, "`:load` needs a file or a lesson's number")),
        "load" => Ok(Command::Load(argument.to_owned())),
        _ if !argument.is_empty() => Err(Error::new(Kind::Usage, format!("`:{name}` takes no argument"))),
        "functions" => Ok(Command::Functions),
        "history" => Ok(Command::History),
        "reset" => Ok(Command::Reset),
        "quit" => Ok(Command::Quit),
        _ => Ok(Command::Help),
    }
}

fn unknown(word: &str) -> Error {
    let mut error = Error::new(Kind::Usage, format!("there is no command `:{word}`"));
    for near in nearest_two(word, NAMES.iter().map(|(name, _)| *name)) {
        error = error.hint(format!("did you mean `:{near}`?"));
    }
    error.hint("`:help` lists the commands")
}

/// What can stand at the end of `line`, for completion, and the byte where it begins: a command, or a lesson to load.
pub fn complete(line: &str) -> (usize, Vec<String>) {
    let begin_with = |start: usize, words: &mut dyn Iterator<Item = String>| {
        (start, words.filter(|word| word.starts_with(&line[start..])).collect())
    };
    let command = line.trim_start_matches(':').split(' ').next().unwrap_or_default();
    match line.rfind(' ') {
        Some(space) if !command.is_empty() && "load".starts_with(command) => {
            begin_with(space + 1, &mut BUILTIN.iter().map(|lesson| lesson.name.to_owned()))
        }
        Some(_) => (line.len(), Vec::new()),
        None => begin_with(0, &mut NAMES.iter().map(|(name, _)| format!(":{name}"))),
    }
}

/// The text of `:help`.
pub fn help() -> String {
    let mut text = String::from(
        "A line is a statement of the script language; a result is shown, unless the line ends with `;`.\n\
         `it` is the last result. `name?` explains a function, `?` lists all. Tab completes.\n\
         Ctrl-C stops a statement and keeps the lab; Ctrl-D leaves.\n\n",
    );
    for (name, what) in NAMES {
        text.push_str(&format!("  :{name:<11}{what}\n"));
    }
    text.push_str("\nBegin with `nodes()`, `pods()`, `submit(#{name: \"a\", gpus: 1})`, `events()`.\n");
    text
}

/// The text of `:functions`: each function with the beginning of what it does, on one line of at most `width` columns.
pub fn functions(docs: &[Doc], width: usize) -> String {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for doc in docs.iter().filter(|doc| doc.receiver().is_empty()) {
        match names.iter_mut().find(|(name, _)| *name == doc.name()) {
            Some((_, summary)) if summary.is_empty() => *summary = doc.summary(),
            Some(_) => {}
            None => names.push((doc.name(), doc.summary())),
        }
    }
    names.sort_unstable();
    let widest = names.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for (name, summary) in names {
        let first = summary.split([':', ';']).next().unwrap_or_default();
        let room = width.saturating_sub(widest + 2).max(20);
        text.push_str(&format!("{name:<widest$}  {}\n", wrap(first, room).lines().next().unwrap_or_default()));
    }
    text.push_str("\n`name?` says more about one of them.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unique_prefixes_are_enough() {
        assert_eq!(parse("q"), Ok(Command::Quit));
        assert_eq!(parse("he"), Ok(Command::Help));
        assert_eq!(parse(""), Ok(Command::Help));
        assert_eq!(parse("l  01 "), Ok(Command::Load("01".into())));
        assert_eq!(parse("h").unwrap_err().message, "`:h` may mean :help and :history");
        assert!(parse("quit now").is_err());
        assert!(parse("load").is_err());
        assert_eq!(parse("quti").unwrap_err().hints[0], "did you mean `:quit`?");
    }

    #[test]
    fn functions_are_listed_once_with_their_summary() {
        let doc = |signature, text| Doc { signature, text };
        let docs = [
            doc("pods(labels: string) -> Pods", ""),
            doc("pods() -> Pods", "Lists the pods.\nSee: nodes"),
            doc("Pod.phase -> string", "The phase."),
            doc("at() -> int", "A very long sentence that does not fit: indeed."),
        ];
        let text = functions(&docs, 30);
        assert!(text.starts_with("at    A very long sentence\npods  Lists the pods.\n\n"), "{text}");
    }

    #[test]
    fn every_command_parses_and_is_in_the_help() {
        for (name, _) in NAMES {
            assert!(parse(&format!("{name} x")).is_ok() || parse(name).is_ok());
            assert!(help().contains(&format!(":{name}")));
        }
        assert_eq!(complete(":h"), (0, vec![":help".to_owned(), ":history".to_owned()]));
        assert_eq!(complete(":load 01"), (6, vec!["01-capacity-exhaustion".to_owned()]));
    }
}
