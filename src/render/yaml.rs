//! YAML as `kubectl get -o yaml` prints it.
//!
//! kubectl writes YAML 1.1: text that an old parser would take for something else is quoted, keys are in natural order,
//! sequences are not indented under their key, and text is folded behind column 80.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// Text breaks at the first space behind this column.
const WIDTH: usize = 80;
/// The longest key that fits before its colon; a longer one takes the explicit form.
const LONGEST_SIMPLE_KEY: usize = 128;

/// The value as YAML with a final line end.
pub fn to_yaml(value: &Value) -> String {
    let mut writer = Writer { text: String::new(), column: 0 };
    match value {
        Value::Object(fields) if !fields.is_empty() => writer.mapping(fields, 0, true),
        Value::Array(items) if !items.is_empty() => writer.sequence(items, 0, true),
        other => {
            writer.scalar(other, 0);
            writer.end_line();
        }
    }
    writer.text
}

struct Writer {
    text: String,
    column: usize,
}

impl Writer {
    fn put(&mut self, text: &str) {
        for c in text.chars() {
            self.put_char(c);
        }
    }

    fn put_char(&mut self, c: char) {
        self.text.push(c);
        self.column = if c == '\n' { 0 } else { self.column + 1 };
    }

    fn end_line(&mut self) {
        if self.column > 0 {
            self.put_char('\n');
        }
    }

    fn indent(&mut self, indent: usize) {
        self.end_line();
        for _ in 0..indent {
            self.put_char(' ');
        }
    }

    /// `here`: the first key stands where the cursor is (behind a dash, or at the start).
    fn mapping(&mut self, fields: &Map<String, Value>, indent: usize, here: bool) {
        let mut keys: Vec<&String> = fields.keys().collect();
        keys.sort_by(|a, b| natural_order(a, b));
        for (number, key) in keys.into_iter().enumerate() {
            if !(here && number == 0) {
                self.indent(indent);
            }
            let simple = !key.contains('\n') && key.len() <= LONGEST_SIMPLE_KEY;
            if simple {
                self.string(key, indent, true);
            } else {
                self.put("? ");
                self.string(key, indent, false);
                self.indent(indent);
            }
            self.put_char(':');
            self.value_of_key(&fields[key], indent);
        }
        self.end_line();
    }

    fn value_of_key(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(fields) if !fields.is_empty() => self.mapping(fields, indent + 2, false),
            Value::Array(items) if !items.is_empty() => self.sequence(items, indent, false),
            other => {
                self.put_char(' ');
                self.scalar(other, indent);
            }
        }
    }

    fn sequence(&mut self, items: &[Value], indent: usize, here: bool) {
        for (number, item) in items.iter().enumerate() {
            if !(here && number == 0) {
                self.indent(indent);
            }
            self.put("- ");
            match item {
                Value::Object(fields) if !fields.is_empty() => self.mapping(fields, indent + 2, true),
                Value::Array(items) if !items.is_empty() => self.sequence(items, indent + 2, true),
                other => self.scalar(other, indent),
            }
        }
        self.end_line();
    }

    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Null => self.put("null"),
            Value::Bool(flag) => self.put(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.put(&number_text(number)),
            Value::String(text) => self.string(text, indent, false),
            Value::Array(_) => self.put("[]"),
            Value::Object(_) => self.put("{}"),
        }
    }

    fn string(&mut self, text: &str, indent: usize, key: bool) {
        let traits = Traits::of(text);
        let folds = if key { None } else { Some(indent + 2) };
        if text.contains('\n') && !key && traits.block {
            self.literal(text, indent + 2);
        } else if text.contains('\n') || resolves_to_something_else(text) {
            self.double_quoted(text, folds);
        } else if traits.plain {
            self.plain(text, folds);
        } else if traits.single {
            self.single_quoted(text, folds);
        } else {
            self.double_quoted(text, folds);
        }
    }

    /// Writes one space of running text, or breaks the line there.
    fn space(&mut self, folds: Option<usize>, may_break: bool) -> bool {
        match folds {
            Some(indent) if may_break && self.column > WIDTH => {
                self.indent(indent);
                true
            }
            _ => {
                self.put_char(' ');
                false
            }
        }
    }

    fn plain(&mut self, text: &str, folds: Option<usize>) {
        let chars: Vec<char> = text.chars().collect();
        for (i, &c) in chars.iter().enumerate() {
            if c == ' ' {
                let alone = chars[i.saturating_sub(1)] != ' ' && chars.get(i + 1) != Some(&' ');
                self.space(folds, alone);
            } else {
                self.put_char(c);
            }
        }
    }

    fn single_quoted(&mut self, text: &str, folds: Option<usize>) {
        let chars: Vec<char> = text.chars().collect();
        self.put_char('\'');
        for (i, &c) in chars.iter().enumerate() {
            if c == ' ' {
                let inner = i > 0 && i + 1 < chars.len();
                let alone = inner && chars[i - 1] != ' ' && chars[i + 1] != ' ';
                self.space(folds, alone);
            } else {
                if c == '\'' {
                    self.put_char('\'');
                }
                self.put_char(c);
            }
        }
        self.put_char('\'');
    }

    fn double_quoted(&mut self, text: &str, folds: Option<usize>) {
        let chars: Vec<char> = text.chars().collect();
        self.put_char('"');
        for (i, &c) in chars.iter().enumerate() {
            if c == ' ' {
                let inner = i > 0 && i + 1 < chars.len();
                let first = inner && chars[i - 1] != ' ';
                if self.space(folds, first) && chars[i + 1] == ' ' {
                    self.put_char('\\');
                }
            } else if printable(c) && !matches!(c, '"' | '\\' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}') {
                self.put_char(c);
            } else {
                self.put(&escape(c));
            }
        }
        self.put_char('"');
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put_char('|');
        if text.starts_with([' ', '\n']) {
            self.put_char('2');
        }
        if !text.ends_with('\n') {
            self.put_char('-');
        } else if text == "\n" || text.ends_with("\n\n") {
            self.put_char('+');
        }
        self.put_char('\n');
        let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
        for line in lines {
            if !line.is_empty() {
                self.indent(indent);
                self.put(line);
            }
            self.put_char('\n');
        }
    }
}

