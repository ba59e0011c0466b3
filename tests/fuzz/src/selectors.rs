//! Selectors of labels and of fields.

use std::collections::BTreeMap;

use sanskube::object::field_selector::{FieldOperator, FieldSelector};
use sanskube::object::selector::{LabelSelector, Operator, Requirement, Selector};
use sanskube::request::Query;
use sanskube_apiserver::{ApiServer, Config, Request};

use crate::api::START;

/// A label selector prints so that it reads back the same, selects what its requirements say one by one, and is refused where the
/// API server refuses it.
pub fn label_selectors(input: &[u8]) {
    if let Ok(json) = serde_json::from_slice::<LabelSelector>(input)
        && let Ok(selector) = Selector::try_from(&json)
    {
        // Repeated values are kept as they stand in an object, and read but once from a text.
        check(&selector, &Selector::parse(&selector.to_string()).expect("what was printed is read"));
    }
    let Ok(text) = core::str::from_utf8(input) else { return };
    let read = Selector::parse(text);
    if let Ok(selector) = &read {
        assert_eq!(Selector::parse(&selector.to_string()).as_ref(), Ok(selector), "{text:?}");
        check(selector, selector);
    }
    // Go takes a NUL for the end of the text; this core never does.
    if !text.contains('\0') {
        let mut api = ApiServer::new(Config::default(), START);
        let path = Query::new("/api/v1/nodes".to_owned()).pair("labelSelector", text).finish();
        let answer = api.handle_request(START, &Request::get(&path)).response().expect("a list is answered at once");
        let message = answer.json().map(|json| json["message"].clone()).unwrap_or_default();
        assert_eq!(answer.status == 200, read.is_ok(), "{text:?}: {read:?}, {message}");
    }
}

/// Checks that both select what the requirements of the first say one by one.
fn check(selector: &Selector, again: &Selector) {
    let text = selector.to_string();
    assert_eq!(selector.matches_everything(), selector.requirements().is_empty());
    // Labels that meet some requirements and miss others.
    let values = selector.requirements().iter().filter_map(|r| Some((r.key(), r.values().next()?)));
    let near: BTreeMap<&str, &str> = values.collect();
    let far: BTreeMap<&str, &str> = selector.requirements().iter().map(|r| (r.key(), "7")).collect();
    for labels in [BTreeMap::new(), near, far] {
        let selected = [selector, again].map(|selector| selector.matches_by(|key| labels.get(key).copied()));
        let wanted = selector.requirements().iter().all(|r| is_met(r, labels.get(r.key()).copied()));
        assert_eq!(selected, [wanted; 2], "{text:?} of {labels:?}");
    }
}

fn is_met(requirement: &Requirement, value: Option<&str>) -> bool {
    let mut values = requirement.values();
    let number = |text: &str| text.parse::<i64>().ok();
    match (requirement.operator(), value) {
        (Operator::Exists, value) => value.is_some(),
        (Operator::DoesNotExist, value) => value.is_none(),
        (Operator::NotEquals | Operator::NotIn, value) => !values.any(|wanted| Some(wanted) == value),
        (_, None) => false,
        (Operator::GreaterThan, Some(value)) => {
            number(value) > values.next().and_then(number) && number(value).is_some()
        }
        (Operator::LessThan, Some(value)) => number(value).is_some_and(|n| Some(n) < values.next().and_then(number)),
        (Operator::DoubleEquals | Operator::Equals | Operator::In, Some(value)) => values.any(|wanted| wanted == value),
    }
}

/// A field selector prints so that it reads back the same, and is met by an object that its terms describe.
pub fn field_selectors(input: &[u8]) {
    let Ok(text) = core::str::from_utf8(input) else { return };
    let Ok(selector) = FieldSelector::parse(text) else { return };
    let printed = selector.to_string();
    let again = FieldSelector::parse(&printed).expect("what was printed is read");
    let mut terms: Vec<_> = again.requirements().to_vec();
    for term in selector.requirements() {
        let at = terms.iter().position(|other| other == term).expect("every term is printed");
        terms.remove(at);
        let alone = FieldSelector::equals(&term.field, &term.value);
        assert_eq!(alone.requires_exact_match(&term.field), Some(&*term.value));
        assert!(alone.matches(|_| &term.value));
    }
    assert_eq!(terms, []);
    let fields: BTreeMap<&str, &str> = selector.requirements().iter().map(|t| (&*t.field, &*t.value)).collect();
    let value = |field: &str| fields.get(field).copied().unwrap_or_default();
    let met = |field: &str, wanted: &str, equal| (value(field) == wanted) == equal;
    let wanted = selector.requirements().iter().all(|t| met(&t.field, &t.value, t.operator == FieldOperator::Equals));
    assert_eq!(selector.matches(|field| fields.get(field).copied().unwrap_or_default()), wanted);
}
