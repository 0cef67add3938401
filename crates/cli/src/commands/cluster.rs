//! `waggle cluster`: what the administrator of a Kubernetes cluster has to allow, and the image of waggle.

use anyhow::Result;
#[cfg(feature = "cluster")]
use anyhow::{Context, anyhow, bail};
#[cfg(feature = "cluster")]
use waggle_cluster::ClusterRight;

#[cfg(feature = "cluster")]
use crate::commands::system::shared::runtime;
use crate::{arguments::Cluster, process::exit::Exit};

#[cfg(feature = "cluster")]
pub(crate) fn run(arguments: &Cluster) -> Result<Exit> {
    let text = match arguments {
        Cluster::Image(image) => return super::image::run_program(image),
        Cluster::Rbac(rights) => {
            let kinds = match &rights.system {
                Some(file) => kinds_of(file, &rights.namespace)?,
                None => Vec::new(),
            };
            let nodes = rights.nodes.then_some(ClusterRight::NodeFacts);
            let drain = rights.drain.then_some(ClusterRight::Drains);
            let cluster_rights: Vec<ClusterRight> = nodes.into_iter().chain(drain).collect();
            waggle_cluster::rbac(&rights.namespace, &cluster_rights, &kinds)
        }
        Cluster::NetworkPolicy(traffic) => {
            let system = traffic.system_namespace.as_deref();
            waggle_cluster::network_policy(&traffic.namespace, system, traffic.runner_port)
        }
    };
    crate::output::print_result(&text)?;
    Ok(Exit::Fine)
}

/// The kinds of the objects of a system's manifests.
#[cfg(feature = "cluster")]
fn kinds_of(file: &std::path::Path, namespace: &str) -> Result<Vec<waggle_cluster::KindRight>> {
    let text = std::fs::read_to_string(file);
    let source = waggle_study::Source {
        name: file.display().to_string(),
        text: text.with_context(|| format!("cannot read {}", file.display()))?,
    };
    let system = waggle_study::read_system(&source).map_err(|mistakes| anyhow!("{mistakes}"))?;
    let Some(manifests) = &system.manifests else {
        bail!("{}: it has neither manifests nor helm", file.display());
    };
    let levels = waggle_study::parameter_levels(&system, &[]);
    let levels = levels.map_err(|why| anyhow!("{}: {why}", file.display()))?;
    let folder = file.parent().unwrap_or(std::path::Path::new(""));
    let folder = std::path::absolute(folder).context("cannot find the folder of the system")?;
    let namespace = manifests.namespace.as_deref().unwrap_or(namespace);
    let rights = waggle_runner::rights_of(&system, &folder, namespace, &levels);
    Ok(runtime()?.block_on(rights)?)
}

#[cfg(not(feature = "cluster"))]
pub(crate) fn run(_: &Cluster) -> Result<Exit> {
    anyhow::bail!(NO_SUPPORT)
}

/// What a build without the feature says.
#[cfg(not(feature = "cluster"))]
pub(crate) const NO_SUPPORT: &str = "this build of waggle has no Kubernetes support; build it with `--features cluster`, or take a package";
