//! Label and field selectors (apimachinery `pkg/labels/selector.go`, `pkg/fields/selector.go`).

use crate::error::ApiError;
use crate::kind::Kind;
use crate::store::Object;

mod labels;
mod object;

use labels::parse_labels;
pub(crate) use object::{label_selector_matches, label_selector_text, validate_label_selector};

/// What a label must be.
#[derive(Debug, Clone, PartialEq)]
enum Operator {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

#[derive(Debug, Clone, PartialEq)]
struct Requirement {
    key: String,
    operator: Operator,
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        match &self.operator {
            Operator::Exists => value.is_some(),
            Operator::Absent => value.is_none(),
            Operator::In(values) => value.is_some_and(|v| values.iter().any(|x| x == v)),
            Operator::NotIn(values) => value.is_none_or(|v| values.iter().all(|x| x != v)),
            Operator::Greater(n) => value.and_then(|v| v.parse::<i64>().ok()).is_some_and(|v| v > *n),
            Operator::Less(n) => value.and_then(|v| v.parse::<i64>().ok()).is_some_and(|v| v < *n),
        }
    }
}

/// A field that must be, or must not be, a value.
#[derive(Debug, Clone, PartialEq)]
struct FieldRequirement {
    field: Field,
    value: String,
    equal: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Field {
    Name,
    Namespace,
    /// Index into the kind's selectable fields.
    Other(usize),
}

/// Both selectors of a list or watch.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<FieldRequirement>,
}

impl Selector {
    /// Parses the texts of both query parameters for a kind.
    pub(crate) fn parse(kind: &Kind, labels: &str, fields: &str) -> Result<Self, ApiError> {
        let labels =
            parse_labels(labels).map_err(|e| ApiError::bad_request(format!("unable to parse requirement: {e}")))?;
        Ok(Self { labels, fields: parse_fields(kind, fields)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        let label =
            |key: &str| object.labels.binary_search_by(|(k, _)| (**k).cmp(key)).ok().map(|i| &*object.labels[i].1);
        self.labels.iter().all(|r| r.matches(label(&r.key)))
            && self.fields.iter().all(|r| {
                let value = match r.field {
                    Field::Name => &*object.key.name,
                    Field::Namespace => &*object.key.namespace,
                    Field::Other(i) => object.fields.get(i).map_or("", |v| v),
                };
                (value == r.value) == r.equal
            })
    }
}

fn parse_fields(kind: &Kind, text: &str) -> Result<Vec<FieldRequirement>, ApiError> {
    let mut list = Vec::new();
    for term in split_terms(text) {
        if term.is_empty() {
            continue;
        }
        let Some((key, value, equal)) = split_term(term) else {
            let message = format!("invalid selector: '{text}'; can't understand '{term}'");
            return Err(ApiError::bad_request(message));
        };
        let field = match key {
            "metadata.name" => Field::Name,
            "metadata.namespace" => Field::Namespace,
            _ => match kind.fields.iter().position(|(name, _)| name == key) {
                Some(i) => Field::Other(i),
                None if kind.fields.is_empty() => {
                    let message = format!(
                        "\"{key}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                    );
                    return Err(ApiError::bad_request(message));
                }
                None => {
                    return Err(ApiError::bad_request(format!("field label not supported: {key}")));
                }
            },
        };
        list.push(FieldRequirement { field, value: unescape(value), equal });
    }
    Ok(list)
}

/// Splits at commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_term(term: &str) -> Option<(&str, &str, bool)> {
    let at = term.find(['=', '!'])?;
    let (key, rest) = term.split_at(at);
    if let Some(value) = rest.strip_prefix("!=") {
        return Some((key, value, false));
    }
    let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?;
    Some((key, value, true))
}

fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or('\\') } else { c });
    }
    out
}
