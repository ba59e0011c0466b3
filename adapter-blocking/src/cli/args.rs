//! The arguments.

use std::path::PathBuf;

use clap::{Args as Arguments, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use log::LevelFilter;
use sanskube::key::Key;
use sanskube::manager::Config;
use sanskube::object::ReplicaSetKind;
use sanskube::object::validation::is_dns_label;
use sanskube::rand::SplitMix64;
use sanskube_access::Wish;

use super::controller;
use super::logging::Format;
use super::options::{ClientOptions, ControllerOptions, ElectionOptions, RecordOptions, StatusOptions};
use super::replay::{self, Until};

/// What the flags about logging stand under.
const LOGGING: &str = "Logging";
/// What the flags that say which cluster it is stand under.
const CLUSTER: &str = "Cluster";

/// A ReplicaSet controller without tokio, and a demonstration of it.
#[derive(Debug, Parser)]
#[command(name = "sanskube", version)]
pub(super) struct Args {
    /// How much to say on stderr: off, error, warn, info, debug or trace. Default: info; demo: warn; replay: off.
    #[arg(long, global = true, env = "SANSKUBE_LOG_LEVEL", value_name = "LEVEL", help_heading = LOGGING)]
    pub(super) log_level: Option<LevelFilter>,
    /// How to say it.
    #[arg(
        long,
        global = true,
        env = "SANSKUBE_LOGGING_FORMAT",
        value_name = "FORMAT",
        value_enum,
        default_value_t,
        help_heading = LOGGING
    )]
    pub(super) logging_format: Format,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Prints a script that lets a shell complete these commands and flags.
    Completions {
        /// The shell.
        shell: Shell,
    },
    #[cfg(feature = "demo")]
    Demo(DemoArgs),
    Replay(ReplayArgs),
    Run(Box<RunArgs>),
    #[cfg(feature = "demo")]
    Serve(ServeArgs),
}

impl Command {
    /// The log level that suits the command.
    pub(super) fn log_level(&self) -> LevelFilter {
        match self {
            #[cfg(feature = "demo")]
            Self::Demo(_) => LevelFilter::Warn,
            // What the core said when it was recorded it would say again.
            Self::Replay(_) => LevelFilter::Off,
            _ => LevelFilter::Info,
        }
    }
}

/// Plays a story: an API server, a pretend kubelet and the controller, over real HTTP on this machine, checked step by step.
#[cfg(feature = "demo")]
#[derive(Debug, Arguments)]
pub(super) struct DemoArgs {
    /// Print plain lines, one a step, even on a terminal.
    #[arg(long)]
    pub(super) plain: bool,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
}

/// What the API server does to the controller.
#[cfg(feature = "demo")]
#[derive(Clone, Debug, Default, Arguments)]
pub(super) struct FaultArgs {
    /// Close every watch after this many milliseconds.
    #[arg(long, value_name = "MS")]
    pub(super) close_watches_after: Option<u64>,
    /// Cut one watch in N in the middle of a frame. 0 for none.
    #[arg(long, value_name = "N")]
    pub(super) cut_watches: Option<u32>,
}

/// Runs the controllers against a cluster until it is told to stop.
///
/// The cluster is the first of: --server, --kubeconfig, the files in $KUBECONFIG or else ~/.kube/config, the service account of the pod this runs in.
#[derive(Debug, Arguments)]
pub(super) struct RunArgs {
    /// The URL of the API server, to be used without credentials.
    #[arg(long, env = "SANSKUBE_SERVER", value_name = "URL", conflicts_with_all = ["kubeconfig", "context", "master"], help_heading = CLUSTER)]
    server: Option<String>,
    /// The URL of the API server, instead of the one in the kubeconfig.
    #[arg(long, env = "SANSKUBE_MASTER", value_name = "URL", help_heading = CLUSTER)]
    master: Option<String>,
    /// The kubeconfig file to use.
    #[arg(long, env = "SANSKUBE_KUBECONFIG", value_name = "FILE", help_heading = CLUSTER)]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use instead of its current one.
    #[arg(long, env = "SANSKUBE_CONTEXT", value_name = "NAME", help_heading = CLUSTER)]
    context: Option<String>,
    /// Look after this namespace only. Default: all.
    #[arg(long, env = "SANSKUBE_NAMESPACE", value_name = "NAME", value_parser = namespace, help_heading = "Controllers")]
    pub(super) namespace: Option<String>,
    /// Exit as soon as every set has all its pods ready.
    #[arg(long, env = "SANSKUBE_ONCE", help_heading = "Controllers")]
    pub(super) once: bool,
    /// The controllers to run.
    #[arg(
        long,
        env = "SANSKUBE_CONTROLLERS",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "replicaset,replicationcontroller",
        help_heading = "Controllers"
    )]
    controllers: Vec<ControllerName>,
    #[command(flatten)]
    pub(super) options: ControllerOptions,
    #[command(flatten)]
    client: ClientOptions,
    #[command(flatten)]
    election: ElectionOptions,
    #[command(flatten)]
    pub(super) record: RecordOptions,
    #[command(flatten)]
    pub(super) status: StatusOptions,
}

