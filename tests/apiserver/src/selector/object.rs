//! `LabelSelector` objects, as specs hold them.

use serde_json::Value;

use super::{Operator, Requirement};
use crate::error::Cause;
use crate::store::Obj;
use crate::strategy::meta;

/// The `LabelSelector` of an object, as requirements.
fn from_label_selector(selector: &Value) -> Vec<Requirement> {
    let mut list: Vec<Requirement> = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(k, v)| {
            let value = v.as_str().unwrap_or_default().to_owned();
            Requirement { key: k.clone(), operator: Operator::In(vec![value]) }
        })
        .collect();
    for e in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let key = e.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
        let values = e
            .get("values")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect();
        let operator = match e.get("operator").and_then(Value::as_str) {
            Some("In") => Operator::In(values),
            Some("NotIn") => Operator::NotIn(values),
            Some("Exists") => Operator::Exists,
            _ => Operator::Absent,
        };
        list.push(Requirement { key, operator });
    }
    list.sort_by(|a, b| a.key.cmp(&b.key));
    list
}

/// Whether a `LabelSelector` object selects labels.
pub(crate) fn label_selector_matches(selector: &Value, labels: Option<&Obj>) -> bool {
    from_label_selector(selector).iter().all(|r| r.matches(labels.and_then(|l| l.get(&r.key)).and_then(Value::as_str)))
}

/// A `LabelSelector` object as text, as the scale subresource has it.
pub(crate) fn label_selector_text(selector: &Value) -> String {
    let terms: Vec<String> = from_label_selector(selector)
        .into_iter()
        .map(|Requirement { key, operator }| match operator {
            Operator::In(values) if values.len() == 1 => format!("{key}={}", values[0]),
            Operator::In(mut values) => {
                values.sort();
                format!("{key} in ({})", values.join(","))
            }
            Operator::NotIn(mut values) => {
                values.sort();
                format!("{key} notin ({})", values.join(","))
            }
            Operator::Exists => key,
            _ => format!("!{key}"),
        })
        .collect();
    terms.join(",")
}

/// `ValidateLabelSelector`.
pub(crate) fn validate_label_selector(selector: &Value, field: &str, causes: &mut Vec<Cause>) {
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    meta::validate_labels(labels, &format!("{field}.matchLabels"), causes);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for (i, e) in expressions.into_iter().flatten().enumerate() {
        let field = format!("{field}.matchExpressions[{i}]");
        let values = e.get("values").and_then(Value::as_array).is_some_and(|v| !v.is_empty());
        let operator = e.get("operator").and_then(Value::as_str).unwrap_or_default();
        match operator {
            "In" | "NotIn" if !values => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(format!("{field}.values"), detail));
            }
            "Exists" | "DoesNotExist" if values => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(format!("{field}.values"), detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let field = format!("{field}.operator");
                causes.push(Cause::invalid(field, &other.into(), "not a valid selector operator"));
            }
        }
        let key = e.get("key").and_then(Value::as_str).unwrap_or_default();
        meta::blame(&format!("{field}.key"), key, meta::qualified_name_faults(key), causes);
    }
}
