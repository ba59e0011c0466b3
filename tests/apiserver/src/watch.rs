//! Watches: cursors into the history that turn events into frames
//! (API concepts, "Efficient detection of changes", "Watch bookmarks", "Streaming lists").

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::decode::zero_message;
use crate::error::ApiError;
use crate::kind::{Kind, REPLICA_SETS};
use crate::media::{Encoding, Media, Shape};
use crate::read::{parse_version, validate_list_options};
use crate::request::Query;
use crate::schema::schema;
use crate::selector::Selector;
use crate::server::{Answer, ApiServer, Context, build};
use crate::store::{FrameKey, Obj, Object};
use crate::time::Now;
use crate::{encode, json as path, protobuf, render, table};

/// A watch that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub(crate) u64);

/// How a watch goes on after [`ApiServer::poll_watch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchState {
    /// Nothing more for now; it is named by [`ApiServer::poll_ready`] when there is.
    Open,
    /// There is more, but the buffer is full enough: poll again when it is drained.
    More,
    /// The stream ended as it should: end the body and forget the watch.
    Ended,
    /// The connection breaks (a fault rule says so): close it without ending the body.
    Cut,
}

const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// What a watch sends before its first event.
#[derive(Debug, Default)]
struct Initial {
    objects: VecDeque<Arc<Object>>,
    /// The version of the bookmark that ends them, if there is one.
    end: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Watch {
    kind: &'static Kind,
    index: usize,
    namespace: String,
    selector: Selector,
    media: Media,
    query: Query,
    initial: Initial,
    /// The position in the table's history of the next event.
    position: u64,
    /// Events up to this version are not sent.
    after: u64,
    /// A bookmark must be newer than this.
    begun_at: u64,
    ends_at: Duration,
    bookmarks: bool,
    next_bookmark: Duration,
    /// Refused at this time, with one ERROR frame.
    error: Option<(Duration, ApiError)>,
    columns_sent: bool,
    pub(crate) queued: bool,
    pub(crate) frames: u32,
    /// The connection breaks within the frame of this number.
    cut_at: Option<u32>,
    closed: bool,
}

impl Watch {
    fn deadline(&self) -> Duration {
        let mut at = self.ends_at;
        if self.bookmarks {
            at = at.min(self.next_bookmark);
        }
        if let Some((due, _)) = &self.error {
            at = at.min(*due);
        }
        at
    }

    fn frame(&self, event: &str, object: &[u8], out: &mut Vec<u8>) {
        match self.media.encoding {
            Encoding::Protobuf => protobuf::watch_frame(event, object, out),
            _ => json_frame(event, object, out),
        }
    }
}

fn json_frame(event: &str, object: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
}

impl ApiServer {
    pub(crate) fn open_watch(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let kind = cx.place.kind;
        let mut fields = cx.query.text("fieldSelector").to_owned();
        if !cx.place.name.is_empty() {
            // A watch of one object by its path.
            let separator = if fields.is_empty() { "" } else { "," };
            fields = format!("{fields}{separator}metadata.name={}", cx.place.name);
        }
        let selector = Selector::parse(kind, cx.query.text("labelSelector"), &fields)?;
        validate_list_options(cx, true)?;
        let timeout = cx.query.int("timeoutSeconds")?.and_then(|s| u64::try_from(s).ok()).filter(|s| *s > 0);
        if self.watches.len() >= self.config.max_watches {
            return Err(ApiError::too_many_requests("too many watches are open", Vec::new()));
        }
        let text = cx.query.text("resourceVersion");
        let rv = parse_version(text).map_err(ApiError::internal)?.unwrap_or(0);
        let now = cx.now.monotonic;
        let bookmarks = cx.query.flag("allowWatchBookmarks");
        let send_initial = cx.query.get("sendInitialEvents").map(|_| cx.query.flag("sendInitialEvents"));
        let current = self.store.rv();
        let table = self.store.table(kind.table);
        let mut error = None;
        let mut initial = Initial::default();
        let mut position = table.end();
        let wants_initial = send_initial.unwrap_or(rv == 0);
        if wants_initial && rv > current {
            error = Some((now + self.config.future_version_wait, ApiError::version_too_large(rv, current)));
        } else if wants_initial {
            let mut objects = table.snapshot(&cx.place.namespace, None, None).unwrap_or_default();
            objects.retain(|o| selector.matches(o));
            initial.objects = objects.into();
            initial.end = bookmarks.then_some(current);
        } else if rv > 0 {
            match table.position_after(rv) {
                Ok(p) => position = p,
                Err(floor) if kind.traits.cached => {
                    error = Some((now, ApiError::expired(format!("too old resource version: {rv} ({})", floor + 1))));
                }
                Err(_) => {
                    let message = "The resourceVersion for the provided watch is too old.";
                    error = Some((now, ApiError::expired(message)));
                }
            }
        }
        let timeout = timeout.map_or(self.config.watch_timeout, Duration::from_secs);
        let ends_at = now + self.faults.watch_lifetime(timeout);
        let mut watch = Watch {
            kind,
            index: cx.place.index,
            namespace: cx.place.namespace.clone(),
            selector,
            media: cx.media,
            query: cx.query.clone(),
            initial,
            position,
            after: rv,
            begun_at: current.max(rv),
            ends_at,
            bookmarks,
            next_bookmark: first_bookmark(now, ends_at),
            error,
            columns_sent: false,
            queued: false,
            frames: 0,
            cut_at: self.faults.cut_next_watch(),
            closed: false,
        };
        watch.begun_at = current;
        let id = WatchId(self.next_watch);
        self.next_watch += 1;
        self.deadlines.insert((watch.deadline(), id));
        self.watchers[kind.table].push(id);
        self.watches.insert(id, watch);
        self.wake(id);
        Ok(Answer::Watch(id))
    }

