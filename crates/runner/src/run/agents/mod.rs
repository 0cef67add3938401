//! The agents of a run: taken in, started by ssh if the study says so, and ended with the run.

#[cfg(feature = "cluster")]
pub(crate) mod kubernetes;
#[cfg(feature = "cluster")]
pub(crate) mod room;
#[cfg(feature = "cluster")]
mod sharing;
mod ssh;

#[cfg(feature = "cluster")]
use std::time::Duration;
use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::mpsc;
use waggle_agents::{Asked, Fleet, FleetError, FleetMember, HostFacts, Notice};
use waggle_results::{AgentHostInfo, RunFolder};
use waggle_spec::{Agents, AgentsStarted};
use waggle_system::shutdown::Shutdown;

#[cfg(feature = "cluster")]
use self::kubernetes::AgentJob;
use self::ssh::SshAgents;
use crate::{event::Event, event_sender::Events, run::request::RunRequest, trial::error::RunError};

/// The file by which agents join, in the run folder.
pub(crate) const JOIN_FILE: &str = "agents.join";
/// How long it may take to look again where agents are.
#[cfg(feature = "cluster")]
const LOOK_AT_MOST: Duration = Duration::from_secs(45);
/// Notices that may wait to be shown.
const NOTICES_MAX: usize = 1_000;

/// The agents of a run; they end when this is dropped, but for the pods of a cluster, which [`RunAgents::end`] removes.
pub(crate) struct RunAgents {
    // Agents hear of the end before ssh is ended.
    pub(crate) fleet: Arc<Fleet>,
    started: Started,
}

/// How they were started.
enum Started {
    ByHand(#[expect(dead_code, reason = "removed when it is dropped")] JoinFileOnDisk),
    BySsh(SshAgents),
    #[cfg(feature = "cluster")]
    InKubernetes(Box<AgentJob>),
}

/// What agents are gathered for.
#[derive(Clone, Copy)]
pub(crate) struct Gathering<'a> {
    pub(crate) request: &'a RunRequest,
    pub(crate) folder: &'a RunFolder,
    pub(crate) events: &'a Events,
    pub(crate) shutdown: &'a Shutdown,
}

/// The file, which is of no use after the run.
struct JoinFileOnDisk(PathBuf);

