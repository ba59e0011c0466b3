//! An informer of pods with the controller's indexes, fed with bytes as an adapter feeds it.

use sanskube::delta::{InOrderFifo, Queue};
use sanskube::informer::{Change, HandlerId, HandlerOptions, Informer};
use sanskube::key::Key;
use sanskube::object::{Pod, Resource};
use sanskube::reflector::Config;
use sanskube::replicaset::index_pods;
use sanskube::request::{CallId, CallIds, Encoding, Head};
use sanskube::store::Store;
use sanskube::time::Now;

/// How much a socket gives at once.
const PIECE: usize = 64 << 10;

/// The informer, one handler of it, and the call in flight.
pub(crate) struct Fed {
    pub(crate) informer: Informer<Pod>,
    handler: HandlerId,
    ids: CallIds,
    /// What its server writes.
    encoding: Encoding,
    now: Now,
}

const ANSWERED: &str = "the call is in flight";

impl Fed {
    pub(crate) fn new(encoding: Encoding) -> Self {
        let mut store = Store::new();
        index_pods(&mut store);
        let queue = Queue::InOrder(InOrderFifo::new(None, None).with_atomic_lists().with_bookmarks());
        let mut informer = Informer::with_queue(Config { encoding, ..Config::new(Resource::PODS) }, queue, store);
        let now = Now::default();
        let handler = informer.add_handler(now, HandlerOptions::default());
        Self { informer, handler, ids: CallIds::default(), encoding, now }
    }

    /// Waits for what it asks next, and opens the answer.
    pub(crate) fn open(&mut self) -> CallId {
        let call = loop {
            match self.informer.poll_call(self.now, &mut self.ids) {
                Some(call) => break call.id,
                None => self.now = self.now.after(std::time::Duration::from_secs(1)),
            }
        };
        let head = Head { encoding: self.encoding, ..Head::new(200) };
        self.informer.handle_head(self.now, call, head).expect(ANSWERED);
        call
    }

    /// Ends the watch in good order and opens the next one, which is written in this.
    pub(crate) fn reopen(&mut self, encoding: Encoding) -> CallId {
        if let Some(watch) = self.informer.in_flight() {
            // One that is very short and has told nothing is a failure.
            self.now = self.now.after(std::time::Duration::from_secs(2));
            self.end(watch);
        }
        self.encoding = encoding;
        self.open()
    }

    /// A piece of the answer.
    pub(crate) fn body(&mut self, call: CallId, piece: &[u8]) {
        self.informer.handle_body(self.now, call, piece).expect(ANSWERED);
    }

    /// The end of the answer.
    pub(crate) fn end(&mut self, call: CallId) {
        self.informer.handle_end(self.now, call).expect(ANSWERED);
    }

    /// Answers with a whole list.
    pub(crate) fn list(&mut self, list: &[u8]) {
        let call = self.open();
        for piece in list.chunks(PIECE) {
            self.body(call, piece);
        }
        self.end(call);
    }

    /// Ends a watch as too old, so that the next thing that is asked for is a list.
    pub(crate) fn expire(&mut self, watch: CallId) {
        self.body(
            watch,
            b"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}\n",
        );
        assert_eq!(self.informer.poll_cancel(), Some(watch), "a watch that is too old is given up");
    }

    /// The next change that the handler is told of.
    pub(crate) fn change(&mut self) -> Option<(Key, Change<Pod>)> {
        self.informer.poll_change(self.handler)
    }

    /// Takes all changes, and tells how many there were.
    pub(crate) fn drain(&mut self) -> usize {
        std::iter::from_fn(|| self.change()).count()
    }
}
