//! The non-interactive room: scripts from files and from the binary.

pub mod answers;
pub mod catalogue;
pub mod guard;
pub mod interrupt;
pub mod lesson;
pub mod recorder;
pub mod runner;
pub mod source;