impl Drop for JoinFileOnDisk {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Waits until all agents of a study have joined; `None`: its load is made here.
pub(crate) async fn gather_agents(gathering: Gathering<'_>) -> Result<Option<RunAgents>, RunError> {
    let study = &gathering.request.study;
    let Some(asked) = &study.agents else {
        return Ok(None);
    };
    if study.has_duets() {
        return Err(RunError::AgentsInDuet);
    }
    let (sender, notices) = mpsc::channel(NOTICES_MAX);
    let fleet = Fleet::start(
        &Asked {
            run: study.name.clone(),
            listen: listen_address(gathering.request, asked)?,
            // Of another host than the pod's.
            advertise: match gathering.request.in_pod {
                Some(_) => Vec::new(),
                None => asked.advertise.clone(),
            },
            agents: asked.count() as usize,
        },
        sender,
    )?;
    tokio::spawn(show_notices(notices, gathering.events.clone()));
    let fleet = Arc::new(fleet);
    let started = gathering.start(asked, &fleet).await?;
    let mut agents = RunAgents { fleet, started };
    let joined = agents.wait_until_joined(asked, gathering).await;
    match joined.and_then(|hosts| note_hosts(gathering.folder, hosts)) {
        Ok(()) => Ok(Some(agents)),
        Err(why) => {
            agents.remove(gathering, true).await;
            Err(why)
        }
    }
}

/// Where agents are taken in.
fn listen_address(request: &RunRequest, asked: &Agents) -> Result<SocketAddr, RunError> {
    if let (Some(listen), None) = (asked.listen, &request.in_pod) {
        return Ok(listen);
    }
    match asked.started {
        AgentsStarted::ByHand { .. } | AgentsStarted::BySsh { .. } => {
            Ok(SocketAddr::from(([127, 0, 0, 1], 0)))
        }
        #[cfg(not(feature = "cluster"))]
        AgentsStarted::InKubernetes(_) => Err(RunError::NoKubernetes),
        #[cfg(feature = "cluster")]
        AgentsStarted::InKubernetes(_) => {
            let address = kubernetes::pod_address().ok_or(RunError::NoListen)?;
            Ok(SocketAddr::new(address, 0))
        }
    }
}

impl Gathering<'_> {
    async fn start(self, asked: &Agents, fleet: &Fleet) -> Result<Started, RunError> {
        match &asked.started {
            AgentsStarted::ByHand { .. } => {
                let file = write_join_file(fleet, self.folder.path())?;
                let text = by_hand(asked, &file.0);
                self.events.report(Event::Notice(text)).await;
                Ok(Started::ByHand(file))
            }
            AgentsStarted::BySsh { hosts, program } => {
                let is_forwarded = asked.listen.is_none_or(|listen| listen.ip().is_loopback());
                let port = is_forwarded.then(|| fleet.port());
                let started = SshAgents::start(hosts, program, fleet.join_file(), port);
                Ok(Started::BySsh(
                    started.map_err(|why| RunError::Ssh(why.to_string()))?,
                ))
            }
            #[cfg(not(feature = "cluster"))]
            AgentsStarted::InKubernetes(_) => Err(RunError::NoKubernetes),
            #[cfg(feature = "cluster")]
            AgentsStarted::InKubernetes(pods) => {
                let parts = self.job_parts(asked, pods);
                let job = AgentJob::claim(&parts).await;
                let job = job.map_err(|why| RunError::AgentJob(why.to_string()))?;
                let count = asked.count();
                let agents = match count {
                    1 => "1 agent is".to_owned(),
                    count => format!("{count} agents are"),
                };
                let text = format!("{agents} started in {}", job.place());
                self.events.report(Event::Notice(text)).await;
                Ok(Started::InKubernetes(Box::new(job)))
            }
        }
    }

    #[cfg(feature = "cluster")]
    fn job_parts<'p>(
        &'p self,
        asked: &Agents,
        pods: &'p waggle_spec::AgentPods,
    ) -> kubernetes::JobParts<'p> {
        let notes = self.request.cluster_notes_folder.clone();
        // By which `waggle system down` finds them. A server by its URL has no name.
        let system = match &self.request.system.external {
            Some(_) => "agents".to_owned(),
            None => self.request.system.name.clone(),
        };
        kubernetes::JobParts {
            pods,
            study: &self.request.study.name,
            study_file: &self.request.study_file,
            run_folder: self.folder.path(),
            in_pod: self.request.in_pod.as_ref(),
            created: notes.map(|folder| (folder, system)),
            wait: asked.wait,
        }
    }

    #[cfg(feature = "cluster")]
    async fn warn(self, problems: Vec<String>) {
        for problem in problems {
            self.events.report(Event::Warning(problem)).await;
        }
    }
}

impl RunAgents {
    /// The CPUs of each agent.
    pub(crate) fn cpus(&self) -> Vec<u32> {
        let members = self.fleet.members();
        members.iter().map(|member| member.host.cpus).collect()
    }

    /// The hosts of all agents, once they have joined.
    async fn wait_until_joined(
        &mut self,
        asked: &Agents,
        gathering: Gathering<'_>,
    ) -> Result<Vec<AgentHostInfo>, RunError> {
        let mut shutdown = gathering.shutdown.clone();
        #[cfg(feature = "cluster")]
        if let (Started::InKubernetes(job), AgentsStarted::InKubernetes(pods)) =
            (&mut self.started, &asked.started)
        {
            let parts = gathering.job_parts(asked, pods);
            let started = tokio::select! {
                started = job.start(&parts, self.fleet.join_file()) => started,
                () = shutdown.wait_for_stop() => return Err(RunError::AgentsNotAwaited),
            };
            started.map_err(|why| RunError::AgentJob(why.to_string()))?;
        }
        let members = tokio::select! {
            members = self.fleet.wait_for_agents(self.fleet.agents(), asked.wait) => members,
            why = self.ssh_failure() => return Err(RunError::Ssh(why)),
            () = shutdown.wait_for_stop() => return Err(RunError::AgentsNotAwaited),
        };
        let members = match members {
            Ok(members) => members,
            Err(why) => return Err(self.with_words(why).await),
        };
        let mut hosts: Vec<AgentHostInfo> = members.iter().map(host_info).collect();
        self.add_places(&mut hosts, gathering).await?;
        Ok(hosts)
    }

