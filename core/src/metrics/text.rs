//! Prometheus' text format.

use core::fmt::{self, Display, Write};

use super::{Family, Kind, Labels, Value};

/// Writes families in Prometheus' text format, version 0.0.4 (`text/plain; version=0.0.4`). Families without samples are left out.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(pub &'a [Family]);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for family in self.0.iter().filter(|family| !family.samples.is_empty()) {
            let (name, kind) = (family.name, kind(family.kind));
            writeln!(f, "# HELP {name} {}\n# TYPE {name} {kind}", Escaped(family.help, false))?;
            for sample in &family.samples {
                let labels = &sample.labels;
                match &sample.value {
                    Value::Count(count) => writeln!(f, "{name}{} {count}", Braces(labels, None))?,
                    // The sum of nothing is -0, which is right and looks wrong.
                    Value::Number(number) => writeln!(f, "{name}{} {}", Braces(labels, None), number + 0.0)?,
                    Value::Histogram(histogram) => {
                        for (bound, count) in histogram.cumulative() {
                            writeln!(f, "{name}_bucket{} {count}", Braces(labels, Some(bound)))?;
                        }
                        let count = histogram.count();
                        writeln!(f, "{name}_bucket{} {count}", Braces(labels, Some(f64::INFINITY)))?;
                        writeln!(f, "{name}_sum{} {}", Braces(labels, None), histogram.sum())?;
                        writeln!(f, "{name}_count{} {count}", Braces(labels, None))?;
                    }
                }
            }
        }
        Ok(())
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    }
}

/// Labels in braces, with the bound of a bucket as one more; nothing if there are none.
struct Braces<'a>(&'a Labels, Option<f64>);

impl Display for Braces<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = '{';
        for (name, value) in self.0 {
            write!(f, "{before}{name}=\"{}\"", Escaped(value, true))?;
            before = ',';
        }
        match self.1 {
            Some(bound) if bound.is_infinite() => write!(f, "{before}le=\"+Inf\"}}"),
            Some(bound) => write!(f, "{before}le=\"{bound}\"}}"),
            None if before == ',' => f.write_char('}'),
            None => Ok(()),
        }
    }
}

/// Text with backslashes and line ends escaped, and quotes if it stands in some.
struct Escaped<'a>(&'a str, bool);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '"' if self.1 => f.write_str("\\\"")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use core::time::Duration;

    use super::*;
    use crate::metrics::Histogram;

    #[test]
    fn families_are_written_as_prometheus_reads_them() {
        let mut histogram = Histogram::new(&[0.5, 1.0]);
        histogram.observe(Duration::from_millis(750));
        let families = [
            Family::new("workqueue_depth", Kind::Gauge, "Keys that wait.")
                .with(alloc::vec![("name", "replicaset".into())], Value::Count(3)),
            Family::new("nothing", Kind::Counter, "Left out."),
            Family::new("odd", Kind::Counter, "A \\ and a \"\nquote.")
                .with(alloc::vec![("a", "\"\\\n".into()), ("b", "".into())], Value::Number(0.25)),
            Family::new("up", Kind::Gauge, "Plain.").with(alloc::vec![], Value::Count(1)),
            Family::new("unfinished", Kind::Gauge, "None.").with(alloc::vec![], Value::Number([0.0; 0].iter().sum())),
            Family::new("time_seconds", Kind::Histogram, "Time.")
                .with(alloc::vec![("name", "q".into())], Value::Histogram(histogram)),
        ];
        let lines = "\
# HELP workqueue_depth Keys that wait.
# TYPE workqueue_depth gauge
workqueue_depth{name=\"replicaset\"} 3
# HELP odd A \\\\ and a \"\\nquote.
# TYPE odd counter
odd{a=\"\\\"\\\\\\n\",b=\"\"} 0.25
# HELP up Plain.
# TYPE up gauge
up 1
# HELP unfinished None.
# TYPE unfinished gauge
unfinished 0
# HELP time_seconds Time.
# TYPE time_seconds histogram
time_seconds_bucket{name=\"q\",le=\"0.5\"} 0
time_seconds_bucket{name=\"q\",le=\"1\"} 1
time_seconds_bucket{name=\"q\",le=\"+Inf\"} 1
time_seconds_sum{name=\"q\"} 0.75
time_seconds_count{name=\"q\"} 1
";
        assert_eq!(Text(&families).to_string(), lines);
    }
}
