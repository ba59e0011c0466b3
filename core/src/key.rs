//! The key of an object: what stores, queues and handlers know it by.

use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;

use crate::error::{Malformed, Refused};

/// Tells the key of an object, or refuses it; shared, since a queue and the store behind it must agree. The same object must always give the same key.
///
/// Mirrors client-go `tools/cache/store.go`, `KeyFunc`.
pub type KeyFunction<T> = Arc<dyn Fn(&T) -> Result<Key, Refused> + Send + Sync>;

/// The longest key that an API server can make: a namespace is a DNS label, a name a DNS subdomain.
const LONGEST: usize = 63 + 1 + 253;

/// The key of an object in a store and in a work queue: `namespace/name`, or `name` where there is no namespace.
///
/// Cloning is cheap (one shared string). Keys are ordered as text. A key function of the user's own may
/// make keys of any other text; then [`split`](Self::split) may fail.
///
/// Mirrors client-go `tools/cache/store.go` (`MetaNamespaceKeyFunc`, `ExplicitKey`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// The key of the object `name` in `namespace`; an empty namespace is none.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self::known_or_new(namespace, name, |_| None)
    }

    /// The key that is known by its text, or a new one. Costs no allocation if it is known.
    pub(crate) fn known_or_new(namespace: &str, name: &str, known: impl FnOnce(&str) -> Option<Self>) -> Self {
        Self::with_text(namespace, name, |text| known(text).unwrap_or_else(|| Self(text.into())))
    }

    /// Calls `use_text` with the text of the key of the object `name` in `namespace`, without an allocation.
    pub(crate) fn with_text<R>(namespace: &str, name: &str, use_text: impl FnOnce(&str) -> R) -> R {
        if namespace.is_empty() {
            return use_text(name);
        }
        let mut text = heapless::String::<LONGEST>::new();
        match text.push_str(namespace).and_then(|()| text.push('/')).and_then(|()| text.push_str(name)) {
            Ok(()) => use_text(&text),
            // It is longer than any that an API server makes.
            Err(_) => use_text(&[namespace, "/", name].concat()),
        }
    }

    /// A key that is just this text.
    pub fn explicit(text: &str) -> Self {
        Self(text.into())
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Namespace (empty where there is none) and name.
    ///
    /// Mirrors client-go `tools/cache/store.go`, `SplitMetaNamespaceKey`.
    ///
    /// # Errors
    /// The text has more than one slash.
    pub fn split(&self) -> Result<(&str, &str), Malformed> {
        match self.0.split_once('/') {
            None => Ok(("", &self.0)),
            Some((_, name)) if name.contains('/') => {
                Err(Malformed::new("key", format_args!("unexpected key format: {:?}", &*self.0)))
            }
            Some(parts) => Ok(parts),
        }
    }

    /// The part before the first slash; empty where there is none.
    pub fn namespace(&self) -> &str {
        self.slash().map_or("", |slash| &self.0[..slash])
    }

    /// Whether the part before the first slash is this namespace; with an empty one, whether there is none.
    pub(crate) fn is_in(&self, namespace: &str) -> bool {
        match self.0.strip_prefix(namespace) {
            Some(rest) if !namespace.is_empty() => rest.starts_with('/'),
            Some(text) => !text.contains('/'),
            None => false,
        }
    }

    /// The part after the first slash; everything where there is none.
    pub fn name(&self) -> &str {
        self.slash().map_or(&*self.0, |slash| &self.0[slash + 1..])
    }

    fn slash(&self) -> Option<usize> {
        memchr::memchr(b'/', self.0.as_bytes())
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Namespace and name, printed with a slash even where there is no namespace.
///
/// Mirrors apimachinery `pkg/types/namespacedname.go`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName<'a> {
    /// Namespace; empty where there is none.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
}

impl fmt::Display for NamespacedName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_namespace_slash_name() {
        assert_eq!(Key::new("shop", "web").as_str(), "shop/web");
        assert_eq!(Key::new("", "node-1").as_str(), "node-1");
        assert_eq!(Key::new("shop", "web").split(), Ok(("shop", "web")));
        assert_eq!(Key::explicit("node-1").split(), Ok(("", "node-1")));
        assert!(Key::explicit("a/b/c").split().is_err());
    }

    #[test]
    fn a_namespaced_name_always_has_a_slash() {
        use alloc::string::ToString;
        assert_eq!(NamespacedName { namespace: "", name: "node-1" }.to_string(), "/node-1");
        assert_eq!(NamespacedName { namespace: "shop", name: "web" }.to_string(), "shop/web");
    }
}
