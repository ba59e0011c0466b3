//! Events as requests.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;

use super::correlator::Entry;
use crate::object::Resource;
use crate::request::{JSON, Method, Request, STRATEGIC_MERGE_PATCH};

/// The namespace that events of objects without one are in.
const DEFAULT_NAMESPACE: &str = "default";

impl Entry {
    fn namespace(&self) -> &str {
        match &*self.event.object.namespace {
            "" => DEFAULT_NAMESPACE,
            namespace => namespace,
        }
    }

    /// The request that writes the event anew.
    pub(super) fn create_request(&self) -> Request {
        let object = &self.event.object;
        let event = EventWire {
            kind: "Event",
            api_version: "v1",
            metadata: MetadataWire { name: &self.name, namespace: self.namespace() },
            involved_object: ObjectWire {
                kind: &object.kind,
                namespace: &object.namespace,
                name: &object.name,
                uid: object.uid.to_string(),
                api_version: &object.api_version,
                resource_version: &object.resource_version,
            },
            reason: &self.event.reason,
            message: &self.event.message,
            source: SourceWire { component: &self.event.component },
            first_timestamp: self.first.to_string(),
            last_timestamp: self.last.to_string(),
            count: self.count,
            event_type: self.event.event_type.as_str(),
            event_time: (),
            // Client-go leaves it out of what it combines.
            reporting_component: if self.combined { "" } else { &self.event.component },
            reporting_instance: "",
        };
        Request {
            method: Method::Post,
            path: Resource::EVENTS.collection_path(self.namespace()),
            content_type: JSON,
            body: to_json(&event),
        }
    }

    /// The request that raises the count of the event written before.
    pub(super) fn patch_request(&self) -> Request {
        let patch =
            PatchWire { count: self.count, last_timestamp: self.last.to_string(), message: &self.event.message };
        Request {
            method: Method::Patch,
            path: Resource::EVENTS.object_path(self.namespace(), &self.name, ""),
            content_type: STRATEGIC_MERGE_PATCH,
            body: to_json(&patch),
        }
    }
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("a struct of texts and numbers has a JSON form")
}

/// An event in the order of fields that Go writes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventWire<'a> {
    kind: &'a str,
    api_version: &'a str,
    metadata: MetadataWire<'a>,
    involved_object: ObjectWire<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    source: SourceWire<'a>,
    first_timestamp: String,
    last_timestamp: String,
    count: u32,
    #[serde(rename = "type")]
    event_type: &'a str,
    event_time: (),
    reporting_component: &'a str,
    reporting_instance: &'a str,
}

#[derive(Serialize)]
struct MetadataWire<'a> {
    name: &'a str,
    namespace: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectWire<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    resource_version: &'a str,
}

#[derive(Serialize)]
struct SourceWire<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    component: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PatchWire<'a> {
    count: u32,
    last_timestamp: String,
    message: &'a str,
}
