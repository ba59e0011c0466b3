//! The frames of a watch.

use std::sync::Arc;

use serde_json::json;

use super::Watch;
use crate::decode::zero_message;
use crate::error::ApiError;
use crate::kind::{Kind, REPLICA_SETS};
use crate::media::{Encoding, Shape};
use crate::object::build;
use crate::schema::schema;
use crate::store::{Obj, Object};
use crate::time::Now;
use crate::{encode, json as path, protobuf, render, table};

pub(super) fn json_frame(event: &str, object: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
}

pub(super) fn at_version(kind: &Kind, object: &Object, rv: u64) -> Object {
    let mut value = Obj::clone(&object.value());
    path::meta_mut(&mut value).insert("resourceVersion".into(), rv.to_string().into());
    build(kind, &value, rv)
}

/// The object of a frame, in the representation of the watch.
pub(super) fn object_frame(watch: &mut Watch, object: &Arc<Object>, now: Now) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.json.len() + 128);
    if let Shape::Table(include) = watch.media.shape {
        let include = table::include(&watch.query, include).unwrap_or(include);
        let mut meta = Obj::new();
        meta.insert("resourceVersion".into(), object.rv.to_string().into());
        let columns = !std::mem::replace(&mut watch.columns_sent, true);
        table::write(&watch.kind, std::slice::from_ref(object), &meta, include, columns, now, &mut out);
    } else {
        render::object(&watch.kind, object, watch.media, &mut out);
    }
    out
}

pub(super) fn bookmark(watch: &mut Watch, rv: u64, ends_initial: bool, now: Now, out: &mut Vec<u8>) {
    let kind = watch.kind.clone();
    let partial = matches!(watch.media.shape, Shape::Partial | Shape::PartialList);
    let mut meta = json!({ "resourceVersion": rv.to_string() });
    if ends_initial {
        meta["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    let id = if partial { schema().id("meta.PartialObjectMetadata") } else { kind.message() };
    let mut value = zero_message(id);
    value.insert("metadata".into(), meta);
    if !partial && kind.table == REPLICA_SETS {
        // The internal type of a ReplicaSet has a number here, where the wire has a pointer.
        path::map_mut(&mut value, &["spec"]).insert("replicas".into(), 0.into());
    }
    let (name, version) = if partial {
        ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned())
    } else {
        (kind.kind.as_str(), kind.api_version())
    };
    let mut object = Vec::new();
    match (watch.media.encoding, watch.media.shape) {
        (Encoding::Protobuf, _) => protobuf::envelope(name, &version, id, &value, &mut object),
        (_, Shape::Table(_)) => {
            // The printer knows no bookmarks: it prints the empty object.
            let empty = Arc::new(build(&kind, &value, rv));
            object = object_frame(watch, &empty, now);
        }
        _ => {
            let mut text = Vec::new();
            encode::message(id, &value, &mut text);
            encode::with_type_meta(name, &version, &text, &mut object);
        }
    }
    watch.frame("BOOKMARK", &object, out);
}

pub(super) fn error_frame(watch: &Watch, error: &ApiError, out: &mut Vec<u8>) {
    let text = error.status();
    if watch.media.encoding == Encoding::Protobuf {
        let value: Obj = serde_json::from_slice(&text).unwrap_or_default();
        let mut object = Vec::new();
        protobuf::envelope("Status", "v1", schema().id("meta.Status"), &value, &mut object);
        watch.frame("ERROR", &object, out);
    } else {
        watch.frame("ERROR", &text, out);
    }
}
