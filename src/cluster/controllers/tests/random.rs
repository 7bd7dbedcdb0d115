//! Whatever happens to a Deployment, it ends with as many active pods as it wants.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Happening {
    Scale(i64),
    DeletePod(usize),
    FinishPod(usize),
    Template(u8),
    Bind(usize),
    Wait(u64),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        (0_i64..7).prop_map(Happening::Scale),
        any::<usize>().prop_map(Happening::DeletePod),
        any::<usize>().prop_map(Happening::FinishPod),
        (0_u8..3).prop_map(Happening::Template),
        (1_usize..6).prop_map(Happening::Bind),
        (0_u64..30).prop_map(Happening::Wait),
    ];
    proptest::collection::vec(one, 0..12)
}

fn happen(world: &mut World, key: &ObjectKey, what: Happening) {
    let pick = |world: &World, number: usize| {
        let pods = all(world, Kind::POD);
        (!pods.is_empty()).then(|| ObjectKey::of(Kind::POD, &pods[number % pods.len()]))
    };
    match what {
        Happening::Scale(replicas) => {
            change(world, key, Part::Main, |deployment| deployment.set(&["spec", "replicas"], replicas));
        }
        Happening::DeletePod(number) => {
            if let Some(pod) = pick(world, number) {
                delete(world, &pod);
            }
        }
        Happening::FinishPod(number) => {
            if let Some(pod) = pick(world, number) {
                change(world, &pod, Part::Main, |pod| {
                    pod.set(&["metadata", "annotations", crate::kubelet::FINISH], "1");
                });
            }
        }
        Happening::Template(version) => {
            let image = format!("registry.k8s.io/pause:3.1{version}");
            change(world, key, Part::Main, |deployment| {
                deployment.set(&["spec", "template"], template("scan", &image))
            });
        }
        Happening::Bind(count) => bind(world, count),
        Happening::Wait(seconds) => world.advance(Duration::from_secs(seconds)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_deployment_ends_with_the_pods_it_wants(happenings in happenings()) {
        let mut world = world();
        let key = create(&mut world, Kind::DEPLOYMENT, "default", deployment("scan", 3));
        for what in happenings {
            happen(&mut world, &key, what);
        }
        for _ in 0..12 {
            settle(&mut world);
            bind(&mut world, 64);
        }
        let wanted = get(&world, &key).at(&["spec", "replicas"]).int();
        prop_assert_eq!(i64::try_from(active(&world).len()).unwrap(), wanted);
        let status = get(&world, &key).at(&["status"]).clone();
        for field in ["replicas", "updatedReplicas", "availableReplicas"] {
            prop_assert_eq!(status.at(&[field]).int(), wanted, "{}", field);
        }
    }
}
