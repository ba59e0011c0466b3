//! A cluster in this process: the in-memory API server and its pretend kubelet, on a loopback port.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, SystemTime};

use sanskube_apiserver::kubelet::KubeletConfig;
use sanskube_apiserver::{Config, Server, ServerConfig};

use super::args::FaultArgs;

/// In which frame of a watch it is cut.
const CUT_IN_FRAME: u32 = 2;

/// How long pods take to get ready and to end.
#[derive(Clone, Copy)]
pub(super) enum Pace {
    /// As short as the kubelet can.
    Quick,
    /// So long that one can watch.
    Watchable,
}

impl Pace {
    fn kubelet(self) -> KubeletConfig {
        match self {
            Self::Quick => KubeletConfig::default(),
            Self::Watchable => KubeletConfig {
                bind_after: Duration::from_millis(100),
                run_after: Duration::from_millis(200),
                ready_after: Duration::from_millis(300),
                terminate_after: Duration::from_millis(400),
                ..KubeletConfig::default()
            },
        }
    }
}

/// Starts a cluster on a port of 127.0.0.1; any free one if it is 0.
///
/// # Errors
/// The port is taken, or no thread can be started.
pub(super) fn start(port: u16, faults: &FaultArgs, pace: Pace) -> io::Result<Server> {
    Server::start(ServerConfig {
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        api: Config { first_version: first_version(), ..Config::default() },
        kubelet: Some(pace.kubelet()),
        close_watches_after: faults.close_watches_after.map(Duration::from_millis),
        cut_watches: faults.cut_watches.map(|one_in| (one_in, CUT_IN_FRAME)),
        ..ServerConfig::default()
    })
}

/// Milliseconds since 1970: later than where a cluster of an earlier process has come to, so that who watched that one is told to list anew
/// instead of waiting for a version that is long to come.
fn first_version() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default().max(Config::default().first_version)
}
