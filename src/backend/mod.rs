//! What stands behind `kube::Client`.

pub mod embedded;
