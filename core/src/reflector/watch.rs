//! A watch in progress: its events, until it ends.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::config::Config;
use super::failure::{Cause, Doing};
use super::list::{decode_shared, query};
use super::store::ReflectorStore;
use crate::error::{Full, Malformed};
use crate::key::Key;
use crate::limits::Limits;
use crate::object::{Decode, Shared};
use crate::request::Request;
use crate::resource_version::ResourceVersion;
use crate::time::Instant;
use crate::wire::{Change, Frames, TypeText, WatchEvent};

/// One watch, from its request to its end.
///
/// Mirrors client-go `tools/cache/reflector.go`, `handleAnyWatch` and the callbacks that `watch` and `watchList` give it.
#[derive(Debug)]
pub(super) struct Watch<T> {
    /// The version it was asked to start from.
    from: ResourceVersion,
    /// `timeoutSeconds`.
    timeout: u64,
    /// When it was asked for; for a streaming list that is whole, when that happened.
    started: Instant,
    /// From when on it ought to have ended: its own end, or the last event that came after that.
    overdue: Instant,
    frames: Frames,
    /// Whether an event was accepted.
    any_event: bool,
    /// Whether events move the version. Not while the objects that there were before the watch are still coming, which
    /// are in no order: such a phase is known to be over at the first event that is no `ADDED`.
    in_order: bool,
    /// The objects of a streaming list, until it is whole.
    initial: Option<BTreeMap<Key, Arc<T>>>,
}

/// What an event led to beyond itself.
#[derive(Debug)]
pub(super) enum Event<T> {
    /// The version that was seen moved to this.
    Moved(ResourceVersion),
    /// Nothing.
    None,
    /// A streaming list is whole, as of this version.
    Initial(Vec<Arc<T>>, ResourceVersion),
}

impl<T: Decode> Watch<T> {
    /// A watch from `from`; with `stream` it begins with all objects.
    pub(super) fn new(config: &Config, from: ResourceVersion, stream: bool, now: Instant, timeout: u64) -> Self {
        let timeout = timeout.max(1);
        Self {
            timeout,
            started: now,
            overdue: now + Duration::from_secs(timeout),
            frames: Frames::new(config.limits.object_bytes),
            any_event: false,
            in_order: !from.is_none() && !from.is_zero(),
            initial: stream.then(BTreeMap::new),
            from,
        }
    }

    pub(super) fn request(&self, config: &Config) -> Request {
        let mut query = query(config)
            .pair("watch", true)
            .pair("allowWatchBookmarks", true)
            .pair("timeoutSeconds", self.timeout)
            .pair_if("resourceVersion", &self.from.to_string());
        if self.is_streaming() {
            query = query.pair("sendInitialEvents", true).pair("resourceVersionMatch", "NotOlderThan");
        }
        Request::get(query.finish())
    }

    pub(super) const fn is_streaming(&self) -> bool {
        self.initial.is_some()
    }

    pub(super) const fn doing(&self, open: bool) -> Doing {
        match (self.is_streaming(), open) {
            (true, _) => Doing::Streaming,
            (false, false) => Doing::Opening,
            (false, true) => Doing::Watching,
        }
    }

    /// When it is to be given up if nothing has come of it at all.
    pub(super) fn opening_deadline(&self, limits: &Limits) -> Instant {
        self.deadline(limits.watch_grace).min(self.started + limits.call_timeout)
    }

    /// When it is to be dropped for its silence.
    pub(super) fn deadline(&self, grace: Duration) -> Instant {
        self.overdue + grace
    }

    /// Takes the next event of a piece; none when the piece is used up.
    pub(super) fn next_event<S: ReflectorStore<T>>(
        &mut self,
        config: &Config,
        shared: &mut Shared,
        piece: &mut &[u8],
        now: Instant,
        store: &mut S,
        refused: &mut Option<S::Error>,
    ) -> Result<Option<Event<T>>, Cause> {
        // The frames are taken out while one of them is borrowed from them.
        let mut frames = core::mem::replace(&mut self.frames, Frames::new(0));
        let event = match frames.next_frame(piece) {
            Ok(Some(line)) => self.handle_line(config, shared, line, now, store, refused).map(Some),
            Ok(None) => Ok(None),
            Err(full) => Err(Cause::Undecodable(full.into())),
        };
        self.frames = frames;
        event
    }

