//! The vocabulary of scripts, and the session that evaluates them.

pub mod session;
