//! The runner: controllers of the user's own, their caches, and the threads that reconcile.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sanskube::controller::{self, Cache, Controller, ControllerId, Controllers, Shared, WatchId, Watched, When, Work};
use sanskube::error::Misuse;
use sanskube::informer::{HandlerOptions, Informer};
use sanskube::key::Key;
use sanskube::limits::Limits;
use sanskube::recorder;
use sanskube::reflector::Config;
use sanskube::time::Now;
use sanskube_access::Clock;

use crate::changes::Changes;
use crate::client::Client;
use crate::crew::Crew;
use crate::driver::{Driver, Stopper, Waker};
use crate::rest::Rests;

/// How many lists, and events that are written, are in flight at once.
const SHORT_CALLS: usize = 4;

/// Reconciles a key.
type Reconcile = Arc<dyn Fn(Key) -> controller::Result + Send + Sync>;

/// Watches collections and runs controllers over them, any number of both; both join and leave at any time.
///
/// A runner is a handle: clones are the same runner. One of them must be [run](Self::run).
#[derive(Clone)]
pub struct Runner {
    shared: Shared,
    client: Client,
    reconcile: Arc<Mutex<HashMap<ControllerId, Reconcile>>>,
    /// Counts whenever the machine has come to rest.
    rests: Arc<Rests>,
    driver: Arc<Mutex<Option<Driver>>>,
    stopper: Stopper,
    waker: Waker,
    clock: Clock,
}

