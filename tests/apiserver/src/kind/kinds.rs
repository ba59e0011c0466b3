//! The kinds, one after the other.

use super::*;
use crate::strategy;

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
        traits: Traits {
            delete_collection: false,
            ..PLAIN
        },
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
        traits: Traits {
            graceful: true,
            returns_deleted: true,
            generation: true,
            ..PLAIN
        },
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
        traits: Traits {
            generation: true,
            ..PLAIN
        },
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
        traits: Traits {
            orphans_by_default: true,
            generation: true,
            ..PLAIN
        },
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
        traits: Traits {
            cached: false,
            create_on_update: true,
            ..PLAIN
        },
        strategy: Strategy {
            validate: strategy::event::validate,
            ..NOTHING
        },
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
        traits: Traits {
            unconditional_update: false,
            create_on_update: true,
            ..PLAIN
        },
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
        traits: Traits {
            cached: false,
            create_on_update: true,
            ..PLAIN
        },
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
    (
        "involvedObject.apiVersion",
        &["involvedObject", "apiVersion"],
    ),
    (
        "involvedObject.resourceVersion",
        &["involvedObject", "resourceVersion"],
    ),
    ("involvedObject.fieldPath", &["involvedObject", "fieldPath"]),
    ("reason", &["reason"]),
    ("reportingComponent", &["reportingComponent"]),
    ("source", &["source", "component"]),
    ("type", &["type"]),
];
