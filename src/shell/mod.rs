//! The interactive room.

pub mod commands;
pub mod editor;
pub mod highlight;
pub mod kubectl;
pub mod repl;
