//! One thing to be done: its request, and how to read the answer.

use alloc::vec::Vec;
use core::fmt;

use super::error::Error;
use crate::error::Malformed;
use crate::object::Resource;
use crate::request::{Outcome, Query, Request};
use crate::wire::Status;

/// Reads a successful answer.
pub(super) type Read<A> = fn(&[u8], &Resource) -> Result<A, Malformed>;

/// Something to be done with an [`Api`](super::Api), with a result of the type `A`.
#[must_use = "an operation does nothing until it is sent"]
pub struct Operation<A> {
    request: Result<Request, Error>,
    resource: Resource,
    read: Read<A>,
}

impl<A> Operation<A> {
    pub(super) fn new(request: Result<Request, Error>, resource: Resource, read: Read<A>) -> Self {
        Self { request, resource, read }
    }

    /// The operation, checked by the server as if it were meant, and not done.
    pub fn dry_run(mut self) -> Self {
        if let Ok(request) = &mut self.request {
            let path = core::mem::take(&mut request.path);
            request.path = Query::resume(path).pair("dryRun", "All").finish();
        }
        self
    }

    /// What to send.
    ///
    /// # Errors
    /// The object has no name or cannot be written as JSON ([`Error::Unwritable`]).
    pub fn request(&self) -> Result<&Request, Error> {
        self.request.as_ref().map_err(Clone::clone)
    }

    /// What the outcome of the request means.
    ///
    /// # Errors
    /// There is no result; see [`Error`].
    pub fn read(&self, outcome: &Outcome) -> Result<A, Error> {
        match outcome {
            Outcome::Failed(failure) => Err(Error::Failed(*failure)),
            Outcome::Response(response) => match response.head.status {
                200..300 => Ok((self.read)(&response.body, &self.resource)?),
                code => Err(Error::Status(Status::of_answer(code, &response.body))),
            },
        }
    }
}

impl<A> fmt::Debug for Operation<A> {
    /// Method and path, never the body.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request {
            Ok(request) => request.fmt(f),
            Err(e) => e.fmt(f),
        }
    }
}

/// Writes a body.
pub(super) fn write(object: &impl serde::Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(object).map_err(|e| Error::Unwritable(alloc::format!("{e}")))
}
