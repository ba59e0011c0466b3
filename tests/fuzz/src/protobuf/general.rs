//! A general reader of protobuf: every field of a message, held in a list.

use sanskube::limits::Limits;
use sanskube::resource_version::ResourceVersion;
use sanskube::wire::{ListMeta, Status};
use serde_json::{Map, Value, json};

/// The fields of a message in their order.
#[derive(Debug)]
pub(super) struct Message<'a>(Vec<(u32, Field<'a>)>);

#[derive(Clone, Copy, Debug)]
enum Field<'a> {
    Bytes(&'a [u8]),
    Fixed,
    Number(u64),
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1 + bytes.iter().position(|byte| *byte < 0x80)?;
    let (number, rest) = bytes.split_at(length);
    *bytes = rest;
    let number = number.iter().rev().try_fold(0u128, |number, byte| {
        Some(number << 7 | u128::from(byte & 0x7f)).filter(|number| *number <= u128::from(u64::MAX))
    });
    u64::try_from(number?).ok().filter(|_| length <= 10)
}

fn take<'a>(bytes: &mut &'a [u8], length: u64) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(taken)
}

impl<'a> Message<'a> {
    /// None, if the bytes are no message.
    pub(super) fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes)?;
            let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number))?;
            let field = match tag & 7 {
                0 => Field::Number(varint(&mut bytes)?),
                1 => take(&mut bytes, 8).map(|_| Field::Fixed)?,
                2 => {
                    let length = varint(&mut bytes)?;
                    Field::Bytes(take(&mut bytes, length)?)
                }
                5 => take(&mut bytes, 4).map(|_| Field::Fixed)?,
                _ => return None,
            };
            fields.push((number, field));
        }
        Some(Self(fields))
    }

    fn fields(&self, wanted: u32) -> impl Iterator<Item = Field<'a>> {
        self.0.iter().filter(move |(number, _)| *number == wanted).map(|(_, field)| *field)
    }

    /// The bytes of all fields of a number. None, if one of them holds none.
    fn all(&self, number: u32) -> Option<Vec<&'a [u8]>> {
        self.fields(number).map(|field| if let Field::Bytes(bytes) = field { Some(bytes) } else { None }).collect()
    }

    fn messages(&self, number: u32) -> Option<Vec<Self>> {
        self.all(number)?.into_iter().map(Self::read).collect()
    }

    /// All messages of a number as one, which is what comes several times.
    fn merged(&self, number: u32) -> Option<Self> {
        Some(Self(self.messages(number)?.into_iter().flat_map(|message| message.0).collect()))
    }

    /// The last text of a number; empty if there is none.
    fn text(&self, number: u32) -> Option<&'a str> {
        let texts: Option<Vec<_>> = self.all(number)?.into_iter().map(|bytes| str::from_utf8(bytes).ok()).collect();
        Some(texts?.last().copied().unwrap_or_default())
    }

    /// The last integer of a number, if there is one. In the outer option: all of them are integers in the range.
    fn integer<N: TryFrom<i64>>(&self, number: u32) -> Option<Option<N>> {
        let read = |field| match field {
            Field::Number(number) => N::try_from(number.cast_signed()).ok(),
            Field::Bytes(_) | Field::Fixed => None,
        };
        let numbers: Option<Vec<N>> = self.fields(number).map(read).collect();
        Some(numbers?.pop())
    }
}

/// An object whose kind is known.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Envelope<'a> {
    pub(super) api_version: &'a str,
    pub(super) kind: &'a str,
    /// The message, if it is there and not empty.
    pub(super) raw: Option<&'a [u8]>,
}

const MAGIC: &[u8] = b"k8s\0";
const MEDIA_TYPES: [&[u8]; 2] = [b"", b"application/vnd.kubernetes.protobuf"];

