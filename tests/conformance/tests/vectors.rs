//! The recorded vectors, as tests.

use std::path::Path;

use sanskube_conformance::vectors::run_file;

/// One test a file of vectors.
macro_rules! vectors {
    ($($directory:ident / $file:ident),* $(,)?) => {
        $(
            #[test]
            fn $file() {
                let file = format!("vectors/{}/{}.jsonl.gz", stringify!($directory), stringify!($file));
                assert!(run_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file)), "see the differences above");
            }
        )*
    };
}

vectors! {
    clientgo / backoff,
    clientgo / delta_fifo,
    clientgo / indexer,
    clientgo / informer,
    clientgo / keys,
    clientgo / label_selector,
    clientgo / rate_limiter,
    clientgo / real_fifo,
    clientgo / reflector,
    clientgo / workqueue,
    replicaset / claim,
    replicaset / deletion_order,
    replicaset / event_routing,
    replicaset / expectations,
    replicaset / manage_sync,
    replicaset / pod_from_template,
    replicaset / pod_predicates,
    replicaset / slow_start,
    replicaset / stale_guard,
    replicaset / status,
}
