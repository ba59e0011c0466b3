use serde_json::json;

use super::Bindings;

#[test]
fn a_symbol_keeps_its_value() {
    let mut b = Bindings::default();
    let mut out = Vec::new();
    b.value(&json!({"a": "<rv:1>", "b": "x <rv:1> y"}), &json!({"a": "17", "b": "x 17 y"}), "", &mut out);
    assert_eq!(out, Vec::<String>::new());
    b.text("<rv:1>", "18", "p", &mut out);
    assert_eq!(out.len(), 1);
}

#[test]
fn two_symbols_of_one_class_differ() {
    let mut b = Bindings::default();
    let mut out = Vec::new();
    b.text("<rv:1>", "5", "p", &mut out);
    b.text("<rv:2>", "5", "p", &mut out);
    assert_eq!(out.len(), 1, "{out:?}");
}

#[test]
fn differences_name_their_place() {
    let mut b = Bindings::default();
    let mut out = Vec::new();
    b.value(&json!({"a": [1, {"b": 2}]}), &json!({"a": [1, {"b": 3}], "c": 0}), "body", &mut out);
    assert_eq!(out, ["body.a[1].b: want 2, got 3", "body.c: unexpected 0"]);
}