/// What is in an envelope, if it says that its message is plain protobuf.
fn open(bytes: &[u8]) -> Option<Message<'_>> {
    let envelope = Message::read(bytes.strip_prefix(MAGIC)?)?;
    let plain = envelope.all(3)?.iter().all(|encoding| encoding.is_empty());
    let protobuf = envelope.all(4)?.iter().all(|media_type| MEDIA_TYPES.contains(media_type));
    (plain && protobuf).then_some(envelope)
}

impl<'a> Envelope<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let envelope = open(bytes)?;
        let type_meta = envelope.merged(1)?;
        let raw = envelope.all(2)?.pop().filter(|raw| !raw.is_empty());
        Some(Self { api_version: type_meta.text(1)?, kind: type_meta.text(2)?, raw })
    }

    fn message(&self) -> Option<Message<'a>> {
        Message::read(self.raw.unwrap_or_default())
    }

    /// The version of the object, and whether it ends the initial events.
    pub(super) fn bookmark(&self) -> Option<(&'a str, bool)> {
        let metadata = self.message()?.merged(1)?;
        let entry = |annotation: Message<'a>| Some([annotation.all(1)?.pop(), annotation.all(2)?.pop()]);
        let annotations: Option<Vec<_>> = metadata.messages(12)?.into_iter().map(entry).collect();
        let end = [&b"k8s.io/initial-events-end"[..], b"true"].map(Some);
        Some((metadata.text(6)?, annotations?.contains(&end)))
    }

    /// Checks that the status is what this envelope holds.
    pub(super) fn check_status(&self, status: &Status) {
        assert_eq!(self.kind, "Status");
        let message = self.message().expect("what was read is a message");
        assert_eq!((message.text(3), message.text(4)), (Some(&*status.message), Some(&*status.reason)));
        assert_eq!(message.integer::<u16>(6).map(Option::unwrap_or_default), Some(status.code));
        let details = message.merged(5).expect("what was read is a message");
        let causes = details.messages(4).expect("so are its causes");
        let causes: Vec<_> = causes.iter().map(|cause| [1, 2, 3].map(|number| cause.text(number))).collect();
        let read = status.causes.iter().map(|cause| [&cause.reason, &cause.message, &cause.field].map(|t| Some(&**t)));
        assert!(read.eq(causes), "{status:?}");
        let seconds = details.integer::<i64>(5).expect("it is an integer").unwrap_or_default();
        assert_eq!(status.retry_after.map_or(0, |time| time.as_secs()), seconds.max(0).unsigned_abs());
    }
}

/// The type of an event, and its object in its envelope.
pub(super) fn event(frame: &[u8]) -> Option<(&str, &[u8])> {
    let frame = Message::read(frame)?;
    Some((frame.text(1)?, frame.merged(2)?.all(1)?.pop().unwrap_or_default()))
}

/// The items of a list, and what it says of itself. None, if it is none within these bounds.
pub(super) fn list(body: &[u8], limits: &Limits) -> Option<(Vec<Vec<u8>>, ListMeta)> {
    let envelope = open(body)?;
    let fits = |bytes: &&[u8], bound: usize| bytes.len() <= bound;
    for number in [1, 3, 4] {
        envelope.all(number)?.iter().all(|bytes| fits(bytes, limits.answer_bytes)).then_some(())?;
    }
    let mut kinds = Vec::new();
    for type_meta in envelope.messages(1)? {
        type_meta.text(1)?;
        kinds.push(type_meta.text(2)?);
    }
    let kind = kinds.into_iter().rfind(|kind| !kind.is_empty()).filter(|kind| kind.ends_with("List"))?;
    // A second list in the same envelope is none.
    let [raw] = envelope.all(2)?[..] else { return None };
    let raw = Message::read(raw)?;
    let items = raw.all(2)?;
    items.iter().all(|item| fits(item, limits.object_bytes)).then_some(())?;
    let mut meta = ListMeta::default();
    for bytes in raw.all(1)? {
        let message = Message::read(Some(bytes).filter(|bytes| fits(bytes, limits.answer_bytes))?)?;
        meta = ListMeta {
            resource_version: ResourceVersion::new(message.text(2)?),
            continue_token: message.text(3)?.into(),
            remaining_item_count: message.integer(4)?,
            ..meta
        };
    }
    Some((items.into_iter().map(<[u8]>::to_vec).collect(), ListMeta { kind: kind.into(), ..meta }))
}