/// What forms a text may take in a block context.
struct Traits {
    plain: bool,
    single: bool,
    block: bool,
}

impl Traits {
    fn of(text: &str) -> Traits {
        let chars: Vec<char> = text.chars().collect();
        let indicators = text.starts_with("---") || text.starts_with("...") || has_indicator(&chars);
        let special = chars.iter().any(|&c| !printable(c)) || text.contains(" \n");
        let edge = |c: Option<&char>| matches!(c, Some(' ' | '\n'));
        Traits {
            plain: !(indicators || special || edge(chars.first()) || edge(chars.last()) || text.contains('\n')),
            single: !(special || text.contains("\n ")),
            block: !(special || text.ends_with(' ')),
        }
    }
}

fn has_indicator(chars: &[char]) -> bool {
    let blank_after = |i: usize| chars.get(i + 1).is_none_or(|c| matches!(c, ' ' | '\t'));
    chars.iter().enumerate().any(|(i, &c)| match c {
        '#' if i > 0 => matches!(chars[i - 1], ' ' | '\t' | '\n'),
        ':' => blank_after(i),
        '?' | '-' => i == 0 && blank_after(i),
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => i == 0,
        _ => false,
    })
}

/// Characters outside the basic plane count as not printable in the YAML library that kubectl uses.
fn printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

fn escape(c: char) -> String {
    match c {
        '\0' => "\\0".into(),
        '\u{7}' => "\\a".into(),
        '\u{8}' => "\\b".into(),
        '\t' => "\\t".into(),
        '\n' => "\\n".into(),
        '\u{b}' => "\\v".into(),
        '\u{c}' => "\\f".into(),
        '\r' => "\\r".into(),
        '\u{1b}' => "\\e".into(),
        '"' => "\\\"".into(),
        '\\' => "\\\\".into(),
        '\u{85}' => "\\N".into(),
        '\u{2028}' => "\\L".into(),
        '\u{2029}' => "\\P".into(),
        c if u32::from(c) <= 0xff => format!("\\x{:02X}", u32::from(c)),
        c if u32::from(c) <= 0xffff => format!("\\u{:04X}", u32::from(c)),
        c => format!("\\U{:08X}", u32::from(c)),
    }
}