impl RunArgs {
    /// Which cluster is asked for.
    pub(super) fn wish(&self) -> Wish {
        Wish {
            server: self.server.clone(),
            master: self.master.clone(),
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
        }
    }

    /// What the controllers are asked to do.
    ///
    /// # Errors
    /// Flags contradict each other.
    pub(super) fn config(&self) -> Result<Config, String> {
        let seed = controller::seed();
        // A dry run does nothing, and so need not wait for a lease, which would be a write.
        let election = if self.options.dry_run { None } else { self.election.election(seed)? };
        let mut config = Config {
            kinds: self.kinds(),
            namespace: self.namespace.clone().unwrap_or_default(),
            client_limits: self.client.limits(),
            encoding: self.client.encoding(),
            election,
            seed,
            ..Config::default()
        };
        self.client.apply(&mut config.limits);
        self.options.apply(&mut config, SplitMix64::new(seed).next_unit());
        Ok(config)
    }

    /// The kinds of sets to look after.
    pub(super) fn kinds(&self) -> Vec<ReplicaSetKind> {
        self.controllers.iter().map(|name| name.kind()).collect()
    }

    /// What it is all for, in words.
    pub(super) fn purpose(&self) -> String {
        let kinds: Vec<_> = self.kinds().iter().map(|kind| &*kind.resource().plural).collect();
        let place =
            self.namespace.as_ref().map_or_else(|| "all namespaces".into(), |name| format!("the namespace {name}"));
        format!("controlling {} in {place}", kinds.join(" and "))
    }
}

/// The name of a namespace. Any other text would end up in paths, where the server finds nothing or something else.
fn namespace(name: &str) -> Result<String, String> {
    if is_dns_label(name) {
        return Ok(name.into());
    }
    Err("the name of a namespace is 1 to 63 lower-case letters, digits and '-', the first and the last of them no '-'"
        .into())
}

/// A controller, by the name that kube-controller-manager's `--controllers` has for it, with or without `-controller` at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(super) enum ControllerName {
    #[value(alias = "replicaset-controller")]
    ReplicaSet,
    #[value(alias = "replicationcontroller-controller")]
    ReplicationController,
}

impl ControllerName {
    fn kind(self) -> ReplicaSetKind {
        match self {
            Self::ReplicaSet => ReplicaSetKind::ReplicaSet,
            Self::ReplicationController => ReplicaSetKind::ReplicationController,
        }
    }
}

/// Runs the controllers again over what `sanskube run --record` has written, offline, and says what they did and why.
///
/// It proves that they do the same to the bit, or says where they do not, and then exits with status 1.
#[derive(Debug, Arguments)]
pub(super) struct ReplayArgs {
    /// The recording. One that has no end (the process was killed, or still runs) is replayed as far as it goes.
    pub(super) file: PathBuf,
    /// Stop after this step (as in #12), or before this time (RFC 3339), and say how things were then.
    #[arg(long, value_name = "STEP|TIME", value_parser = replay::until)]
    pub(super) until: Option<Until>,
    /// Say only what is about this set or pod.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = replay::key)]
    pub(super) key: Option<Key>,
    /// Write a page to step through in a browser instead, as one file that needs nothing else.
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
}

