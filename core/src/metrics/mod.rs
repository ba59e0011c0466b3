//! Metrics: what has happened so often or took so long, as numbers that somebody asks for.
//!
//! Stages count; nothing is registered anywhere and nothing is global. Who wants to know asks a machine for its families and writes them
//! down, for one as [`Text`]. The names are those of client-go, `k8s.io/component-base/metrics` and the controller manager, so that dashboards and
//! alerts keep working.

mod histogram;
mod text;

use alloc::borrow::Cow;
use alloc::vec::Vec;

pub use histogram::{Bounds, Histogram};
pub use text::Text;

/// All samples of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name, such as `workqueue_depth`.
    pub name: &'static str,
    /// What it counts or measures, in one line.
    pub help: &'static str,
    /// How its samples behave.
    pub kind: Kind,
    /// The samples.
    pub samples: Vec<Sample>,
}

/// How the samples of a family behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They only grow.
    Counter,
    /// They go up and down.
    Gauge,
    /// They are [`Value::Histogram`].
    Histogram,
}

/// One number, or one histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What tells it from the others of its family.
    pub labels: Labels,
    /// What it is.
    pub value: Value,
}

/// Names and values of labels.
pub type Labels = Vec<(&'static str, Cow<'static, str>)>;

/// What a sample is.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number of something.
    Count(u64),
    /// How often something was how large.
    Histogram(Histogram),
    /// A measure, in the unit that the name ends with.
    Number(f64),
}

impl Family {
    /// A family without samples.
    pub const fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, help, kind, samples: Vec::new() }
    }

    /// The family with one more sample.
    #[must_use]
    pub fn with(mut self, labels: Labels, value: Value) -> Self {
        self.samples.push(Sample { labels, value });
        self
    }
}
