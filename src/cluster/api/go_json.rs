//! The words of Go's JSON decoder for text that is not JSON, as clients of the API server see them.
//!
//! Source: Go `encoding/json/scanner.go` (texts only).

/// What Go says about the first syntax error of `text`; `None` when there is none.
pub(super) fn syntax_error(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.space();
    match scanner.value(0) {
        Err(error) => Some(error),
        Ok(()) => {
            scanner.space();
            scanner.peek().map(|_| scanner.unexpected("after top-level value"))
        }
    }
}

/// A quoted byte as Go's `quoteChar` writes it.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => r#"'"'"#.to_owned(),
        b'\\' => r"'\\'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0x20..=0x7e => format!("'{}'", char::from(byte)),
        0xa1..=0xac | 0xae..=0xff => format!("'{}'", char::from(byte)),
        0x80.. => format!("'\\u{byte:04x}'"),
        _ => format!("'\\x{byte:02x}'"),
    }
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

/// Deeper nesting is refused. Go's own limit is 10,000, which a stack need not hold.
const DEPTH: usize = 500;

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, context: &str) -> String {
        match self.peek() {
            Some(byte) => format!("invalid character {} {context}", quoted(byte)),
            None => "unexpected end of JSON input".to_owned(),
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), String> {
        if depth > DEPTH {
            return Err("exceeded max depth".to_owned());
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), String> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            self.space();
            self.value(depth + 1)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected("after object key:value pair")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), String> {
        self.at += 1;
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.space();
            self.value(depth + 1)?;
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.unexpected("after array element")),
            }
        }
    }

    fn string(&mut self) -> Result<(), String> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.peek() {
                        Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => self.at += 1,
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.peek().is_some_and(|digit| digit.is_ascii_hexdigit()) {
                                    return Err(self.unexpected("in \\u hexadecimal character escape"));
                                }
                                self.at += 1;
                            }
                        }
                        _ => return Err(self.unexpected("in string escape code")),
                    }
                }
                Some(0..0x20) | None => return Err(self.unexpected("in string literal")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn digits(&mut self, context: &str) -> Result<(), String> {
        if !self.peek().is_some_and(|digit| digit.is_ascii_digit()) {
            return Err(self.unexpected(context));
        }
        while self.peek().is_some_and(|digit| digit.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let context = format!("in literal {word} (expecting {})", quoted(expected));
                return Err(self.unexpected(&context));
            }
            self.at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speaks_like_go() {
        for (text, error) in [
            (&b"{not json"[..], Some("invalid character 'n' looking for beginning of object key string")),
            (b"", Some("unexpected end of JSON input")),
            (b"{\"a\":1", Some("unexpected end of JSON input")),
            (b"{\"a\" 1}", Some("invalid character '1' after object key")),
            (b"{\"a\":1 2}", Some("invalid character '2' after object key:value pair")),
            (b"[1 2]", Some("invalid character '2' after array element")),
            (b"\x81", Some("invalid character '\\u0081' looking for beginning of value")),
            (b"trux", Some("invalid character 'x' in literal true (expecting 'e')")),
            (b"{} x", Some("invalid character 'x' after top-level value")),
            (b" {\"a\":[1,-2.5e3,\"\\u00e4\"],\"b\":null} ", None),
        ] {
            assert_eq!(syntax_error(text).as_deref(), error, "{}", String::from_utf8_lossy(text));
        }
    }
}
