//! Garbage collection and namespaces.

use super::*;
use crate::api::{DeleteOptions, Propagation};

fn delete_with(world: &mut World, key: &ObjectKey, propagation: Propagation) {
    let caller = Caller { now: world.now(), manager: "test" };
    let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
    world.server.delete(&caller, key, &options).unwrap();
    world.react();
}

fn running_deployment(world: &mut World) -> ObjectKey {
    let key = create(world, Kind::DEPLOYMENT, "default", deployment("scan", 3));
    settle(world);
    bind(world, 3);
    key
}

fn left(world: &World) -> [usize; 3] {
    [Kind::DEPLOYMENT, Kind::REPLICA_SET, Kind::POD].map(|kind| all(world, kind).len())
}

#[test]
fn background_deletion_takes_the_owner_first_and_the_rest_follows() {
    let mut world = world();
    let key = running_deployment(&mut world);
    delete_with(&mut world, &key, Propagation::Background);
    assert_eq!(left(&world), [0, 1, 3]);
    settle(&mut world);
    assert_eq!(left(&world), [0, 0, 0]);
}

#[test]
fn foreground_deletion_takes_the_owner_last() {
    let mut world = world();
    let key = running_deployment(&mut world);
    delete_with(&mut world, &key, Propagation::Foreground);
    assert_eq!(get(&world, &key).at(&["metadata", "finalizers"]).to_json(), r#"["foregroundDeletion"]"#);
    while left(&world)[2] > 0 {
        assert_eq!(left(&world)[..2], [1, 1]);
        assert!(world.step().is_some());
    }
    settle(&mut world);
    assert_eq!(left(&world), [0, 0, 0]);
}

#[test]
fn orphans_stay_and_lose_the_reference() {
    let mut world = world();
    let key = running_deployment(&mut world);
    delete_with(&mut world, &key, Propagation::Orphan);
    settle(&mut world);
    assert_eq!(left(&world), [0, 1, 3]);
    let set = all(&world, Kind::REPLICA_SET).remove(0);
    assert!(set.at(&["metadata", "ownerReferences"]).is_null());
    // A Deployment of the same selector and template takes it over.
    create(&mut world, Kind::DEPLOYMENT, "default", deployment("scan", 3));
    settle(&mut world);
    assert_eq!(left(&world), [1, 1, 3]);
    assert_eq!(all(&world, Kind::REPLICA_SET)[0].uid(), set.uid());
}

#[test]
fn a_dependent_goes_only_with_its_last_owner() {
    let mut world = world();
    let config = |name: &str| object! { "metadata" => object! { "name" => name } };
    let owners = ["one", "two"].map(|name| create(&mut world, Kind::CONFIG_MAP, "default", config(name)));
    let reference = |key: &ObjectKey| {
        let uid = get(&world, key).uid().to_owned();
        object! { "apiVersion" => "v1", "kind" => "ConfigMap", "name" => &key.name, "uid" => uid }
    };
    let mut dependent = config("both");
    dependent.set(&["metadata", "ownerReferences"], list![reference(&owners[0]), reference(&owners[1])]);
    let dependent = create(&mut world, Kind::CONFIG_MAP, "default", dependent);
    settle(&mut world);
    delete(&mut world, &owners[0]);
    settle(&mut world);
    let references = get(&world, &dependent).at(&["metadata", "ownerReferences"]).items().len();
    assert_eq!(references, 1);
    delete(&mut world, &owners[1]);
    settle(&mut world);
    assert!(world.server.store.get(&dependent).is_none());
}

#[test]
fn an_object_that_names_a_missing_owner_is_deleted() {
    let mut world = world();
    let owner = object! { "apiVersion" => "v1", "kind" => "ConfigMap", "name" => "none", "uid" => "u" };
    let lost = object! { "metadata" => object! { "name" => "lost", "ownerReferences" => list![owner] } };
    let lost = create(&mut world, Kind::CONFIG_MAP, "default", lost);
    settle(&mut world);
    assert!(world.server.store.get(&lost).is_none());
}

#[test]
fn a_new_namespace_is_furnished_and_a_deleted_one_is_emptied_pods_first() {
    let mut world = world();
    let key = create(&mut world, Kind::NAMESPACE, "", object! { "metadata" => object! { "name" => "team" } });
    settle(&mut world);
    let account = ObjectKey::new(Kind::SERVICE_ACCOUNT, "team", "default");
    assert!(world.server.store.get(&account).is_some());
    assert!(world.server.store.get(&ObjectKey::new(Kind::CONFIG_MAP, "team", "kube-root-ca.crt")).is_some());
    let mut pod = template("scan", "registry.k8s.io/pause:3.10");
    pod.set(&["metadata", "name"], "one");
    pod.set(&["spec", "nodeName"], NODE);
    let pod = create(&mut world, Kind::POD, "team", pod);
    settle(&mut world);
    delete(&mut world, &key);
    while world.server.store.get(&pod).is_some() {
        assert!(world.server.store.get(&account).is_some(), "pods go first");
        assert!(world.step().is_some());
        if let Some(namespace) = world.server.store.get(&key)
            && !namespace.at(&["status", "conditions"]).is_null()
            && world.server.store.get(&pod).is_some()
        {
            let message = namespace.condition("NamespaceContentRemaining").at(&["message"]).str();
            assert!(message.contains("pods. has 1 resource instances"), "{message}");
        }
    }
    settle(&mut world);
    assert!(world.server.store.get(&key).is_none());
    assert!(world.server.store.list(Kind::CONFIG_MAP, "team").next().is_none());
}