/// Whether a YAML 1.1 parser reads the plain text as null, boolean, number or time.
fn resolves_to_something_else(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "", "~", "null", "Null", "NULL", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO",
        "off", "Off", "OFF", "true", "True", "TRUE", "false", "False", "FALSE", ".nan", ".NaN", ".NAN", ".inf", ".Inf",
        ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF",
    ];
    match text.chars().next() {
        Some('0'..='9' | '+' | '-') => {
            let plain = text.replace('_', "");
            WORDS.contains(&text) || is_time(text) || is_integer(&plain) || is_float(&plain) || is_base_60(text)
        }
        Some('.') => WORDS.contains(&text) || is_float(text),
        _ => WORDS.contains(&text),
    }
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Go's rules for an integer literal with a base prefix.
fn is_integer(text: &str) -> bool {
    let rest = unsigned(text);
    let of = |digits: &str, radix| {
        !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix)) && u64::from_str_radix(digits, radix).is_ok()
    };
    match rest.get(..2) {
        Some("0x" | "0X") => of(&rest[2..], 16),
        Some("0b" | "0B") => of(&rest[2..], 2),
        Some("0o" | "0O") => of(&rest[2..], 8),
        Some(_) if rest.starts_with('0') => of(&rest[1..], 8),
        _ => of(rest, 10),
    }
}

fn is_float(text: &str) -> bool {
    let rest = unsigned(text);
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };
    mantissa_fits && exponent.is_none_or(|exponent| digits(unsigned(exponent)))
}

/// `1:30`: sexagesimal in YAML 1.1, quoted although modern parsers take it for text.
fn is_base_60(text: &str) -> bool {
    let (whole, fraction) = match unsigned(text).split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (unsigned(text), ""),
    };
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let sixtieth = |part: &str| digits(part) && part.len() <= 2 && (part.len() == 1 || part.as_bytes()[0] < b'6');
    let rest: Vec<&str> = parts.collect();
    first.starts_with(|c: char| c.is_ascii_digit())
        && first.bytes().all(|b| b.is_ascii_digit() || b == b'_')
        && !rest.is_empty()
        && rest.iter().all(|part| sixtieth(part))
        && fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_')
}

/// A date, alone or followed by a time of day.
fn is_time(text: &str) -> bool {
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let within = |part: &str, low: u32, high: u32| {
        digits(part) && part.len() <= 2 && part.parse().is_ok_and(|n: u32| (low..=high).contains(&n))
    };
    if !(year.len() == 4 && digits(year) && within(month, 1, 12) && within(day, 1, 31)) {
        return false;
    }
    let Some(time) = time else { return true };
    let zoned = !text.contains(' ');
    let clock = if zoned { without_zone(time) } else { Some(time) };
    let Some(clock) = clock else { return false };
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, fraction)| (clock, Some(fraction)));
    let parts: Vec<&str> = clock.split(':').collect();
    let [hour, minute, second] = parts[..] else { return false };
    fraction.is_none_or(digits) && within(hour, 0, 23) && within(minute, 0, 59) && within(second, 0, 59)
}

fn without_zone(time: &str) -> Option<&str> {
    if let Some(time) = time.strip_suffix('Z') {
        return Some(time);
    }
    let at = time.rfind(['+', '-'])?;
    let zone = &time[at + 1..];
    (zone.len() == 5 && zone.as_bytes()[2] == b':' && digits(&zone[..2]) && digits(&zone[3..])).then(|| &time[..at])
}

fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float_text(float),
        _ => number.to_string(),
    }
}

