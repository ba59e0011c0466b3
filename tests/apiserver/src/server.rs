//! The state machine and its front door: who asks, for what, and who answers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::config::Config;
use crate::context::{Answer, Context, add_warnings, refusal};
use crate::controllers::Controllers;
use crate::discovery;
use crate::error::ApiError;
use crate::faults::{Failure, Faults, Verdict};
use crate::kind::{Kind, Kinds, NAMESPACES, Sub, TABLES};
use crate::media::{self, Media, Shape};
use crate::object::build;
use crate::request::{Query, Request, Response, Route};
use crate::store::{Key, Obj, Object, Store};
use crate::time::Now;
use crate::watch::{Watch, WatchId};
use crate::{json, render};

/// Bytes of a request's body, at most.
pub(crate) const MAX_BODY: usize = 3 * 1024 * 1024;

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    /// A complete response.
    Response(Response),
    /// A complete response, to be sent at a later (monotonic) time.
    Delayed {
        /// When to send it.
        at: Duration,
        /// What to send.
        response: Response,
    },
    /// The connection closes without an answer (a fault rule says so).
    Hangup,
    /// An open watch: the response has this head, and its body comes from [`ApiServer::poll_watch`].
    Watch {
        /// The watch.
        id: WatchId,
        /// Status and headers; the body is empty.
        head: Response,
    },
}

impl Reply {
    /// The response, if the request was answered at once.
    #[must_use]
    pub fn response(self) -> Option<Response> {
        match self {
            Self::Response(response) => Some(response),
            Self::Delayed { .. } | Self::Hangup | Self::Watch { .. } => None,
        }
    }
}

/// Counters, for tests and summaries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests answered, watches included.
    pub requests: u64,
    /// Watches opened.
    pub watches: u64,
    /// Writes that took effect.
    pub writes: u64,
}

/// An in-memory Kubernetes API server.
///
/// Deterministic: the same calls with the same times give the same answers.
#[derive(Debug)]
pub struct ApiServer {
    pub(crate) config: Config,
    pub(crate) kinds: Arc<Kinds>,
    pub(crate) store: Store,
    pub(crate) watches: BTreeMap<WatchId, Watch>,
    pub(crate) next_watch: u64,
    /// The watches of each table.
    pub(crate) watchers: Vec<Vec<WatchId>>,
    /// When each watch has something to do by itself.
    pub(crate) deadlines: BTreeSet<(Duration, WatchId)>,
    pub(crate) ready: VecDeque<WatchId>,
    pub(crate) controllers: Controllers,
    /// Compactions that the list cache does not know of yet: when it will, and of which version.
    compactions: VecDeque<(Duration, u64)>,
    pub(crate) faults: Faults,
    pub(crate) stats: Stats,
    pub(crate) rng: u64,
}

impl ApiServer {
    /// A server with the namespaces every cluster has, and nothing else.
    #[must_use]
    pub fn new(config: Config, now: Now) -> Self {
        let store = Store::new(TABLES, config.first_version, config.history);
        let mut server = Self {
            rng: config.seed,
            config,
            kinds: Kinds::built_in(),
            store,
            watches: BTreeMap::new(),
            next_watch: 1,
            watchers: vec![Vec::new(); TABLES],
            deadlines: BTreeSet::new(),
            ready: VecDeque::new(),
            controllers: Controllers::default(),
            compactions: VecDeque::new(),
            faults: Faults::default(),
            stats: Stats::default(),
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            server.create_namespace(name, now);
        }
        server.store.forget_watches();
        server.stats = Stats::default();
        server
    }

    fn create_namespace(&mut self, name: &str, now: Now) {
        let body = json!({ "metadata": { "name": name } }).to_string();
        let request = Request::new("POST", "/api/v1/namespaces")
            .with_header("user-agent", "kube-apiserver/v1.36")
            .with_body("application/json", body);
        drop(self.handle_unguarded(now, &request));
    }

    /// Answers a request.
    ///
    /// Work is bounded by the size of what is read or written: one object, or the objects of a list.
    pub fn handle_request(&mut self, now: Now, request: &Request) -> Reply {
        self.advance(now);
        self.stats.requests += 1;
        match self.faults.judge(request) {
            Verdict::Pass => self.guard(now, request),
            Verdict::Instead(response) => Reply::Response(response),
            Verdict::After(response) => {
                self.take_effect(now, request);
                Reply::Response(response)
            }
            Verdict::HangupAfter => {
                self.take_effect(now, request);
                Reply::Hangup
            }
            Verdict::Hangup => Reply::Hangup,
        }
    }

