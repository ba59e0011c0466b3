use super::*;
use alloc::string::ToString;

type Read = Result<(Vec<String>, ListMeta), DecodeError>;

fn read<'a>(limits: &Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut body = ListBody::new(limits);
    let mut items = Vec::new();
    for mut piece in pieces {
        while let Some(item) = body.next_item(&mut piece)? {
            items.push(String::from_utf8_lossy(item).into_owned());
        }
    }
    Ok((items, body.finish()?))
}

fn read_text(text: &str) -> Read {
    read(&Limits::default(), [text.as_bytes()])
}

/// A list whose strings try to look like structure.
const LIST: &str = r#" { "kind" : "PodList", "x":{"items":[1,2],"a":[{"items":[3]}]}, "items " : [9], "y":"items",
  "items" : [ {"a":"]},{\"","b":[1,[2]],"c":{}} , {"größe":"\\"},
  {} ], "metadata":{"resourceVersion":"7","continue":"t,\"]","remainingItemCount":3},"z":[[]]} "#;

#[test]
fn items_are_found_wherever_the_body_is_cut() {
    let (items, meta) = read_text(LIST).unwrap();
    assert_eq!(
        items.iter().map(|i| i.trim()).collect::<Vec<_>>(),
        [r#"{"a":"]},{\"","b":[1,[2]],"c":{}}"#, r#"{"größe":"\\"}"#, "{}"]
    );
    assert_eq!(
        meta,
        ListMeta {
            kind: "PodList".into(),
            resource_version: "7".into(),
            continue_token: "t,\"]".into(),
            remaining_item_count: Some(3)
        }
    );
    let bytes = LIST.as_bytes();
    for cut in 0..=bytes.len() {
        assert_eq!(read(&Limits::default(), [&bytes[..cut], &bytes[cut..]]), read_text(LIST), "cut at {cut}");
    }
    for size in 1..20 {
        assert_eq!(read(&Limits::default(), bytes.chunks(size)), read_text(LIST), "pieces of {size}");
    }
}

#[test]
fn metadata_may_stand_on_either_side_and_null_is_nothing() {
    for text in [
        r#"{"metadata":{"resourceVersion":"7","continue":"","remainingItemCount":null},"items":[{},{}]}"#,
        r#"{"items":[{},{}],"metadata":{"resourceVersion":"7","continue":null}}"#,
    ] {
        let (items, meta) = read_text(text).unwrap();
        assert_eq!((items.len(), meta.continue_token.as_str()), (2, ""));
        assert_eq!(meta.resource_version, "7".into());
    }
    for text in [r#"{"items":null}"#, r#"{"items":[],"metadata":null}"#, r#"{"kind":null,"items":[ ]}"#] {
        let (items, meta) = read_text(text).unwrap();
        assert!(items.is_empty() && meta.resource_version.is_none(), "{text}");
    }
}

#[test]
fn what_is_not_a_list_is_an_error() {
    for text in [
        "",
        "null",
        "5",
        "[]",
        r#"["items",[{}]]"#,
        "{}",
        "}",
        r#"{"kind":"Status","code":500}"#,
        r#"{"items":5}"#,
        r#"{"items":{}}"#,
        r#"{"items":{"items":[{}]}}"#,
        r#"{"items":[{}"#,
        r#"{"items":[{}]"#,
        r#"{"items":[{},]}"#,
        r#"{"items":[,{}]}"#,
        r#"{"items":[{},,{}]}"#,
        r#"{"items":[}"#,
        r#"{"items":[{}]}{"#,
        r#"{"items":[{}],"items":[{}]}"#,
        r#"{"items":[],"metadata":{"resourceVersion":7}}"#,
        r#"{"items":[],"metadata":"7"}"#,
        r#"{"items" [{}]}"#,
        r#"{"items":[{}}"#,
        // White space in other languages.
        "{\"items\":[{}\u{c}]}",
        "{\"items\"\u{c}:[{}]}",
    ] {
        assert!(read_text(text).is_err(), "{text}");
    }
}

#[test]
fn items_under_a_key_spelt_with_escapes_are_not_taken_for_none() {
    assert!(read_text(r#"{"it\u0065ms":[{"a":1}],"metadata":{"resourceVersion":"7"}}"#).is_err());
    assert!(read_text(r#"{"it\u0065ms":[],"metadata":{"resourceVersion":"7"}}"#).is_ok());
}

#[test]
fn bounds_hold_for_an_item_and_for_the_rest() {
    let limits = Limits { object_bytes: 10, answer_bytes: 30, ..Limits::default() };
    for size in [1, 4, 1000] {
        let read = |text: &str| read(&limits, text.as_bytes().chunks(size));
        let many = alloc::format!(r#"{{"items":[{}1]}}"#, r#"{"a":"b"} , "#.repeat(1000));
        assert_eq!(read(&many).unwrap().0.len(), 1001);
        let large_item = read(r#"{"items":[{"a":"bcd"}]}"#).unwrap_err();
        assert_eq!(large_item, DecodeError::Full(Full { limit: "object_bytes", bound: 10 }), "{size}");
        let large_rest = read(r#"{"items":[],"kind":"12345678901234567890"}"#).unwrap_err();
        assert_eq!(large_rest, DecodeError::Full(Full { limit: "answer_bytes", bound: 30 }));
    }
}

#[test]
fn deep_nesting_is_refused() {
    for text in ["[".repeat(100_000), "{\"items\":[".to_string() + &"{\"a\":".repeat(100_000)] {
        assert!(matches!(read_text(&text), Err(DecodeError::Malformed(_))));
    }
}

#[test]
fn an_item_in_one_piece_is_not_copied() {
    let text = br#"{"items":[{"a":1},{"b":2}]}"#;
    let mut body = ListBody::new(&Limits::default());
    let mut piece = &text[..];
    let item = body.next_item(&mut piece).unwrap().unwrap();
    assert_eq!(item.as_ptr(), text[10..].as_ptr());
    assert_eq!(body.item.capacity(), 0);
}
