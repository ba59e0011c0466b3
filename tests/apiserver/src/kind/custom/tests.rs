use serde_json::{Value, json};

use super::{find, priority};

#[test]
fn a_column_finds_its_cell_by_key_index_or_condition() {
    let Value::Object(object) = json!({
        "spec": { "replicas": 3, "a.b": "dotted" },
        "status": { "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Stale", "status": "False" }] },
    }) else {
        unreachable!("it is an object")
    };
    let cell = |path: &str| find(&object, path).cloned().unwrap_or_default();
    assert_eq!(cell(".spec.replicas"), 3);
    assert_eq!(cell(".spec.a\\.b"), "dotted");
    assert_eq!(cell(".status.conditions[1].status"), "False");
    assert_eq!(cell(".status.conditions[?(@.type==\"Ready\")].status"), "True");
    for absent in [
        "",
        ".",
        "[",
        ".spec[0]",
        ".spec.replicas.x",
        ".status.conditions[?(@.type==\"No\")].status",
        "..",
        "[0]",
        ".é[",
    ] {
        assert_eq!(cell(absent), Value::Null, "{absent}");
    }
}

#[test]
fn newer_and_more_stable_versions_come_first() {
    let mut versions = ["v1alpha1", "foo", "v10", "v1beta2", "v2", "v1beta10", "bar", "v1"];
    versions.sort_by_cached_key(|v| std::cmp::Reverse(priority(v)));
    assert_eq!(versions, ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "bar", "foo"]);
}
