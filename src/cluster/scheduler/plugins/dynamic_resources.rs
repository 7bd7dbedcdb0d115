//! DynamicResources: what it says in PostFilter about a pod without claims.

/// The first part of every preemption suffix.
pub const NO_CLAIMS: &str = "no new claims to deallocate";
