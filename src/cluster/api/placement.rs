//! Taints, tolerations and what a pod requires of its node, compiled once. The scheduler filters by them, and a kubelet
//! checks them again.
//!
//! Source: `component-helpers` `scheduling/corev1`.

use super::selector::{Operator, Requirement, Selector};
use crate::value::{Text, Value};

/// A taint that a node carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Its key.
    pub key: Text,
    /// Its value.
    pub value: Text,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Text,
}

impl Taint {
    /// From the API form.
    pub fn of(taint: &Value) -> Taint {
        Taint {
            key: taint.at(&["key"]).text(),
            value: taint.at(&["value"]).text(),
            effect: taint.at(&["effect"]).text(),
        }
    }

    /// Whether it keeps pods away when they are scheduled.
    pub fn repels(&self) -> bool {
        self.effect == "NoSchedule" || self.effect == "NoExecute"
    }
}

/// A toleration of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    key: Text,
    exists: bool,
    value: Text,
    effect: Text,
}

impl Toleration {
    /// From the API form.
    pub fn of(toleration: &Value) -> Toleration {
        Toleration {
            key: toleration.at(&["key"]).text(),
            exists: toleration.at(&["operator"]).str() == "Exists",
            value: toleration.at(&["value"]).text(),
            effect: toleration.at(&["effect"]).text(),
        }
    }

    /// Whether it tolerates `taint` (core `toleration.go`).
    pub fn tolerates(&self, taint: &Taint) -> bool {
        (self.effect.is_empty() || self.effect == taint.effect)
            && (self.key.is_empty() || self.key == taint.key)
            && (self.exists || self.value == taint.value)
    }

    /// Whether it speaks of preferences only or of everything.
    pub fn may_prefer(&self) -> bool {
        self.effect.is_empty() || self.effect == "PreferNoSchedule"
    }
}

/// Whether one of `tolerations` tolerates `taint`.
pub fn tolerated(tolerations: &[Toleration], taint: &Taint) -> bool {
    tolerations.iter().any(|toleration| toleration.tolerates(taint))
}

/// Whether a taint keeps a pod with these tolerations away.
pub fn repelled(tolerations: &[Toleration], taints: &[Taint]) -> bool {
    taints.iter().any(|taint| taint.repels() && !tolerated(tolerations, taint))
}

/// One alternative of a node affinity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTerm {
    labels: Vec<Requirement>,
    fields: Vec<Requirement>,
}

impl NodeTerm {
    /// From the API form.
    pub fn of(term: &Value) -> NodeTerm {
        let compile = |list: &Value| list.items().iter().filter_map(Selector::expression).collect();
        NodeTerm { labels: compile(term.at(&["matchExpressions"])), fields: compile(term.at(&["matchFields"])) }
    }

    /// Whether it requires nothing.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether the node meets every requirement; a term without any meets none.
    pub fn matches(&self, name: &str, labels: &Value) -> bool {
        !self.is_empty()
            && self.labels.iter().all(|requirement| requirement.matches(labels))
            && self.fields.iter().all(|requirement| {
                let named = requirement.key == "metadata.name" && requirement.values.iter().any(|value| value == name);
                match requirement.operator {
                    Operator::In => named,
                    Operator::NotIn => !named,
                    _ => false,
                }
            })
    }

    /// The node names that the term is bound to, if it is.
    pub fn names(&self) -> Option<Vec<Text>> {
        let mut bound = self
            .fields
            .iter()
            .filter(|requirement| requirement.key == "metadata.name" && requirement.operator == Operator::In);
        let mut names = bound.next()?.values.clone();
        for requirement in bound {
            names.retain(|name| requirement.values.contains(name));
        }
        Some(names)
    }
}

/// `nodeSelector` and the required node affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRequirement {
    /// `nodeSelector`.
    pub selector: Selector,
    /// Alternatives; none means no affinity.
    pub terms: Option<Vec<NodeTerm>>,
}

impl NodeRequirement {
    /// From a pod's specification; none when there is nothing to require.
    pub fn of(spec: &Value) -> Option<NodeRequirement> {
        let required = spec.at(&[
            "affinity",
            "nodeAffinity",
            "requiredDuringSchedulingIgnoredDuringExecution",
            "nodeSelectorTerms",
        ]);
        let selector = spec.at(&["nodeSelector"]);
        if required.is_null() && selector.entries().is_empty() {
            return None;
        }
        let terms = (!required.is_null()).then(|| required.items().iter().map(NodeTerm::of).collect());
        Some(NodeRequirement { selector: Selector::of_labels(selector), terms })
    }

    /// Whether a node satisfies it.
    pub fn matches(&self, name: &str, labels: &Value) -> bool {
        self.selector.matches(labels)
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{list, object};

    #[test]
    fn a_toleration_leaves_out_what_it_does_not_care_about() {
        let taint = Taint::of(&object! { "key" => "team", "value" => "mri", "effect" => "NoExecute" });
        for (toleration, tolerates) in [
            (object! { "operator" => "Exists" }, true),
            (object! { "key" => "team", "operator" => "Exists" }, true),
            (object! { "key" => "team", "operator" => "Exists", "effect" => "NoExecute" }, true),
            (object! { "key" => "team", "operator" => "Exists", "effect" => "NoSchedule" }, false),
            (object! { "key" => "team", "value" => "mri" }, true),
            (object! { "key" => "team", "operator" => "Equal", "value" => "ct" }, false),
            (object! { "key" => "other", "operator" => "Exists" }, false),
        ] {
            assert_eq!(Toleration::of(&toleration).tolerates(&taint), tolerates, "{toleration:?}");
        }
    }

    #[test]
    fn selector_and_affinity_have_to_hold_both_and_an_empty_term_never_does() {
        let labels = object! { "wing" => "west" };
        let terms = |terms: Value| {
            let required = object! { "nodeSelectorTerms" => terms };
            let affinity = object! { "requiredDuringSchedulingIgnoredDuringExecution" => required };
            object! { "affinity" => object! { "nodeAffinity" => affinity } }
        };
        let named = |operator: &str| {
            let field = object! { "key" => "metadata.name", "operator" => operator, "values" => list!["n1"] };
            terms(list![object! { "matchFields" => list![field] }])
        };
        let mut both = named("In");
        both.set(&["nodeSelector", "wing"], "east");
        for (spec, matches) in [
            (named("In"), true),
            (named("NotIn"), false),
            (terms(list![object! {}]), false),
            (object! { "nodeSelector" => object! { "wing" => "west" } }, true),
            (both, false),
        ] {
            let required = NodeRequirement::of(&spec).expect("something is required");
            assert_eq!(required.matches("n1", &labels), matches, "{spec:?}");
        }
        assert_eq!(NodeRequirement::of(&object! {}), None);
    }
}
