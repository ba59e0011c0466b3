//! Leases (`pkg/apis/coordination/validation`).

use crate::error::Cause;
use crate::json;
use crate::store::Obj;

/// The fields of coordinated leader election are dropped: its feature gate is off.
pub(crate) fn drop_disabled(lease: &mut Obj) {
    let spec = json::map_mut(lease, &["spec"]);
    spec.remove("strategy");
    spec.remove("preferredHolder");
}

pub(crate) fn validate(lease: &Obj, causes: &mut Vec<Cause>) {
    if let Some(n) = json::int(lease, &["spec", "leaseDurationSeconds"])
        && n <= 0
    {
        causes.push(Cause::invalid("spec.leaseDurationSeconds", &n.into(), "must be greater than 0"));
    }
    if let Some(n) = json::int(lease, &["spec", "leaseTransitions"])
        && n < 0
    {
        causes.push(Cause::invalid("spec.leaseTransitions", &n.into(), "must be greater than or equal to 0"));
    }
}
