//! The agents of a run: taken in, started by ssh if the study says so, and ended with the run.

mod ssh;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::mpsc;
use waggle_agents::{Asked, Fleet, FleetError, FleetMember, HostFacts, Notice};
use waggle_results::{AgentHostInfo, RunFolder};
use waggle_spec::{Agents, AgentsStarted};
use waggle_study::Study;
use waggle_system::shutdown::Shutdown;

use self::ssh::SshAgents;
use crate::{event::Event, event_sender::Events, trial::error::RunError};

/// The file by which agents join, in the run folder.
const JOIN_FILE: &str = "agents.join";
/// Notices that may wait to be shown.
const NOTICES_MAX: usize = 1_000;

/// The agents of a run; they end when this is dropped.
pub(crate) struct RunAgents {
    // Agents hear of the end before ssh is ended.
    pub(crate) fleet: Arc<Fleet>,
    _ssh: SshAgents,
    _file: Option<JoinFileOnDisk>,
}

/// The file, which is of no use after the run.
struct JoinFileOnDisk(PathBuf);

impl Drop for JoinFileOnDisk {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Waits until all agents of a study have joined; `None`: its load is made here.
pub(crate) async fn gather_agents(
    study: &Study,
    folder: &RunFolder,
    events: &Events,
    shutdown: &Shutdown,
) -> Result<Option<RunAgents>, RunError> {
    let Some(asked) = &study.agents else {
        return Ok(None);
    };
    if study.has_duets() {
        return Err(RunError::AgentsInDuet);
    }
    let (sender, notices) = mpsc::channel(NOTICES_MAX);
    let count = asked.count() as usize;
    let fleet = Fleet::start(
        &Asked {
            run: study.name.clone(),
            listen: asked.listen,
            advertise: asked.advertise.clone(),
            agents: count,
        },
        sender,
    )?;
    tokio::spawn(show_notices(notices, events.clone()));
    let fleet = Arc::new(fleet);
    let (ssh, file) = match &asked.started {
        AgentsStarted::ByHand { .. } => {
            let file = write_join_file(&fleet, folder.path())?;
            let text = by_hand(asked, &file.0);
            events.report(Event::Notice(text)).await;
            (SshAgents::default(), Some(file))
        }
        AgentsStarted::BySsh { hosts, program } => {
            let port = asked.listen.ip().is_loopback();
            let port = port.then(|| fleet.port());
            let started = SshAgents::start(hosts, program, fleet.join_file(), port);
            (started.map_err(RunError::Ssh)?, None)
        }
    };
    let agents = RunAgents {
        fleet,
        _ssh: ssh,
        _file: file,
    };
    let mut shutdown = shutdown.clone();
    let members = tokio::select! {
        members = agents.fleet.wait_for_all(asked.wait) => members.map_err(|why| agents.with_ssh(why))?,
        why = agents._ssh.failure() => return Err(RunError::Ssh(why)),
        () = shutdown.wait_for_stop() => return Err(RunError::AgentsNotAwaited),
    };
    note_hosts(folder, &members)?;
    Ok(Some(agents))
}

impl RunAgents {
    /// The CPUs of each agent.
    pub(crate) fn cpus(&self) -> Vec<u32> {
        let members = self.fleet.members();
        members.iter().map(|member| member.host.cpus).collect()
    }

    fn with_ssh(&self, why: FleetError) -> RunError {
        match self._ssh.words() {
            None => RunError::Agents(why),
            Some(words) => RunError::Ssh(format!("{why}; {words}")),
        }
    }
}

/// Notes the hosts in `run.json`; those of a run that is resumed must be the same.
fn note_hosts(folder: &RunFolder, members: &[FleetMember]) -> Result<(), RunError> {
    let hosts: Vec<AgentHostInfo> = members.iter().map(host_info).collect();
    let begun = folder.info();
    let machines = |hosts: &[AgentHostInfo]| -> Vec<(String, u32)> {
        let hosts = hosts.iter();
        hosts
            .map(|host| (host.cpu_model.clone(), host.cpus))
            .collect()
    };
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
    format!(
        "waiting for {count} agents, at most {}: copy {} to each host, where only its user may read it, and start there: waggle agent \
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
