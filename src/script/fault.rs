//! What goes wrong inside a host function, on its way through the script.

use rhai::{Dynamic, EvalAltResult, Position};

use crate::error::Kind;

/// Result of host functions.
pub type Res<T> = Result<T, Box<EvalAltResult>>;

/// An error that scripts can catch; `catch (e)` gives it as `e`.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Decides the exit code.
    pub kind: Kind,
    /// What happened and why.
    pub message: String,
    /// What to do about it.
    pub hints: Vec<String>,
    /// HTTP code of a refused request, 0 otherwise.
    pub code: i64,
    /// Reason of a refused request (`NotFound`), empty otherwise.
    pub reason: String,
}

impl Fault {
    /// An error of the script or of what it asked for.
    pub fn script(message: impl Into<String>) -> Fault {
        Fault::new(Kind::Script, message)
    }

    /// An error of the given kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Fault {
        Fault { kind, message: message.into(), hints: Vec::new(), code: 0, reason: String::new() }
    }

    /// The same with one more hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hints.push(hint.into());
        self
    }

    /// Whether the object was not there.
    pub fn is_not_found(&self) -> bool {
        self.code == 404
    }
}

impl From<Fault> for Box<EvalAltResult> {
    fn from(fault: Fault) -> Box<EvalAltResult> {
        if fault.kind == Kind::Interrupted {
            return stop(Stop::Interrupted);
        }
        Box::new(EvalAltResult::ErrorRuntime(Dynamic::from(fault), Position::NONE))
    }
}

/// The fault inside a script error that is known to hold one, or one that says the same.
impl From<Box<EvalAltResult>> for Fault {
    fn from(error: Box<EvalAltResult>) -> Fault {
        match *error {
            EvalAltResult::ErrorRuntime(value, _) if value.is::<Fault>() => {
                value.try_cast::<Fault>().unwrap_or_else(|| Fault::script("unknown error"))
            }
            EvalAltResult::ErrorTerminated(..) => Fault::new(Kind::Interrupted, "cancelled"),
            other => Fault::script(other.to_string()),
        }
    }
}

/// Why a script ends at once; `try` cannot catch it.
#[derive(Clone, Debug)]
pub enum Stop {
    /// Ctrl-C.
    Interrupted,
    /// `exit(n)`.
    Exit(u8),
    /// The output is gone or another error that no script can mend.
    Error(Box<crate::error::Error>),
}

/// The script error that ends the script.
pub fn stop(why: Stop) -> Box<EvalAltResult> {
    Box::new(EvalAltResult::ErrorTerminated(Dynamic::from(why), Position::NONE))
}
