//! Who types `kubectl …` at the prompt is told the script's words.

use crate::error::{Error, Kind};

/// What makes a line with `k` in front a command.
const VERBS: &[&str] = &[
    "get", "describe", "events", "delete", "scale", "cordon", "uncordon", "drain", "label", "taint", "explain",
    "apply", "create", "patch", "wait", "rollout",
];

/// The answer to a line that begins with `kubectl`; `None` for every other line.
pub fn advice(line: &str) -> Option<Error> {
    let mut words = line.split_whitespace();
    let program = words.next()?;
    let words: Vec<&str> = words.collect();
    let command = words.first().is_none_or(|verb| verb.starts_with(|c: char| c.is_ascii_lowercase() || c == '-'));
    let ours =
        program == "kubectl" && command || program == "k" && words.first().is_some_and(|verb| VERBS.contains(verb));
    if !ours {
        return None;
    }
    let error = Error::new(Kind::Usage, "this shell speaks its script language, not kubectl's");
    Some(match translate(&words) {
        Some(form) => error.hint(format!("write `{form}`")),
        None => error.hint("`?` lists what can be written here"),
    })
}

fn translate(words: &[&str]) -> Option<String> {
    let output = flag(words, &["-o", "--output"]);
    let plain: Vec<&str> = arguments(words);
    let (verb, rest) = plain.split_first()?;
    let (kind, names) = split_kind(rest);
    let object = |name: &str| singular(kind).map(|function| format!("{function}({name:?})"));
    let first = names.first().copied();
    match *verb {
        "get" => {
            let selector = flag(words, &["-l", "--selector"]);
            let looked_at = match (first, selector) {
                (Some(name), _) => object(name).unwrap_or_else(|| format!("get({kind:?}, {name:?})")),
                (None, Some(selector)) => format!("{}({selector:?})", plural(kind)?),
                (None, None) => format!("{}()", plural(kind)?),
            };
            Some(match output.as_deref() {
                Some("yaml") => format!("yaml({looked_at})"),
                Some("json") => format!("json({looked_at})"),
                _ => looked_at,
            })
        }
        "describe" => object(first?),
        "events" => Some("events()".into()),
        "delete" => Some(format!("delete({})", object(first?)?)),
        "scale" => Some(format!("scale({}, {})", object(first?)?, flag(words, &["--replicas"])?)),
        "cordon" | "uncordon" | "drain" => Some(format!("{verb}({kind:?})")),
        "label" => {
            let (key, value) = names.get(1)?.split_once('=')?;
            Some(format!("label({}, #{{{key:?}: {value:?}}})", object(first?)?))
        }
        "taint" => {
            let taint = names.get(1)?;
            Some(match taint.strip_suffix('-') {
                Some(taint) => format!("untaint({}, {taint:?})", object(first?)?),
                None => format!("taint({}, {taint:?})", object(first?)?),
            })
        }
        "explain" => Some(format!("explain({kind:?})")),
        "apply" | "create" => Some("apply(`…the manifest…`)".into()),
        "patch" => Some(format!("patch({}, #{{…}})", object(first?)?)),
        "wait" | "rollout" => Some("wait(|| …the condition…, \"30s\")".into()),
        _ => None,
    }
}

/// The words that are neither flags nor values of flags.
fn arguments<'a>(words: &[&'a str]) -> Vec<&'a str> {
    const WITH_VALUE: &[&str] = &["-o", "--output", "-l", "--selector", "-n", "--namespace", "-f", "--replicas"];
    let mut plain = Vec::new();
    let mut skip = false;
    for word in words {
        if skip {
            skip = false;
        } else if WITH_VALUE.contains(word) {
            skip = true;
        } else if !word.starts_with('-') {
            plain.push(*word);
        }
    }
    plain
}

/// The value of a flag: `-o yaml`, `-oyaml`, `--output=yaml`.
fn flag(words: &[&str], names: &[&str]) -> Option<String> {
    let of = |(place, word): (usize, &&str)| {
        names.iter().find_map(|name| {
            let rest = word.strip_prefix(name)?;
            if rest.is_empty() {
                return words.get(place + 1).map(|value| (*value).to_owned());
            }
            match rest.strip_prefix('=') {
                Some(value) => Some(value.to_owned()),
                None => (!name.starts_with("--")).then(|| rest.to_owned()),
            }
        })
    };
    words.iter().enumerate().find_map(of)
}

/// `pod a b` and `pod/a`: the kind, and the words behind it.
fn split_kind<'a>(words: &[&'a str]) -> (&'a str, Vec<&'a str>) {
    match words.split_first() {
        None => ("", Vec::new()),
        Some((first, rest)) => match first.split_once('/') {
            Some((kind, name)) => (kind, std::iter::once(name).chain(rest.iter().copied()).collect()),
            None => (first, rest.to_vec()),
        },
    }
}

fn singular(kind: &str) -> Option<&'static str> {
    match kind {
        "pod" | "pods" | "po" => Some("pod"),
        "node" | "nodes" | "no" => Some("node"),
        "deployment" | "deployments" | "deploy" | "deployment.apps" => Some("deployment"),
        _ => None,
    }
}

fn plural(kind: &str) -> Option<&'static str> {
    match kind {
        "pod" | "pods" | "po" => Some("pods"),
        "node" | "nodes" | "no" => Some("nodes"),
        "event" | "events" | "ev" => Some("events"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(line: &str) -> String {
        advice(line).map_or_else(String::new, |error| error.hints.join("|"))
    }

    #[test]
    fn commands_have_script_forms() {
        for (line, want) in [
            ("kubectl get pods", "write `pods()`"),
            ("k get po -l app=mri", "write `pods(\"app=mri\")`"),
            ("kubectl get pod a -o yaml", "write `yaml(pod(\"a\"))`"),
            ("kubectl get deploy/serve -ojson", "write `json(deployment(\"serve\"))`"),
            ("kubectl get rs serve-1", "write `get(\"rs\", \"serve-1\")`"),
            ("kubectl describe node kind", "write `node(\"kind\")`"),
            ("kubectl scale deployment serve --replicas=3", "write `scale(deployment(\"serve\"), 3)`"),
            ("kubectl delete pod a --now", "write `delete(pod(\"a\"))`"),
            ("kubectl cordon a", "write `cordon(\"a\")`"),
            ("kubectl label node a tier=gold", "write `label(node(\"a\"), #{\"tier\": \"gold\"})`"),
            ("kubectl taint node a maint-", "write `untaint(node(\"a\"), \"maint\")`"),
            ("kubectl fly", "`?` lists what can be written here"),
            ("kubectl", "`?` lists what can be written here"),
        ] {
            assert_eq!(hint(line), want, "{line}");
        }
    }

    #[test]
    fn scripts_are_left_alone() {
        for line in ["pods()", "k = 3", "k.len()", "kubectly()", ""] {
            assert!(advice(line).is_none(), "{line}");
        }
    }
}
