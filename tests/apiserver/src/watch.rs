//! Watches: cursors into the history that turn events into frames
//! (API concepts, "Efficient detection of changes", "Watch bookmarks", "Streaming lists").

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::context::{Answer, Context};
use crate::error::ApiError;
use crate::kind::Kind;
use crate::media::{Encoding, Media};
use crate::protobuf;
use crate::read::{parse_version, validate_list_options};
use crate::request::Query;
use crate::selector::Selector;
use crate::server::ApiServer;
use crate::store::Object;
use crate::time::Now;

mod advance;
mod frame;

use frame::json_frame;

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
    kind: Arc<Kind>,
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
    /// The replica that serves it.
    replica: Option<Arc<str>>,
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

impl ApiServer {
    pub(crate) fn open_watch(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        let kind = cx.kind();
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
        let cached = self.cached_version(cx);
        let current = cached.unwrap_or_else(|| self.store.rv());
        let table = self.store.table(kind.table);
        let mut error = None;
        let mut initial = Initial::default();
        let mut position = table.end();
        let wants_initial = send_initial.unwrap_or(rv == 0);
        // Objects as of no version in particular are those of the storage, to which the cache must have come.
        let wanted = if send_initial.is_some() && text.is_empty() { self.store.rv() } else { rv };
        if wants_initial && wanted > current {
            error = Some((now + self.config.future_version_wait, ApiError::version_too_large(wanted, current)));
        } else if wants_initial {
            if let Some(version) = cached {
                position = table.position_after(version).unwrap_or(position);
            }
            let mut objects = table.snapshot(&cx.place.namespace, None, cached).unwrap_or_default();
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
        let watch = Watch {
            kind: cx.place.kind.clone(),
            namespace: cx.place.namespace.clone(),
            selector,
            media: cx.media,
            query: cx.query.clone(),
            initial,
            position,
            after: rv,
            begun_at: current.max(rv),
            replica: self.faults.replicas().serving(cx.request).cloned(),
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

    /// Ends the watches of a table.
    pub(crate) fn close_table(&mut self, table: usize) {
        for id in self.watchers.get(table).cloned().unwrap_or_default() {
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
        self.deadlines.insert((self.faults.postpone(deadline), id));
        self.watches.insert(id, watch);
        state
    }
}

fn first_bookmark(now: Duration, ends_at: Duration) -> Duration {
    next_bookmark(now, ends_at)
}

/// A minute later, or two seconds before the end if that comes first.
fn next_bookmark(from: Duration, ends_at: Duration) -> Duration {
    (from + BOOKMARK_INTERVAL).min(ends_at.saturating_sub(BOOKMARK_BEFORE_END)).max(from)
}
