//! Objects, key functions and transformers as the recorded cases name them.

use std::collections::BTreeMap;
use std::sync::Arc;

use sanskube::error::{Refused, UserFunction};
use sanskube::key::{Key, KeyFunction};
use sanskube::object::{Object, Transform};
use sanskube::resource_version::ResourceVersion;
use sanskube::uid::Uid;
use serde_json::{Value, json};

/// An object of a case: all of its JSON.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Recorded(pub(super) Value);

impl Recorded {
    fn meta(&self, field: &str) -> &str {
        self.0["metadata"][field].as_str().unwrap_or("")
    }

    pub(super) fn label(&self, label: &str) -> Option<&str> {
        self.0["metadata"]["labels"][label].as_str()
    }

    pub(super) fn annotation(&self, annotation: &str) -> Option<&str> {
        self.0["metadata"]["annotations"][annotation].as_str()
    }
}

impl Object for Recorded {
    fn namespace(&self) -> &str {
        self.meta("namespace")
    }

    fn name(&self) -> &str {
        self.meta("name")
    }

    fn uid(&self) -> Uid {
        Uid::new(self.meta("uid"))
    }

    fn resource_version(&self) -> ResourceVersion {
        ResourceVersion::new(self.meta("resourceVersion"))
    }
}

/// The objects of one case and their names.
pub(super) struct Objects {
    by_name: BTreeMap<String, Value>,
    names: BTreeMap<String, String>,
}

impl Objects {
    pub(super) fn of(case: &Value) -> Self {
        let by_name: BTreeMap<String, Value> =
            case["objects"].as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
        // Maps of JSON are sorted, so equal objects have equal texts.
        let names = by_name.iter().map(|(name, value)| (value.to_string(), name.clone())).collect();
        Self { by_name, names }
    }

    /// The object that a name stands for.
    pub(super) fn object(&self, name: &Value) -> Recorded {
        let name = name.as_str().expect("an object is given by its name");
        Recorded(self.by_name.get(name).unwrap_or_else(|| panic!("the case has no object {name}")).clone())
    }

    /// The objects that names stand for.
    pub(super) fn list(&self, names: &Value) -> Vec<Recorded> {
        names.as_array().into_iter().flatten().map(|name| self.object(name)).collect()
    }

    /// The name of an object; where the case has no such object, its JSON, which is not equal to any name.
    pub(super) fn name(&self, object: &Recorded) -> Value {
        self.names.get(&object.0.to_string()).map_or_else(|| object.0.clone(), |name| json!(name))
    }

    /// The names of objects, sorted by `namespace/name` as text.
    pub(super) fn sorted<'a>(&self, objects: impl IntoIterator<Item = &'a Arc<Recorded>>) -> Value {
        let mut objects: Vec<&Recorded> = objects.into_iter().map(Arc::as_ref).collect();
        objects.sort_by_key(|object| object.key());
        objects.into_iter().map(|object| self.name(object)).collect()
    }
}

/// A key function by its recorded name.
pub(super) fn key_function(name: &Value) -> Option<KeyFunction<Recorded>> {
    let name = name.as_str().expect("a key function has a name");
    if name == "namespace_name" {
        return None;
    }
    let label = name.strip_prefix("label:").unwrap_or_else(|| panic!("unknown key function {name}")).to_owned();
    Some(Arc::new(move |object: &Recorded| {
        let value = object.label(&label).ok_or_else(|| Refused::new(UserFunction::Key, "no such label"))?;
        Ok(Key::explicit(value))
    }))
}

/// A transformer by its recorded name.
pub(super) fn transform(name: &Value) -> Option<Transform<Recorded>> {
    let name = name.as_str()?;
    Some(match name.split_once(':') {
        None if name == "strip_labels" => Box::new(|mut object: Recorded| {
            if let Some(meta) = object.0["metadata"].as_object_mut() {
                meta.remove("labels");
            }
            Ok(object)
        }),
        None if name == "count" => Box::new(|mut object: Recorded| {
            let times: u64 = object.annotation("xfrm").map_or(0, |n| n.parse().expect("a number"));
            object.0["metadata"]["annotations"]["xfrm"] = json!((times + 1).to_string());
            Ok(object)
        }),
        Some(("fail_on_label", label)) => {
            let label = label.to_owned();
            Box::new(move |object: Recorded| match object.label(&label) {
                Some(_) => Err(Refused::new(UserFunction::Transform, "label present")),
                None => Ok(object),
            })
        }
        _ => panic!("unknown transformer {name}"),
    })
}

/// The recorded class of a refusal.
pub(super) fn class(refused: &Refused) -> &'static str {
    match refused.by {
        UserFunction::Key => "key",
        UserFunction::Transform => "transform",
        UserFunction::Index => "index_func",
        _ => "unknown",
    }
}

/// An operation of a case, with a place for messages, its name and what was wanted.
pub(super) fn op(case: &Value, at: usize) -> Option<(String, &str, &Value, &Value)> {
    let op = case["ops"].as_array().expect("a case has operations").get(at)?;
    let name = op["op"].as_str().expect("an operation has a name");
    Some((format!("op {at} {name}"), name, op, &op["want"]))
}

/// The operations of a case.
pub(super) fn ops(case: &Value) -> impl Iterator<Item = (String, &str, &Value, &Value)> {
    (0..).map_while(|at| op(case, at))
}
