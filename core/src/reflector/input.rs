//! What comes back from a call.

use alloc::string::ToString;

use super::failure::{Cause, Doing, WatchError};
use super::list::{Body, Page};
use super::store::ReflectorStore;
use super::watch::Event;
use super::{Exchange, Reflector, State};
use crate::error::{Malformed, Misuse};
use crate::limits::Limits;
use crate::object::Decode;
use crate::request::{CallId, Collector, Failure, Head, Outcome};
use crate::time::{Instant, Now};
use crate::wire::Status;

/// How far an answer has come.
#[derive(Debug)]
pub(super) enum Answer<B> {
    /// Its head has not come.
    None,
    /// Its head said that it is a success.
    Body(B),
    /// Its head said that it is an error.
    Error(Head, Collector),
}

impl<B> Answer<B> {
    /// Of several heads the first one counts.
    fn handle_head(&mut self, head: Head, limits: &Limits, body: B) {
        if !matches!(self, Self::None) {
            return;
        }
        *self = if (200..300).contains(&head.status) {
            Self::Body(body)
        } else {
            Self::Error(head, Collector::new(limits.answer_bytes))
        };
    }

    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Body(_))
    }

    /// What an answer without a body of use leads to, once it has ended.
    fn into_cause(self) -> Cause {
        let Self::Error(head, mut body) = self else { return Cause::Failed(Failure::Cut) };
        body.handle_head(head);
        status(
            head,
            match body.finish() {
                Outcome::Response(response) => Status::of_encoded_answer(head.status, head.encoding, &response.body),
                Outcome::Failed(_) => Status::from_code(head.status),
            },
        )
    }
}

fn status(head: Head, mut status: Status) -> Cause {
    status.retry_after = status.retry_after.max(head.retry_after);
    Cause::Status(status.into())
}

/// Each `handle_*` names the call it is about. One that is not in flight, be it that it was given up, is told as
/// [`Misuse::UnknownCall`] and changes nothing: between giving up a call and closing it something may still come.
impl<T: Decode> Reflector<T> {
    /// Takes the head of an answer.
    ///
    /// # Errors
    /// The call is not in flight.
    pub fn handle_head(&mut self, now: Now, id: CallId, head: Head) -> Result<(), Misuse> {
        let limits = self.config.limits;
        match self.exchange(id)? {
            Exchange::List { answer, .. } => answer.handle_head(head, &limits, Body::new(head.encoding, &limits)),
            Exchange::Watch { watch, answer } => {
                if matches!(answer, Answer::None) {
                    watch.open(head.encoding, &limits);
                }
                answer.handle_head(head, &limits, ());
                if answer.is_open()
                    && let Some(cause) = self.round.resync_error.take()
                {
                    self.give_up(now.instant, cause);
                }
            }
        }
        Ok(())
    }

    /// Takes a piece of the body. The work is linear in its length, except where it completes a streaming list.
    ///
    /// # Errors
    /// The call is not in flight.
    pub fn handle_body<S: ReflectorStore<T>>(
        &mut self,
        now: Now,
        id: CallId,
        piece: &[u8],
        store: &mut S,
    ) -> Result<(), Misuse> {
        let now = now.instant;
        self.exchange(id)?;
        let State::InFlight { exchange, .. } = &mut self.state else { return Ok(()) };
        let trouble = match exchange {
            Exchange::List { list, answer: Answer::Body(body), .. } => {
                list.handle_body(&self.config, &mut self.shared, body, piece, store).err()
            }
            Exchange::Watch { answer: Answer::Body(()), .. } => {
                self.handle_events(now, piece, store);
                None
            }
            Exchange::List { answer: Answer::Error(_, body), .. }
            | Exchange::Watch { answer: Answer::Error(_, body), .. } => {
                body.handle_body(piece);
                None
            }
            Exchange::List { answer: Answer::None, .. } | Exchange::Watch { answer: Answer::None, .. } => {
                Some(Cause::Undecodable(Malformed::new("answer", "its body came before its head").into()))
            }
        };
        if let Some(cause) = trouble {
            self.give_up(now, cause);
        }
        Ok(())
    }

    /// Takes the end of an answer that is whole. The end of a list hands the whole list to the store.
    ///
    /// # Errors
    /// The call is not in flight.
    pub fn handle_end<S: ReflectorStore<T>>(&mut self, now: Now, id: CallId, store: &mut S) -> Result<(), Misuse> {
        let now = now.instant;
        match self.exchange(id)? {
            Exchange::List { list, before, answer, .. } => match core::mem::replace(answer, Answer::None) {
                Answer::Body(body) => {
                    let page = list.handle_end(body, *before);
                    self.handle_page(now, page, store);
                }
                answer => self.conclude(now, answer.into_cause()),
            },
            Exchange::Watch { watch, answer: Answer::Body(()) } => {
                let last = watch.end_of_stream();
                self.handle_events(now, last, store);
                // It may have been an error.
                if let Ok(Exchange::Watch { watch, .. }) = self.exchange(id) {
                    let cause = watch.end(now);
                    self.conclude(now, cause);
                } else {
                    self.cancel = None;
                }
            }
            Exchange::Watch { answer, .. } => {
                let cause = core::mem::replace(answer, Answer::None).into_cause();
                self.conclude(now, cause);
            }
        }
        Ok(())
    }

