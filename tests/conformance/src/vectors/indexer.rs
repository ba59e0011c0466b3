//! `indexer`: the store and its indexes.

use std::sync::Arc;

use sanskube::error::{Refused, UserFunction};
use sanskube::store::{IndexError, IndexFunction, PartlyRefused, Store, Write, namespace_index};
use serde_json::{Map, Value, json};

use super::Check;
use super::recorded::{Objects, Recorded, class, key_function, ops, transform};

/// Go panics when an index function fails on a write; here the write is made and says so.
const NO_PANIC: &str = "a-failing-index-function-is-an-error";

pub(super) fn replay(case: &Value, check: &mut Check) {
    let objects = Objects::of(case);
    let config = &case["config"];
    let mut store = Store::new();
    if let Some(function) = key_function(&config["key_func"]) {
        store = store.with_key_function(function);
    }
    if let Some(transform) = transform(&config["transform"]) {
        store = store.with_transform(transform);
    }
    for (name, function) in config["indexers"].as_object().into_iter().flatten() {
        store.add_index(name, index_function(function)).expect("names are unique");
    }
    for (place, name, op, want) in ops(case) {
        let mut got = apply(&mut store, &objects, name, op);
        let mut want = want.clone();
        if let Some(panic) = want.as_object_mut().and_then(|want| want.remove("panic")) {
            check.apply_rule(NO_PANIC);
            want["err"] = panic;
        }
        if want.get("store_rv").is_some() {
            got["store_rv"] = json!(store.resource_version().to_string());
        }
        check.same(&place, &want, &got);
    }
}

fn apply(store: &mut Store<Recorded>, objects: &Objects, name: &str, op: &Value) -> Value {
    let one = || objects.object(&op["obj"]);
    let text = |field: &str| op[field].as_str().unwrap_or_else(|| panic!("{name} without {field}"));
    let index = || text("index");
    match name {
        "add" | "update" => written(store.add(one()).map(|written| written.unindexed)),
        "delete" => match op.get("tombstone") {
            Some(tombstone) => {
                store.remove(tombstone["key"].as_str().expect("a tombstone has a key"));
                json!({})
            }
            None => written(store.delete(&one()).map(|_| None)),
        },
        "replace" => {
            let replaced = store.replace(objects.list(&op["objs"]), text("rv").into());
            written(replaced.map(|replaced| replaced.unindexed))
        }
        "resync" => json!({}),
        "bookmark" => {
            store.set_resource_version(text("rv").into());
            json!({})
        }
        "transaction" => {
            let writes = op["txns"].as_array().expect("a transaction has writes").iter().map(|write| {
                let object = Arc::new(objects.object(&write["obj"]));
                if write["type"] == "delete" { Write::Delete(object) } else { Write::Put(object) }
            });
            match store.transaction(writes.collect()) {
                Ok(unindexed) => written(Ok(unindexed)),
                Err(PartlyRefused { made, total, errors }) => {
                    let errors: Vec<_> = errors.iter().map(class).collect();
                    json!({"err": {"successful": made, "total": total, "errors": errors}})
                }
            }
        }
        "get" => match store.key_of(&one()) {
            Ok(key) => found(store, objects, key.as_str()),
            Err(e) => json!({"err": class(&e)}),
        },
        "get_by_key" => found(store, objects, text("key")),
        "list" => json!({"objs": objects.sorted(store.iter())}),
        "list_keys" => json!({"keys": sorted(store.keys().map(ToString::to_string))}),
        "index" => match store.sharing_index(index(), &one()) {
            Ok(found) => json!({"objs": objects.sorted(found)}),
            Err(IndexError::Misuse(_)) => json!({"err": "no_such_index"}),
            Err(IndexError::Refused(e)) => json!({"err": class(&e)}),
        },
        "by_index" => match store.by_index(index(), text("value")) {
            Ok(found) => json!({"objs": objects.sorted(found)}),
            Err(_) => json!({"err": "no_such_index"}),
        },
        "index_keys" => match store.keys_by_index(index(), text("value")) {
            Ok(keys) => json!({"keys": sorted(keys.map(ToString::to_string))}),
            Err(_) => json!({"err": "no_such_index"}),
        },
        "list_index_func_values" => json!({"values": store.index_values(index())}),
        "add_indexers" => add_indexes(store, op["indexers"].as_object().expect("indexers are a map")),
        "get_indexers" => json!({"names": sorted(store.index_names().map(str::to_owned))}),
        _ => panic!("unknown operation {name}"),
    }
}

/// Adds several indexes, all or none.
fn add_indexes(store: &mut Store<Recorded>, functions: &Map<String, Value>) -> Value {
    if store.index_names().any(|name| functions.contains_key(name)) {
        let (taken, function) =
            functions.iter().find(|(name, _)| store.index_names().any(|n| n == *name)).expect("one");
        store.add_index(taken, index_function(function)).expect_err("the name is taken");
        return json!({"err": "indexer_conflict"});
    }
    let mut refused = None;
    for (name, function) in functions {
        refused = store.add_index(name, index_function(function)).expect("the name is free").or(refused);
    }
    written(Ok(refused))
}

fn written(result: Result<Option<Refused>, Refused>) -> Value {
    match result {
        Ok(None) => json!({}),
        Ok(Some(e)) | Err(e) => json!({"err": class(&e)}),
    }
}

fn found(store: &Store<Recorded>, objects: &Objects, key: &str) -> Value {
    store
        .get(key)
        .map_or_else(|| json!({"exists": false}), |object| json!({"exists": true, "obj": objects.name(object)}))
}

fn sorted(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts
}

/// An index function by its recorded name.
fn index_function(name: &Value) -> IndexFunction<Recorded> {
    let name = name.as_str().expect("an index function has a name");
    let (kind, argument) = name.split_once(':').unwrap_or((name, ""));
    let argument = argument.to_owned();
    match kind {
        "namespace" => namespace_index(),
        "label" => Box::new(move |object, value| {
            value(object.label(&argument).unwrap_or(""));
            Ok(())
        }),
        "label_opt" => Box::new(move |object, value| {
            object.label(&argument).into_iter().for_each(value);
            Ok(())
        }),
        "controller_uid" => Box::new(|object, value| {
            let owners = object.0["metadata"]["ownerReferences"].as_array();
            let controller = owners.into_iter().flatten().find(|owner| owner["controller"] == true);
            controller.and_then(|owner| owner["uid"].as_str()).into_iter().for_each(value);
            Ok(())
        }),
        "ann_list" => Box::new(move |object, value| {
            object.annotation(&argument).into_iter().flat_map(|list| list.split(',')).for_each(value);
            Ok(())
        }),
        "const" => Box::new(move |_, value| {
            value(&argument);
            Ok(())
        }),
        "err_on_label" => Box::new(move |object, value| {
            if object.label(&argument).is_some() {
                return Err(Refused::new(UserFunction::Index, "label present"));
            }
            value("ok");
            Ok(())
        }),
        _ => panic!("unknown index function {name}"),
    }
}
