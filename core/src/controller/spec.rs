//! A controller as its author describes it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::{Any, TypeId};
use core::fmt;
use core::time::Duration;

use super::source::{Caches, Collection, Map, Source, WatchId, Watched};
use super::{ControllerId, Worker};
use crate::informer::HandlerOptions;
use crate::key::Key;
use crate::object::{Controlled, Object};
use crate::time::Now;

/// Describes a controller: which collection it reconciles, and what else its objects depend on.
///
/// Mirrors controller-runtime's builder (`For`, `Owns`, `Watches`) where client-go leaves the wiring to each controller.
#[must_use]
pub struct Controller<T> {
    name: String,
    primary: WatchId<T>,
    concurrency: usize,
    resync: Option<Duration>,
    routes: Vec<Attach>,
}

/// Joins one collection to a controller.
struct Attach {
    watch: u32,
    of: TypeId,
    join: Box<Join>,
}

/// Adds the way from a collection to a controller that is resynced so often.
type Join = dyn FnOnce(&mut dyn Any, ControllerId, Now, Option<Duration>) + Send;

impl<T: Watched> Controller<T> {
    /// A controller that reconciles the objects of `primary`, one at a time. `name` is for the log.
    pub fn new(name: impl Into<String>, primary: WatchId<T>) -> Self {
        let controller = Self { name: name.into(), primary, concurrency: 1, resync: None, routes: Vec::new() };
        controller.watches(primary, |object, _, wake| wake(object.key()))
    }

    /// How many keys are reconciled at once, at least one. A key is never reconciled twice at once.
    pub fn concurrency(mut self, keys: usize) -> Self {
        self.concurrency = keys.max(1);
        self
    }

    /// How often every object is looked at again although nothing has changed; zero for never. See [`HandlerOptions::resync`].
    pub fn resync(mut self, period: Duration) -> Self {
        self.resync = Some(period);
        self
    }

    /// Also reconciles an object when something changes that it controls. An object whose controller is not in the cache with the uid of the reference wakes nobody.
    ///
    /// Mirrors `pkg/controller/replicaset/replica_set.go`, `resolveControllerRef`.
    pub fn owns<U: Watched + Controlled>(self, watch: WatchId<U>) -> Self {
        let primary = self.primary;
        self.watches(watch, move |object: &U, caches, wake| {
            if let Some(key) = owner(object, primary, caches) {
                wake(key);
            }
        })
    }

    /// Also reconciles the keys that `map` tells when an object of another collection changes. It is asked about the state before and about the state now, and must not block.
    pub fn watches<U: Watched>(
        mut self,
        watch: WatchId<U>,
        map: impl Fn(&U, Caches<'_>, &mut dyn FnMut(Key)) + Send + Sync + 'static,
    ) -> Self {
        let map: Map<U> = Box::new(map);
        let join = move |source: &mut dyn Any, controller: ControllerId, now: Now, resync: Option<Duration>| {
            if let Some(collection) = source.downcast_mut::<Collection<U>>() {
                collection.add_route(now, controller, HandlerOptions { resync, filter: None }, map);
            }
        };
        self.routes.push(Attach { watch: watch.number, of: TypeId::of::<Collection<U>>(), join: Box::new(join) });
        self
    }

    /// The collection that it reconciles.
    pub fn primary(&self) -> WatchId<T> {
        self.primary
    }

    /// Joins the controller to its collections. None, and nothing is changed, if one of them is not watched.
    pub(super) fn join(self, now: Now, id: ControllerId, sources: &mut super::source::Sources) -> Option<Worker> {
        let is_there = |attach: &Attach| {
            sources.get(&attach.watch).is_some_and(|source| {
                let source: &dyn Any = &**source;
                source.type_id() == attach.of
            })
        };
        if !self.routes.iter().all(is_there) {
            return None;
        }
        let watches = self.routes.iter().map(|attach| attach.watch).collect();
        for (nth, attach) in self.routes.into_iter().enumerate() {
            let source: &mut dyn Source = &mut **sources.get_mut(&attach.watch)?;
            // Only the objects that are reconciled are looked at again; what they depend on comes with them.
            let resync = if nth == 0 { self.resync } else { Some(Duration::ZERO) };
            (attach.join)(source, id, now, resync);
        }
        Some(Worker::new(id, self.name, self.concurrency, watches))
    }
}

impl<T> fmt::Debug for Controller<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("primary", &self.primary)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

/// The key of the object of `primary` that controls this one, if it is cached.
fn owner<T: Watched>(object: &impl Controlled, primary: WatchId<T>, caches: Caches<'_>) -> Option<Key> {
    let reference = object.controller()?;
    let informer = caches.informer(primary)?;
    let resource = informer.resource();
    if resource.kind != reference.kind || resource.group != reference.group() {
        return None;
    }
    // An owner lives in the same namespace or in none.
    let keys = [Key::new(object.namespace(), reference.name), Key::new("", reference.name)];
    keys.into_iter()
        .find(|key| informer.store().get(key.as_str()).is_some_and(|owner| Object::uid(&**owner) == reference.uid))
}
