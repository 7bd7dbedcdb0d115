//! Data to text. Everything here returns strings; only [`printer`] writes.

pub mod json;
pub mod lines;
pub mod printer;
pub mod report;
pub mod style;
pub mod table;
pub mod transcript;
pub mod yaml;
