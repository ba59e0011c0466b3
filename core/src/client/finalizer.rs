//! A finalizer: an object does not go before what it has led to elsewhere is cleaned up.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::Patch;
use crate::resource_version::ResourceVersion;

/// A controller's own finalizer, by its name, such as `example.com/pages`. See Kubernetes' docs, "Finalizers".
///
/// An object that ends is kept by the server as long as it has a finalizer. So a controller that makes something which the garbage collector does
/// not know of adds one before it makes anything, and removes it when all is cleaned up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finalizer(pub &'static str);

/// What is to be done about an object that is to have a finalizer. The patches fail with a conflict if the object has changed since, so that
/// nobody else's finalizer is lost; what fails is looked at again.
#[derive(Clone, Debug, PartialEq)]
pub enum Finalizing {
    /// Nothing is to be made before this patch was sent. It changes the object, which is then looked at again.
    Add(Patch),
    /// The object ends. All is to be cleaned up, and then this patch lets it go.
    CleanUp(Patch),
    /// The object ends, and waits for others if for anybody.
    Ended,
    /// The object is there to stay, and so is the finalizer.
    Live,
}

impl Finalizer {
    /// What is to be done about an object with this metadata.
    #[cfg(feature = "k8s-openapi")]
    pub fn of(self, metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> Finalizing {
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        let version = ResourceVersion::new(metadata.resource_version.as_deref().unwrap_or_default());
        self.of_parts(metadata.deletion_timestamp.is_some(), finalizers, &version)
    }

    /// What is to be done about an object that ends or does not, has these finalizers, and has this version.
    pub fn of_parts<S: AsRef<str>>(self, ends: bool, finalizers: &[S], version: &ResourceVersion) -> Finalizing {
        let Self(name) = self;
        let is_there = finalizers.iter().any(|finalizer| finalizer.as_ref() == name);
        let others = finalizers.iter().map(AsRef::as_ref).filter(|finalizer| *finalizer != name);
        match (ends, is_there) {
            // Nobody may add a finalizer to an object that ends.
            (true, false) => Finalizing::Ended,
            (true, true) => Finalizing::CleanUp(patch(others, version)),
            (false, false) => Finalizing::Add(patch(others.chain([name]), version)),
            (false, true) => Finalizing::Live,
        }
    }
}

/// Sets the finalizers of an object that still has this version.
fn patch<'a>(finalizers: impl Iterator<Item = &'a str>, version: &ResourceVersion) -> Patch {
    let finalizers: Vec<Value> = finalizers.map(|name| name.into()).collect();
    Patch::Merge(json!({"metadata": {"finalizers": finalizers, "resourceVersion": version.to_string()}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Finalizer = Finalizer("example.com/pages");

    fn is(ends: bool, finalizers: &[&str]) -> Finalizing {
        OURS.of_parts(ends, finalizers, &ResourceVersion::new("7"))
    }

    fn set(finalizers: &[&str]) -> Patch {
        Patch::Merge(json!({"metadata": {"finalizers": finalizers, "resourceVersion": "7"}}))
    }

    #[test]
    fn a_finalizer_comes_before_everything_and_goes_after_the_cleaning_up() {
        assert_eq!(is(false, &[]), Finalizing::Add(set(&["example.com/pages"])));
        assert_eq!(is(false, &["example.com/pages"]), Finalizing::Live);
        assert_eq!(is(true, &["example.com/pages"]), Finalizing::CleanUp(set(&[])));
        assert_eq!(is(true, &[]), Finalizing::Ended);
    }

    #[test]
    fn the_finalizers_of_others_stay_where_they_are() {
        assert_eq!(is(false, &["a/b"]), Finalizing::Add(set(&["a/b", "example.com/pages"])));
        assert_eq!(is(true, &["a/b", "example.com/pages", "c/d"]), Finalizing::CleanUp(set(&["a/b", "c/d"])));
        assert_eq!(is(true, &["a/b"]), Finalizing::Ended);
    }

    #[cfg(feature = "k8s-openapi")]
    #[test]
    fn metadata_says_whether_its_object_ends() {
        use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
        let read = |json: Value| OURS.of(&serde_json::from_value::<ObjectMeta>(json).unwrap());
        let live = json!({"finalizers": ["example.com/pages"], "resourceVersion": "7"});
        assert_eq!(read(live.clone()), Finalizing::Live);
        let mut ending = live;
        ending["deletionTimestamp"] = "2026-03-14T09:26:53Z".into();
        assert_eq!(read(ending), Finalizing::CleanUp(set(&[])));
        assert_eq!(read(json!({"resourceVersion": "7"})), Finalizing::Add(set(&["example.com/pages"])));
    }
}
