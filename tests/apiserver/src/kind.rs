//! The table of served kinds: what differs from one to the next. Everything else is generic.

use crate::error::{Cause, Subject};
use crate::schema::{MessageId, schema};
use crate::store::Obj;
use crate::strategy;
use crate::time::Now;

/// A kind as it is served under one group and version.
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) singular: &'static str,
    /// `storageVersionHash`: the first eight bytes of the SHA-256 of `group/version/Kind`.
    pub(crate) storage_hash: &'static str,
    pub(crate) short_names: &'static [&'static str],
    pub(crate) categories: &'static [&'static str],
    pub(crate) namespaced: bool,
    /// The message of the schema.
    message: &'static str,
    /// Which table holds the objects; two kinds may be two faces of one table.
    pub(crate) table: usize,
    /// How the objects of the table become this kind, and back; `None` if they are it.
    pub(crate) convert: Option<Conversion>,
    pub(crate) subresources: &'static [Sub],
    /// Selectable fields besides name and namespace: how a selector names them, and where they are.
    pub(crate) fields: &'static [(&'static str, &'static [&'static str])],
    pub(crate) traits: Traits,
    pub(crate) strategy: Strategy,
}

/// Conversion between a table's own form and another.
#[derive(Clone, Copy)]
pub(crate) struct Conversion {
    pub(crate) from_stored: fn(Obj) -> Obj,
    pub(crate) to_stored: fn(Obj) -> Obj,
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

const PLAIN: Traits = Traits {
    orphans_by_default: false,
    unconditional_update: true,
    create_on_update: false,
    graceful: false,
    returns_deleted: false,
    generation: false,
    delete_collection: true,
    cached: true,
};

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

const NOTHING: Strategy = Strategy {
    default: |_| {},
    admit: |_| Ok(()),
    prepare_create: |_, _| {},
    prepare_update: |_, _| {},
    prepare_status: |_, _, _| {},
    validate: |_, _| {},
    validate_update: |_, _, _| {},
    validate_status: |_, _, _| {},
    revalidates_meta: false,
    name: NameRule::Subdomain,
};

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.resource, self.group)
    }
}

impl Kind {
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The Go package of the internal type.
    pub(crate) fn package(&self) -> &'static str {
        if self.group.is_empty() { "core" } else { self.group.split('.').next().unwrap_or_default() }
    }

    pub(crate) fn message_name(&self) -> &'static str {
        self.message
    }

    pub(crate) fn message(&self) -> MessageId {
        schema().id(self.message)
    }

    pub(crate) fn subject(&self) -> Subject<'static> {
        Subject { group: self.group, resource: self.resource }
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
pub(crate) const TABLES: usize = 9;

