//! The `LabelSelector` of the API.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer};

use super::Selector;
use super::error::{Fault, SelectorError};
use super::requirement::{Operator, Requirement};
use crate::object::labels::Labels;
use crate::object::lenient::{Text, nullable};

/// A label selector as it stands in a spec (`metav1.LabelSelector`).
///
/// Nothing is checked before it is turned into a [`Selector`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must be there with these values.
    pub match_labels: Labels,
    /// Further requirements.
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// An entry of `matchExpressions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelectorRequirement {
    /// The key of the label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`; anything else is refused when a [`Selector`] is made.
    pub operator: String,
    /// The values for `In` and `NotIn`.
    pub values: Vec<String>,
}

impl<'de> Deserialize<'de> for LabelSelectorRequirement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire: RequirementWire<'de> = nullable(deserializer)?;
        Ok(Self {
            key: wire.key.0.into_owned(),
            operator: wire.operator.0.into_owned(),
            values: wire.values.into_iter().map(|value| value.0.into_owned()).collect(),
        })
    }
}

/// An entry of `matchExpressions` as it stands in JSON.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RequirementWire<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow)]
    operator: Text<'a>,
    #[serde(borrow, deserialize_with = "nullable")]
    values: Vec<Text<'a>>,
}

impl TryFrom<&LabelSelector> for Selector {
    type Error = SelectorError;

    /// The empty `LabelSelector` selects everything.
    ///
    /// Mirrors apimachinery `pkg/apis/meta/v1/helpers.go`, `LabelSelectorAsSelector`.
    fn try_from(selector: &LabelSelector) -> Result<Self, SelectorError> {
        let mut requirements = Vec::with_capacity(selector.match_labels.len() + selector.match_expressions.len());
        for (key, value) in selector.match_labels.iter() {
            requirements.push(Requirement::new(key, Operator::Equals, [value])?);
        }
        for expression in &selector.match_expressions {
            let operator = match &*expression.operator {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(Fault::InvalidOperator(other.into()).into()),
            };
            requirements.push(Requirement::new(&expression.key, operator, &expression.values)?);
        }
        Ok(Self::new(requirements))
    }
}

impl TryFrom<Option<&LabelSelector>> for Selector {
    type Error = SelectorError;

    /// An absent `LabelSelector` selects nothing.
    fn try_from(selector: Option<&LabelSelector>) -> Result<Self, SelectorError> {
        selector.map_or_else(|| Ok(Self::nothing()), Self::try_from)
    }
}
