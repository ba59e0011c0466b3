//! What a watch does when it is polled.

use std::sync::Arc;

use super::frame::{at_version, bookmark, error_frame, json_frame, object_frame};
use super::{BOOKMARK_BEFORE_END, Watch, WatchState, next_bookmark};
use crate::error::ApiError;
use crate::media::Encoding;
use crate::server::ApiServer;
use crate::store::FrameKey;
use crate::time::Now;
use crate::{protobuf, render};

impl ApiServer {
    pub(super) fn advance_watch(&mut self, watch: &mut Watch, now: Now, limit: usize, out: &mut Vec<u8>) -> WatchState {
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
        if watch.bookmarks && watch.next_bookmark <= now.monotonic {
            let newest = self.store.table(watch.kind.table).newest();
            let newest = self.replica_version(watch).map_or(newest, |version| newest.min(version));
            if newest > watch.begun_at && !self.faults.frozen(&watch.kind.resource) {
                bookmark(watch, newest, false, now, out);
            }
            watch.next_bookmark = if watch.next_bookmark + BOOKMARK_BEFORE_END >= watch.ends_at {
                watch.ends_at
            } else {
                next_bookmark(watch.next_bookmark, watch.ends_at)
            };
        }
        if watch.ends_at <= now.monotonic { WatchState::Ended } else { WatchState::Open }
    }

    /// How far the replica of a watch has come, if it lags.
    fn replica_version(&self, watch: &Watch) -> Option<u64> {
        self.faults.replicas().version(watch.replica.as_ref())
    }

    /// Writes at most one frame; whether there may be another.
    fn next_frame(&mut self, watch: &mut Watch, now: Now, out: &mut Vec<u8>) -> bool {
        if let Some(object) = watch.initial.objects.pop_front() {
            let bytes = object_frame(watch, &object, now);
            watch.frame("ADDED", &bytes, out);
            return true;
        }
        if let Some(rv) = watch.initial.end.take() {
            bookmark(watch, rv, true, now, out);
            return true;
        }
        let served = watch.kind.clone();
        let resource = served.resource.as_str();
        if self.faults.frozen(resource) {
            return false;
        }
        let lag = self.faults.lag(resource);
        let replica = self.replica_version(watch);
        let event = match self.store.table_mut(watch.kind.table).event(watch.position) {
            Ok(Some(event)) => event,
            Ok(None) => return false,
            Err(floor) => {
                let message = format!("too old resource version: {} ({})", watch.after, floor + 1);
                watch.error = Some((now.monotonic, ApiError::expired(message)));
                return false;
            }
        };
        if replica.is_some_and(|version| event.rv > version) {
            return false;
        }
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
            Arc::new(at_version(&watch.kind, &previous, rv))
        } else {
            event.object.clone()
        };
        let shared = watch.media.form().filter(|_| kind != "DELETED" || event.deleted);
        if let Some(form) = shared {
            let key = FrameKey { event: kind.as_bytes()[0], kind: served.id, form };
            let media = watch.media;
            let frame = event.frame(key, |object| {
                let mut bytes = Vec::with_capacity(object.json.len() + 64);
                render::object(&served, object, media, &mut bytes);
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
