//! A status: how an API server says that something did not succeed.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::Deserialize;

use crate::error::Malformed;
use crate::json::Unexpected;
use crate::object::lenient::{Text, nullable};
use crate::protobuf::{Envelope, Fields};
use crate::request::Encoding;

/// What a controller looks at in a `metav1.Status`.
///
/// The predicates mirror apimachinery `pkg/api/errors/errors.go` (`IsGone` and its neighbours): the reason decides, and
/// where it is none that is known, the code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// `code`, an HTTP status code; zero where there is none.
    pub code: u16,
    /// `reason`, such as `Expired`; may be empty.
    pub reason: String,
    /// `message`.
    pub message: String,
    /// `details.retryAfterSeconds`, where it is more than zero.
    pub retry_after: Option<Duration>,
    /// `details.causes`.
    pub causes: Vec<StatusCause>,
}

/// An entry of `details.causes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusCause {
    /// `reason`, such as `ResourceVersionTooLarge`.
    pub reason: String,
    /// `message`.
    pub message: String,
    /// `field`: the path of the field that is to blame.
    pub field: String,
}

impl Status {
    /// Reads a status. Of an object of another kind none is made.
    ///
    /// # Errors
    /// The bytes are not JSON, a field has another type, or the kind is not `Status`.
    pub fn decode(json: &[u8]) -> Result<Self, Malformed> {
        let wire: StatusWire<'_> = serde_json::from_slice(json).map_err(|e| Malformed::new("status", e))?;
        if *wire.kind != *"Status" {
            return Err(Malformed::new("status", format_args!("it is of kind {:?}", &*wire.kind)));
        }
        Ok(Self {
            code: wire.code,
            reason: wire.reason.0.into_owned(),
            message: wire.message.0.into_owned(),
            retry_after: seconds(wire.details.retry_after_seconds),
            causes: wire.details.causes.into_iter().map(StatusCauseWire::into_cause).collect(),
        })
    }

    /// The status of an answer whose body tells none.
    pub fn from_code(code: u16) -> Self {
        Self { code, ..Self::default() }
    }

    /// Reads a status in protobuf, with its envelope. Of an object of another kind none is made.
    ///
    /// # Errors
    /// The bytes are not such an envelope and message, or the kind is not `Status`.
    pub fn decode_protobuf(bytes: &[u8]) -> Result<Self, Malformed> {
        Self::from_envelope(&Envelope::read(bytes).map_err(|e| Malformed::new("status", e))?)
    }

    pub(super) fn from_envelope(envelope: &Envelope<'_>) -> Result<Self, Malformed> {
        if envelope.kind != "Status" {
            return Err(Malformed::new("status", format_args!("it is of kind {:?}", envelope.kind)));
        }
        Self::read(Fields::new(envelope.raw)).map_err(|e| Malformed::new("status", e))
    }

    /// Reads the message `metav1.Status`.
    fn read(mut fields: Fields<'_>) -> Result<Self, Unexpected> {
        let mut status = Self::default();
        while let Some((number, value)) = fields.next()? {
            match number {
                3 => status.message = value.text()?.into(),
                4 => status.reason = value.text()?.into(),
                5 => status.read_details(value.message()?)?,
                6 => status.code = value.integer()?,
                _ => {}
            }
        }
        Ok(status)
    }

    fn read_details(&mut self, mut details: Fields<'_>) -> Result<(), Unexpected> {
        while let Some((number, value)) = details.next()? {
            match number {
                4 => self.causes.push(StatusCause::read(value.message()?)?),
                5 => self.retry_after = seconds(value.integer()?),
                _ => {}
            }
        }
        Ok(())
    }

    /// The status that an answer with this HTTP code and body is. A body that is no status leaves the code.
    pub fn of_answer(code: u16, body: &[u8]) -> Self {
        Self::of_encoded_answer(code, Encoding::Json, body)
    }

    /// As [`of_answer`](Self::of_answer), of a body that is written in `encoding`.
    pub fn of_encoded_answer(code: u16, encoding: Encoding, body: &[u8]) -> Self {
        let status = match encoding {
            Encoding::Json => Self::decode(body),
            Encoding::Protobuf => Self::decode_protobuf(body),
        };
        let mut status = status.unwrap_or_default();
        if status.code == 0 {
            status.code = code;
        }
        status
    }

    /// The version asked for is too old to start from (`IsResourceExpired`, `IsGone`).
    pub fn is_expired(&self) -> bool {
        self.reason == "Expired" || self.is("Gone", 410)
    }

