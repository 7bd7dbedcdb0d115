//! Queries, and the options objects they stand for.

use super::schema::FieldValidation;
use super::status::{FieldError, Status};
use super::{DeleteOptions, Propagation};
use crate::value::{Text, Value};

/// The parameters of a request, decoded.
#[derive(Clone, Debug, Default)]
pub(super) struct Query {
    parameters: Vec<(String, String)>,
}

impl Query {
    pub(super) fn parse(text: &str) -> Query {
        let parameters = text.split('&').filter(|part| !part.is_empty()).map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (unescape(name, true), unescape(value, true))
        });
        Query { parameters: parameters.collect() }
    }

    /// The first value of a parameter; an empty one counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// A truth value as Go's `strconv.ParseBool` takes it; present without value means true.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        let (_, value) = self.parameters.iter().find(|(known, _)| known == name)?;
        Some(!matches!(value.as_str(), "0" | "f" | "F" | "false" | "FALSE" | "False"))
    }

    /// Whether nothing shall be kept.
    ///
    /// # Errors
    /// 422 for any value but `All`.
    pub(super) fn dry_run(&self, options: &str) -> Result<bool, Status> {
        let Some(value) = self.get("dryRun") else { return Ok(false) };
        check_dry_run(options, value)?;
        Ok(true)
    }

    /// What to do about unknown fields.
    ///
    /// # Errors
    /// 422 for an unknown word.
    pub(super) fn field_validation(&self, options: &str) -> Result<FieldValidation, Status> {
        match self.get("fieldValidation") {
            None | Some("Warn") => Ok(FieldValidation::Warn),
            Some("Ignore") => Ok(FieldValidation::Ignore),
            Some("Strict") => Ok(FieldValidation::Strict),
            Some(other) => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                let error = FieldError::not_supported("fieldValidation", &other.into(), &supported);
                Err(Status::invalid("meta.k8s.io", options, "", &[error]))
            }
        }
    }

    /// The field manager: the parameter, else the user agent up to its first `/`.
    pub(super) fn manager<'a>(&'a self, user_agent: &'a str) -> &'a str {
        let agent = user_agent.split('/').next().filter(|agent| !agent.is_empty());
        self.get("fieldManager").or(agent).unwrap_or("unknown")
    }
}

fn check_dry_run(options: &str, value: &str) -> Result<(), Status> {
    if value == "All" {
        return Ok(());
    }
    let error = FieldError::not_supported("dryRun", &Value::from(vec![value.into()]), &["All"]);
    Err(Status::invalid("meta.k8s.io", options, "", &[error]))
}

/// Resolves `%41` and, in queries, `+`.
pub(super) fn unescape(text: &str, plus: bool) -> String {
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).and_then(|pair| std::str::from_utf8(pair).ok());
        let hex = hex.filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match (byte, hex.and_then(|pair| u8::from_str_radix(pair, 16).ok())) {
            (b'%', Some(code)) => {
                decoded.push(code);
                at += 3;
                continue;
            }
            (b'+', _) if plus => decoded.push(b' '),
            _ => decoded.push(*byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// DeleteOptions from the query and, winning over it, from a body.
///
/// # Errors
/// 422 for a wrong policy or dry run.
pub(super) fn delete_options(query: &Query, body: &Value) -> Result<DeleteOptions, Status> {
    let grace = query.get("gracePeriodSeconds").and_then(|seconds| seconds.parse().ok());
    let policy = body.at(&["propagationPolicy"]).as_str().or_else(|| query.get("propagationPolicy"));
    let orphan = body.at(&["orphanDependents"]).as_bool().or_else(|| query.flag("orphanDependents"));
    let propagation = match policy {
        Some("Background") => Some(Propagation::Background),
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(other) => {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            let error = FieldError::not_supported("propagationPolicy", &other.into(), &supported);
            return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &[error]));
        }
        None => orphan.map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background }),
    };
    let text = |field| body.at(&["preconditions", field]).as_str().map(Text::from);
    let mut dry_run = query.dry_run("DeleteOptions")?;
    for value in body.at(&["dryRun"]).items() {
        check_dry_run("DeleteOptions", value.str())?;
        dry_run = true;
    }
    Ok(DeleteOptions {
        grace_period_seconds: body.at(&["gracePeriodSeconds"]).as_i64().or(grace),
        propagation,
        uid: text("uid"),
        resource_version: text("resourceVersion"),
        dry_run,
    })
}
