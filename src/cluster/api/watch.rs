//! Watches: what a client has seen, and what it has to see next.

use super::Server;
use crate::value::Value;

/// One open watch.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// Changes up to this revision were delivered.
    pub revision: u64,
}

impl Watch {
    /// The events that happened since the last poll, oldest first. The flag says that the stream ends after them.
    pub fn poll(&mut self, _server: &Server) -> (Vec<Value>, bool) {
        (Vec::new(), true)
    }
}
