//! The scoring strategy of NodeResourcesFit, the part of a profile that users choose.
//!
//! Source: `apis/config/types_pluginargs.go`, `apis/config/validation/validation_pluginargs.go`.

use crate::value::{Text, Value};

/// Points of utilisation (0..100) and score (0..100), in rising order.
pub type Shape = Vec<(i64, i64)>;

/// How the use of a node becomes a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StrategyType {
    /// Empty nodes first.
    LeastAllocated,
    /// Full nodes first.
    MostAllocated,
    /// As the shape says.
    RequestedToCapacityRatio(Shape),
}

/// `scoringStrategy` of NodeResourcesFit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// The formula.
    pub kind: StrategyType,
    /// Resources and their weights.
    pub resources: Vec<(Text, i64)>,
}

impl Default for Strategy {
    fn default() -> Strategy {
        Strategy { kind: StrategyType::LeastAllocated, resources: vec![("cpu".into(), 1), ("memory".into(), 1)] }
    }
}

impl Strategy {
    /// From `{strategy, resources: {name: weight}, shape: [{utilization, score}]}`; null is the default.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn of(profile: &Value) -> Result<Strategy, String> {
        if profile.is_null() {
            return Ok(Strategy::default());
        }
        let Some(map) = profile.as_map() else {
            return Err("a scheduler profile is a map with strategy, resources and shape".into());
        };
        for (key, _) in map {
            if !["strategy", "resources", "shape"].contains(&key.as_str()) {
                return Err(format!("a scheduler profile has no '{key}'; it has strategy, resources and shape"));
            }
        }
        let shape = profile.at(&["shape"]);
        let kind = match profile.at(&["strategy"]) {
            Value::Null => StrategyType::LeastAllocated,
            Value::String(name) if name == "LeastAllocated" => StrategyType::LeastAllocated,
            Value::String(name) if name == "MostAllocated" => StrategyType::MostAllocated,
            Value::String(name) if name == "RequestedToCapacityRatio" => {
                StrategyType::RequestedToCapacityRatio(parse_shape(shape)?)
            }
            other => {
                let known = "LeastAllocated, MostAllocated or RequestedToCapacityRatio";
                return Err(format!("strategy {} is unknown; it is {known}", other.to_json()));
            }
        };
        if !shape.is_null() && !matches!(kind, StrategyType::RequestedToCapacityRatio(_)) {
            return Err("a shape goes with the strategy RequestedToCapacityRatio only".into());
        }
        let resources = parse_resources(profile.at(&["resources"]))?;
        Ok(Strategy { kind, resources })
    }
}

fn parse_resources(resources: &Value) -> Result<Vec<(Text, i64)>, String> {
    if resources.is_null() {
        return Ok(Strategy::default().resources);
    }
    let entries = resources.entries();
    if entries.is_empty() {
        return Err("resources is a map of resource names and weights, such as #{\"cpu\": 1}".into());
    }
    let weight = |(name, weight): &(Text, Value)| match weight {
        Value::Int(weight @ 1..=100) => Ok((name.clone(), *weight)),
        other => Err(format!("the weight of {name} is a whole number from 1 to 100, not {}", other.to_json())),
    };
    entries.iter().map(weight).collect()
}

fn parse_shape(shape: &Value) -> Result<Shape, String> {
    if shape.items().is_empty() {
        return Err("RequestedToCapacityRatio needs a shape: a list of #{utilization: 0..100, score: 0..10}".into());
    }
    let mut points: Shape = Vec::new();
    for point in shape.items() {
        if let Some((key, _)) = point.entries().iter().find(|(key, _)| key != "utilization" && key != "score") {
            return Err(format!("a point of a shape has no '{key}'; it has utilization and score"));
        }
        let (Some(utilization @ 0..=100), Some(score @ 0..=10)) =
            (point.at(&["utilization"]).as_i64(), point.at(&["score"]).as_i64())
        else {
            return Err("a point of a shape has a utilization from 0 to 100 and a score from 0 to 10".into());
        };
        if points.last().is_some_and(|last| last.0 >= utilization) {
            return Err("the utilization of a shape's points rises from point to point".into());
        }
        points.push((utilization, score * 10));
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{list, object};

    #[test]
    fn reads_profiles_and_says_what_is_wrong() {
        let most = object! { "strategy" => "MostAllocated", "resources" => object! { "nvidia.com/gpu" => 5 } };
        let strategy = Strategy::of(&most).expect("a profile");
        assert_eq!(strategy.kind, StrategyType::MostAllocated);
        assert_eq!(strategy.resources, [("nvidia.com/gpu".into(), 5)]);
        assert_eq!(Strategy::of(&Value::Null), Ok(Strategy::default()));
        let shape =
            list![object! { "utilization" => 0, "score" => 0 }, object! { "utilization" => 100, "score" => 10 },];
        let ratio = object! { "strategy" => "RequestedToCapacityRatio", "shape" => shape.clone() };
        let kind = StrategyType::RequestedToCapacityRatio(vec![(0, 0), (100, 100)]);
        assert_eq!(Strategy::of(&ratio).expect("a profile").kind, kind);
        for (profile, sentence) in [
            (object! { "stratgy" => "x" }, "has no 'stratgy'"),
            (object! { "strategy" => "Binpack" }, "strategy \"Binpack\" is unknown"),
            (object! { "resources" => object! { "cpu" => 0 } }, "weight of cpu"),
            (object! { "strategy" => "RequestedToCapacityRatio" }, "needs a shape"),
            (object! { "shape" => shape }, "goes with"),
        ] {
            let error = Strategy::of(&profile).expect_err("wrong");
            assert!(error.contains(sentence), "{error}");
        }
    }
}
