//! gpulab: a lab shell for learning, testing and demonstrating how Kubernetes handles GPUs.

pub mod backend;
pub mod error;
pub mod event;
pub mod render;
pub mod run;
pub mod script;
