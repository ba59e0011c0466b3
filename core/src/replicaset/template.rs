//! The template: the pods that a set makes.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::object::lenient::nullable;
use crate::object::validation::is_dns_subdomain;
use crate::object::{Object, OwnerReference, ReplicaSet, Resource};
use crate::request::{JSON, Method, Request};

/// Why a set's pods cannot be asked for at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateFault {
    /// The template has no labels, so no selector would find the pod.
    NoLabels,
    /// The owner reference is incomplete; the field is named.
    Owner(&'static str),
}

impl fmt::Display for TemplateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLabels => f.write_str("unable to create pods, no labels"),
            Self::Owner(field) => write!(f, "controllerRef has {field}"),
        }
    }
}

/// The reference by which a set owns its pods.
///
/// Mirrors apimachinery `pkg/apis/meta/v1/controller_ref.go`, `NewControllerRef`.
pub fn controller_reference(set: &ReplicaSet) -> OwnerReference {
    let resource = set.kind().resource();
    OwnerReference {
        api_version: (*resource.api_version()).into(),
        kind: (*resource.kind).into(),
        name: set.name().into(),
        uid: set.uid(),
        controller: true,
        block_owner_deletion: true,
    }
}

/// The JSON of a pod made from the template of a set: labels, annotations and finalizers of the template, an owner, and the spec, all
/// as they stand in the template. Nothing is checked.
///
/// Mirrors `pkg/controller/controller_utils.go`, `GetPodFromTemplate`, except that fields of the spec that this build does not know are
/// kept.
pub fn pod_from_template(set: &ReplicaSet, owner: Option<&OwnerReference>) -> Vec<u8> {
    let template = template_of(set);
    let pod = PodWire {
        kind: "Pod",
        api_version: "v1",
        metadata: MetadataWire {
            generate_name: name_prefix(set.name()),
            labels: template.metadata.labels,
            annotations: template.metadata.annotations,
            owner_references: owner.map(OwnerWire::from).as_slice().to_vec(),
            finalizers: template.metadata.finalizers,
        },
        spec: template.spec,
        status: StatusWire {},
    };
    serde_json::to_vec(&pod).expect("a struct of texts and JSON has a JSON form")
}

/// The request that creates one pod of a set.
///
/// Mirrors `pkg/controller/controller_utils.go`, `CreatePods` and `validateControllerRef`.
///
/// # Errors
/// The pod would not be the set's.
pub fn create_request(namespace: &str, set: &ReplicaSet, owner: &OwnerReference) -> Result<Request, TemplateFault> {
    for (complete, fault) in [
        (!owner.api_version.is_empty(), "empty APIVersion"),
        (!owner.kind.is_empty(), "empty Kind"),
        (owner.controller, "controller not set to true"),
        (owner.block_owner_deletion, "blockOwnerDeletion not set"),
    ] {
        if !complete {
            return Err(TemplateFault::Owner(fault));
        }
    }
    if set.template_labels().is_empty() {
        return Err(TemplateFault::NoLabels);
    }
    Ok(Request {
        method: Method::Post,
        path: Resource::PODS.collection_path(namespace),
        content_type: JSON,
        body: pod_from_template(set, Some(owner)),
    })
}

/// What the names of a set's pods begin with: its name and a dash, unless that could begin no valid name.
///
/// Mirrors `pkg/controller/controller_utils.go`, `getPodsPrefix`. The check of `pkg/apis/core/validation`, `maskTrailingDash`, puts an `a` for
/// the dash and the character before it.
fn name_prefix(name: &str) -> String {
    let mut masked: String = name.into();
    masked.pop();
    masked.push('a');
    let mut prefix: String = name.into();
    if !name.is_empty() && is_dns_subdomain(&masked) {
        prefix.push('-');
    }
    prefix
}

fn template_of(set: &ReplicaSet) -> TemplateWire<'_> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct SpecWire<'a> {
        #[serde(borrow)]
        template: Option<TemplateWire<'a>>,
    }

    // The spec was read once before, so it is an object and its template is one, or null.
    let spec: SpecWire<'_> = serde_json::from_str(set.raw_spec().get()).unwrap_or_default();
    spec.template.unwrap_or_default()
}

/// A pod template as it stands in JSON.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TemplateWire<'a> {
    #[serde(borrow, deserialize_with = "nullable")]
    metadata: TemplateMetadataWire<'a>,
    #[serde(borrow)]
    spec: Option<&'a RawValue>,
}

/// What a pod takes over from the metadata of its template.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TemplateMetadataWire<'a> {
    #[serde(borrow)]
    labels: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    finalizers: Option<&'a RawValue>,
}

/// A pod to be created, in the order of fields that Go writes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodWire<'a> {
    kind: &'a str,
    api_version: &'a str,
    metadata: MetadataWire<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<&'a RawValue>,
    status: StatusWire,
}

#[derive(Serialize)]
struct StatusWire {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MetadataWire<'a> {
    #[serde(skip_serializing_if = "String::is_empty")]
    generate_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    owner_references: Vec<OwnerWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finalizers: Option<&'a RawValue>,
}

/// An owner reference as it is written.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnerWire<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    uid: String,
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    controller: bool,
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    block_owner_deletion: bool,
}

impl<'a> From<&'a OwnerReference> for OwnerWire<'a> {
    fn from(owner: &'a OwnerReference) -> Self {
        Self {
            api_version: &owner.api_version,
            kind: &owner.kind,
            name: &owner.name,
            uid: String::from(&owner.uid),
            controller: owner.controller,
            block_owner_deletion: owner.block_owner_deletion,
        }
    }
}

#[cfg(test)]
mod tests;
