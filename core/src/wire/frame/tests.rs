use super::*;
use alloc::string::String;
use alloc::vec;

/// The frames of a stream that comes in these pieces, and ends well or abruptly.
fn cut<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, clean_end: bool) -> Vec<String> {
    let mut frames = Frames::new(1 << 20);
    let mut found = Vec::new();
    for mut piece in pieces.into_iter().chain(clean_end.then_some(&b"\n"[..])) {
        while let Some(frame) = frames.next_frame(&mut piece).unwrap() {
            found.push(String::from_utf8(frame.to_vec()).unwrap());
        }
    }
    found
}

#[test]
fn every_cut_gives_the_same_frames() {
    let stream = "{\"name\":\"größe\"}\n\r\n\n{\"second\":1}\r\ntail".as_bytes();
    let whole = cut([stream], true);
    assert_eq!(whole, ["{\"name\":\"größe\"}", "{\"second\":1}", "tail"]);
    for first in 0..=stream.len() {
        for second in first..=stream.len() {
            let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
            assert_eq!(cut(pieces, true), whole, "cut at {first} and {second}");
        }
    }
    assert_eq!(cut(stream.chunks(1), true), whole);
}

#[test]
fn a_tail_counts_at_a_clean_end_only() {
    assert_eq!(cut([&b"a\nb"[..]], true), ["a", "b"]);
    assert_eq!(cut([&b"a\nb"[..]], false), ["a"]);
    assert_eq!(cut([&b"a\n\r"[..]], true), ["a"]);
    assert_eq!(cut([&b"par"[..], b"tial\n"], true), ["partial"]);
}

#[test]
fn a_line_in_one_piece_is_not_copied() {
    let mut frames = Frames::new(100);
    let mut piece = &b"one\ntwo\n"[..];
    let start = piece.as_ptr();
    assert_eq!(frames.next_frame(&mut piece).unwrap().unwrap().as_ptr(), start);
    assert_eq!(frames.partial.capacity(), 0);
}

#[test]
fn a_line_past_the_bound_is_refused_and_one_that_fits_is_not() {
    let full = Err(Full { limit: "object_bytes", bound: 4 });
    for ending in ["\n", "\r\n"] {
        let fits = alloc::format!("abcd{ending}");
        for size in 1..=fits.len() {
            let mut frames = Frames::new(4);
            let mut lines = 0;
            for mut piece in fits.as_bytes().chunks(size) {
                while frames.next_frame(&mut piece).unwrap().is_some() {
                    lines += 1;
                }
            }
            assert_eq!(lines, 1);
        }
        assert_eq!(Frames::new(4).next_frame(&mut &*alloc::format!("abcde{ending}").into_bytes()), full);
    }
    let mut frames = Frames::new(4);
    assert_eq!(frames.next_frame(&mut &b"abc"[..]), Ok(None));
    assert_eq!(frames.next_frame(&mut &b"defg"[..]), full);
    assert_eq!(frames.partial.capacity(), 0);
}

#[test]
fn a_long_line_leaves_no_large_buffer_behind() {
    let mut frames = Frames::new(1 << 20);
    let long = vec![b'x'; 1 << 20];
    for mut piece in long.chunks(1000) {
        assert_eq!(frames.next_frame(&mut piece).unwrap(), None);
    }
    assert_eq!(frames.next_frame(&mut &b"\n"[..]).unwrap().unwrap().len(), 1 << 20);
    assert_eq!(frames.next_frame(&mut &b"a"[..]).unwrap(), None);
    assert!(frames.partial.capacity() <= 64 << 10);
}
