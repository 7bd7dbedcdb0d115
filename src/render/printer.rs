//! The only place that writes to standard output and standard error. Data goes to the first, talk to the second.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Write};

use anstream::{AutoStream, ColorChoice};

use crate::error::{Error, Kind};

/// Both outputs of the process.
pub struct Printer {
    out: RefCell<Box<dyn Write>>,
    err: RefCell<Box<dyn Write>>,
    closed: Cell<bool>,
}

impl Printer {
    /// Standard output and standard error, each with or without colours.
    pub fn new(colour_out: bool, colour_err: bool) -> Printer {
        let choice = |coloured| if coloured { ColorChoice::AlwaysAnsi } else { ColorChoice::Never };
        Printer::to(
            Box::new(AutoStream::new(std::io::stdout(), choice(colour_out))),
            Box::new(AutoStream::new(std::io::stderr(), choice(colour_err))),
        )
    }

    /// Other outputs, for tests.
    pub fn to(out: Box<dyn Write>, err: Box<dyn Write>) -> Printer {
        Printer { out: RefCell::new(out), err: RefCell::new(err), closed: Cell::new(false) }
    }

    /// Writes data.
    ///
    /// # Errors
    /// `Exit(0)` when nobody reads any more (the process then ends silently); `Script` when the system refuses to write.
    pub fn data(&self, text: &str) -> Result<(), Error> {
        let mut out = self.out.borrow_mut();
        let result = if self.closed.get() {
            Err(ErrorKind::BrokenPipe.into())
        } else {
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        };
        result.map_err(|error| {
            if error.kind() == ErrorKind::BrokenPipe {
                self.closed.set(true);
                Error::new(Kind::Exit(0), "the output is closed")
            } else {
                Error::new(Kind::Script, format!("cannot write the output: {error}"))
            }
        })
    }

    /// Writes talk. Nothing can be done when that fails.
    pub fn talk(&self, text: &str) {
        let mut err = self.err.borrow_mut();
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }

    /// Whether the reader of standard output went away.
    pub fn closed(&self) -> bool {
        self.closed.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_a_quiet_end() {
        let printer = Printer::to(Box::new(Broken(ErrorKind::BrokenPipe)), Box::new(Vec::new()));
        assert_eq!(printer.data("x").unwrap_err().kind, Kind::Exit(0));
        assert!(printer.closed());
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let printer = Printer::to(Box::new(Broken(ErrorKind::StorageFull)), Box::new(Vec::new()));
        assert_eq!(printer.data("x").unwrap_err().exit_code(), 1);
        assert!(!printer.closed());
    }
}
