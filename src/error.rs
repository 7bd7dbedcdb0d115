//! The one error of the shell: what kind it is (which decides the exit code), where, why, and the way out.

/// What went wrong, by who can do something about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A script threw, or a cluster refused what it asked.
    Script,
    /// A finding did not hold.
    Finding,
    /// Wrong arguments, a script that does not parse, a missing file.
    Usage,
    /// A wait timed out or could not come true.
    Wait,
    /// The backend cannot be reached or forbids the access.
    Backend,
    /// A script that is not trusted was refused.
    Untrusted,
    /// A defect of gpulab.
    Bug,
    /// Ctrl-C.
    Interrupted,
    /// `exit(n)`.
    Exit(u8),
}

/// A place in a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the script, as given.
    pub script: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1; 0 if unknown.
    pub column: usize,
    /// The text of that line.
    pub source: String,
    /// Number of characters to underline, at least 1.
    pub length: usize,
}

/// An error as users meet it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Decides the exit code.
    pub kind: Kind,
    /// What happened and why, one or two sentences, no trailing newline.
    pub message: String,
    /// Where, if in a script.
    pub place: Option<Box<Place>>,
    /// What to do about it, each one line.
    pub hints: Vec<String>,
}

impl Error {
    /// An error without place and hints.
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), place: None, hints: Vec::new() }
    }

    /// The same with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hints.push(hint.into());
        self
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Script | Kind::Finding => 1,
            Kind::Usage => 2,
            Kind::Wait => 3,
            Kind::Backend => 4,
            Kind::Untrusted => 5,
            Kind::Bug => 70,
            Kind::Interrupted => 130,
            Kind::Exit(code) => code,
        }
    }
}

/// The candidate most like `word`, if one is close enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_two(word, candidates).into_iter().next()
}

/// At most two candidates that may have been meant, the best first.
pub fn nearest_two<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const CLOSE: f64 = 0.8;
    let lower = word.to_lowercase();
    let mut found: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= CLOSE)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found.dedup_by_key(|(_, candidate)| *candidate);
    found.into_iter().take(2).map(|(_, candidate)| candidate).collect()
}
