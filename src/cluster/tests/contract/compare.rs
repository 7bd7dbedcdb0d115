//! Comparing an answer with a recorded one, which may be cut off and holds placeholders.

use gpulab_cluster::Value;

/// A recorded JSON value; containers that the recording cuts are open.
#[derive(Debug)]
pub enum Recorded {
    Leaf(Value),
    List(Vec<Recorded>, bool),
    Map(Vec<(String, Recorded)>, bool),
}

/// Reads JSON text that may end anywhere.
pub fn read(text: &str) -> Option<Recorded> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    reader.value()
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.next() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// `None` when the text ends inside a word.
    fn value(&mut self) -> Option<Recorded> {
        match self.next()? {
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                while !self.skip(b'}') {
                    self.skip(b',');
                    let member = self.string().filter(|_| self.skip(b':'));
                    let Some((name, value)) = member.and_then(|name| Some((name, self.value()?))) else {
                        return Some(Recorded::Map(members, true));
                    };
                    members.push((name, value));
                }
                Some(Recorded::Map(members, false))
            }
            b'[' => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.skip(b']') {
                    self.skip(b',');
                    let Some(item) = self.value() else { return Some(Recorded::List(items, true)) };
                    items.push(item);
                }
                Some(Recorded::List(items, false))
            }
            b'"' => Some(Recorded::Leaf(self.string()?.into())),
            _ => {
                let start = self.at;
                while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)) {
                    self.at += 1;
                }
                self.text.get(self.at)?;
                Value::from_json(&self.text[start..self.at]).ok().map(Recorded::Leaf)
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        if self.next() != Some(b'"') {
            return None;
        }
        let start = self.at;
        self.at += 1;
        while *self.text.get(self.at)? != b'"' {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        Some(Value::from_json(&self.text[start..self.at]).ok()?.str().to_owned())
    }
}

/// Fields that are never compared: field ownership is not modelled, versions of storage have no meaning here.
/// How many objects follow a page depends on what else the recorder's server held.
const IGNORED: [&str; 3] = ["managedFields", "storageVersionHash", "remainingItemCount"];

/// Collects the differences between a recorded value and an answer.
pub fn differences(recorded: &Recorded, answer: &Value, at: &str, found: &mut Vec<String>) {
    match (recorded, answer) {
        (Recorded::Leaf(wanted), _) => {
            if !same_leaf(wanted, answer) {
                found.push(format!("{at}: wanted {}, got {}", wanted.to_json(), answer.to_json()));
            }
        }
        (Recorded::List(items, open), Value::List(answers)) => {
            for (index, (item, answer)) in items.iter().zip(answers.iter()).enumerate() {
                differences(item, answer, &format!("{at}[{index}]"), found);
            }
            if answers.len() < items.len() || (!open && answers.len() > items.len()) {
                found.push(format!("{at}: wanted {} items, got {}", items.len(), answers.len()));
            }
        }
        (Recorded::Map(members, open), Value::Map(answers)) => {
            for (name, member) in members.iter().filter(|(name, _)| !IGNORED.contains(&name.as_str())) {
                let at = format!("{at}.{name}");
                match answers.get(name) {
                    Some(answer) => differences(member, answer, &at, found),
                    None => found.push(format!("{at}: missing")),
                }
            }
            for (name, answer) in answers {
                if !open
                    && !IGNORED.contains(&name.as_str())
                    && !members.iter().any(|(known, _)| known == name.as_str())
                {
                    found.push(format!("{at}.{name}: not wanted: {}", answer.to_json()));
                }
            }
        }
        _ => found.push(format!("{at}: another shape: {}", answer.to_json())),
    }
}

/// Takes out of recorded lists of named things those that the answer does not have: not everything is served here.
pub fn served(recorded: Recorded, answer: &Value) -> Recorded {
    match recorded {
        Recorded::List(items, open) => {
            let kept = items.into_iter().enumerate().filter_map(|(at, item)| {
                let Some(name) = name_of(&item) else {
                    let ours = answer.items().get(at)?;
                    return Some(if matches!(item, Recorded::Leaf(_)) { item } else { served(item, ours) });
                };
                let ours = answer.items().iter().find(|ours| NAMES.iter().any(|field| ours.at(field).str() == name))?;
                Some(served(item, ours))
            });
            Recorded::List(kept.collect(), open)
        }
        Recorded::Map(members, open) => {
            let kept = members.into_iter().map(|(name, member)| {
                let ours = answer.at(&[&name]);
                let member = served(member, ours);
                (name, member)
            });
            Recorded::Map(kept.collect(), open)
        }
        leaf => leaf,
    }
}

