//! Reads a carried recording: the transcript as steps, the observations as JSON.
//!
//! A folder of `tests/golden` holds `README.md` (what was done, in order), the manifests, the observations of the first
//! recording and, under `repeat`, those of the second. Adding a folder adds an experiment.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

/// One recorded experiment.
#[derive(Debug)]
pub struct Experiment {
    pub folder: PathBuf,
    pub steps: Vec<Step>,
}

/// One step of the transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Two digits, as in the transcript.
    pub number: String,
    /// Time since the start, where the transcript says it.
    pub at: Option<Duration>,
    pub action: Action,
    /// What was printed.
    pub output: String,
    /// What was then waited for, in the transcript's words.
    pub reached: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Compare with what the file says.
    Observe(String),
    /// `kubectl apply -f FILE`.
    Apply(String),
    /// Any other command, without the word `kubectl`.
    Kubectl(String),
}

impl Experiment {
    /// The experiment whose folder begins with this number.
    pub fn load(number: &str) -> Experiment {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let folder = fs::read_dir(&golden)
            .expect("the golden folder")
            .map(|entry| entry.expect("an entry").path())
            .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{number}-"))))
            .unwrap_or_else(|| panic!("no folder {number}- in {}", golden.display()));
        let transcript = fs::read_to_string(folder.join("README.md")).expect("a transcript");
        Experiment { steps: steps(&transcript), folder }
    }

    /// Text of a manifest.
    pub fn text(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// What both recordings saw.
    pub fn recordings(&self, file: &str) -> [Value; 2] {
        [file.to_owned(), format!("repeat/{file}")]
            .map(|file| serde_json::from_str(&self.text(&file)).unwrap_or_else(|error| panic!("{file}: {error}")))
    }

    /// Names of all files that are observed, the start state first.
    pub fn observations(&self) -> Vec<String> {
        let observed = self.steps.iter().filter_map(|step| match &step.action {
            Action::Observe(file) => Some(file.clone()),
            _ => None,
        });
        std::iter::once("00-start.json".to_owned()).chain(observed).collect()
    }
}

fn steps(transcript: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut fenced = false;
    for line in transcript.lines() {
        if line == "```" {
            fenced = !fenced;
        } else if let Some(step) = steps.last_mut().filter(|_| fenced) {
            step.output.push_str(line);
            step.output.push('\n');
        } else if let Some(step) = heading(line) {
            steps.push(step);
        } else if let (Some(words), Some(step)) = (line.strip_prefix("(reached: "), steps.last_mut()) {
            step.reached = words.strip_suffix(')').map(str::to_owned);
        }
    }
    steps
}

/// `NN. observe FILE (+3 s)`, `NN. apply FILE (+3 s)` or ``NN. `kubectl …` ``.
fn heading(line: &str) -> Option<Step> {
    let (number, rest) = line.split_once(". ")?;
    if number.len() != 2 || !number.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let action = if let Some(command) = rest.strip_prefix("`kubectl ") {
        Action::Kubectl(command.rsplit_once('`')?.0.to_owned())
    } else {
        let mut words = rest.split(' ');
        match (words.next()?, words.next()?) {
            ("observe", file) => Action::Observe(file.to_owned()),
            ("apply", file) => Action::Apply(file.to_owned()),
            _ => return None,
        }
    };
    let at = rest.rsplit_once("(+").and_then(|(_, seconds)| seconds.split(' ').next()?.parse().ok());
    Some(Step {
        number: number.to_owned(),
        at: at.map(Duration::from_secs),
        action,
        output: String::new(),
        reached: None,
    })
}

#[test]
fn a_transcript_becomes_steps() {
    let text = "# title\n\n00. start state: 00-start.json. Offsets (+3 s) are.\n\n01. apply 01-a.yaml (+2 s)\n\n```\npod/a created\n```\n\n(reached: 4 Running)\n\n02. `kubectl scale deploy/a --replicas=5`\n\n03. observe 03-b.json (+13 s)\n";
    let steps = steps(text);
    assert_eq!(steps.len(), 3);
    assert_eq!(steps[0].action, Action::Apply("01-a.yaml".into()));
    assert_eq!(steps[0].output, "pod/a created\n");
    assert_eq!(steps[0].reached.as_deref(), Some("4 Running"));
    assert_eq!(steps[1].action, Action::Kubectl("scale deploy/a --replicas=5".into()));
    assert_eq!((steps[1].at, steps[2].at), (None, Some(Duration::from_secs(13))));
}