    /// Marks a watch as one to be polled.
    pub(crate) fn wake(&mut self, id: WatchId) {
        if let Some(watch) = self.watches.get_mut(&id)
            && !watch.queued
        {
            watch.queued = true;
            self.ready.push_back(id);
        }
    }

    /// Marks the watches of a table.
    pub(crate) fn wake_table(&mut self, table: usize) {
        for id in &self.watchers[table] {
            if let Some(watch) = self.watches.get_mut(id)
                && !watch.queued
            {
                watch.queued = true;
                self.ready.push_back(*id);
            }
        }
    }

    /// The next watch that may have something to say; each is named once until it is polled.
    pub fn poll_ready(&mut self) -> Option<WatchId> {
        self.ready.pop_front()
    }

    /// Ends all watches at once, as a server that stops does.
    pub fn close_watches(&mut self) {
        let ids: Vec<WatchId> = self.watches.keys().copied().collect();
        for id in ids {
            if let Some(watch) = self.watches.get_mut(&id) {
                watch.closed = true;
            }
            self.wake(id);
        }
    }

    /// Forgets a watch: its connection is gone, or it ended.
    pub fn drop_watch(&mut self, id: WatchId) {
        if let Some(watch) = self.watches.remove(&id) {
            self.deadlines.remove(&(watch.deadline(), id));
            self.watchers[watch.kind.table].retain(|w| *w != id);
        }
    }

    /// How many watches are open.
    #[must_use]
    pub fn open_watches(&self) -> usize {
        self.watches.len()
    }

    /// Appends the frames of a watch to `out`, and says how the watch goes on. It stops appending once
    /// `out` is longer than `limit`; a watch that is polled too rarely to keep up with the history gets a 410 and ends.
    ///
    /// After [`WatchState::Ended`] and [`WatchState::Cut`] the watch is forgotten.
    pub fn poll_watch(&mut self, id: WatchId, now: Now, limit: usize, out: &mut Vec<u8>) -> WatchState {
        let Some(mut watch) = self.watches.remove(&id) else {
            return WatchState::Ended;
        };
        watch.queued = false;
        let before = watch.deadline();
        let state = self.advance_watch(&mut watch, now, limit, out);
        self.deadlines.remove(&(before, id));
        if matches!(state, WatchState::Ended | WatchState::Cut) {
            self.watchers[watch.kind.table].retain(|w| *w != id);
            return state;
        }
        let deadline = watch.deadline();
        self.deadlines.insert((self.faults.postpone(deadline, now.monotonic), id));
        self.watches.insert(id, watch);
        state
    }

    fn advance_watch(&mut self, watch: &mut Watch, now: Now, limit: usize, out: &mut Vec<u8>) -> WatchState {
        if watch.closed {
            return WatchState::Ended;
        }
        if let Some((due, error)) = &watch.error {
            if *due <= now.monotonic {
                error_frame(watch, error, out);
                return WatchState::Ended;
            }
            return if watch.ends_at <= now.monotonic { WatchState::Ended } else { WatchState::Open };
        }
        loop {
            if out.len() > limit {
                return WatchState::More;
            }
            let start = out.len();
            if !self.next_frame(watch, now, out) {
                break;
            }
            if out.len() == start {
                continue;
            }
            watch.frames += 1;
            if watch.cut_at == Some(watch.frames) {
                let half = start + (out.len() - start) / 2;
                out.truncate(half);
                return WatchState::Cut;
            }
        }
        if watch.error.is_some() {
            return self.advance_watch(watch, now, limit, out);
        }
        if watch.bookmarks && watch.next_bookmark <= now.monotonic && !self.faults.frozen(watch.kind.resource) {
            let newest = self.store.table(watch.kind.table).newest();
            if newest > watch.begun_at {
                bookmark(watch, newest, false, out);
            }
            watch.next_bookmark = if watch.next_bookmark + BOOKMARK_BEFORE_END >= watch.ends_at {
                watch.ends_at
            } else {
                next_bookmark(watch.next_bookmark, watch.ends_at)
            };
        }
        if watch.ends_at <= now.monotonic { WatchState::Ended } else { WatchState::Open }
    }

