//! The lease: an object that says who leads, and until when others must believe it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use serde_json::{Map, Value, json};

use super::Config;
use crate::error::Malformed;
use crate::object::Resource;
use crate::request::{JSON, Method, Request};
use crate::time::Timestamp;

/// A `coordination.k8s.io/v1` Lease as the server last showed it. What this build does not know of it is kept when it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lease(Value);

impl Lease {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Malformed> {
        let object: Value = serde_json::from_slice(body).map_err(|e| Malformed::new("lease", e))?;
        if object["metadata"]["resourceVersion"].is_string() {
            Ok(Self(object))
        } else {
            Err(Malformed::new("lease", "it has no resourceVersion"))
        }
    }

    /// Who holds it; empty if nobody does.
    pub(super) fn holder(&self) -> &str {
        self.spec("holderIdentity").as_str().unwrap_or_default()
    }

    /// For how long after each renewal it is held. Zero if it does not say.
    pub(super) fn duration(&self) -> Duration {
        Duration::from_secs(self.spec("leaseDurationSeconds").as_u64().unwrap_or(0))
    }

    pub(super) fn transitions(&self) -> i32 {
        self.spec("leaseTransitions").as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or(0)
    }

    /// Whether both say the same about who holds it. A holder that renews changes what it says.
    pub(super) fn is_same_claim(&self, other: &Self) -> bool {
        self.0["spec"] == other.0["spec"]
    }

    pub(super) fn uid(&self) -> &str {
        self.0["metadata"]["uid"].as_str().unwrap_or_default()
    }

    pub(super) fn resource_version(&self) -> &str {
        self.0["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    }

    fn spec(&self, field: &str) -> &Value {
        &self.0["spec"][field]
    }

    /// The claim of a candidate on a lease that is like this.
    ///
    /// Mirrors client-go `tools/leaderelection/leaderelection.go`, `tryAcquireOrRenew`.
    pub(super) fn claim(&self, config: &Config, now: Timestamp) -> Claim {
        let mine = self.holder() == config.identity;
        let acquired = self.spec("acquireTime").as_str().filter(|_| mine);
        Claim {
            acquired: acquired.map_or_else(|| now.to_micro_string(), ToString::to_string),
            transitions: if mine { self.transitions() } else { self.transitions().saturating_add(1) },
            ..Claim::first(config, now)
        }
    }

    /// What gives this lease back.
    ///
    /// Mirrors `LeaderElector.release`.
    pub(super) fn give_back(&self, now: Timestamp) -> Claim {
        let time = now.to_micro_string();
        Claim { holder: None, seconds: 1, acquired: time.clone(), renewed: time, transitions: self.transitions() }
    }

    /// A request that makes the claim, if the lease is still as it was shown.
    pub(super) fn update(&self, config: &Config, claim: &Claim) -> Request {
        let mut object = self.0.clone();
        if !object["spec"].is_object() {
            object["spec"] = Value::Object(Map::new());
        }
        if let Value::Object(spec) = &mut object["spec"] {
            claim.write(spec);
        }
        Request {
            method: Method::Put,
            path: Resource::LEASES.object_path(&config.namespace, &config.name, ""),
            content_type: JSON,
            body: body(&object),
        }
    }
}

/// What a lease is to say.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Claim {
    holder: Option<String>,
    seconds: u64,
    acquired: String,
    renewed: String,
    transitions: i32,
}

impl Claim {
    /// The claim on a lease that is not there yet.
    pub(super) fn first(config: &Config, now: Timestamp) -> Self {
        let time = now.to_micro_string();
        Self {
            holder: Some(config.identity.clone()),
            seconds: config.timing.lease_duration().as_secs(),
            acquired: time.clone(),
            renewed: time,
            transitions: 0,
        }
    }

    /// A request that makes a lease with this claim, if there is none.
    pub(super) fn create(&self, config: &Config) -> Request {
        let mut spec = Map::new();
        self.write(&mut spec);
        let object = json!({
            "apiVersion": Resource::LEASES.api_version(),
            "kind": Resource::LEASES.kind,
            "metadata": {"name": config.name, "namespace": config.namespace},
            "spec": spec,
        });
        Request {
            method: Method::Post,
            path: Resource::LEASES.collection_path(&config.namespace),
            content_type: JSON,
            body: body(&object),
        }
    }

    fn write(&self, spec: &mut Map<String, Value>) {
        match &self.holder {
            Some(holder) => spec.insert("holderIdentity".to_string(), json!(holder)),
            None => spec.remove("holderIdentity"),
        };
        spec.insert("leaseDurationSeconds".to_string(), json!(self.seconds));
        spec.insert("acquireTime".to_string(), json!(self.acquired));
        spec.insert("renewTime".to_string(), json!(self.renewed));
        spec.insert("leaseTransitions".to_string(), json!(self.transitions));
    }
}

fn body(object: &Value) -> Vec<u8> {
    serde_json::to_vec(object).expect("a JSON value has a JSON form")
}
