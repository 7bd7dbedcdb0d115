//! What the command line, the environment and the terminal say together, resolved once.
//!
//! Nothing else reads the environment.

use std::io::IsTerminal;
use std::path::PathBuf;

use crate::cli::{Colour, Global};

/// This program's version.
pub const GPULAB: &str = env!("CARGO_PKG_VERSION");
/// The version of Kubernetes that the model follows.
pub const KUBERNETES: &str = "1.36.3";
/// The version of Kueue that the model follows.
pub const KUEUE: &str = "0.19.0";

/// Columns of text when the output is not a terminal.
const PLAIN_WIDTH: usize = 80;
/// Longer lines are hard to read on any screen.
const WIDEST: usize = 100;

/// How this process behaves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Colours on standard output.
    pub colour_out: bool,
    /// Colours on standard error.
    pub colour_err: bool,
    /// Whether the locale can show more than ASCII.
    pub unicode: bool,
    /// Columns of running text.
    pub width: usize,
    /// Whether somebody sits at a terminal: input and output both are one.
    pub terminal: bool,
    /// How much to say, from 0.
    pub verbose: u8,
    /// The namespace that scripts begin in.
    pub namespace: String,
    /// Where the history of the shell is kept; `None` when the system names no such place.
    pub state: Option<PathBuf>,
}

impl Settings {
    /// Flags win over the environment, which wins over what the terminal says.
    pub fn resolve(global: &Global) -> Settings {
        let out = std::io::stdout();
        let coloured = |automatic: anstream::ColorChoice| match global.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => automatic != anstream::ColorChoice::Never,
        };
        let terminal_width = if out.is_terminal() { terminal_size::terminal_size() } else { None };
        Settings {
            colour_out: coloured(anstream::AutoStream::choice(&out)),
            colour_err: coloured(anstream::AutoStream::choice(&std::io::stderr())),
            unicode: speaks_unicode(|name| std::env::var(name).ok()),
            width: terminal_width.map_or(PLAIN_WIDTH, |(width, _)| usize::from(width.0).clamp(20, WIDEST)),
            terminal: std::io::stdin().is_terminal() && out.is_terminal(),
            verbose: global.verbose,
            namespace: global.namespace.clone(),
            state: state_directory(),
        }
    }
}

/// The first variable that is set decides, as in every C library; with none set, terminals of today speak UTF-8.
fn speaks_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    match ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set) {
        Some(locale) => {
            let locale = locale.to_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        }
        None => true,
    }
}

/// `GPULAB_HOME`, else the state directory of the system; XDG variables count everywhere.
fn state_directory() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(home) = std::env::var_os("GPULAB_HOME").filter(|home| !home.is_empty()) {
        return Some(PathBuf::from(home));
    }
    if let Some(state) = absolute("XDG_STATE_HOME") {
        return Some(state.join("gpulab"));
    }
    let places = directories::ProjectDirs::from("", "", "gpulab")?;
    Some(places.state_dir().unwrap_or_else(|| places.data_local_dir()).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_decides_about_signs() {
        let with = |values: &'static [(&str, &str)]| {
            speaks_unicode(move |name| {
                values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(with(&[]));
        assert!(with(&[("LANG", "de_DE.UTF-8")]));
        assert!(with(&[("LC_ALL", ""), ("LANG", "C.utf8")]));
        assert!(!with(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]));
        assert!(!with(&[("LANG", "POSIX")]));
    }
}