/// The kinds. The first of a table is the form its objects are stored in: kind N is stored in table N for N < [`TABLES`].
pub(crate) static KINDS: [Kind; TABLES + 1] = [
    Kind {
        group: "",
        version: "v1",
        kind: "Namespace",
        resource: "namespaces",
        singular: "namespace",
        storage_hash: "Q3oi5N2YM8M=",
        short_names: &["ns"],
        categories: &[],
        namespaced: false,
        message: "core.Namespace",
        table: NAMESPACES,
        convert: None,
        subresources: &[Sub::Finalize, Sub::Status],
        fields: &[("status.phase", &["status", "phase"])],
        traits: Traits { delete_collection: false, ..PLAIN },
        strategy: Strategy {
            default: strategy::namespace::default,
            prepare_create: strategy::namespace::prepare_create,
            prepare_update: strategy::namespace::prepare_update,
            prepare_status: strategy::keep_spec,
            name: NameRule::Label,
            ..NOTHING
        },
    },
    Kind {
        group: "",
        version: "v1",
        kind: "Pod",
        resource: "pods",
        singular: "pod",
        storage_hash: "xPOwRZ+Yhw8=",
        short_names: &["po"],
        categories: &["all"],
        namespaced: true,
        message: "core.Pod",
        table: PODS,
        convert: None,
        subresources: &[Sub::Binding, Sub::Eviction, Sub::Log, Sub::Status],
        fields: &[
            ("spec.nodeName", &["spec", "nodeName"]),
            ("spec.restartPolicy", &["spec", "restartPolicy"]),
            ("spec.schedulerName", &["spec", "schedulerName"]),
            ("spec.serviceAccountName", &["spec", "serviceAccountName"]),
            ("spec.hostNetwork", &["spec", "hostNetwork"]),
            ("status.phase", &["status", "phase"]),
            ("status.podIP", &["status", "podIP"]),
            ("status.podIPs", &["status", "podIPs"]),
            ("status.nominatedNodeName", &["status", "nominatedNodeName"]),
        ],
        traits: Traits { graceful: true, returns_deleted: true, generation: true, ..PLAIN },
        strategy: Strategy {
            default: strategy::pod::default,
            admit: strategy::pod::admit,
            prepare_create: strategy::pod::prepare_create,
            prepare_update: strategy::keep_status,
            prepare_status: strategy::pod::prepare_status,
            validate: strategy::pod::validate,
            validate_update: strategy::pod::validate_update,
            revalidates_meta: true,
            ..NOTHING
        },
    },
    Kind {
        group: "apps",
        version: "v1",
        kind: "ReplicaSet",
        resource: "replicasets",
        singular: "replicaset",
        storage_hash: "P1RzHs8/mWQ=",
        short_names: &["rs"],
        categories: &["all"],
        namespaced: true,
        message: "apps.ReplicaSet",
        table: REPLICA_SETS,
        convert: None,
        subresources: &[Sub::Scale, Sub::Status],
        fields: &[],
        traits: Traits { generation: true, ..PLAIN },
        strategy: Strategy {
            default: strategy::workload::default,
            prepare_create: strategy::workload::prepare_create,
            prepare_update: strategy::keep_status,
            prepare_status: strategy::keep_spec,
            validate: strategy::workload::validate_replica_set,
            validate_update: strategy::workload::validate_replica_set_update,
            validate_status: strategy::workload::validate_status,
            ..NOTHING
        },
    },
    Kind {
        group: "",
        version: "v1",
        kind: "ReplicationController",
        resource: "replicationcontrollers",
        singular: "replicationcontroller",
        storage_hash: "Jond2If31h0=",
        short_names: &["rc"],
        categories: &["all"],
        namespaced: true,
        message: "core.ReplicationController",
        table: REPLICATION_CONTROLLERS,
        convert: None,
        subresources: &[Sub::Scale, Sub::Status],
        fields: &[("status.replicas", &["status", "replicas"])],
        traits: Traits { orphans_by_default: true, generation: true, ..PLAIN },
        strategy: Strategy {
            default: strategy::workload::default_replication_controller,
            prepare_create: strategy::workload::prepare_create,
            prepare_update: strategy::keep_status,
            prepare_status: strategy::keep_spec,
            validate: strategy::workload::validate_replication_controller,
            revalidates_meta: true,
            validate_update: |new, _, causes| {
                strategy::workload::validate_replication_controller(new, causes);
            },
            validate_status: strategy::workload::validate_status,
            ..NOTHING
        },
    },
    Kind {
        group: "",
        version: "v1",
        kind: "ConfigMap",
        resource: "configmaps",
        singular: "configmap",
        storage_hash: "qFsyl6wFWjQ=",
        short_names: &["cm"],
        categories: &[],
        namespaced: true,
        message: "core.ConfigMap",
        table: CONFIG_MAPS,
        convert: None,
        subresources: &[],
        fields: &[],
        traits: PLAIN,
        strategy: Strategy {
            validate: strategy::config_map::validate,
            validate_update: strategy::config_map::validate_update,
            revalidates_meta: true,
            ..NOTHING
        },
    },
    Kind {
        group: "",
        version: "v1",
        kind: "Event",
        resource: "events",
        singular: "event",
        storage_hash: "r2yiGXH7wu8=",
        short_names: &["ev"],
        categories: &[],
        namespaced: true,
        message: "core.Event",
        table: EVENTS,
        convert: None,
        subresources: &[],
        fields: EVENT_FIELDS,
        traits: Traits { cached: false, create_on_update: true, ..PLAIN },
        strategy: Strategy { validate: strategy::event::validate, ..NOTHING },
    },
    Kind {
        group: "coordination.k8s.io",
        version: "v1",
        kind: "Lease",
        resource: "leases",
        singular: "lease",
        storage_hash: "gqkMMb/YqFM=",
        short_names: &[],
        categories: &[],
        namespaced: true,
        message: "coordination.Lease",
        table: LEASES,
        convert: None,
        subresources: &[],
        fields: &[],
        traits: Traits { unconditional_update: false, create_on_update: true, ..PLAIN },
        strategy: Strategy {
            prepare_create: |lease, _| strategy::lease::drop_disabled(lease),
            prepare_update: |lease, _| strategy::lease::drop_disabled(lease),
            validate: strategy::lease::validate,
            validate_update: |new, _, causes| strategy::lease::validate(new, causes),
            ..NOTHING
        },
    },
    Kind {
        group: "",
        version: "v1",
        kind: "Node",
        resource: "nodes",
        singular: "node",
        storage_hash: "XwShjMxG9Fs=",
        short_names: &["no"],
        categories: &[],
        namespaced: false,
        message: "core.Node",
        table: NODES,
        convert: None,
        subresources: &[Sub::Status],
        fields: &[("spec.unschedulable", &["spec", "unschedulable"])],
        traits: PLAIN,
        strategy: Strategy {
            default: strategy::node::default,
            admit: strategy::node::admit,
            prepare_update: strategy::keep_status,
            prepare_status: strategy::keep_spec,
            ..NOTHING
        },
    },
    Kind {
        group: "",
        version: "v1",
        kind: "ResourceQuota",
        resource: "resourcequotas",
        singular: "resourcequota",
        storage_hash: "8uhSgffRX6w=",
        short_names: &["quota"],
        categories: &[],
        namespaced: true,
        message: "core.ResourceQuota",
        table: QUOTAS,
        convert: None,
        subresources: &[Sub::Status],
        fields: &[],
        traits: PLAIN,
        strategy: Strategy {
            prepare_create: strategy::clear_status,
            prepare_update: strategy::keep_status,
            prepare_status: strategy::keep_spec,
            ..NOTHING
        },
    },
    Kind {
        group: "events.k8s.io",
        version: "v1",
        kind: "Event",
        resource: "events",
        singular: "event",
        storage_hash: "r2yiGXH7wu8=",
        short_names: &["ev"],
        categories: &[],
        namespaced: true,
        message: "events.Event",
        table: EVENTS,
        convert: Some(Conversion {
            from_stored: strategy::event::to_events_v1,
            to_stored: strategy::event::from_events_v1,
        }),
        subresources: &[],
        fields: EVENT_FIELDS,
        traits: Traits { cached: false, create_on_update: true, ..PLAIN },
        strategy: Strategy {
            validate: strategy::event::validate_v1,
            validate_update: strategy::event::validate_v1_update,
            ..NOTHING
        },
    },
];

const EVENT_FIELDS: &[(&str, &[&str])] = &[
    ("involvedObject.kind", &["involvedObject", "kind"]),
    ("involvedObject.namespace", &["involvedObject", "namespace"]),
    ("involvedObject.name", &["involvedObject", "name"]),
    ("involvedObject.uid", &["involvedObject", "uid"]),
    ("involvedObject.apiVersion", &["involvedObject", "apiVersion"]),
    ("involvedObject.resourceVersion", &["involvedObject", "resourceVersion"]),
    ("involvedObject.fieldPath", &["involvedObject", "fieldPath"]),
    ("reason", &["reason"]),
    ("reportingComponent", &["reportingComponent"]),
    ("source", &["source", "component"]),
    ("type", &["type"]),
];
