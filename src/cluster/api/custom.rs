//! Custom resources: what a CustomResourceDefinition makes of the server.

use super::schema::Merging;
use crate::value::Value;

/// A structural schema.
#[derive(Debug)]
pub struct Structural {}

impl Structural {
    pub(super) fn decode(&self, object: Value) -> Result<(Value, Vec<String>), String> {
        Ok((object, Vec::new()))
    }
    pub(super) fn member(&self, _name: &str) -> Option<&Structural> {
        None
    }
    pub(super) fn items(&self) -> Option<&Structural> {
        None
    }
    pub(super) fn merging(&self, _value: &Value) -> Merging<'_> {
        Merging::Granular
    }
}
