//! What a client accepts, and in which form it gets it.
//!
//! Source: apiserver `pkg/endpoints/handlers/negotiation`.

use super::status::Status;
use crate::value::Value;

/// What a Table row carries beside its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Include {
    /// The metadata.
    #[default]
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    None,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// The object itself.
    #[default]
    Object,
    /// A `meta.k8s.io/v1` Table.
    Table(Include),
    /// Only metadata.
    Partial,
}

/// Chooses the form for an `Accept` header.
///
/// # Errors
/// 406 when nothing fits, 400 for an unknown `includeObject`.
pub(super) fn form(accept: &str, include: Option<&str>) -> Result<Form, Status> {
    let include = match include {
        None | Some("Metadata") => Include::Metadata,
        Some("Object") => Include::Object,
        Some("None") => Include::None,
        Some(other) => return Err(Status::bad_request(format!("unrecognized includeObject value: {other:?}"))),
    };
    let (mut routed, mut unspoken) = (accept.trim().is_empty(), false);
    for (media, parameters) in entries(accept) {
        unspoken |= matches!(media, "application/yaml" | "application/vnd.kubernetes.protobuf");
        if !matches!(media, "application/json" | "*/*" | "application/*") {
            continue;
        }
        routed = true;
        let parameter = |name| parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        let meta = parameter("g") == Some("meta.k8s.io") && matches!(parameter("v"), Some("v1" | "v1beta1"));
        match parameter("as") {
            None => return Ok(Form::Object),
            Some("Table") if meta => return Ok(Form::Table(include)),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") if meta => return Ok(Form::Partial),
            Some(_) => {}
        }
    }
    if accept.trim().is_empty() {
        return Ok(Form::Object);
    }
    let message = if unspoken {
        "only the following media types are accepted: application/json"
    } else if routed {
        "only the following media types are accepted: application/json, application/yaml, \
         application/vnd.kubernetes.protobuf"
    } else {
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
         application/vnd.kubernetes.protobuf"
    };
    let status = Status::new(406, "NotAcceptable", message);
    Err(if routed || unspoken { status } else { status.with_details(Value::object()) })
}

type Parameters<'a> = Vec<(&'a str, &'a str)>;

/// Media types with their parameters, best first.
pub(super) fn entries(accept: &str) -> Vec<(&str, Parameters<'_>)> {
    let mut entries: Vec<(u32, &str, Parameters<'_>)> = accept
        .split(',')
        .filter_map(|entry| {
            let mut parts = entry.split(';').map(str::trim);
            let media = parts.next().filter(|media| !media.is_empty())?;
            let parameters: Parameters<'_> = parts.filter_map(|part| part.split_once('=')).collect();
            let quality = parameters.iter().find(|(name, _)| *name == "q");
            let quality = quality.and_then(|(_, value)| value.parse::<f64>().ok()).unwrap_or(1.0);
            Some(((1000.0 * (1.0 - quality.clamp(0.0, 1.0))) as u32, media, parameters))
        })
        .collect();
    entries.sort_by_key(|(rank, ..)| *rank);
    entries.into_iter().map(|(_, media, parameters)| (media, parameters)).collect()
}
