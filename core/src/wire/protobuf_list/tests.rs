use alloc::string::ToString;
use alloc::vec;

use super::*;
use crate::testing::{Random, envelope, field, number_field};

type Read = Result<(Vec<Vec<u8>>, ListMeta), DecodeError>;

fn read<'a>(limits: &Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut body = ProtobufListBody::new(limits);
    let mut items = Vec::new();
    for mut piece in pieces {
        while let Some(item) = body.next_item(&mut piece)? {
            items.push(item.to_vec());
        }
    }
    Ok((items, body.finish()?))
}

fn read_bytes(bytes: &[u8]) -> Read {
    read(&Limits::default(), [bytes])
}

fn metadata() -> Vec<u8> {
    field(1, [field(1, ""), field(2, "7"), field(3, "token"), number_field(4, 3)].concat())
}

/// A list with fields that nobody knows in between.
fn list() -> Vec<u8> {
    let fixed = vec![9 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8, 9 << 3 | 5, 1, 2, 3, 4];
    let raw = [
        metadata(),
        field(2, "first"),
        number_field(8, -1),
        field(2, ""),
        field(9, [0; 300]),
        fixed,
        field(2, "k8s\0\x12\x05third"),
    ];
    [envelope("v1", "PodList", &raw.concat()), number_field(9, 1), field(10, "later")].concat()
}

#[test]
fn items_are_found_wherever_the_body_is_cut() {
    let bytes = list();
    let (items, meta) = read_bytes(&bytes).unwrap();
    assert_eq!(items, [&b"first"[..], b"", b"k8s\0\x12\x05third"]);
    let expected = ListMeta {
        kind: "PodList".into(),
        resource_version: "7".into(),
        continue_token: "token".into(),
        remaining_item_count: Some(3),
    };
    assert_eq!(meta, expected);
    for cut in 0..=bytes.len() {
        assert_eq!(read(&Limits::default(), [&bytes[..cut], &bytes[cut..]]), read_bytes(&bytes), "cut at {cut}");
    }
    for size in 1..20 {
        assert_eq!(read(&Limits::default(), bytes.chunks(size)), read_bytes(&bytes), "pieces of {size}");
    }
}

#[test]
fn a_list_may_have_no_items_but_not_no_end() {
    let bytes = envelope("v1", "PodList", &metadata());
    assert_eq!(read_bytes(&bytes).unwrap().0.len(), 0);
    assert_eq!(read_bytes(&envelope("v1", "PodList", b"")).unwrap().1.resource_version, ResourceVersion::NONE);
    let bytes = list();
    let ends: Vec<usize> = (0..bytes.len()).filter(|&end| read_bytes(&bytes[..end]).is_ok()).collect();
    // Behind the message, and behind each field of the envelope that follows it.
    let raw_end = bytes.len() - 2 - 2 - 2 - 7;
    assert_eq!(ends, [raw_end, raw_end + 2, raw_end + 4, raw_end + 6]);
}

#[test]
fn what_is_no_list_is_refused() {
    let refused = [
        (&b"k8t\0"[..], "there is no magic of protobuf at byte 2"),
        (b"{\"items\":[]}", "there is no magic of protobuf at byte 0"),
        (&envelope("v1", "Pod", b""), "it is of kind \"Pod\""),
        (&envelope("v1", "PodList", b"\x13"), "wire type"),
        (&envelope("v1", "PodList", b"\x10\x05"), "wire type"),
        (&envelope("v1", "PodList", b"\x12\x05four"), "field within its message"),
        (&envelope("v1", "PodList", b"\x12\x80"), "field within its message"),
        (&envelope("v1", "PodList", b"\x08"), "wire type"),
        (&envelope("v1", "PodList", &field(1, b"\x12\x02\xff\xff")), "UTF-8"),
        (&[list(), field(2, "again")].concat(), "single list"),
        (&[b"k8s\0".to_vec(), field(4, "application/json")].concat(), "message in protobuf"),
        (b"k8s\0\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "64 bits"),
        (b"k8s\0\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "such a length"),
    ];
    for (bytes, why) in refused {
        let error = read_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains(why), "{error} for {}", bytes.escape_ascii());
    }
}

#[test]
fn bounds_are_exact_and_hold_before_anything_is_kept() {
    let limits = Limits { object_bytes: 5, answer_bytes: 20, ..Limits::default() };
    let of = |raw: &[u8]| envelope("v1", "PodList", raw);
    assert!(read(&limits, of(&field(2, "12345")).chunks(1)).is_ok());
    let full = |limit, bound| Err(DecodeError::Full(Full { limit, bound }));
    assert_eq!(read(&limits, [&of(&field(2, "123456"))[..12 + 9 + 4]]), full("object_bytes", 5));
    assert!(read(&limits, of(&field(1, field(3, [b'x'; 18]))).chunks(1)).is_ok());
    assert_eq!(read(&limits, of(&field(1, field(3, [b'x'; 19]))).chunks(1)), full("answer_bytes", 20));
    // What is passed over has no bound.
    assert!(read(&limits, of(&field(7, [0; 500])).chunks(7)).is_ok());
}

#[test]
fn spoilt_lists_are_read_or_refused_alike_wherever_they_are_cut() {
    let mut random = Random::new(5);
    let (mut good, mut bad) = (0, 0);
    for _ in 0..4000 {
        let mut bytes = list();
        for _ in 0..=random.below(2) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next() as u8;
        }
        let whole = read_bytes(&bytes);
        let size = 1 + random.below(40) as usize;
        assert_eq!(read(&Limits::default(), bytes.chunks(size)), whole, "{} by {size}", bytes.escape_ascii());
        *if whole.is_ok() { &mut good } else { &mut bad } += 1;
    }
    assert!(good > 100 && bad > 100, "{good} {bad}");
}
