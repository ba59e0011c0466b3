//! A watch in progress: its events, until it ends.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use super::config::Config;
use super::failure::{Cause, Doing};
use super::frame::{Frame, News};
use super::initial::Initial;
use super::list::query;
use super::store::ReflectorStore;
use crate::error::Malformed;
use crate::limits::Limits;
use crate::object::{Common, Decode, Shared};
use crate::request::{Encoding, Request};
use crate::resource_version::ResourceVersion;
use crate::time::Instant;
use crate::wire::{Change, Frames, LengthFrames, WatchEvent};

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
    stream: Stream,
    /// Whether an event was accepted.
    any_event: bool,
    /// Whether events move the version. Not while the objects that there were before the watch are still coming, which
    /// are in no order: such a phase is known to be over at the first event that is no `ADDED`.
    in_order: bool,
    /// The objects of a streaming list, until it is whole.
    initial: Option<Initial<T>>,
}

/// The events of a watch as they come, in what they are written in.
#[derive(Debug)]
enum Stream {
    Json(Frames),
    Protobuf(LengthFrames),
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
            stream: Stream::Json(Frames::new(0)),
            any_event: false,
            in_order: !from.is_none() && !from.is_zero(),
            initial: stream.then(|| Initial::new(config.limits.list_objects)),
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

    /// Learns what the answer is written in.
    pub(super) fn open(&mut self, encoding: Encoding, limits: &Limits) {
        self.stream = match encoding {
            Encoding::Json => Stream::Json(Frames::new(limits.object_bytes)),
            Encoding::Protobuf => Stream::Protobuf(LengthFrames::new(limits.object_bytes)),
        };
    }

    /// What is to be taken when the stream has ended well: the last line of one in JSON may lack its end.
    pub(super) fn end_of_stream(&self) -> &'static [u8] {
        match self.stream {
            Stream::Json(_) => b"\n",
            Stream::Protobuf(_) => b"",
        }
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
        // The stream is taken out while a frame is borrowed from it.
        let mut stream = core::mem::replace(&mut self.stream, Stream::Json(Frames::new(0)));
        let frame = match &mut stream {
            Stream::Json(frames) => frames.next_frame(piece).map(|line| line.map(Frame::Json)),
            Stream::Protobuf(frames) => frames.next_frame(piece).map(|frame| frame.map(Frame::Protobuf)),
        };
        let event = match frame {
            Ok(Some(frame)) => self.handle_frame(config, shared, frame, now, store, refused).map(Some),
            Ok(None) => Ok(None),
            Err(full) => Err(Cause::Undecodable(full.into())),
        };
        self.stream = stream;
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

    fn handle_frame<S: ReflectorStore<T>>(
        &mut self,
        config: &Config,
        shared: &mut Shared,
        frame: Frame<'_>,
        now: Instant,
        store: &mut S,
        refused: &mut Option<S::Error>,
    ) -> Result<Event<T>, Cause> {
        let undecodable = |e: Malformed| Cause::Undecodable(e.into());
        self.overdue = self.overdue.max(now);
        let keys = |text: &str| store.known_key(text);
        let news = frame.read::<T>(config, &mut Common::with_keys(shared, &keys)).map_err(undecodable)?;
        let version = match news {
            News::OtherKind => return Ok(Event::None),
            News::Object(change, object) => {
                let version = object.resource_version();
                if object.name().is_empty() || version.is_none() {
                    return Err(undecodable(Malformed::new("object", "it has no name or no resource version")));
                }
                self.in_order |= change != Change::Added;
                match &mut self.initial {
                    Some(initial) => *refused = hold(initial, change, object, store)?,
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
            News::Other(WatchEvent::Error(status)) => return Err(Cause::Status(status.into())),
            News::Other(WatchEvent::Bookmark { resource_version, initial_events_end, .. }) => {
                if initial_events_end && let Some(initial) = self.initial.take() {
                    self.started = now;
                    self.any_event = false;
                    self.in_order = true;
                    return Ok(Event::Initial(initial.into_objects(), resource_version));
                }
                self.in_order = true;
                if !self.is_streaming() {
                    *refused = store.bookmark(&resource_version).err();
                }
                resource_version
            }
            News::Other(WatchEvent::Unknown { resource_version }) => resource_version,
            News::Other(_) => return Err(Cause::UnknownError),
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
    initial: &mut Initial<T>,
    change: Change,
    object: T,
    store: &mut S,
) -> Result<Option<S::Error>, Cause> {
    let held = if change == Change::Deleted {
        initial.remove(object.key())
    } else {
        match store.hold(object) {
            Ok(object) => initial.push(object),
            Err(e) => return Ok(Some(e)),
        }
    };
    held.map(|()| None).map_err(|full| Cause::Undecodable(full.into()))
}
