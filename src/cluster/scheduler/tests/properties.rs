//! Laws that hold for any cluster.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// GPUs of nodes, and of pods with their cpu.
fn cluster() -> impl Strategy<Value = (Vec<u8>, Vec<(u8, u8)>)> {
    (prop::collection::vec(1..9_u8, 1..6), prop::collection::vec((0..5_u8, 1..20_u8), 0..25))
}

fn build(ties: Ties, nodes: &[u8], pods: &[(u8, u8)]) -> Lab {
    let mut lab = Lab::with(ties);
    for (at, gpus) in nodes.iter().enumerate() {
        lab.node(&format!("n{at}"), &[], &[(GPU, &gpus.to_string())]);
    }
    for (at, (gpus, cpu)) in pods.iter().enumerate() {
        let pod = pod(&format!("p{at}"), &[("cpu", &cpu.to_string()), (GPU, &gpus.to_string())]);
        lab.submit(pod);
    }
    lab.settle();
    lab
}

/// What is used of each node: cpus, GPUs.
fn used(lab: &Lab, pods: &[(u8, u8)]) -> BTreeMap<String, (u32, u32)> {
    let mut used = BTreeMap::new();
    for (at, (gpus, cpu)) in pods.iter().enumerate() {
        let node = lab.place(&format!("p{at}")).to_owned();
        let entry = used.entry(node).or_insert((0, 0));
        *entry = (entry.0 + u32::from(*cpu), entry.1 + u32::from(*gpus));
    }
    used
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_node_is_over_allocated_and_nobody_waits_who_fits((nodes, pods) in cluster()) {
        let lab = build(Ties::InOrder, &nodes, &pods);
        let used = used(&lab, &pods);
        let free = |at: usize| {
            let (cpu, gpus) = used.get(&format!("n{at}")).copied().unwrap_or((0, 0));
            (32 - i64::from(cpu), i64::from(nodes[at]) - i64::from(gpus))
        };
        for at in 0..nodes.len() {
            let (cpu, gpus) = free(at);
            prop_assert!(cpu >= 0 && gpus >= 0, "n{at} has {cpu} cpus and {gpus} GPUs left");
        }
        for (at, (gpus, cpu)) in pods.iter().enumerate() {
            let waits = lab.place(&format!("p{at}")).is_empty();
            let fits = (0..nodes.len()).any(|node| free(node).0 >= i64::from(*cpu) && free(node).1 >= i64::from(*gpus));
            prop_assert!(!(waits && fits), "p{at} waits although it fits");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_trace((nodes, pods) in cluster(), seed in any::<u64>()) {
        let trace = |lab: &Lab| -> Vec<String> {
            lab.world.trace.iter().map(|one| format!("{} {} {} {:?}", one.at, one.object, one.because, one.detail)).collect()
        };
        let (one, two) = (build(Ties::Shuffled(seed), &nodes, &pods), build(Ties::Shuffled(seed), &nodes, &pods));
        prop_assert_eq!(trace(&one), trace(&two));
    }

    #[test]
    fn a_snapshot_goes_on_as_the_original((nodes, pods) in cluster(), at in 0..25_usize) {
        let (first, rest) = pods.split_at(at.min(pods.len()));
        let mut lab = build(Ties::InOrder, &nodes, first);
        let mut copy = Lab { world: lab.world.clone() };
        let mut places = Vec::new();
        for lab in [&mut lab, &mut copy] {
            for (at, (gpus, cpu)) in rest.iter().enumerate() {
                lab.submit(pod(&format!("q{at}"), &[("cpu", &cpu.to_string()), (GPU, &gpus.to_string())]));
            }
            lab.settle();
            places.push((0..rest.len()).map(|at| lab.place(&format!("q{at}")).to_owned()).collect::<Vec<_>>());
        }
        prop_assert_eq!(&places[0], &places[1]);
    }

    #[test]
    fn shuffled_ties_place_as_many_on_equal_nodes(nodes in 1..6_usize, gpus in 1..9_u8, pods in 0..30_usize, seed in any::<u64>()) {
        let (nodes, pods) = (vec![gpus; nodes], vec![(1, 1); pods]);
        let placed = |ties| {
            let lab = build(ties, &nodes, &pods);
            (0..pods.len()).filter(|at| !lab.place(&format!("p{at}")).is_empty()).count()
        };
        prop_assert_eq!(placed(Ties::InOrder), placed(Ties::Shuffled(seed)));
    }
}
