//! The driver of a system that is manifests or a chart: in which cluster and namespace it is.

use waggle_cluster::{Access, Place};
use waggle_spec::{AgentPods, AgentsStarted};
use waggle_study::Manifests;
use waggle_system::host::cpu_time::CpuClocks;

use crate::{
    manifests::{ManifestDriver, ManifestParts},
    run::{
        agents::kubernetes::{access, object_name},
        request::{InPod, RunRequest},
    },
    trial::error::RunError,
};

/// Makes the driver, and reads the manifests of every cell: nothing is made in the cluster yet.
pub(crate) async fn manifest_driver(
    request: &RunRequest,
    clocks: CpuClocks,
) -> Result<ManifestDriver, RunError> {
    let failed = |why: &dyn std::fmt::Display| RunError::Manifests(why.to_string());
    if request.changed.is_some() || request.study.has_duets() {
        return Err(RunError::ManifestsOfTwo);
    }
    let pods = agent_pods(request);
    // That of the agents, if they are pods; else that of the environment.
    let place = pods.map(|pods| pods.place.clone()).unwrap_or_default();
    let access = access(&place, &request.study_file, request.in_pod.as_ref()).await;
    let access = access.map_err(|why| failed(&why))?;
    let of_agents = pods.map(|pods| agent_namespace(request, pods, &access).to_owned());
    let of_run = match &request.in_pod {
        Some(pod) => pod.namespace.clone(),
        None => of_agents
            .clone()
            .unwrap_or_else(|| access.origin.namespace.clone()),
    };
    let given = request.system.manifests.as_ref();
    let given = given.and_then(|manifests: &Manifests| manifests.namespace.clone());
    let namespace = given.unwrap_or_else(|| of_run.clone());
    if let Some(pod) = request
        .in_pod
        .as_ref()
        .filter(|pod| pod.namespace != namespace)
    {
        return Err(RunError::ManifestsElsewhere {
            runner: pod.namespace.clone(),
            system: namespace,
        });
    }
    let notes = request.cluster_notes_folder.clone().map(|folder| Place {
        folder,
        system: request.system.name.clone(),
    });
    let driver = ManifestDriver::new(
        ManifestParts {
            system: request.system.clone(),
            system_folder: super::drivers::absolute(&request.system_folder)?,
            run: object_name(&request.run_folder),
            // An owner is in the namespace of what it owns.
            anchor: request
                .in_pod
                .as_ref()
                .filter(|pod| pod.namespace == namespace)
                .map(InPod::anchor),
            is_in_pod: request.in_pod.is_some(),
            is_claimed: of_agents.as_ref() == Some(&namespace),
            notes,
            access,
            namespace,
        },
        clocks,
    );
    let driver = driver.map_err(|why| failed(&why))?;
    for cell in &request.study.cells {
        let levels = std::iter::once(&cell.parameters);
        for levels in levels.chain(cell.upgraded_levels()) {
            let checked = driver.check(levels).await;
            checked.map_err(|why| failed(&why))?;
        }
    }
    Ok(driver)
}

fn agent_namespace<'a>(
    request: &'a RunRequest,
    pods: &'a AgentPods,
    access: &'a Access,
) -> &'a str {
    let given = match &request.in_pod {
        Some(pod) => Some(&pod.namespace),
        None => pods.place.namespace.as_ref(),
    };
    given.unwrap_or(&access.origin.namespace)
}

fn agent_pods(request: &RunRequest) -> Option<&AgentPods> {
    match &request.study.agents.as_ref()?.started {
        AgentsStarted::InKubernetes(pods) => Some(pods),
        _ => None,
    }
}
