//! CustomResourceDefinitions change what is served.

use super::Server;
use crate::value::Value;

/// Serves, or serves anew, what a definition that was written says.
pub(super) fn definition_changed(_server: &mut Server, _definition: &Value) {}

/// Stops serving what a removed definition said; its objects go with it.
pub(super) fn definition_removed(_server: &mut Server, _definition: &Value) {}
