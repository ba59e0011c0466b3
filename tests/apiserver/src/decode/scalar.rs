//! Scalars with a syntax of their own: times and base64.

use jiff::Timestamp;

/// How Go's `time.Parse` complains about a text that does not have the layout.
pub(super) fn time_fault(s: &str, layout: &str) -> String {
    const PARTS: [(&str, usize); 6] = [("2006", 4), ("-01", 3), ("-02", 3), ("T15", 3), (":04", 3), (":05", 3)];
    let mut rest = s;
    for (name, len) in PARTS {
        let ok = rest.is_char_boundary(len.min(rest.len()))
            && rest.len() >= len
            && rest[..len].bytes().zip(name.bytes()).all(
                |(a, b)| {
                    if b.is_ascii_digit() { a.is_ascii_digit() } else { a == b }
                },
            );
        if !ok {
            return format!("parsing time \"{s}\" as \"{layout}\": cannot parse \"{rest}\" as \"{name}\"");
        }
        rest = &rest[len..];
    }
    let wanted = if layout.contains(".000000") && !has_micros(rest) { ".000000" } else { "Z07:00" };
    format!("parsing time \"{s}\" as \"{layout}\": cannot parse \"{rest}\" as \"{wanted}\"")
}

fn has_micros(rest: &str) -> bool {
    let b = rest.as_bytes();
    b.len() > 7 && b[0] == b'.' && b[1..7].iter().all(u8::is_ascii_digit) && !b[7].is_ascii_digit()
}

/// RFC 3339 in UTC with seconds.
pub(super) fn time(s: &str) -> Option<String> {
    if s.len() == 20 && s.ends_with('Z') && s.as_bytes()[10] == b'T' {
        return s.parse::<Timestamp>().ok().map(|_| s.to_owned());
    }
    let t: Timestamp = s.parse().ok().filter(|_| s.as_bytes().get(10) == Some(&b'T'))?;
    Some(crate::time::rfc3339(t))
}

/// RFC 3339 in UTC with exactly six decimals.
pub(super) fn micro_time(s: &str) -> Option<String> {
    let t: Timestamp = s.parse().ok()?;
    if !has_micros(s.get(19..)?) {
        return None;
    }
    Some(crate::time::rfc3339_micro(t))
}

/// The offset of the first byte that is not standard base64, as Go counts it.
pub(super) fn illegal_base64(s: &str) -> Option<usize> {
    use base64::Engine as _;
    match base64::engine::general_purpose::STANDARD.decode(s) {
        Ok(_) => None,
        Err(base64::DecodeError::InvalidByte(at, _)) => Some(at),
        Err(base64::DecodeError::InvalidLastSymbol { offset, .. }) => Some(offset),
        Err(_) => Some(s.len() / 4 * 4),
    }
}
