//! Config maps (`pkg/apis/core/validation`, `ValidateConfigMap`).

use serde_json::Value;

use crate::error::Cause;
use crate::json;
use crate::store::Obj;

const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const MAX_SIZE: usize = 1024 * 1024;

pub(crate) fn validate(cm: &Obj, causes: &mut Vec<Cause>) {
    let (data, binary) = (json::map(cm, &["data"]), json::map(cm, &["binaryData"]));
    let mut size = 0;
    for (field, map) in [("data", data), ("binaryData", binary)] {
        for (k, v) in map.into_iter().flatten() {
            let name = format!("{field}[{k}]");
            let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
            if k.len() > 253 {
                causes.push(Cause::invalid(&name, &k.as_str().into(), "must be no more than 253 bytes"));
            }
            if k.is_empty() || !k.bytes().all(plain) {
                causes.push(Cause::invalid(&name, &k.as_str().into(), KEY));
            }
            if k == "." || k == ".." {
                causes.push(Cause::invalid(&name, &k.as_str().into(), &format!("must not be '{k}'")));
            }
            if field == "data" && binary.is_some_and(|b| b.contains_key(k)) {
                causes.push(Cause::invalid(&name, &k.as_str().into(), "duplicate of key present in binaryData"));
            }
            size += v.as_str().map_or(0, str::len);
        }
    }
    if size > MAX_SIZE {
        causes.push(Cause::too_long("[]", MAX_SIZE));
    }
}

pub(crate) fn validate_update(new: &Obj, old: &Obj, causes: &mut Vec<Cause>) {
    if old.get("immutable") == Some(&Value::Bool(true)) {
        for field in ["immutable", "data", "binaryData"] {
            if new.get(field) != old.get(field) {
                causes.push(Cause::forbidden(field, "field is immutable when `immutable` is set"));
            }
        }
    }
    validate(new, causes);
}
