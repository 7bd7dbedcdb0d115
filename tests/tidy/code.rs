//! Just enough of Rust's grammar to see code without comments and texts.

/// A source file.
pub struct Source {
    /// Path from the root of the project.
    pub name: String,
    /// The code: comments, texts and characters are blanked, lines stay.
    pub code: String,
}

impl Source {
    pub fn new(name: &str, text: &str) -> Source {
        Source { name: name.to_owned(), code: blank(text) }
    }

    /// Name, first line and number of lines of each function with a body.
    pub fn functions(&self) -> Vec<(String, usize, usize)> {
        let code = &self.code;
        let mut found = Vec::new();
        for (at, _) in code.match_indices("fn ") {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let Some(body) = code[at..].find(['{', ';']).filter(|_| !name.is_empty()) else { continue };
            if code[at + body..].starts_with(';') {
                continue;
            }
            let end = at + body + closing(&code[at + body..]);
            let line = |at: usize| code[..at].matches('\n').count() + 1;
            found.push((name, line(at), line(end) - line(at) + 1));
        }
        found
    }
}

/// Offset of the brace that closes the first one.
fn closing(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    code.len()
}

/// Replaces comments, texts and character literals by blanks.
fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after_word = out.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => quoted(rest),
            'r' | 'b' | 'c' if !after_word => prefixed(rest),
            '\'' => character(rest),
            _ => 0,
        };
        if length == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    out
}

fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Raw and byte texts: `r"…"`, `r#"…"#`, `b"…"`, `br"…"`; 0 for anything else.
fn prefixed(text: &str) -> usize {
    let letters = text.chars().take_while(|c| matches!(c, 'r' | 'b' | 'c')).count();
    let hashes = text[letters..].chars().take_while(|c| *c == '#').count();
    let start = letters + hashes;
    if letters > 2 || !text[start..].starts_with('"') {
        return 0;
    }
    if text[..letters].contains('r') {
        let end = format!("\"{}", "#".repeat(hashes));
        return text[start + 1..].find(&end).map_or(text.len(), |at| start + 1 + at + end.len());
    }
    if hashes > 0 { 0 } else { start + quoted(&text[start..]) }
}

/// `'x'` and `'\n'`; 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 3),
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

#[test]
fn comments_and_texts_are_blank() {
    let code = blank("a /* {\n */ \"}\\\"\" b'{' '\\'' r#\"{\"#x <'a> '{' // }\nfn f() {}");
    assert_eq!(code.matches(['{', '}']).count(), 2, "{code:?}");
    assert!(code.contains("<'a>") && code.contains('x') && code.lines().count() == 3, "{code:?}");
}

#[test]
fn functions_have_lengths() {
    let source = Source::new("x.rs", "trait T { fn a(); }\nfn b() {\n  \"}\";\n  fn c() {}\n}\n");
    assert_eq!(source.functions(), [("b".to_owned(), 2, 4), ("c".to_owned(), 4, 1)]);
}