impl Runner {
    /// A runner that watches nothing yet, over the server of a client.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn new(client: &Client) -> io::Result<Self> {
        // What the standard library draws for its hash maps is random enough to tell two processes apart.
        let seed = RandomState::new().build_hasher().finish();
        let driver = Driver::new(client.pool.server.clone(), SHORT_CALLS)?;
        Ok(Self {
            shared: Shared::new(Controllers::new(Limits::default(), seed)),
            client: client.clone(),
            reconcile: Arc::default(),
            rests: Arc::default(),
            stopper: driver.stopper(),
            waker: driver.waker(),
            clock: driver.clock(),
            driver: Arc::new(Mutex::new(Some(driver))),
        })
    }

    /// Watches a collection, for as many controllers and readers as like, and returns its cache.
    pub fn watch<T: Watched>(&self, config: impl Into<Config>) -> Cache<T> {
        self.watch_with(Informer::new(config.into()))
    }

    /// Watches a collection with an informer of one's own: with another queue, a transformation, indexes.
    pub fn watch_with<T: Watched>(&self, informer: Informer<T>) -> Cache<T> {
        let watch = self.change(|machine, _| machine.watch_with(informer));
        self.shared.cache(watch)
    }

    /// Stops watching a collection; its caches are empty from now on.
    ///
    /// # Errors
    /// It is not watched ([`Misuse::NotWatched`]), or a controller depends on it ([`Misuse::InUse`]).
    pub fn remove_watch<T: Watched>(&self, cache: &Cache<T>) -> Result<(), Misuse> {
        self.change(|machine, _| machine.remove_watch(cache.watch()))
    }

    /// Adds a controller. `reconcile` is given the key of an object of the controller's collection, the cache of that collection, and a client, and brings the world
    /// to where the object says it should be. It is called for each object at first, and when something has changed, on a thread of its own, at most
    /// once at a time for each key and [`Controller::concurrency`] times in all.
    ///
    /// # Errors
    /// A collection that the controller depends on is not watched ([`Misuse::NotWatched`]).
    pub fn add<T: Watched>(
        &self,
        controller: Controller<T>,
        reconcile: impl Fn(Key, Cache<T>, Client) -> controller::Result + Send + Sync + 'static,
    ) -> Result<ControllerId, Misuse> {
        let (cache, client) = (self.shared.cache(controller.primary()), self.client.clone());
        let reconcile: Reconcile = Arc::new(move |key| reconcile(key, cache.clone(), client.clone()));
        // No key is handed out before its function is there.
        let mut functions = self.functions();
        let id = self.change(|machine, now| machine.add(now, controller))?;
        functions.insert(id, reconcile);
        Ok(id)
    }

    /// Lets a controller leave. What it is at comes to its end, and nothing new is begun. Returns whether it was there.
    pub fn remove(&self, controller: ControllerId) -> bool {
        self.functions().remove(&controller);
        self.change(|machine, now| machine.remove(now, controller))
    }

    /// The changes of a collection, from its first list on, as an iterator that waits for the next and ends when the runner does.
    ///
    /// One that is not read fast enough tells of an object's latest change only, so that what waits is bounded.
    ///
    /// # Errors
    /// The collection is not watched ([`Misuse::NotWatched`]).
    pub fn changes<T: Watched>(&self, cache: &Cache<T>) -> Result<Changes<T>, Misuse> {
        self.changes_with(cache.watch(), HandlerOptions::default())
    }

    /// As [`changes`](Self::changes), of some objects only, or with a resync.
    ///
    /// # Errors
    /// The collection is not watched ([`Misuse::NotWatched`]).
    pub fn changes_with<T: Watched>(
        &self,
        watch: WatchId<T>,
        options: HandlerOptions<T>,
    ) -> Result<Changes<T>, Misuse> {
        let handler = self.change(|machine, now| machine.add_handler(now, watch, options))?;
        Ok(Changes::new(self.shared.clone(), self.rests.clone(), watch, handler))
    }

    /// Waits until the first lists of all collections are in their caches. `false` if the runner stopped before.
    pub fn wait_for_sync(&self) -> bool {
        loop {
            let seen = self.rests.count();
            let (synced, stopping) = self.shared.read(|machine| (machine.all_synced(), machine.is_stopping()));
            if synced || stopping {
                return synced;
            }
            self.rests.wait(seen);
        }
    }

    /// Records an event about an object; it is written as soon as may be, like events of it counted together.
    pub fn record(&self, event: recorder::Event) {
        self.change(|machine, now| machine.record(now, event));
    }

    /// The client that reconciliations are given.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A handle that stops the runner.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Runs until it is [stopped](Self::stopper). Then no key is handed out any more, and what is being reconciled comes to its end.
    ///
    /// # Panics
    /// It was run before, by this handle or another.
    pub fn run(self) {
        let driver = lock(&self.driver).take().expect("a runner is run once");
        let _at_end = AtEnd(&self);
        let mut crew = Crew::new();
        let mut machine = self.shared.clone();
        driver.run(&mut machine, |machine, _| {
            while let Some(work) = machine.write(|machine| machine.poll_key(self.clock.now())) {
                let runner = self.clone();
                if let Err(e) = crew.work(move || runner.reconcile(&work)) {
                    log::error!("no thread to reconcile with: {e}");
                }
            }
            self.rests.notify();
        });
    }

    fn reconcile(&self, work: &Work) {
        let function = self.functions().get(&work.controller).cloned();
        let result = match function {
            // The controller has left since.
            None => Ok(When::Changed),
            // What it leaves behind half done is the user's own.
            Some(reconcile) => catch_unwind(AssertUnwindSafe(|| reconcile(work.key.clone())))
                .unwrap_or_else(|_| Err("the reconciliation panicked".into())),
        };
        self.change(|machine, now| machine.handle_result(now, work, result));
    }

    /// Changes the machine and lets its driver see what comes of it.
    fn change<R>(&self, change: impl FnOnce(&mut Controllers, Now) -> R) -> R {
        let result = self.shared.write(|machine| change(machine, self.clock.now()));
        self.waker.wake();
        result
    }

    fn functions(&self) -> MutexGuard<'_, HashMap<ControllerId, Reconcile>> {
        lock(&self.reconcile)
    }
}

/// Wakes everybody who waits when nothing will come any more.
struct AtEnd<'a>(&'a Runner);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.shared.write(Controllers::abandon);
        self.0.rests.notify();
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("machine", &self.shared).finish_non_exhaustive()
    }
}

/// Nothing can panic while one of these locks is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
