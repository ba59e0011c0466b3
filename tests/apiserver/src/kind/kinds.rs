//! The kinds, one after the other.

use super::*;
use crate::{schema, strategy};

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

/// The kinds that are built in. The first of a table is the form its objects are stored in.
pub(super) fn built_in() -> Vec<Kind> {
    vec![
        Kind {
            kind: "Namespace".into(),
            resource: "namespaces".into(),
            singular: "namespace".into(),
            storage_hash: "Q3oi5N2YM8M=",
            short_names: words(&["ns"]),
            namespaced: false,
            message: "core.Namespace",
            table: NAMESPACES,
            subresources: vec![Sub::Finalize, Sub::Status],
            fields: selectable(&[("status.phase", &["status", "phase"])]),
            traits: Traits { delete_collection: false, ..PLAIN },
            strategy: Strategy {
                default: strategy::namespace::default,
                prepare_create: strategy::namespace::prepare_create,
                prepare_update: strategy::namespace::prepare_update,
                prepare_status: strategy::keep_spec,
                name: NameRule::Label,
                ..NOTHING
            },
            ..plain()
        },
        Kind {
            kind: "Pod".into(),
            resource: "pods".into(),
            singular: "pod".into(),
            storage_hash: "xPOwRZ+Yhw8=",
            short_names: words(&["po"]),
            categories: words(&["all"]),
            message: "core.Pod",
            table: PODS,
            subresources: vec![Sub::Binding, Sub::Eviction, Sub::Log, Sub::Status],
            fields: selectable(&[
                ("spec.nodeName", &["spec", "nodeName"]),
                ("spec.restartPolicy", &["spec", "restartPolicy"]),
                ("spec.schedulerName", &["spec", "schedulerName"]),
                ("spec.serviceAccountName", &["spec", "serviceAccountName"]),
                ("spec.hostNetwork", &["spec", "hostNetwork"]),
                ("status.phase", &["status", "phase"]),
                ("status.podIP", &["status", "podIP"]),
                ("status.podIPs", &["status", "podIPs"]),
                ("status.nominatedNodeName", &["status", "nominatedNodeName"]),
            ]),
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
            ..plain()
        },
        Kind {
            group: "apps".into(),
            kind: "ReplicaSet".into(),
            resource: "replicasets".into(),
            singular: "replicaset".into(),
            storage_hash: "P1RzHs8/mWQ=",
            short_names: words(&["rs"]),
            categories: words(&["all"]),
            message: "apps.ReplicaSet",
            table: REPLICA_SETS,
            subresources: vec![Sub::Scale, Sub::Status],
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
            ..plain()
        },
        Kind {
            kind: "ReplicationController".into(),
            resource: "replicationcontrollers".into(),
            singular: "replicationcontroller".into(),
            storage_hash: "Jond2If31h0=",
            short_names: words(&["rc"]),
            categories: words(&["all"]),
            message: "core.ReplicationController",
            table: REPLICATION_CONTROLLERS,
            subresources: vec![Sub::Scale, Sub::Status],
            fields: selectable(&[("status.replicas", &["status", "replicas"])]),
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
            ..plain()
        },
        Kind {
            kind: "ConfigMap".into(),
            resource: "configmaps".into(),
            singular: "configmap".into(),
            storage_hash: "qFsyl6wFWjQ=",
            short_names: words(&["cm"]),
            message: "core.ConfigMap",
            table: CONFIG_MAPS,
            strategy: Strategy {
                validate: strategy::config_map::validate,
                validate_update: strategy::config_map::validate_update,
                revalidates_meta: true,
                ..NOTHING
            },
            ..plain()
        },
        Kind {
            kind: "Event".into(),
            resource: "events".into(),
            singular: "event".into(),
            storage_hash: "r2yiGXH7wu8=",
            short_names: words(&["ev"]),
            message: "core.Event",
            table: EVENTS,
            fields: selectable(EVENT_FIELDS),
            traits: Traits { cached: false, create_on_update: true, ..PLAIN },
            strategy: Strategy { validate: strategy::event::validate, ..NOTHING },
            ..plain()
        },
        Kind {
            group: "coordination.k8s.io".into(),
            kind: "Lease".into(),
            resource: "leases".into(),
            singular: "lease".into(),
            storage_hash: "gqkMMb/YqFM=",
            message: "coordination.Lease",
            table: LEASES,
            traits: Traits { unconditional_update: false, create_on_update: true, ..PLAIN },
            strategy: Strategy {
                prepare_create: |lease, _| strategy::lease::drop_disabled(lease),
                prepare_update: |lease, _| strategy::lease::drop_disabled(lease),
                validate: strategy::lease::validate,
                validate_update: |new, _, causes| strategy::lease::validate(new, causes),
                ..NOTHING
            },
            ..plain()
        },
        Kind {
            kind: "Node".into(),
            resource: "nodes".into(),
            singular: "node".into(),
            storage_hash: "XwShjMxG9Fs=",
            short_names: words(&["no"]),
            namespaced: false,
            message: "core.Node",
            table: NODES,
            subresources: vec![Sub::Status],
            fields: selectable(&[("spec.unschedulable", &["spec", "unschedulable"])]),
            strategy: Strategy {
                default: strategy::node::default,
                admit: strategy::node::admit,
                prepare_update: strategy::keep_status,
                prepare_status: strategy::keep_spec,
                ..NOTHING
            },
            ..plain()
        },
        Kind {
            kind: "ResourceQuota".into(),
            resource: "resourcequotas".into(),
            singular: "resourcequota".into(),
            storage_hash: "8uhSgffRX6w=",
            short_names: words(&["quota"]),
            message: "core.ResourceQuota",
            table: QUOTAS,
            subresources: vec![Sub::Status],
            strategy: Strategy {
                prepare_create: strategy::clear_status,
                prepare_update: strategy::keep_status,
                prepare_status: strategy::keep_spec,
                ..NOTHING
            },
            ..plain()
        },
        Kind {
            group: "events.k8s.io".into(),
            kind: "Event".into(),
            resource: "events".into(),
            singular: "event".into(),
            storage_hash: "r2yiGXH7wu8=",
            short_names: words(&["ev"]),
            message: "events.Event",
            table: EVENTS,
            convert: Some(Conversion {
                from_stored: strategy::event::to_events_v1,
                to_stored: strategy::event::from_events_v1,
                group: "",
                message: "core.Event",
            }),
            fields: selectable(EVENT_FIELDS),
            traits: Traits { cached: false, create_on_update: true, ..PLAIN },
            strategy: Strategy {
                validate: strategy::event::validate_v1,
                validate_update: strategy::event::validate_v1_update,
                ..NOTHING
            },
            ..plain()
        },
        Kind {
            group: "apiextensions.k8s.io".into(),
            kind: "CustomResourceDefinition".into(),
            resource: "customresourcedefinitions".into(),
            singular: "customresourcedefinition".into(),
            storage_hash: "jfWCUB31mvA=",
            short_names: words(&["crd", "crds"]),
            categories: words(&["api-extensions"]),
            namespaced: false,
            message: schema::OPEN,
            table: DEFINITIONS,
            subresources: vec![Sub::Status],
            traits: Traits { unconditional_update: false, generation: true, ..PLAIN },
            strategy: Strategy {
                default: strategy::definition::default,
                prepare_create: strategy::definition::prepare_create,
                prepare_update: strategy::keep_status,
                prepare_status: strategy::keep_all_but_status,
                validate: strategy::definition::validate,
                validate_update: strategy::definition::validate_update,
                ..NOTHING
            },
            ..plain()
        },
    ]
}

