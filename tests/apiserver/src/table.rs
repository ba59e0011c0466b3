//! Tables: the columns kubectl prints (`pkg/printers/internalversion/printers.go`).

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::kind::Kind;
use crate::media::Include;
use crate::request::Query;
use crate::store::{Obj, Object};
use crate::time::Now;
use crate::{encode, render, schema};

mod cells;
mod custom;

use cells::{cells, row_condition};

/// What `includeObject` says.
pub(crate) fn include(query: &Query, default: Include) -> Result<Include, ApiError> {
    match query.text("includeObject") {
        "" => Ok(default),
        "Metadata" => Ok(Include::Metadata),
        "None" => Ok(Include::None),
        "Object" => Ok(Include::Object),
        other => Err(ApiError::bad_request(format!("unrecognized includeObject value: \"{other}\""))),
    }
}

fn columns(kind: &Kind) -> Vec<&Value> {
    static COLUMNS: OnceLock<Map<String, Value>> = OnceLock::new();
    let all =
        COLUMNS.get_or_init(|| serde_json::from_str(include_str!("table/columns.json")).expect("columns.json is JSON"));
    match &kind.custom {
        Some(custom) => custom::NAME.iter().chain(custom.columns.iter().map(|c| &c.definition)).collect(),
        None => all.get(&kind.resource).and_then(Value::as_array).into_iter().flatten().collect(),
    }
}

const TABLE: &[u8] = b"{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":";

/// Writes a table of objects.
pub(crate) fn write(
    kind: &Kind,
    objects: &[Arc<Object>],
    metadata: &Obj,
    include: Include,
    with_columns: bool,
    now: Now,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(TABLE);
    encode::message(schema::schema().id("meta.ListMeta"), metadata, out);
    out.extend_from_slice(b",\"columnDefinitions\":");
    if with_columns {
        write_columns(kind, out);
    } else {
        out.extend_from_slice(b"null");
    }
    out.extend_from_slice(b",\"rows\":[");
    for (i, object) in objects.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        let value = object.value();
        out.extend_from_slice(b"{\"cells\":");
        encode::any(&Value::Array(cells(kind, &value, now.wall)), out);
        if let Some(condition) = row_condition(kind, &value) {
            out.extend_from_slice(b",\"conditions\":[");
            out.extend_from_slice(condition.as_bytes());
            out.push(b']');
        }
        out.extend_from_slice(b",\"object\":");
        match include {
            Include::None => out.extend_from_slice(b"null"),
            Include::Metadata => render::partial_json(&value, out),
            Include::Object => {
                encode::with_type_meta(&kind.kind, &kind.api_version(), &render::object_json(kind, object), out);
            }
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
}

fn write_columns(kind: &Kind, out: &mut Vec<u8>) {
    out.push(b'[');
    for (i, column) in columns(kind).into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.push(b'{');
        for (j, key) in ["name", "type", "format", "description", "priority"].iter().enumerate() {
            if j > 0 {
                out.push(b',');
            }
            out.extend_from_slice(format!("\"{key}\":").as_bytes());
            encode::any(&column[*key], out);
        }
        out.push(b'}');
    }
    out.push(b']');
}
