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

/// The frames with lengths of a stream that comes in these pieces.
fn cut_by_length<'a>(bound: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, Full> {
    let mut frames = LengthFrames::new(bound);
    let mut found = Vec::new();
    for mut piece in pieces {
        while let Some(frame) = frames.next_frame(&mut piece)? {
            found.push(frame.to_vec());
        }
        assert!(piece.is_empty());
    }
    Ok(found)
}

#[test]
fn every_cut_gives_the_same_frames_with_lengths() {
    let stream = b"\0\0\0\x03abc\0\0\0\0\0\0\0\x05\0\0\0\x01x\0\0\0\x02e";
    let whole = cut_by_length(5, [&stream[..]]).unwrap();
    assert_eq!(whole, [&b"abc"[..], b"", b"\0\0\0\x01x"]);
    for first in 0..=stream.len() {
        for second in first..=stream.len() {
            let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
            assert_eq!(cut_by_length(5, pieces).unwrap(), whole, "cut at {first} and {second}");
        }
    }
    assert_eq!(cut_by_length(5, stream.chunks(1)).unwrap(), whole);
}

#[test]
fn a_frame_that_is_said_to_be_too_long_is_refused_before_it_comes() {
    for pieces in [vec![&b"\0\0\0\x05"[..]], vec![&b"\0\0"[..], b"\0\x05"], vec![b"\xff\xff\xff\xff"]] {
        assert_eq!(cut_by_length(4, pieces), Err(Full { limit: "object_bytes", bound: 4 }));
    }
}
