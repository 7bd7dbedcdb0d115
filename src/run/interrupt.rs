//! Ctrl-C while a script runs. (At the prompt the line editor sees the key itself.)

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ctrl-C this often without effect ends the process, should a statement not be stoppable.
const PATIENCE: u32 = 3;

/// A flag that Ctrl-C sets; who obeys it clears it. Without a signal handler, should the system refuse one, Ctrl-C ends
/// the process as usual.
pub fn watch() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    let listen = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        runtime.block_on(async {
            let mut ignored = 0;
            while tokio::signal::ctrl_c().await.is_ok() {
                ignored = if shared.swap(true, Ordering::SeqCst) { ignored + 1 } else { 1 };
                if ignored >= PATIENCE {
                    give_up();
                }
            }
        });
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(listen);
    flag
}

#[expect(clippy::exit, reason = "the running statement does not react, so there is nobody to hand an exit code to")]
fn give_up() {
    std::process::exit(130);
}
