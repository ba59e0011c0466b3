//! The types of the `k8s-openapi` crate as objects.

use alloc::borrow::Cow;

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Object, Resource};
use crate::resource_version::ResourceVersion;
use crate::uid::Uid;

impl<T: Metadata<Ty = ObjectMeta> + PartialEq> Object for T {
    fn namespace(&self) -> &str {
        self.metadata().namespace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.metadata().name.as_deref().unwrap_or_default()
    }

    fn uid(&self) -> Uid {
        Uid::new(self.metadata().uid.as_deref().unwrap_or_default())
    }

    fn resource_version(&self) -> ResourceVersion {
        ResourceVersion::new(self.metadata().resource_version.as_deref().unwrap_or_default())
    }

    fn is_same(&self, other: &Self) -> bool {
        self == other
    }
}

impl Resource {
    /// The resource of which `T` is one object.
    pub const fn of<T: k8s_openapi::Resource>() -> Self {
        Self {
            group: Cow::Borrowed(T::GROUP),
            version: Cow::Borrowed(T::VERSION),
            plural: Cow::Borrowed(T::URL_PATH_SEGMENT),
            kind: Cow::Borrowed(T::KIND),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use k8s_openapi::api::core::v1::{ConfigMap, Node};

    use super::*;
    use crate::object::Decode;

    #[test]
    fn types_of_k8s_openapi_are_objects() {
        let json = br#"{"metadata":{"namespace":"shop","name":"a","uid":"u","resourceVersion":"5"},"data":{"k":"v"}}"#;
        let map = ConfigMap::decode(json, &Resource::of::<ConfigMap>()).unwrap();
        assert_eq!((map.key().as_str(), map.uid(), map.resource_version()), ("shop/a", "u".into(), "5".into()));
        let node = Node::decode(br#"{"metadata":{"name":"n"}}"#, &Resource::of::<Node>()).unwrap();
        assert_eq!((node.key().as_str(), node.uid(), node.resource_version()), ("n", "".into(), "".into()));
    }

    #[test]
    fn the_resource_of_a_type_is_the_one_its_objects_are_served_under() {
        assert_eq!(Resource::of::<ReplicaSet>(), Resource::REPLICA_SETS);
    }

    #[test]
    fn an_object_of_another_kind_is_malformed() {
        let json = br#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}"#;
        assert!(ConfigMap::decode(json, &Resource::of::<ConfigMap>()).is_err());
    }
}
