//! Input at the prompt: whether it is complete, and how it could go on.

use std::borrow::Cow;

use rhai::{Engine, LexError, ParseErrorType, Scope};

/// The source with an empty line in place of a `#!` line.
pub fn without_shebang(source: &str) -> Cow<'_, str> {
    if !source.starts_with("#!") {
        return Cow::Borrowed(source);
    }
    Cow::Owned(source.find('\n').map_or_else(String::new, |end| source[end..].to_owned()))
}

/// Names that the text defines with `let`, `const`, `fn` or `for`.
pub fn definitions(source: &str) -> Vec<String> {
    let mut words = source.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let mut names = Vec::new();
    while let Some(word) = words.next() {
        if matches!(word, "let" | "const" | "fn" | "for") {
            names.extend(words.next().map(str::to_owned));
        }
    }
    names
}

/// Whether `source` is the beginning of something longer.
pub fn is_incomplete(engine: &Engine, scope: &Scope<'_>, source: &str) -> bool {
    if open_comment(source) || source.trim_end().ends_with('.') {
        return true;
    }
    let Err(error) = engine.compile_with_scope(scope, source) else { return false };
    let (at_end, behind_end) = match (error.position().line(), error.position().position()) {
        (Some(line), column) => {
            let lines: Vec<&str> = source.lines().collect();
            let rest_is_blank = lines.iter().skip(line).all(|rest| rest.trim().is_empty());
            let here = lines.get(line - 1).copied().unwrap_or("");
            let (column, length) = (column.unwrap_or(0), here.trim_end().chars().count());
            (rest_is_blank && column >= length, rest_is_blank && column > length)
        }
        (None, _) => (true, true),
    };
    match error.err_type() {
        ParseErrorType::UnexpectedEOF | ParseErrorType::WrongDocComment => true,
        // A last word that stands where a statement should have ended is an error, however short it is.
        ParseErrorType::MissingToken(token, _) if token == ";" => behind_end,
        ParseErrorType::MissingToken(..)
        | ParseErrorType::PropertyExpected
        | ParseErrorType::VariableExpected
        | ParseErrorType::ExprExpected(_)
        | ParseErrorType::MissingSymbol(_)
        | ParseErrorType::FnMissingBody(_)
        | ParseErrorType::FnMissingParams(_)
        | ParseErrorType::FnMissingName => at_end,
        // Only a back-tick string may run over lines.
        ParseErrorType::BadInput(LexError::UnterminatedString) => {
            open_backtick(source) || source.trim_end().ends_with('\\')
        }
        _ => false,
    }
}

/// What a scan over source text finds open at its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Code,
    Line,
    Block(usize),
    Text(char),
}

/// Walks over the text and tells what is open at its end.
fn scan(source: &str) -> Inside {
    let mut inside = Inside::Code;
    let mut letters = source.chars().peekable();
    while let Some(letter) = letters.next() {
        inside = match inside {
            Inside::Code => match (letter, letters.peek()) {
                ('/', Some('/')) => Inside::Line,
                ('/', Some('*')) => {
                    letters.next();
                    Inside::Block(1)
                }
                ('"' | '`' | '\'', _) => Inside::Text(letter),
                _ => Inside::Code,
            },
            Inside::Line if letter == '\n' => Inside::Code,
            Inside::Block(depth) => match (letter, letters.peek()) {
                ('*', Some('/')) => {
                    letters.next();
                    if depth == 1 { Inside::Code } else { Inside::Block(depth - 1) }
                }
                ('/', Some('*')) => {
                    letters.next();
                    Inside::Block(depth + 1)
                }
                _ => inside,
            },
            Inside::Text(quote) if letter == quote => Inside::Code,
            Inside::Text(quote) if letter == '\\' && quote != '`' => {
                letters.next();
                inside
            }
            Inside::Text('"' | '\'') if letter == '\n' => Inside::Code,
            _ => inside,
        };
    }
    inside
}

fn open_comment(source: &str) -> bool {
    matches!(scan(source), Inside::Block(_))
}

fn open_backtick(source: &str) -> bool {
    scan(source) == Inside::Text('`')
}

