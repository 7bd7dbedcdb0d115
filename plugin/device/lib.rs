//! gpulab.
