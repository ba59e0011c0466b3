use alloc::format;

use super::*;

fn status(json: &str) -> Status {
    Status::decode(json.as_bytes()).unwrap()
}

#[test]
fn all_fields_are_read_and_null_is_nothing() {
    let full = status(
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"m","reason":"Timeout","code":504,
        "details":{"retryAfterSeconds":1,"causes":[{"reason":"r","message":"c","field":"f"}]}}"#,
    );
    assert_eq!((full.code, full.reason.as_str(), full.message.as_str()), (504, "Timeout", "m"));
    assert_eq!(full.retry_after, Some(Duration::from_secs(1)));
    assert_eq!(full.causes[0].field, "f");
    let empty = status(
        r#"{"kind":"Status","code":null,"reason":null,"message":null,"details":{"retryAfterSeconds":null,"causes":null}}"#,
    );
    assert_eq!(empty, Status::default());
    assert_eq!(status(r#"{"kind":"Status","details":null}"#), Status::default());
    assert_eq!(status(r#"{"kind":"Status","details":{"retryAfterSeconds":-5}}"#).retry_after, None);
}

#[test]
fn wrong_types_and_other_kinds_are_errors_and_leave_the_http_code() {
    for json in
        ["", "[]", "{}", r#"{"kind":"Pod"}"#, r#"{"kind":"Status","code":"410"}"#, r#"{"kind":"Status","code":99999}"#]
    {
        assert!(Status::decode(json.as_bytes()).is_err(), "{json}");
        assert_eq!(Status::of_answer(410, json.as_bytes()), Status::from_code(410));
    }
    assert_eq!(Status::of_answer(503, br#"{"kind":"Status","reason":"X"}"#).code, 503);
    assert_eq!(Status::of_answer(503, br#"{"kind":"Status","code":429}"#).code, 429);
}

#[test]
fn the_reason_decides_and_the_code_where_the_reason_is_unknown() {
    let of = |reason: &str, code| Status { reason: reason.into(), code, ..Status::default() };
    assert!(of("Expired", 200).is_expired() && of("Gone", 500).is_expired() && of("", 410).is_expired());
    assert!(of("Odd", 410).is_expired());
    assert!(!of("Timeout", 410).is_expired());
    assert!(of("", 429).is_too_many_requests() && of("Timeout", 429).is_too_many_requests());
    assert!(of("TooManyRequests", 503).is_too_many_requests());
    assert!(of("", 500).is_internal_error() && !of("NotFound", 500).is_internal_error());
}

#[test]
fn a_version_too_large_is_recognised_in_all_its_shapes() {
    for json in [
        r#"{"kind":"Status","code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#,
        r#"{"kind":"Status","code":504,"reason":"Timeout","details":{"causes":[{"message":"Too large resource version"}]}}"#,
        r#"{"kind":"Status","code":504,"reason":"Timeout","message":"Timeout: Too large resource version: 9, current: 8"}"#,
        r#"{"kind":"Status","code":504,"message":"Too large resource version: 9, current: 8"}"#,
    ] {
        assert!(status(json).is_resource_version_too_large(), "{json}");
    }
    for json in [
        r#"{"kind":"Status","code":504,"reason":"Timeout","message":"slow"}"#,
        r#"{"kind":"Status","code":500,"reason":"InternalError","message":"Too large resource version"}"#,
    ] {
        assert!(!status(json).is_resource_version_too_large(), "{json}");
    }
}

#[test]
fn a_status_is_told_without_what_it_does_not_have() {
    let status = |code, reason: &str, message: &str| {
        format!("{}", Status { code, reason: reason.into(), message: message.into(), ..Status::default() })
    };
    assert_eq!(status(403, "Forbidden", "not you"), "403 Forbidden: not you");
    assert_eq!(status(403, "", "not you"), "403: not you");
    assert_eq!(status(403, "Forbidden", ""), "403 Forbidden");
    assert_eq!(status(502, "", ""), "502");
    assert_eq!(status(302, "", ""), "302, and redirects are not followed");
}
