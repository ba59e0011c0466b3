use serde_json::{Map, Value, json};

use super::{PatchError, json_patch, merge, strategic};
use crate::schema::schema;

fn pod(mut target: Value, patch: Value) -> Result<Value, PatchError> {
    let map: &mut Map<String, Value> = target.as_object_mut().unwrap();
    strategic(schema().id("core.Pod"), map, patch.as_object().unwrap())?;
    Ok(target)
}

#[test]
fn merge_patch_sets_adds_and_removes() {
    let mut doc = json!({"a": {"b": 1, "c": [1, 2]}, "d": 1});
    merge(&mut doc, &json!({"a": {"b": null, "c": [3]}, "e": {"f": null}}));
    assert_eq!(doc, json!({"a": {"c": [3]}, "d": 1, "e": {}}));
}

#[test]
fn json_patch_applies_all_or_nothing() {
    let doc = json!({"a": [1, 3], "b": {"x/y": 1}});
    let ops = json!([
        {"op": "add", "path": "/a/1", "value": 2},
        {"op": "move", "from": "/b/x~1y", "path": "/c"},
        {"op": "test", "path": "/c", "value": 1},
    ]);
    assert_eq!(json_patch(&doc, ops.as_array().unwrap()), Ok(json!({"a": [1, 2, 3], "b": {}, "c": 1})));
    let bad = json!([{"op": "remove", "path": "/nope"}]);
    assert_eq!(json_patch(&doc, bad.as_array().unwrap()), Err(PatchError::Inapplicable));
}

#[test]
fn strategic_patch_merges_lists_by_key() {
    let target = json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}});
    let patch = json!({"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "c"}]}});
    let want = json!({"spec": {"containers": [
        {"name": "a", "image": "1"}, {"name": "b", "image": "2"}, {"name": "c"},
    ]}});
    assert_eq!(pod(target, patch).unwrap(), want);
}

#[test]
fn strategic_patch_deletes_an_owner_by_uid() {
    let target = json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "x"}, {"uid": "2"}]}});
    let patch = json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": "1"}]}});
    assert_eq!(pod(target.clone(), patch).unwrap(), json!({"metadata": {"ownerReferences": [{"uid": "2"}]}}));
    let keyless = json!({"metadata": {"ownerReferences": [{"name": "x"}]}});
    assert!(matches!(pod(target, keyless), Err(PatchError::NoMergeKey { key: "uid", .. })));
}

#[test]
fn strategic_patch_replaces_and_empties_maps_when_told() {
    let target = json!({"metadata": {"labels": {"a": "1", "b": "1"}}});
    let patched = |labels| pod(target.clone(), json!({"metadata": {"labels": labels}}));
    assert_eq!(patched(json!({"b": "2", "a": null})).unwrap(), json!({"metadata": {"labels": {"b": "2"}}}));
    assert_eq!(patched(json!({"$patch": "replace", "c": "3"})).unwrap(), json!({"metadata": {"labels": {"c": "3"}}}));
    assert_eq!(patched(json!({"$patch": "delete"})).unwrap(), json!({"metadata": {"labels": {}}}));
    assert!(matches!(patched(json!({"$patch": "nonsense"})), Err(PatchError::Malformed(_))));
}

#[test]
fn strategic_patch_follows_the_order_it_is_given() {
    let target = json!({"metadata": {"finalizers": ["a/1", "b/1"]}});
    let patch = json!({"metadata": {
        "$setElementOrder/finalizers": ["c/1", "a/1"],
        "$deleteFromPrimitiveList/finalizers": ["b/1"],
        "finalizers": ["c/1"],
    }});
    assert_eq!(pod(target, patch).unwrap(), json!({"metadata": {"finalizers": ["c/1", "a/1"]}}));
}
