//! The nearest right name for a wrong one.

/// Up to two of `known` that are close to `wrong`, nearest first.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = wrong.to_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .filter(|name| *name != wrong)
        .map(|name| (closeness(&lower, &name.to_lowercase()), name))
        .filter(|(score, _)| *score >= 0.8)
        .collect();
    scored.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| one.1.cmp(two.1)));
    scored.dedup_by(|one, two| one.1 == two.1);
    // A second one only when it is about as close.
    let best = scored.first().map_or(0.0, |(score, _)| *score);
    scored.into_iter().filter(|(score, _)| best - score < 0.04).take(2).map(|(_, name)| name).collect()
}

fn closeness(wrong: &str, name: &str) -> f64 {
    // A word cut short or one letter off in a short word scores low by Jaro-Winkler alone.
    let longest = wrong.chars().count().max(name.chars().count());
    let distance = strsim::damerau_levenshtein(wrong, name);
    let similar = strsim::jaro_winkler(wrong, name);
    if distance <= 1 && longest >= 3 { similar.max(0.9) } else { similar }
}

/// `; did you mean "a" or "b"?`, or nothing.
pub fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(wrong, known).as_slice() {
        [] => String::new(),
        [one] => format!("; did you mean \"{one}\"?"),
        [one, two, ..] => format!("; did you mean \"{one}\" or \"{two}\"?"),
    }
}

/// Words that users of other tools type, and what they are called here.
pub const SYNONYMS: &[(&str, &str)] = &[
    ("annotate", "patch"),
    ("count", "len"),
    ("create", "apply"),
    ("describe", "print"),
    ("display", "print"),
    ("echo", "print"),
    ("exec", "finish"),
    ("head", "pods"),
    ("kill", "delete"),
    ("kubectl", "get"),
    ("length", "len"),
    ("logs", "events"),
    ("nvidia_smi", "nodes"),
    ("printf", "print"),
    ("println", "print"),
    ("remove", "delete"),
    ("rm", "delete"),
    ("run", "submit"),
    ("sacct", "pods"),
    ("sbatch", "submit"),
    ("scancel", "delete"),
    ("show", "print"),
    ("sinfo", "nodes"),
    ("size", "len"),
    ("squeue", "pods"),
    ("srun", "submit"),
    ("status", "phase"),
    ("tick", "step"),
    ("wait_for", "wait"),
    ("wait_until", "wait"),
];

/// The name used here for a word of another tool.
pub fn synonym(word: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|(other, _)| *other == word).map(|(_, ours)| *ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("gpu-nod-1", ["gpu-node-1", "cpu", "other"]), ["gpu-node-1"]);
        assert_eq!(nearest("gpu", ["gpus", "node"]), ["gpus"]);
        assert!(nearest("zebra", ["gpus", "node"]).is_empty());
        assert_eq!(did_you_mean("pod", ["pods"]), "; did you mean \"pods\"?");
        assert_eq!(synonym("sbatch"), Some("submit"));
    }
}
