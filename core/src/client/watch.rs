//! A watch by hand: one stream of events, without a store and without a second try.

use alloc::collections::VecDeque;
use alloc::string::ToString;
use core::fmt;
use core::marker::PhantomData;

use super::error::Error;
use crate::error::Malformed;
use crate::limits::Limits;
use crate::object::{Decode, Resource};
use crate::request::{Call, CallId, Collector, Encoding, Failure, Head, Outcome, Request};
use crate::resource_version::ResourceVersion;
use crate::time::Instant;
use crate::wire::{Change, Frames, Status, WatchEvent};

/// A watch to be opened. For a cache that stays right whatever happens use [`Informer`](crate::informer::Informer) instead.
#[must_use = "a watch does nothing until it is opened"]
pub struct Watch<T> {
    request: Request,
    resource: Resource,
    of: PhantomData<fn() -> T>,
}

/// Something that happened to a watched object.
#[derive(Clone, PartialEq, Eq)]
pub enum Event<T> {
    /// It was created, or was there when the watch began.
    Added(T),
    /// All changes up to this version were told.
    Bookmark(ResourceVersion),
    /// It was deleted; this is its last state.
    Deleted(T),
    /// It was changed.
    Modified(T),
}

impl<T> fmt::Debug for Event<T> {
    /// Never the object's content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(_) => f.write_str("Added"),
            Self::Bookmark(version) => write!(f, "Bookmark({version})"),
            Self::Deleted(_) => f.write_str("Deleted"),
            Self::Modified(_) => f.write_str("Modified"),
        }
    }
}

impl<T> Watch<T> {
    pub(super) fn new(request: Request, resource: Resource) -> Self {
        Self { request, resource, of: PhantomData }
    }

    /// What to send, and what to read the answer with.
    pub fn open(self, now: Instant, limits: Limits) -> (Call, Events<T>) {
        let deadline = now + limits.watch_timeout + limits.watch_grace;
        let call = Call { id: CallId(1), request: self.request, watch: true, accept: Encoding::Json, deadline };
        let answer = Collector::new(limits.answer_bytes);
        let frames = Frames::new(limits.object_bytes);
        (call, Events { resource: self.resource, frames, state: State::Waiting, answer, events: VecDeque::new() })
    }
}

impl<T> fmt::Debug for Watch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.request.fmt(f)
    }
}

/// Reads the answer to a watch as it comes.
pub struct Events<T> {
    resource: Resource,
    frames: Frames,
    state: State,
    answer: Collector,
    events: VecDeque<Result<Event<T>, Error>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// For the head.
    Waiting,
    Open,
    /// The server said no; its reasons are being read.
    Refused,
    Ended,
}

impl<T: Decode> Events<T> {
    /// Takes the head of the answer.
    pub fn handle_head(&mut self, head: Head) {
        self.answer.handle_head(head);
        self.state = if matches!(head.status, 200..300) { State::Open } else { State::Refused };
    }

    /// Takes a piece of the body. Work and memory are linear in its length, plus at most one object.
    pub fn handle_body(&mut self, mut piece: &[u8]) {
        if self.state == State::Refused {
            self.answer.handle_body(piece);
        }
        while self.state == State::Open {
            let event = match self.frames.next_frame(&mut piece) {
                Ok(None) => return,
                Ok(Some(line)) => read(line, &self.resource),
                Err(full) => Err(Error::Malformed(Malformed::new("watch event", full.to_string()))),
            };
            match event {
                Ok(None) => {}
                Ok(Some(event)) => self.events.push_back(Ok(event)),
                Err(e) => self.fail(e),
            }
        }
    }

    /// Takes the end of the answer. A watch that ends well has simply lasted as long as the server likes.
    pub fn handle_end(&mut self) {
        if self.state == State::Open {
            // The last line may lack its end.
            self.handle_body(b"\n");
        }
        if matches!(self.state, State::Refused | State::Waiting) {
            let answer = core::mem::replace(&mut self.answer, Collector::new(0));
            self.fail(match answer.finish() {
                Outcome::Failed(failure) => Error::Failed(failure),
                Outcome::Response(response) => Error::Status(Status::of_answer(response.head.status, &response.body)),
            });
        }
        self.state = State::Ended;
    }

    /// Takes the news that there will be no (further) answer.
    pub fn handle_failure(&mut self, failure: Failure) {
        if self.state != State::Ended {
            self.fail(Error::Failed(failure));
        }
    }

    /// The next event. After an error there is none.
    pub fn poll_event(&mut self) -> Option<Result<Event<T>, Error>> {
        self.events.pop_front()
    }

    /// Whether nothing more will come in.
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    fn fail(&mut self, error: Error) {
        self.events.push_back(Err(error));
        self.state = State::Ended;
    }
}

fn read<T: Decode>(line: &[u8], resource: &Resource) -> Result<Option<Event<T>>, Error> {
    Ok(match WatchEvent::decode(line)? {
        WatchEvent::Object { change, json } => {
            let object = T::decode(json, resource)?;
            Some(match change {
                Change::Added => Event::Added(object),
                Change::Modified => Event::Modified(object),
                Change::Deleted => Event::Deleted(object),
            })
        }
        WatchEvent::Bookmark { resource_version, .. } => Some(Event::Bookmark(resource_version)),
        WatchEvent::Error(status) => return Err(Error::Status(status)),
        WatchEvent::OtherError => return Err(Malformed::new("watch event", "an error that is no status").into()),
        // Asked for, and so read, in JSON; and what is of no known type tells nothing.
        WatchEvent::Message { .. } | WatchEvent::Unknown { .. } => None,
    })
}

impl<T> fmt::Debug for Events<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("state", &self.state).field("waiting", &self.events.len()).finish()
    }
}
