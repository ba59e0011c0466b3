use super::*;
use alloc::string::ToString;

fn event(line: &str) -> Result<WatchEvent<'_>, Malformed> {
    WatchEvent::decode(line.as_bytes())
}

#[test]
fn an_objects_bytes_are_handed_on_as_they_came() {
    let object = r#"{"kind":"Pod", "x":"\u00e9" }"#;
    for (name, change) in [("ADDED", Change::Added), ("MODIFIED", Change::Modified), ("DELETED", Change::Deleted)] {
        let line = alloc::format!(r#"{{"type":"{name}","object":{object}}}"#);
        assert_eq!(event(&line).unwrap(), WatchEvent::Object { change, json: object.as_bytes() });
        let line = alloc::format!(r#" {{"object":{object},"x":[{{}}],"type":"{name}"}} "#);
        assert_eq!(event(&line).unwrap(), WatchEvent::Object { change, json: object.as_bytes() });
    }
}

#[test]
fn a_bookmark_has_a_version_and_may_end_the_initial_events() {
    let bookmark = |metadata: &str| -> Result<(String, bool), Malformed> {
        let line = alloc::format!(
            r#"{{"type":"BOOKMARK","object":{{"kind":"Pod","apiVersion":"v1","metadata":{metadata}}}}}"#
        );
        match event(&line)? {
            WatchEvent::Bookmark { type_meta, resource_version, initial_events_end } => {
                assert_eq!((type_meta.api_version.as_str(), type_meta.kind.as_str()), ("v1", "Pod"));
                Ok((resource_version.to_string(), initial_events_end))
            }
            other => panic!("{other:?}"),
        }
    };
    let end = r#"{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}"#;
    assert_eq!(bookmark(end).unwrap(), ("9".into(), true));
    let not_end = r#"{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"false"}}"#;
    assert_eq!(bookmark(not_end).unwrap(), ("9".into(), false));
    assert_eq!(bookmark(r#"{"resourceVersion":"9","annotations":null}"#).unwrap(), ("9".into(), false));
    for broken in ["{}", "null", r#"{"resourceVersion":9}"#, r#"{"resourceVersion":null}"#, "[]"] {
        bookmark(broken).unwrap_err();
    }
}

#[test]
fn an_error_carries_a_status_or_something_else() {
    let status = |line: &str| match event(line).unwrap() {
        WatchEvent::Error(status) => status.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(status(r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Gone"}}"#), 410);
    assert_eq!(status(r#"{"type":"ERROR","object":{"kind":"Status"}}"#), 0);
    for object in [r#"{"kind":"Pod"}"#, "5", "[]", r#"{"kind":"Status","code":"x"}"#] {
        let line = alloc::format!(r#"{{"type":"ERROR","object":{object}}}"#);
        assert_eq!(event(&line).unwrap(), WatchEvent::OtherError);
    }
}

#[test]
fn a_bare_status_is_an_error_event() {
    let line = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}"#;
    assert!(matches!(event(line).unwrap(), WatchEvent::Error(status) if status.code == 401));
}

#[test]
fn an_event_of_an_unknown_type_tells_its_version() {
    let line = r#"{"type":"SPLIT","object":{"metadata":{"resourceVersion":"12"}}}"#;
    assert_eq!(event(line).unwrap(), WatchEvent::Unknown { resource_version: "12".into() });
}

#[test]
fn what_is_no_event_is_an_error() {
    for line in [
        "",
        "{",
        "[]",
        "null",
        "{}",
        r#"{"type":"ADDED"}"#,
        r#"{"type":"ADDED","object":null}"#,
        r#"{"type":5,"object":{}}"#,
        r#"{"type":"ADDED","object":{}}x"#,
        r#"{"type":"ADDED","object":{}"#,
        r#"{"type":"ADDED","type":"ADDED","object":{}}"#,
        "{\"type\":\"ADDED\",\"object\":\"\u{1}\"}",
        "{\"type\":\"ADDED\",\"object\":{}\u{c}}",
    ] {
        assert!(event(line).is_err(), "{line}");
    }
    // A form feed is white space in other languages.
    assert!(WatchEvent::is_end(b" \t\n\r} \t\n\r") && !WatchEvent::is_end(b"\x0c}"));
    assert!(WatchEvent::decode(b"{\"type\":\"ADDED\",\"object\":{\"\xff\":1}}").is_err());
}

#[test]
fn deep_nesting_overflows_no_stack() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let line = alloc::format!(r#"{{"type":"ADDED","object":{deep}}}"#);
    assert!(matches!(event(&line), Ok(WatchEvent::Object { .. }) | Err(_)));
    assert!(event(&deep).is_err());
    assert!(TypeMeta::peek(alloc::format!(r#"{{"x":{deep}}}"#).as_bytes()).is_err());
}

#[test]
fn kind_and_api_version_are_read_without_the_rest() {
    let peek = |json: &str| TypeMeta::peek(json.as_bytes()).map(|t| (t.api_version, t.kind));
    assert_eq!(peek(r#"{"kind":"Pod","apiVersion":"v1",no json"#), Ok(("v1".into(), "Pod".into())));
    assert_eq!(peek(r#"{"metadata":{"kind":"x"},"kind":"Pod"}"#), Ok(("".into(), "Pod".into())));
    assert_eq!(peek(r#"{"kind":null,"apiVersion":null}"#), Ok(("".into(), "".into())));
    assert_eq!(peek("{}"), Ok(("".into(), "".into())));
    for broken in ["5", "[]", r#"{"kind":5}"#, r#"{"a":"#] {
        assert!(peek(broken).is_err(), "{broken}");
    }
}
