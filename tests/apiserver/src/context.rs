//! What a request is about once it is understood, and its answer before it is written.

use std::sync::Arc;
use std::time::Duration;

use crate::error::ApiError;
use crate::kind::{Kind, Kinds};
use crate::media::Media;
use crate::render;
use crate::request::{Place, Query, Request, Response};
use crate::store::{Key, Obj, Object};
use crate::time::Now;
use crate::watch::WatchId;

/// An answer before it is written.
pub(crate) enum Answer {
    /// One object.
    Object {
        status: u16,
        object: Arc<Object>,
    },
    /// One object that is not stored as such (a dry run, a Scale).
    Value {
        status: u16,
        message: &'static str,
        kind: &'static str,
        api_version: String,
        value: Obj,
    },
    List(render::List),
    /// A `Status` of success; the value holds its details.
    Success {
        status: u16,
        details: Option<serde_json::Value>,
    },
    Raw(Response),
    Watch(WatchId),
    Delayed(Duration, ApiError),
}

/// What a request is about, once it is understood.
pub(crate) struct Context<'a> {
    pub(crate) now: Now,
    pub(crate) request: &'a Request,
    pub(crate) query: &'a Query,
    pub(crate) place: &'a Place,
    pub(crate) media: Media,
    /// The kinds that are served.
    pub(crate) kinds: &'a Kinds,
    /// Texts of `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

impl<'a> Context<'a> {
    /// The kind that the request is about.
    pub(crate) fn kind(&self) -> &'a Kind {
        &self.place.kind
    }

    pub(crate) fn key(&self) -> Key {
        Key::new(&self.place.namespace, &self.place.name)
    }

    /// The name of the writer for managedFields: `fieldManager`, or the user agent up to the slash.
    pub(crate) fn manager(&self) -> String {
        match self.query.get("fieldManager") {
            Some(m) if !m.is_empty() => m.to_owned(),
            _ => {
                let agent = self.request.header("user-agent").unwrap_or("unknown");
                agent.split('/').next().unwrap_or_default().chars().take(128).collect()
            }
        }
    }

    pub(crate) fn dry_run(&self) -> bool {
        !self.query.all("dryRun").is_empty()
    }
}

/// A refusal as a response.
pub(crate) fn refusal(error: &ApiError, media: Media, warnings: &[String]) -> Response {
    let mut response = render::status(error.code, &error.status(), media);
    if let Some(seconds) = error.retry_after {
        response.headers.push(("retry-after", seconds.to_string()));
    }
    add_warnings(&mut response, warnings);
    response
}

pub(crate) fn add_warnings(response: &mut Response, warnings: &[String]) {
    for w in warnings {
        let text = w.replace('\\', "\\\\").replace('"', "\\\"");
        response.headers.push(("warning", format!("299 - \"{text}\"")));
    }
}
