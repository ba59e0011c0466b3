use std::collections::BTreeMap;

use serde_json::json;

use super::*;

/// The failures of a case.
fn failures(replay: Replay, case: &Value) -> Vec<String> {
    let mut check = Check::default();
    match catch_unwind(AssertUnwindSafe(|| replay(case, &mut check))) {
        Ok(()) => check.failures,
        Err(_) => vec!["panicked".to_owned()],
    }
}

/// The places of all values that are wanted, as JSON pointers.
fn wanted(value: &Value, place: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            wanted(value, &format!("{place}/{}", name.replace('~', "~0").replace('/', "~1")), places);
        }),
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(i, value)| wanted(value, &format!("{place}/{i}"), places));
        }
        _ => places.push(place.to_owned()),
    }
}

/// Another value of the same kind.
fn another(value: &Value) -> Value {
    match value {
        Value::Bool(value) => json!(!value),
        Value::Number(number) => json!(number.as_i64().unwrap_or(0) ^ 1),
        Value::String(text) => json!(format!("{text}x")),
        _ => json!(["x"]),
    }
}

/// A place without the numbers of items and the names of objects.
fn shape(place: &str) -> String {
    let steps = place.split('/').map(|step| match step {
        _ if step.parse::<u64>().is_ok() => "*",
        _ if step.contains("~1") => "<key>",
        _ => step,
    });
    steps.collect::<Vec<_>>().join("/")
}

/// What no replay compares: words for people, how to compare, and what stands twice.
const INFORMATION: &[&str] = &[
    "/want/error/messages/*",
    "/want/behindAnyOf/*/message",
    "/want/requests/*/bodyText",
    "/want/unordered",
    "compare /ops/*/want/error",
    "store_at /ops/*/want",
];

/// All files of vectors.
fn files() -> impl Iterator<Item = (String, Replay, Vec<Value>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let files = ["clientgo", "replicaset"].map(|part| std::fs::read_dir(directory.join(part)).expect("it is there"));
    files.into_iter().flatten().flatten().map(|entry| entry.path()).filter_map(|path| {
        let name = stem(&path)?;
        let replay = replay(&name).expect("there is a replay for every file");
        Some((name, replay, read_cases(&path).expect("it is readable")))
    })
}

/// The places of a case where something is wanted, each with the name of its operation.
fn places(case: &Value) -> Vec<(String, String)> {
    let mut places = Vec::new();
    let ops: Vec<(String, &Value)> = match case["ops"].as_array() {
        Some(ops) => ops.iter().enumerate().map(|(i, op)| (format!("/ops/{i}/want"), op)).collect(),
        None => vec![("/want".to_owned(), case)],
    };
    for (place, op) in ops {
        let mut of_op = Vec::new();
        wanted(&op["want"], &place, &mut of_op);
        places.extend(of_op.into_iter().map(|place| (op["op"].as_str().unwrap_or_default().to_owned(), place)));
    }
    places
}

/// With another wanted value a case fails: there is nothing in any file that is looked at by nobody. Where a rule says that something else is wanted
/// it may pass once or twice.
#[test]
fn whatever_is_wanted_is_compared() {
    let mut idle = Vec::new();
    for (name, replay, cases) in files() {
        let mut tried: BTreeMap<String, (usize, bool)> = BTreeMap::new();
        for case in cases {
            for (op, place) in places(&case) {
                let shape = format!("{op} {}", shape(&place));
                if INFORMATION.iter().any(|information| shape.ends_with(information)) {
                    continue;
                }
                let (tries, compared) = tried.entry(shape).or_default();
                if *compared || *tries == 20 {
                    continue;
                }
                let mut changed = case.clone();
                let value = changed.pointer_mut(&place).expect("something is wanted there");
                *value = another(value);
                *tries += 1;
                *compared = !failures(replay, &changed).is_empty();
            }
        }
        assert!(!tried.is_empty(), "{name}: nothing is wanted");
        idle.extend(
            tried.into_iter().filter(|(_, (_, compared))| !compared).map(|(shape, _)| format!("{name}: {shape}")),
        );
    }
    assert!(idle.is_empty(), "nobody looks at {idle:#?}");
}

#[test]
fn an_unknown_operation_fails() {
    for (name, replay, cases) in files() {
        for mut case in cases.into_iter().filter(|case| case["ops"].is_array()).take(3) {
            case["ops"][0]["op"] = json!("dance");
            assert!(!failures(replay, &case).is_empty(), "{name}");
        }
    }
}

#[test]
fn an_unknown_file_an_empty_one_and_one_that_cannot_be_read_fail() {
    let directory = std::env::temp_dir().join(format!("sanskube-conformance-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("it can be made");
    let case = json!({"id": "a", "ops": []}).to_string();
    for (name, text) in [
        ("dances.jsonl", &*case),
        ("keys.jsonl", ""),
        ("keys.jsonl.gz", &*case),
        ("backoff.jsonl", "{"),
        ("keys.json", ""),
    ] {
        let file = directory.join(name);
        std::fs::write(&file, text).expect("it can be written");
        assert!(!run_directory(&directory), "{name}");
        let mut told = Vec::new();
        assert!(!tell_file(&file, &mut told).expect("memory can be written to"), "{name}");
        // Whoever adds the lines up counts every file.
        let told = String::from_utf8(told).expect("it is text");
        let line = told.lines().last().expect("a file has a line");
        assert!(line.contains(" passed, ") && line.contains(" failed"), "{name}: {told}");
        std::fs::remove_file(file).expect("it can be removed");
    }
    assert!(!run_directory(&directory), "nothing is there");
    std::fs::remove_dir(&directory).expect("it is empty");
    assert!(!run_directory(&directory), "not even a directory");
}
