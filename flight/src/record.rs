//! A record: one thing that a machine was told or did, and when.

use sanskube::machine::{Answer, Input, Output, Part};
use sanskube::manager::Config;
use sanskube::request::{Call, CallId, Failure, Head, Request};
use sanskube::time::{Instant, Now, Timestamp};

use crate::config;
use crate::digest::Digest;
use crate::wire::{Bad, Put as _, Take};

/// What a recording begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Which build of which program made it, for people.
    pub build: String,
    /// What the manager was asked to do.
    pub config: Config,
}

/// Why a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The file had no room for more; the controller went on.
    Full,
    /// The controller has stopped.
    Stopped,
}

/// An input that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A part of an answer.
    Answer(Answer),
    /// To stop.
    Stop,
    /// The time.
    Timeout,
}

impl Told {
    /// The input that the machine is given.
    pub fn input(&self) -> Input<'_> {
        match self {
            Self::Answer(answer) => answer.input(),
            Self::Stop => Input::Stop,
            Self::Timeout => Input::Timeout,
        }
    }
}

/// What an output was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// A call.
    Call,
    /// A call was given up.
    Cancel,
    /// The machine had stopped.
    Stopped,
    /// It waited.
    Wait,
}

impl OutputKind {
    /// The kind of an output.
    pub fn of(output: &Output) -> Self {
        match output {
            Output::Call(_) => Self::Call,
            Output::Cancel(_) => Self::Cancel,
            Output::Stopped => Self::Stopped,
            Output::Wait { .. } => Self::Wait,
        }
    }
}

/// One thing in a recording.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The end, and the digest of all outputs.
    End(End, u64),
    /// The machine was given this.
    Input(Now, Told),
    /// The machine was asked for an output.
    Output {
        /// When.
        now: Now,
        /// What it said.
        kind: OutputKind,
        /// The lower half of the digest of all outputs up to this one.
        digest: u32,
    },
    /// The machine has refused the input before.
    Refused,
    /// The beginning.
    Start(Box<Start>),
}

/// The marks of the records, and of what they hold. Not to be changed: another meaning is another version.
mod mark {
    pub(super) const START: u8 = 0;
    pub(super) const END_FULL: u8 = 1;
    pub(super) const END_STOPPED: u8 = 2;
    pub(super) const REFUSED: u8 = 3;
    pub(super) const BODY: u8 = 8;
    pub(super) const ENDED: u8 = 9;
    pub(super) const FAILED: u8 = 10;
    pub(super) const HEAD: u8 = 11;
    pub(super) const STOP: u8 = 12;
    pub(super) const TIMEOUT: u8 = 13;
    pub(super) const CALL: u8 = 16;
    pub(super) const CANCEL: u8 = 17;
    pub(super) const STOPPED: u8 = 18;
    pub(super) const WAIT: u8 = 19;
}

/// What is known from the records before, so that the next one can be short.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context(Now);

impl Context {
    pub(crate) fn put_start(out: &mut Vec<u8>, start: &Start) {
        let Start { build, config } = start;
        out.push(mark::START);
        out.put_bytes(build.as_bytes());
        config::put(out, config);
    }

    pub(crate) fn put_end(out: &mut Vec<u8>, end: End, digest: Digest) {
        out.push(match end {
            End::Full => mark::END_FULL,
            End::Stopped => mark::END_STOPPED,
        });
        out.extend_from_slice(&digest.whole().to_le_bytes());
    }

    pub(crate) fn put_refused(out: &mut Vec<u8>) {
        out.push(mark::REFUSED);
    }

    pub(crate) fn put_input(&mut self, out: &mut Vec<u8>, now: Now, input: &Input<'_>) {
        let (mark, call) = match input {
            Input::Body { call, .. } => (mark::BODY, Some(call)),
            Input::End { call } => (mark::ENDED, Some(call)),
            Input::Failed { call, .. } => (mark::FAILED, Some(call)),
            Input::Head { call, .. } => (mark::HEAD, Some(call)),
            Input::Stop => (mark::STOP, None),
            Input::Timeout => (mark::TIMEOUT, None),
        };
        out.push(mark);
        self.put_time(out, now);
        if let Some(call) = call {
            out.put(call.0);
        }
        match input {
            Input::Body { bytes, .. } => out.put_bytes(bytes),
            Input::Failed { failure, .. } => out.push(match failure {
                Failure::Cut => 0,
                Failure::Refused => 1,
                Failure::TimedOut => 2,
                Failure::TooLarge => 3,
            }),
            Input::Head { head, .. } => put_head(out, *head),
            Input::End { .. } | Input::Stop | Input::Timeout => {}
        }
    }

