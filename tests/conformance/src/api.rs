//! API cases: requests and the answers that a real kube-apiserver gave.
//!
//! A case is a list of steps; what differs from run to run is a symbol in it. The answers are compared by
//! one-pass unification: a symbol is bound where it first occurs and must keep its value. In process, time is virtual:
//! waiting moves the clock.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

mod replay;
mod target;
mod unify;

pub(crate) use replay::is_watch;
pub use replay::run;
pub use target::{Http, InProcess, Target};

/// A recorded case.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name, which is its file's.
    pub name: String,
    /// What it is about.
    pub area: String,
    /// Which flags the recorded server had.
    pub profile: String,
    /// What a server must have for it.
    pub requires: Vec<String>,
    body: Value,
}

/// How a case went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No difference, or these.
    Compared(Vec<String>),
    /// Not served on purpose; why.
    NotServed(&'static str),
}

impl Case {
    fn parse(text: &[u8]) -> Result<Self, String> {
        let body: Value = serde_json::from_slice(text).map_err(|e| e.to_string())?;
        let text = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let requires = body.get("requires").and_then(Value::as_array).into_iter().flatten();
        let requires = requires.filter_map(|v| v.as_str().map(str::to_owned)).collect();
        Ok(Self { name: text("name"), area: text("area"), profile: text("profile"), requires, body })
    }

    fn steps(&self) -> &[Value] {
        self.body.get("steps").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn recorded(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.body.get("recorded").and_then(Value::as_object).into_iter().flatten()
    }

    /// Why a case asks for what is not served on purpose.
    #[must_use]
    pub fn not_served(&self) -> Option<&'static str> {
        match self.profile.as_str() {
            "nocache" => return Some("a server without a watch cache"),
            "cbor" => return Some("CBOR"),
            _ => {}
        }
        for word in &self.requires {
            match word.as_str() {
                "cbor" => return Some("CBOR"),
                "crd" => return Some("CustomResourceDefinitions"),
                "openapi" => return Some("OpenAPI of all groups"),
                "pdb" => return Some("disruption budgets"),
                "rbac" => return Some("RBAC rules"),
                _ => {}
            }
        }
        (self.name == "quota_cpu").then_some("quotas on compute resources")
    }
}

/// Reads the cases (`*.json`, `*.json.gz`) of a folder, sorted by name.
///
/// # Errors
/// What is wrong with the folder or one of its files.
pub fn load(dir: &Path) -> Result<Vec<Case>, String> {
    let entries = fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut cases = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let bytes = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let text = if name.ends_with(".json.gz") {
            let mut text = Vec::new();
            flate2::read::GzDecoder::new(bytes.as_slice())
                .read_to_end(&mut text)
                .map_err(|e| format!("{}: {e}", path.display()))?;
            text
        } else if name.ends_with(".json") {
            bytes
        } else {
            continue;
        };
        cases.push(Case::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?);
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    if cases.is_empty() { Err(format!("{}: no cases", dir.display())) } else { Ok(cases) }
}

/// Counts by area.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    not_served: usize,
}

/// Plays all cases of a folder and prints differences and a line for each area; whether all passed.
///
/// # Errors
/// A wrong command line, or a folder that cannot be read.
pub fn main(args: &[&str]) -> Result<bool, String> {
    let (mut dir, mut server, mut token, mut weak, mut only) = (None, None, "admintoken", "weaktoken", None);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().copied().ok_or_else(|| format!("{word} needs a value"));
        match *word {
            "--server" => server = Some(value()?),
            "--token" => token = value()?,
            "--weak-token" => weak = value()?,
            "--case" => only = Some(value()?),
            path if dir.is_none() && !path.starts_with('-') => dir = Some(path),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    let dir = dir.ok_or("which folder?")?;
    let mut areas: BTreeMap<String, Tally> = BTreeMap::new();
    for case in load(Path::new(dir))? {
        if only.is_some_and(|o| o != case.name) {
            continue;
        }
        let outcome = match server {
            None => run(&case, &mut InProcess::new(&case)),
            Some(url) => run(&case, &mut Http::new(url, token, weak)),
        };
        let tally = areas.entry(case.area.clone()).or_default();
        match outcome {
            Outcome::NotServed(_) => tally.not_served += 1,
            Outcome::Compared(differences) if differences.is_empty() => tally.passed += 1,
            Outcome::Compared(differences) => {
                tally.failed += 1;
                println!("{}:", case.name);
                for d in differences {
                    println!("    {d}");
                }
            }
        }
    }
    let mut lines = String::new();
    for (area, t) in &areas {
        let _ = writeln!(lines, "{area}: {} passed, {} failed, {} not served", t.passed, t.failed, t.not_served);
    }
    print!("{lines}");
    Ok(areas.values().all(|t| t.failed == 0))
}
