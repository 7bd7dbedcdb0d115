//! A deterministic model of a Kubernetes 1.36.3 control plane: API server, scheduler, kubelet and controllers.
//!
//! The crate does no I/O, reads no clock and owns its randomness. The same configuration and the same requests give the
//! same bytes. `world` knows all parts; the parts meet only in the store.

pub mod api;
pub mod component;
pub mod config;
pub mod controllers;
pub mod events;
pub mod kubelet;
pub mod plugins;
pub mod rng;
pub mod scheduler;
pub mod time;
pub mod trace;
pub mod value;
pub mod world;

pub use time::VirtualTime;
pub use value::{Map, Text, Value};
pub use world::{Config, World};
