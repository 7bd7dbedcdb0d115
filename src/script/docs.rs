//! The book of functions: what is registered into the engine is written here at the same time, so that help,
//! completion, did-you-mean and the reference are one.

use std::collections::BTreeMap;
use std::rc::Rc;

use rhai::{Dynamic, Engine, FuncRegistration, RhaiNativeFunc, Variant};
use serde_json::Value;

use super::convert::to_json;
use super::fault::Res;
use super::lab::Lab;
use super::suggest;

/// One function as users know it.
#[derive(Clone, Copy, Debug)]
pub struct Doc {
    /// `pods(labels: string) -> Pods`; methods start with their type: `Node.gpus() -> int`.
    pub signature: &'static str,
    /// Summary; then lines `Waits:`, `Fails:`, `Example:` (script lines until the next key), `See:`. Empty for a further
    /// form of a function that is described already.
    pub text: &'static str,
}

impl Doc {
    /// Name of the function or method, without its type.
    pub fn name(&self) -> &'static str {
        let head = self.signature.split(['(', ' ']).next().unwrap_or(self.signature);
        head.rsplit('.').next().unwrap_or(head)
    }

    /// Type of the receiver of a method or property, empty for a function.
    pub fn receiver(&self) -> &'static str {
        let head = self.signature.split(['(', ' ']).next().unwrap_or(self.signature);
        head.split_once('.').map_or("", |(receiver, _)| receiver)
    }

    /// Parameters with their types.
    pub fn parameters(&self) -> Vec<&'static str> {
        let inside =
            self.signature.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map_or("", |(inside, _)| inside);
        inside.split(", ").filter(|one| !one.is_empty()).collect()
    }

    /// Type of the result.
    pub fn returns(&self) -> &'static str {
        self.signature.split_once("-> ").map_or("()", |(_, returns)| returns)
    }

    /// The script lines of the example.
    pub fn example(&self) -> String {
        self.section("Example:")
    }

    fn section(&self, key: &str) -> String {
        const KEYS: [&str; 4] = ["Waits:", "Fails:", "Example:", "See:"];
        let mut inside = false;
        let mut lines = Vec::new();
        for line in self.text.lines().map(uncommented) {
            if let Some(found) = KEYS.iter().find(|known| line.starts_with(**known)) {
                inside = *found == key;
                if inside {
                    lines.push(line[found.len()..].trim());
                }
            } else if inside {
                lines.push(line.trim());
            }
        }
        lines.join("\n").trim().to_owned()
    }

    /// What it does, in one or two sentences; empty for a further form.
    pub fn summary(&self) -> &'static str {
        uncommented(self.text.lines().next().unwrap_or(""))
    }
}

/// A line of a doc comment without its slashes.
fn uncommented(line: &str) -> &str {
    line.trim_start().strip_prefix("///").map_or(line, str::trim_start)
}

/// Every documented function, in the order of registration.
#[derive(Debug, Default)]
pub struct Book {
    docs: Vec<Doc>,
}

/// Registers functions and writes them into the book.
pub struct Registrar<'a> {
    /// The engine that gets the functions.
    pub engine: &'a mut Engine,
    /// The lab that the functions act on.
    pub lab: Rc<Lab>,
    /// The book.
    pub book: Book,
}

/// A handle or list whose reads are noted as evidence.
pub trait Noun: Clone + 'static {
    /// `pod/a`.
    fn id(&self) -> String;
    /// The lab it belongs to.
    fn lab(&self) -> &Rc<Lab>;
}

impl Registrar<'_> {
    /// Registers a function.
    pub fn function<A: 'static, const N: usize, const X: bool, R: Variant + Clone, const F: bool, FUNC>(
        &mut self,
        signature: &'static str,
        text: &'static str,
        act: FUNC,
    ) where
        FUNC: RhaiNativeFunc<A, N, X, R, F> + 'static,
    {
        let doc = Doc { signature, text };
        self.add(doc.name(), doc, act);
        self.book.docs.push(doc);
    }

    fn add<A: 'static, const N: usize, const X: bool, R: Variant + Clone, const F: bool, FUNC>(
        &mut self,
        name: &str,
        doc: Doc,
        act: FUNC,
    ) where
        FUNC: RhaiNativeFunc<A, N, X, R, F> + 'static,
    {
        let receiver = if doc.receiver().is_empty() { None } else { Some(doc.receiver()) };
        let info = receiver.into_iter().chain(doc.parameters()).chain([doc.returns()]);
        FuncRegistration::new(name)
            .with_params_info(info)
            .with_comments([format!("/// {}", doc.summary())])
            .with_volatility(true)
            .register_into_engine(self.engine, act);
    }

    /// Registers a read without parameters: as a method and as a property. `field` names what is read, for evidence.
    pub fn read<T: Noun, R: Variant + Clone>(
        &mut self,
        signature: &'static str,
        field: &'static str,
        text: &'static str,
        read: fn(&T) -> Res<R>,
    ) {
        let doc = Doc { signature, text };
        let noted = move |noun: &mut T| -> Res<R> {
            let result = read(noun)?;
            noun.lab().note(&noun.id(), field, || evidence_value(&result));
            Ok(result)
        };
        self.add(doc.name(), doc, noted);
        FuncRegistration::new_getter(doc.name()).with_volatility(true).register_into_engine(self.engine, noted);
        self.book.docs.push(doc);
    }

    /// Notes a function that the prelude or the language brings, for help only.
    pub fn describe(&mut self, signature: &'static str, text: &'static str) {
        self.book.docs.push(Doc { signature, text });
    }
}

