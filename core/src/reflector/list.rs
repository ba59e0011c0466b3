//! A list in progress: page after page until it is whole.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::config::Config;
use super::failure::{Cause, Doing};
use super::store::ReflectorStore;
use crate::error::{DecodeError, Full, Malformed};
use crate::json;
use crate::limits::Limits;
use crate::object::{Common, Decode, Shared};
use crate::request::{Encoding, Query, Request};
use crate::resource_version::ResourceVersion;
use crate::shrink;
use crate::wire::{ListBody, ListMeta, ProtobufListBody};

/// The pages of one list.
///
/// Mirrors client-go `tools/pager/pager.go`, `List`, and `tools/cache/reflector.go`, `list`.
#[derive(Debug)]
pub(super) struct List<T> {
    /// The version that was asked for at first.
    version: ResourceVersion,
    /// Objects asked for in a page; zero for all at once.
    page_size: u32,
    /// Whether the list was asked for at version 0, and came in pages all the same.
    from_zero: bool,
    paged: bool,
    /// Whether this is the unpinned list after a pinned one failed.
    repeated: bool,
    /// Whether the whole is asked for at once because a token was too old.
    in_full: bool,
    /// The token of the page that is asked for.
    token: String,
    /// The version of the first page: that of the list.
    first_version: Option<ResourceVersion>,
    objects: Vec<Arc<T>>,
}

/// The body of a page as it comes, in what it is written in.
#[derive(Debug)]
pub(super) enum Body {
    Json(ListBody),
    Protobuf(Box<ProtobufListBody>),
}

impl Body {
    pub(super) fn new(encoding: Encoding, limits: &Limits) -> Self {
        match encoding {
            Encoding::Json => Self::Json(ListBody::new(limits)),
            Encoding::Protobuf => Self::Protobuf(Box::new(ProtobufListBody::new(limits))),
        }
    }

    /// The next object of the page.
    fn next_object<T: Decode>(
        &mut self,
        config: &Config,
        common: &mut Common<'_>,
        piece: &mut &[u8],
    ) -> Result<Option<T>, DecodeError> {
        match self {
            Self::Json(body) => next_json_object(config, common, body, piece),
            Self::Protobuf(body) => {
                let Some(message) = body.next_item(piece)? else { return Ok(None) };
                Ok(Some(T::decode_protobuf(message, &config.resource, common)?))
            }
        }
    }

    fn finish(self) -> Result<ListMeta, Malformed> {
        match self {
            Self::Json(body) => body.finish(),
            Self::Protobuf(body) => body.finish(),
        }
    }
}

/// What a page was.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// There is a further one. Whether this one brought objects.
    Further { progress: bool },
    /// It was the last one; the list is as of this version.
    Last(ResourceVersion),
}

impl<T: Decode> List<T> {
    /// A list at `version` at least. `paged` says that the server was seen to page a list from any version.
    pub(super) fn new(config: &Config, version: ResourceVersion, paged: bool) -> Self {
        let from_cache = !version.is_none() && !version.is_zero();
        let page_size = match config.page_size {
            Some(size) => size,
            // A server answers such a list from its cache only where no limit is asked for.
            None if from_cache && !paged => 0,
            None => config.limits.list_page,
        };
        Self {
            from_zero: version.is_zero(),
            paged: false,
            version,
            page_size,
            repeated: false,
            in_full: false,
            token: String::new(),
            first_version: None,
            objects: Vec::new(),
        }
    }

    /// The list again, without a version, in pages of the same size.
    pub(super) fn into_unpinned(self) -> Self {
        Self { version: ResourceVersion::NONE, repeated: true, paged: false, ..self.again(false) }
    }

    /// The list again, all at once.
    pub(super) fn into_full(self) -> Self {
        self.again(true)
    }

    fn again(self, in_full: bool) -> Self {
        Self { in_full, token: String::new(), first_version: None, objects: Vec::new(), ..self }
    }

