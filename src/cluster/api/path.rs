//! Where a validation is, and what it found wrong so far.

use std::fmt;

use super::status::{FieldError, FieldErrorKind};
use crate::value::Value;

/// A field's place as a chain on the stack: `spec.containers[0].resources.limits[cpu]`. Text is made only for an error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Field(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// A path of one field (which may contain dots).
    pub fn new(name: &'a str) -> Path<'a> {
        Path { parent: None, step: Step::Field(name) }
    }

    /// The member `name` of this.
    pub fn field(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    /// The item `at` of this.
    pub fn index(&'a self, at: usize) -> Path<'a> {
        Path { parent: Some(self), step: Step::Index(at) }
    }

    /// The value under a map's key.
    pub fn key(&'a self, key: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Key(key) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
            if matches!(self.step, Step::Field(_)) {
                f.write_str(".")?;
            }
        }
        match self.step {
            Step::Field(name) => f.write_str(name),
            Step::Index(at) => write!(f, "[{at}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// Collected errors.
#[derive(Debug, Default)]
pub(super) struct Errors(pub Vec<FieldError>);

impl Errors {
    /// `Required value`.
    pub fn required(&mut self, at: &Path<'_>, detail: &str) {
        self.0.push(FieldError::required(at.to_string(), detail));
    }

    /// `Invalid value`.
    pub fn invalid(&mut self, at: &Path<'_>, value: impl Into<Value>, detail: impl Into<String>) {
        self.0.push(FieldError::invalid(at.to_string(), &value.into(), detail));
    }

    /// `Unsupported value`.
    pub fn not_supported(&mut self, at: &Path<'_>, value: &Value, supported: &[&str]) {
        self.0.push(FieldError::not_supported(at.to_string(), value, supported));
    }

    /// `Duplicate value`.
    pub fn duplicate(&mut self, at: &Path<'_>, value: impl Into<Value>) {
        self.0.push(FieldError::duplicate(at.to_string(), &value.into()));
    }

    /// `Forbidden`.
    pub fn forbidden(&mut self, at: &Path<'_>, detail: impl Into<String>) {
        self.0.push(FieldError::forbidden(at.to_string(), detail));
    }

    /// `Not found`.
    pub fn not_found(&mut self, at: &Path<'_>, value: &Value) {
        let kind = FieldErrorKind::NotFound(value.to_json());
        self.0.push(FieldError { field: at.to_string(), kind, detail: String::new() });
    }

    /// `Too long`, counted in bytes.
    pub fn too_long(&mut self, at: &Path<'_>, most: usize) {
        let detail = format!("may not be more than {most} bytes");
        self.0.push(FieldError { field: at.to_string(), kind: FieldErrorKind::TooLong, detail });
    }

    /// `Invalid value` once for each complaint.
    pub fn each(&mut self, at: &Path<'_>, value: &str, complaints: Vec<String>) {
        for complaint in complaints {
            self.invalid(at, value, complaint);
        }
    }

    /// `Invalid value … field is immutable` unless both are equal.
    pub fn immutable(&mut self, at: &Path<'_>, value: &Value, old: &Value) {
        if value != old {
            self.invalid(at, value.clone(), "field is immutable");
        }
    }

    /// `must be greater than or equal to 0` for a negative number.
    pub fn non_negative(&mut self, at: &Path<'_>, value: &Value) {
        if value.int() < 0 {
            self.invalid(at, value.clone(), "must be greater than or equal to 0");
        }
    }

    /// `Required value` for an absent or empty text, `Unsupported value` for one that is not listed.
    pub fn one_of(&mut self, at: &Path<'_>, value: &Value, supported: &[&str]) {
        if value.str().is_empty() {
            self.required(at, "");
        } else if !supported.contains(&value.str()) {
            self.not_supported(at, value, supported);
        }
    }
}