fn evidence_value<R: Variant + Clone>(result: &R) -> Value {
    to_json(&Dynamic::from(result.clone()))
}

impl Book {
    /// Takes the documented functions of a prelude.
    pub fn read_prelude(&mut self, source: &'static str) {
        let mut comment: Option<usize> = None;
        let mut at = 0;
        for line in source.split_inclusive('\n') {
            if line.starts_with("///") {
                comment.get_or_insert(at);
            } else if let (Some(start), Some(signature)) = (comment, line.strip_prefix("fn ")) {
                let signature = signature.split(" {").next().unwrap_or(signature);
                self.docs.push(Doc { signature, text: &source[start..at] });
                comment = None;
            } else {
                comment = None;
            }
            at += line.len();
        }
    }

    /// All entries.
    pub fn docs(&self) -> &[Doc] {
        &self.docs
    }

    /// Names of functions, sorted, each once.
    pub fn functions(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.docs.iter().filter(|doc| doc.receiver().is_empty()).map(Doc::name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Names of methods and properties of a type, sorted, each once.
    pub fn methods(&self, receiver: &str) -> Vec<&'static str> {
        let mut names: Vec<_> = self.docs.iter().filter(|doc| doc.receiver() == receiver).map(Doc::name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Signatures of a function, or of a method of `receiver`.
    pub fn signatures(&self, receiver: &str, name: &str) -> Vec<&'static str> {
        let same = |doc: &&Doc| doc.name() == name && doc.receiver() == receiver;
        self.docs.iter().filter(same).map(|doc| doc.signature).collect()
    }

    /// Help for one name (`pods`, `Node.gpus`, `gpus`), or everything for the empty name, as Markdown.
    pub fn markdown(&self, name: &str) -> Option<String> {
        if name.is_empty() {
            return Some(self.reference());
        }
        let name = name.trim_end_matches("()");
        let (receiver, word) = name.split_once('.').map_or((None, name), |(receiver, word)| (Some(receiver), word));
        let wanted = |doc: &&Doc| doc.name() == word && receiver.is_none_or(|one| doc.receiver() == one);
        let found: Vec<&Doc> = self.docs.iter().filter(wanted).collect();
        if found.is_empty() {
            return None;
        }
        let mut groups: BTreeMap<&str, Vec<&Doc>> = BTreeMap::new();
        for doc in found {
            groups.entry(doc.receiver()).or_default().push(doc);
        }
        Some(groups.values().map(|docs| entry(docs)).collect::<Vec<_>>().join("\n"))
    }

    /// What is near an unknown name, for messages.
    pub fn near(&self, name: &str) -> String {
        suggest::did_you_mean(name, self.functions())
    }

    fn reference(&self) -> String {
        let mut groups: BTreeMap<(&str, &str), Vec<&Doc>> = BTreeMap::new();
        for doc in &self.docs {
            groups.entry((doc.receiver(), doc.name())).or_default().push(doc);
        }
        let mut text = String::from("# Functions\n\n");
        let mut heading = "";
        for ((receiver, _), docs) in &groups {
            if *receiver != heading {
                heading = receiver;
                text.push_str(&format!("# {receiver}\n\n"));
            }
            text.push_str(&entry(docs));
            text.push('\n');
        }
        text
    }
}

fn entry(docs: &[&Doc]) -> String {
    let head = docs[0];
    let title = if head.receiver().is_empty() {
        head.name().to_owned()
    } else {
        format!("{}.{}", head.receiver(), head.name())
    };
    let mut text = format!("## {title}\n\n");
    for doc in docs {
        text.push_str(&format!("- `{}`\n", doc.signature));
    }
    let Some(told) = docs.iter().find(|doc| !doc.text.is_empty()) else { return text };
    text.push_str(&format!("\n{}\n", told.summary()));
    for (key, title) in [("Waits:", "Waits"), ("Fails:", "Fails")] {
        let section = told.section(key);
        if !section.is_empty() {
            text.push_str(&format!("\n{title}: {}\n", section.replace('\n', " ")));
        }
    }
    let example = told.example();
    if !example.is_empty() {
        text.push_str(&format!("\n```rhai\n{example}\n```\n"));
    }
    let see = told.section("See:");
    if !see.is_empty() {
        text.push_str(&format!("\nSee also: {see}\n"));
    }
    text
}
