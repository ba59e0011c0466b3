//! Custom kinds: what a CustomResourceDefinition says about its objects
//! (`apiextensions-apiserver` `pkg/apis/apiextensions/v1/types.go`).

use serde_json::{Value, json};

use super::{Kind, Sub, kinds};
use crate::json as path;
use crate::store::Obj;

/// What a kind has that comes from a definition.
#[derive(Debug, Clone)]
pub(crate) struct Custom {
    pub(crate) list_kind: String,
    /// Its version is one that can be asked for.
    served: bool,
    /// `openAPIV3Schema`, which is told to clients and not enforced.
    pub(crate) schema: Value,
    /// Columns of tables after the name.
    pub(crate) columns: Vec<Column>,
    pub(crate) scale: Scale,
}

/// Where an object has what its Scale shows.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    pub(crate) replicas: Vec<String>,
    pub(crate) status_replicas: Vec<String>,
    /// Where it has its selector as text, if it has.
    pub(crate) selector: Vec<String>,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// `name`, `type`, `format`, `description` and `priority`.
    pub(crate) definition: Value,
    /// The simple JSON path of the cell.
    pub(crate) path: String,
}

impl Kind {
    /// Whether it can be asked for.
    pub(crate) fn is_served(&self) -> bool {
        self.custom.as_ref().is_none_or(|c| c.served)
    }
}

/// The kinds of a definition, one for each version; all of one table, which [`super::Kinds::define`] chooses.
pub(crate) fn kinds(definition: &Obj) -> Vec<Kind> {
    let spec = |key: &str| path::text(definition, &["spec", key]).to_owned();
    let name = |key: &str| path::text(definition, &["spec", "names", key]).to_owned();
    let names = |key: &str| texts(path::list(definition, &["spec", "names", key]));
    let versions = path::list(definition, &["spec", "versions"]).iter().filter_map(Value::as_object);
    let kind_of = |version: &Obj| {
        let mut subresources = Vec::new();
        if path::at(version, &["subresources", "scale"]).is_some() {
            subresources.push(Sub::Scale);
        }
        if path::at(version, &["subresources", "status"]).is_some() {
            subresources.push(Sub::Status);
        }
        let fields = path::list(version, &["selectableFields"]).iter().filter_map(|f| f.get("jsonPath")?.as_str());
        let scale = |key: &str| steps(path::text(version, &["subresources", "scale", key]));
        let base = kinds::custom(subresources);
        Kind {
            group: spec("group"),
            version: path::text(version, &["name"]).to_owned(),
            kind: name("kind"),
            resource: name("plural"),
            singular: name("singular"),
            short_names: names("shortNames"),
            categories: names("categories"),
            namespaced: spec("scope") == "Namespaced",
            fields: fields.map(|p| (p.trim_start_matches('.').to_owned(), steps(p))).collect(),
            custom: Some(Custom {
                list_kind: name("listKind"),
                served: version.get("served") == Some(&Value::Bool(true)),
                schema: path::at(version, &["schema", "openAPIV3Schema"]).cloned().unwrap_or_else(|| json!({})),
                columns: columns(version),
                scale: Scale {
                    replicas: scale("specReplicasPath"),
                    status_replicas: scale("statusReplicasPath"),
                    selector: scale("labelSelectorPath"),
                },
            }),
            ..base
        }
    };
    versions.map(kind_of).collect()
}

fn texts(list: &[Value]) -> Vec<String> {
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The keys of a path such as `.spec.replicas`.
fn steps(path: &str) -> Vec<String> {
    path.split('.').filter(|s| !s.is_empty()).map(str::to_owned).collect()
}

/// `additionalPrinterColumns`, or the one column that is there without them.
fn columns(version: &Obj) -> Vec<Column> {
    let given = path::list(version, &["additionalPrinterColumns"]);
    let column = |name: &str, ty: &str, format: &str, description: &str, priority: i64, path: &str| Column {
        definition: json!({
            "name": name, "type": ty, "format": format, "description": description, "priority": priority,
        }),
        path: path.to_owned(),
    };
    if given.is_empty() {
        let description = "CreationTimestamp is a timestamp representing the server time when this object was created.";
        return vec![column("Age", "date", "", description, 0, ".metadata.creationTimestamp")];
    }
    let given = given.iter().filter_map(Value::as_object);
    let text = |c: &Obj, key: &str| path::text(c, &[key]).to_owned();
    given
        .map(|c| {
            let description = match text(c, "description") {
                d if d.is_empty() => {
                    "Custom resource definition column (in JSONPath format): ".to_owned() + &text(c, "jsonPath")
                }
                d => d,
            };
            let priority = path::int(c, &["priority"]).unwrap_or(0);
            column(&text(c, "name"), &text(c, "type"), &text(c, "format"), &description, priority, &text(c, "jsonPath"))
        })
        .collect()
}

/// What a simple JSON path finds: `.a.b`, `.list[0].c`, `.conditions[?(@.type=="Ready")].status`, `.labels.a\.b`.
pub(crate) fn find<'a>(obj: &'a Obj, json_path: &str) -> Option<&'a Value> {
    let mut rest = json_path.trim().trim_start_matches('{').trim_end_matches('}').trim_start_matches('$');
    let mut found: Option<&Value> = None;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (inside, after) = inner.split_once(']')?;
            let list = found?.as_array()?;
            found = match inside.strip_prefix("?(@.").and_then(|c| c.strip_suffix(')')) {
                Some(condition) => {
                    let (key, wanted) = condition.split_once("==")?;
                    let wanted = wanted.trim().trim_matches(['"', '\'']);
                    list.iter().find(|v| v.get(key.trim()).and_then(Value::as_str) == Some(wanted))
                }
                None => list.get(inside.parse::<usize>().ok()?),
            };
            rest = after;
        } else {
            let key = rest.strip_prefix('.').unwrap_or(rest);
            let escaped = |i: usize| key[..i].ends_with('\\');
            let end =
                key.char_indices().find(|(i, c)| *c == '[' || *c == '.' && !escaped(*i)).map_or(key.len(), |(i, _)| i);
            if end == 0 {
                return None;
            }
            let name = key[..end].replace("\\.", ".");
            found = match found {
                None => obj.get(&name),
                Some(value) => value.get(&name),
            };
            rest = &key[end..];
        }
        found?;
    }
    found
}

/// How Kubernetes orders the versions of a group: `v2`, `v1`, `v1beta2`, `v1alpha1`, and then others by name
/// (apimachinery `pkg/version/helpers.go`, `CompareKubeAwareVersionStrings`). The larger comes first.
pub(crate) fn priority(version: &str) -> (u8, u64, u64, std::cmp::Reverse<String>) {
    let parsed = version.strip_prefix('v').and_then(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major = rest[..digits].parse().ok()?;
        let (stage, minor) = match &rest[digits..] {
            "" => return Some((3, major, 0)),
            tail if tail.starts_with("beta") => (2, &tail[4..]),
            tail if tail.starts_with("alpha") => (1, &tail[5..]),
            _ => return None,
        };
        Some((stage, major, minor.parse().ok()?))
    });
    match parsed {
        Some((stage, major, minor)) => (stage, major, minor, std::cmp::Reverse(String::new())),
        None => (0, 0, 0, std::cmp::Reverse(version.to_owned())),
    }
}

#[cfg(test)]
mod tests;
