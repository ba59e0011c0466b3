//! Options of writes: `dryRun`, `fieldManager`, `fieldValidation` and `force`
//! (apimachinery `pkg/apis/meta/v1/validation`).

use crate::context::Context;
use crate::error::{ApiError, Cause};

/// Checks `dryRun`, `fieldManager` and `fieldValidation`.
pub(crate) fn validate_options(cx: &Context<'_>, options: &str) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    let apply = is_apply(cx);
    if options == "PatchOptions" {
        if !apply && cx.query.get("force").is_some() {
            causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        if apply && cx.query.text("fieldManager").is_empty() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
    }
    let manager = cx.query.text("fieldManager");
    if manager.len() > 128 {
        causes.push(Cause::too_long("fieldManager", 128));
    }
    if let Some((at, _)) = manager.char_indices().find(|(_, c)| c.is_control()) {
        let detail = format!("should only contain printable characters (invalid character at position {at})");
        causes.push(Cause::invalid("fieldManager", &manager.into(), &detail));
    }
    let dry_run = cx.query.all("dryRun");
    validate_dry_run(&dry_run, &mut causes);
    let validation = cx.query.text("fieldValidation");
    if !["", "Ignore", "Warn", "Strict"].contains(&validation) {
        causes.push(Cause::not_supported("fieldValidation", validation, &["", "Ignore", "Strict", "Warn"]));
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid("meta.k8s.io", options, "", &causes)) }
}

/// The only dry run there is is `All`.
pub(crate) fn validate_dry_run(values: &[&str], causes: &mut Vec<Cause>) {
    if !values.iter().all(|v| *v == "All") {
        let list = serde_json::to_string(values).unwrap_or_default();
        causes.push(Cause::not_supported_json("dryRun", &list, &["All"]));
    }
}

fn is_apply(cx: &Context<'_>) -> bool {
    let content = cx.request.header("content-type").unwrap_or_default();
    cx.request.method == "PATCH" && content.starts_with("application/apply-patch+yaml")
}
