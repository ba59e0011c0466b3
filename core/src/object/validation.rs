//! The forms that names, label keys and label values must have.
//!
//! Mirrors apimachinery `pkg/util/validation/validation.go`.

/// Bytes of a label value, and of the name part of a label key.
const NAME_BYTES: usize = 63;
/// Bytes of a DNS subdomain, and so of the prefix of a label key.
const SUBDOMAIN_BYTES: usize = 253;

/// Whether `text` is a label key (or an annotation key in lower case): a name of up to 63 characters, optionally
/// after a DNS subdomain and a slash.
///
/// Mirrors `IsQualifiedName`.
pub fn is_qualified_name(text: &str) -> bool {
    match text.split_once('/') {
        None => is_name(text),
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_name(name),
    }
}

/// Whether `text` is a label value: empty, or up to 63 letters, digits, `-`, `_` and `.`, the first and the last of
/// them a letter or digit.
///
/// Mirrors `IsValidLabelValue`.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

/// Whether `text` is a DNS subdomain: up to 253 characters, parts of lower-case letters, digits and inner `-`,
/// separated by dots. This is also the form of most objects' names.
///
/// Mirrors `IsDNS1123Subdomain`.
pub fn is_dns_subdomain(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= SUBDOMAIN_BYTES
        && text
            .split('.')
            .all(|part| is_bounded_by(part, inner) && part.bytes().all(|byte| inner(byte) || byte == b'-'))
}

/// Whether `text` is a DNS label: up to 63 lower-case letters, digits and inner `-`. This is the form of a namespace's name.
///
/// Mirrors `IsDNS1123Label`.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= NAME_BYTES && !text.contains('.') && is_dns_subdomain(text)
}

fn is_name(text: &str) -> bool {
    text.len() <= NAME_BYTES
        && is_bounded_by(text, |byte| byte.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Whether there is a first and a last byte and both are `fine`.
fn is_bounded_by(text: &str, fine: impl Fn(u8) -> bool) -> bool {
    matches!((text.bytes().next(), text.bytes().next_back()), (Some(first), Some(last)) if fine(first) && fine(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_label_key_is_a_name_after_an_optional_domain() {
        let long = "a".repeat(63);
        for key in
            ["a", "A", "9", "a.b_c-d", "example.com/a", "a-b.example/Name_1.x", &long, &(long.to_string() + "/b")]
        {
            assert!(is_qualified_name(key), "{key}");
        }
        let too_long = "a".repeat(64);
        let long_domain = "a".repeat(254) + "/b";
        for key in [
            "",
            "-a",
            "a-",
            "_a",
            "a b",
            "ä",
            "/a",
            "a/",
            "a/b/c",
            "Example.com/a",
            "a..b/c",
            "-a/b",
            "a-/b",
            ".a/b",
            &too_long,
            &long_domain,
        ] {
            assert!(!is_qualified_name(key), "{key}");
        }
    }

    #[test]
    fn a_label_value_may_be_empty() {
        for value in ["", "a", "A.b_c-9", &"x".repeat(63)] {
            assert!(is_label_value(value), "{value}");
        }
        for value in ["-a", "a-", "a b", "a/b", "ä", ".", "a\0", &"x".repeat(64)] {
            assert!(!is_label_value(value), "{value}");
        }
    }

    #[test]
    fn a_dns_label_is_a_subdomain_of_one_part() {
        let longest = "a".repeat(63);
        for label in ["a", "1", "a-b", "team-1", &longest] {
            assert!(is_dns_label(label), "{label:?}");
        }
        let too_long = "a".repeat(64);
        for other in ["", "A", "a.b", "-a", "a-", "a_b", "a/b", "é", "..", &too_long] {
            assert!(!is_dns_label(other), "{other:?}");
        }
    }
}
