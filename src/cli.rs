//! The command line: types only.

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Learn, test and demonstrate how Kubernetes discovers, schedules, shares and recovers GPUs, without owning one.
#[derive(Debug, Parser)]
#[command(name = "gpulab", version, propagate_version = true, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Begin with `gpulab list`, then `gpulab run 01`; `gpulab shell` is a lab of your own.")]
pub struct Cli {
    /// What every command understands.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command understands.
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// Colours in the output
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub color: Colour,
    /// Says more: each statement before its output
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// The namespace that scripts begin in
    #[arg(short, long, global = true, default_value = "default", value_name = "NAME", value_parser = namespace)]
    pub namespace: String,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal that understands them, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs a script or a built-in lesson
    Run(RunArgs),
    /// A prompt in a lab of your own; piped input runs without a prompt and stops at the first error
    Shell(ShellArgs),
    /// Lists the built-in lessons
    List {
        /// Output form
        #[arg(short, long, value_enum, default_value_t = ListOutput::Table, value_name = "FORM")]
        output: ListOutput,
    },
    /// Explains a lesson or a function of the script language
    Explain {
        /// A lesson's number or name, or a function's name
        name: String,
    },
    /// Says which versions this is, and which it models
    Version {
        /// Output form
        #[arg(short, long, value_enum, default_value_t = VersionOutput::Text, value_name = "FORM")]
        output: VersionOutput,
    },
}

/// `gpulab run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// A file, a lesson's number or name, or `-` for standard input; an existing file wins
    #[arg(value_name = "FILE|NUMBER|-")]
    pub script: String,
    /// Everything random follows from this number
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// What stands behind the script
    #[arg(long, value_enum, default_value_t = Backend::Embedded, value_name = "NAME")]
    pub backend: Backend,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORM")]
    pub format: Format,
    /// Answers to the predictions: `skip`, or a file with one answer a line; without it, you are asked on a terminal
    #[arg(long, value_name = "skip|FILE")]
    pub answers: Option<String>,
    /// Stays in the shell afterwards
    #[arg(short, long)]
    pub interactive: bool,
    /// What `args()` returns in the script
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

/// `gpulab shell`.
#[derive(Args, Debug)]
pub struct ShellArgs {
    /// Evaluates this instead of reading input; repeatable
    #[arg(short, long = "eval", value_name = "EXPR")]
    pub expressions: Vec<String>,
    /// Everything random follows from this number
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// What stands behind the lab
    #[arg(long, value_enum, default_value_t = Backend::Embedded, value_name = "NAME")]
    pub backend: Backend,
}

/// What stands behind the scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The deterministic model in this program.
    Embedded,
    /// A real cluster.
    Kube,
    /// Both, compared.
    Both,
}

/// Form of what a script shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For reading.
    Text,
    /// One JSON object a line.
    Jsonl,
}

/// Form of the list of lessons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListOutput {
    /// For reading.
    Table,
    /// One JSON array.
    Json,
}

/// Form of the versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VersionOutput {
    /// For reading.
    Text,
    /// One JSON object.
    Json,
}

/// A namespace's name is a DNS label.
fn namespace(text: &str) -> Result<String, String> {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = !text.is_empty() && text.len() <= 63 && text.chars().all(inner);
    if fits && !text.starts_with('-') && !text.ends_with('-') {
        Ok(text.to_owned())
    } else {
        Err("a namespace is at most 63 lower-case letters, digits and `-`, and begins and ends with a letter or digit"
            .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn arguments_of_the_script_come_behind_two_dashes() {
        let cli = Cli::try_parse_from(["gpulab", "run", "x.rhai", "--seed", "7", "--", "--gpus", "8"]).unwrap();
        let Command::Run(run) = cli.command else { panic!("not run") };
        assert_eq!((run.script.as_str(), run.seed), ("x.rhai", 7));
        assert_eq!(run.args, ["--gpus", "8"]);
    }

    #[test]
    fn namespaces_are_dns_labels() {
        assert!(namespace("team-a").is_ok());
        for bad in ["", "-a", "a-", "A", "a.b"] {
            assert!(namespace(bad).is_err(), "{bad}");
        }
    }
}
