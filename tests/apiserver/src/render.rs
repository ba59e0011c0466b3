//! Writes answers: objects, lists and statuses in the representation that was asked for.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::context::{Answer, Context};
use crate::error::ApiError;
use crate::kind::Kind;
use crate::media::{Encoding, Media, Shape};
use crate::request::{Request, Response};
use crate::store::{Obj, Object};
use crate::{encode, json as path, protobuf, schema, table};

/// A list before it is written.
pub(crate) struct List {
    pub(crate) items: Vec<Arc<Object>>,
    pub(crate) rv: String,
    pub(crate) token: String,
    pub(crate) remaining: Option<u64>,
}

impl List {
    fn metadata(&self) -> Obj {
        let mut meta = Obj::new();
        meta.insert("resourceVersion".into(), self.rv.clone().into());
        if !self.token.is_empty() {
            meta.insert("continue".into(), self.token.clone().into());
        }
        if let Some(n) = self.remaining {
            meta.insert("remainingItemCount".into(), n.into());
        }
        meta
    }
}

/// A list was asked for in the shape of one object.
fn is_a_list(kind: &Kind) -> ApiError {
    let message =
        format!("you requested PartialObjectMetadata, but the requested object is a list (*{}List)", internal(kind));
    ApiError::not_acceptable(message, None)
}

/// One object was asked for in the shape of a list.
pub(crate) fn not_a_list(kind: &Kind) -> ApiError {
    let message = format!(
        "you requested PartialObjectMetadataList, but the requested object is not a list (*{})",
        internal(kind)
    );
    ApiError::not_acceptable(message, None)
}

/// The Go name of the internal type.
fn internal(kind: &Kind) -> String {
    format!("{}.{}", kind.package(), kind.kind)
}

/// The JSON of an object as this kind, without `kind` and `apiVersion`.
pub(crate) fn object_json<'a>(kind: &Kind, object: &'a Object) -> Cow<'a, [u8]> {
    match kind.convert {
        None => Cow::Borrowed(&object.json),
        Some(c) => {
            let value = (c.from_stored)(Obj::clone(&object.value()));
            let mut out = Vec::with_capacity(object.json.len());
            encode::message(kind.message(), &value, &mut out);
            Cow::Owned(out)
        }
    }
}

/// The value of an object as this kind.
pub(crate) fn object_value(kind: &Kind, object: &Object) -> Arc<Obj> {
    match kind.convert {
        None => object.value(),
        Some(c) => Arc::new((c.from_stored)(Obj::clone(&object.value()))),
    }
}

/// The object with `kind` and `apiVersion`, in the given representation (not as a table).
pub(crate) fn object(kind: &Kind, object: &Object, media: Media, out: &mut Vec<u8>) {
    match (media.encoding, media.shape) {
        (Encoding::Protobuf, Shape::Partial | Shape::PartialList) => {
            let value = partial(&object.value());
            let id = schema::schema().id("meta.PartialObjectMetadata");
            protobuf::envelope("PartialObjectMetadata", "meta.k8s.io/v1", id, &value, out);
        }
        (Encoding::Protobuf, _) => {
            let value = object_value(kind, object);
            protobuf::envelope(&kind.kind, &kind.api_version(), kind.message(), &value, out);
        }
        (_, Shape::Partial | Shape::PartialList) => partial_json(&object.value(), out),
        _ => encode::with_type_meta(&kind.kind, &kind.api_version(), &object_json(kind, object), out),
    }
}

fn partial(value: &Obj) -> Obj {
    let mut map = Obj::new();
    map.insert("metadata".into(), Value::Object(path::meta(value).clone()));
    map
}

/// An object as PartialObjectMetadata.
pub(crate) fn partial_json(value: &Obj, out: &mut Vec<u8>) {
    let id = schema::schema().id("meta.PartialObjectMetadata");
    let mut body = Vec::new();
    encode::message(id, &partial(value), &mut body);
    encode::with_type_meta("PartialObjectMetadata", "meta.k8s.io/v1", &body, out);
}

/// Writes an answer.
pub(crate) fn answer(answer: Answer, cx: &Context<'_>) -> Result<Response, ApiError> {
    let mut media = cx.media;
    let mut body = Vec::new();
    let status = match answer {
        Answer::Object { status, object: o } => {
            let kind = cx.kind();
            match media.shape {
                Shape::PartialList => return Err(not_a_list(kind)),
                Shape::Table(include) => {
                    let include = table::include(cx.query, include)?;
                    media.encoding = Encoding::Json;
                    table::write(kind, std::slice::from_ref(&o), &table_meta(&o), include, true, cx.now, &mut body);
                }
                _ => object(kind, &o, media, &mut body),
            }
            status
        }
        Answer::Value { status, message, kind, api_version, value } => {
            let id = schema::schema().id(message);
            match (media.encoding, media.shape) {
                (Encoding::Protobuf, _) => {
                    protobuf::envelope(kind, &api_version, id, &value, &mut body);
                }
                (_, Shape::Partial) => partial_json(&value, &mut body),
                _ => {
                    let mut object = Vec::new();
                    encode::message(id, &value, &mut object);
                    encode::with_type_meta(kind, &api_version, &object, &mut body);
                }
            }
            status
        }
        Answer::List(list) => {
            write_list(&list, &mut media, cx, &mut body)?;
            200
        }
        Answer::Success { status, details } => {
            let mut value = json!({ "metadata": {}, "status": "Success" });
            if let Some(details) = details {
                value["details"] = details;
            }
            if status != 200 {
                value["code"] = status.into();
            }
            let mut text = Vec::new();
            let id = schema::schema().id("meta.Status");
            if let Value::Object(map) = &value {
                encode::message(id, map, &mut text);
            }
            let mut full = Vec::new();
            encode::with_type_meta("Status", "v1", &text, &mut full);
            return Ok(self::status(status, &full, media));
        }
        Answer::Raw(response) => return Ok(response),
        Answer::Watch(_) | Answer::Delayed(..) => unreachable!("the caller answers these itself"),
    };
    Ok(finish(status, body, media))
}

