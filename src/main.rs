//! argv in, exit code out.

fn main() -> std::process::ExitCode {
    gpulab::run(std::env::args_os()).into()
}
