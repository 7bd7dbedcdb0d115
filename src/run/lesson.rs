//! A script and its header.
//!
//! A lesson begins with a header of `//!` lines: the title, then one entry per key. A value may continue on the next lines
//! when those are indented by two more spaces; empty `//!` lines may stand between entries.
//!
//! ```text
//! //! # Capacity exhaustion
//! //!
//! //! question: Why can four devices not satisfy five requests?
//! //! minutes: 5
//! //! before: What a Pod and a Node are.
//! //! needs: devices
//! //! plugin: none
//! //! backends: embedded, kube
//! //! story: Four MRI machines stand in the hospital, and five patients have a referral.
//! //!   The assignment desk books four of them; the fifth stays in the waiting room.
//! //! simulated: The devices are numbers in the node's status; no GPU computes anything.
//! ```
//!
//! | key | value |
//! |---|---|
//! | `question` | the one question that the lesson answers; ends with `?` |
//! | `minutes` | how long it takes, a whole number from 1 to 60 |
//! | `before` | what to know before: prose, or the names of earlier lessons |
//! | `needs` | comma-separated words: `devices` (the default world's node), `fleet` (a world that `lab(#{…})` builds), `kueue` |
//! | `plugin` | `none` when the default node must start without its device plugin; left out otherwise |
//! | `backends` | comma-separated: `embedded`, `kube` |
//! | `story` | the same thing told in the hospital |
//! | `simulated` | where simulation ends: what the lesson does not show |
//!
//! All keys except `plugin` are required. A script that has neither a title nor any of these keys is a plain script: it
//! runs, but it is not a lesson.

use crate::error::{Error, Kind, Place};

/// A lesson that is part of the binary.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// `01-capacity-exhaustion`.
    pub name: &'static str,
    /// The text of the script.
    pub source: &'static str,
}

/// Every built-in lesson, in the order of their numbers.
pub const BUILTIN: &[Builtin] = include!(concat!(env!("OUT_DIR"), "/lessons.rs"));

impl Builtin {
    /// `01` of `01-capacity-exhaustion`.
    pub fn number(&self) -> &'static str {
        self.name.split('-').next().unwrap_or(self.name)
    }
}

/// What a lesson says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The title.
    pub title: String,
    /// The one question that it answers.
    pub question: String,
    /// How long it takes.
    pub minutes: u32,
    /// What to know before.
    pub before: String,
    /// `devices`, `fleet`, `kueue`.
    pub needs: Vec<String>,
    /// Whether the default node has its device plugin.
    pub plugin: bool,
    /// `embedded`, `kube`.
    pub backends: Vec<String>,
    /// The hospital telling.
    pub story: String,
    /// What it does not show.
    pub simulated: String,
}

/// A script, ready to run.
#[derive(Clone, Debug)]
pub struct Script {
    /// As given: a path, the name of a built-in lesson, `<stdin>`.
    pub name: String,
    /// Its text; a `#!` line is blanked, so that line numbers stay.
    pub source: String,
    /// Its header; `None` for a plain script.
    pub header: Option<Header>,
}

impl Script {
    /// Reads the header of a script.
    ///
    /// # Errors
    /// When the header is malformed, with its place.
    pub fn parse(name: &str, text: &str) -> Result<Script, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let source = text.strip_prefix("#!").map_or_else(|| text.to_owned(), |rest| format!("// {rest}"));
        let header = parse_header(name, &source)?;
        Ok(Script { name: name.to_owned(), source, header })
    }
}

const KEYS: [&str; 8] = ["question", "minutes", "before", "needs", "plugin", "backends", "story", "simulated"];
const NEEDS: [&str; 3] = ["devices", "fleet", "kueue"];
const BACKENDS: [&str; 2] = ["embedded", "kube"];

/// A header line: where it stands, its key, its value with continuations.
struct Entry {
    line: usize,
    key: String,
    value: String,
}

fn parse_header(script: &str, source: &str) -> Result<Option<Header>, Error> {
    let (title, entries) = read_entries(source);
    let known = entries.iter().any(|entry| KEYS.contains(&entry.key.as_str()));
    if title.is_none() && !known {
        return Ok(None);
    }
    let fail = |line: usize, message: String| malformed(script, source, line, message);
    let Some(title) = title else {
        return Err(fail(1, "the lesson's header has no title".into()).hint("begin with a line `//! # The title`"));
    };
    for (place, entry) in entries.iter().enumerate() {
        if !KEYS.contains(&entry.key.as_str()) {
            let error = fail(entry.line, format!("a lesson's header has no key `{}`", entry.key));
            return Err(match crate::error::nearest(&entry.key, KEYS) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("the keys are {}", KEYS.join(", "))),
            });
        }
        if entries[..place].iter().any(|earlier| earlier.key == entry.key) {
            return Err(fail(entry.line, format!("the header says `{}` twice", entry.key)));
        }
    }
    let get = |key: &str| match entries.iter().find(|entry| entry.key == key) {
        Some(entry) if entry.value.is_empty() => Err(fail(entry.line, format!("`{key}:` has no value"))),
        Some(entry) => Ok(entry),
        None => Err(fail(1, format!("the lesson's header has no `{key}`")).hint(format!("add a line `//! {key}: …`"))),
    };
    let words = |key: &str, allowed: &[&str]| {
        let entry = get(key)?;
        let words: Vec<String> = entry.value.split(',').map(|word| word.trim().to_owned()).collect();
        match words.iter().find(|word| !allowed.contains(&word.as_str())) {
            Some(word) => Err(fail(entry.line, format!("`{key}` cannot be `{word}`"))
                .hint(format!("it may hold {}", allowed.join(", ")))),
            None => Ok(words),
        }
    };
    let minutes = get("minutes")?;
    let Some(minutes) = minutes.value.parse().ok().filter(|minutes| (1..=60).contains(minutes)) else {
        return Err(fail(minutes.line, format!("`minutes` is a whole number from 1 to 60, not `{}`", minutes.value)));
    };
    let plugin = match entries.iter().find(|entry| entry.key == "plugin") {
        None => true,
        Some(entry) if entry.value == "none" => false,
        Some(entry) => {
            let error = fail(entry.line, format!("`plugin` cannot be `{}`", entry.value));
            return Err(error.hint("write `plugin: none`, or leave the line out"));
        }
    };
    Ok(Some(Header {
        title,
        question: get("question")?.value.clone(),
        minutes,
        before: get("before")?.value.clone(),
        needs: words("needs", &NEEDS)?,
        plugin,
        backends: words("backends", &BACKENDS)?,
        story: get("story")?.value.clone(),
        simulated: get("simulated")?.value.clone(),
    }))
}

