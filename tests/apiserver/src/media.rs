//! Content negotiation: which representation a client asks for, and which one it sends
//! (apiserver `pkg/endpoints/handlers/negotiation`).

use serde_json::json;

use crate::error::ApiError;
use crate::request::{Query, Request};

/// How an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Protobuf,
    Yaml,
}

/// What of an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Full,
    Partial,
    PartialList,
    Table(Include),
}

/// What a table has besides its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    Metadata,
    None,
    Object,
}

/// The representation of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Media {
    pub(crate) encoding: Encoding,
    pub(crate) shape: Shape,
    pub(crate) pretty: bool,
}

impl Media {
    pub(crate) const JSON: Self = Self { encoding: Encoding::Json, shape: Shape::Full, pretty: false };

    pub(crate) fn content_type(&self, stream: bool) -> &'static str {
        match (self.encoding, stream) {
            (Encoding::Json, _) => "application/json",
            (Encoding::Yaml, _) => "application/yaml",
            (Encoding::Protobuf, false) => "application/vnd.kubernetes.protobuf",
            (Encoding::Protobuf, true) => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }

    /// A small number for each way in which watchers can share frames; `None` if they cannot.
    pub(crate) fn form(&self) -> Option<u8> {
        match (self.encoding, self.shape) {
            (Encoding::Json, Shape::Full) => Some(0),
            (Encoding::Protobuf, Shape::Full) => Some(1),
            (Encoding::Json, Shape::Partial | Shape::PartialList) => Some(2),
            (Encoding::Protobuf, Shape::Partial | Shape::PartialList) => Some(3),
            _ => None,
        }
    }
}

/// What most objects can be written as.
pub(crate) const TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
/// What objects without a known shape can be written as.
pub(crate) const WITHOUT_PROTOBUF: &str = "application/json, application/yaml";

/// Chooses the representation of the answer among the accepted ones.
pub(crate) fn negotiate(request: &Request, query: &Query, accepted: &str) -> Result<Media, ApiError> {
    let pretty = match query.get("pretty") {
        Some(v) => v != "false" && v != "0",
        None => {
            let agent = request.header("user-agent").unwrap_or_default();
            ["curl", "Wget", "Mozilla/5.0"].iter().any(|p| agent.starts_with(p))
        }
    };
    let accept = request.header("accept").unwrap_or_default();
    if accept.trim().is_empty() {
        return Ok(Media { pretty, ..Media::JSON });
    }
    let mut transform_refused = false;
    for (media_type, parameters) in clauses(accept) {
        let encoding = match media_type.as_str() {
            "application/json" | "*/*" => Encoding::Json,
            "application/yaml" => Encoding::Yaml,
            "application/vnd.kubernetes.protobuf" if accepted == TYPES => Encoding::Protobuf,
            _ => continue,
        };
        let get = |name: &str| parameters.iter().find(|(k, _)| k == name).map_or("", |(_, v)| v.as_str());
        let shape = match (get("as"), get("g"), get("v")) {
            ("", _, _) => Shape::Full,
            ("Table", "meta.k8s.io", "v1" | "v1beta1") => Shape::Table(Include::Metadata),
            ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1") => Shape::Partial,
            ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => Shape::PartialList,
            _ => {
                transform_refused = true;
                continue;
            }
        };
        return Ok(Media { encoding, shape, pretty });
    }
    if transform_refused {
        return Err(ApiError::not_acceptable(format!("only the following media types are accepted: {accepted}"), None));
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {accepted}");
    Err(ApiError::not_acceptable(message, Some(json!({}))))
}

/// A media type and its parameters.
pub(crate) type Clause = (String, Vec<(String, String)>);

/// The clauses of an Accept header by falling weight.
pub(crate) fn clauses(accept: &str) -> Vec<Clause> {
    let mut list: Vec<(f32, Clause)> = accept
        .split(',')
        .map(|clause| {
            let mut parts = clause.split(';').map(str::trim);
            let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
            let parameters: Vec<(String, String)> = parts
                .filter_map(|p| p.split_once('='))
                .map(|(k, v)| (k.trim().to_ascii_lowercase(), v.trim().trim_matches('"').to_owned()))
                .collect();
            let weight = parameters.iter().find(|(k, _)| k == "q").and_then(|(_, v)| v.parse().ok()).unwrap_or(1.0);
            (weight, (media_type, parameters))
        })
        .collect();
    list.sort_by(|a, b| b.0.total_cmp(&a.0));
    list.into_iter().map(|(_, clause)| clause).collect()
}

/// How the body of a request is written.
pub(crate) fn content_type(request: &Request) -> Result<Encoding, ApiError> {
    let value = request.header("content-type").unwrap_or("application/json");
    match value.split(';').next().unwrap_or_default().trim() {
        "application/json" | "" => Ok(Encoding::Json),
        "application/yaml" => Ok(Encoding::Yaml),
        "application/vnd.kubernetes.protobuf" => Ok(Encoding::Protobuf),
        _ => Err(ApiError::unsupported_media_type(TYPES)),
    }
}
