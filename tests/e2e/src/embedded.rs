//! What a program embeds of an adapter, of both behind one trait, so that one suite tests both.

use std::thread::JoinHandle;

use futures_lite::future::block_on;
use futures_lite::stream::block_on as each;
use sanskube::client::{Error, Event, Operation, Watch};
use sanskube::controller::{self, Cache, Controller, ControllerId, Watched};
use sanskube::informer::Change;
use sanskube::key::Key;
use sanskube::limits::Limits;
use sanskube::object::Decode;
use sanskube::reflector::Config;
use sanskube_blocking::Server;

/// The events of a watch.
pub type Events<T> = Box<dyn Iterator<Item = Result<Event<T>, Error>>>;
/// The changes of a collection.
pub type Changes<T> = Box<dyn Iterator<Item = (Key, Change<T>)> + Send>;

/// An adapter, as a program sees it that embeds it. The methods are those of the adapters.
pub trait Adapter: 'static {
    /// The adapter's client.
    type Client: Clone + Send + Sync + 'static;
    /// The adapter's runner.
    type Runner: Clone + Send + Sync + 'static;

    /// A client of the server at this URL.
    fn client(url: &str) -> Self::Client {
        Self::client_of(Server::new(url))
    }
    /// A client of this server.
    fn client_of(server: Server) -> Self::Client;
    /// `Client::with_limits`
    fn with_limits(client: Self::Client, limits: Limits) -> Self::Client;
    /// `Client::send`
    fn send<A: Send>(client: &Self::Client, operation: Operation<A>) -> Result<A, Error>;
    /// `Client::watch`
    fn events<T: Decode + 'static>(client: &Self::Client, watch: Watch<T>) -> Events<T>;
    /// `Runner::new`
    fn runner(client: &Self::Client) -> Self::Runner;
    /// `Runner::watch`
    fn watch<T: Watched>(runner: &Self::Runner, config: impl Into<Config>) -> Cache<T>;
    /// `Runner::add`
    fn add<T: Watched>(
        runner: &Self::Runner,
        controller: Controller<T>,
        reconcile: impl Fn(Key, Cache<T>, Self::Client) -> controller::Result + Clone + Send + Sync + 'static,
    ) -> ControllerId;
    /// `Runner::remove`
    fn remove(runner: &Self::Runner, controller: ControllerId) -> bool;
    /// `Runner::changes`
    fn changes<T: Watched>(runner: &Self::Runner, cache: &Cache<T>) -> Changes<T>;
    /// `Runner::wait_for_sync`
    fn wait_for_sync(runner: &Self::Runner) -> bool;
    /// `Runner::run`
    fn run(runner: Self::Runner);
    /// `Stopper::stop`
    fn stop(runner: &Self::Runner);
}

/// A runner on a thread of its own. It is stopped when this is dropped.
#[derive(Debug)]
pub struct Running<A: Adapter> {
    /// The runner.
    pub runner: A::Runner,
    thread: Option<JoinHandle<()>>,
}

impl<A: Adapter> Running<A> {
    /// Runs it.
    pub fn start(runner: &A::Runner) -> Self {
        let running = runner.clone();
        Self { runner: runner.clone(), thread: Some(std::thread::spawn(move || A::run(running))) }
    }

    /// Stops it and waits for its end.
    pub fn stop(mut self) {
        A::stop(&self.runner);
        self.thread.take().expect("it is joined once").join().expect("it ends well");
    }
}

impl<A: Adapter> Drop for Running<A> {
    fn drop(&mut self) {
        A::stop(&self.runner);
        if let Some(thread) = self.thread.take() {
            // A test that fails already need not fail twice.
            let _ = thread.join();
        }
    }
}

/// The adapter on threads.
#[derive(Debug)]
pub struct Blocking;

impl Adapter for Blocking {
    type Client = sanskube_blocking::Client;
    type Runner = sanskube_blocking::Runner;

    fn client_of(server: Server) -> Self::Client {
        sanskube_blocking::Client::new(server, 4)
    }

