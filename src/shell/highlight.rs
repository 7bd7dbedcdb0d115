//! Colours for a line of script while it is typed.

use owo_colors::OwoColorize;

const KEYWORDS: &[&str] = &[
    "let", "const", "if", "else", "switch", "while", "loop", "do", "until", "for", "in", "break", "continue", "return",
    "throw", "try", "catch", "fn", "private", "import", "export", "as", "this", "true", "false", "global",
];

/// The line with colours; its characters stay the same.
pub fn highlight(line: &str) -> String {
    let mut out = String::with_capacity(line.len() * 2);
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let length = token(rest, first);
        let (text, tail) = rest.split_at(length);
        let styled = match first {
            '/' if length > 1 => text.dimmed().to_string(),
            '"' | '`' | '\'' => text.green().to_string(),
            '0'..='9' => text.cyan().to_string(),
            _ if KEYWORDS.contains(&text) => text.magenta().to_string(),
            _ => text.to_owned(),
        };
        out.push_str(&styled);
        rest = tail;
    }
    out
}

/// Length in bytes of the token at the start of `text`.
fn token(text: &str, first: char) -> usize {
    let until = |stop: &dyn Fn(char) -> bool| text.find(stop).unwrap_or(text.len());
    match first {
        '/' if text.starts_with("//") => until(&|c| c == '\n'),
        '/' if text.starts_with("/*") => text.find("*/").map_or(text.len(), |end| end + 2),
        '"' | '`' | '\'' => quoted(text, first),
        '0'..='9' => until(&|c: char| !(c.is_ascii_alphanumeric() || c == '_')),
        c if c.is_alphabetic() || c == '_' => until(&|c: char| !(c.is_alphanumeric() || c == '_')),
        c => c.len_utf8(),
    }
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' && quote != '`' {
            escaped = true;
        } else if c == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_are_added() {
        for line in ["let a = \"x\\\"y\" + 12; // ñ", "`open", "/* c */ 木 'c' a.b", "", "fn f(x) { x/2 }"] {
            assert_eq!(anstream::adapter::strip_str(&highlight(line)).to_string(), line);
        }
    }

    #[test]
    fn keywords_strings_and_numbers_differ() {
        let line = highlight("let letter = \"12\" 12");
        for styled in ["let".magenta().to_string(), "\"12\"".green().to_string(), "12".cyan().to_string()] {
            assert!(line.contains(&styled), "{line:?}");
        }
        assert!(line.contains(" letter "));
    }
}
