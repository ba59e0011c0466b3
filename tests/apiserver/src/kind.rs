//! The table of served kinds: what differs from one to the next. Everything else is generic.
//!
//! The table is data: it begins with the kinds that are built in, and each CustomResourceDefinition adds to it.

use crate::error::{Cause, Subject};
use crate::schema::{self, MessageId, schema};
use crate::store::Obj;
use crate::time::Now;

pub(crate) mod custom;
mod kinds;
mod served;

pub(crate) use custom::Custom;
pub(crate) use served::Kinds;

/// A kind as it is served under one group and version.
pub(crate) struct Kind {
    /// Tells it from all others that are or were served.
    pub(crate) id: u32,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) resource: String,
    pub(crate) singular: String,
    /// `storageVersionHash`: the first eight bytes of the SHA-256 of `group/version/Kind`; custom kinds tell none.
    pub(crate) storage_hash: &'static str,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// The message of the schema.
    message: &'static str,
    /// Which table holds the objects; two kinds may be two faces of one table.
    pub(crate) table: usize,
    /// How the objects of the table become this kind, and back; `None` if they are it.
    pub(crate) convert: Option<Conversion>,
    pub(crate) subresources: Vec<Sub>,
    /// Selectable fields besides name and namespace: how a selector names them, and where they are.
    pub(crate) fields: Vec<(String, Vec<String>)>,
    pub(crate) traits: Traits,
    pub(crate) strategy: Strategy,
    /// What a CustomResourceDefinition says of it, if it comes from one.
    pub(crate) custom: Option<Custom>,
}

/// Conversion between a table's own form and another.
#[derive(Clone, Copy)]
pub(crate) struct Conversion {
    pub(crate) from_stored: fn(Obj) -> Obj,
    pub(crate) to_stored: fn(Obj) -> Obj,
    /// The group of the table's own kind.
    pub(crate) group: &'static str,
    /// The message of the table's own form.
    pub(crate) message: &'static str,
}

/// A subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sub {
    Binding,
    Eviction,
    Finalize,
    Log,
    Scale,
    Status,
}

impl Sub {
    pub(crate) const ALL: [Self; 6] =
        [Self::Binding, Self::Eviction, Self::Finalize, Self::Log, Self::Scale, Self::Status];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Binding => "binding",
            Self::Eviction => "eviction",
            Self::Finalize => "finalize",
            Self::Log => "log",
            Self::Scale => "scale",
            Self::Status => "status",
        }
    }
}

/// Yes or no questions about a kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    /// DELETE without a policy orphans the dependents.
    pub(crate) orphans_by_default: bool,
    /// An update without a resourceVersion overwrites.
    pub(crate) unconditional_update: bool,
    /// PUT of an absent object makes it.
    pub(crate) create_on_update: bool,
    /// A deletion waits for the grace period of the object.
    pub(crate) graceful: bool,
    /// DELETE answers with the object even when it is gone.
    pub(crate) returns_deleted: bool,
    /// `metadata.generation` counts changes of the spec.
    pub(crate) generation: bool,
    pub(crate) delete_collection: bool,
    /// Served by the watch cache.
    pub(crate) cached: bool,
}

/// What a kind adds to the generic path (in Go its `rest.RESTCreateStrategy` and friends).
#[derive(Clone, Copy)]
pub(crate) struct Strategy {
    /// Fills in defaults after decoding.
    pub(crate) default: fn(&mut Obj),
    /// Admission plugins that change the object on its creation, or refuse it.
    pub(crate) admit: fn(&mut Obj) -> Result<(), String>,
    /// Clears and sets what a creator may not.
    pub(crate) prepare_create: fn(&mut Obj, Now),
    /// The same for an update of the main resource, given the old object.
    pub(crate) prepare_update: fn(&mut Obj, &Obj),
    /// The same for an update of the status.
    pub(crate) prepare_status: fn(&mut Obj, &Obj, Now),
    pub(crate) validate: fn(&Obj, &mut Vec<Cause>),
    pub(crate) validate_update: fn(&Obj, &Obj, &mut Vec<Cause>),
    pub(crate) validate_status: fn(&Obj, &Obj, &mut Vec<Cause>),
    /// The kind's validation of an update looks at metadata once more than others do.
    pub(crate) revalidates_meta: bool,
    /// Which names are allowed.
    pub(crate) name: NameRule,
}

/// Which names a kind allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameRule {
    Label,
    Subdomain,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.resource, self.group)
    }
}

impl Kind {
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The Go package of the internal type.
    pub(crate) fn package(&self) -> &str {
        if self.group.is_empty() { "core" } else { self.group.split('.').next().unwrap_or_default() }
    }

    pub(crate) fn message_name(&self) -> &'static str {
        self.message
    }

    pub(crate) fn message(&self) -> MessageId {
        schema().id(self.message)
    }

    /// The message of the form in which its objects are stored.
    pub(crate) fn stored_message(&self) -> MessageId {
        self.convert.map_or_else(|| self.message(), |c| schema().id(c.message))
    }

    /// The group of the kind in whose form its objects are stored.
    pub(crate) fn stored_group(&self) -> &str {
        self.convert.map_or(&self.group, |c| c.group)
    }

    /// Its objects have no known shape but metadata: JSON only, and no strategic merge.
    pub(crate) fn is_open(&self) -> bool {
        self.message == schema::OPEN
    }

    pub(crate) fn list_kind(&self) -> String {
        self.custom.as_ref().map_or_else(|| format!("{}List", self.kind), |c| c.list_kind.clone())
    }

    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject { group: &self.group, resource: &self.resource }
    }

    pub(crate) fn has(&self, sub: Sub) -> bool {
        self.subresources.contains(&sub)
    }
}

pub(crate) const NAMESPACES: usize = 0;
pub(crate) const PODS: usize = 1;
pub(crate) const REPLICA_SETS: usize = 2;
pub(crate) const REPLICATION_CONTROLLERS: usize = 3;
pub(crate) const CONFIG_MAPS: usize = 4;
pub(crate) const EVENTS: usize = 5;
pub(crate) const LEASES: usize = 6;
pub(crate) const NODES: usize = 7;
pub(crate) const QUOTAS: usize = 8;
pub(crate) const DEFINITIONS: usize = 9;
/// How many tables are built in; those of custom kinds come after them.
pub(crate) const TABLES: usize = 10;