    #[cfg(not(feature = "cluster"))]
    #[expect(clippy::unused_async, reason = "with Kubernetes it asks the cluster")]
    async fn add_places(
        &self,
        _hosts: &mut [AgentHostInfo],
        _gathering: Gathering<'_>,
    ) -> Result<(), RunError> {
        Ok(())
    }

    /// Notes where the pods are, and whether the system is there, too. What was noted before counts as well.
    #[cfg(feature = "cluster")]
    async fn add_places(
        &self,
        hosts: &mut [AgentHostInfo],
        gathering: Gathering<'_>,
    ) -> Result<(), RunError> {
        let Started::InKubernetes(job) = &self.started else {
            return Ok(());
        };
        let asked = gathering.request.study.agents.as_ref();
        let Some(AgentsStarted::InKubernetes(pods)) = asked.map(|asked| &asked.started) else {
            return Ok(());
        };
        let request = gathering.request;
        let wanted = sharing::Wanted::new(&request.system, &request.study);
        let places = job.places(pods, &wanted).await;
        let places = places.map_err(|why| RunError::AgentJob(why.to_string()))?;
        let noted = gathering.folder.info();
        for (number, mut pod) in places {
            let before = noted.agents.iter().find(|host| host.number == number);
            let before = before.and_then(|host| host.pod.as_ref()?.system.clone());
            let system = pod.system.take();
            pod.system = system.map(|system| sharing::merge_looks(before, system));
            let Some(host) = hosts.iter_mut().find(|host| host.number == number) else {
                continue;
            };
            match &mut host.pod {
                // What else is on a node is meant when the agents had joined.
                Some(before) => {
                    before.system = pod.system;
                    before.restarts = pod.restarts;
                }
                none => *none = Some(pod),
            }
        }
        Ok(())
    }

    /// Looks again at the end: pods of the system may have moved. What is not known then was known at the beginning.
    #[cfg(feature = "cluster")]
    async fn look_again(&self, gathering: Gathering<'_>) {
        let mut hosts = gathering.folder.info().agents.clone();
        let looking = self.add_places(&mut hosts, gathering);
        let looked = match tokio::time::timeout(LOOK_AT_MOST, looking).await {
            Ok(looked) => looked.and_then(|()| note_hosts(gathering.folder, hosts)),
            Err(_) => Err(RunError::AgentJob(
                "the cluster did not answer in time".to_owned(),
            )),
        };
        if let Err(why) = looked {
            let warning = format!("where agents were at the end of the run is not known: {why}");
            gathering.warn(vec![warning]).await;
        }
    }

    async fn ssh_failure(&self) -> String {
        match &self.started {
            Started::BySsh(ssh) => ssh.failure().await,
            _ => std::future::pending().await,
        }
    }

