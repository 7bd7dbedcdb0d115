//! Who answers the predictions of a script.

use std::collections::VecDeque;

use crate::error::{Error, Kind};
use crate::run::source::plain;

/// Somebody at a terminal.
pub trait Ask {
    /// Asks for one line; `None` at the end of input.
    ///
    /// # Errors
    /// `Interrupted` after Ctrl-C.
    fn ask(&mut self, prompt: &str) -> Result<Option<String>, Error>;
}

/// Where answers come from.
pub enum Answers {
    /// Nobody.
    Skip,
    /// A file, one answer a line.
    Listed(VecDeque<String>),
    /// Somebody at a terminal.
    Asked(Box<dyn Ask>),
}

impl Answers {
    /// Reads a file of answers: one a line, by number or text; empty lines and lines that begin with `#` do not count.
    ///
    /// # Errors
    /// `Usage` when it cannot be read.
    pub fn from_file(path: &str) -> Result<Answers, Error> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::new(Kind::Usage, format!("cannot read the answers in `{path}`: {}", plain(&error)))
        })?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(Answers::Listed(lines.map(str::to_owned).collect()))
    }
}

/// The choice that an answer means: its number from 1, its text, or the only text that begins so.
pub fn choice<'a>(answer: &str, choices: &'a [String]) -> Option<&'a String> {
    let answer = answer.trim();
    let lower = answer.to_lowercase();
    let exact = choices.iter().find(|choice| choice.to_lowercase() == lower);
    let number = || answer.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    let prefix = || {
        let mut fits = choices.iter().filter(|choice| !lower.is_empty() && choice.to_lowercase().starts_with(&lower));
        let first = fits.next();
        first.filter(|_| fits.next().is_none())
    };
    exact.or_else(number).or_else(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_numbers_or_texts() {
        let choices = ["It runs".to_owned(), "It waits".to_owned(), "4".to_owned()];
        let chosen = |answer| choice(answer, &choices).map(String::as_str);
        assert_eq!(chosen(" 1 "), Some("It runs"));
        assert_eq!(chosen("it WAITS"), Some("It waits"));
        assert_eq!(chosen("it w"), Some("It waits"));
        assert_eq!(chosen("4"), Some("4"), "a text wins over a number");
        for nothing in ["it", "0", "5", "", "x"] {
            assert_eq!(chosen(nothing), None, "{nothing}");
        }
    }
}
