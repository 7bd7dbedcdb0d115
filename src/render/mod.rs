//! Data to text. Everything here returns strings; only [`printer`] writes.

pub mod json;
pub mod table;
pub mod yaml;
