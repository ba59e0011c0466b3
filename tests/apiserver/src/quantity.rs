//! `resource.Quantity`: a number with a decimal or binary suffix, and its canonical text
//! (apimachinery `pkg/api/resource/quantity.go`, "canonical form" in the type's comment).

use std::cmp::Ordering;

/// A parsed quantity: `value` × 10⁻⁹.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity {
    nanos: i128,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Binary,
    Decimal,
    Exponent,
}

const NANO: i128 = 1_000_000_000;

impl Quantity {
    /// The quantity a text stands for; `None` if it is none, or out of range.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        parse(text).map(|(q, _)| q)
    }

    pub(crate) fn from_count(n: i64) -> Self {
        Self { nanos: i128::from(n) * NANO }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_add(other.nanos) }
    }

    pub(crate) fn exceeds(self, limit: Self) -> bool {
        self.cmp(&limit) == Ordering::Greater
    }

    /// Canonical text in the decimal format.
    pub(crate) fn text(self) -> String {
        write(self, Format::Decimal)
    }
}

/// The canonical form of a quantity's text.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (q, format) = parse(text)?;
    Some(write(q, format))
}

fn parse(text: &str) -> Option<(Quantity, Format)> {
    let (negative, rest) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') || whole.len() > 18 || fraction.len() > 18 {
        return None;
    }
    let (multiplier, shift, format): (i128, i32, Format) = match suffix {
        "n" => (1, -9, Format::Decimal),
        "u" => (1, -6, Format::Decimal),
        "m" => (1, -3, Format::Decimal),
        "" => (1, 0, Format::Decimal),
        "k" => (1, 3, Format::Decimal),
        "M" => (1, 6, Format::Decimal),
        "G" => (1, 9, Format::Decimal),
        "T" => (1, 12, Format::Decimal),
        "P" => (1, 15, Format::Decimal),
        "E" => (1, 18, Format::Decimal),
        "Ki" => (1 << 10, 0, Format::Binary),
        "Mi" => (1 << 20, 0, Format::Binary),
        "Gi" => (1 << 30, 0, Format::Binary),
        "Ti" => (1 << 40, 0, Format::Binary),
        "Pi" => (1 << 50, 0, Format::Binary),
        "Ei" => (1 << 60, 0, Format::Binary),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (1, exponent, Format::Exponent)
        }
    };
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = 9 + shift - i32::try_from(fraction.len()).ok()?;
    let scaled = digits.checked_mul(multiplier)?;
    let nanos = if scale >= 0 {
        scaled.checked_mul(10i128.checked_pow(scale.unsigned_abs())?)?
    } else {
        // Finer than a nano is rounded up.
        let unit = 10i128.checked_pow(scale.unsigned_abs())?;
        scaled.checked_add(unit - 1)? / unit
    };
    Some((Quantity { nanos: if negative { -nanos } else { nanos } }, format))
}

fn write(q: Quantity, format: Format) -> String {
    let n = q.nanos;
    if n == 0 {
        return "0".to_owned();
    }
    if format == Format::Binary && n % NANO == 0 && (n / NANO).abs() >= 1024 {
        let mut value = n / NANO;
        let mut power = 0;
        while value % 1024 == 0 && power < 6 {
            value /= 1024;
            power += 1;
        }
        return format!("{value}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power]);
    }
    let mut value = n;
    let mut power = 0;
    while value % 1000 == 0 && power < 9 {
        value /= 1000;
        power += 1;
    }
    match format {
        Format::Exponent => {
            let exponent = power * 3 - 9;
            if exponent == 0 { value.to_string() } else { format!("{value}e{exponent}") }
        }
        _ => {
            let suffix = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
            format!("{value}{}", suffix[usize::try_from(power).unwrap_or(0)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Quantity, canonical};

    #[test]
    fn quantities_are_written_in_canonical_form() {
        for (text, want) in [
            ("1", "1"),
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1024Ki", "1Mi"),
            ("8Gi", "8Gi"),
            ("1.5Gi", "1536Mi"),
            ("1000k", "1M"),
            ("0", "0"),
            ("1e3", "1e3"),
            ("-5", "-5"),
            ("0.1n", "1n"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(want), "{text}");
        }
        for text in ["", "x", "1x", ".", "1.2.3", "1e", "99999999999999999999"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }

    #[test]
    fn quantities_compare_by_value() {
        let q = |t| Quantity::parse(t).unwrap();
        assert!(q("1").exceeds(q("999m")));
        assert!(!q("1Ki").exceeds(q("1024")));
        assert_eq!(q("100m").plus(q("900m")).text(), "1");
    }
}