const NAMES: [&[&str]; 4] = [&["name"], &["resource"], &["subresource"], &["metadata", "name"]];

fn name_of(recorded: &Recorded) -> Option<String> {
    let member = |recorded: &Recorded, name: &str| match recorded {
        Recorded::Map(members, _) => members.iter().position(|(known, _)| known == name),
        _ => None,
    };
    NAMES.iter().find_map(|path| {
        let mut at = recorded;
        for field in *path {
            let index = member(at, field)?;
            let Recorded::Map(members, _) = at else { return None };
            at = &members[index].1;
        }
        match at {
            Recorded::Leaf(name) => Some(name.str().to_owned()),
            _ => None,
        }
    })
}

/// Makes every map of a recording open: it says only a part.
pub fn opened(recorded: Recorded) -> Recorded {
    match recorded {
        Recorded::Map(members, _) => {
            Recorded::Map(members.into_iter().map(|(name, member)| (name, opened(member))).collect(), true)
        }
        Recorded::List(items, open) => Recorded::List(items.into_iter().map(opened).collect(), open),
        leaf => leaf,
    }
}

fn same_leaf(wanted: &Value, answer: &Value) -> bool {
    match (wanted, answer) {
        (Value::String(wanted), Value::String(answer)) => shape(wanted) == shape(answer),
        _ => wanted == answer,
    }
}

/// A text without what differs from run to run: identifiers, times, generated names, continue tokens, ages, and the
/// Go diffs behind a sentence.
fn shape(text: &str) -> String {
    let diff = ["\n@@", "\n-"].iter().filter_map(|start| text.find(start)).min();
    let text = &text[..diff.unwrap_or(text.len())];
    // The object behind these words is written as Go prints it.
    let text = match (text.find("Invalid value: \"{"), text.rfind("}\": ")) {
        (Some(start), Some(end)) if start < end => &format!("{}{}", &text[..start], &text[end..]),
        _ => text,
    };
    if text.starts_with("eyJ2IjoibWV0YS5rOHMuaW8vdjEi") {
        return "<token>".into();
    }
    let mut words: Vec<String> = Vec::new();
    for word in text.split_inclusive(SEPARATORS) {
        let end = word.trim_end_matches(SEPARATORS).len();
        words.push(format!("{}{}", shape_of_word(&word[..end]), &word[end..]));
    }
    words.concat()
}

const SEPARATORS: [char; 9] = [' ', '"', ',', '(', ')', '[', ']', '/', '='];

fn shape_of_word(word: &str) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let uuid = word.len() == 36 && word.bytes().filter(|byte| *byte == b'-').count() == 4;
    let time = word.len() == 20 && word.ends_with('Z') && word.as_bytes()[10] == b'T';
    let age = word.len() > 1
        && digits(&word[..1])
        && word.bytes().all(|byte| byte.is_ascii_digit() || b"smhdy".contains(&byte))
        && !digits(word);
    if word == "<uid>" || uuid {
        "<uid>".into()
    } else if word == "<time>" || time {
        "<time>".into()
    } else if word == "<rv>" || digits(word) {
        // Revisions stand alone; a number inside a sentence is compared by the sentence around it.
        "<number>".into()
    } else if age {
        "<age>".into()
    } else {
        // An event's name ends in the time it was made.
        match word.rsplit_once('.') {
            Some((name, time)) if time.len() == 16 => format!("{}.<time>", generated(name)),
            _ => generated(word),
        }
    }
}

/// `kube-api-access-qkt7c`, `gen-b5t2f`, `d-6f4ff45896-z47db`: suffixes of five letters and template hashes.
fn generated(word: &str) -> String {
    let suffix = |part: &str, lengths: &[usize]| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))
    };
    if word.starts_with("default-scheduler-") {
        return "default-scheduler-<host>".into();
    }
    if suffix(word, &[8, 9, 10]) || (word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return "<hash>".into();
    }
    let parts: Vec<&str> = word.split('-').collect();
    let shown = parts.iter().enumerate().map(
        |(at, part)| {
            if at > 0 && suffix(part, &[5, 8, 9, 10]) { "<suffix>" } else { part }
        },
    );
    shown.collect::<Vec<_>>().join("-")
}
