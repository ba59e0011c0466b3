use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::rand::SplitMix64;

#[test]
fn members_and_elements_are_pulled_and_null_is_nothing() {
    let json = br#" { "a" : [ 1 , -2, null ] , "\u0062" : { "x" : "\ud83d\ude00\n" }, "c":null , "d" : true,"e":[]} "#;
    let mut reader = Reader::new(json);
    let mut members = reader.object().unwrap();
    let mut keys = Vec::new();
    while let Some(key) = reader.next_member(&mut members).unwrap() {
        keys.push(String::from_utf8(key.to_vec()).unwrap());
        match &*key {
            b"a" => {
                let mut elements = reader.array().unwrap();
                let mut sum: i32 = 0;
                while reader.next_element(&mut elements).unwrap() {
                    sum += reader.integer::<i32>().unwrap();
                }
                assert_eq!(sum, -1);
            }
            b"b" => {
                let mut inner = reader.object().unwrap();
                assert_eq!(reader.next_member(&mut inner).unwrap().as_deref(), Some(&b"x"[..]));
                assert_eq!(reader.text().unwrap(), "😀\n");
                assert_eq!(reader.next_member(&mut inner).unwrap(), None);
            }
            b"c" => {
                let mut nothing = reader.object().unwrap();
                assert_eq!(reader.next_member(&mut nothing).unwrap(), None);
            }
            b"d" => assert!(reader.boolean().unwrap()),
            _ => assert_eq!(reader.raw().unwrap(), b"[]"),
        }
    }
    assert_eq!(keys, ["a", "b", "c", "d", "e"]);
    reader.end().unwrap();
}

#[test]
fn a_string_without_escapes_is_borrowed() {
    for text in ["", "a", "größe", "a string that is longer than a chunk of bytes"] {
        let json = alloc::format!("\"{text}\"");
        assert!(matches!(Reader::new(json.as_bytes()).text(), Ok(Cow::Borrowed(read)) if read == text));
    }
}

/// Texts that are nearly JSON: scraps put together at random.
fn scraps(random: &mut SplitMix64) -> Vec<u8> {
    const SCRAPS: &[&str] = &[
        "\"",
        "\"",
        "\\",
        "\\\"",
        "\\u",
        "\\ud800",
        "\\udc00",
        "\\u00e9",
        "\\n",
        "\\x",
        "null",
        "nul",
        "true",
        "false",
        "0",
        "-",
        "1",
        "12",
        "-0",
        "01",
        "2147483648",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        ".5",
        "e3",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "\n",
        "\u{b}",
        "a",
        "é",
        "\u{1}",
        "0123456789abcdef",
        "\"a\":",
        "[[]]",
        "{}",
    ];
    let mut text = Vec::new();
    for _ in 0..1 + random.next_u64() % 9 {
        text.extend_from_slice(SCRAPS[random.next_u64() as usize % SCRAPS.len()].as_bytes());
    }
    if random.next_u64().is_multiple_of(8) {
        let at = random.next_u64() as usize % text.len();
        text[at] = random.next_u64() as u8;
    }
    text
}

/// A whole document read as one value.
fn whole<'a, T>(json: &'a [u8], read: impl Fn(&mut Reader<'a>) -> Result<T, Unexpected>) -> Option<T> {
    let mut reader = Reader::new(json);
    let value = read(&mut reader).ok()?;
    reader.end().ok().map(|()| value)
}

#[test]
fn scalars_are_what_serde_json_reads() {
    let mut random = SplitMix64::new(11);
    let mut read = [0; 4];
    for _ in 0..300_000 {
        let json = scraps(&mut random);
        let shown = json.escape_ascii();
        let text = serde_json::from_slice::<Option<String>>(&json).ok().map(Option::unwrap_or_default);
        assert_eq!(whole(&json, |reader| reader.text().map(Cow::into_owned)), text, "{shown}");
        let small = serde_json::from_slice::<Option<i32>>(&json).ok().map(Option::unwrap_or_default);
        assert_eq!(whole(&json, Reader::integer::<i32>), small, "{shown}");
        let large = serde_json::from_slice::<Option<i64>>(&json).ok().map(Option::unwrap_or_default);
        assert_eq!(whole(&json, Reader::integer::<i64>), large, "{shown}");
        let boolean = serde_json::from_slice::<Option<bool>>(&json).ok().map(Option::unwrap_or_default);
        assert_eq!(whole(&json, Reader::boolean), boolean, "{shown}");
        let counts = [text.is_some(), small.is_some(), large.is_some(), boolean.is_some()];
        for (count, some) in read.iter_mut().zip(counts) {
            *count += usize::from(some);
        }
    }
    assert!(read.iter().all(|count| *count > 1000), "{read:?}");
}

#[test]
fn what_is_json_is_skipped_to_its_end_and_nothing_panics() {
    let mut random = SplitMix64::new(13);
    let mut skipped = 0;
    for _ in 0..300_000 {
        let json = scraps(&mut random);
        let raw = whole(&json, Reader::raw);
        if serde_json::from_slice::<serde::de::IgnoredAny>(&json).is_ok() {
            assert_eq!(raw, Some(json.trim_ascii()), "{}", json.escape_ascii());
            skipped += 1;
        }
    }
    assert!(skipped > 10_000, "{skipped}");
    for depth in [MAX_DEPTH as usize, MAX_DEPTH as usize + 1] {
        let json = ["[".repeat(depth), "]".repeat(depth)].concat();
        assert_eq!(Reader::new(json.as_bytes()).skip().is_ok(), depth == MAX_DEPTH as usize);
    }
}
