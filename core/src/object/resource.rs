//! A resource: one collection of the API, and the paths it is served under.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write;

/// Group, version, plural and kind of what a collection of the API holds.
///
/// Mirrors apimachinery's `GroupVersionResource` and `GroupVersionKind`. A resource of the user's own is made with a struct literal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// API version, such as `v1`.
    pub version: Cow<'static, str>,
    /// The name in paths, such as `pods`.
    pub plural: Cow<'static, str>,
    /// The kind of one object, such as `Pod`.
    pub kind: Cow<'static, str>,
}

impl Resource {
    /// `v1` events.
    pub const EVENTS: Self = Self::builtin("", "v1", "events", "Event");
    /// `coordination.k8s.io/v1` leases.
    pub const LEASES: Self = Self::builtin("coordination.k8s.io", "v1", "leases", "Lease");
    /// `v1` pods.
    pub const PODS: Self = Self::builtin("", "v1", "pods", "Pod");
    /// `apps/v1` replicasets.
    pub const REPLICA_SETS: Self = Self::builtin("apps", "v1", "replicasets", "ReplicaSet");
    /// `v1` replicationcontrollers.
    pub const REPLICATION_CONTROLLERS: Self =
        Self::builtin("", "v1", "replicationcontrollers", "ReplicationController");

    const fn builtin(group: &'static str, version: &'static str, plural: &'static str, kind: &'static str) -> Self {
        Self {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            plural: Cow::Borrowed(plural),
            kind: Cow::Borrowed(kind),
        }
    }

    /// The `apiVersion` of the objects: `version`, or `group/version`.
    pub fn api_version(&self) -> Cow<'_, str> {
        if self.group.is_empty() {
            Cow::Borrowed(&self.version)
        } else {
            Cow::Owned(alloc::format!("{}/{}", self.group, self.version))
        }
    }

    /// Whether this is the `apiVersion` of the objects.
    pub(crate) fn is_api_version(&self, text: &str) -> bool {
        let (group, version) = text.split_once('/').unwrap_or(("", text));
        *group == *self.group && *version == *self.version
    }

    /// `plural.group`, or `plural` in the core group, as apimachinery's `GroupResource` prints.
    pub fn group_resource(&self) -> Cow<'_, str> {
        if self.group.is_empty() {
            Cow::Borrowed(&self.plural)
        } else {
            Cow::Owned(alloc::format!("{}.{}", self.plural, self.group))
        }
    }

    /// The path of the collection, in one namespace or, with an empty `namespace`, across all.
    ///
    /// Mirrors API concepts, "Resource URIs".
    pub fn collection_path(&self, namespace: &str) -> String {
        let mut path = String::from(if self.group.is_empty() { "/api/" } else { "/apis/" });
        if !self.group.is_empty() {
            push_segment(&mut path, &self.group);
            path.push('/');
        }
        push_segment(&mut path, &self.version);
        if !namespace.is_empty() {
            path.push_str("/namespaces/");
            push_segment(&mut path, namespace);
        }
        path.push('/');
        push_segment(&mut path, &self.plural);
        path
    }

    /// The path of one object, or with a `subresource` that is not empty of a part of it.
    pub fn object_path(&self, namespace: &str, name: &str, subresource: &str) -> String {
        let mut path = self.collection_path(namespace);
        for segment in [name, subresource] {
            if !segment.is_empty() {
                path.push('/');
                push_segment(&mut path, segment);
            }
        }
        path
    }
}

/// Appends `segment`, percent-encoded but for RFC 3986's unreserved characters and the harmless `:`.
pub(crate) fn push_segment(path: &mut String, segment: &str) {
    for &byte in segment.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            path.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api() {
        assert_eq!(Resource::PODS.collection_path(""), "/api/v1/pods");
        assert_eq!(Resource::PODS.object_path("shop", "web-1", ""), "/api/v1/namespaces/shop/pods/web-1");
        assert_eq!(
            Resource::REPLICA_SETS.object_path("shop", "web", "status"),
            "/apis/apps/v1/namespaces/shop/replicasets/web/status"
        );
        assert_eq!(Resource::REPLICA_SETS.group_resource(), "replicasets.apps");
        for resource in [Resource::PODS, Resource::REPLICA_SETS] {
            assert!(resource.is_api_version(&resource.api_version()));
        }
        assert!(!Resource::PODS.is_api_version("apps/v1") && !Resource::REPLICA_SETS.is_api_version("v1"));
    }

    #[test]
    fn a_hostile_name_stays_one_segment() {
        assert_eq!(Resource::PODS.object_path("a/b", "x?y#z %", ""), "/api/v1/namespaces/a%2Fb/pods/x%3Fy%23z%20%25");
    }
}