    /// Handles a request whose answer nobody will see.
    fn take_effect(&mut self, now: Now, request: &Request) {
        if let Reply::Watch { id, .. } = self.guard(now, request) {
            self.drop_watch(id);
        }
    }

    fn guard(&mut self, now: Now, request: &Request) -> Reply {
        match self.refuse(request) {
            Some(error) => Reply::Response(refusal(&error, Media::JSON, &[])),
            None => self.handle_unguarded(now, request),
        }
    }

    /// Authentication and authorization.
    fn refuse(&self, request: &Request) -> Option<ApiError> {
        if self.config.tokens.is_empty() {
            return None;
        }
        let bearer = request.header("authorization").and_then(|v| v.strip_prefix("Bearer "));
        let user = match bearer {
            Some(token) => match self.config.tokens.iter().find(|t| t.token == token) {
                Some(t) if t.admin => return None,
                Some(t) => t.user.as_str(),
                None => return Some(ApiError::unauthorized()),
            },
            None if self.config.anonymous => "system:anonymous",
            None => return Some(ApiError::unauthorized()),
        };
        let path = request.path();
        let open = ["/healthz", "/livez", "/readyz", "/version"];
        if open.iter().any(|p| path == *p || path.starts_with(&format!("{p}/"))) {
            return None;
        }
        Some(discovery::forbidden(&self.kinds, user, request, &path))
    }

    fn handle_unguarded(&mut self, now: Now, request: &Request) -> Reply {
        let path = request.path();
        let query = Query::parse(&request.target);
        let kinds = self.kinds.clone();
        let place = match kinds.route(&path) {
            Route::Resource(place) => place,
            found => {
                let response = discovery::answer(&kinds, request, &query, &path, matches!(found, Route::Nowhere));
                return Reply::Response(response);
            }
        };
        let accepted = if place.kind.is_open() { media::WITHOUT_PROTOBUF } else { media::TYPES };
        let media = match media::negotiate(request, &query, accepted) {
            Ok(media) => media,
            Err(error) => return Reply::Response(refusal(&error, Media::JSON, &[])),
        };
        let mut cx = Context { now, request, query: &query, place: &place, media, kinds: &kinds, warnings: Vec::new() };
        let answer = self.dispatch(&mut cx);
        let warnings = std::mem::take(&mut cx.warnings);
        match answer {
            Ok(Answer::Watch(id)) => {
                self.stats.watches += 1;
                let head = Response {
                    status: 200,
                    headers: vec![("content-type", media.content_type(true).to_owned())],
                    body: Vec::new(),
                };
                Reply::Watch { id, head }
            }
            Ok(Answer::Delayed(at, error)) => Reply::Delayed { at, response: refusal(&error, media, &warnings) },
            Ok(answer) => match render::answer(answer, &cx) {
                Ok(mut response) => {
                    add_warnings(&mut response, &warnings);
                    render::compress(request, &mut response);
                    Reply::Response(response)
                }
                Err(error) => Reply::Response(refusal(&error, media, &warnings)),
            },
            Err(error) => Reply::Response(refusal(&error, media, &warnings)),
        }
    }

    fn dispatch(&mut self, cx: &mut Context<'_>) -> Result<Answer, ApiError> {
        if cx.request.body.len() > MAX_BODY {
            return Err(ApiError::too_large(format!("Request entity too large: limit is {MAX_BODY}")));
        }
        let (place, kind) = (cx.place, cx.kind());
        let named = !place.name.is_empty();
        let everywhere = kind.namespaced && place.namespace.is_empty();
        let is_list = matches!(cx.media.shape, Shape::PartialList);
        let watching = place.watch || cx.query.flag("watch");
        match (cx.request.method.as_str(), place.sub) {
            ("GET", None) if watching => self.open_watch(cx),
            ("GET", None) if named && is_list => Err(render::not_a_list(kind)),
            ("GET", None) if named => self.read(cx),
            ("GET", None) => self.list(cx),
            ("POST", None) if !named && !everywhere => self.create(cx),
            ("PUT", None | Some(Sub::Status)) if named => self.replace(cx),
            ("PATCH", None | Some(Sub::Status)) if named => self.patch(cx),
            ("DELETE", None) if named => self.delete(cx),
            ("DELETE", None) if !everywhere && kind.traits.delete_collection => self.delete_collection(cx),
            ("GET", Some(Sub::Status)) => self.read(cx),
            ("GET", Some(Sub::Scale)) => self.read_scale(cx),
            ("PUT" | "PATCH", Some(Sub::Scale)) => self.write_scale(cx),
            ("POST", Some(Sub::Binding)) => self.bind(cx),
            ("POST", Some(Sub::Eviction)) => self.evict(cx),
            ("PUT", Some(Sub::Finalize)) => self.replace(cx),
            ("GET", Some(Sub::Log)) => self.pod_log(cx),
            _ => Err(ApiError::method_not_allowed()),
        }
    }

