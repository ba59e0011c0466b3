//! Whole numbers of JSON.

/// The whole number that the bytes begin with, and its length. None where there is none, or where it is a number with a fraction or an
/// exponent, which has no place in an integer of Go even if it is whole, or minus zero, or does not fit.
pub(super) fn integer(bytes: &[u8]) -> Option<(i64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let sign = usize::from(negative);
    let digits = bytes[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = sign + digits;
    let text = &bytes[sign..end];
    let is_number = matches!(text, [b'0'] | [b'1'..=b'9', ..]) && !(negative && text == b"0");
    if !is_number || matches!(bytes.get(end), Some(b'.' | b'e' | b'E')) {
        return None;
    }
    let number = text.iter().try_fold(0_i64, |number, digit| {
        let digit = i64::from(digit - b'0');
        number.checked_mul(10)?.checked_add(if negative { -digit } else { digit })
    })?;
    Some((number, end))
}
