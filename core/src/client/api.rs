//! A collection, and what can be done with the objects in it.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::fmt;
use core::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::Error;
use super::list::List;
use super::operation::{Operation, write};
use super::options::{DeleteOptions, Deleted, ListOptions, Patch};
use super::scale::Scale;
use super::watch::Watch;
use crate::error::Malformed;
use crate::limits::Limits;
use crate::object::{Decode, Object, Resource};
use crate::request::{APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, Method, Query, Request, STRATEGIC_MERGE_PATCH};

/// The objects of one type: in one namespace, or in all, or without any.
///
/// `T` is any type that can be read ([`Decode`]) and, for what writes whole objects, written (`serde::Serialize`). Objects are written with `apiVersion` and
/// `kind` whether or not `T` has them.
pub struct Api<T> {
    resource: Resource,
    namespace: String,
    field_manager: String,
    of: PhantomData<fn() -> T>,
}

impl<T> Api<T> {
    /// The objects of a resource, in all namespaces or without any.
    pub fn new(resource: Resource) -> Self {
        Self { resource, namespace: String::new(), field_manager: String::new(), of: PhantomData }
    }

    /// The same in one namespace.
    #[must_use]
    pub fn within(&self, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..self.clone() }
    }

    /// The same, with another name for the one who owns what it writes. By default the server takes the beginning of the user agent; an apply needs one.
    #[must_use]
    pub fn with_field_manager(mut self, manager: &str) -> Self {
        self.field_manager = manager.to_owned();
        self
    }

    /// The resource.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// The namespace; empty for all.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Deletes an object.
    pub fn delete(&self, name: &str, options: &DeleteOptions) -> Operation<Deleted<T>>
    where
        T: Decode,
    {
        let request = options.write().and_then(|body| {
            let path = self.object_path(&self.namespace, name, "")?.finish();
            Ok(Request { method: Method::Delete, path, content_type: JSON, body })
        });
        self.operation(request, Deleted::decode)
    }

    /// Changes an object.
    pub fn patch(&self, name: &str, patch: &Patch) -> Operation<T>
    where
        T: Decode,
    {
        self.operation(self.patch_request(name, "", patch), T::decode)
    }

    /// Changes the status of an object, and nothing else of it.
    pub fn patch_status(&self, name: &str, patch: &Patch) -> Operation<T>
    where
        T: Decode,
    {
        self.operation(self.patch_request(name, "status", patch), T::decode)
    }

    /// Asks for an object.
    pub fn get(&self, name: &str) -> Operation<T>
    where
        T: Decode,
    {
        self.operation(self.get_request(name, ""), T::decode)
    }

    /// Asks for a part of an object that has a type of its own, such as `scale`.
    pub fn get_subresource<S: DeserializeOwned>(&self, name: &str, subresource: &str) -> Operation<S> {
        self.operation(self.get_request(name, subresource), |json, _| {
            serde_json::from_slice(json).map_err(|e| Malformed::new("subresource", e))
        })
    }

    /// Asks for the scale of an object.
    pub fn get_scale(&self, name: &str) -> Operation<Scale> {
        self.operation(self.get_request(name, "scale"), Scale::decode)
    }

    /// Sets how many replicas an object should have.
    pub fn set_scale(&self, name: &str, replicas: i32) -> Operation<Scale> {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.operation(self.patch_request(name, "scale", &patch), Scale::decode)
    }

    /// Lists the objects, or a page of them.
    pub fn list(&self, options: &ListOptions) -> Operation<List<T>>
    where
        T: Decode,
    {
        let mut query = self.selection(options).pair_if("continue", &options.continue_token);
        if options.limit > 0 {
            query = query.pair("limit", options.limit);
        }
        self.operation(Ok(Request::get(query.finish())), List::decode)
    }

    /// Watches the objects, without a second try; the server ends it after a while.
    pub fn watch(&self, options: &ListOptions) -> Watch<T> {
        let query = self
            .selection(options)
            .pair("allowWatchBookmarks", true)
            .pair("timeoutSeconds", Limits::default().watch_timeout.as_secs())
            .pair("watch", true);
        Watch::new(Request::get(query.finish()), self.resource.clone())
    }

    /// Creates an object. Where it names no namespace it is created in this one.
    pub fn create(&self, object: &T) -> Operation<T>
    where
        T: Decode + Serialize,
    {
        let request = self.body(object).map(|body| {
            let path = Query::new(self.resource.collection_path(self.namespace_of(object)));
            let path = path.pair_if("fieldManager", &self.field_manager).finish();
            Request { method: Method::Post, path, content_type: JSON, body }
        });
        self.operation(request, T::decode)
    }

    /// Replaces an object as a whole. If `object` has a resource version, only where that is still the one stored.
    pub fn replace(&self, object: &T) -> Operation<T>
    where
        T: Decode + Serialize,
    {
        self.operation(self.replace_request(object, ""), T::decode)
    }

    /// Replaces the status of an object, and nothing else of it. As for [`replace`](Self::replace).
    pub fn replace_status(&self, object: &T) -> Operation<T>
    where
        T: Decode + Serialize,
    {
        self.operation(self.replace_request(object, "status"), T::decode)
    }

    /// Applies an object: its fields are this field manager's, with these values, whether or not the object is there yet. `force` takes fields from other managers.
    pub fn apply(&self, object: &T, force: bool) -> Operation<T>
    where
        T: Decode + Serialize,
    {
        let request = self.value(object).and_then(|object_value| {
            let patch = Patch::Apply { object: object_value, force };
            self.within(self.namespace_of(object)).patch_request(object.name(), "", &patch)
        });
        self.operation(request, T::decode)
    }

    fn operation<A>(&self, request: Result<Request, Error>, read: super::operation::Read<A>) -> Operation<A> {
        Operation::new(request, self.resource.clone(), read)
    }

    fn get_request(&self, name: &str, subresource: &str) -> Result<Request, Error> {
        Ok(Request::get(self.object_path(&self.namespace, name, subresource)?.finish()))
    }

    fn patch_request(&self, name: &str, subresource: &str, patch: &Patch) -> Result<Request, Error> {
        let path = self.object_path(&self.namespace, name, subresource)?;
        let mut path = path.pair_if("fieldManager", &self.field_manager);
        if let Patch::Apply { force: true, .. } = patch {
            path = path.pair("force", true);
        }
        let (content_type, body) = match patch {
            Patch::Apply { object, .. } => (APPLY_PATCH, object),
            Patch::Json(body) => (JSON_PATCH, body),
            Patch::Merge(body) => (MERGE_PATCH, body),
            Patch::Strategic(body) => (STRATEGIC_MERGE_PATCH, body),
        };
        Ok(Request { method: Method::Patch, path: path.finish(), content_type, body: write(body)? })
    }

    fn replace_request(&self, object: &T, subresource: &str) -> Result<Request, Error>
    where
        T: Object + Serialize,
    {
        let path = self.object_path(self.namespace_of(object), object.name(), subresource)?;
        let path = path.pair_if("fieldManager", &self.field_manager).finish();
        Ok(Request { method: Method::Put, path, content_type: JSON, body: self.body(object)? })
    }

    fn namespace_of<'a>(&'a self, object: &'a T) -> &'a str
    where
        T: Object,
    {
        if object.namespace().is_empty() { &self.namespace } else { object.namespace() }
    }

    /// The path of an object. Without a name it would be that of the whole collection.
    fn object_path(&self, namespace: &str, name: &str, subresource: &str) -> Result<Query, Error> {
        if name.is_empty() {
            return Err(Error::Unwritable("the object has no name".to_string()));
        }
        Ok(Query::new(self.resource.object_path(namespace, name, subresource)))
    }

    fn selection(&self, options: &ListOptions) -> Query {
        let query = Query::new(self.resource.collection_path(&self.namespace))
            .pair_if("labelSelector", &options.label_selector)
            .pair_if("fieldSelector", &options.field_selector);
        if options.resource_version.is_none() {
            query
        } else {
            query.pair("resourceVersion", &options.resource_version)
        }
    }

    fn body(&self, object: &T) -> Result<alloc::vec::Vec<u8>, Error>
    where
        T: Serialize,
    {
        write(&self.value(object)?)
    }

    /// The object as JSON, with what kind of object it is.
    fn value(&self, object: &T) -> Result<Value, Error>
    where
        T: Serialize,
    {
        let mut value = serde_json::to_value(object).map_err(|e| Error::Unwritable(e.to_string()))?;
        let Value::Object(fields) = &mut value else {
            return Err(Error::Unwritable("it is written as JSON that is not an object".to_string()));
        };
        for (field, text) in [("apiVersion", self.resource.api_version()), ("kind", (&*self.resource.kind).into())] {
            fields.entry(field).or_insert_with(|| Value::from(text.into_owned()));
        }
        Ok(value)
    }
}

#[cfg(feature = "k8s-openapi")]
impl<T: k8s_openapi::Resource> Api<T> {
    /// The objects of this type, in all namespaces or without any.
    pub fn all() -> Self {
        Self::new(Resource::of::<T>())
    }

    /// The objects of this type in one namespace.
    pub fn in_namespace(namespace: &str) -> Self {
        Self::all().within(namespace)
    }
}

impl<T> Clone for Api<T> {
    fn clone(&self) -> Self {
        Self {
            resource: self.resource.clone(),
            namespace: self.namespace.clone(),
            field_manager: self.field_manager.clone(),
            of: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Api<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource.collection_path(&self.namespace))
    }
}