    /// The object a place names.
    pub(crate) fn find(&self, cx: &Context<'_>) -> Result<Arc<Object>, ApiError> {
        let kind = cx.kind();
        let found = self.store.get(kind.table, &cx.key());
        found.cloned().ok_or_else(|| ApiError::not_found(kind.subject(), &cx.place.name))
    }

    /// Turns a value in the form of its table into an object with the next version.
    pub(crate) fn seal(&mut self, kind: &Kind, mut value: Obj) -> Object {
        let rv = self.store.next_rv();
        json::meta_mut(&mut value).insert("resourceVersion".into(), rv.to_string().into());
        let object = build(kind, &value, rv);
        debug_assert_eq!(*object.value(), value, "a value is in the form of its table");
        Object { value: self.store.keep(value), ..object }
    }

    /// When [`Self::handle_timeout`] must be called next, on the monotonic clock.
    #[must_use]
    pub fn poll_deadline(&self) -> Option<Duration> {
        let watch = self.deadlines.first().map(|(at, _)| *at);
        let compaction = self.compactions.front().map(|(at, _)| *at);
        [watch, compaction, self.controllers.deadline()].into_iter().flatten().min()
    }

    /// Does what is due: ends watches, sends bookmarks, collects garbage.
    pub fn handle_timeout(&mut self, now: Now) {
        self.advance(now);
        while let Some((at, id)) = self.deadlines.first().copied() {
            if at > now.monotonic {
                break;
            }
            self.deadlines.remove(&(at, id));
            self.wake(id);
        }
        self.run_controllers(now);
    }

    fn advance(&mut self, now: Now) {
        self.store.set_now(now.monotonic);
        while let Some((_, rv)) = self.compactions.front().copied().filter(|(at, _)| *at <= now.monotonic) {
            self.compactions.pop_front();
            self.store.forget_snapshots(rv);
        }
    }

    /// Compacts the history, as etcd does: objects stay, and after [`Config::compaction_delay`] lists of
    /// older versions (and pages begun before) are answered with 410. Watches are not touched.
    pub fn compact(&mut self, now: Now) {
        self.compactions.push_back((now.monotonic + self.config.compaction_delay, self.store.rv()));
    }

    /// Restarts over the same objects: every watch ends, and none can begin at an older version.
    pub fn restart(&mut self) {
        self.store.forget_watches();
        self.close_watches();
    }

    /// Forgets the history of a resource (its plural name): watches that are behind, and those that begin
    /// at an older version, get a 410.
    pub fn expire_history(&mut self, resource: &str) {
        for table in self.tables_of(resource) {
            self.store.expire(table);
            self.wake_table(table);
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The version of the last write.
    #[must_use]
    pub fn resource_version(&self) -> u64 {
        self.store.rv()
    }

    /// How many objects of a resource (its plural name, of any group) there are.
    #[must_use]
    pub fn count(&self, resource: &str) -> usize {
        self.tables_of(resource).first().map_or(0, |table| self.store.table(*table).objects.len())
    }

    pub(crate) fn tables_of(&self, resource: &str) -> Vec<usize> {
        let mut tables: Vec<usize> = self.kinds.iter().filter(|k| k.resource == resource).map(|k| k.table).collect();
        tables.dedup();
        tables
    }

    /// What the last request was refused with by a rule, and whether it took effect before, if one was refused since this was last asked.
    pub fn take_refusal(&mut self) -> Option<(Failure, bool)> {
        self.faults.take_refusal()
    }

    /// Switches for tests: refuse requests, freeze watches, make them break. Every watch is named by
    /// [`Self::poll_ready`] once more, in case it was frozen and is not any more.
    pub fn faults_mut(&mut self) -> &mut Faults {
        for table in 0..self.watchers.len() {
            self.wake_table(table);
        }
        &mut self.faults
    }

    /// The state of a namespace: whether it exists, and whether it terminates.
    pub(crate) fn namespace_terminates(&self, namespace: &str) -> Option<bool> {
        let object = self.store.get(NAMESPACES, &Key::new("", namespace))?;
        Some(object.fields.first().is_some_and(|phase| &**phase == "Terminating"))
    }
}
