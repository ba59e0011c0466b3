//! The runner: controllers of the user's own, their caches, and the tasks that reconcile.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher as _, Hasher as _};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_executor::Executor;
use event_listener::Event;
use futures_lite::FutureExt as _;
use sanskube::controller::{self, Cache, Controller, ControllerId, Controllers, Shared, WatchId, Watched, Work};
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
use crate::driver::{Driver, Stopper, Waker};

/// A reconciliation under way.
type Reconciling = Pin<Box<dyn Future<Output = controller::Result> + Send>>;
/// Begins one.
type Reconcile = Arc<dyn Fn(Key) -> Reconciling + Send + Sync>;

/// Watches collections and runs controllers over them, any number of both; both join and leave at any time.
///
/// A runner is a handle: clones are the same runner. One of them must be [run](Self::run).
#[derive(Clone)]
pub struct Runner {
    shared: Shared,
    client: Client,
    reconcile: Arc<Mutex<HashMap<ControllerId, Reconcile>>>,
    /// Notified whenever the machine has come to rest.
    rested: Arc<Event>,
    driver: Arc<Mutex<Option<Driver>>>,
    stopper: Stopper,
    waker: Waker,
    clock: Clock,
}

impl Runner {
    /// A runner that watches nothing yet, over the server and the connections of a client.
    pub fn new(client: &Client) -> Self {
        // What the standard library draws for its hash maps is random enough to tell two processes apart.
        let seed = RandomState::new().build_hasher().finish();
        let driver = Driver::of_client(client);
        Self {
            shared: Shared::new(Controllers::new(Limits::default(), seed)),
            client: client.clone(),
            reconcile: Arc::default(),
            rested: Arc::new(Event::new()),
            stopper: driver.stopper(),
            waker: driver.waker(),
            clock: driver.clock(),
            driver: Arc::new(Mutex::new(Some(driver))),
        }
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
    /// to where the object says it should be. It is called for each object at first, and when something has changed, at most
    /// once at a time for each key and [`Controller::concurrency`] times in all.
    ///
    /// # Errors
    /// A collection that the controller depends on is not watched ([`Misuse::NotWatched`]).
    pub fn add<T: Watched, F>(
        &self,
        controller: Controller<T>,
        reconcile: impl Fn(Key, Cache<T>, Client) -> F + Send + Sync + 'static,
    ) -> Result<ControllerId, Misuse>
    where
        F: Future<Output = controller::Result> + Send + 'static,
    {
        let (cache, client) = (self.shared.cache(controller.primary()), self.client.clone());
        let reconcile: Reconcile = Arc::new(move |key| Box::pin(reconcile(key, cache.clone(), client.clone())));
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

    /// The changes of a collection, from its first list on, as a stream that ends when the runner does.
    ///
    /// A stream that is not read fast enough tells of an object's latest change only, so that what waits is bounded.
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
        Ok(Changes::new(self.shared.clone(), self.rested.clone(), watch, handler))
    }

    /// Waits until the first lists of all collections are in their caches. `false` if the runner stopped before.
    pub async fn wait_for_sync(&self) -> bool {
        loop {
            let rest = self.rested.listen();
            let (synced, stopping) = self.shared.read(|machine| (machine.all_synced(), machine.is_stopping()));
            if synced || stopping {
                return synced;
            }
            rest.await;
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
    /// Everything happens inside this future, on whatever executor polls it; dropping it drops its connections and the
    /// reconciliations under way.
    ///
    /// # Panics
    /// It was run before, by this handle or another.
    pub async fn run(self) {
        let driver = lock(&self.driver).take().expect("a runner is run once");
        let executor = driver.executor();
        let clock = self.clock;
        let _at_end = AtEnd(&self);
        let mut machine = self.shared.clone();
        let weak = Arc::downgrade(&executor);
        drop(executor);
        driver
            .run(&mut machine, |machine, _| {
                while let Some(work) = machine.write(|machine| machine.poll_key(clock.now())) {
                    if let Some(executor) = weak.upgrade() {
                        self.begin(&executor, work);
                    }
                }
                self.rested.notify(usize::MAX);
            })
            .await;
    }

    /// Runs until `stop` is ready, and then until what was begun has come to its end.
    pub async fn run_until(self, stop: impl Future<Output = ()>) {
        let stopper = self.stopper();
        let running = self.run();
        let stopping = async {
            stop.await;
            stopper.stop();
            futures_lite::future::pending::<()>().await;
        };
        futures_lite::future::or(running, stopping).await;
    }

    /// Begins to reconcile a key.
    fn begin(&self, executor: &Executor<'static>, work: Work) {
        let Some(reconcile) = self.functions().get(&work.controller).cloned() else {
            // The controller has left since.
            self.shared.write(|machine| {
                machine.handle_result(self.clock.now(), &work, Ok::<_, Misuse>(controller::When::Changed))
            });
            return;
        };
        let report = Report { runner: self.clone(), work: Some(work.clone()) };
        // What a panic leaves behind half done is the user's own.
        let reconciling = AssertUnwindSafe(async move { reconcile(work.key).await }).catch_unwind();
        let reconciling = async move {
            let result = reconciling.await.unwrap_or_else(|_| Err("the reconciliation panicked".into()));
            report.hand_in(result);
        };
        executor.spawn(reconciling).detach();
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
        // A runner that was dropped did not stop in order.
        self.0.shared.write(Controllers::abandon);
        self.0.rested.notify(usize::MAX);
    }
}

/// Owes the machine a result, even where the reconciliation is dropped.
struct Report {
    runner: Runner,
    work: Option<Work>,
}

impl Report {
    fn hand_in(mut self, result: controller::Result) {
        if let Some(work) = self.work.take() {
            self.runner.change(|machine, now| machine.handle_result(now, &work, result));
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.runner.change(|machine, now| machine.handle_result(now, &work, Err("it was given up")));
        }
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