    /// How it ended, if it was not by an error.
    pub(super) fn end(&self, now: Instant) -> Cause {
        if !self.any_event && now.since(self.started) < Duration::from_secs(1) {
            Cause::VeryShortWatch
        } else {
            Cause::Closed
        }
    }

    fn handle_line<S: ReflectorStore<T>>(
        &mut self,
        config: &Config,
        shared: &mut Shared,
        line: &[u8],
        now: Instant,
        store: &mut S,
        refused: &mut Option<S::Error>,
    ) -> Result<Event<T>, Cause> {
        let undecodable = |e: Malformed| Cause::Undecodable(e.into());
        self.overdue = self.overdue.max(now);
        let version = match WatchEvent::decode(line).map_err(undecodable)? {
            WatchEvent::Error(status) => return Err(Cause::Status(status.into())),
            WatchEvent::OtherError => return Err(Cause::UnknownError),
            WatchEvent::Unknown { resource_version } => resource_version,
            WatchEvent::Bookmark { type_meta, resource_version, initial_events_end } => {
                if !is_kind_of(config, &type_meta.api_version, &type_meta.kind) {
                    return Ok(Event::None);
                }
                if initial_events_end && let Some(initial) = self.initial.take() {
                    self.started = now;
                    self.any_event = false;
                    self.in_order = true;
                    return Ok(Event::Initial(initial.into_values().collect(), resource_version));
                }
                self.in_order = true;
                if !self.is_streaming() {
                    *refused = store.bookmark(&resource_version).err();
                }
                resource_version
            }
            WatchEvent::Object { change, json } => {
                let TypeText { api_version, kind } = TypeText::peek(json).map_err(undecodable)?;
                if !is_kind_of(config, &api_version, &kind) {
                    return Ok(Event::None);
                }
                let object: T = decode_shared(json, config, shared).map_err(undecodable)?;
                let version = object.resource_version();
                if object.name().is_empty() || version.is_none() {
                    return Err(undecodable(Malformed::new("object", "it has no name or no resource version")));
                }
                self.in_order |= change != Change::Added;
                match &mut self.initial {
                    Some(initial) => *refused = hold(initial, config.limits.list_objects, change, object, store)?,
                    None => {
                        let stored = match change {
                            Change::Added => store.add(object),
                            Change::Modified => store.update(object),
                            Change::Deleted => store.delete(object),
                        };
                        *refused = stored.err();
                    }
                }
                version
            }
        };
        self.any_event = true;
        if self.is_streaming() || !self.in_order || version.is_none() {
            return Ok(Event::None);
        }
        store.update_resource_version(&version);
        Ok(Event::Moved(version))
    }
}

/// Applies an event of a streaming list to the objects that are held.
fn hold<T: Decode, S: ReflectorStore<T>>(
    initial: &mut BTreeMap<Key, Arc<T>>,
    bound: usize,
    change: Change,
    object: T,
    store: &mut S,
) -> Result<Option<S::Error>, Cause> {
    if change == Change::Deleted {
        initial.remove(&object.key());
        return Ok(None);
    }
    match store.hold(object) {
        Ok(object) => {
            initial.insert(object.key(), object);
        }
        Err(e) => return Ok(Some(e)),
    }
    if initial.len() > bound {
        return Err(Cause::Undecodable(Full { limit: "list_objects", bound }.into()));
    }
    Ok(None)
}

/// Whether an object that is of this type, as far as it says, may be one that was asked for. Others are passed over.
fn is_kind_of(config: &Config, api_version: &str, kind: &str) -> bool {
    let resource = &config.resource;
    (kind.is_empty() || *kind == *resource.kind) && (api_version.is_empty() || resource.is_api_version(api_version))
}
