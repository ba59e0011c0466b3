//! The store of the recorded cases.

use std::sync::Arc;

use sanskube::object::Transform;
use sanskube::reflector::ReflectorStore;
use sanskube::resource_version::ResourceVersion;
use serde_json::{Value, json};

use super::super::recorded::{Objects, Recorded};

/// Writes down what it is told.
pub(super) struct Recorder {
    pub(super) objects: Objects,
    pub(super) calls: Vec<Value>,
    /// The names of calls that are to fail, once for each time they stand here.
    pub(super) fails: Vec<String>,
    pub(super) takes_bookmarks: bool,
    pub(super) should_resync: bool,
    pub(super) transform: Option<Transform<Recorded>>,
}

impl Recorder {
    fn note(&mut self, name: &str, mut call: Value) -> Result<(), String> {
        call["call"] = json!(name);
        let fails = self.fails.iter().position(|fails| fails == name);
        if let Some(at) = fails {
            self.fails.remove(at);
            call["failed"] = json!(true);
        }
        self.calls.push(call);
        fails.map_or(Ok(()), |_| Err("scripted".to_owned()))
    }
}

impl ReflectorStore<Recorded> for Recorder {
    type Error = String;

    /// The transformer of a store sees the objects of a streaming list alone, as in client-go.
    fn hold(&mut self, object: Recorded) -> Result<Arc<Recorded>, String> {
        let object = match &self.transform {
            Some(transform) => transform(object).map_err(|refused| refused.to_string())?,
            None => object,
        };
        Ok(Arc::new(object))
    }

    fn replace(&mut self, objects: Vec<Arc<Recorded>>, version: &ResourceVersion) -> Result<(), String> {
        let names: Vec<Value> = objects.iter().map(|object| self.objects.name(object)).collect();
        self.note("replace", json!({"objs": names, "rv": version.to_string()}))
    }

    fn add(&mut self, object: Recorded) -> Result<(), String> {
        self.note("add", json!({"obj": self.objects.name(&object)}))
    }

    fn update(&mut self, object: Recorded) -> Result<(), String> {
        self.note("update", json!({"obj": self.objects.name(&object)}))
    }

    fn delete(&mut self, object: Recorded) -> Result<(), String> {
        self.note("delete", json!({"obj": self.objects.name(&object)}))
    }

    fn resync(&mut self) -> Result<(), String> {
        self.note("resync", json!({}))
    }

    fn should_resync(&mut self) -> bool {
        self.should_resync
    }

    fn bookmark(&mut self, version: &ResourceVersion) -> Result<(), String> {
        if self.takes_bookmarks { self.note("bookmark", json!({"rv": version.to_string()})) } else { Ok(()) }
    }

    fn update_resource_version(&mut self, version: &ResourceVersion) {
        if self.takes_bookmarks {
            self.calls.push(json!({"call": "update_resource_version", "rv": version.to_string()}));
        }
    }
}
