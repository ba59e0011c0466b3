//! An entry of a kubeconfig: a name and a body that nobody has looked at yet.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::access::{FilePath, Source};
use super::error::KubeconfigError;

/// The entries of one kind, by name.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// What one entry is called, such as `"cluster"`.
    kind: &'static str,
    entries: BTreeMap<String, Entry>,
}

/// An entry as it was read. It is looked into only when it is used, so that an odd one nobody uses harms nobody.
#[derive(Clone)]
struct Entry {
    file: String,
    body: Value,
}

impl core::fmt::Debug for Entry {
    /// Where it stands, never what is in it: it may hold secrets.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.file)
    }
}

impl Section {
    /// Reads the section from `value`, a list of `{name, <kind>}`. Entries without a name cannot be used and are left out; of
    /// entries of one name the first counts.
    pub(super) fn read(kind: &'static str, file: &str, value: Value) -> Result<Self, KubeconfigError> {
        let list = match value {
            Value::Null => Vec::new(),
            Value::Array(list) => list,
            _ => {
                let problem = format!("{kind}s must be a list");
                return Err(KubeconfigError { file: file.into(), entry: String::new(), problem });
            }
        };
        let mut section = Self { kind, entries: BTreeMap::new() };
        for mut named in list {
            let Some(name) = named.get("name").and_then(Value::as_str).map(String::from) else { continue };
            let body = named.get_mut(kind).map_or(Value::Null, Value::take);
            section.add(name, Entry { file: file.into(), body });
        }
        Ok(section)
    }

    /// Adds the entries of `later` that have a new name.
    pub(super) fn merge(&mut self, later: Self) {
        for (name, entry) in later.entries {
            self.add(name, entry);
        }
    }

    fn add(&mut self, name: String, entry: Entry) {
        if let btree_map::Entry::Vacant(vacant) = self.entries.entry(name) {
            vacant.insert(entry);
        }
    }

    /// The names of the entries, sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The entry of this name, to be looked into.
    pub(super) fn find(&self, name: &str) -> Option<Found> {
        let Entry { file, body } = self.entries.get(name)?.clone();
        Some(Found { file, entry: format!("{} {name:?}", self.kind), body })
    }
}

/// An entry that is looked into.
pub(super) struct Found {
    file: String,
    entry: String,
    body: Value,
}

impl Found {
    /// The text of a field; none where it is absent, null or, as for Go, empty.
    pub(super) fn text(&mut self, field: &str) -> Result<Option<String>, KubeconfigError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(_) => Err(self.error(format!("{field} must be a string: put it in quotes"))),
        }
    }

    /// A field that is true or false; false where it is absent or null.
    pub(super) fn flag(&mut self, field: &str) -> Result<bool, KubeconfigError> {
        match self.value(field) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(self.error(format!("{field} must be true or false"))),
        }
    }

    /// A field of any type; none where it is absent or null. The body itself may be absent, too.
    pub(super) fn value(&mut self, field: &str) -> Option<Value> {
        self.body.get_mut(field).map(Value::take).filter(|value| !value.is_null())
    }

    /// The bytes of a pair of fields such as `client-key-data` and `client-key`. The data win, as the fields' docs say
    /// (client-go `tools/clientcmd/api/types.go`).
    pub(super) fn source(&mut self, field: &str) -> Result<Option<Source>, KubeconfigError> {
        let Some(mut data) = self.text(&format!("{field}-data"))? else {
            return Ok(self.text(field)?.map(|path| Source::File(self.file(path))));
        };
        data.retain(|c| !c.is_ascii_whitespace());
        match STANDARD.decode(data) {
            Ok(bytes) => Ok(Some(Source::Data(bytes))),
            Err(_) => Err(self.error(format!("{field}-data is not base64"))),
        }
    }

    /// A file named in this entry.
    pub(super) fn file(&self, path: String) -> FilePath {
        FilePath { path, named_in: self.file.clone() }
    }

    /// An error about this entry.
    pub(super) fn error(&self, problem: impl Into<String>) -> KubeconfigError {
        KubeconfigError { file: self.file.clone(), entry: self.entry.clone(), problem: problem.into() }
    }
}
