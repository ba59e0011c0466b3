//! The histogram: how often something was how large, in fixed steps.

use core::time::Duration;

/// The steps of a histogram: upper bounds in rising order, beside infinity.
pub type Bounds = &'static [f64];

/// The most bounds that a histogram may have.
const BOUNDS_MAX: usize = 15;

/// How often something was how large, in fixed steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    bounds: Bounds,
    /// How often a value was above the bound before and not above this one. The last is that beyond all bounds.
    counts: [u64; BOUNDS_MAX + 1],
    sum: f64,
}

impl Histogram {
    /// Powers of ten from 10 ns to 1000 s, in seconds: those of client-go's work queues (`util/workqueue/metrics.go`).
    pub const WORKQUEUE: Bounds = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0];
    /// 5 ms to 60 s, in seconds: those of client-go's requests (component-base `metrics/prometheus/restclient`).
    pub const REQUEST: Bounds = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

    /// An empty one. Of the bounds the first 15 count.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds: &bounds[..bounds.len().min(BOUNDS_MAX)], counts: [0; BOUNDS_MAX + 1], sum: 0.0 }
    }

    /// Counts a time, in seconds.
    pub fn observe(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        let at = self.bounds.iter().position(|bound| seconds <= *bound).unwrap_or(self.bounds.len());
        self.counts[at] = self.counts[at].saturating_add(1);
        self.sum += seconds;
    }

    /// Each bound, and how many values are not above it.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let mut sum = 0u64;
        self.bounds.iter().zip(&self.counts).map(move |(bound, count)| {
            sum = sum.saturating_add(*count);
            (*bound, sum)
        })
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The sum of all values.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_its_bound_and_all_above() {
        let mut histogram = Histogram::new(&[0.125, 1.0]);
        for millis in [125, 250, 1000, 5000] {
            histogram.observe(Duration::from_millis(millis));
        }
        assert_eq!(histogram.cumulative().collect::<alloc::vec::Vec<_>>(), [(0.125, 1), (1.0, 3)]);
        assert_eq!((histogram.count(), histogram.sum()), (4, 6.375));
    }
}