fn table_meta(object: &Object) -> Obj {
    let mut meta = Obj::new();
    meta.insert("resourceVersion".into(), object.rv.to_string().into());
    meta
}

fn write_list(list: &List, media: &mut Media, cx: &Context<'_>, out: &mut Vec<u8>) -> Result<(), ApiError> {
    let kind = cx.kind();
    let list_meta = schema::schema().id("meta.ListMeta");
    match media.shape {
        Shape::Partial => return Err(is_a_list(kind)),
        Shape::Table(include) => {
            let include = table::include(cx.query, include)?;
            media.encoding = Encoding::Json;
            table::write(kind, &list.items, &list.metadata(), include, true, cx.now, out);
            return Ok(());
        }
        Shape::Full | Shape::PartialList => {}
    }
    let partial_list = media.shape == Shape::PartialList;
    let (name, api_version) = if partial_list {
        ("PartialObjectMetadataList".to_owned(), "meta.k8s.io/v1".to_owned())
    } else {
        (kind.list_kind(), kind.api_version())
    };
    if media.encoding == Encoding::Protobuf {
        let (id, values): (_, Vec<Arc<Obj>>) = if partial_list {
            let id = schema::schema().id("meta.PartialObjectMetadata");
            (id, list.items.iter().map(|o| Arc::new(partial(&o.value()))).collect())
        } else {
            (kind.message(), list.items.iter().map(|o| object_value(kind, o)).collect())
        };
        protobuf::list_envelope(&name, &api_version, id, &list.metadata(), &values, out);
        return Ok(());
    }
    out.extend_from_slice(format!("{{\"kind\":\"{name}\",\"apiVersion\":\"{api_version}\",\"metadata\":").as_bytes());
    encode::message(list_meta, &list.metadata(), out);
    out.extend_from_slice(b",\"items\":");
    if partial_list && list.items.is_empty() {
        out.extend_from_slice(b"null}");
        return Ok(());
    }
    out.push(b'[');
    for (i, o) in list.items.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        if partial_list {
            partial_json(&o.value(), out);
        } else {
            out.extend_from_slice(&object_json(kind, o));
        }
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

/// A `Status` (JSON text) as a response.
pub(crate) fn status(code: u16, text: &[u8], media: Media) -> Response {
    if media.encoding == Encoding::Protobuf {
        let id = schema::schema().id("meta.Status");
        let value: Obj = serde_json::from_slice(text).unwrap_or_default();
        let mut body = Vec::new();
        protobuf::envelope("Status", "v1", id, &value, &mut body);
        return finish(code, body, media);
    }
    finish(code, text.to_vec(), media)
}

/// Puts the last touches on a body: indentation, YAML, the newline.
pub(crate) fn finish(status: u16, body: Vec<u8>, media: Media) -> Response {
    let content_type = media.content_type(false);
    let body = match media.encoding {
        Encoding::Protobuf => body,
        Encoding::Yaml => crate::yaml::write(&body),
        Encoding::Json if media.pretty => pretty(&body),
        Encoding::Json => {
            let mut body = body;
            body.push(b'\n');
            body
        }
    };
    Response { status, headers: vec![("content-type", content_type.to_owned())], body }
}

/// Answers larger than this are compressed, if the client takes it (apiserver
/// `pkg/endpoints/handlers/responsewriters/writers.go`).
const COMPRESS_FROM: usize = 128 * 1024;

/// Compresses a large answer to a client that says it takes that.
pub(crate) fn compress(request: &Request, response: &mut Response) {
    let accepted = request.header("accept-encoding").unwrap_or_default();
    let takes_gzip = accepted.split(',').any(|e| e.split(';').next().is_some_and(|e| e.trim() == "gzip"));
    if !takes_gzip || request.method != "GET" || response.body.len() <= COMPRESS_FROM {
        return;
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(response.body.len() / 8), Compression::fast());
    if encoder.write_all(&response.body).is_ok()
        && let Ok(packed) = encoder.finish()
    {
        response.body = packed;
        response.headers.push(("content-encoding", "gzip".to_owned()));
        response.headers.push(("vary", "Accept-Encoding".to_owned()));
    }
}

/// Indents JSON text by two spaces, without touching the order of keys.
fn pretty(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    let newline = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', depth * 2));
    };
    for (i, &b) in text.iter().enumerate() {
        if in_string {
            out.push(b);
            match b {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match b {
            b'"' => {
                in_string = true;
                out.push(b);
            }
            b'{' | b'[' => {
                out.push(b);
                if !matches!(text.get(i + 1), Some(b'}' | b']')) {
                    depth += 1;
                    newline(&mut out, depth);
                }
            }
            b'}' | b']' => {
                if !matches!(text.get(i.wrapping_sub(1)), Some(b'{' | b'[')) {
                    depth = depth.saturating_sub(1);
                    newline(&mut out, depth);
                }
                out.push(b);
            }
            b',' => {
                out.push(b);
                newline(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(b),
        }
    }
    out
}
