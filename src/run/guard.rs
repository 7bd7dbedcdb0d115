//! A panic must not take the terminal or the session with it: it becomes an error of kind `Bug`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Kind};

/// What the last panic said, wherever it happened.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps the runtime's own report of a panic off the terminal; [`catch`] reports it instead.
pub fn install() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let message = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_owned());
        let place = info.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
        *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("{message}{place}"));
    }));
}

/// Runs `action`.
///
/// # Errors
/// Those of `action`, and `Bug` when it panics.
pub fn catch<T>(action: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|_| {
        let said = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
        let said = said.unwrap_or_else(|| "a panic without a message".to_owned());
        Err(Error::new(Kind::Bug, format!("this is a bug in gpulab: {said}"))
            .hint(format!("please report it, with the script if you can: {}/issues", env!("CARGO_PKG_REPOSITORY"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_bug() {
        install();
        let error = catch(|| -> Result<(), Error> { panic!("lost {}", "count") }).unwrap_err();
        assert_eq!(error.exit_code(), 70);
        assert!(
            error.message.starts_with("this is a bug in gpulab: lost count (src/run/guard.rs:"),
            "{}",
            error.message
        );
        assert_eq!(catch(|| Ok(1)), Ok(1));
    }
}
