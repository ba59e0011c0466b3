use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::json::Unexpected;
use crate::testing::{Random, envelope, field, number_field};

/// The numbers of all fields, with their values where those are numbers.
fn numbers(bytes: &[u8]) -> Result<Vec<(u32, Option<i64>)>, Unexpected> {
    let mut fields = Fields::new(bytes);
    let mut numbers = Vec::new();
    while let Some((number, value)) = fields.next()? {
        numbers.push((number, value.integer().ok()));
    }
    Ok(numbers)
}

#[test]
fn fields_are_passed_over_by_their_wire_type() {
    let message = [
        number_field(1, -1),
        field(2, "text"),
        vec![3 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8],
        vec![4 << 3 | 5, 1, 2, 3, 4],
        number_field((1 << 29) - 1, i64::MAX),
    ];
    assert_eq!(
        numbers(&message.concat()).unwrap(),
        [(1, Some(-1)), (2, None), (3, None), (4, None), ((1 << 29) - 1, Some(i64::MAX))]
    );
    assert_eq!(numbers(b"").unwrap(), []);
}

#[test]
fn a_field_ends_within_its_message() {
    let whole = [field(2, "text"), number_field(1, 300), vec![4 << 3 | 5, 1, 2, 3, 4]].concat();
    let ends = [0, 6, 9, 14];
    for length in 0..=whole.len() {
        assert_eq!(numbers(&whole[..length]).is_ok(), ends.contains(&length), "{length}");
    }
    // An inner length does not reach beyond the outer one.
    let mut inner = Fields::new(&[1 << 3 | 2, 2, 2 << 3 | 2, 3, 1, 1, 1]);
    let (_, value) = inner.next().unwrap().unwrap();
    assert!(value.message().unwrap().next().is_err());
}

#[test]
fn a_number_has_64_bits_at_most() {
    let ten = |last: u8| [vec![1 << 3], vec![0xff; 9], vec![last]].concat();
    assert_eq!(numbers(&ten(1)).unwrap(), [(1, Some(-1))]);
    for last in [2, 0x7f, 0x81] {
        assert!(numbers(&ten(last)).is_err(), "{last}");
    }
    // The length of a field is no exception.
    assert!(numbers(&[[2 << 3 | 2].as_slice(), &[0xff; 9], &[1]].concat()).is_err());
}

#[test]
fn groups_and_fields_without_a_number_are_refused() {
    for tag in [3, 4, 6, 7].map(|wire_type| 1 << 3 | wire_type).into_iter().chain([0, 2, 5]) {
        assert!(numbers(&[tag, 0, 0, 0, 0, 0]).is_err(), "{tag}");
    }
    // 2^29
    assert!(numbers(&[0x80, 0x80, 0x80, 0x80, 0x10, 0]).is_err());
}

#[test]
fn what_is_asked_for_has_its_type_and_range() {
    let value = |bytes: &'static [u8]| Fields::new(bytes).next().unwrap().unwrap().1;
    assert_eq!(value(b"\x08\x05").integer::<i32>(), Ok(5));
    assert!(value(b"\x08\x80\x80\x80\x80\x08").integer::<i32>().is_err());
    assert_eq!(value(b"\x08\x02").boolean(), Ok(true));
    assert!(value(b"\x08\x05").text().is_err() && value(b"\x0a\x01a").integer::<i32>().is_err());
    assert_eq!(value(b"\x0a\x01a").text(), Ok("a"));
    assert!(value(b"\x0a\x01\xff").text().is_err());
    assert_eq!(value(b"\x0a\x01\xff").bytes(), Ok(&b"\xff"[..]));
}

#[test]
fn an_envelope_tells_the_kind_and_refuses_what_it_cannot_open() {
    let bytes = envelope("v1", "Pod", b"x");
    let Envelope { api_version, kind, raw } = Envelope::read(&bytes).unwrap();
    assert_eq!((api_version, kind, raw), ("v1", "Pod", &b"x"[..]));
    for bytes in [
        b"k8s\x01".to_vec(),
        b"{}".to_vec(),
        [MAGIC.to_vec(), field(3, "gzip")].concat(),
        [MAGIC.to_vec(), field(4, "application/json")].concat(),
        [MAGIC.to_vec(), number_field(2, 5)].concat(),
    ] {
        assert!(Envelope::read(&bytes).is_err(), "{}", bytes.escape_ascii());
    }
    assert!(
        Envelope::read(&[MAGIC.to_vec(), field(4, "application/vnd.kubernetes.protobuf"), number_field(9, 1)].concat())
            .is_ok()
    );
}

#[test]
fn any_bytes_are_read_to_their_end_or_refused() {
    fn read(fields: &mut Fields<'_>, depth: usize, seen: &mut usize) {
        while let Ok(Some((_, value))) = fields.next() {
            *seen += 1;
            if let (Ok(mut message), true) = (value.message(), depth > 0) {
                read(&mut message, depth - 1, seen);
            }
        }
    }
    let mut random = Random::new(11);
    let mut seen = 0;
    for _ in 0..20_000 {
        let length = random.below(60);
        let bytes: Vec<u8> = (0..length).map(|_| *random.pick(&[8, 10, 0x12, 0x80, 0xff, 0, 1, 2, 5, 0x1a])).collect();
        read(&mut Fields::new(&bytes), 4, &mut seen);
        let _ = Envelope::read(&[MAGIC, &bytes].concat());
    }
    assert!(seen > 10_000, "{seen}");
}
