//! An error as text: what, where with the line and a caret, and the way out.

use unicode_width::UnicodeWidthChar;

use crate::error::{Error, Kind, Place};
use crate::render::style::{advice, alarm, bold, dim, harmless};

/// Source lines longer than this are cut around the place.
const LONGEST: usize = 120;
/// Columns kept before the place when a line is cut.
const BEFORE: usize = 60;

/// The error's text with a final line end; empty for `exit(n)`.
pub fn error_text(error: &Error) -> String {
    let head = match error.kind {
        Kind::Exit(_) => return String::new(),
        Kind::Interrupted => "interrupted",
        Kind::Bug => "bug",
        _ => "error",
    };
    let mut text = format!("{}{} {}\n", alarm(head), bold(":"), harmless(&error.message));
    if let Some(place) = &error.place {
        text.push_str(&place_text(place));
    }
    for hint in &error.hints {
        text.push_str(&format!("{}{} {}\n", advice("help"), bold(":"), harmless(hint)));
    }
    text
}

fn place_text(place: &Place) -> String {
    let gutter = " ".repeat(place.line.to_string().len());
    let column = if place.column == 0 { String::new() } else { format!(":{}", place.column) };
    let mut text = format!("{gutter}{} {}:{}{column}\n", dim("-->"), harmless(&place.script), place.line);
    if place.source.is_empty() {
        return text;
    }
    let bar = dim("|");
    let (line, start, width) = window(place);
    text.push_str(&format!("{gutter} {bar}\n{} {bar} {line}\n", dim(&place.line.to_string())));
    if place.column > 0 {
        text.push_str(&format!("{gutter} {bar} {}{}\n", " ".repeat(start), alarm(&"^".repeat(width))));
    }
    text
}

/// The line as it is shown, and the columns of the underlined part.
fn window(place: &Place) -> (String, usize, usize) {
    let chars: Vec<char> = harmless(&place.source).chars().collect();
    let at = place.column.saturating_sub(1).min(chars.len());
    let (from, to) = if chars.len() <= LONGEST {
        (0, chars.len())
    } else {
        let from = at.saturating_sub(BEFORE).min(chars.len() - LONGEST);
        (from, from + LONGEST)
    };
    let show = |chars: &[char]| chars.iter().collect::<String>().replace('\t', "    ");
    let columns = |chars: &[char]| chars.iter().map(|&c| if c == '\t' { 4 } else { c.width().unwrap_or(0) }).sum();
    let cut = |is: bool| if is { "..." } else { "" };
    let line = format!("{}{}{}", cut(from > 0), show(&chars[from..to]), cut(to < chars.len()));
    let start: usize = columns(&chars[from..at]);
    let end = (at + place.length.max(1)).min(to);
    let width: usize = columns(&chars[at.min(end)..end]);
    (line, start + cut(from > 0).len(), width.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(error: &Error) -> String {
        anstream::adapter::strip_str(&error_text(error)).to_string()
    }

    fn at(source: &str, column: usize, length: usize) -> Error {
        let place = Place { script: "x.rhai".into(), line: 12, column, source: source.into(), length };
        Error { place: Some(Box::new(place)), ..Error::new(Kind::Script, "no function `nodez`") }
    }

    #[test]
    fn the_caret_stands_under_the_word() {
        let error = at("let a = nodez();", 9, 5).hint("did you mean `nodes`?");
        let want = "error: no function `nodez`\n  --> x.rhai:12:9\n   |\n12 | let a = nodez();\n   |         ^^^^^\nhelp: did you mean `nodes`?\n";
        assert_eq!(plain(&error), want);
    }

    #[test]
    fn tabs_and_wide_characters_keep_the_caret_in_place() {
        assert!(plain(&at("\tx = \"木\" + y", 12, 1)).ends_with("12 |     x = \"木\" + y\n   |                ^\n"));
    }

    #[test]
    fn a_column_beyond_the_line_and_no_column() {
        assert!(plain(&at("ab", 9, 3)).ends_with("12 | ab\n   |   ^\n"));
        assert!(plain(&at("ab", 0, 1)).ends_with("  --> x.rhai:12\n   |\n12 | ab\n"));
        assert!(plain(&at("", 1, 1)).ends_with("  --> x.rhai:12:1\n"));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = plain(&at(&format!("{}HERE{}", "a".repeat(300), "b".repeat(300)), 301, 4));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[3].find("HERE"), lines[4].find("^^^^"));
        assert!(lines[3].starts_with("12 | ...a") && lines[3].ends_with("b..."));
    }

    #[test]
    fn an_exit_says_nothing() {
        assert_eq!(plain(&Error::new(Kind::Exit(3), "exit")), "");
    }
}
