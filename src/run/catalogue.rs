//! `gpulab list`, `gpulab explain` and `gpulab version`.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::cli::{ListOutput, VersionOutput};
use crate::config;
use crate::error::{Error, Kind, nearest_two};
use crate::render::json::to_json;
use crate::render::lines::Versions;
use crate::render::style::{Look, bold, dim, wrap};
use crate::render::table::align;
use crate::run::lesson::{BUILTIN, Header, Script};
use crate::run::runner::Room;
use crate::run::source::{lesson, near_lessons};
use crate::script::docs::Doc;
use crate::script::session::{Session, Silent};

/// The list of lessons.
///
/// # Errors
/// When the header of a lesson is malformed.
pub fn list(output: ListOutput) -> Result<String, Error> {
    let lessons = BUILTIN.iter().map(|lesson| {
        let header = Script::parse(lesson.name, lesson.source)?.header;
        let header =
            header.ok_or_else(|| Error::new(Kind::Bug, format!("the lesson {} has no header", lesson.name)))?;
        Ok((lesson.name, header))
    });
    let lessons = lessons.collect::<Result<Vec<_>, Error>>()?;
    Ok(match output {
        ListOutput::Json => {
            let values = lessons.iter().map(|(name, header)| header_json(name, header)).collect();
            format!("{}\n", to_json(&Value::Array(values)))
        }
        ListOutput::Table => {
            let head = ["LESSON", "MINUTES", "NEEDS", "QUESTION"].map(str::to_owned).to_vec();
            let rows = lessons.into_iter().map(|(name, header)| {
                vec![name.to_owned(), header.minutes.to_string(), header.needs.join(","), header.question]
            });
            align(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
        }
    })
}

fn header_json(name: &str, header: &Header) -> Value {
    json!({
        "name": name,
        "number": name.split('-').next(),
        "title": header.title,
        "question": header.question,
        "minutes": header.minutes,
        "before": header.before,
        "needs": header.needs,
        "plugin": header.plugin,
        "backends": header.backends,
        "story": header.story,
        "simulated": header.simulated,
    })
}

/// The versions.
pub fn version(output: VersionOutput) -> String {
    match output {
        VersionOutput::Text => {
            format!("gpulab {} (model of Kubernetes {}, Kueue {})\n", config::GPULAB, config::KUBERNETES, config::KUEUE)
        }
        VersionOutput::Json => {
            let versions = serde_json::to_value(Versions::OURS).unwrap_or_default();
            format!("{}\n", to_json(&versions))
        }
    }
}

/// What a lesson or a function is.
///
/// # Errors
/// `Usage` when nothing has this name.
pub fn explain(room: &Room, name: &str) -> Result<String, Error> {
    if let Some(found) = lesson(name) {
        let script = Script::parse(found.name, found.source)?;
        return Ok(script.header.map_or_else(String::new, |header| lesson_text(found.name, &header, room.look())));
    }
    let session = Session::new(room.options(0), Rc::new(Silent))?;
    let bare = name.trim_end_matches("()").trim();
    if let Some(text) = session.documentation(bare).filter(|_| !bare.is_empty()) {
        return Ok(crate::render::style::markdown(&text));
    }
    let mut error = Error::new(Kind::Usage, format!("there is no lesson and no function `{name}`"));
    for near in nearest_two(bare, session.docs().iter().map(Doc::name)).into_iter().chain(near_lessons(bare)).take(2) {
        error = error.hint(format!("did you mean `{near}`?"));
    }
    Err(error.hint("`gpulab list` shows the lessons; `?` in the shell lists the functions"))
}

fn lesson_text(name: &str, header: &Header, look: Look) -> String {
    let mut text = format!("{}\n{}", bold(&header.title), wrap(&header.question, look.width));
    let mut part = |title: &str, body: &str| {
        text.push_str(&format!("\n{}\n{}", dim(title), wrap(body, look.width)));
    };
    part("Before you start", &header.before);
    part("In the hospital", &header.story);
    part("What is simulated", &header.simulated);
    let plugin = if header.plugin { "" } else { ", without the device plugin" };
    let dot = look.dot();
    let minutes = if header.minutes == 1 { "minute" } else { "minutes" };
    text.push_str(&format!(
        "\n{} {minutes}{dot}needs {}{plugin}{dot}backends {}\n{}\n",
        header.minutes,
        header.needs.join(", "),
        header.backends.join(", "),
        bold(&format!("gpulab run {}", name.split('-').next().unwrap_or(name))),
    ));
    text
}
