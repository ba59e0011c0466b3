//! One watched collection, and the ways from its changes to the keys of controllers.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::marker::PhantomData;

use super::ControllerId;
use crate::error::Misuse;
use crate::informer::{Change, HandlerId, HandlerOptions, Informer};
use crate::key::Key;
use crate::machine::{Fed, Feed, Input, Output};
use crate::object::Decode;
use crate::request::{CallId, CallIds};
use crate::store::Store;
use crate::time::{Instant, Now};
use crate::workqueue::Priority;

/// Names a watched collection of one [`Controllers`](super::Controllers). Never used again after the watch was removed.
pub struct WatchId<T> {
    pub(super) number: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> WatchId<T> {
    pub(super) fn new(number: u32) -> Self {
        Self { number, of: PhantomData }
    }
}

impl<T> Clone for WatchId<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for WatchId<T> {}

impl<T> fmt::Debug for WatchId<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WatchId({})", self.number)
    }
}

/// All watched collections, by number.
pub(super) type Sources = BTreeMap<u32, Box<dyn Source>>;

/// The caches, as a function sees them that maps objects to keys.
#[derive(Clone, Copy)]
pub struct Caches<'a>(pub(super) &'a Sources);

impl<'a> Caches<'a> {
    /// The store of a collection; none if it is not watched (any more).
    pub fn store<T: Watched>(&self, watch: WatchId<T>) -> Option<&'a Store<T>> {
        self.informer(watch).map(Informer::store)
    }

    pub(super) fn informer<T: Watched>(&self, watch: WatchId<T>) -> Option<&'a Informer<T>> {
        let source: &dyn Any = &**self.0.get(&watch.number)?;
        source.downcast_ref::<Collection<T>>().map(|collection| &collection.fed.informer)
    }
}

impl fmt::Debug for Caches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What can be watched and shared: any object that can be decoded and owns its data.
pub trait Watched: Decode + Send + Sync + 'static {}

impl<T: Decode + Send + Sync + 'static> Watched for T {}

/// Tells which keys an object is the business of.
pub(super) type Map<T> = Box<dyn Fn(&T, Caches<'_>, &mut dyn FnMut(Key)) + Send + Sync>;

/// A collection, whatever it holds.
pub(super) trait Source: Feed + Any + Send + Sync {
    fn has_synced(&self) -> bool;

    /// How many ways lead from here to controllers.
    fn routes(&self) -> usize;

    /// The controller that the n-th way leads to, if there is a change to go it. The change is held until the next call.
    fn next_change(&mut self, route: usize) -> Option<(ControllerId, Priority)>;

    /// Tells the keys that the change in hand is about: of the state before and of the state now.
    fn map_change(&self, route: usize, caches: Caches<'_>, wake: &mut dyn FnMut(Key));

    /// Forgets all ways to a controller.
    fn remove_routes(&mut self, controller: ControllerId);
}

/// A collection of objects of one type.
pub(super) struct Collection<T> {
    pub(super) fed: Fed<T>,
    routes: Vec<Route<T>>,
}

struct Route<T> {
    controller: ControllerId,
    handler: HandlerId,
    map: Map<T>,
    in_hand: Option<Change<T>>,
}

impl<T: Watched> Collection<T> {
    pub(super) fn new(informer: Informer<T>) -> Self {
        Self { fed: Fed::new(informer), routes: Vec::new() }
    }

    /// Adds a way to a controller. What is stored already goes it first.
    pub(super) fn add_route(&mut self, now: Now, controller: ControllerId, options: HandlerOptions<T>, map: Map<T>) {
        let handler = self.fed.informer.add_handler(now, options);
        self.routes.push(Route { controller, handler, map, in_hand: None });
    }
}

impl<T: Watched> Source for Collection<T> {
    fn has_synced(&self) -> bool {
        self.fed.informer.has_synced()
    }

    fn routes(&self) -> usize {
        self.routes.len()
    }

    fn next_change(&mut self, route: usize) -> Option<(ControllerId, Priority)> {
        let route = self.routes.get_mut(route)?;
        route.in_hand = self.fed.informer.poll_change(route.handler).map(|(_, change)| change);
        let priority = match route.in_hand.as_ref()? {
            Change::Add { initial: true, .. } => Priority::Low,
            // A resync: nothing has changed, it is only time to look again.
            Change::Update { old, new } if old.resource_version() == new.resource_version() => Priority::Low,
            _ => Priority::Normal,
        };
        Some((route.controller, priority))
    }

    fn map_change(&self, route: usize, caches: Caches<'_>, wake: &mut dyn FnMut(Key)) {
        let Some(Route { map, in_hand: Some(change), .. }) = self.routes.get(route) else { return };
        if let Change::Update { old, .. } = change {
            map(old, caches, wake);
        }
        if let Some(object) = change.object() {
            map(object, caches, wake);
        }
    }

    fn remove_routes(&mut self, controller: ControllerId) {
        let informer = &mut self.fed.informer;
        self.routes.retain(|route| {
            let stays = route.controller != controller;
            if !stays {
                informer.remove_handler(route.handler);
            }
            stays
        });
    }
}

impl<T: Watched> Feed for Collection<T> {
    fn handle_input(&mut self, now: Now, input: &Input<'_>) -> Result<(), Misuse> {
        self.fed.handle_input(now, input)
    }

    fn poll_output(&mut self, now: Now, ids: &mut CallIds) -> Option<Output> {
        self.fed.poll_output(now, ids)
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.fed.next_deadline()
    }

    fn handle_due(&mut self, now: Now) {
        self.fed.handle_due(now);
    }

    fn stop(&mut self) -> Option<CallId> {
        self.fed.stop()
    }
}
