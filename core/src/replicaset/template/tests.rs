use alloc::string::ToString;

use serde_json::{Value, json};

use super::*;
use crate::object::Decode;
use crate::replicaset::testing::{set, set_json};

#[test]
fn fields_that_this_build_does_not_know_reach_the_pod_to_the_letter() {
    let json = r#"{"metadata":{"namespace":"shop","name":"web","uid":"u"},"spec":{"template":{"metadata":{"labels":{"app":"web"},
        "annotations":{"a":"b"},"finalizers":["x/y"],"name":"dropped","creationTimestamp":null},
        "spec":{"containers":[],"future":{"big":12345678901234567890123,"exact":1.50}}}}}"#;
    let set = ReplicaSet::decode(json.as_bytes(), &Resource::REPLICA_SETS).unwrap();
    let request = create_request("shop", &set, &controller_reference(&set)).unwrap();
    let body = String::from_utf8(request.body).unwrap();
    assert!(
        body.contains(r#""spec":{"containers":[],"future":{"big":12345678901234567890123,"exact":1.50}}"#),
        "{body}"
    );
    assert!(body.contains(r#""finalizers":["x/y"]"#) && body.contains(r#""annotations":{"a":"b"}"#));
    assert!(!body.contains("dropped") && !body.contains("creationTimestamp"));
}

#[test]
fn a_template_that_is_nothing_makes_a_pod_of_nothing() {
    for template in [Value::Null, json!({}), json!({"metadata": null, "spec": null})] {
        let mut json = set_json(1, json!({}));
        json["spec"]["template"] = template;
        let set = set(&json);
        let owner = controller_reference(&set);
        let pod: Value = serde_json::from_slice(&pod_from_template(&set, Some(&owner))).unwrap();
        assert_eq!(pod["metadata"]["generateName"], "web-");
        assert_eq!(create_request("shop", &set, &owner).unwrap_err().to_string(), "unable to create pods, no labels");
    }
}

#[test]
fn the_dash_goes_only_where_no_name_could_be_valid() {
    let long = "a".repeat(253);
    for (name, prefix) in
        [("web", "web-"), ("w", "w-"), ("Web", "Web"), ("we_b", "we_b"), (&*long, &*(long.clone() + "-")), ("", "")]
    {
        assert_eq!(name_prefix(name), prefix);
    }
    assert_eq!(name_prefix(&"a".repeat(254)).len(), 254);
    // Names that no API server would take do no harm.
    assert_eq!(name_prefix("wéb"), "wéb");
}
