//! Label selectors, field selectors and controller references.

use std::collections::BTreeSet;

use sanskube::object::field_selector::{FieldSelector, FieldSelectorError};
use sanskube::object::selector::{Fault, LabelSelector, Selector, SelectorError};
use sanskube::object::{Labels, Meta};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Check;
use super::recorded::ops;

#[derive(Deserialize)]
struct Thing {
    metadata: Meta,
}

pub(super) fn replay(case: &Value, check: &mut Check) {
    let mut selector = Selector::nothing();
    let mut field_selector = FieldSelector::default();
    for (place, name, op, want) in ops(case) {
        let text = |field: &str| op[field].as_str().unwrap_or_default();
        let labels = || Labels::deserialize(&op["labels"]).unwrap_or_default();
        let meta = |field: &str| match Thing::deserialize(&case["objects"][text(field)]) {
            Ok(thing) => Some(thing.metadata),
            Err(_) => None,
        };
        let mut build = |built: Result<Selector, SelectorError>| {
            let described = describe(&built);
            if let Ok(built) = built {
                selector = built;
            }
            described
        };
        let got = match name {
            "label_selector_as_selector" => match Option::<LabelSelector>::deserialize(&op["selector"]) {
                Ok(spec) => {
                    let built = Selector::try_from(spec.as_ref());
                    let format = match &built {
                        Err(_) => "<error>".to_owned(),
                        Ok(selector) if selector.to_string().is_empty() => "<none>".to_owned(),
                        Ok(selector) => selector.to_string(),
                    };
                    let mut described = build(built);
                    described["format"] = json!(format);
                    described
                }
                Err(e) => json!({"err": e.to_string()}),
            },
            "parse" => build(Selector::parse(text("text"))),
            "selector_from_set" => build(Ok(Selector::from_labels(&labels()))),
            "validated_selector_from_set" => build(Selector::validated_from_labels(&labels())),
            "matches" => json!({"value": selector.matches(&labels())}),
            "requires_exact_match" => exact(selector.requires_exact_match(text("key"))),
            "parse_field_selector" => match FieldSelector::parse(text("text")) {
                Ok(parsed) => {
                    field_selector = parsed;
                    describe_fields(&field_selector)
                }
                Err(e) => json!({"err": match e {
                    FieldSelectorError::InvalidEscape(_) => "invalid_escape",
                    FieldSelectorError::Syntax { .. } => "syntax",
                    FieldSelectorError::UnescapedCharacter(_) => "unescaped_character",
                }}),
            },
            "field_matches" => {
                json!({"value": field_selector.matches(|field| op["fields"][field].as_str().unwrap_or_default())})
            }
            "field_requires_exact_match" => exact(field_selector.requires_exact_match(text("field"))),
            "get_controller_of" => json!({"ref": meta("obj").map(|meta| controller(&meta, &want["ref"]))}),
            "is_controlled_by" => match (meta("obj"), meta("owner")) {
                (Some(object), Some(owner)) => json!({"value": object.is_controlled_by(&owner.uid)}),
                _ => Value::Null,
            },
            _ => json!({"err": "unknown op"}),
        };
        let mut want = want.clone();
        if let Some(classes) = want["err"].as_array_mut() {
            // Which things are wrong is compared, not how many values are wrong in the same way.
            classes.dedup();
        }
        check.same(&place, &want, &got);
    }
}

fn describe(built: &Result<Selector, SelectorError>) -> Value {
    match built {
        Ok(selector) => {
            let requirements: Vec<Value> = selector
                .requirements()
                .iter()
                .map(|requirement| {
                    let mut values: Vec<&str> = requirement.values().collect();
                    values.dedup();
                    json!({"key": requirement.key(), "operator": requirement.operator().as_str(), "values": values})
                })
                .collect();
            json!({
                "string": selector.to_string(),
                "empty": selector.matches_everything(),
                "matches_nothing": selector.matches_nothing(),
                "selectable": !selector.matches_nothing(),
                "requirements": requirements,
            })
        }
        Err(e) => {
            let classes: BTreeSet<&str> = e.faults().iter().map(class).collect();
            json!({"err": classes})
        }
    }
}

fn class(fault: &Fault) -> &'static str {
    match fault {
        Fault::InvalidKey(_) => "invalid_key",
        Fault::InvalidOperator(_) => "invalid_operator",
        Fault::InvalidValue(_) => "invalid_value",
        Fault::NotAnInteger(_) => "not_an_integer",
        Fault::OneValueRequired => "one_value_required",
        Fault::Syntax(_) => "syntax",
        Fault::ValuesForbidden => "values_forbidden",
        Fault::ValuesRequired => "values_required",
    }
}

fn describe_fields(selector: &FieldSelector) -> Value {
    let requirements: Vec<Value> = selector
        .requirements()
        .iter()
        .map(|term| json!({"field": *term.field, "operator": term.operator.as_str(), "value": *term.value}))
        .collect();
    json!({"string": selector.to_string(), "empty": selector.is_empty(), "requirements": requirements})
}

fn exact(value: Option<&str>) -> Value {
    match value {
        Some(value) => json!({"found": true, "value": value}),
        None => json!({"found": false}),
    }
}

/// The controller as it stands in `want`: there an absent flag and one that is false are two things, here one.
fn controller(meta: &Meta, want: &Value) -> Value {
    meta.controller.as_ref().map_or(Value::Null, |owner| {
        let mut value = json!({
            "apiVersion": *owner.api_version,
            "kind": *owner.kind,
            "name": *owner.name,
            "uid": owner.uid.to_string(),
            "controller": owner.controller,
        });
        if owner.block_owner_deletion || want["blockOwnerDeletion"] == false {
            value["blockOwnerDeletion"] = json!(owner.block_owner_deletion);
        }
        value
    })
}
