//! What a server sends in protobuf: frames with lengths, lists, watch events and pods, beside a general reader that holds all of it.

mod general;

use sanskube::error::{DecodeError, Full};
use sanskube::limits::Limits;
use sanskube::object::{Common, Decode as _, Object as _, Pod, Resource, Shared};
use sanskube::resource_version::ResourceVersion;
use sanskube::wire::{LengthFrames, ListMeta, ProtobufListBody, Status, WatchEvent};

use crate::choices::{Choices, pieces, read_pieces};
use general::{Envelope, Message, list, pod};

/// A stream that is cut anywhere has the frames that the whole has.
pub fn protobuf_frames(input: &[u8]) {
    let mut choices = Choices::new(input);
    let bound = choices.below(1 << 12);
    let cuts = choices.take(16);
    let stream = choices.rest();
    let read = |pieces: &[&[u8]]| {
        let mut frames = LengthFrames::new(bound);
        read_pieces(pieces, |piece| Ok::<_, Full>(frames.next_frame(piece)?.map(<[u8]>::to_vec)))
    };
    let (mut wanted, mut rest, mut full) = (Vec::new(), stream, false);
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        full = length > bound;
        let Some((frame, after)) = after.split_at_checked(length).filter(|_| !full) else { break };
        wanted.push(frame.to_vec());
        rest = after;
    }
    for pieces in [vec![stream], pieces(stream, &mut Choices::new(cuts))] {
        let (found, error) = read(&pieces);
        assert_eq!((found, error.is_err()), (wanted.clone(), full));
    }
}

type ReadList = (Vec<Vec<u8>>, Result<ListMeta, DecodeError>);

fn read_list(pieces: &[&[u8]], limits: &Limits) -> ReadList {
    let mut list = ProtobufListBody::new(limits);
    let (items, read) = read_pieces(pieces, |piece| Ok(list.next_item(piece)?.map(<[u8]>::to_vec)));
    (items, read.and_then(|()| list.finish().map_err(DecodeError::from)))
}

/// A list that is cut anywhere has the items that the whole has, and those that a general reader finds; what the one refuses, the other does.
pub fn protobuf_lists(input: &[u8]) {
    let mut choices = Choices::new(input);
    let bound = 1 + choices.below(1 << 14);
    let limits = Limits { object_bytes: bound, answer_bytes: 2 * bound, ..Limits::default() };
    let cuts = choices.take(16);
    let body = choices.rest();
    let (items, whole) = read_list(&[body], &limits);
    let (pieced_items, pieced) = read_list(&pieces(body, &mut Choices::new(cuts)), &limits);
    assert_eq!((&items, &whole), (&pieced_items, &pieced));
    assert!(items.iter().all(|item| item.len() <= bound));
    match (list(body, &limits), whole) {
        (Some((general_items, general_meta)), Ok(meta)) => assert_eq!((general_items, general_meta), (items, meta)),
        (None, Err(_)) => {}
        (general, whole) => panic!("{general:?}\n{whole:?}"),
    }
}

/// A frame of a watch is read as a general reader reads it.
pub fn protobuf_events(input: &[u8]) {
    check_status(input);
    let general = general::event(input).and_then(|(kind, object)| Some((kind, Envelope::read(object)?)));
    let (general_type, general) = match (general, WatchEvent::decode_protobuf(input)) {
        (Some(general), Ok(WatchEvent::Message { change, api_version, kind, message })) => {
            let (general_type, envelope) = general;
            assert_eq!(general_type, format!("{change:?}").to_uppercase());
            assert_eq!(envelope, Envelope { api_version, kind, raw: Some(message).filter(|raw| !raw.is_empty()) });
            return;
        }
        (Some(general), Ok(event)) => match event {
            WatchEvent::Bookmark { type_meta, resource_version, initial_events_end } => {
                assert_eq!(general.0, "BOOKMARK");
                assert_eq!((&*type_meta.api_version, &*type_meta.kind), (general.1.api_version, general.1.kind));
                let (version, end) = general.1.bookmark().expect("a bookmark that was read is one");
                assert_eq!((resource_version, initial_events_end), (ResourceVersion::new(version), end));
                return;
            }
            WatchEvent::Error(status) => {
                assert_eq!(general.0, "ERROR");
                general.1.check_status(&status);
                return;
            }
            WatchEvent::OtherError => {
                assert_eq!(general.0, "ERROR");
                return;
            }
            WatchEvent::Unknown { .. } => general,
            WatchEvent::Message { .. } | WatchEvent::Object { .. } => panic!("{event:?}"),
        },
        (None, Ok(event)) => panic!("{event:?} is none"),
        (None, Err(_)) => return,
        (Some((general_type, general)), Err(_)) => {
            let version = general.bookmark().map(|(version, _)| version);
            assert!(!["ADDED", "MODIFIED", "DELETED", "ERROR"].contains(&general_type), "{general_type} is read");
            assert!(version.is_none_or(str::is_empty), "a bookmark with a version is read");
            return;
        }
    };
    assert!(!["ADDED", "MODIFIED", "DELETED", "ERROR", "BOOKMARK"].contains(&general_type), "{general:?}");
}

fn check_status(bytes: &[u8]) {
    if let Ok(status) = Status::decode_protobuf(bytes) {
        Envelope::read(bytes).expect("a status that was read has an envelope").check_status(&status);
    }
}

/// The message of a pod is the pod that its JSON is, whether other pods were read before it or not.
pub fn protobuf_pods(input: &[u8]) {
    let mut shared = Shared::default();
    let mut read = || Pod::decode_protobuf(input, &Resource::PODS, &mut Common::new(&mut shared));
    let (first, again) = (read(), read());
    let general = Message::read(input).and_then(|message| pod(&message));
    let (Ok(first), Ok(again)) = (&first, &again) else {
        assert!(first.is_err() && again.is_err(), "{first:?} {again:?}");
        assert!(general.is_none(), "{first:?}: {general:?}");
        return;
    };
    assert!(first.is_same(again));
    // What a view does not read, and what no server writes, a general reader may refuse.
    let Some(json) = general else { return };
    let general = Pod::decode(json.to_string().as_bytes(), &Resource::PODS).expect("it is the JSON of a pod");
    assert!(first.is_same(&general), "{first:?}\n{general:?}\n{json}");
}
