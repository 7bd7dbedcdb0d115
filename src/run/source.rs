//! From what was named on the command line to the text of a script.

use std::io::Read;
use std::path::Path;

use crate::error::{Error, Kind, Place, nearest_two};
use crate::run::lesson::{BUILTIN, Builtin, Script};

/// Reads the named script: `-`, an existing file, or a built-in lesson.
///
/// # Errors
/// `Usage` when there is no such script, it cannot be read, or its header is malformed.
pub fn load(named: &str) -> Result<Script, Error> {
    if named == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| Error::new(Kind::Usage, format!("cannot read the standard input: {error}")))?;
        return decode("<stdin>", bytes);
    }
    let path = Path::new(named);
    if path.is_dir() {
        let error = Error::new(Kind::Usage, format!("`{named}` is a directory, not a script"));
        return Err(match lesson(named) {
            Some(lesson) => error.hint(format!("the built-in lesson is `{}`", lesson.name)),
            None => error.hint("name one file in it"),
        });
    }
    match std::fs::read(path) {
        Ok(bytes) => decode(named, bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => match lesson(named) {
            Some(lesson) => Script::parse(lesson.name, lesson.source),
            None => Err(unknown(named)),
        },
        Err(error) => Err(Error::new(Kind::Usage, format!("cannot read `{named}`: {}", plain(&error)))),
    }
}

/// The built-in lesson of this number (`1`, `01`) or name.
pub fn lesson(named: &str) -> Option<&'static Builtin> {
    let number: Option<u32> = named.bytes().all(|b| b.is_ascii_digit()).then(|| named.parse().ok()).flatten();
    let name = named.strip_suffix(".rhai").unwrap_or(named);
    BUILTIN.iter().find(|lesson| lesson.name == name || number.is_some() && lesson.number().parse().ok() == number)
}

/// Names a lesson may have been meant by, for error messages.
pub fn near_lessons(named: &str) -> Vec<&'static str> {
    let stem = Path::new(named).file_stem().map_or(named.into(), |stem| stem.to_string_lossy());
    let bare = |lesson: &Builtin| lesson.name.split_once('-').map_or(lesson.name, |(_, rest)| rest).to_owned();
    let same = BUILTIN.iter().filter(|lesson| bare(lesson) == *stem || *lesson.name == *stem).map(|lesson| lesson.name);
    let same: Vec<&str> = same.collect();
    if same.is_empty() { nearest_two(&stem, BUILTIN.iter().map(|lesson| lesson.name)) } else { same }
}

fn unknown(named: &str) -> Error {
    let number = !named.is_empty() && named.bytes().all(|b| b.is_ascii_digit());
    let message = if number {
        format!("there is no lesson {named}")
    } else {
        format!("there is no file and no built-in lesson `{named}`")
    };
    let mut error = Error::new(Kind::Usage, message);
    for near in if number { Vec::new() } else { near_lessons(named) } {
        error = error.hint(format!("did you mean `{near}`?"));
    }
    error.hint("`gpulab list` shows the lessons")
}

fn decode(name: &str, bytes: Vec<u8>) -> Result<Script, Error> {
    match String::from_utf8(bytes) {
        Ok(text) => Script::parse(name, &text),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
            let line = before.matches('\n').count() + 1;
            let start = before.rsplit('\n').next().unwrap_or_default();
            let place = Place {
                script: name.to_owned(),
                line,
                column: start.chars().count() + 1,
                source: format!("{start}\u{fffd}"),
                length: 1,
            };
            let error = Error::new(Kind::Usage, format!("`{name}` is not a text in UTF-8"));
            Err(Error { place: Some(Box::new(place)), ..error })
        }
    }
}

/// The system's words without its error number.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_and_a_missing_file() {
        let here = env!("CARGO_MANIFEST_DIR");
        assert!(load(here).unwrap_err().message.ends_with("is a directory, not a script"));
        let error = load("no-such.rhai").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert_eq!(error.message, "there is no file and no built-in lesson `no-such.rhai`");
        assert_eq!(load("99999").unwrap_err().message, "there is no lesson 99999");
    }

    #[test]
    fn bytes_that_are_no_text_are_placed() {
        let error = decode("x", b"one\ntw\xff".to_vec()).unwrap_err();
        let place = error.place.unwrap();
        assert_eq!((place.line, place.column), (2, 3));
    }

    #[test]
    fn lessons_answer_to_number_and_name() {
        for built_in in BUILTIN {
            let number: u32 = built_in.number().parse().unwrap();
            for named in
                [number.to_string(), built_in.number().into(), built_in.name.into(), format!("{}.rhai", built_in.name)]
            {
                assert_eq!(lesson(&named).map(|found| found.name), Some(built_in.name), "{named}");
            }
        }
        assert!(lesson("").is_none());
    }
}
