//! Times and names: whatever an object may say of itself in one word.

use sanskube::key::Key;
use sanskube::object::Resource;
use sanskube::object::validation::{is_dns_label, is_dns_subdomain, is_label_value, is_qualified_name};
use sanskube::resource_version::ResourceVersion;
use sanskube::time::Timestamp;
use sanskube::uid::Uid;
use sanskube_apiserver::Request;

use crate::choices::Choices;

/// A time is read if it is an RFC 3339 time, and what is written is read back the same.
pub fn timestamps(input: &[u8]) {
    let mut choices = Choices::new(input);
    let nanos = choices.take(8).iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let made = Timestamp::from_nanos(nanos.cast_signed());
    let seconds = Timestamp::parse(&made.to_string()).expect("what is written is read");
    // Only the earliest second that there is cannot be told from what lies before it.
    let earliest = Timestamp::from_seconds(i64::MIN);
    assert!(seconds.as_seconds() == made.as_seconds() || seconds == earliest, "{made} {seconds}");
    let micros = Timestamp::parse(&made.to_micro_string()).expect("what is written is read");
    assert!(micros.nanos_since(made).abs() < 1000 || micros == earliest, "{}", made.to_micro_string());

    let text = String::from_utf8_lossy(input);
    let read = Timestamp::parse(&text);
    assert!(read.is_none() || is_rfc3339(&text), "{text:?} was read as {read:?}");
    if let Some(time) = read {
        let again = Timestamp::parse(&time.to_string()).expect("what is written is read");
        assert!(again.as_seconds() == time.as_seconds() || again == earliest, "{time}");
    }
}

/// Whether a text has the form that RFC 3339, section 5.6, gives to a time.
fn is_rfc3339(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c.to_ascii_uppercase() }).collect();
    let (date, rest) = shape.split_at_checked(19).unwrap_or_default();
    let offset = rest.strip_prefix(".0").map_or(rest, |fraction| fraction.trim_start_matches('0'));
    // What follows a fraction begins with a sign or a letter, never with a digit.
    date == "0000-00-00T00:00:00" && ["Z", "+00:00", "-00:00"].contains(&offset)
}

/// Names print as they came, order as texts do, and get through the path of a request whole.
pub fn names(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (left, right) = text.split_once('\n').unwrap_or((&text, ""));

    let uids = [Uid::new(left), Uid::new(right)];
    assert_eq!((uids[0].to_string(), uids[1].to_string()), (left.to_owned(), right.to_owned()));
    assert_eq!((uids[0].cmp(&uids[1]), uids[0] == uids[1]), (left.cmp(right), left == right));

    let versions = [ResourceVersion::new(left), ResourceVersion::new(right)];
    assert_eq!((versions[0].to_string(), versions[1].to_string()), (left.to_owned(), right.to_owned()));
    assert_eq!(versions[0] == versions[1], left == right);
    let is_number = |text: &str| text.bytes().all(|c| c.is_ascii_digit()) && !text.starts_with('0') && !text.is_empty();
    let comparable = is_number(left) && is_number(right);
    let wanted = comparable.then(|| (left.len(), left).cmp(&(right.len(), right)));
    assert_eq!(versions[0].compare(&versions[1]).ok(), wanted);

    if !(left.contains('/') || left.is_empty() && right.contains('/')) {
        let key = Key::new(left, right);
        assert_eq!((key.namespace(), key.name()), (left, right), "{key}");
        assert_eq!(key.split().ok(), Some((left, right)).filter(|_| !right.contains('/')));
        assert_eq!(Key::explicit(key.as_str()), key);
    }

    assert!(!is_dns_label(left) || is_dns_subdomain(left) && is_label_value(left) && is_qualified_name(left));
    assert!(!is_dns_subdomain(left) || left.len() <= 253);

    if right.is_empty() {
        return;
    }
    let path = Resource::REPLICA_SETS.object_path(left, right, "status");
    assert!(path.bytes().all(|c| c.is_ascii_graphic() && c != b'?' && c != b'#'), "{path}");
    let back = Request::get(&path).path();
    let namespace = if left.is_empty() { String::new() } else { format!("namespaces/{left}/") };
    assert_eq!(back, format!("/apis/apps/v1/{namespace}replicasets/{right}/status"));
}
