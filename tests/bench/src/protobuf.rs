//! The generator's pods in protobuf, as an API server sends them.

use std::io;

use serde_json::{Map, Value};

use crate::generator;

/// Writes what [`generator::write_list`] writes, in protobuf.
///
/// # Errors
/// Whatever the writer says.
pub(crate) fn write_list(count: usize, out: &mut impl io::Write) -> io::Result<()> {
    // A message says how long it is before it begins, so that the pods are made twice rather than all held at once.
    let metadata = field(1, &field(2, b"9000000"));
    let items: usize = (0..count).map(|n| field(2, &pod(n, 0)).len()).sum();
    out.write_all(b"k8s\0")?;
    out.write_all(&type_meta("PodList"))?;
    let mut head = vec![2 << 3 | 2];
    push_varint(metadata.len() + items, &mut head);
    out.write_all(&head)?;
    out.write_all(&metadata)?;
    for n in 0..count {
        out.write_all(&field(2, &pod(n, 0)))?;
    }
    out.write_all(&[field(3, b""), field(4, b"")].concat())
}

/// Frames of a watch that tell what [`crate::churn::lines`] tell.
pub(crate) fn frames(pods: usize, count: usize) -> Vec<Vec<u8>> {
    let frame = |nth: usize| {
        let object = pod(nth * 7919 % pods, 2 + nth / pods);
        let object = [b"k8s\0", &type_meta("Pod")[..], &field(2, &object), &field(3, b""), &field(4, b"")].concat();
        let event = [field(1, b"MODIFIED"), field(2, &field(1, &object))].concat();
        let length = u32::try_from(event.len()).expect("a pod is small");
        [&length.to_be_bytes()[..], &event].concat()
    };
    (0..count).map(frame).collect()
}

/// The message of the n-th pod, after so many changes of its status.
fn pod(n: usize, changes: usize) -> Vec<u8> {
    let object: Map<String, Value> = serde_json::from_str(&generator::pod(n, changes)).expect("a pod is JSON");
    sanskube_apiserver::encode_protobuf("core.Pod", &object)
}

fn type_meta(kind: &str) -> Vec<u8> {
    field(1, &[field(1, b"v1"), field(2, kind.as_bytes())].concat())
}

/// A field that has a length.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    push_varint(bytes.len(), &mut field);
    field.extend_from_slice(bytes);
    field
}

fn push_varint(mut number: usize, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