/// The kind of a definition's objects, but for its names.
pub(super) fn custom(subresources: Vec<Sub>) -> Kind {
    let prepare_create: fn(&mut Obj, Now) =
        if subresources.contains(&Sub::Status) { |value, _| drop(value.remove("status")) } else { |_, _| {} };
    let prepare_update: fn(&mut Obj, &Obj) =
        if subresources.contains(&Sub::Status) { strategy::keep_status } else { |_, _| {} };
    Kind {
        message: schema::OPEN,
        subresources,
        traits: Traits { unconditional_update: false, generation: true, ..PLAIN },
        strategy: Strategy { prepare_create, prepare_update, prepare_status: strategy::keep_all_but_status, ..NOTHING },
        ..plain()
    }
}

/// What most kinds have in common.
fn plain() -> Kind {
    Kind {
        id: 0,
        group: String::new(),
        version: "v1".into(),
        kind: String::new(),
        resource: String::new(),
        singular: String::new(),
        storage_hash: "",
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        message: "",
        table: 0,
        convert: None,
        subresources: Vec::new(),
        fields: Vec::new(),
        traits: PLAIN,
        strategy: NOTHING,
        custom: None,
    }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|w| (*w).to_owned()).collect()
}

fn selectable(list: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    list.iter().map(|(name, path)| ((*name).to_owned(), words(path))).collect()
}

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