    pub(crate) fn put_output(&mut self, out: &mut Vec<u8>, now: Now, kind: OutputKind, digest: Digest) {
        out.push(match kind {
            OutputKind::Call => mark::CALL,
            OutputKind::Cancel => mark::CANCEL,
            OutputKind::Stopped => mark::STOPPED,
            OutputKind::Wait => mark::WAIT,
        });
        self.put_time(out, now);
        out.extend_from_slice(&digest.half().to_le_bytes());
    }

    pub(crate) fn take(&mut self, from: &mut Take<'_>) -> Result<Record, Bad> {
        let mark = from.byte()?;
        let end = |from: &mut Take<'_>| Ok(u64::from_le_bytes(from.fixed()?));
        Ok(match mark {
            mark::START => Record::Start(Box::new(Start { build: from.text()?, config: config::take(from)? })),
            mark::END_FULL => Record::End(End::Full, end(from)?),
            mark::END_STOPPED => Record::End(End::Stopped, end(from)?),
            mark::REFUSED => Record::Refused,
            mark::STOP => Record::Input(self.take_time(from)?, Told::Stop),
            mark::TIMEOUT => Record::Input(self.take_time(from)?, Told::Timeout),
            mark::BODY | mark::ENDED | mark::FAILED | mark::HEAD => {
                let (now, call) = (self.take_time(from)?, CallId(from.number()?));
                let part = match mark {
                    mark::BODY => Part::Body(from.bytes()?.to_vec()),
                    mark::ENDED => Part::End,
                    mark::FAILED => Part::Failed(take_failure(from)?),
                    _ => Part::Head(take_head(from)?),
                };
                Record::Input(now, Told::Answer(Answer { call, part }))
            }
            mark::CALL | mark::CANCEL | mark::STOPPED | mark::WAIT => {
                let now = self.take_time(from)?;
                let kind = match mark {
                    mark::CALL => OutputKind::Call,
                    mark::CANCEL => OutputKind::Cancel,
                    mark::STOPPED => OutputKind::Stopped,
                    _ => OutputKind::Wait,
                };
                Record::Output { now, kind, digest: u32::from_le_bytes(from.fixed()?) }
            }
            _ => return Err(Bad("a record")),
        })
    }

    /// How much later it is on the monotonic clock, and how much more than that on the wall clock.
    fn put_time(&mut self, out: &mut Vec<u8>, now: Now) {
        let later = now.instant.as_nanos().wrapping_sub(self.0.instant.as_nanos()) as i64;
        let wall_later = now.wall.as_nanos().wrapping_sub(self.0.wall.as_nanos());
        out.put_signed(later);
        out.put_signed(wall_later.wrapping_sub(later));
        self.0 = now;
    }

    fn take_time(&mut self, from: &mut Take<'_>) -> Result<Now, Bad> {
        let later = from.signed()?;
        let wall_later = from.signed()?.wrapping_add(later);
        self.0 = Now {
            instant: Instant::from_nanos(self.0.instant.as_nanos().wrapping_add(later as u64)),
            wall: Timestamp::from_nanos(self.0.wall.as_nanos().wrapping_add(wall_later)),
        };
        Ok(self.0)
    }
}

fn take_failure(from: &mut Take<'_>) -> Result<Failure, Bad> {
    Ok(match from.byte()? {
        0 => Failure::Cut,
        1 => Failure::Refused,
        2 => Failure::TimedOut,
        3 => Failure::TooLarge,
        _ => return Err(Bad("a failure")),
    })
}

fn put_head(out: &mut Vec<u8>, head: Head) {
    let Head { status, retry_after, encoding } = head;
    out.put(status.into());
    out.push(retry_after.is_some().into());
    if let Some(pause) = retry_after {
        out.put_duration(pause);
    }
    config::put_encoding(out, encoding);
}

fn take_head(from: &mut Take<'_>) -> Result<Head, Bad> {
    let status = from.small()?;
    let retry_after = if from.flag()? { Some(from.any_duration()?) } else { None };
    Ok(Head { status, retry_after, encoding: config::take_encoding(from)? })
}