/// Runs the in-memory API server and a pretend kubelet until it is told to stop.
#[cfg(feature = "demo")]
#[derive(Debug, Arguments)]
pub(super) struct ServeArgs {
    /// The port on 127.0.0.1 to listen on; 0 for any free one.
    #[arg(long, value_name = "N", default_value_t = 8080)]
    pub(super) port: u16,
    #[command(flatten)]
    pub(super) faults: FaultArgs,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use sanskube::election::Timing;
    use sanskube::manager::ClientLimits;

    use super::*;

    fn run_args(line: &str) -> Result<RunArgs, clap::Error> {
        let args = Args::try_parse_from(line.split(' '))?;
        let Command::Run(options) = args.command else { panic!("it is run") };
        Ok(*options)
    }

    #[test]
    fn the_arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn both_controllers_run_unless_told_otherwise() {
        use ControllerName::{ReplicaSet, ReplicationController};
        assert_eq!(run_args("sanskube run").unwrap().controllers, [ReplicaSet, ReplicationController]);
        assert_eq!(run_args("sanskube run --controllers replicaset").unwrap().controllers, [ReplicaSet]);
        assert_eq!(run_args("sanskube run --controllers replicaset-controller").unwrap().controllers, [ReplicaSet]);
        assert!(run_args("sanskube run --controllers deployment").is_err());
    }

    #[test]
    fn a_namespace_is_a_dns_label() {
        assert_eq!(run_args("sanskube run --namespace team-1").unwrap().namespace.as_deref(), Some("team-1"));
        for wrong in ["Team", "a.b", "a/b", "-a", "a-", "..", "", &"a".repeat(64)] {
            let error = run_args(&format!("sanskube run --namespace={wrong}")).unwrap_err().to_string();
            assert!(error.contains("--namespace") && error.contains("1 to 63 lower-case letters"), "{error}");
        }
    }

    #[test]
    fn a_server_named_outright_excludes_a_kubeconfig() {
        let wish = run_args("sanskube run --kubeconfig f --context c").unwrap().wish();
        assert_eq!((wish.kubeconfig, wish.context.as_deref()), (Some("f".into()), Some("c")));
        assert_eq!(run_args("sanskube run --server http://s").unwrap().wish().server.as_deref(), Some("http://s"));
        assert!(run_args("sanskube run --server http://s --kubeconfig f").is_err());
    }

    #[test]
    fn the_defaults_are_those_of_kube_controller_manager_but_for_the_election() {
        let config = run_args("sanskube run").unwrap().config().unwrap();
        assert_eq!(config.client_limits, Some(ClientLimits { qps: 20.0, burst: 30 }));
        assert_eq!((config.limits.concurrent_syncs, config.limits.concurrent_rc_syncs), (5, 5));
        assert!(!config.dry_run);
        let args = "sanskube run --concurrent-replicaset-syncs 7 --concurrent-rc-syncs 3";
        let limits = run_args(args).unwrap().config().unwrap().limits;
        assert_eq!((limits.concurrent_syncs, limits.concurrent_rc_syncs), (7, 3));
        assert!(config.resync_period.as_secs() >= 43_200 && config.resync_period.as_secs() <= 86_400);
        assert_eq!(config.election, None);
        let elected = run_args("sanskube run --leader-elect").unwrap().config().unwrap().election.unwrap();
        assert_eq!(
            (&*elected.namespace, &*elected.name, elected.timing),
            ("kube-system", "sanskube", Timing::default())
        );
        assert!(run_args("sanskube run --leader-elect=false").unwrap().config().unwrap().election.is_none());
    }

    #[test]
    fn flags_that_contradict_each_other_are_refused() {
        let args = "sanskube run --leader-elect --leader-elect-lease-duration 5s";
        assert!(run_args(args).unwrap().config().unwrap_err().contains("greater than the renew deadline"));
        for wrong in [
            "--selector ==",
            "--concurrent-rc-syncs 0",
            "--concurrent-replicaset-syncs 0",
            "--kube-api-burst 0",
            "--min-resync-period 1",
        ] {
            assert!(run_args(&format!("sanskube run {wrong}")).is_err(), "{wrong}");
        }
        assert_eq!(run_args("sanskube run --kube-api-qps -1").unwrap().config().unwrap().client_limits, None);
        // What writes nothing needs no lease, which would be a write.
        assert!(run_args("sanskube run --dry-run --leader-elect").unwrap().config().unwrap().election.is_none());
    }
}