/// Go's shortest `%g`: an exponent below 1e-4 and from 1e6 on.
fn float_text(float: f64) -> String {
    let scientific = format!("{float:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return float.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Letters after other characters, and numbers by value: `pod-2` before `pod-10`.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(i) = a.iter().zip(&b).position(|(x, y)| x != y) else { return a.len().cmp(&b.len()) };
    match (a[i].is_alphabetic(), b[i].is_alphabetic()) {
        (true, true) => return a[i].cmp(&b[i]),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A zero inside a longer number counts as one of its digits.
    let mut start = 0;
    if a[i] == '0' || b[i] == '0' {
        let before = a[..i].iter().rev().take_while(|c| c.is_ascii_digit());
        start = i64::from(before.into_iter().any(|c| *c != '0'));
    }
    let number = |chars: &[char]| {
        let run = chars[i..].iter().take_while(|c| c.is_ascii_digit());
        run.fold((start, 0), |(value, length): (i64, usize), c| {
            (value.wrapping_mul(10).wrapping_add(i64::from(u32::from(*c) - u32::from('0'))), length + 1)
        })
    };
    number(&a).cmp(&number(&b)).then_with(|| a[i].cmp(&b[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_as_kubectl_prints_it() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "a", "labels": {"lab": "yes", "x": ""}, "creationTimestamp": "2026-11-30T19:58:57Z", "resourceVersion": "12"},
            "spec": {
                "containers": [
                    {"name": "c", "image": "registry.k8s.io/pause:3.10", "args": ["-c", "echo: x", "- a", "*"],
                     "resources": {"limits": {"nvidia.com/gpu": "2"}, "requests": {"cpu": "100m"}}},
                ],
                "nodeSelector": {}, "tolerations": [], "enableServiceLinks": true, "priority": 0, "overhead": null,
            },
        });
        let want = r#"apiVersion: v1
kind: Pod
metadata:
  creationTimestamp: "2026-11-30T19:58:57Z"
  labels:
    lab: "yes"
    x: ""
  name: a
  resourceVersion: "12"
spec:
  containers:
  - args:
    - -c
    - 'echo: x'
    - '- a'
    - '*'
    image: registry.k8s.io/pause:3.10
    name: c
    resources:
      limits:
        nvidia.com/gpu: "2"
      requests:
        cpu: 100m
  enableServiceLinks: true
  nodeSelector: {}
  overhead: null
  priority: 0
  tolerations: []
"#;
        assert_eq!(to_yaml(&pod), want);
    }

    #[test]
    fn long_text_is_folded_behind_column_80() {
        let message = "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 2 Insufficient nvidia.com/gpu. no new claims to deallocate";
        let want = "status:\n  message: '0/3 nodes are available: 1 node(s) didn''t match Pod''s node affinity/selector,\n    2 Insufficient nvidia.com/gpu. no new claims to deallocate'\n";
        assert_eq!(to_yaml(&json!({"status": {"message": message}})), want);
    }

    #[test]
    fn several_lines_become_a_literal_block() {
        let value = json!({"a": "one\ntwo\n", "b": "one\n\n two", "c": " x\n", "d": "x\n\n", "e": "trailing \nspace"});
        let want = "a: |\n  one\n  two\nb: |-\n  one\n\n   two\nc: |2\n   x\nd: |+\n  x\n\ne: \"trailing \\nspace\"\n";
        assert_eq!(to_yaml(&value), want);
    }

    #[test]
    fn what_old_parsers_misread_is_quoted() {
        for text in [
            "",
            "y",
            "No",
            "null",
            "~",
            "1",
            "-1",
            "0x1f",
            "007",
            "08",
            "1e3",
            ".5",
            "1_000",
            "2026-11-30",
            "12:30",
            "+.inf",
        ] {
            assert_eq!(to_yaml(&json!(text)), format!("\"{text}\"\n"), "{text}");
        }
        for text in ["yess", "1.2.3", "v1", "10.1.0.8", "100m", "256Gi", "1h2m", "12:99", "0xzz", "-", "a#b", "x:y"] {
            let want = if text == "-" { "'-'\n".to_owned() } else { format!("{text}\n") };
            assert_eq!(to_yaml(&json!(text)), want, "{text}");
        }
    }

    #[test]
    fn control_characters_and_emoji_are_escaped() {
        assert_eq!(to_yaml(&json!("a\tb\u{1b}\u{1f600}\"")), "\"a\\tb\\e\\U0001F600\\\"\"\n");
    }

    #[test]
    fn keys_are_in_natural_order() {
        let value = json!({"a10": 1, "a2": 2, "b": 3, "a-b": 4, "10": 5, "9": 6, "kubectl.kubernetes.io/x": 7, "kwok.x-k8s.io/node": 8});
        let keys: Vec<String> =
            to_yaml(&value).lines().map(|l| l.split(": ").next().unwrap_or_default().to_owned()).collect();
        assert_eq!(keys, ["\"9\"", "\"10\"", "a-b", "a2", "a10", "b", "kubectl.kubernetes.io/x", "kwok.x-k8s.io/node"]);
    }

    #[test]
    fn nested_sequences_and_lists() {
        assert_eq!(to_yaml(&json!([[1, 2], {"a": [3]}, []])), "- - 1\n  - 2\n- a:\n  - 3\n- []\n");
    }

    #[test]
    fn floats_in_go_form() {
        assert_eq!(to_yaml(&json!([1.5, 1e6, 0.00001])), "- 1.5\n- 1e+06\n- 1e-05\n");
    }
}