    /// Writes at most one frame; whether there may be another.
    fn next_frame(&mut self, watch: &mut Watch, now: Now, out: &mut Vec<u8>) -> bool {
        if let Some(object) = watch.initial.objects.pop_front() {
            let bytes = object_frame(watch, &object, now);
            watch.frame("ADDED", &bytes, out);
            return true;
        }
        if let Some(rv) = watch.initial.end.take() {
            bookmark(watch, rv, true, out);
            return true;
        }
        let resource = watch.kind.resource;
        if self.faults.frozen(resource) {
            return false;
        }
        let lag = self.faults.lag(resource);
        let event = match self.store.table_mut(watch.kind.table).event(watch.position) {
            Ok(Some(event)) => event,
            Ok(None) => return false,
            Err(floor) => {
                let message = format!("too old resource version: {} ({})", watch.after, floor + 1);
                watch.error = Some((now.monotonic, ApiError::expired(message)));
                return false;
            }
        };
        if let Some(lag) = lag
            && event.at + lag > now.monotonic
        {
            self.faults.lagging_until(event.at + lag);
            return false;
        }
        watch.position += 1;
        let rv = event.rv;
        let within = watch.namespace.is_empty() || *event.object.key.namespace == *watch.namespace;
        if rv <= watch.after || !within {
            return true;
        }
        watch.after = rv;
        let was = event.previous.as_ref().is_some_and(|o| watch.selector.matches(o));
        let is = !event.deleted && watch.selector.matches(&event.object);
        let kind = match (was, is) {
            (false, false) => return true,
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
        };
        let object = if kind == "DELETED" && !event.deleted {
            // It left the selection: its last state within, at the version of the change.
            let Some(previous) = event.previous.clone() else {
                return true;
            };
            Arc::new(at_version(watch.kind.table, &previous, rv))
        } else {
            event.object.clone()
        };
        let shared = watch.media.form().filter(|_| kind != "DELETED" || event.deleted);
        if let Some(form) = shared {
            let key = FrameKey { event: kind.as_bytes()[0], kind: watch.index, form };
            let (served, media) = (watch.kind, watch.media);
            let frame = event.frame(key, |object| {
                let mut bytes = Vec::with_capacity(object.json.len() + 64);
                render::object(served, object, media, &mut bytes);
                let mut frame = Vec::with_capacity(bytes.len() + 64);
                match media.encoding {
                    Encoding::Protobuf => protobuf::watch_frame(kind, &bytes, &mut frame),
                    _ => json_frame(kind, &bytes, &mut frame),
                }
                frame
            });
            out.extend_from_slice(&frame);
            return true;
        }
        let bytes = object_frame(watch, &object, now);
        watch.frame(kind, &bytes, out);
        true
    }
}

fn first_bookmark(now: Duration, ends_at: Duration) -> Duration {
    next_bookmark(now, ends_at)
}

/// A minute later, or two seconds before the end if that comes first.
fn next_bookmark(from: Duration, ends_at: Duration) -> Duration {
    (from + BOOKMARK_INTERVAL).min(ends_at.saturating_sub(BOOKMARK_BEFORE_END)).max(from)
}

fn at_version(table: usize, object: &Object, rv: u64) -> Object {
    let mut value = object.value();
    path::meta_mut(&mut value).insert("resourceVersion".into(), rv.to_string().into());
    build(table, &value, rv)
}

/// The object of a frame, in the representation of the watch.
fn object_frame(watch: &mut Watch, object: &Arc<Object>, now: Now) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.json.len() + 128);
    if let Shape::Table(include) = watch.media.shape {
        let include = table::include(&watch.query, include).unwrap_or(include);
        let mut meta = Obj::new();
        meta.insert("resourceVersion".into(), object.rv.to_string().into());
        let columns = !std::mem::replace(&mut watch.columns_sent, true);
        table::write(watch.kind, std::slice::from_ref(object), &meta, include, columns, now, &mut out);
    } else {
        render::object(watch.kind, object, watch.media, &mut out);
    }
    out
}

fn bookmark(watch: &mut Watch, rv: u64, ends_initial: bool, out: &mut Vec<u8>) {
    let kind = watch.kind;
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
    let (name, version) =
        if partial { ("PartialObjectMetadata", "meta.k8s.io/v1".to_owned()) } else { (kind.kind, kind.api_version()) };
    let mut object = Vec::new();
    match (watch.media.encoding, watch.media.shape) {
        (Encoding::Protobuf, _) => protobuf::envelope(name, &version, id, &value, &mut object),
        (_, Shape::Table(_)) => table::bookmark(kind, &value, rv, &mut object),
        _ => {
            let mut text = Vec::new();
            encode::message(id, &value, &mut text);
            encode::with_type_meta(name, &version, &text, &mut object);
        }
    }
    watch.frame("BOOKMARK", &object, out);
}

fn error_frame(watch: &Watch, error: &ApiError, out: &mut Vec<u8>) {
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
