//! Admission: what the server adds to objects and refuses on other grounds than their own fields.

use super::registry::Kind;
use super::status::Status;
use super::{Caller, Server};
use crate::value::Value;

/// Admission of a new object; may change it.
///
/// # Errors
/// 403 or 404 with the words of the plugin that refuses.
pub fn admit_create(_server: &Server, _caller: &Caller<'_>, _kind: Kind, _object: &mut Value) -> Result<(), Status> {
    Ok(())
}
