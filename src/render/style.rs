//! Colours, signs and line breaks. Text is always styled here; the printer strips colours where they are not wanted.

use owo_colors::OwoColorize;
use unicode_width::UnicodeWidthStr;

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// More than ASCII.
    pub unicode: bool,
    /// Columns of running text.
    pub width: usize,
}

impl Look {
    /// The sign of a finding that holds, or of one that does not.
    pub fn verdict(self, held: bool) -> String {
        match (held, self.unicode) {
            (true, true) => "✓".green().bold().to_string(),
            (true, false) => "ok".green().bold().to_string(),
            (false, true) => "✗".red().bold().to_string(),
            (false, false) => "FAILED".red().bold().to_string(),
        }
    }

    /// A section's title.
    pub fn section(self, title: &str) -> String {
        let line = if self.unicode { "──" } else { "--" };
        format!("{} {}", line.dimmed(), title.bold())
    }

    /// Between two parts of one line.
    pub fn dot(self) -> &'static str {
        if self.unicode { " · " } else { " - " }
    }
}

/// Emphasised text.
pub fn bold(text: &str) -> String {
    text.bold().to_string()
}

/// Text of second rank.
pub fn dim(text: &str) -> String {
    text.dimmed().to_string()
}

/// The head of an error.
pub fn alarm(text: &str) -> String {
    text.red().bold().to_string()
}

/// The head of a piece of advice.
pub fn advice(text: &str) -> String {
    text.cyan().bold().to_string()
}

/// Text from scripts and clusters, harmless for a terminal: control characters become visible.
pub fn harmless(text: &str) -> String {
    if !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\u{7f}' => out.push_str("^?"),
            c if c < ' ' => {
                out.push('^');
                out.push(char::from(u8::try_from(u32::from(c)).unwrap_or_default() + b'@'));
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Documentation in Markdown for a terminal: headings stand out, code blocks are indented, the rest stays as it is.
pub fn markdown(text: &str) -> String {
    let mut out = String::new();
    let mut code = false;
    for line in harmless(text).trim_end().lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if code {
            out.push_str(&format!("    {line}\n"));
        } else if let Some(heading) = line.strip_prefix('#') {
            out.push_str(&format!("{}\n", bold(heading.trim_start_matches('#').trim())));
        } else {
            out.push_str(&format!("{line}\n"));
        }
    }
    out
}

/// Running text in lines of at most `width` columns, with a line end each. Empty lines separate paragraphs; a line that
/// begins with `- ` begins a point of a list, whose further lines are indented.
pub fn wrap(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut words: Vec<&str> = Vec::new();
    let mut point = false;
    let mut gap = false;
    for line in text.trim().lines().map(str::trim) {
        let starts_point = line.starts_with("- ");
        if line.is_empty() || starts_point {
            fill(&mut out, &mut words, width, point);
            point = starts_point;
        }
        if line.is_empty() {
            gap = !out.is_empty();
            continue;
        }
        if gap {
            out.push('\n');
            gap = false;
        }
        words.extend(line.split_whitespace());
    }
    fill(&mut out, &mut words, width, point);
    out
}

fn fill(out: &mut String, words: &mut Vec<&str>, width: usize, point: bool) {
    let mut column = 0;
    for word in words.drain(..) {
        let length = word.width();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
            if point {
                out.push_str("  ");
                column = 2;
            }
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    if column > 0 {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_wraps_by_paragraph_and_point() {
        let text = "\n  one two three\n  four\n\n  - five six seven eight\n  - nine\n";
        assert_eq!(wrap(text, 13), "one two three\nfour\n\n- five six\n  seven eight\n- nine\n");
        assert_eq!(wrap("", 10), "");
        assert_eq!(wrap("longer-than-the-line x", 5), "longer-than-the-line\nx\n");
    }

    #[test]
    fn documentation_reads_without_markdown() {
        let text = markdown("# node\nFinds `x`.\n\n```rhai\nnode(\"a\")\n```\n");
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), "node\nFinds `x`.\n\n    node(\"a\")\n");
    }

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(harmless("a\u{1b}[31m\tb\n\u{7}\u{9b}"), "a^[[31m\tb\n^G\u{fffd}");
    }
}
