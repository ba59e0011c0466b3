//! The scale of an object: how many replicas it has and should have.

use alloc::string::String;

use serde::Deserialize;

use crate::error::Malformed;
use crate::object::Resource;
use crate::object::lenient::{Members, nullable};

/// What the subresource `scale` tells (`autoscaling/v1`, `Scale`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// `spec.replicas`: how many are wanted.
    pub wanted: i32,
    /// `status.replicas`: how many there are.
    pub actual: i32,
    /// `status.selector`: their labels, in the API's syntax.
    pub selector: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire {
    #[serde(deserialize_with = "nullable")]
    spec: Members<Spec>,
    #[serde(deserialize_with = "nullable")]
    status: Members<Status>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(deserialize_with = "nullable")]
    replicas: i32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    #[serde(deserialize_with = "nullable")]
    replicas: i32,
    #[serde(deserialize_with = "nullable")]
    selector: String,
}

impl Scale {
    pub(super) fn decode(json: &[u8], _: &Resource) -> Result<Self, Malformed> {
        let Members(Wire { spec: Members(spec), status: Members(status) }) =
            serde_json::from_slice(json).map_err(|e| Malformed::new("scale", e))?;
        Ok(Self { wanted: spec.replicas, actual: status.replicas, selector: status.selector })
    }
}