    fn with_limits(client: Self::Client, limits: Limits) -> Self::Client {
        client.with_limits(limits)
    }

    fn send<A: Send>(client: &Self::Client, operation: Operation<A>) -> Result<A, Error> {
        client.send(operation)
    }

    fn events<T: Decode + 'static>(client: &Self::Client, watch: Watch<T>) -> Events<T> {
        Box::new(client.watch(watch))
    }

    fn runner(client: &Self::Client) -> Self::Runner {
        sanskube_blocking::Runner::new(client).expect("threads can be started")
    }

    fn watch<T: Watched>(runner: &Self::Runner, config: impl Into<Config>) -> Cache<T> {
        runner.watch(config)
    }

    fn add<T: Watched>(
        runner: &Self::Runner,
        controller: Controller<T>,
        reconcile: impl Fn(Key, Cache<T>, Self::Client) -> controller::Result + Clone + Send + Sync + 'static,
    ) -> ControllerId {
        runner.add(controller, reconcile).expect("the collection is watched")
    }

    fn remove(runner: &Self::Runner, controller: ControllerId) -> bool {
        runner.remove(controller)
    }

    fn changes<T: Watched>(runner: &Self::Runner, cache: &Cache<T>) -> Changes<T> {
        Box::new(runner.changes(cache).expect("the collection is watched"))
    }

    fn wait_for_sync(runner: &Self::Runner) -> bool {
        runner.wait_for_sync()
    }

    fn run(runner: Self::Runner) {
        runner.run();
    }

    fn stop(runner: &Self::Runner) {
        runner.stopper().stop();
    }
}

/// The adapter on async-io.
#[derive(Debug)]
pub struct Smol;

impl Adapter for Smol {
    type Client = sanskube_smol::Client;
    type Runner = sanskube_smol::Runner;

    fn client_of(server: Server) -> Self::Client {
        sanskube_smol::Client::new(server, 4)
    }

    fn with_limits(client: Self::Client, limits: Limits) -> Self::Client {
        client.with_limits(limits)
    }

    fn send<A: Send>(client: &Self::Client, operation: Operation<A>) -> Result<A, Error> {
        block_on(client.send(operation))
    }

    fn events<T: Decode + 'static>(client: &Self::Client, watch: Watch<T>) -> Events<T> {
        Box::new(each(client.watch(watch)))
    }

    fn runner(client: &Self::Client) -> Self::Runner {
        sanskube_smol::Runner::new(client)
    }

    fn watch<T: Watched>(runner: &Self::Runner, config: impl Into<Config>) -> Cache<T> {
        runner.watch(config)
    }

    fn add<T: Watched>(
        runner: &Self::Runner,
        controller: Controller<T>,
        reconcile: impl Fn(Key, Cache<T>, Self::Client) -> controller::Result + Clone + Send + Sync + 'static,
    ) -> ControllerId {
        // The suite's functions block, which a task must not.
        let reconcile = move |key, cache, client| {
            let reconcile = reconcile.clone();
            blocking::unblock(move || reconcile(key, cache, client))
        };
        runner.add(controller, reconcile).expect("the collection is watched")
    }

    fn remove(runner: &Self::Runner, controller: ControllerId) -> bool {
        runner.remove(controller)
    }

    fn changes<T: Watched>(runner: &Self::Runner, cache: &Cache<T>) -> Changes<T> {
        Box::new(each(runner.changes(cache).expect("the collection is watched")))
    }

    fn wait_for_sync(runner: &Self::Runner) -> bool {
        block_on(runner.wait_for_sync())
    }

    fn run(runner: Self::Runner) {
        block_on(runner.run());
    }

    fn stop(runner: &Self::Runner) {
        runner.stopper().stop();
    }
}

/// Runs each test with both adapters.
#[macro_export]
macro_rules! with_both_adapters {
    ($($test:ident),* $(,)?) => {
        mod blocking {
            $(#[test] fn $test() { super::$test::<$crate::embedded::Blocking>(); })*
        }
        mod smol {
            $(#[test] fn $test() { super::$test::<$crate::embedded::Smol>(); })*
        }
    };
}
