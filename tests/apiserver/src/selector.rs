//! Label and field selectors (apimachinery `pkg/labels/selector.go`, `pkg/fields/selector.go`).

use serde_json::Value;

use crate::error::{ApiError, Cause};
use crate::kind::Kind;
use crate::store::{Obj, Object};
use crate::strategy::meta;

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

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(w) => w,
            Self::Symbol(s) => s,
            Self::End => "",
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

impl Lexer<'_> {
    fn next(&mut self) -> Token {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if let Some(symbol) = SYMBOLS.iter().find(|s| self.rest.starts_with(**s)) {
            self.rest = &self.rest[symbol.len()..];
            return Token::Symbol(symbol);
        }
        let stop = |c: char| " \t\r\n=!(),><".contains(c);
        let end = self.rest.find(stop).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if word.is_empty() { Token::End } else { Token::Word(word.to_owned()) }
    }

    fn peek(&self) -> Token {
        Self { rest: self.rest }.next()
    }

    /// A word where an operator is no operator.
    fn values(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = Vec::new();
        loop {
            match self.next() {
                Token::Symbol(")") => break,
                Token::Word(w) => {
                    values.push(w);
                    match self.next() {
                        Token::Symbol(",") if self.peek() == Token::Symbol(")") => {
                            values.push(String::new());
                        }
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => break,
                        other => {
                            return Err(format!("found '{}', expected: ',' or ')'", other.text()));
                        }
                    }
                }
                Token::Symbol(",") => values.push(String::new()),
                other => {
                    return Err(format!("found '{}', expected: ',', ')' or identifier", other.text()));
                }
            }
        }
        Ok(values)
    }
}

fn parse_labels(text: &str) -> Result<Vec<Requirement>, String> {
    let mut lexer = Lexer { rest: text };
    let mut list = Vec::new();
    loop {
        match lexer.peek() {
            Token::Word(_) | Token::Symbol("!") => list.push(requirement(&mut lexer)?),
            Token::End => return Ok(list),
            other => {
                return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text()));
            }
        }
        match lexer.next() {
            Token::End => return Ok(list),
            Token::Symbol(",") => match lexer.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                other => {
                    return Err(format!("found '{}', expected: identifier after ','", other.text()));
                }
            },
            other => {
                return Err(format!("found '{}', expected: ',' or 'end of string'", other.text()));
            }
        }
    }
}

fn requirement(lexer: &mut Lexer<'_>) -> Result<Requirement, String> {
    let mut token = lexer.next();
    let absent = token == Token::Symbol("!");
    if absent {
        token = lexer.next();
    }
    let Token::Word(key) = token else {
        return Err(format!("found '{}', expected: identifier", token.text()));
    };
    if let Some(fault) = meta::qualified_name_faults(&key).first() {
        return Err(format!("key: Invalid value: \"{key}\": {fault}"));
    }
    if absent {
        return Ok(Requirement { key, operator: Operator::Absent });
    }
    if matches!(lexer.peek(), Token::End | Token::Symbol(",")) {
        return Ok(Requirement { key, operator: Operator::Exists });
    }
    let token = lexer.next();
    let operator = match token.text() {
        "in" => Operator::In(lexer.values()?),
        "notin" => Operator::NotIn(lexer.values()?),
        op @ ("=" | "==" | "!=" | ">" | "<" | "gt" | "lt") => {
            let value = match lexer.peek() {
                Token::End | Token::Symbol(",") => String::new(),
                Token::Word(w) => {
                    lexer.next();
                    w
                }
                other => return Err(format!("found '{}', expected: identifier", other.text())),
            };
            match op {
                "=" | "==" => Operator::In(vec![value]),
                "!=" => Operator::NotIn(vec![value]),
                _ => {
                    let n = value.parse().map_err(|_| {
                        format!("values[0][{key}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer")
                    })?;
                    if op == ">" || op == "gt" { Operator::Greater(n) } else { Operator::Less(n) }
                }
            }
        }
        other => {
            return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
        }
    };
    if let Operator::In(values) | Operator::NotIn(values) = &operator {
        if values.is_empty() {
            return Err("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty".to_string());
        }
        for (i, v) in values.iter().enumerate() {
            if let Some(fault) = meta::label_value_faults(v).first() {
                return Err(format!("values[{i}][{key}]: Invalid value: \"{v}\": {fault}"));
            }
        }
    }
    Ok(Requirement { key, operator })
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
            _ => match kind.fields.iter().position(|(name, _)| *name == key) {
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

/// The `LabelSelector` of an object, as requirements.
fn from_label_selector(selector: &Value) -> Vec<Requirement> {
    let mut list: Vec<Requirement> = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(k, v)| {
            let value = v.as_str().unwrap_or_default().to_owned();
            Requirement { key: k.clone(), operator: Operator::In(vec![value]) }
        })
        .collect();
    for e in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let key = e.get("key").and_then(Value::as_str).unwrap_or_default().to_owned();
        let values = e
            .get("values")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect();
        let operator = match e.get("operator").and_then(Value::as_str) {
            Some("In") => Operator::In(values),
            Some("NotIn") => Operator::NotIn(values),
            Some("Exists") => Operator::Exists,
            _ => Operator::Absent,
        };
        list.push(Requirement { key, operator });
    }
    list.sort_by(|a, b| a.key.cmp(&b.key));
    list
}

/// Whether a `LabelSelector` object selects labels.
pub(crate) fn label_selector_matches(selector: &Value, labels: Option<&Obj>) -> bool {
    from_label_selector(selector).iter().all(|r| r.matches(labels.and_then(|l| l.get(&r.key)).and_then(Value::as_str)))
}

/// A `LabelSelector` object as text, as the scale subresource has it.
pub(crate) fn label_selector_text(selector: &Value) -> String {
    let terms: Vec<String> = from_label_selector(selector)
        .into_iter()
        .map(|Requirement { key, operator }| match operator {
            Operator::In(values) if values.len() == 1 => format!("{key}={}", values[0]),
            Operator::In(mut values) => {
                values.sort();
                format!("{key} in ({})", values.join(","))
            }
            Operator::NotIn(mut values) => {
                values.sort();
                format!("{key} notin ({})", values.join(","))
            }
            Operator::Exists => key,
            _ => format!("!{key}"),
        })
        .collect();
    terms.join(",")
}

/// `ValidateLabelSelector`.
pub(crate) fn validate_label_selector(selector: &Value, field: &str, causes: &mut Vec<Cause>) {
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    meta::validate_labels(labels, &format!("{field}.matchLabels"), causes);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for (i, e) in expressions.into_iter().flatten().enumerate() {
        let field = format!("{field}.matchExpressions[{i}]");
        let values = e.get("values").and_then(Value::as_array).is_some_and(|v| !v.is_empty());
        let operator = e.get("operator").and_then(Value::as_str).unwrap_or_default();
        match operator {
            "In" | "NotIn" if !values => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(format!("{field}.values"), detail));
            }
            "Exists" | "DoesNotExist" if values => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(format!("{field}.values"), detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let field = format!("{field}.operator");
                causes.push(Cause::invalid(field, &other.into(), "not a valid selector operator"));
            }
        }
        let key = e.get("key").and_then(Value::as_str).unwrap_or_default();
        meta::blame(&format!("{field}.key"), key, meta::qualified_name_faults(key), causes);
    }
}