/// The title and the entries of the leading `//!` lines; other leading comments and empty lines are passed over.
fn read_entries(source: &str) -> (Option<String>, Vec<Entry>) {
    let mut title = None;
    let mut entries: Vec<Entry> = Vec::new();
    let mut open = false;
    for (number, line) in source.lines().enumerate() {
        let line = line.trim_end();
        let Some(text) = line.strip_prefix("//!") else {
            if line.is_empty() || line.starts_with("//") {
                continue;
            }
            break;
        };
        let text = text.strip_prefix(' ').unwrap_or(text);
        if let Some(rest) = text.strip_prefix("# ") {
            title.get_or_insert_with(|| rest.trim().to_owned());
            open = false;
        } else if text.is_empty() {
            open = false;
        } else if text.starts_with("  ") {
            if let (true, Some(entry)) = (open, entries.last_mut()) {
                entry.value.push(' ');
                entry.value.push_str(text.trim());
            }
        } else if let Some((key, value)) = text.split_once(':').filter(|(key, _)| is_key(key)) {
            entries.push(Entry { line: number + 1, key: key.to_owned(), value: value.trim().to_owned() });
            open = true;
        }
    }
    (title, entries)
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c == '-')
}

fn malformed(script: &str, source: &str, line: usize, message: String) -> Error {
    let text = source.lines().nth(line - 1).unwrap_or_default().to_owned();
    let length = text.chars().count().max(1);
    let place = Place { script: script.to_owned(), line, column: 1, source: text, length };
    Error { place: Some(Box::new(place)), ..Error::new(Kind::Usage, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LESSON: &str = "#!/usr/bin/env -S gpulab run
//! # Capacity exhaustion
//!
//! question: Why can four devices not satisfy five requests?
//! minutes: 5
//! before: What a Pod is.
//! needs: devices
//! plugin: none
//! backends: embedded, kube
//! story: Four machines,
//!   five patients.
//! simulated: No GPU: only numbers.

print(1);
";

    fn error_of(from: &str, to: &str) -> Error {
        assert!(LESSON.contains(from));
        match Script::parse("x.rhai", &LESSON.replace(from, to)) {
            Err(error) => error,
            Ok(script) => panic!("accepted {:?}", script.header),
        }
    }

    #[test]
    fn a_header_is_read() {
        let script = Script::parse("x.rhai", LESSON).unwrap();
        let header = script.header.unwrap();
        assert_eq!(header.title, "Capacity exhaustion");
        assert_eq!((header.minutes, header.plugin), (5, false));
        assert_eq!(header.story, "Four machines, five patients.");
        assert_eq!(header.simulated, "No GPU: only numbers.");
        assert_eq!(header.backends, ["embedded", "kube"]);
        assert!(script.source.starts_with("// /usr/bin"));
        assert_eq!(script.source.lines().count(), LESSON.lines().count());
    }

    #[test]
    fn a_plain_script_has_no_header() {
        assert!(Script::parse("x", "//! Notes: of mine\nprint(1)").unwrap().header.is_none());
        assert!(Script::parse("x", "print(1)\n//! # Not at the top").unwrap().header.is_none());
    }

    #[test]
    fn faults_name_their_line() {
        let error = error_of("minutes: 5", "minutes: soon");
        assert_eq!(error.kind, Kind::Usage);
        assert_eq!(error.place.as_ref().map(|place| place.line), Some(5));
        assert_eq!(error_of("story:", "storry:").hints, ["did you mean `story`?"]);
        assert!(error_of("//! minutes: 5\n", "").message.contains("no `minutes`"));
        assert!(error_of("# Capacity", "Capacity").message.contains("no title"));
        assert!(error_of("before: What a Pod is.", "minutes: 7").message.contains("twice"));
        assert!(error_of("needs: devices", "needs: luck").message.contains("`luck`"));
        assert!(error_of("needs: devices", "needs:").message.contains("no value"));
        assert!(error_of("plugin: none", "plugin: some").message.contains("`some`"));
    }

    #[test]
    fn names_and_headers_of_the_built_in_lessons() {
        for lesson in BUILTIN {
            let script = Script::parse(lesson.name, lesson.source);
            assert!(matches!(script, Ok(Script { header: Some(_), .. })), "{}: {script:?}", lesson.name);
            assert!(lesson.number().len() == 2 && lesson.number().parse::<u8>().is_ok(), "{}", lesson.name);
        }
    }
}
