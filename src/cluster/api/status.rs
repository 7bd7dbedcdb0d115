//! Errors of the API server: Kubernetes `Status` objects with the real words.
//!
//! Source: apimachinery `pkg/api/errors` and `pkg/util/validation/field`.

use crate::{Value, list, object};

/// A refused request. Prints as its message; [`Status::to_value`] is the object a client receives.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// HTTP code.
    pub code: u16,
    /// Machine-readable reason (`NotFound`, `Conflict`, …); empty when upstream gives none.
    pub reason: &'static str,
    /// The sentence a person reads.
    pub message: String,
    /// `details`: null when unknown, `{}` when the router made the error.
    pub details: Value,
    /// A token with which an expired list can go on (`metadata.continue`).
    pub continue_token: Option<String>,
}

/// What an error is about: plural resource and API group.
#[derive(Clone, Copy, Debug)]
pub struct Resource<'a> {
    /// API group, empty for core.
    pub group: &'a str,
    /// Plural resource name.
    pub plural: &'a str,
}

impl Resource<'_> {
    /// `pods` or `deployments.apps`, as messages name it.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    fn details(&self, name: &str) -> Value {
        let mut details = object! { "kind" => self.plural };
        if !name.is_empty() {
            details.set(&["name"], name);
        }
        if !self.group.is_empty() {
            details.set(&["group"], self.group);
        }
        details
    }
}

impl Status {
    /// An error without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Status {
        Status { code, reason, message: message.into(), details: Value::Null, continue_token: None }
    }

    /// The same error with other details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Status {
        self.details = details;
        self
    }

    /// 404: no object of that name.
    pub fn not_found(resource: Resource<'_>, name: &str) -> Status {
        Status::new(404, "NotFound", format!("{} \"{name}\" not found", resource.qualified()))
            .with_details(resource.details(name))
    }

    /// 404: no such path.
    pub fn no_resource() -> Status {
        Status::new(404, "NotFound", "the server could not find the requested resource").with_details(Value::object())
    }

    /// 405.
    pub fn method_not_allowed() -> Status {
        Status::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with_details(Value::object())
    }

    /// 409: the name is taken.
    pub fn already_exists(resource: Resource<'_>, name: &str) -> Status {
        Status::new(409, "AlreadyExists", format!("{} \"{name}\" already exists", resource.qualified()))
            .with_details(resource.details(name))
    }

    /// 409: somebody else was faster, or a precondition failed.
    pub fn conflict(resource: Resource<'_>, name: &str, why: &str) -> Status {
        Status::new(
            409,
            "Conflict",
            format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified()),
        )
        .with_details(resource.details(name))
    }

    /// 409: the resourceVersion is old.
    pub fn modified(resource: Resource<'_>, name: &str) -> Status {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Status::conflict(resource, name, why)
    }

    /// 403: admission says no.
    pub fn forbidden(resource: Resource<'_>, name: &str, why: &str) -> Status {
        let message = if name.is_empty() {
            format!("{} is forbidden: {why}", resource.qualified())
        } else {
            format!("{} \"{name}\" is forbidden: {why}", resource.qualified())
        };
        Status::new(403, "Forbidden", message).with_details(resource.details(name))
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Status {
        Status::new(400, "BadRequest", message)
    }

    /// 410: the resourceVersion or continue token is too old.
    pub fn expired(message: impl Into<String>) -> Status {
        Status::new(410, "Expired", message)
    }

    /// 422 with the causes of each wrong field. `kind` is the kind, not the resource; `group` is empty for core.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Status {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        // Upstream drops repeated messages from the sentence and keeps every cause.
        let mut texts: Vec<String> = Vec::new();
        for error in errors {
            let text = error.to_string();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let sentence = match texts.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let mut details =
            object! { "kind" => kind, "causes" => errors.iter().map(FieldError::cause).collect::<Value>() };
        if !name.is_empty() {
            details.set(&["name"], name);
        }
        if !group.is_empty() {
            details.set(&["group"], group);
        }
        Status::new(422, "Invalid", format!("{qualified} \"{name}\" is invalid: {sentence}")).with_details(details)
    }

    /// The `Status` object.
    pub fn to_value(&self) -> Value {
        let mut status = object! {
            "kind" => "Status", "apiVersion" => "v1", "metadata" => Value::object(), "status" => "Failure",
            "message" => self.message.as_str(), "code" => i64::from(self.code),
        };
        if !self.reason.is_empty() {
            status.set(&["reason"], self.reason);
        }
        if let Some(token) = &self.continue_token {
            status.set(&["metadata", "continue"], token);
        }
        if !self.details.is_null() {
            status.set(&["details"], self.details.clone());
        }
        status
    }
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Path such as `spec.containers[0].name`.
    pub field: String,
    /// Which kind of error.
    pub kind: FieldErrorKind,
    /// The explanation after the kind's own words.
    pub detail: String,
}

