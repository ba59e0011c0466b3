//! This process, as the system knows it.

use std::fs::{read_dir, read_to_string};
use std::hash::{DefaultHasher, Hasher as _};

use sanskube::metrics::{Family, Kind, Value};

/// The name of this machine, or of this pod; `localhost` if it has none.
pub(super) fn host_name() -> String {
    let known = read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    known.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".into())
}

/// This program, its version, and a number that no other build has, as good as certainly.
pub(super) fn build() -> String {
    let program = std::env::current_exe().and_then(std::fs::read);
    let mut hasher = DefaultHasher::new();
    let build = program.map(|program| {
        hasher.write(&program);
        format!(" ({:016x})", hasher.finish())
    });
    format!("sanskube {}{}", env!("CARGO_PKG_VERSION"), build.unwrap_or_default())
}

/// What Prometheus' clients tell of a process, as far as the system has a `/proc`.
pub(super) fn metrics() -> Vec<Family> {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let number = |field: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
    };
    let gauge = |name, help, value: Option<u64>| {
        let family = Family::new(name, Kind::Gauge, help);
        match value {
            Some(value) => family.with(Vec::new(), Value::Count(value)),
            None => family,
        }
    };
    let files = read_dir("/proc/self/fd").ok().and_then(|files| u64::try_from(files.count()).ok());
    vec![
        gauge("process_resident_memory_bytes", "Memory in use.", number("VmRSS").map(|kb| kb.saturating_mul(1024))),
        gauge("process_threads", "Threads.", number("Threads")),
        gauge("process_open_fds", "Open files and sockets.", files),
        Family::new("sanskube_build_info", Kind::Gauge, "The version of this program.")
            .with(vec![("version", env!("CARGO_PKG_VERSION").into())], Value::Count(1)),
    ]
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_host_memory_threads_and_files() {
        assert!(!host_name().is_empty());
        for family in metrics() {
            assert!(matches!(family.samples[0].value, Value::Count(1..)), "{family:?}");
        }
    }
}
