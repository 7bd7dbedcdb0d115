use super::*;

fn budget(limit: &str, value: impl Into<Value>) -> Value {
    object! {
        "apiVersion" => "policy/v1", "kind" => "PodDisruptionBudget", "metadata" => object! { "name" => "scan" },
        "spec" => object! { limit => value.into(), "selector" => object! { "matchLabels" => object! { "app" => "scan" } } },
    }
}

fn status(world: &World, key: &ObjectKey) -> String {
    let budget = get(world, key);
    let number = |field: &str| budget.at(&["status", field]).int();
    let condition = budget.condition("DisruptionAllowed");
    format!(
        "{} of {} healthy, {} needed, {} allowed, {} {}",
        number("currentHealthy"),
        number("expectedPods"),
        number("desiredHealthy"),
        number("disruptionsAllowed"),
        condition.at(&["status"]).str(),
        condition.at(&["reason"]).str()
    )
}

#[test]
fn a_budget_follows_its_pods() {
    let mut world = world();
    create(&mut world, Kind::DEPLOYMENT, "default", deployment("scan", 4));
    settle(&mut world);
    let key = create(&mut world, Kind::POD_DISRUPTION_BUDGET, "default", budget("minAvailable", 3));
    bind(&mut world, 2);
    assert_eq!(status(&world, &key), "2 of 4 healthy, 3 needed, 0 allowed, False InsufficientPods");
    bind(&mut world, 2);
    assert_eq!(status(&world, &key), "4 of 4 healthy, 3 needed, 1 allowed, True SufficientPods");
    let fields: Vec<String> =
        get(&world, &key).at(&["status"]).entries().iter().map(|(key, _)| key.to_string()).collect();
    let recorded =
        ["conditions", "currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods", "observedGeneration"];
    assert_eq!(fields, recorded);
}

#[test]
fn percentages_are_of_the_wanted_size_and_round_up() {
    for (limit, text) in [
        ("maxUnavailable", "3 of 5 healthy, 3 needed, 0 allowed, False InsufficientPods"),
        ("minAvailable", "3 of 5 healthy, 2 needed, 1 allowed, True SufficientPods"),
    ] {
        let mut world = world();
        create(&mut world, Kind::DEPLOYMENT, "default", deployment("scan", 5));
        settle(&mut world);
        bind(&mut world, 3);
        let key = create(&mut world, Kind::POD_DISRUPTION_BUDGET, "default", budget(limit, "33%"));
        settle(&mut world);
        assert_eq!(status(&world, &key), text, "{limit}");
    }
}