    /// With what is known of those that have not joined.
    #[cfg_attr(
        not(feature = "cluster"),
        expect(clippy::unused_async, reason = "with Kubernetes it asks the cluster")
    )]
    async fn with_words(&self, why: FleetError) -> RunError {
        match &self.started {
            Started::ByHand(_) => RunError::Agents(why),
            Started::BySsh(ssh) => match ssh.words() {
                None => RunError::Agents(why),
                Some(words) => RunError::Ssh(format!("{why}; {words}")),
            },
            #[cfg(feature = "cluster")]
            Started::InKubernetes(job) => {
                let members = self.fleet.members();
                let joined: Vec<usize> = members.iter().map(|member| member.number).collect();
                let words = job.words_of_missing(&joined).await;
                RunError::AgentJob(format!("{why}{words}"))
            }
        }
    }

    /// Ends all agents after the last trial; of a cluster also what was made for them.
    pub(crate) async fn end(self, gathering: Gathering<'_>, has_failed: bool) {
        #[cfg(feature = "cluster")]
        if matches!(self.started, Started::InKubernetes(_)) {
            self.look_again(gathering).await;
        }
        self.remove(gathering, has_failed).await;
    }

    /// The same of agents that have made no load.
    #[cfg_attr(
        not(feature = "cluster"),
        expect(
            clippy::unused_async,
            unused_variables,
            reason = "with Kubernetes it waits"
        )
    )]
    async fn remove(self, gathering: Gathering<'_>, has_failed: bool) {
        #[cfg(feature = "cluster")]
        if let Started::InKubernetes(job) = self.started {
            // Agents end by themselves, so that their logs are whole.
            drop(self.fleet);
            let keeps = has_failed && gathering.request.keeps_failed_pods;
            let problems = job.end(gathering.folder.path(), keeps).await;
            gathering.warn(problems).await;
        }
    }
}

/// Notes the hosts in `run.json`; those of a run that is resumed must be the same.
fn note_hosts(folder: &RunFolder, hosts: Vec<AgentHostInfo>) -> Result<(), RunError> {
    let begun = folder.info();
    if !begun.agents.is_empty() && machines(&begun.agents) != machines(&hosts) {
        return Err(RunError::Different {
            folder: folder.path().to_path_buf(),
            what: "the hosts of the agents",
            line: None,
        });
    }
    let here = waggle_agents::machine_id();
    let is_one_here = hosts.iter().any(|host| host.machine == here);
    Ok(folder.set_agents(hosts, is_one_here)?)
}

/// What must not change within a run. Agents get their numbers as they join, so the order is another one.
fn machines(hosts: &[AgentHostInfo]) -> Vec<(&str, u32)> {
    let machines = hosts
        .iter()
        .map(|host| (host.cpu_model.as_str(), host.cpus));
    let mut machines: Vec<_> = machines.collect();
    machines.sort_unstable();
    machines
}

fn host_info(member: &FleetMember) -> AgentHostInfo {
    let HostFacts {
        name,
        machine,
        kernel,
        architecture,
        cpu_model,
        cpus,
        cpu_quota,
    } = member.host.clone();
    AgentHostInfo {
        number: u32::try_from(member.number).unwrap_or(u32::MAX),
        name,
        machine,
        kernel,
        architecture,
        cpu_model,
        cpus,
        cpu_quota,
        pod: None,
        is_same_program: member.is_same_program,
    }
}

fn write_join_file(fleet: &Fleet, folder: &Path) -> Result<JoinFileOnDisk, RunError> {
    let file = folder.join(JOIN_FILE);
    // Of a run that was killed, and is resumed.
    fs::remove_file(&file).ok();
    let written = fleet.join_file().write(&file);
    written.map_err(|why| RunError::JoinFile(why.to_string()))?;
    Ok(JoinFileOnDisk(file))
}

/// What somebody has to do who starts agents by hand.
fn by_hand(asked: &Agents, file: &Path) -> String {
    let Agents { wait, .. } = asked;
    let count = asked.count();
    let agents = if count == 1 { "agent" } else { "agents" };
    format!(
        "waiting for {count} {agents}, at most {}: copy {} to each host, where only its user may read it, and start there: waggle agent \
         --join agents.join",
        waggle_units::format_duration(*wait),
        file.display()
    )
}

/// Shows who joins, is lost or is refused, as long as there are agents.
async fn show_notices(mut notices: mpsc::Receiver<Notice>, events: Events) {
    while let Some(notice) = notices.recv().await {
        let text = notice.to_string();
        let event = match notice {
            Notice::Joined { .. } => Event::Notice(text),
            Notice::Lost { .. } | Notice::Refused { .. } => Event::Warning(text),
        };
        events.report(event).await;
    }
}
