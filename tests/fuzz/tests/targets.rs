//! Each target over its corpus, and over inputs that derive from it.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use sanskube_fuzzing::{Mutations, corpus, corpus_folder};

/// Runs a body and, if it panics, tells over which input.
fn run(name: &str, body: fn(&[u8]), input: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(input))) {
        eprintln!("{name} does not hold for b\"{}\"", input.escape_ascii());
        resume_unwind(panic);
    }
}

macro_rules! targets {
    ($($name:ident: $runs:literal,)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                let name = stringify!($name);
                let corpus = corpus(name);
                for (file, input) in &corpus {
                    run(&format!("{name} ({file})"), sanskube_fuzzing::$name, input);
                }
                let mut mutations = Mutations::new(corpus.into_iter().map(|(_, input)| input).collect(), 1);
                for _ in 0..$runs {
                    run(name, sanskube_fuzzing::$name, &mutations.next_input());
                }
            }
        )*
    };
}

// How many derived inputs there are: about a second's worth in a debug build.
targets! {
    api_bodies: 100,
    api_patches: 100,
    api_protobuf: 100,
    api_requests: 50,
    controllers: 30,
    delta_fifo: 2000,
    exec_credentials: 2000,
    field_selectors: 5000,
    frames: 2000,
    in_order_fifo: 2000,
    kubeconfigs: 500,
    label_selectors: 300,
    lists: 1000,
    managers: 30,
    names: 5000,
    objects: 1000,
    protobuf_events: 5000,
    protobuf_frames: 2000,
    protobuf_lists: 1000,
    protobuf_managers: 30,
    protobuf_pods: 1000,
    proxies: 5000,
    recordings: 200,
    reflectors: 100,
    replays: 20,
    statuses: 5000,
    stores: 300,
    timestamps: 5000,
    watch_events: 5000,
    work_queues: 1000,
}

fn files(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_target_has_a_corpus_and_a_wrapper_for_the_fuzzer() {
    let names: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(files(corpus_folder("").as_path()), names);
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let wrappers = names.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(files(&fuzz.join("fuzz_targets")), wrappers);
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    for name in NAMES {
        let wrapper = fs::read_to_string(fuzz.join("fuzz_targets").join(format!("{name}.rs"))).unwrap();
        assert!(wrapper.contains(&format!("sanskube_fuzzing::{name}(input)")), "{wrapper}");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is in fuzz/Cargo.toml");
        assert!(!corpus(name).is_empty(), "{name} has examples");
    }
}
