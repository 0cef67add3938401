//! `waggle cluster`: what the administrator of a Kubernetes cluster has to allow, and the image of waggle.

use anyhow::Result;

use crate::{arguments::Cluster, process::exit::Exit};

#[cfg(feature = "cluster")]
pub(crate) fn run(arguments: &Cluster) -> Result<Exit> {
    let text = match arguments {
        Cluster::Image(image) => return super::image::run_program(image),
        Cluster::Rbac(rights) => waggle_cluster::rbac(&rights.namespace, rights.nodes),
        Cluster::NetworkPolicy(traffic) => {
            let system = traffic.system_namespace.as_deref();
            waggle_cluster::network_policy(&traffic.namespace, system, traffic.runner_port)
        }
    };
    crate::output::print_result(&text)?;
    Ok(Exit::Fine)
}

#[cfg(not(feature = "cluster"))]
pub(crate) fn run(_: &Cluster) -> Result<Exit> {
    anyhow::bail!(NO_SUPPORT)
}

/// What a build without the feature says.
#[cfg(not(feature = "cluster"))]
pub(crate) const NO_SUPPORT: &str = "this build of waggle has no Kubernetes support; build it with `--features cluster`, or take a package";