/// The kinds of [`FieldError`], each with the value it shows as JSON text where it shows one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// The field is missing.
    Required,
    /// The value (as JSON) is not acceptable.
    Invalid(String),
    /// The value (as JSON) is not among the supported ones.
    NotSupported(String),
    /// The value (as JSON) occurs twice.
    Duplicate(String),
    /// The field may not be set here.
    Forbidden,
    /// The value is too long; nothing of it is shown.
    TooLong,
    /// This many items are too many.
    TooMany(usize),
    /// The value (as JSON) names something that does not exist.
    NotFound(String),
    /// The value (as JSON) has the wrong type.
    TypeInvalid(String),
}

impl FieldError {
    /// `Required value`.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), kind: FieldErrorKind::Required, detail: detail.into() }
    }

    /// `Invalid value`.
    pub fn invalid(field: impl Into<String>, value: &Value, detail: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), kind: FieldErrorKind::Invalid(value.to_json()), detail: detail.into() }
    }

    /// `Unsupported value`, with the supported ones.
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[&str]) -> FieldError {
        let quoted: Vec<String> = supported.iter().map(|one| format!("\"{one}\"")).collect();
        FieldError {
            field: field.into(),
            kind: FieldErrorKind::NotSupported(value.to_json()),
            detail: format!("supported values: {}", quoted.join(", ")),
        }
    }

    /// `Duplicate value`.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> FieldError {
        FieldError { field: field.into(), kind: FieldErrorKind::Duplicate(value.to_json()), detail: String::new() }
    }

    /// `Forbidden`.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> FieldError {
        FieldError { field: field.into(), kind: FieldErrorKind::Forbidden, detail: detail.into() }
    }

    /// The part after `field: `.
    pub fn body(&self) -> String {
        let head = match &self.kind {
            FieldErrorKind::Required => "Required value".to_owned(),
            FieldErrorKind::Invalid(value) => format!("Invalid value: {value}"),
            FieldErrorKind::NotSupported(value) => format!("Unsupported value: {value}"),
            FieldErrorKind::Duplicate(value) => format!("Duplicate value: {value}"),
            FieldErrorKind::Forbidden => "Forbidden".to_owned(),
            FieldErrorKind::TooLong => "Too long".to_owned(),
            FieldErrorKind::TooMany(count) => format!("Too many: {count}"),
            FieldErrorKind::NotFound(value) => format!("Not found: {value}"),
            FieldErrorKind::TypeInvalid(value) => format!("Invalid value: {value}"),
        };
        if self.detail.is_empty() { head } else { format!("{head}: {}", self.detail) }
    }

    fn cause(&self) -> Value {
        let reason = match self.kind {
            FieldErrorKind::Required => "FieldValueRequired",
            FieldErrorKind::Invalid(_) => "FieldValueInvalid",
            FieldErrorKind::NotSupported(_) => "FieldValueNotSupported",
            FieldErrorKind::Duplicate(_) => "FieldValueDuplicate",
            FieldErrorKind::Forbidden => "FieldValueForbidden",
            FieldErrorKind::TooLong => "FieldValueTooLong",
            FieldErrorKind::TooMany(_) => "FieldValueTooMany",
            FieldErrorKind::NotFound(_) => "FieldValueNotFound",
            FieldErrorKind::TypeInvalid(_) => "FieldValueTypeInvalid",
        };
        object! { "reason" => reason, "message" => self.body(), "field" => self.field.as_str() }
    }

    /// Several causes as a list, for details of one's own.
    pub fn causes(errors: &[FieldError]) -> Value {
        let mut causes = list![];
        causes.as_list_mut().extend(errors.iter().map(FieldError::cause));
        causes
    }
}

impl std::fmt::Display for FieldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.field.is_empty() { f.write_str(&self.body()) } else { write!(f, "{}: {}", self.field, self.body()) }
    }
}
