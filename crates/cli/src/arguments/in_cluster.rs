//! The flags of a run that is driven from a pod of a cluster.

use std::path::PathBuf;

use clap::Args;

/// A run in a cluster.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct InCluster {
    /// Drive the run from a pod of a Kubernetes cluster, of the given context or of the current one, as the key `runner` of a study does:
    /// the study is sent there, the run is shown here, and its folder is fetched at its end. Ctrl-C stops the run. With --attach: show a
    /// run that goes on there
    #[arg(long, value_name = "CONTEXT", num_args = 0..=1, require_equals = true)]
    pub(crate) cluster: Option<Option<String>>,
    /// With --cluster: the namespace of the run [default: that of the study, else that of the context]
    #[arg(long, value_name = "NAMESPACE", requires = "cluster")]
    pub(crate) namespace: Option<String>,
    /// With --cluster: the kubeconfig [default: that of the study, else KUBECONFIG, else ~/.kube/config]
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// Drive the run from this machine, whatever the study says. The pods of a system (`system.pods`) must be reached from here by their
    /// addresses and names
    #[arg(long, conflicts_with_all = ["cluster", "attach"])]
    pub(crate) no_cluster: bool,
    /// Keep the pods of runner and agents if the run fails, for a look at them; `waggle system down` removes them. Those of a system are
    /// removed after each trial, and their logs, events and places are in the run folder
    #[arg(long)]
    pub(crate) keep_pods: bool,
}
