//! Connections to the process of a pod, by `exec`: for orders, logs and readings, never for load.

use std::{
    collections::BTreeMap,
    fmt, io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, DuplexStream, ReadBuf, ReadHalf},
    task::AbortHandle,
};
use waggle_cluster::{Access, ContainerState, ContainerStatus, ExecEnd, ExecError, PodStatus};
use waggle_system::components::replica::{Errand, Opener, PodState, Streams};

use super::PROGRAM;

/// The program beside a replica, and what connects to it.
const REPLICA: [&str; 2] = [PROGRAM, "__replica"];
/// What is under way in each direction.
const BUFFER_BYTES: usize = 256 * 1024;
/// A connection is open as long as a trial.
const CONNECTION_AT_MOST: Duration = Duration::from_secs(14 * 24 * 3600);

/// Opens connections to one pod.
pub(super) struct ExecOpener {
    access: Access,
    namespace: String,
    pod: String,
    uid: String,
    /// Of the pods among which it is.
    labels: BTreeMap<String, String>,
    /// The folder of the process in it.
    folder: &'static str,
    /// Why the last connection ended.
    problem: Arc<Mutex<Option<ConnectionEnd>>>,
}

/// Why a connection ended.
#[derive(Debug)]
struct ConnectionEnd {
    why: String,
    /// A right is missing: another connection ends the same way.
    is_forbidden: bool,
}

impl fmt::Debug for ExecOpener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExecOpener").field(&self.pod).finish()
    }
}

impl ExecOpener {
    pub(super) fn new(
        access: Access,
        namespace: String,
        pod: &PodStatus,
        labels: BTreeMap<String, String>,
        folder: &'static str,
    ) -> Self {
        Self {
            access,
            namespace,
            pod: pod.name.clone(),
            uid: pod.uid.clone(),
            labels,
            folder,
            problem: Arc::default(),
        }
    }

    async fn state(&self) -> PodState {
        let pods = self.access.labelled_pods(&self.namespace, &self.labels);
        let pods = match pods.await {
            Ok(pods) => pods,
            Err(why) => return PodState::Unknown(Some(why.to_string())),
        };
        let Some(pod) = pods.iter().find(|pod| pod.name == self.pod) else {
            return PodState::Lost(format!("pod {} is not there any more", self.pod));
        };
        if pod.uid != self.uid {
            return PodState::Lost(format!("pod {} was replaced by another one", self.pod));
        }
        let place = match &pod.node {
            Some(node) => format!("pod {} on node {node}", self.pod),
            None => format!("pod {}", self.pod),
        };
        match loss(pod) {
            Some(why) => PodState::Lost(format!("{place} {why}")),
            None => {
                let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
                match problem.as_ref() {
                    Some(end) if end.is_forbidden => {
                        PodState::Lost(format!("{place}: {}", end.why))
                    }
                    Some(end) => PodState::Unknown(Some(format!("{place}: {}", end.why))),
                    None => PodState::Unknown(Some(format!("{place}: there is no answer"))),
                }
            }
        }
    }
}

/// `None`: it ended well.
fn connection_end(ended: Result<ExecEnd, ExecError>) -> Option<ConnectionEnd> {
    let (why, is_forbidden) = match ended {
        Ok(end) if end.code == 0 => return None,
        Ok(ExecEnd { code, stderr }) => {
            let stderr = stderr.trim_end();
            (
                format!("its process ended with code {code}: {stderr}"),
                false,
            )
        }
        Err(why) => {
            let is_forbidden = matches!(&why, ExecError::Api(why) if why.is_forbidden());
            (why.to_string(), is_forbidden)
        }
    };
    Some(ConnectionEnd { why, is_forbidden })
}

/// What shows that a pod's replica is gone; `None`: nothing does.
fn loss(pod: &PodStatus) -> Option<String> {
    if let Some(why) = &pod.disruption {
        return Some(format!("was moved away ({why})"));
    }
    if pod.is_terminating {
        return Some("is being deleted".to_owned());
    }
    if pod.phase == "Failed" {
        let why = pod.reason.as_deref().or(pod.message.as_deref());
        return Some(format!("has failed ({})", why.unwrap_or("no reason given")));
    }
    pod.containers.iter().find_map(container_loss)
}

fn container_loss(container: &ContainerStatus) -> Option<String> {
    let ended = match &container.state {
        ContainerState::Ended { .. } => Some(&container.state),
        _ => container.last_end.as_ref(),
    };
    match ended? {
        ContainerState::Ended { code, reason, .. } => {
            Some(format!("lost its container ({reason}, exit code {code})"))
        }
        _ => None,
    }
}

impl Opener for ExecOpener {
    fn open(&self, errand: &Errand) -> Streams {
        let (here, there) = tokio::io::duplex(BUFFER_BYTES);
        let (reader, writer) = tokio::io::split(here);
        let (mut stdin, mut stdout) = tokio::io::split(there);
        let (access, namespace, pod) = (
            self.access.clone(),
            self.namespace.clone(),
            self.pod.clone(),
        );
        let (errand, folder, problem) = (errand.clone(), self.folder, Arc::clone(&self.problem));
        let task = tokio::spawn(async move {
            let command = [&REPLICA[..], &errand.words(folder)].concat();
            let streams = waggle_cluster::Streams {
                stdin: Some(&mut stdin),
                stdout: &mut stdout,
            };
            let ended = access
                .exec(&namespace, &pod, &command, streams, CONNECTION_AT_MOST)
                .await;
            *problem.lock().unwrap_or_else(PoisonError::into_inner) = connection_end(ended);
        });
        Streams {
            reader: Box::new(Connection {
                reader,
                task: task.abort_handle(),
            }),
            writer: Box::new(writer),
        }
    }

    fn look(&self) -> Pin<Box<dyn Future<Output = PodState> + Send + '_>> {
        Box::pin(self.state())
    }
}

/// The reading half; its connection ends with it.
struct Connection {
    reader: ReadHalf<DuplexStream>,
    task: AbortHandle,
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(context, buffer)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use waggle_cluster::{ApiError, ExecEnd, ExecError, Target, Verb};

    use super::connection_end;

    #[test]
    fn only_a_missing_right_cannot_be_helped_by_another_connection() {
        let forbidden = ApiError::Forbidden {
            what: Target {
                verb: Verb::Create,
                resource: "pods/exec".to_owned(),
                namespace: Some("load".to_owned()),
                name: Some("server-0".to_owned()),
            },
            message: "no".to_owned(),
        };
        let end = connection_end(Err(ExecError::Api(forbidden))).unwrap();
        assert!(end.is_forbidden);
        let right = "the verb \"create\" for \"pods/exec\" is missing";
        assert!(end.why.contains(right), "{}", end.why);
        let exit = |code: i32| ExecEnd {
            code,
            stderr: "gone\n".to_owned(),
        };
        let end = connection_end(Ok(exit(1))).unwrap();
        assert!(!end.is_forbidden);
        assert_eq!(end.why, "its process ended with code 1: gone");
        assert!(connection_end(Ok(exit(0))).is_none());
    }
}
