//! gpulab-plugin.
fn main() {}
