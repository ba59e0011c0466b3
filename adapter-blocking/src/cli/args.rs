//! The arguments.

use std::path::PathBuf;

use clap::{Args as Arguments, Parser, Subcommand, ValueEnum};
use log::LevelFilter;
use sanskube::object::ReplicaSetKind;

use crate::access::Wish;

/// A ReplicaSet controller without tokio, and a demonstration of it.
#[derive(Debug, Parser)]
#[command(name = "sanskube", version)]
pub(super) struct Args {
    /// How much to say on stderr: off, error, warn, info, debug or trace.
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(super) log_level: Option<LevelFilter>,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    #[cfg(feature = "demo")]
    Demo(DemoArgs),
    Run(RunArgs),
    #[cfg(feature = "demo")]
    Serve(ServeArgs),
}

impl Command {
    /// The log level that suits the command.
    pub(super) fn log_level(&self) -> LevelFilter {
        match self {
            #[cfg(feature = "demo")]
            Self::Demo(_) => LevelFilter::Warn,
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
    /// Cut one watch in N in the middle of a frame.
    #[arg(long, value_name = "N")]
    pub(super) cut_watches: Option<u32>,
}

/// Runs the controllers against a cluster until it is told to stop.
///
/// The cluster is the first of: --server, --kubeconfig, the files in $KUBECONFIG, the service account of the pod this runs in, ~/.kube/config.
#[derive(Debug, Arguments)]
pub(super) struct RunArgs {
    /// The URL of the API server, to be used without credentials.
    #[arg(long, value_name = "URL", conflicts_with_all = ["kubeconfig", "context"])]
    server: Option<String>,
    /// The kubeconfig file to use.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use instead of its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Look after this namespace only. Default: all.
    #[arg(long, value_name = "NAME")]
    pub(super) namespace: Option<String>,
    /// Exit as soon as every set has all its pods ready.
    #[arg(long)]
    pub(super) once: bool,
    /// The controllers to run.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "replicaset,replicationcontroller")]
    controllers: Vec<ControllerName>,
}

impl RunArgs {
    /// Which cluster is asked for.
    pub(super) fn wish(&self) -> Wish {
        Wish { server: self.server.clone(), kubeconfig: self.kubeconfig.clone(), context: self.context.clone() }
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

/// A controller, by the name that kube-controller-manager's `--controllers` has for it, without `-controller`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(super) enum ControllerName {
    ReplicaSet,
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

    use super::*;

    fn run_args(line: &str) -> Result<RunArgs, clap::Error> {
        let args = Args::try_parse_from(line.split(' '))?;
        let Command::Run(options) = args.command else { panic!("it is run") };
        Ok(options)
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
        assert!(run_args("sanskube run --controllers deployment").is_err());
    }

    #[test]
    fn a_server_named_outright_excludes_a_kubeconfig() {
        let wish = run_args("sanskube run --kubeconfig f --context c").unwrap().wish();
        assert_eq!((wish.kubeconfig, wish.context.as_deref()), (Some("f".into()), Some("c")));
        assert_eq!(run_args("sanskube run --server http://s").unwrap().wish().server.as_deref(), Some("http://s"));
        assert!(run_args("sanskube run --server http://s --kubeconfig f").is_err());
    }
}