    /// The version asked for is one that the server has not reached. Recognised by the cause, or in a timeout by the words that older
    /// servers used in a cause or in the message.
    ///
    /// Mirrors client-go `tools/cache/reflector.go`, `isTooLargeResourceVersionError`, but needs no `details`.
    pub fn is_resource_version_too_large(&self) -> bool {
        const WORDS: &str = "Too large resource version";
        self.causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge")
            || self.is("Timeout", 504)
                && (self.causes.iter().any(|cause| cause.message == WORDS) || self.message.contains(WORDS))
    }

    /// The request makes no sense to the server (`IsBadRequest`, `IsInvalid`).
    pub fn is_bad_request(&self) -> bool {
        self.is("BadRequest", 400) || self.is("Invalid", 422)
    }

    /// The server asks for fewer requests; the code counts whatever the reason is (`IsTooManyRequests`).
    pub fn is_too_many_requests(&self) -> bool {
        self.reason == "TooManyRequests" || self.code == 429
    }

    /// The object is not there (`IsNotFound`).
    pub fn is_not_found(&self) -> bool {
        self.is("NotFound", 404)
    }

    /// The object is not as the request supposes (`IsConflict`).
    pub fn is_conflict(&self) -> bool {
        self.is("Conflict", 409)
    }

    /// The object would not be valid (`IsInvalid`).
    pub fn is_invalid(&self) -> bool {
        self.is("Invalid", 422)
    }

    /// A cause has this reason (`HasStatusCause`).
    pub fn has_cause(&self, reason: &str) -> bool {
        self.causes.iter().any(|cause| cause.reason == reason)
    }

    /// The server failed (`IsInternalError`).
    pub fn is_internal_error(&self) -> bool {
        self.is("InternalError", 500)
    }

    fn is(&self, reason: &str, code: u16) -> bool {
        self.reason == reason || (self.code == code && !is_known_reason(&self.reason))
    }
}

impl StatusCause {
    /// Reads the message `metav1.StatusCause`.
    fn read(mut fields: Fields<'_>) -> Result<Self, Unexpected> {
        let mut cause = Self::default();
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => cause.reason = value.text()?.into(),
                2 => cause.message = value.text()?.into(),
                3 => cause.field = value.text()?.into(),
                _ => {}
            }
        }
        Ok(cause)
    }
}

/// A time to wait, where it is more than zero.
fn seconds(seconds: i64) -> Option<Duration> {
    Some(Duration::from_secs(seconds.max(0).unsigned_abs())).filter(|d| !d.is_zero())
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        match (&*self.reason, &*self.message) {
            // A redirect is no status of an API server's; whoever sees one has a proxy or another URL than meant before it.
            ("", "") if matches!(self.code, 300..400) => f.write_str(", and redirects are not followed"),
            ("", "") => Ok(()),
            (reason, "") => write!(f, " {reason}"),
            ("", message) => write!(f, ": {message}"),
            (reason, message) => write!(f, " {reason}: {message}"),
        }
    }
}

/// Whether a reason is one of those that API servers give (`knownReasons`); then the code does not matter.
fn is_known_reason(reason: &str) -> bool {
    matches!(
        reason,
        "AlreadyExists"
            | "BadRequest"
            | "Conflict"
            | "Expired"
            | "Forbidden"
            | "Gone"
            | "InternalError"
            | "Invalid"
            | "MethodNotAllowed"
            | "NotAcceptable"
            | "NotFound"
            | "RequestEntityTooLarge"
            | "ServerTimeout"
            | "ServiceUnavailable"
            | "StorageReadError"
            | "Timeout"
            | "TooManyRequests"
            | "Unauthorized"
            | "UnsupportedMediaType"
    )
}

/// A status as it stands in JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusWire<'a> {
    #[serde(borrow, default)]
    kind: Text<'a>,
    #[serde(default, deserialize_with = "nullable")]
    code: u16,
    #[serde(borrow, default)]
    reason: Text<'a>,
    #[serde(borrow, default)]
    message: Text<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    details: DetailsWire<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DetailsWire<'a> {
    #[serde(deserialize_with = "nullable")]
    retry_after_seconds: i64,
    #[serde(borrow, deserialize_with = "nullable")]
    causes: Vec<StatusCauseWire<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusCauseWire<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    message: Text<'a>,
    #[serde(borrow)]
    field: Text<'a>,
}

impl StatusCauseWire<'_> {
    fn into_cause(self) -> StatusCause {
        StatusCause {
            reason: self.reason.0.into_owned(),
            message: self.message.0.into_owned(),
            field: self.field.0.into_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