    pub(super) fn request(&self, config: &Config) -> Request {
        let mut query = query(config);
        if !self.in_full && self.page_size > 0 {
            query = query.pair("limit", self.page_size);
        }
        query = if self.is_later_page() {
            // The token holds the version; to tell both is an error.
            query.pair("continue", &self.token)
        } else {
            query.pair_if("resourceVersion", &alloc::format!("{}", self.version))
        };
        Request::get(query.finish())
    }

    pub(super) fn doing(&self) -> Doing {
        if self.repeated {
            Doing::Repeated
        } else if self.version.is_none() {
            Doing::Unpinned
        } else {
            Doing::Pinned
        }
    }

    pub(super) fn is_later_page(&self) -> bool {
        !self.token.is_empty()
    }

    /// Takes a piece of a page. Its objects are held as the store wants them to be.
    pub(super) fn handle_body<S: ReflectorStore<T>>(
        &mut self,
        config: &Config,
        shared: &mut Shared,
        body: &mut Body,
        mut piece: &[u8],
        store: &mut S,
    ) -> Result<(), Cause> {
        let undecodable = |e: Malformed| Cause::Undecodable(e.into());
        loop {
            let keys = |text: &str| store.known_key(text);
            let common = &mut Common::with_keys(shared, &keys);
            let next = body.next_object::<T>(config, common, &mut piece).map_err(Cause::Undecodable)?;
            let Some(object) = next else { return Ok(()) };
            if object.name().is_empty() {
                return Err(undecodable(Malformed::new("list", "an item has no name")));
            }
            if self.objects.len() >= config.limits.list_objects {
                let full = Full { limit: "list_objects", bound: config.limits.list_objects };
                return Err(Cause::Undecodable(full.into()));
            }
            let held = store.hold(object).map_err(|e| Cause::Store(e.to_string()))?;
            shrink::push(&mut self.objects, held);
        }
    }

    /// Takes the end of a page; `before` is how many objects there were before it.
    pub(super) fn handle_end(&mut self, body: Body, before: usize) -> Result<Page, Malformed> {
        let meta = body.finish()?;
        if meta.resource_version.is_none() {
            return Err(Malformed::new("list", "it has no resource version"));
        }
        let version = self.first_version.get_or_insert(meta.resource_version).clone();
        self.token = meta.continue_token;
        Ok(if self.token.is_empty() {
            Page::Last(version)
        } else {
            self.paged = true;
            Page::Further { progress: self.objects.len() > before }
        })
    }

    /// Whether the server pages a list even where it may answer from a cache: it has none.
    pub(super) const fn shows_no_cache(&self) -> bool {
        self.from_zero && self.paged
    }

    pub(super) fn objects(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn take_objects(&mut self) -> Vec<Arc<T>> {
        core::mem::take(&mut self.objects)
    }
}

/// The next object of a page. One that lies in the piece as a whole is decoded where it stands, and has its end where it was decoded to.
fn next_json_object<T: Decode>(
    config: &Config,
    common: &mut Common<'_>,
    body: &mut ListBody,
    piece: &mut &[u8],
) -> Result<Option<T>, DecodeError> {
    if let Some(bytes) = body.peek_item(piece)?
        && let Ok((object, length)) = T::decode_first(bytes, &config.resource, common)
    {
        body.take_item(piece, length)?;
        return Ok(Some(object));
    }
    // Its end is in another piece, or it is not as it should be.
    let Some(item) = body.next_item(piece)? else { return Ok(None) };
    Ok(Some(decode_whole(item, config, common)?))
}

/// An object of which these are all the bytes.
pub(super) fn decode_whole<T: Decode>(json: &[u8], config: &Config, common: &mut Common<'_>) -> Result<T, Malformed> {
    match T::decode_first(json, &config.resource, common)? {
        (object, length) if json::trim(&json[length..]).is_empty() => Ok(object),
        _ => Err(Malformed::new("object", "something stands behind it")),
    }
}

/// The collection's path and the selectors.
pub(super) fn query(config: &Config) -> Query {
    Query::new(config.resource.collection_path(&config.namespace))
        .pair_if("labelSelector", &config.label_selector)
        .pair_if("fieldSelector", &config.field_selector)
}