/// Adds an output to the digest of those before it. Every part of it counts.
pub(crate) fn add_output(digest: &mut Digest, scratch: &mut Vec<u8>, output: &Output) {
    scratch.clear();
    match output {
        Output::Call(call) => {
            let Call { id, request, accept, watch, deadline } = call;
            let Request { method, path, content_type, body } = request;
            scratch.push(mark::CALL);
            scratch.put(id.0);
            for text in [method.as_str(), path, accept.accept(), content_type] {
                scratch.put_bytes(text.as_bytes());
            }
            scratch.put_bytes(body);
            scratch.push((*watch).into());
            scratch.put(deadline.as_nanos());
        }
        Output::Cancel(id) => {
            scratch.push(mark::CANCEL);
            scratch.put(id.0);
        }
        Output::Stopped => scratch.push(mark::STOPPED),
        Output::Wait { until } => {
            scratch.push(mark::WAIT);
            scratch.push(until.is_some().into());
            scratch.put(until.map_or(0, Instant::as_nanos));
        }
    }
    digest.add(scratch);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sanskube::request::Encoding;

    use super::*;

    fn at(instant: u64, wall: i64) -> Now {
        Now { instant: Instant::from_nanos(instant), wall: Timestamp::from_nanos(wall) }
    }

    #[test]
    fn every_record_is_taken_as_it_was_put() {
        let call = CallId(300);
        let head =
            |retry_after| Input::Head { call, head: Head { status: 429, retry_after, encoding: Encoding::Protobuf } };
        let inputs = [
            (at(5, -3), Input::Body { call, bytes: b"{}" }),
            (at(5, i64::MAX), Input::End { call: CallId(u64::MAX) }),
            (at(u64::MAX, i64::MIN), Input::Failed { call, failure: Failure::TooLarge }),
            // Clocks may be set back.
            (at(0, 0), head(None)),
            (at(7, 1), head(Some(Duration::MAX))),
            (at(8, 2), Input::Stop),
            (at(8, 2), Input::Timeout),
        ];
        let (mut out, mut context) = (Vec::new(), Context::default());
        for (now, input) in &inputs {
            context.put_input(&mut out, *now, input);
        }
        let kinds = [OutputKind::Call, OutputKind::Cancel, OutputKind::Stopped, OutputKind::Wait];
        for kind in kinds {
            context.put_output(&mut out, at(9, 9), kind, Digest::new());
        }
        Context::put_refused(&mut out);
        Context::put_end(&mut out, End::Full, Digest::new());
        let (mut from, mut context) = (Take(&out), Context::default());
        for (now, input) in &inputs {
            let Ok(Record::Input(taken_at, told)) = context.take(&mut from) else { panic!("{input:?}") };
            assert_eq!((taken_at, format!("{:?}", told.input())), (*now, format!("{input:?}")));
        }
        for kind in kinds {
            let digest = Digest::new().half();
            assert_eq!(context.take(&mut from), Ok(Record::Output { now: at(9, 9), kind, digest }));
        }
        assert_eq!(context.take(&mut from), Ok(Record::Refused));
        assert_eq!(context.take(&mut from), Ok(Record::End(End::Full, Digest::new().whole())));
        assert!(from.is_empty());
        assert_eq!(context.take(&mut Take(&[99])), Err(Bad("a record")));
    }

    #[test]
    fn every_part_of_an_output_is_in_its_digest() {
        let request = Request::get("/api/v1/pods".into());
        let call =
            Call { id: CallId(1), request, accept: Encoding::Json, watch: false, deadline: Instant::from_nanos(1) };
        let changed = |change: fn(&mut Call)| {
            let mut call = call.clone();
            change(&mut call);
            Output::Call(call)
        };
        let outputs = [
            Output::Call(call.clone()),
            changed(|call| call.id = CallId(2)),
            changed(|call| call.request.method = sanskube::request::Method::Put),
            changed(|call| call.request.path.push('2')),
            changed(|call| call.request.content_type = sanskube::request::JSON),
            changed(|call| call.request.body.push(0)),
            changed(|call| call.accept = Encoding::Protobuf),
            changed(|call| call.watch = true),
            changed(|call| call.deadline = Instant::from_nanos(2)),
            Output::Cancel(CallId(1)),
            Output::Cancel(CallId(2)),
            Output::Stopped,
            Output::Wait { until: None },
            Output::Wait { until: Some(Instant::ZERO) },
            Output::Wait { until: Some(Instant::from_nanos(1)) },
        ];
        let digests: std::collections::BTreeSet<u64> = outputs
            .iter()
            .map(|output| {
                let mut digest = Digest::new();
                add_output(&mut digest, &mut Vec::new(), output);
                digest.whole()
            })
            .collect();
        assert_eq!(digests.len(), outputs.len());
    }
}
