//! What a reflector is asked to do.

use alloc::string::String;
use core::time::Duration;

use crate::backoff::Backoff;
use crate::client::Api;
use crate::limits::Limits;
use crate::object::Resource;
use crate::request::Encoding;

/// What a reflector reflects, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The collection.
    pub resource: Resource,
    /// The namespace to look at; empty for all.
    pub namespace: String,
    /// Only objects with such labels, in the API's syntax; empty for all.
    pub label_selector: String,
    /// Only objects with such fields, in the API's syntax; empty for all.
    pub field_selector: String,
    /// What objects are asked for in, if their type can be [read](crate::object::Decode::PROTOBUF) so; else, and where a server cannot, it
    /// is JSON. Default JSON.
    pub encoding: Encoding,
    /// Whether to ask for the objects as a stream (API concepts, "Streaming lists"), falling back to lists where the server cannot.
    /// Default no.
    pub watch_list: bool,
    /// Asks every list in pages of so many objects. Default none: [`Limits::list_page`] is asked for where a server
    /// does not answer from its cache anyway, as in client-go (`WatchListPageSize`).
    pub page_size: Option<u32>,
    /// How often the store is asked to resync; zero for never, the default.
    pub resync_period: Duration,
    /// For how long a watch that reports internal errors is resumed at once. Default zero: it backs off like any other
    /// (client-go, `MaxInternalErrorRetryDuration`).
    pub internal_error_retry: Duration,
    /// The delays after failures. Default [`Backoff::REFLECTOR`].
    pub backoff: Backoff,
    /// What failures lead to where client-go does not do what its users asked for. Default [`Recovery::Prudent`].
    pub recovery: Recovery,
    /// The bounds.
    pub limits: Limits,
    /// The seed of the jitter. Two reflectors of a process should not have the same.
    pub seed: u64,
}

/// Which of two ways failures are recovered from. `differences` in the core's documentation has the reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// A version that expired or that the server calls bad is not asked for again; a watch that reports an error is
    /// resumed instead of listing everything anew; the back-off starts over only after a healthy time.
    #[default]
    Prudent,
    /// Request by request what client-go 1.36 does, for those who want its load on their servers to be that of a Go controller.
    ClientGo,
}

impl Config {
    /// All objects of `resource`, with the defaults.
    pub fn new(resource: Resource) -> Self {
        Self {
            resource,
            namespace: String::new(),
            label_selector: String::new(),
            field_selector: String::new(),
            encoding: Encoding::default(),
            watch_list: false,
            page_size: None,
            resync_period: Duration::ZERO,
            internal_error_retry: Duration::ZERO,
            backoff: Backoff::REFLECTOR,
            recovery: Recovery::default(),
            limits: Limits::default(),
            seed: 0,
        }
    }
}

/// All objects that an [`Api`] speaks of, with the defaults.
impl<T> From<Api<T>> for Config {
    fn from(api: Api<T>) -> Self {
        Self { namespace: api.namespace().into(), ..Self::new(api.resource().clone()) }
    }
}
