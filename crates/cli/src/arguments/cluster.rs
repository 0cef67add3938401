//! Arguments of `waggle cluster`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ProgramImage;

#[derive(Debug, Subcommand)]
pub(crate) enum Cluster {
    /// Print a ServiceAccount, a Role and its binding that are enough for runs in one namespace
    Rbac(RightsOf),
    /// Print NetworkPolicies that let agents reach the runner and the system, for clusters in which traffic is denied unless it is allowed
    NetworkPolicy(NetworkPolicyOf),
    /// Make the image of this program, or of the gateway, without a container engine
    Image(ProgramImage),
}

#[derive(Debug, Args)]
pub(crate) struct RightsOf {
    /// The namespace of runs
    #[arg(long, value_name = "NAMESPACE", default_value = "waggle")]
    pub(crate) namespace: String,
    /// Also a ClusterRole that allows to read nodes and what other pods ask for: without it facts of nodes are unknown in results, and
    /// `waggle plan` cannot say what is free
    #[arg(long)]
    pub(crate) nodes: bool,
    /// Also a right to evict pods, and a ClusterRole that allows to cordon nodes: for studies whose faults drain nodes
    #[arg(long)]
    pub(crate) drain: bool,
    /// The file of a system that is manifests or a chart: also the rights for the kinds of its objects, as they are with the defaults of
    /// its parameters
    #[arg(long, value_name = "FILE")]
    pub(crate) system: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct NetworkPolicyOf {
    /// The namespace of runs
    #[arg(long, value_name = "NAMESPACE", default_value = "waggle")]
    pub(crate) namespace: String,
    /// The namespace of the system; without it the system is outside, and agents may send anywhere
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) system_namespace: Option<String>,
    /// The port at which agents reach the runner
    #[arg(long, value_name = "PORT", default_value_t = 7411)]
    pub(crate) runner_port: u16,
}