/// A map of strings.
fn map(entries: &[Message<'_>]) -> Option<Value> {
    let entry = |entry: &Message<'_>| Some((entry.text(1)?.to_owned(), entry.text(2)?.into()));
    Some(Value::Object(entries.iter().map(entry).collect::<Option<Map<String, Value>>>()?))
}

/// A time to the second; nothing for none, and for the zero time of Go. None for what no RFC 3339 text is.
fn time(message: &Message<'_>, number: u32) -> Option<Value> {
    let Some(last) = message.messages(number)?.pop() else { return Some(Value::Null) };
    let seconds = last.integer::<i64>(1)?;
    for time in message.messages(number)? {
        time.integer::<i64>(1)?;
    }
    if last.0.is_empty() {
        return Some(Value::Null);
    }
    let time = jiff::Timestamp::from_second(seconds.unwrap_or_default()).ok()?;
    let years = -62_135_596_800..253_402_300_800;
    let time = Some(time).filter(|time| years.contains(&time.as_second()))?;
    Some(if time.as_second() == years.start { Value::Null } else { time.to_string().into() })
}

/// The JSON of a pod, as far as a controller reads it.
pub(super) fn pod(message: &Message<'_>) -> Option<Value> {
    if message.all(1)?.len() > 1 {
        return None;
    }
    let (metadata, spec, status) = (message.merged(1)?, message.merged(2)?, message.merged(3)?);
    let owner = |owner: &Message<'_>| {
        Some(
            json!({"kind": owner.text(1)?, "name": owner.text(3)?, "uid": owner.text(4)?, "apiVersion": owner.text(5)?,
            "controller": owner.integer::<i64>(6)?.unwrap_or_default() != 0,
            "blockOwnerDeletion": owner.integer::<i64>(7)?.unwrap_or_default() != 0}),
        )
    };
    let container =
        |container: &Message<'_>| Some(json!({"name": container.text(1)?, "restartPolicy": container.text(24)?}));
    let restarts = |status: &Message<'_>| {
        Some(json!({"name": status.text(1)?, "restartCount": status.integer::<i32>(5)?.unwrap_or_default()}))
    };
    let condition = |condition: &Message<'_>| {
        Some(
            json!({"type": condition.text(1)?, "status": condition.text(2)?, "lastTransitionTime": time(condition, 4)?}),
        )
    };
    let each = |messages: Vec<Message<'_>>, read: &dyn Fn(&Message<'_>) -> Option<Value>| {
        messages.iter().map(read).collect::<Option<Vec<Value>>>()
    };
    Some(json!({
        "metadata": {
            "name": metadata.text(1)?, "namespace": metadata.text(3)?, "uid": metadata.text(5)?,
            "resourceVersion": metadata.text(6)?, "creationTimestamp": time(&metadata, 8)?,
            "deletionTimestamp": time(&metadata, 9)?, "labels": map(&metadata.messages(11)?)?,
            "annotations": map(&metadata.messages(12)?)?, "ownerReferences": each(metadata.messages(13)?, &owner)?,
        },
        "spec": {"nodeName": spec.text(10)?, "initContainers": each(spec.messages(20)?, &container)?},
        "status": {
            "phase": status.text(1)?, "conditions": each(status.messages(2)?, &condition)?,
            "containerStatuses": each(status.messages(8)?, &restarts)?,
            "initContainerStatuses": each(status.messages(10)?, &restarts)?,
        },
    }))
}
