//! The non-interactive room: scripts from files and from the binary.

pub mod lesson;