/// What stands before the cursor.
#[derive(Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// A name: function or variable.
    Name(&'a str),
    /// A method or property of what the text before the dot gives.
    Method(&'a str, &'a str),
    /// A string argument of a function: the function, how many arguments stand before, what is typed of the string.
    Argument(&'a str, usize, &'a str),
    /// A key of an option map of a function.
    Key(&'a str, &'a str),
    /// Nothing that can be completed.
    Nothing,
}

/// What could be completed at the end of `line`, and where it begins.
pub fn wanted(line: &str) -> (usize, Wanted<'_>) {
    match scan(line) {
        Inside::Text('"') => {
            let start = line.rfind('"').map_or(line.len(), |at| at + 1);
            return match call(&line[..start - 1]) {
                Some((function, count, _)) => (start, Wanted::Argument(function, count, &line[start..])),
                None => (line.len(), Wanted::Nothing),
            };
        }
        Inside::Code => {}
        _ => return (line.len(), Wanted::Nothing),
    }
    let start = line.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + next_length(line, at));
    let word = &line[start..];
    let before = line[..start].trim_end();
    if let Some(receiver) = before.strip_suffix('.') {
        return (start, Wanted::Method(receiver.trim_end(), word));
    }
    if let Some((function, _, true)) = call(before)
        && before.ends_with(['{', ','])
    {
        return (start, Wanted::Key(function, word));
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return (line.len(), Wanted::Nothing);
    }
    (start, Wanted::Name(word))
}

fn next_length(line: &str, at: usize) -> usize {
    line[at..].chars().next().map_or(1, char::len_utf8)
}

/// The function whose arguments are open at the end of `text`, how many stand before, and whether an option map of it
/// is open.
fn call(text: &str) -> Option<(&str, usize, bool)> {
    let mut commas = 0;
    let mut in_map = false;
    let mut closed = Vec::new();
    let bytes = text.as_bytes();
    for at in (0..bytes.len()).rev() {
        match bytes[at] {
            close @ (b')' | b']' | b'}') => closed.push(close),
            b'(' | b'[' | b'{' if closed.pop().is_some() => {}
            b'{' if at > 0 && bytes[at - 1] == b'#' => {
                in_map = true;
                commas = 0;
            }
            b'(' => {
                let head = &text[..at];
                let start =
                    head.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + next_length(head, at));
                return (start < head.len()).then(|| (&head[start..], commas, in_map));
            }
            b'{' | b';' if closed.is_empty() => return None,
            b',' if closed.is_empty() => commas += 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_input_asks_for_more() {
        let engine = Engine::new();
        let scope = Scope::new();
        for more in [
            "let x = ",
            "if true {",
            "foo(",
            "foo(1,",
            "[1, 2",
            "#{a: 1",
            "`abc",
            "/* open",
            "x.",
            "1 +",
            "let",
            "fn f() {",
            "fn f",
            "/// doc",
            "\"a\\",
            "while true {\n  1;",
        ] {
            assert!(is_incomplete(&engine, &scope, more), "{more}");
        }
        for done in ["1", "let x = 1;", "\"abc", "a b", "foo(1)", "// note", "}", "`a\nb`", "let x = 1 2", ")"] {
            assert!(!is_incomplete(&engine, &scope, done), "{done}");
        }
    }

    #[test]
    fn the_place_tells_what_to_complete() {
        assert_eq!(wanted("po"), (0, Wanted::Name("po")));
        assert_eq!(wanted("let x = po"), (8, Wanted::Name("po")));
        assert_eq!(wanted("node(\"kind\").gp"), (13, Wanted::Method("node(\"kind\")", "gp")));
        assert_eq!(wanted("node(\"ki"), (6, Wanted::Argument("node", 0, "ki")));
        assert_eq!(wanted("taint(node(\"a\"), \"te"), (18, Wanted::Argument("taint", 1, "te")));
        assert_eq!(wanted("submit(#{na"), (9, Wanted::Key("submit", "na")));
        assert_eq!(wanted("submit(#{name: \"a\", gp"), (20, Wanted::Key("submit", "gp")));
        assert_eq!(wanted("12"), (2, Wanted::Nothing));
    }
}