    /// Takes the news that there will be no (further) answer. What came of a watch before counts; what came of a list, or of
    /// a line that has not ended, does not.
    ///
    /// # Errors
    /// The call is not in flight.
    pub fn handle_failure(&mut self, now: Now, id: CallId, failure: Failure) -> Result<(), Misuse> {
        let now = now.instant;
        let limits = self.config.limits;
        let cause = match self.exchange(id)? {
            Exchange::Watch { watch, answer: Answer::Body(()) } => watch.end(now),
            // The transport watches the deadline in our stead.
            exchange if failure == Failure::TimedOut && exchange.deadline(&limits) <= now => exchange.late(),
            exchange => exchange.error_answer().unwrap_or(Cause::Failed(failure)),
        };
        self.conclude(now, cause);
        Ok(())
    }

    /// Does what is due: a resync, or giving up a call that took too long. Calling early is harmless.
    pub fn handle_timeout<S: ReflectorStore<T>>(&mut self, now: Now, store: &mut S) {
        let now = now.instant;
        if self.round.resync.is_some_and(|due| due <= now) {
            self.resync(now, store);
        }
        if let State::InFlight { exchange, .. } = &self.state
            && exchange.deadline(&self.config.limits) <= now
        {
            let cause = exchange.late();
            self.give_up(now, cause);
        }
    }

    /// What is in flight under `id`.
    fn exchange(&mut self, id: CallId) -> Result<&mut Exchange<T>, Misuse> {
        match &mut self.state {
            State::InFlight { id: own, exchange } if *own == id => Ok(exchange),
            _ => Err(Misuse::UnknownCall),
        }
    }

    /// Takes a piece of a watch, up to the event that ends the watch.
    fn handle_events<S: ReflectorStore<T>>(&mut self, now: Instant, mut piece: &[u8], store: &mut S) {
        while let State::InFlight { exchange: Exchange::Watch { watch, .. }, .. } = &mut self.state {
            let mut refused = None;
            let event = watch.next_event(&self.config, &mut self.shared, &mut piece, now, store, &mut refused);
            if let Some(e) = refused {
                let cause = Cause::Store(e.to_string());
                self.error = Some(WatchError { doing: watch.doing(true), cause, step: None });
            }
            match event {
                Ok(None) => return,
                Ok(Some(Event::None)) => {}
                Ok(Some(Event::Moved(version))) => self.last_sync = version,
                Ok(Some(Event::Initial(objects, version))) => {
                    if let Err(cause) = self.complete(now, objects, version, store) {
                        self.cancel_call();
                        self.conclude_as(now, Doing::Streaming, cause);
                    }
                }
                Err(cause) => self.give_up(now, cause),
            }
        }
    }

    /// Takes the end of a page.
    fn handle_page<S: ReflectorStore<T>>(&mut self, now: Instant, page: Result<Page, Malformed>, store: &mut S) {
        let State::InFlight { exchange: Exchange::List { list, .. }, .. } = &mut self.state else { return };
        let result = match page {
            Ok(Page::Further { progress }) if progress || self.pace.take(now) => {
                self.ask_for_next_page();
                Ok(())
            }
            Ok(Page::Further { .. }) => Err(Cause::Undecodable(Malformed::new("list", "its pages are empty").into())),
            Ok(Page::Last(version)) => {
                self.paged |= list.shows_no_cache();
                let objects = list.take_objects();
                self.complete(now, objects, version, store).map(|()| self.watch_now())
            }
            Err(e) => Err(Cause::Undecodable(e.into())),
        };
        if let Err(cause) = result {
            self.conclude(now, cause);
        }
    }
}

impl<T> Exchange<T> {
    /// What an error answer says that is not whole.
    fn error_answer(&self) -> Option<Cause> {
        match self {
            Self::List { answer: Answer::Error(head, _), .. } | Self::Watch { answer: Answer::Error(head, _), .. } => {
                Some(status(*head, Status::from_code(head.status)))
            }
            _ => None,
        }
    }

    /// What it is that the deadline has passed.
    fn late(&self) -> Cause {
        self.error_answer().unwrap_or(match self {
            Self::List { .. } => Cause::Failed(Failure::TimedOut),
            Self::Watch { .. } => Cause::Silent,
        })
    }
}
